"""Neighbouring slices joined until each holds enough rows."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from skewridge._typing import FloatArray


def join_slices(counts: FloatArray, needed: float) -> list[int]:
    """Return the first slice of every group of neighbours that holds ``needed`` rows, as far as there are so many.

    Slices are joined from both ends towards the fullest one, so that the outermost rows stay by themselves; what is
    left over joins the fullest.

    Examples
    --------
    >>> import numpy as np
    >>> join_slices(np.array([90, 3, 4, 0, 2, 6]), 8)  # 2 + 6 stay by themselves; 3, 4 and 0 join the 90
    [0, 4]
    """
    full, many = int(np.argmax(counts)), len(counts)
    ahead = _ends(counts[:full], needed)
    behind = [many - end for end in _ends(counts[:full:-1], needed)]
    first = [0, *ahead, *reversed(behind)]
    held = np.add.reduceat(counts, first)
    fullest = int(np.searchsorted(first, full, side="right")) - 1
    if held[fullest] < needed and len(first) > 1:  # no slice holds so many: join the smaller neighbour
        left = held[fullest - 1] if fullest > 0 else np.inf
        right = held[fullest + 1] if fullest + 1 < len(first) else np.inf
        del first[fullest if left <= right else fullest + 1]
    return first


def _ends(counts: FloatArray, needed: float) -> list[int]:
    """Where groups end that are filled one after the other."""
    held = accumulate(counts.tolist(), lambda total, count: (0.0 if total >= needed else total) + count)
    return [place for place, total in enumerate(held, 1) if total >= needed]
