"""Follow a fit: stages with fixed shares of the whole, shown on stderr or told to a function.

A stage is a share of the stage around it. What is done in it fills it, and what is left when it ends is filled then:
progress never falls and ends at 100%. Where nobody follows a fit, stages do nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

Watcher = Callable[[str, int, int], None]  # label, done, total

SILENT = 2.0  # seconds before anything is shown on stderr
ROUNDING = 1e-9  # of shares that are added up


class Stage:
    """A share of the stage around it; the whole fit is one without a label and without a stage around it.

    Runs fill a stage that has a label of its own; one without groups others, and shows the label around it.
    """

    def __init__(
        self, watchers: Sequence[Watcher], label: str = "", share: float = 1.0, around: Stage | None = None
    ) -> None:
        self.watchers, self.around, self.is_filled = watchers, around, bool(label)
        self.label: str = (around.label if around else "") or label
        self.share: float = max(0.0, min(share, 1.0 - around.done)) if around else share
        self.done: float = 0.0
        self.root: Stage = around.root if around else self
        self._lock, self._told = threading.Lock(), ("", -1)

    def advance(self, fraction: float) -> None:
        """Count a fraction of the stage as done, and so a share of all stages around it."""
        with self.root._lock:
            new, stage = min(fraction, 1.0 - self.done), self
            while stage.around is not None:
                stage.done += new
                new, stage = new * stage.share, stage.around
            stage.done = min(1.0, stage.done + new)
            state = self.label, int(100.0 * (stage.done + ROUNDING))
            if state != stage._told:
                stage._told = state
                self.tell(*state, 100)

    def count(self, label: str, done: int, total: int) -> None:
        """Count one more result of a run as its share of a filled stage; outside of stages tell how many there are."""
        if self.is_filled:
            self.advance(1.0 / max(1, total))
        elif self is self.root:
            self.tell(label, done, total)

    def tell(self, label: str, done: int, total: int) -> None:
        """Tell everybody who follows."""
        for watcher in self.watchers:
            watcher(label, done, total)


STAGE: ContextVar[Stage | None] = ContextVar("stage", default=None)
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Have a function told what is being done, how much of it is done, and how much there is.

    Examples
    --------
    >>> from skewridge.execution.context import run, running
    >>> with watched(lambda label, done, total: print(label, done, total)), running():
    ...     with stage("numbers", 0.5):
    ...         _ = list(run(abs, [-1, 2]))
    ...     _ = list(run(abs, [-1, 2], "others"))
    numbers 25 100
    numbers 50 100
    others 1 2
    others 2 2
    """
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


@contextmanager
def followed(verbose: Any, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Follow one fit, if somebody wants to know; a fit within a fit has no line of its own."""
    watcher = _WATCHER.get()
    if STAGE.get() is not None or not (verbose or watcher):
        yield
        return
    shown = shown_on(sys.stderr, clock) if verbose and sys.stderr is not None else None
    token, failed = STAGE.set(Stage([own for own in (watcher, shown and shown.show) if own])), True
    try:
        yield
        failed = False
    finally:
        STAGE.reset(token)
        if shown:
            shown.end(failed)


@contextmanager
def stage(label: str, share: float = 1.0) -> Iterator[None]:
    """Work on a share of what is left of the stage around; at the end all of it is done."""
    around = STAGE.get()
    if around is None:
        yield
        return
    own = Stage(around.watchers, label, share, around)
    token = STAGE.set(own)
    try:
        yield
    finally:
        STAGE.reset(token)
    if own.done < 1.0:
        own.advance(1.0)


def advance(fraction: float) -> None:
    """Count a fraction of the stage under way as done."""
    own = STAGE.get()
    if own is not None and own.around is not None:
        own.advance(fraction)


class Lines:
    """A line on a stream for every tenth of a fit, once it has taken two seconds.

    Examples
    --------
    >>> seconds = iter([0.0, 1.0, 5.0, 20.0])
    >>> lines = Lines(sys.stdout, clock=lambda: next(seconds))
    >>> lines.show("cells", 5, 100)
    >>> lines.show("cells", 25, 100)
    [skewridge] cells: 25%, 5 s
    >>> lines.end()
    [skewridge] done: 100%, 20 s
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._start, self._tenth = clock(), 0

    def show(self, label: str, done: int, total: int) -> None:
        """Write how much is done, if that is a tenth more than was written last."""
        elapsed = self._clock() - self._start
        tenth = 10 * done // total
        if tenth < self._tenth:  # another run, outside of stages
            self._tenth = 0
        if elapsed >= SILENT and self._tenth < tenth and done < total:
            self._tenth = tenth
            self._write(f"{label}: {100 * done // total}%, {duration(elapsed)}")

    def end(self, failed: bool = False) -> None:
        """Say that all is done, unless the fit has failed."""
        elapsed = self._clock() - self._start
        if elapsed >= SILENT and not failed:
            self._write(f"done: 100%, {duration(elapsed)}")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(f"[skewridge] {text}\n")
            self._stream.flush()
        except (OSError, ValueError):  # a closed stream must not end a fit
            pass


class Bar:
    """rich's bar in a terminal, once a fit has taken two seconds; it is gone when the fit ends."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._clock, self._start, self._shown = clock, clock(), False
        self._bars = Progress(console=Console(file=stream, force_terminal=True), transient=True)
        self._task = self._bars.add_task("skewridge", total=100)

    def show(self, label: str, done: int, total: int) -> None:
        """Show how much is done."""
        if not self._shown and self._clock() - self._start >= SILENT:
            self._shown = True
            self._bars.start()
        self._bars.update(self._task, description=label, completed=done, total=total)

    def end(self, failed: bool = False) -> None:
        """Leave the terminal as it was."""
        if self._shown:
            self._bars.stop()


def shown_on(stream: TextIO, clock: Callable[[], float]) -> Lines | Bar:
    """A bar in a terminal where rich is installed, else lines."""
    try:
        return Bar(stream, clock) if stream.isatty() else Lines(stream, clock)
    except ImportError:
        return Lines(stream, clock)


def duration(seconds: float) -> str:
    """Seconds for people.

    Examples
    --------
    >>> duration(3.21), duration(75), duration(7300)
    ('3 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
