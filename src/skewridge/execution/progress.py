"""One line for a whole fit: what is being done, the time it took, and the time that is left.

A fit announces its work, stage by stage and part by part, in operations. A part that begins
replaces what was announced for it by what it knows to be its work, and tells how much of it is
done. The time that is left is the work that is left times the time of an operation so far. Work
that runs on several threads counts for less: time goes with operations over speed-up.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from skewridge.execution.progress_line import ProgressLine

Watcher = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Stage:
    """Work of one kind, announced before it starts.

    Attributes
    ----------
    label : str, what is being done
    parts : operations of every part, in the order in which parts begin
    speedup : float, by how much threads make it faster
    """

    label: str
    parts: Sequence[float]
    speedup: float = 1.0


def speedup(n_tasks: float, n_threads: int) -> float:
    """How much faster equal tasks are on threads.

    Examples
    --------
    >>> [speedup(n, 2) for n in (1, 2, 5)]
    [1.0, 2.0, 1.6666666666666667]
    """
    return n_tasks / math.ceil(n_tasks / n_threads) if n_tasks > 1 else 1.0


@dataclass
class _Work:
    """A stage: parts that have not begun, operations of those that have, operations done."""

    waiting: deque[float] = field(default_factory=deque)
    begun: float = 0.0
    done: float = 0.0
    speedup: float = 1.0

    @property
    def total(self) -> float:
        return self.begun + sum(self.waiting)


class Progress:
    """The work of one fit, and the clock that it is measured by.

    Parameters
    ----------
    line : ProgressLine to write on, or None
    watcher : told the stage, the percentage that is done, and 100; or None
    clock : returns seconds

    Examples
    --------
    >>> seconds = iter([0.0, 1.0, 2.0, 3.0])
    >>> progress = Progress(clock=lambda: next(seconds))
    >>> progress.announce([Stage("learning", [10.0]), Stage("cells", [10.0, 10.0])])
    >>> progress.begin("learning", 10.0)
    >>> progress.advance("learning", 5.0)  # not counted: it may have compiled something
    >>> progress.advance("learning", 5.0)
    >>> progress.share, progress.left
    (0.3333333333333333, 4.0)
    """

    def __init__(
        self,
        line: ProgressLine | None = None,
        watcher: Watcher | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.repeats = 1
        self._line, self._watcher, self._clock = line, watcher, clock
        self._lock, self._stages = threading.Lock(), dict[str, _Work]()
        self._start, self._aside, self._seen = clock(), 0.0, ("", -1)
        self._now, self._told = self._start, 0.0
        self._first: tuple[float, float] | None = None  # time and work when work was first done

    @property
    def is_announced(self) -> bool:
        """True if the work is known."""
        return bool(self._stages)

    @property
    def operations(self) -> tuple[float, float]:
        """Operations that are done, and all."""
        works = self._stages.values()
        return sum(work.done for work in works), sum(work.total for work in works)

    @property
    def share(self) -> float:
        """The share of the work that is done."""
        done, total = self._done(), self._total()
        return min(1.0, done / total) if total else 0.0

    @property
    def left(self) -> float | None:
        """Seconds that are left; None while nothing is known."""
        if self._first is None:
            return None
        when, before = self._first
        done = self._done()
        if not done > before:
            return None
        return (self._now - self._aside - when) / (done - before) * max(0.0, self._total() - done)

    def announce(self, stages: Sequence[Stage]) -> None:
        """Say what will be done; of fits within fits the first to speak has said it for all."""
        with self._lock:
            if self._stages:
                return
            for stage in stages:
                waiting = deque(list(stage.parts) * self.repeats)
                self._stages[stage.label] = _Work(waiting, speedup=stage.speedup)

    def begin(self, label: str, operations: float) -> None:
        """Begin a part: its operations replace those that were announced for it."""
        with self._lock:
            work = self._stages.setdefault(label, _Work())
            if work.waiting:
                work.waiting.popleft()
            work.begun += operations

    def advance(self, label: str, operations: float) -> None:
        """Count operations of a part as done, and show it."""
        with self._lock:
            self._now = self._clock()
            self._stages[label].done += operations
            if self._first is None:
                self._first = self._now - self._aside, self._done()
            self._show(label)

    def forget(self, label: str) -> None:
        """Expect no further parts of a stage."""
        with self._lock:
            if label in self._stages:
                self._stages[label].waiting.clear()

    @contextmanager
    def aside(self, label: str) -> Iterator[None]:
        """Do not measure by the time that is spent inside: it is other people's work."""
        since = self._clock()
        if self._watcher is not None:
            self._watcher(label, int(100 * self.share), 100)
        try:
            yield
        finally:
            with self._lock:
                self._aside += self._clock() - since

    def end(self, failed: bool = False) -> None:
        """Leave the terminal as it was; after a failure the line stays and is ended."""
        if self._line is not None:
            self._line.end(self._clock() - self._start, failed)

    def _done(self) -> float:
        return sum(work.done / work.speedup for work in self._stages.values())

    def _total(self) -> float:
        return sum(work.total / work.speedup for work in self._stages.values())

    def _show(self, label: str) -> None:
        share = self._told = max(self._told, self.share)  # more work than announced is no step back
        if self._line is not None:
            self._line.show(label, share, self._now - self._start, self.left)
        seen = label, int(100 * share)
        if self._watcher is not None and seen != self._seen:
            self._seen = seen
            self._watcher(*seen, 100)


class Part:
    """A part of the work under way; told by shares how much of it is done."""

    def __init__(self, progress: Progress, label: str, operations: float) -> None:
        self._progress, self._label = progress, label
        self._operations = self._left = operations
        progress.begin(label, operations)

    def advance(self, share: float) -> None:
        """Count a share of the part as done, as far as it is not yet."""
        operations = min(self._left, share * self._operations)
        self._left -= operations
        if operations > 0.0:
            self._progress.advance(self._label, operations)
