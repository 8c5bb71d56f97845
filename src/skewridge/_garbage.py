"""No search for garbage while modules are imported and loops are compiled.

Both make objects by the hundred thousand and drop next to none of them in cycles. Python looks through all of them
again and again, a tenth of the time that a first fit waits.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock, _inside = Lock(), [0, False]  # how many threads are inside, and whether there was a search when the first came


@contextmanager
def no_collection() -> Iterator[None]:
    """Let Python look for no garbage, where it does; what becomes garbage meanwhile is found later.

    Examples
    --------
    >>> with no_collection():
    ...     gc.isenabled()
    False
    """
    with _lock:
        if _inside[0] == 0:
            _inside[1] = gc.isenabled()
            gc.disable()
        _inside[0] += 1
    try:
        yield
    finally:
        with _lock:
            _inside[0] -= 1
            if _inside[0] == 0 and _inside[1]:
                gc.enable()
