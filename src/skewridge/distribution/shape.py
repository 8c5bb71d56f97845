"""The distribution of errors, slice by slice of the prediction: empirical in the middle, Pareto in the tails.

Errors are those of unseen rows over the scale of the noise at them. A slice's i-th smallest error of n stands at level
i / (n + 1), and levels between are interpolated. Above the threshold that a tenth of the errors or fewer exceed, and
below its twin, a generalised Pareto tail takes over: its shape is shared by all slices, its scale is the slice's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.distribution.joining import join_slices
from skewridge.distribution.pareto import ParetoTail, cramer_von_mises, fit_pareto
from skewridge.features.scaling import weighted_median
from skewridge.response.slices import slice_labels

FEWEST_ROWS, MOST_ROWS = 50, 500  # of a slice: a twentieth of the rows, within these
TAIL_SHARES = (0.1, 0.05, 0.025, 0.01)  # of the errors, beyond a threshold: the first that the tail fits is taken
FEWEST_BEYOND = 50  # errors, for a tail
FAR_FROM_PARETO = 0.15  # Cramer-von Mises: about the 5% point
PRIOR_ROWS = 50.0  # of the median excess of all slices, in that of each


@dataclass(frozen=True)
class SliceTail:
    """The tail of one slice: errors beyond ``start``, with probability ``share``, exceed it by a Pareto law."""

    start: float
    share: float
    unit: float
    law: ParetoTail

    def quantile(self, exceeded: FloatArray) -> FloatArray:
        """The error that is exceeded with such probabilities, at most ``share``."""
        return self.start + self.unit * self.law.quantile(exceeded / self.share)

    def exceeded(self, errors: FloatArray) -> FloatArray:
        """P(error > e), for e from ``start`` on."""
        return self.share * self.law.exceeded((errors - self.start) / self.unit)


@dataclass(frozen=True)
class SliceShape:
    """The distribution of the errors of one slice.

    Attributes
    ----------
    errors, levels : (k,) arrays, increasing: the level of every error
    low, high : SliceTail, or None where there are too few errors; the low one is that of the errors' negatives
    """

    errors: FloatArray
    levels: FloatArray
    low: SliceTail | None = None
    high: SliceTail | None = None

    def quantile(self, levels: FloatArray) -> FloatArray:
        """The error at levels in ]0, 1[ of any shape."""
        out = np.interp(levels, self.levels, self.errors)
        if self.high is not None and np.any(beyond := 1.0 - levels < self.high.share):
            out[beyond] = self.high.quantile(1.0 - levels[beyond])
        if self.low is not None and np.any(beyond := levels < self.low.share):
            out[beyond] = -self.low.quantile(levels[beyond])
        return out

    def cdf(self, errors: FloatArray) -> FloatArray:
        """P(error <= e), for e of any shape."""
        out = np.interp(errors, self.errors, self.levels, left=0.0, right=1.0)
        out[errors >= self.errors[-1]] = 1.0
        if self.high is not None and np.any(beyond := errors > self.high.start):
            out[beyond] = 1.0 - self.high.exceeded(errors[beyond])
        if self.low is not None and np.any(beyond := -errors > self.low.start):
            out[beyond] = self.low.exceeded(-errors[beyond])
        return out


@dataclass(frozen=True)
class ErrorShape:
    """The distribution of errors in every slice of the prediction.

    Attributes
    ----------
    edges : (g + 1,) array, slices of the prediction
    slices : the g distributions
    n_rows : float, errors that they rest on
    low, high : ParetoTail, shared; None where there are too few errors
    """

    edges: FloatArray
    slices: tuple[SliceShape, ...]
    n_rows: float
    low: ParetoTail | None
    high: ParetoTail | None

    def labels(self, prediction: FloatArray) -> IntArray:
        """The slice of every prediction, (n,)."""
        return slice_labels(prediction, self.edges)

    def quantile(self, labels: IntArray, levels: FloatArray) -> FloatArray:
        """Errors of rows in such slices, (n,), at levels of their own, (n, L)."""
        out = np.empty(levels.shape)
        for label in np.unique(labels):
            own = labels == label
            out[own] = self.slices[label].quantile(levels[own])
        return out

    def cdf(self, labels: IntArray, errors: FloatArray) -> FloatArray:
        """P(error <= e) of rows in such slices, (n,), for errors of their own, (n, T)."""
        out = np.empty(errors.shape)
        for label in np.unique(labels):
            own = labels == label
            out[own] = self.slices[label].cdf(errors[own])
        return out

    @cached_property
    def known_levels(self) -> tuple[float, float]:
        """The least and the largest level that errors tell of: any, where there are tails."""
        least = 0.0 if self.low is not None else max(own.levels[0] for own in self.slices)
        largest = 1.0 if self.high is not None else min(own.levels[-1] for own in self.slices)
        return float(least), float(largest)


def shape_of(edges: FloatArray, starts: IntArray, errors: FloatArray, weights: FloatArray) -> ErrorShape:
    """Return the distribution of errors by slices, neighbours joined until each has a twentieth of the rows.

    Fewer than 500 rows are one slice: they are too few for a tail.

    Parameters
    ----------
    edges : (l + 1,) array, slices of the prediction
    starts : (l + 1,) array, where the errors of every slice start
    errors, weights : (n,) arrays, slice by slice, and how often each occurs

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.random.default_rng(0).normal(size=4000)
    >>> shape = shape_of(np.array([-np.inf, np.inf]), np.array([0, 4000]), errors, np.ones(4000))
    >>> shape.quantile(np.array([0]), np.array([[0.5, 0.999]])).round() + 0.0
    array([[0., 3.]])
    """
    total = float(weights.sum())
    if not len(errors):
        raise ValueError("there are no errors of unseen rows, which distributions are made of: calibrate with some.")
    mass = np.r_[0.0, np.cumsum(weights)][starts]
    few = total * TAIL_SHARES[0] < FEWEST_BEYOND
    first = [0] if few else join_slices(np.diff(mass), float(np.clip(total / 20.0, FEWEST_ROWS, MOST_ROWS)))
    bounds = starts[[*first, -1]]
    parts = [(errors[low:high], weights[low:high]) for low, high in pairwise(bounds.tolist())]
    shapes = [_empirical(*part) for part in parts]
    mirrored = [SliceShape(-shape.errors[::-1], 1.0 - shape.levels[::-1]) for shape in shapes]
    low, lows = _tails([(-own, counts) for own, counts in parts], mirrored)
    high, highs = _tails(parts, shapes)
    tailed = zip(shapes, lows, highs, strict=True)
    slices = tuple(SliceShape(shape.errors, shape.levels, *tails) for shape, *tails in tailed)
    return ErrorShape(edges[[*first, -1]], slices, total, low, high)


def _empirical(errors: FloatArray, weights: FloatArray) -> SliceShape:
    """Sorted errors at levels i / (n + 1); one of weight 2 stands at two levels."""
    order = np.argsort(errors, kind="stable")
    own = weights[order]
    below = np.cumsum(own) - own
    first, last = below + np.minimum(1.0, (1.0 + own) / 2.0), below + np.maximum(own, (1.0 + own) / 2.0)
    levels = np.column_stack([first, last]).ravel() / (own.sum() + 1.0)
    return SliceShape(np.repeat(errors[order], 2), levels)


def _tails(
    parts: Sequence[tuple[FloatArray, FloatArray]], shapes: Sequence[SliceShape]
) -> tuple[ParetoTail | None, list[SliceTail | None]]:
    """The shared upper tail and every slice's; the largest share that a Pareto law fits, else the smallest."""
    none: list[SliceTail | None] = [None] * len(parts)
    found: tuple[ParetoTail | None, list[SliceTail | None]] = None, none
    for share in TAIL_SHARES:
        middles, starts = np.array([shape.quantile(np.array([0.5, 1.0 - share])) for shape in shapes]).T
        beyond = [(e[e > start] - start, w[e > start]) for (e, w), start in zip(parts, starts, strict=True)]
        weights = np.concatenate([w for _, w in beyond])
        if weights.sum() < FEWEST_BEYOND:
            break
        units = _units(beyond, starts - middles)
        excess = np.concatenate([e / unit for (e, _), unit in zip(beyond, units, strict=True)])
        law = fit_pareto(excess, weights)
        pairs = zip(starts.tolist(), units, strict=True)
        found = law, [SliceTail(start, share, unit, law) for start, unit in pairs]
        if cramer_von_mises(law, excess, weights) <= FAR_FROM_PARETO:
            break
    return found


def _units(beyond: Sequence[tuple[FloatArray, FloatArray]], widths: FloatArray) -> list[float]:
    """The median excess of every slice, drawn to what is usual in slices as wide from the median to the threshold."""
    wide = np.where(widths > 0.0, widths, widths.max(initial=0.0) or 1.0)
    relative = [e / width for (e, _), width in zip(beyond, wide, strict=True)]
    weights = [w for _, w in beyond]
    usual = weighted_median(np.concatenate(relative), np.concatenate(weights))
    own = [weighted_median(e, w) if len(e) else usual for e, w in zip(relative, weights, strict=True)]
    rows = np.array([w.sum() for w in weights])
    drawn = (rows * np.array(own) + PRIOR_ROWS * usual) / (rows + PRIOR_ROWS)
    return (wide * drawn).tolist()
