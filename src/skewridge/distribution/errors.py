"""The distribution of errors, slice by slice of the prediction: empirical in the middle, Pareto in the tails.

Errors are those of unseen rows over the scale of the noise at them. A slice's i-th smallest error of n stands at level
i / (n + 1), and levels between are interpolated. Above the threshold that a tenth of the errors or fewer exceed, and
below its twin, a generalised Pareto tail takes over, P(Z > z) = (1 + shape z / scale)^(-1 / shape) for excesses Z over
the threshold: its shape is shared by all slices, its scale is the slice's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from skewridge._typing import FloatArray, IntArray
from skewridge.features.scaling import weighted_median
from skewridge.response.slices import slice_labels

FEWEST_ROWS, MOST_ROWS = 50, 500  # of a slice: a twentieth of the rows, within these
TAIL_SHARES = (0.1, 0.05, 0.025, 0.01)  # of the errors, beyond a threshold: the first that the tail fits is taken
FEWEST_BEYOND = 50  # errors, for a tail
FAR_FROM_PARETO = 0.15  # Cramer-von Mises: about the 5% point
PRIOR_ROWS = 50.0  # of the median excess of all slices, in that of each
LEAST_SHAPE, LARGEST_SHAPE = -0.5, 2.0  # beyond -0.5 maximum likelihood breaks down
CHI_SQUARED = 3.841458820694124  # the 95% point with one degree of freedom
_STRAIGHT = 1e-6  # shapes nearer to 0 are the exponential distribution


@dataclass(frozen=True)
class ParetoTail:
    """A generalised Pareto law of what exceeds a threshold, fitted to n_rows excesses by maximum likelihood.

    shape is 0 for the exponential law, 1/a for a Pareto law with index a, and below 0 where there is an end; shape_low
    and shape_high are its 95% interval by profile likelihood. In slice j, errors exceed thresholds[j] with probability
    share, and the excess has scale times slice_scales[j].
    """

    shape: float
    shape_low: float
    shape_high: float
    n_rows: float
    scale: float
    slice_scales: FloatArray
    thresholds: FloatArray
    share: float = 1.0

    def isf(self, exceeded: FloatArray, slices: IntArray | int = 0) -> FloatArray:
        """The error of such slices that is exceeded with such probabilities, at most ``share``."""
        logs, straight = -np.log(exceeded / self.share), abs(self.shape) < _STRAIGHT
        excess = self.scale * logs if straight else self.scale * np.expm1(self.shape * logs) / self.shape
        return self.thresholds[slices] + self.slice_scales[slices] * excess

    def sf(self, errors: FloatArray, slices: IntArray | int = 0) -> FloatArray:
        """P(error > e) in such slices, for e from the threshold on."""
        z = (errors - self.thresholds[slices]) / self.slice_scales[slices] / self.scale
        if abs(self.shape) < _STRAIGHT:
            return self.share * np.exp(-z)
        with np.errstate(divide="ignore"):
            return self.share * np.exp(-(np.log1p(np.maximum(self.shape * z, -1.0)) / self.shape))


@dataclass(frozen=True)
class ErrorDistribution:
    """The distribution of n_rows errors in every slice of the prediction, with edges (g + 1,).

    A slice is its errors (k,), which increase, and the level of each, (k,). The shared tails low, of the errors'
    negatives, and high are None where there are too few errors.
    """

    edges: FloatArray
    slices: tuple[tuple[FloatArray, FloatArray], ...]
    n_rows: float
    low: ParetoTail | None
    high: ParetoTail | None

    def quantile(self, prediction: FloatArray, levels: FloatArray) -> FloatArray:
        """Errors at rows with such predictions, (n,), at levels in ]0, 1[ of their own, (n, L)."""
        labels = slice_labels(prediction, self.edges)
        out = np.empty(levels.shape)
        for label in np.unique(labels):
            errors, own_levels = self.slices[label]
            out[labels == label] = np.interp(levels[labels == label], own_levels, errors)
        for sign, tail, exceeded in ((1.0, self.high, 1.0 - levels), (-1.0, self.low, levels)):
            if tail is not None:
                beyond = exceeded < tail.share
                out[beyond] = sign * tail.isf(exceeded[beyond], labels[beyond.nonzero()[0]])
        return out

    def cdf(self, prediction: FloatArray, errors: FloatArray) -> FloatArray:
        """P(error <= e) at rows with such predictions, (n,), for errors of their own, (n, T)."""
        labels = slice_labels(prediction, self.edges)
        out = np.empty(errors.shape)
        for label in np.unique(labels):
            own_errors, levels = self.slices[label]
            inside = np.interp(errors[labels == label], own_errors, levels, left=0.0)
            out[labels == label] = np.where(errors[labels == label] >= own_errors[-1], 1.0, inside)
        for sign, tail in ((1.0, self.high), (-1.0, self.low)):
            if tail is not None:
                beyond = sign * errors > tail.thresholds[labels][:, None]
                exceeded = tail.sf(sign * errors[beyond], labels[beyond.nonzero()[0]])
                out[beyond] = 1.0 - exceeded if sign > 0.0 else exceeded
        return out

    @cached_property
    def known_levels(self) -> tuple[float, float]:
        """The least and the largest of the levels the errors support: any, where there are tails."""
        least = 0.0 if self.low is not None else max(levels[0] for _, levels in self.slices)
        largest = 1.0 if self.high is not None else min(levels[-1] for _, levels in self.slices)
        return float(least), float(largest)


def error_distribution(
    edges: FloatArray, starts: IntArray, errors: FloatArray, weights: FloatArray
) -> ErrorDistribution:
    """Return the distribution of errors by slices of the prediction.

    edges, starts (l + 1,); errors, weights (n,): those of slice j are errors[starts[j]:starts[j + 1]], in any order.
    Neighbours are joined until each has a twentieth of the rows. Fewer than 500 rows are one slice: they are too few
    for a tail.

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.random.default_rng(0).normal(size=4000)
    >>> found = error_distribution(np.array([-np.inf, np.inf]), np.array([0, 4000]), errors, np.ones(4000))
    >>> found.quantile(np.zeros(1), np.array([[0.5, 0.999]])).round() + 0.0
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
    slices = tuple(_at_levels(*part) for part in parts)
    mirrored = [(-own[::-1], 1.0 - levels[::-1]) for own, levels in slices]
    low = _fit_tail([(-own, counts) for own, counts in parts], mirrored)
    return ErrorDistribution(edges[[*first, -1]], slices, total, low, _fit_tail(parts, slices))


def _at_levels(errors: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sorted errors, (2k,), at levels i / (n + 1), (2k,): each of the k at the first and the last of its own levels."""
    order = np.argsort(errors, kind="stable")
    own = weights[order]
    below = np.cumsum(own) - own
    # w copies have the ranks 1 to w after those below; with a weight under 1 both are the middle, (1 + w) / 2
    first, last = below + np.minimum(1.0, (1.0 + own) / 2.0), below + np.maximum(own, (1.0 + own) / 2.0)
    levels = np.column_stack([first, last]).ravel() / (own.sum() + 1.0)
    return np.repeat(errors[order], 2), levels


def _fit_tail(
    parts: Sequence[tuple[FloatArray, FloatArray]], slices: Sequence[tuple[FloatArray, FloatArray]]
) -> ParetoTail | None:
    """The upper tail of errors and weights by slices: the largest share that a Pareto law fits, else the smallest.

    A slice's scale is its median excess, drawn to what is usual in slices as wide from the median to the threshold.
    """
    found = None
    for share in TAIL_SHARES:
        medians, thresholds = np.array([np.interp([0.5, 1.0 - share], levels, own) for own, levels in slices]).T
        beyond = [(e[e > t] - t, w[e > t]) for (e, w), t in zip(parts, thresholds, strict=True)]
        weights = np.concatenate([w for _, w in beyond])
        if weights.sum() < FEWEST_BEYOND:
            break
        widths = thresholds - medians
        wide = np.where(thresholds > medians, widths, widths.max() or 1.0)
        relative = [e / width for (e, _), width in zip(beyond, wide, strict=True)]
        usual = weighted_median(np.concatenate(relative), weights)
        own = [weighted_median(e, w) if len(w) else usual for e, (_, w) in zip(relative, beyond, strict=True)]
        rows = np.array([w.sum() for _, w in beyond])
        slice_scales = wide * ((rows * np.array(own) + PRIOR_ROWS * usual) / (rows + PRIOR_ROWS))
        excess = np.concatenate([e / scale for (e, _), scale in zip(beyond, slice_scales, strict=True)])
        law = fit_pareto(excess, weights)
        found = replace(law, slice_scales=slice_scales, thresholds=thresholds, share=share)
        if cramer_von_mises(law, excess, weights) <= FAR_FROM_PARETO:
            break
    return found


def fit_pareto(excess: FloatArray, weights: FloatArray) -> ParetoTail:
    """Fit shape and scale to excesses above 0, (k,), of such weights by maximum likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> excess = np.random.default_rng(0).pareto(4.0, 2000)  # shape 1/4, scale 1/4
    >>> tail = fit_pareto(excess, np.ones(2000))
    >>> tail.shape_low < 0.25 < tail.shape_high, round(tail.scale, 2)
    (True, 0.25)
    """
    unit = weighted_median(excess, weights)  # not the mean, which one gross error decides
    x, total = excess / unit, float(weights.sum())

    def profile(shape: float) -> tuple[float, float]:
        """The least negative log-likelihood of a shape, and the scale where it is reached."""
        smallest_scale = max(1e-3, -shape * float(x.max()) * (1.0 + 1e-9))

        def loss(log_scale: float) -> float:
            z = x / np.exp(log_scale)
            ratios = z if abs(shape) < _STRAIGHT else np.log1p(shape * z) / shape
            return total * log_scale + (1.0 + shape) * float(weights @ ratios)

        ends = np.log(smallest_scale), np.log(max(20.0, 2.0 * smallest_scale))
        found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-6})
        return float(found.fun), float(np.exp(found.x))

    bounds = LEAST_SHAPE, LARGEST_SHAPE
    found = minimize_scalar(lambda value: profile(value)[0], bounds=bounds, method="bounded", options={"xatol": 1e-5})
    shape = float(found.x)
    minimum, scale = profile(shape)

    def above(value: float) -> float:
        return 2.0 * (profile(value)[0] - minimum) - CHI_SQUARED

    ends = LEAST_SHAPE - 0.5, LARGEST_SHAPE + 1.0
    low, high = (end if above(end) <= 0.0 else float(brentq(above, shape, end, xtol=1e-4)) for end in ends)
    return ParetoTail(shape, low, high, total, unit * scale, slice_scales=np.ones(1), thresholds=np.zeros(1))


def cramer_von_mises(tail: ParetoTail, excess: FloatArray, weights: FloatArray) -> float:
    """The Cramer-von Mises distance of excesses from a tail: about 0.15 is exceeded in a twentieth of true fits."""
    order = np.argsort(excess, kind="stable")
    own, total = weights[order], float(weights.sum())
    fitted = 1.0 - tail.sf(excess[order])
    empirical = (np.cumsum(own) - own / 2.0) / total
    return float(np.sum(own * (fitted - empirical) ** 2) + 1.0 / (12.0 * total))


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
    ends: list[list[int]] = []
    for side in (counts[:full], counts[:full:-1]):
        total, filled = 0.0, []
        for place, count in enumerate(side.tolist(), 1):
            total += count
            if total >= needed:
                filled.append(place)
                total = 0.0
        ends.append(filled)
    first = [0, *ends[0], *(many - end for end in reversed(ends[1]))]
    rows = np.add.reduceat(counts, first)
    fullest = int(np.searchsorted(first, full, side="right")) - 1
    if rows[fullest] < needed and len(first) > 1:  # no slice holds so many: join the smaller neighbour
        left = rows[fullest - 1] if fullest > 0 else np.inf
        right = rows[fullest + 1] if fullest + 1 < len(first) else np.inf
        del first[fullest if left <= right else fullest + 1]
    return first
