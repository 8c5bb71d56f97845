"""Features on a common scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import BoolArray, FloatArray
from skewridge._validation import TINIEST
from skewridge.execution.chunked import RowData
from skewridge.execution.context import on_threads
from skewridge.execution.passes import extremes, sum_rows

OVERSHOOT = 0.1  # of the responses' range, which predictions may go beyond it
CONSTANT = 1e-13  # a feature that varies by less than this share of its size is constant
ROUNDING = 8 * float(np.finfo(np.float64).eps)  # a response that varies by no more than this share of its size is
MOST_SHIFT = 10.0  # the largest median error of a sound fit, in what nine tenths of responses are off their median
FEWEST_SHIFTED = 30  # rows: a median of fewer says little


@dataclass(frozen=True)
class Scaling:
    """(x - shift) * scale, feature by feature."""

    shift: FloatArray
    scale: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the scaled features."""
        return np.ascontiguousarray((X - self.shift) * self.scale)


def unit_responses(Y: FloatArray, weights: FloatArray, centre: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return responses of mean 0 (where they are centred) and magnitude about 1, the means, and the units.

    Units are powers of two: what is computed is the same to the last bit in any of them, and nothing overflows.
    """
    low = Y.min(axis=0)
    means = low + np.average(Y - low, axis=0, weights=weights) if centre else np.zeros(Y.shape[1])
    centred = Y - means
    centred[:, constant_outputs(Y) & centre] = 0.0
    size = np.abs(centred).max(axis=0)
    units = 2.0 ** np.floor(np.log2(np.maximum(size, TINIEST)))
    return centred / units, means, units


def moments(values: FloatArray, totals: FloatArray) -> tuple[float, float]:
    """The weighted mean and standard deviation; no size of values overflows or vanishes, no offset costs digits."""
    low = float(values.min())
    unit = float(np.ptp(values)) or 1.0
    scaled = (values - low) / unit
    mean = float(np.average(scaled, weights=totals))
    square = np.average((scaled - mean) ** 2, weights=totals)
    return low + mean * unit, float(np.sqrt(square)) * unit


def weighted_median(values: FloatArray, weights: FloatArray, level: float = 0.5) -> float:
    """The least value that half of the weight, or another share of it, does not exceed."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    place = np.searchsorted(reached, level * reached[-1])
    return float(values[order[place]])


def common_error(errors: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """The median error where a few extreme responses make it far larger than nine tenths of all differ; else 0."""
    if len(y) < FEWEST_SHIFTED:
        return 0.0
    middle = weighted_median(y, weights)
    usual = weighted_median(np.abs(y - middle), weights, level=0.9)
    shift = weighted_median(errors, weights)
    return shift if abs(shift) > MOST_SHIFT * usual > 0.0 else 0.0


def constant_outputs(Y: FloatArray) -> BoolArray:
    """Which outputs of Y, (N, p), vary by no more than rounding: a few units in the last place of their size."""
    size = np.abs(Y).max(axis=0)
    return np.asarray(np.ptp(Y, axis=0) <= ROUNDING * size)


def variances(Y: FloatArray, weights: FloatArray) -> FloatArray:
    """The outputs' variances, (p,); 1 for an output that is constant up to rounding."""
    means = np.average(Y, axis=0, weights=weights)
    found = np.average((Y - means) ** 2, axis=0, weights=weights)
    least = CONSTANT * np.abs(Y).max(axis=0)
    return np.where(found > least**2, found, 1.0)


def prediction_bounds(
    bounds: str | tuple[float | None, float | None] | None, Y: FloatArray, means: FloatArray, units: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds of predictions of Y, (p,) and (p,), so that Y * units + means keeps to those of y.

    "auto" is the range of Y and a tenth of it beyond either end: where there are no rows, a wide kernel may go
    anywhere. None, or an end that is None, is no bound.
    """
    if isinstance(bounds, str):
        low, high = Y.min(axis=0), Y.max(axis=0)
        beyond = OVERSHOOT * (high - low)
        return low - beyond, high + beyond
    found = []
    for end, inwards in zip(bounds or (None, None), (np.inf, -np.inf), strict=True):
        if end is None:
            found.append(np.full(len(means), -inwards))
            continue
        bound = (end - means) / units
        while True:  # by the last bits inwards, until no prediction is beyond the end
            over = np.sign(inwards) * (bound * units + means - end) < 0
            if not np.any(over):
                break
            bound = np.where(over, np.nextafter(bound, inwards), bound)
        found.append(bound)
    return found[0], found[1]


def standard_scaling(X: RowData, weights: FloatArray) -> Scaling:
    """Mean 0 and standard deviation 1 of rows that occur w times each; a constant feature is ignored (scale 0)."""
    total = float(weights.sum())
    with on_threads(rows=X):
        largest = np.abs(extremes(X)).max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)  # squares of tiny features must not vanish
        [sums] = sum_rows(lambda rows, w: np.sum(rows / unit * w[:, None], axis=0), [X, weights], "means")
        mean = sums / total
        [squares] = sum_rows(
            lambda rows, w: np.sum((rows / unit - mean) ** 2 * w[:, None], axis=0), [X, weights], "spreads"
        )
    spread = squares / total
    deviation = np.sqrt(spread)
    varies = (deviation > CONSTANT) & (deviation * unit > 1e-300)
    scale = np.zeros_like(unit)
    scale[varies] = 1.0 / (deviation * unit)[varies]
    return Scaling(mean * unit, scale)


def range_rows(kernel: str, X: RowData) -> FloatArray:
    """Two rows that span the others, (2, d), which the sobolev kernel is scaled by; none for the others."""
    with on_threads(rows=X):
        return extremes(X) if kernel == "sobolev" else np.empty((0, X.shape[1]))
