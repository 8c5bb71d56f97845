"""Curves of partial dependence in one sentence each, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skewridge._messages import compact

STEADY = 0.8  # of all ups and downs: a curve whose ends differ by that much rises or falls
FLAT = 0.05  # of the root mean squared error: a curve that moves less does not tell


def dependence_in_words(target: str, partial: Mapping[str, Any], rmse: float | None = None) -> str:
    """Return what the mean prediction does along a column.

    Parameters
    ----------
    target : what is predicted
    partial : one of ``drivers(...)["partial"]``
    rmse : the model's error, beside which a curve may be flat

    Examples
    --------
    >>> partial = {"name": "rooms", "kind": "number", "values": [2, 5], "labels": None, "mean": [4e5, 1.1e6]}
    >>> dependence_in_words("price", partial)
    'price rises from 400k to 1.1M as rooms goes from 2 to 5'
    """
    name, means = str(partial["name"]), np.asarray(partial["mean"], dtype=np.float64)
    points = partial["labels"] or _told_apart(partial["values"])
    low, high = int(np.argmin(means)), int(np.argmax(means))
    span = float(means[high] - means[low])
    if rmse is not None and span < FLAT * rmse:
        return f"{target} hardly changes along {name} on average: it matters together with other columns, if at all"
    if partial["kind"] == "level":
        return (
            f"{target} is highest for {name} {points[high]!r}, {compact(means[high])}, and lowest for {points[low]!r}, "
            f"{compact(means[low])}"
        )
    change = float(means[-1] - means[0])
    if abs(change) >= STEADY * float(np.abs(np.diff(means)).sum()):
        verb = "rises" if change > 0 else "falls"
        ends = f"from {compact(means[0])} to {compact(means[-1])}"
        return f"{target} {verb} {ends} as {name} goes from {points[0]} to {points[-1]}"
    return (
        f"{target} goes up and down along {name}: highest, {compact(means[high])}, at {points[high]}, and lowest, "
        f"{compact(means[low])}, at {points[low]}"
    )


def _told_apart(values: Sequence[float]) -> list[str]:
    """Numbers in as many digits as a hundredth of their range needs: degrees of longitude need more than rooms.

    Examples
    --------
    >>> _told_apart([144.6, 145.0312, 145.5]), _told_apart([1, 6])
    (['144.6', '145.03', '145.5'], ['1', '6'])
    """
    size, span = float(np.abs(values).max()), float(np.ptp(values))
    digits = int(np.clip(np.ceil(np.log10(size / (0.01 * span))), 3, 10)) if span else 3
    return [compact(float(value), digits=digits) for value in values]
