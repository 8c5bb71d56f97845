"""Memory that is freed stays with the process while a task runs.

Dask has its workers give freed memory back to the system at once (``MALLOC_TRIM_THRESHOLD_``), which also ends glibc's
habit of learning how large the arrays are that come and go. Every block of rows then pays for new pages: 1.3 times the
time of a fit. A task lifts this and leaves it as it was.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TOLD = "MALLOC_TRIM_THRESHOLD_"  # in the environment, where somebody has set what is given back
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's numbers
KEPT_BYTES = 1 << 30  # that may lie idle while a task runs
LARGEST_BYTES = 1 << 25  # of an array that is taken from what lies idle; glibc takes no more
USUAL_BYTES = 1 << 17  # glibc's own limit of the same

_LOCK, _USERS = threading.Lock(), [0]


@contextmanager
def keep_freed() -> Iterator[None]:
    """Let freed memory be used again, until the last task that asked for it ends."""
    setting = _mallopt()
    if setting is None:
        yield
        return
    _count(1, setting, (KEPT_BYTES, LARGEST_BYTES))
    try:
        yield
    finally:
        _count(-1, setting, (int(os.environ[TOLD]), USUAL_BYTES))


def _count(step: int, setting: Callable[[int, int], int], limits: tuple[int, int]) -> None:
    """The first that begins and the last that ends set the limits."""
    with _LOCK:
        _USERS[0] += step
        if _USERS[0] == (1 if step > 0 else 0):
            for name, limit in zip((M_TRIM_THRESHOLD, M_MMAP_THRESHOLD), limits, strict=True):
                setting(name, limit)


def _mallopt() -> Callable[[int, int], int] | None:
    """glibc's function that sets limits, where there is one and somebody has set them."""
    if sys.platform != "linux" or not os.environ.get(TOLD, "").isdigit():
        return None
    found: Callable[[int, int], int] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    return found
