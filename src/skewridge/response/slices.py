"""Slices of the response: y -> intervals, how many rows each holds, how many copies each row gets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import TINIEST, check_choice, check_integer, check_magnitude, check_real, warn_user

RULES = ("scott", "sturges", "fd", "log")
MAX_SLICES = 10_000
MAX_OVERSAMPLING = 100.0
CROWDED = 0.9  # a slice with a larger share of the rows makes equal widths pointless
TOUCHING = 1e-9  # of a slice: values so near below an edge are at it, in whatever units y is rounded


@dataclass(frozen=True)
class Slices:
    """The response cut into l intervals; slice j is [edges[j], edges[j+1]), the last one closed.

    edges (l + 1,); labels (N,), the slice of every row; counts (l,), |Y_j|, rows in every slice; copies (l,), c_j, how
    often every row of the slice is assigned, 0 for an empty slice.
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
    slices = slice_quietly(y, rule, oversampling)
    share = slices.counts.max() / slices.counts.sum()
    equal_widths = np.ndim(rule) == 0 and rule != "log"
    if equal_widths and len(slices) > 1 and share > CROWDED:
        warn_user(
            f"One of {len(slices)} equal-width slices holds {share:.1%} of the rows, so the slices say little "
            "about the response. Use slices='log' for tails this heavy, or pass edges."
        )
    return slices


def slice_quietly(y: FloatArray, rule: Any = "scott", oversampling: float = 1.0) -> Slices:
    """Slice without the warning about crowded slices, where the user did not ask for these slices."""
    edges = slice_edges(y, rule)
    labels = slice_labels(y, edges)
    counts = np.bincount(labels, minlength=len(edges) - 1)
    return Slices(edges, labels, counts, copies_per_slice(counts, oversampling))


def slice_edges(y: FloatArray, rule: Any = "scott", weights: FloatArray | None = None) -> FloatArray:
    """Return the l + 1 edges that a rule gives on y; constant y is one slice. Weights are frequencies."""
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1 or y.size == 0 or not np.isfinite(y).all():
        raise ValueError("y must be a one-dimensional array of finite numbers with at least one row.")
    check_magnitude("y", y)
    rule, low, high = check_slice_rule(rule), float(y.min()), float(y.max())
    if isinstance(rule, np.ndarray):
        if low < rule[0] or high > rule[-1]:
            raise ValueError(
                f"slices given as edges must cover every response: the edges span [{rule[0]:g}, {rule[-1]:g}], "
                f"y spans [{low:g}, {high:g}]. Widen the outer edges (-inf and inf are allowed)."
            )
        return rule
    if high - low < TINIEST:
        return np.array([low, high])
    w = np.ones(y.size) if weights is None else weights
    if rule != "log":
        return np.linspace(low, high, _n_slices(rule, y, w) + 1)
    center = _quantile(y, 0.5, w)  # Scott's slices of asinh((y - median) / MAD), mapped back to y
    deviation = np.abs(y - center)
    spread = _quantile(deviation, 0.5, w) or float(np.average(deviation, weights=w))  # of a MAD of 0 the mean one
    spread = max(spread, 1e-200 * float(deviation.max()))  # the ratio must not overflow
    z = np.arcsinh((y - center) / spread)
    grid = np.linspace(z.min(), z.max(), _n_slices("scott", z, w) + 1)
    edges = center + spread * np.sinh(grid)
    edges[0], edges[-1] = low, high
    return np.clip(edges, low, high)


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


def ranks_within(labels: IntArray, by: IntArray | None = None) -> IntArray:
    """Every item's rank among those of its label, as they come or by some numbers, (n,)."""
    order = np.argsort(labels, kind="stable") if by is None else np.lexsort((by, labels))
    grouped, ranks = labels[order], np.empty(len(labels), dtype=np.int64)
    ranks[order] = np.arange(len(labels)) - np.searchsorted(grouped, grouped)
    return ranks


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
    copies, occupied = np.zeros_like(counts), counts > 0
    copies[occupied] = np.maximum(1, ratio.numerator * counts.max() // (ratio.denominator * counts[occupied]))
    return copies


def check_slice_rule(rule: Any) -> str | int | FloatArray:
    """Return a rule in canonical form (name, int, or float edges), or raise."""
    if isinstance(rule, str):
        return check_choice("slices", rule, RULES)
    if isinstance(rule, Integral):
        return check_integer("slices", rule, 1, also=", a rule's name, or increasing edges")
    try:
        edges = np.asarray(rule, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.empty(0)
    if edges.ndim != 1 or edges.size < 2 or np.isnan(edges).any() or not (np.diff(edges) > 0).all():
        raise ValueError(
            f"slices must be {', '.join(map(repr, RULES))}, an integer >= 1, or at least two strictly increasing "
            f"edges; got {rule!r}."
        )
    return edges


def choose_rule(y: FloatArray, rule: object, weights: FloatArray) -> object:
    """Return the rule that "auto" stands for: Scott's, or "log" where that leaves one slice with over 90% of rows."""
    if not isinstance(rule, str) or rule != "auto":
        return check_slice_rule(rule)
    counts = np.bincount(slice_labels(y, slice_edges(y, "scott", weights)), weights)
    return "log" if len(counts) > 1 and counts.max() > CROWDED * counts.sum() else "scott"


def _n_slices(rule: str | int, y: FloatArray, weights: FloatArray) -> int:
    """How many slices a rule gives: its number, Sturges' 1 + log2 N, or by their width in the range of y.

    Freedman and Diaconis' width is 2 IQR N^(-1/3), Scott's 3.49 s N^(-1/3), which serves where the IQR is 0 as well.
    """
    total = weights.sum()
    if isinstance(rule, int):
        number = rule
    elif rule == "sturges":
        number = int(np.ceil(1 + np.log2(total)))
    else:
        unit = (y - y.min()) / np.ptp(y)  # squares of very large or tiny responses neither overflow nor vanish
        iqr = _quantile(unit, 0.75, weights) - _quantile(unit, 0.25, weights) if rule == "fd" else 0.0
        if iqr > 0:
            width = 2 * iqr * total ** (-1 / 3)
        else:
            squares = np.dot(weights, (unit - np.average(unit, weights=weights)) ** 2)
            width = 3.49 * float(np.sqrt(squares / max(total - 1.0, 1.0))) * total ** (-1 / 3)
        span = float(np.ptp(unit))
        number = int(np.ceil(span / width - TOUCHING)) if width > span / MAX_SLICES else MAX_SLICES
    return max(1, min(number, int(np.ceil(total)), MAX_SLICES))


def _quantile(y: FloatArray, share: float, weights: FloatArray) -> float:
    """The quantile, half-way between neighbours where it falls between rows; rows occur w times each."""
    order = np.argsort(y)
    cumulated = np.cumsum(weights[order])
    place = share * cumulated[-1]
    at = [np.searchsorted(cumulated, place, side=side) for side in ("left", "right")]
    return float(np.mean(y[order[np.minimum(at, len(y) - 1)]]))
