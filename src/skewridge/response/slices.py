"""Slices of the response: y -> intervals, how many rows each holds, how many copies each row gets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import TINIEST, check_choice, check_integer, check_magnitude, check_real, warn_user

MAX_SLICES = 10_000
MAX_OVERSAMPLING = 100.0
CROWDED = 0.9  # a slice with a larger share of the rows makes equal widths pointless
TOUCHING = 1e-9  # of a slice: values so near below an edge are at it, in whatever units y is rounded


@dataclass(frozen=True)
class Slices:
    """The response cut into l intervals; slice j is [edges[j], edges[j+1]), the last one closed.

    Attributes
    ----------
    edges : (l + 1,) array
    labels : (N,) array, the slice of every row
    counts : (l,) array, |Y_j|, rows in every slice
    copies : (l,) array, c_j, how often every row of the slice is dealt; 0 for an empty slice
    """

    edges: FloatArray
    labels: IntArray
    counts: IntArray
    copies: IntArray

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.labels)

    @property
    def n_oversampled(self) -> int:
        """N*, the rows after oversampling and before de-duplication."""
        return int(np.dot(self.counts, self.copies))

    @property
    def occupied(self) -> IntArray:
        """The slices that hold at least one row."""
        return np.flatnonzero(self.counts)

    def rows_by_slice(self) -> list[IntArray]:
        """The row ids of every slice, ascending: a row's rank in its slice is its place in that list."""
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.cumsum(self.counts)[:-1])


def slice_response(y: FloatArray, rule: Any = "scott", oversampling: float = 1.0) -> Slices:
    """Cut the range of y into slices and say how many copies each row gets.

    Parameters
    ----------
    y : (N,) array
    rule : {"scott", "sturges", "fd", "log"}, int or array of edges
    oversampling : float, the paper's tau

    Examples
    --------
    >>> import numpy as np
    >>> slices = slice_response(np.array([0., 0., 1., 1., 1., 1., 9.]), 3)
    >>> slices.edges, slices.counts, slices.copies
    (array([0., 3., 6., 9.]), array([6, 0, 1]), array([1, 0, 6]))
    """
    edges = slice_edges(y, rule)
    labels = slice_labels(y, edges)
    counts = np.bincount(labels, minlength=len(edges) - 1)
    _warn_when_crowded(counts, rule)
    return Slices(edges, labels, counts, copies_per_slice(counts, oversampling))


def slice_quietly(y: FloatArray, rule: Any = "scott", oversampling: float = 1.0) -> Slices:
    """Slice without the warning about crowded slices, where the user did not ask for these slices."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return slice_response(y, rule, oversampling)


def slice_edges(y: FloatArray, rule: Any = "scott", weights: FloatArray | None = None) -> FloatArray:
    """Return the l + 1 edges that a rule gives on y; constant y is one slice. Weights are frequencies."""
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1 or y.size == 0 or not np.isfinite(y).all():
        raise ValueError("y must be a one-dimensional array of finite numbers with at least one row.")
    check_magnitude("y", y)
    rule = check_slice_rule(rule)
    if isinstance(rule, np.ndarray):
        return _covering(rule, y)
    low, high = float(y.min()), float(y.max())
    if high - low < TINIEST:
        return np.array([low, high])
    w = np.ones(y.size) if weights is None else weights
    if rule == "log":
        return _log_edges(y, w)
    n_slices = rule if isinstance(rule, int) else _RULES[rule](y, w)
    return np.linspace(low, high, _capped(n_slices, w) + 1)


def slice_labels(values: FloatArray, edges: FloatArray) -> IntArray:
    """Return the slice of every value; values outside the edges belong to the outer slices.

    A value at an edge belongs to the upper slice, whatever rounding made of both: other units of y change no slice.

    Examples
    --------
    >>> import numpy as np
    >>> slice_labels(0.1 * np.array([0, 3, 6]), np.linspace(0.0, 0.9, 4))  # 0.1 * 3 is above 0.3, 0.1 * 6 too
    array([0, 1, 2])
    """
    widths = np.minimum(np.diff(edges)[:-1], np.diff(edges)[1:])
    touching = np.where(np.isfinite(widths), TOUCHING * widths, 0.0)
    return np.searchsorted(edges[1:-1] - touching, values, side="right")


def copies_per_slice(counts: IntArray, oversampling: float = 1.0) -> IntArray:
    """c_j = max(1, floor(tau |Y_1| / |Y_j|)), 0 for an empty slice.

    tau is read as a fraction, so that tau = 1/3 of 9 rows is 3 and not 2.999...

    Examples
    --------
    >>> import numpy as np
    >>> copies_per_slice(np.array([9, 4, 0, 1]), 1 / 3)
    array([1, 1, 0, 3])
    """
    tau = check_real("oversampling", oversampling, 0, MAX_OVERSAMPLING)
    ratio = Fraction(tau).limit_denominator(10**6)
    copies = np.zeros_like(counts)
    held = counts > 0
    copies[held] = np.maximum(1, ratio.numerator * counts.max() // (ratio.denominator * counts[held]))
    return copies


def check_slice_rule(rule: Any) -> str | int | FloatArray:
    """Return a rule in canonical form (name, int, or float edges), or raise."""
    if isinstance(rule, str):
        return check_choice("slices", rule, [*_RULES, "log"])
    if isinstance(rule, Integral):
        return check_integer("slices", rule, 1, also=", a rule's name, or increasing edges")
    try:
        edges = np.asarray(rule, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.empty(0)
    if edges.ndim != 1 or edges.size < 2 or np.isnan(edges).any() or not (np.diff(edges) > 0).all():
        names = ", ".join(repr(name) for name in [*_RULES, "log"])
        raise ValueError(
            f"slices must be {names}, an integer >= 1, or at least two strictly increasing edges; got {rule!r}."
        )
    return edges


def _covering(edges: FloatArray, y: FloatArray) -> FloatArray:
    if y.min() < edges[0] or y.max() > edges[-1]:
        raise ValueError(
            f"slices given as edges must cover every response: the edges span [{edges[0]:g}, {edges[-1]:g}], "
            f"y spans [{y.min():g}, {y.max():g}]. Widen the outer edges (-inf and inf are allowed)."
        )
    return edges


def _scott(y: FloatArray, weights: FloatArray) -> int:
    """Slices of width 3.49 s N^(-1/3)."""
    unit = _unit_scale(y)
    return _slices_of_width(unit, 3.49 * _deviation(unit, weights) * weights.sum() ** (-1 / 3))


def _sturges(y: FloatArray, weights: FloatArray) -> int:
    """1 + log2 N slices."""
    return int(np.ceil(1 + np.log2(weights.sum())))


def _freedman_diaconis(y: FloatArray, weights: FloatArray) -> int:
    """Slices of width 2 IQR N^(-1/3); Scott's rule when the IQR is 0."""
    unit = _unit_scale(y)
    iqr = _quantile(unit, 0.75, weights) - _quantile(unit, 0.25, weights)
    return _slices_of_width(unit, 2 * iqr * weights.sum() ** (-1 / 3)) if iqr > 0 else _scott(y, weights)


