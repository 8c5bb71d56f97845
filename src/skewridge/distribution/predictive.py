"""The distribution of y at new rows: y = f(x) + s(x) e, with errors e as unseen rows have shown them.

f is the prediction and s the scale of the noise; e has the distribution of its slice of the prediction. Responses that
many rows share, such as zeros or a largest value that was recorded, have probabilities of their own: their shares among
unseen rows of similar prediction. What the others are is left to their errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray, RandomState
from skewridge._validation import check_plain
from skewridge.distribution.errors import ErrorDistribution
from skewridge.distribution.intervals import Calibration, calibration_of
from skewridge.response.slices import slice_labels

MOST_VALUES = 20  # of a response that is discrete
LEAST_SHARE, LEAST_ROWS = 0.01, 20.0  # of the rows, that share a value
STANDS_OUT, NEIGHBOURS = 5.0, 5  # times the rows of a value's neighbours in y, five on either side, in the median
GRID_SHARE, ON_GRID = 0.2, 1e-9  # of different values among the rows, and of steps that rounding may miss
SLICE_ROWS, MOST_SLICES = 200.0, 50  # of predictions that shares are taken over
GRID: FloatArray = ((np.arange(1, 1001) - 0.5) / 1000.0).astype(np.float64)  # levels that means are taken over
BLOCK = 2**21  # numbers that are held at once
DRAWS = (np.random.Generator, np.random.RandomState)
GRID_EPS = 1e-9  # of a step
NARROW = 1e-6  # of the errors, between two ends of y
TINY, EPS = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class PointMasses:
    """Values (a,) that y takes with probabilities of their own, shares (g, a), by slices of the prediction.

    rest are the errors of the rows with other values; None where there are none.
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


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveDistribution:
    """The distribution of y at n rows of such predictions and scales, f(x) and s(x), (n,) each.

    Made by ``predict_distribution`` of a fitted estimator. Levels and thresholds are numbers, or
    arrays (L,): results are (n,) or (n, L).

    y stays between low and high, and on the grid of such an origin and step, such as whole numbers; the step is 0 where
    there is none. errors is None where y has point masses alone.
    """

    prediction: FloatArray
    scale: FloatArray
    errors: ErrorDistribution | None
    masses: PointMasses | None = None
    low: float = -np.inf
    high: float = np.inf
    origin: float = 0.0
    step: float = 0.0

    def __len__(self) -> int:
        return len(self.prediction)

    def __repr__(self) -> str:
        return f"<PredictiveDistribution of {len(self)} rows>"

    def quantile(self, levels: Any) -> FloatArray:
        """Return the least y with P(y' <= y) >= level, for levels in ]0, 1[."""
        return self._by_blocks(check_levels(levels), PredictiveDistribution._quantiles)

    def cdf(self, t: Any) -> FloatArray:
        """Return P(y <= t)."""
        return self._by_blocks(check_thresholds("t", t), PredictiveDistribution._probabilities)

    def sf(self, t: Any) -> FloatArray:
        """Return P(y > t)."""
        return 1.0 - self.cdf(t)

    def mean(self) -> FloatArray:
        """Return the mean, over 1,000 levels; it may differ a little from ``predict``."""
        return self.expected(lambda values: values)

    def sd(self) -> FloatArray:
        """Return the standard deviation, over 1,000 levels: finite also where the tail has none."""

        def deviation(values: FloatArray) -> FloatArray:
            about = values - values.mean(axis=1, keepdims=True)
            largest = np.abs(about).max(axis=1, keepdims=True)
            unit = np.where(largest > 0.0, largest, 1.0)  # squares of smaller numbers would underflow
            return unit[:, 0] * np.sqrt(np.mean((about / unit) ** 2, axis=1))

        return self._by_blocks(GRID, lambda part, levels: deviation(part._quantiles(levels)))

    def sample(self, size: int = 1, random_state: RandomState = None) -> FloatArray:
        """Return draws of y, (n, size), independent of one another."""
        generator = random_state if isinstance(random_state, DRAWS) else np.random.default_rng(random_state)
        uniform = generator.random((len(self), size))
        return self._quantiles(np.maximum(uniform, TINY))

    def expected(self, value: Callable[[FloatArray], Any]) -> FloatArray:
        """Return the mean of ``value(y)``, a function of arrays, over 1,000 levels."""

        def mean(values: FloatArray) -> FloatArray:
            found = np.asarray(value(values), dtype=np.float64)
            if found.shape not in ((), values.shape):
                raise ValueError(
                    "A function of responses must return one number for each of them, of shape "
                    f"{values.shape}; got {found.shape}."
                )
            return np.broadcast_to(found, values.shape).mean(axis=1)

        return self._by_blocks(GRID, lambda part, levels: mean(part._quantiles(levels)))

    def plot(self, row: int = 0, ax: Any = None) -> Any:
        """Draw P(y > t) of one row against t; return the axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        levels = np.linspace(0.001, 0.999, 999)
        ax.step(self._some(slice(row, row + 1))._quantiles(levels[None])[0], 1.0 - levels, where="post")
        ax.set(xlabel="t", ylabel="P(y > t)", ylim=(0.0, 1.0))
        return ax

    def _by_blocks(
        self, columns: FloatArray, ask: Callable[[PredictiveDistribution, FloatArray], FloatArray]
    ) -> FloatArray:
        """What rows answer, asked for the same numbers (L,), in blocks of rows that are small enough."""
        asked = np.atleast_1d(columns)
        size = max(1, BLOCK // max(len(asked), 1))
        parts = [self._some(slice(start, start + size)) for start in range(0, max(len(self), 1), size)]
        answers = [ask(part, np.broadcast_to(asked, (len(part), len(asked)))) for part in parts]
        found = np.concatenate(answers)
        return found[..., 0] if columns.ndim == 0 else found

    def _some(self, rows: slice) -> PredictiveDistribution:
        """The distribution at some of the rows."""
        return replace(self, prediction=self.prediction[rows], scale=self.scale[rows])

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        """Return the least y with P(y' <= y) >= level, for levels of every row, (n, L)."""
        found = self._smooth_quantile(levels) if self.masses is None else self._mixed_quantile(levels, self.masses)
        if self.step:  # what rounds to a value of the grid is that value
            found = self.origin + self.step * np.ceil((found - self.origin) / self.step - 0.5 - GRID_EPS)
        return np.clip(found, self.low, self.high)

    def _probabilities(self, t: FloatArray) -> FloatArray:
        """Return P(y <= t), for thresholds of every row, (n, T)."""
        if self.step:
            t = self.origin + self.step * (np.floor((t - self.origin) / self.step + GRID_EPS) + 0.5)
        if self.masses is None:
            found = self._smooth_cdf(t)
        else:
            shares = self.masses.probabilities(self.prediction)
            smooth = (1.0 - shares.sum(axis=1, keepdims=True)) * self._smooth_cdf(t)
            held = shares[:, None, :] * (self.masses.values <= t[:, :, None])
            found = np.clip(smooth + held.sum(axis=2), 0.0, 1.0)
        return np.where(t >= self.high, 1.0, np.where(t < self.low, 0.0, found))

    def _smooth_quantile(self, levels: FloatArray) -> FloatArray:
        """Quantiles by errors alone, between point masses that are ends of y."""
        assert self.errors is not None
        low, high = self._cut
        inner = np.clip(low + levels * (high - low), TINY, 1.0 - EPS)
        errors = self.errors.quantile(self.prediction, inner)
        return self.prediction[:, None] + self.scale[:, None] * errors

    def _error_cdf(self, errors: ErrorDistribution, t: FloatArray) -> FloatArray:
        return errors.cdf(self.prediction, (t - self.prediction[:, None]) / self.scale[:, None])

    def _smooth_cdf(self, t: FloatArray) -> FloatArray:
        """P(y <= t) by errors alone, between point masses that are ends of y."""
        if self.errors is None:
            return np.zeros(t.shape)
        low, high = self._cut
        return np.clip((self._error_cdf(self.errors, t) - low) / (high - low), 0.0, 1.0)

    @cached_property
    def _cut(self) -> tuple[FloatArray, FloatArray]:
        """The levels of errors that lead beyond ends of y, (n, 1) each, where these ends are point masses."""
        low, high = np.zeros((len(self), 1)), np.ones((len(self), 1))
        if self.masses is None or self.errors is None:
            return low, high
        if self.masses.values[0] == self.low:
            low = self._error_cdf(self.errors, low + self.low)
        if self.masses.values[-1] == self.high:
            high = self._error_cdf(self.errors, np.full_like(high, self.high))
        narrow = high - low < NARROW
        return np.where(narrow, 0.0, low), np.where(narrow, 1.0, high)

    def _mixed_quantile(self, levels: FloatArray, masses: PointMasses) -> FloatArray:
        """Go up through the point masses: a level is at one of them, or between two, where errors tell."""
        shares = masses.probabilities(self.prediction)
        left = np.maximum(1.0 - shares.sum(axis=1, keepdims=True), 0.0)
        below = np.zeros((len(self), 1))  # point masses passed
        passed, out = np.zeros(levels.shape), np.full(levels.shape, np.nan)
        for place, value in enumerate(masses.values):
            smooth = left * self._smooth_cdf(np.full((len(self), 1), value))
            reached = smooth + below + shares[:, [place]]
            at = np.isnan(out) & (levels > smooth + below) & (levels <= reached)
            out[at] = value
            below = below + shares[:, [place]]
            passed = np.where(levels > reached, below, passed)
        between = np.isnan(out)
        if self.errors is None:  # rounding left a level above the last one
            out[between] = masses.values[-1]
            return out
        inner = (levels - passed) / np.where(left > 0.0, left, 1.0)
        return np.where(between, self._smooth_quantile(np.clip(inner, TINY, 1.0 - EPS)), out)


def check_levels(levels: Any) -> FloatArray:
    """Return levels as numbers in ]0, 1[, or raise."""
    asked = check_thresholds("levels", levels)
    inside = (asked > 0.0) & (asked < 1.0)
    if asked.size == 0 or not inside.all():
        got = "none" if asked.size == 0 else f"{np.atleast_1d(asked)[~np.atleast_1d(inside)][0]:g}"
        raise ValueError(f"levels must lie above 0 and below 1; got {got}. The median is 0.5, the 99% level 0.99.")
    return asked


def check_thresholds(name: str, values: Any) -> FloatArray:
    """Return a number or a vector of numbers, or raise."""
    check_plain(name, values)
    try:
        asked = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number or a list of numbers; got {values!r}.") from error
    if asked.ndim > 1:
        raise ValueError(f"{name} must be a number or a list of numbers; got an array of shape {asked.shape}.")
    if np.isnan(asked).any():
        raise ValueError(f"{name} must be numbers; got nan at place {int(np.argmax(np.isnan(asked)))}.")
    return asked


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
    outstanding = []
    for place in np.flatnonzero(rows >= max(LEAST_ROWS, LEAST_SHARE * float(rows.sum()))).tolist():
        near = rows[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]
        typical = np.median(np.delete(near, min(place, NEIGHBOURS)))
        if rows[place] >= STANDS_OUT * typical:
            outstanding.append(place)
    return values[outstanding]


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

    level is where rows lie among predictions, if not where their own prediction does.
    """
    values = shared_values(y, weights) if len(y) else y
    if not len(values):
        return None
    level = prediction if level is None else level
    cuts = _even_edges(level, weights)
    labels = slice_labels(level, cuts)
    own = y[:, None] == values
    mass = np.bincount(labels, weights, minlength=len(cuts) - 1)
    rows = np.column_stack([np.bincount(labels, weights * column, minlength=len(cuts) - 1) for column in own.T])
    r, rest = ~own.any(axis=1), None  # the other rows
    if r.any():
        rest = calibration_of(prediction[r], y[r], edges, weights[r], source, scale[r], level[r])
    return PointMasses(values, cuts, rows / mass[:, None], rest)


def _even_edges(prediction: FloatArray, weights: FloatArray) -> FloatArray:
    """Edges of slices of the prediction that hold about as many rows each."""
    n_slices = int(np.clip(weights.sum() // SLICE_ROWS, 1, MOST_SLICES))
    order = np.argsort(prediction, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    inner: IntArray = np.searchsorted(reached, np.arange(1, n_slices) / n_slices)
    cuts = np.unique(prediction[order][inner])
    edges = np.r_[-np.inf, cuts, np.inf]
    rows = np.bincount(slice_labels(prediction, edges), minlength=len(edges) - 1)
    while len(edges) > 2 and rows.min() == 0:  # a slice that ties left empty joins its neighbour
        empty = int(np.argmin(rows))
        edges = np.delete(edges, empty + 1 if empty < len(rows) - 1 else empty)
        rows = np.bincount(slice_labels(prediction, edges), minlength=len(edges) - 1)
    return edges
