"""Follow a fit: functions find the progress that they work for by a context variable.

Where nobody follows a fit they do nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from skewridge.execution.progress import Part, Progress, Stage, Watcher
from skewridge.execution.progress_line import ProgressLine

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Place:
    """The fit that is followed here; a label for all that is done; the part under way."""

    progress: Progress
    label: str | None = None
    part: Part | None = None


_PLACE: ContextVar[_Place | None] = ContextVar("place", default=None)
_INSIDE: ContextVar[bool] = ContextVar("inside", default=False)
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Have a function told what is being run, how much of it is done, and how much there is.

    Of a fit that announces its work it is told the percentage of the whole.

    Examples
    --------
    >>> from skewridge.execution.job import run
    >>> with watched(lambda label, done, total: print(label, done, total)):
    ...     _ = list(run(abs, [-1, 2], label="numbers"))
    numbers 1 2
    numbers 2 2
    """
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def watcher_here() -> Watcher | None:
    """The function that is told of every run."""
    return _WATCHER.get()


def is_followed() -> bool:
    """True inside a fit that is followed as a whole, be it in work that is not its own."""
    return _INSIDE.get()


def progress_here() -> Progress | None:
    """The progress that is followed, if any."""
    place = _PLACE.get()
    return None if place is None else place.progress


@contextmanager
def following(verbose: Any, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Follow one fit, if somebody wants to know; a fit within a fit has no line of its own."""
    watcher = _WATCHER.get()
    if _INSIDE.get() or not (verbose or watcher):
        with _placed(None):
            yield
        return
    line = ProgressLine(sys.stderr) if verbose and sys.stderr is not None else None
    progress = Progress(line, watcher, clock)
    token = _INSIDE.set(True)
    try:
        with _placed(_Place(progress)):
            yield
    except BaseException:
        progress.end(failed=True)
        raise
    finally:
        _INSIDE.reset(token)
    progress.end()


def announce(stages: Callable[[], Sequence[Stage]]) -> None:
    """Announce the work of the fit that is followed, unless it was announced before."""
    progress = progress_here()
    if progress is not None and not progress.is_announced:
        progress.announce(stages())


def repeated(n_times: int) -> None:
    """Say that what will be announced is to be done so many times."""
    progress = progress_here()
    if progress is not None:
        progress.repeats = n_times


def forget(label: str) -> None:
    """Expect no further parts of a stage."""
    place = _PLACE.get()
    if place is not None and place.label is None:
        place.progress.forget(label)


@contextmanager
def part(label: str, operations: float) -> Iterator[Part | None]:
    """Do a part of the work; when it is left all of it is done. Runs inside tell how far it is."""
    place = _PLACE.get()
    if place is None:
        yield None
        return
    own = Part(place.progress, place.label or label, operations)
    with _placed(replace(place, part=own)):
        yield own
    own.advance(1.0)


@contextmanager
def under(label: str) -> Iterator[None]:
    """Count all parts inside as parts of one stage."""
    place = _PLACE.get()
    with _placed(None if place is None else replace(place, label=place.label or label)):
        yield


@contextmanager
def aside(label: str) -> Iterator[None]:
    """Do work that nobody announced, and whose own progress is not shown."""
    progress = progress_here()
    if progress is None:
        yield
        return
    with progress.aside(label), _placed(None):
        yield


def advance(share: float) -> None:
    """Count a share of the part under way as done."""
    place = _PLACE.get()
    if place is not None and place.part is not None:
        place.part.advance(share)


def carried(task: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """The task, for another thread, which then works for the fit that is followed here."""
    place = _PLACE.get()
    if place is None:
        return task

    def carry(item: Item) -> Result:
        token = _INSIDE.set(True)
        try:
            with _placed(replace(place, part=None)):
                return task(item)
        finally:
            _INSIDE.reset(token)

    return carry


@contextmanager
def _placed(place: _Place | None) -> Iterator[None]:
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)
