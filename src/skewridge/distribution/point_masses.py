"""Responses that many rows share, such as zeros or a largest value that was recorded: their probabilities.

The probability of each is its share among unseen rows of similar prediction. What the others are is left to their
errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.distribution.intervals import Calibration, calibration_of
from skewridge.response.slices import slice_labels

MOST_VALUES = 20  # of a response that is discrete
LEAST_SHARE, LEAST_ROWS = 0.01, 20.0  # of the rows, that share a value
STANDS_OUT, NEIGHBOURS = 5.0, 5  # times the rows of a value's neighbours in y, five on either side, in the median
GRID_SHARE, ON_GRID = 0.2, 1e-9  # of different values among the rows, and of steps that rounding may miss
SLICE_ROWS, MOST_SLICES = 200.0, 50  # of predictions that shares are taken over


@dataclass(frozen=True)
class PointMasses:
    """Values that y takes with a probability of its own, by slices of the prediction.

    Attributes
    ----------
    values : (a,) array, increasing
    edges : (g + 1,) array, slices of the prediction
    shares : (g, a) array, P(y = value) in every slice
    rest : Calibration of the rows with other values; None where there are none
    """

    values: FloatArray
    edges: FloatArray
    shares: FloatArray
    rest: Calibration | None

    def probabilities(self, prediction: FloatArray) -> FloatArray:
        """P(y = value) at rows of such predictions, (n, a); they sum to 1 where there is nothing else."""
        found = self.shares[slice_labels(prediction, self.edges)]
        if self.rest is not None:
            return found
        totals = found.sum(axis=1, keepdims=True)
        return np.where(totals > 0.0, found / np.where(totals > 0.0, totals, 1.0), 1.0 / len(self.values))

    def widened(
        self, low: FloatArray, high: FloatArray, prediction: FloatArray, tail: float
    ) -> tuple[FloatArray, FloatArray]:
        """Ends of intervals, (n,), moved out to the values beyond which no more than a tail of their probability lies.

        Errors tell where a value lies relative to predictions that differ a little from fit to fit; the value itself
        does not move.
        """
        shares = self.shares[slice_labels(prediction, self.edges)]
        below, above = np.cumsum(shares, axis=1) > tail, np.cumsum(shares[:, ::-1], axis=1) > tail
        least, most = self.values[below.argmax(axis=1)], self.values[::-1][above.argmax(axis=1)]
        low = np.where(below.any(axis=1), np.minimum(low, least), low)
        return low, np.where(above.any(axis=1), np.maximum(high, most), high)


def shared_values(y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the values that are point masses of y: all of at most 20, or those that stand out.

    A value stands out that at least 1% of the rows, and 20 of them, have, and five times as many as
    have a typical one of its neighbours in y: counts of 100 and 90 rows beside each other do not.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.r_[np.zeros(50), np.arange(1.0, 101.0)]
    >>> shared_values(y, np.ones(150)), shared_values(np.arange(90.0), np.ones(90)), shared_values(y > 0, np.ones(150))
    (array([0.]), array([], dtype=float64), array([0., 1.]))
    """
    values, member = np.unique(np.asarray(y, dtype=np.float64), return_inverse=True)
    rows = np.bincount(member, weights).astype(np.float64)
    if len(values) <= MOST_VALUES and rows.min() >= 2.0:
        return values
    often = np.flatnonzero(rows >= max(LEAST_ROWS, LEAST_SHARE * float(rows.sum())))
    return values[[place for place in often.tolist() if rows[place] >= STANDS_OUT * _typical(rows, place)]]


def _typical(rows: FloatArray, place: int) -> float:
    """The median number of rows that a value's neighbours have."""
    near = rows[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]
    return float(np.median(np.delete(near, min(place, NEIGHBOURS))))


def lattice_of(y: FloatArray) -> tuple[float, float] | None:
    """Return origin and step of the grid that y lies on, such as whole numbers; None where there is none.

    Values must repeat: five rows for each of them on average.

    Examples
    --------
    >>> import numpy as np
    >>> lattice_of(np.repeat([2.0, 4.0, 8.0], 9)), lattice_of(np.linspace(0.0, 1.0, 50) ** 2)
    ((2.0, 2.0), None)
    """
    values = np.unique(y)
    if len(values) < 2 or len(values) > GRID_SHARE * len(y):
        return None
    step = float(np.diff(values).min())
    places = (values - values[0]) / step
    on_grid = np.all(np.abs(places - np.round(places)) <= ON_GRID * np.maximum(places, 1.0))
    return (float(values[0]), step) if on_grid else None


def point_masses(
    prediction: FloatArray,
    y: FloatArray,
    scale: FloatArray,
    edges: FloatArray,
    weights: FloatArray,
    source: str,
    level: FloatArray | None = None,
) -> PointMasses | None:
    """Return the point masses of y, all (n,) arrays, and the errors of the other rows; None where there are none.

    Level is where rows lie among predictions, if not where their own prediction does.
    """
    values = shared_values(y, weights) if len(y) else y
    if not len(values):
        return None
    level = prediction if level is None else level
    cuts = _even_edges(level, weights)
    labels = slice_labels(level, cuts)
    own = y[:, None] == values
    mass = np.bincount(labels, weights, minlength=len(cuts) - 1)
    held = np.column_stack([np.bincount(labels, weights * column, minlength=len(cuts) - 1) for column in own.T])
    others = ~own.any(axis=1)
    rest = None
    if others.any():
        own = prediction[others], y[others], edges, weights[others], source, scale[others], level[others]
        rest = calibration_of(*own)
    return PointMasses(values, cuts, held / mass[:, None], rest)


def _even_edges(prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Edges of slices of the prediction that hold about as many rows each."""
    n_slices = int(np.clip(weights.sum() // SLICE_ROWS, 1, MOST_SLICES))
    order = np.argsort(prediction, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    inner: IntArray = np.searchsorted(reached, np.arange(1, n_slices) / n_slices)
    cuts = np.unique(prediction[order][inner])
    edges = np.r_[-np.inf, cuts, np.inf]
    held = np.bincount(slice_labels(prediction, edges), minlength=len(edges) - 1)
    while len(edges) > 2 and held.min() == 0:  # a slice that ties left empty joins its neighbour
        empty = int(np.argmin(held))
        edges = np.delete(edges, empty + 1 if empty < len(held) - 1 else empty)
        held = np.bincount(slice_labels(prediction, edges), minlength=len(edges) - 1)
    return edges
