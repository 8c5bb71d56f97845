"""How much memory there is, and every reckoning against it: refusals with figures, before any work starts.

Memory that was freed is used again by workers, and given back between the stages of a fit with a memory limit. Dask has
its workers give it back to the system at once (``MALLOC_TRIM_THRESHOLD_``), which also ends glibc's habit of learning
how large the arrays are that come and go: every block of rows then pays for new pages, 1.3 times the time of a fit.
Elsewhere glibc keeps what one stage of a fit has freed, in pieces that may be too small for the next: the process then
holds both.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from skewridge._validation import format_bytes

LIBRARY_BYTES = 3e8  # of a worker that has imported everything and loaded the compiled loops
LEAST_TASK = 5e7  # bytes of a task that reads a chunk of rows and sums its blocks
PAUSED = 0.8  # of its memory limit, where Dask pauses a worker; soon after it is killed
GATHERED = 0.25  # of the memory, for rows that are read when they are needed
BESIDE = 0.15  # of the memory, for what a part of a fit does not know of: rows held by others, BLAS's own 10 MB

TOLD = "MALLOC_TRIM_THRESHOLD_"  # in the environment, where somebody has set what is given back
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's numbers
KEPT_BYTES = 1 << 28  # that may lie idle in a worker
LARGEST_BYTES = 1 << 25  # of an array that is taken from what lies idle; glibc takes no more


@dataclass(frozen=True)
class Budget:
    """The bytes that a fit may hold.

    Attributes
    ----------
    limit : the user's ``memory_limit`` in bytes; None is the machine's memory
    share : of it that may be used

    Examples
    --------
    >>> Budget(1e6).require(2e6, "1,000 centres need {need}", "Take 700.")
    Traceback (most recent call last):
    MemoryError: 1,000 centres need 2 MB and memory_limit is 1 MB. Take 700.
    """

    limit: float | None = None
    share: float = 1.0

    @property
    def allowed(self) -> float:
        """Bytes that may be held."""
        return (machine_memory() if self.limit is None else self.limit) * self.share

    @property
    def beside_rows(self) -> Budget:
        """The budget without the share for rows that are read when they are needed."""
        return replace(self, share=self.share * (1.0 - GATHERED))

    @property
    def of_part(self) -> Budget:
        """The budget of a part of a fit, which plans to fill it."""
        return replace(self, share=self.share * (1.0 - BESIDE))

    def __str__(self) -> str:
        which = "the machine has" if self.limit is None else "memory_limit is"
        less = "" if self.share == 1.0 else f" without the {1 - self.share:.0%} for rows and libraries"
        return f"{which} {format_bytes(self.allowed)}{less}"

    def require(self, need: float, what: str, remedy: str) -> None:
        """Raise MemoryError unless so many bytes may be held; ``{need}`` in ``what`` is replaced by the figure."""
        if need > self.allowed:
            raise MemoryError(f"{what.replace('{need}', format_bytes(need))} and {self}. {remedy}")

    def largest(self, need: Callable[[int], float], most: int) -> int:
        """The largest n up to ``most`` whose need, which grows with n, may be held; 0 where none may."""
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if need(middle) <= self.allowed else (low, middle - 1)
        return low


MACHINE = Budget()  # all that there is


def require_on_worker(need: float, there: float, what: str, remedy: str) -> None:
    """Raise MemoryError where a task needs more bytes than the smallest worker of a cluster has for it."""
    if need > there:
        raise MemoryError(
            f"{what} {format_bytes(need)} on a worker, and the smallest worker has {format_bytes(there)} a thread. "
            f"Start workers with more memory or fewer threads, {remedy}."
        )


def worker_task_bytes(n_threads: int, limit: float) -> float:
    """Bytes for a task of a worker of so many threads and so much memory; raise MemoryError where they are too few."""
    there = (PAUSED * limit - LIBRARY_BYTES) / n_threads
    if there < LEAST_TASK:
        least = (LIBRARY_BYTES + n_threads * LEAST_TASK) / PAUSED
        raise MemoryError(
            f"A worker of the Dask cluster has {format_bytes(limit)} for {n_threads} threads. Python and the libraries "
            f"take {format_bytes(LIBRARY_BYTES)}, a task {format_bytes(LEAST_TASK)} at least, and Dask pauses workers "
            f"at {PAUSED:.0%}: start workers of {format_bytes(least)} or more (memory_limit), or with fewer threads."
        )
    return there


def machine_memory() -> float:
    """The memory of the machine, or of the container, in bytes; infinite where the system does not say."""
    try:
        physical = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        physical = float("inf")
    try:
        return min(physical, float(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no control group, or one without a limit ("max")
        return physical


@cache
def keep_freed() -> None:
    """From now on let some freed memory stay with this process, where somebody has set that none does."""
    if sys.platform == "linux" and os.environ.get(TOLD, "").isdigit() and int(os.environ[TOLD]) < KEPT_BYTES:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
        if mallopt is not None:
            mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
            mallopt(M_MMAP_THRESHOLD, LARGEST_BYTES)


def give_back() -> None:
    """Give memory that was freed back to the system, where the system's library can; a millisecond or so."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None  # glibc's
    if trim is not None:
        trim(0)
