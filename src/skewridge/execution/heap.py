"""Memory that was freed: used again by workers, given back between the stages of a fit with a memory limit.

Dask has its workers give freed memory back to the system at once (``MALLOC_TRIM_THRESHOLD_``), which also ends glibc's
habit of learning how large the arrays are that come and go. Every block of rows then pays for new pages: 1.3 times the
time of a fit. Elsewhere glibc keeps what one stage of a fit has freed, in pieces that may be too small for the next:
the process then holds both.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

TOLD = "MALLOC_TRIM_THRESHOLD_"  # in the environment, where somebody has set what is given back
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's numbers
KEPT_BYTES = 1 << 28  # that may lie idle in a worker
LARGEST_BYTES = 1 << 25  # of an array that is taken from what lies idle; glibc takes no more


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