_RULES: dict[str, Callable[[FloatArray, FloatArray], int]] = {
    "scott": _scott,
    "sturges": _sturges,
    "fd": _freedman_diaconis,
}


def _log_edges(y: FloatArray, weights: FloatArray) -> FloatArray:
    """Scott's slices of asinh((y - median) / MAD), mapped back to y.

    The mean absolute deviation stands in for a MAD of 0 (more than half of the rows equal).
    """
    center = _quantile(y, 0.5, weights)
    deviation = np.abs(y - center)
    spread = _quantile(deviation, 0.5, weights) or float(np.average(deviation, weights=weights))
    spread = max(spread, 1e-200 * float(deviation.max()))  # the ratio must not overflow
    z = np.arcsinh((y - center) / spread)
    grid = np.linspace(z.min(), z.max(), _capped(_scott(z, weights), weights) + 1)
    edges = center + spread * np.sinh(grid)
    edges[0], edges[-1] = y.min(), y.max()
    return np.clip(edges, edges[0], edges[-1])


def _deviation(y: FloatArray, weights: FloatArray) -> float:
    """The standard deviation of rows that occur w times each."""
    squares = np.dot(weights, (y - np.average(y, weights=weights)) ** 2)
    return float(np.sqrt(squares / max(weights.sum() - 1.0, 1.0)))


def _quantile(y: FloatArray, share: float, weights: FloatArray) -> float:
    """The quantile, half-way between neighbours where it falls between rows; rows occur w times each."""
    order = np.argsort(y)
    cumulated = np.cumsum(weights[order])
    place = share * cumulated[-1]
    at = [np.searchsorted(cumulated, place, side=side) for side in ("left", "right")]
    return float(np.mean(y[order[np.minimum(at, len(y) - 1)]]))


def _unit_scale(y: FloatArray) -> FloatArray:
    """Scale y to [0, 1], so that squares of very large or tiny responses neither overflow nor vanish."""
    return (y - y.min()) / np.ptp(y)


def _slices_of_width(values: FloatArray, width: float) -> int:
    span = float(np.ptp(values))
    return int(np.ceil(span / width - TOUCHING)) if width > span / MAX_SLICES else MAX_SLICES


def _capped(n_slices: int, weights: FloatArray) -> int:
    return max(1, min(n_slices, int(np.ceil(weights.sum())), MAX_SLICES))


def _warn_when_crowded(counts: IntArray, rule: Any) -> None:
    equal_width = isinstance(rule, Integral) or rule in list(_RULES) if np.ndim(rule) == 0 else False
    share = counts.max() / counts.sum()
    if equal_width and len(counts) > 1 and share > CROWDED:
        warn_user(
            f"One of {len(counts)} equal-width slices holds {share:.1%} of the rows, so the slices say little "
            "about the response. Use slices='log' for tails this heavy, or pass edges."
        )
