"""Generalised Pareto tails: P(Z > z) = (1 + shape z / scale)^(-1 / shape) of excesses Z over a threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from skewridge._typing import FloatArray
from skewridge.features.scaling import weighted_median

LEAST_SHAPE, LARGEST_SHAPE = -0.5, 2.0  # beyond -0.5 maximum likelihood breaks down
CHI_SQUARED = 3.841458820694124  # the 95% point with one degree of freedom
_STRAIGHT = 1e-6  # shapes nearer to 0 are the exponential distribution


@dataclass(frozen=True)
class ParetoTail:
    """A generalised Pareto distribution fitted to excesses by maximum likelihood.

    Attributes
    ----------
    shape : float; 0 is exponential, 1/a the tail of a Pareto law with index a, below 0 there is an end
    scale : float
    shape_low, shape_high : float, the 95% interval of the shape by profile likelihood
    n_rows : float, excesses that it rests on
    """

    shape: float
    scale: float
    shape_low: float
    shape_high: float
    n_rows: float

    def quantile(self, exceeded: FloatArray) -> FloatArray:
        """The excess that is exceeded with such probabilities in ]0, 1]."""
        logs = -np.log(exceeded)
        if abs(self.shape) < _STRAIGHT:
            return self.scale * logs
        return self.scale * np.expm1(self.shape * logs) / self.shape

    def exceeded(self, excess: FloatArray) -> FloatArray:
        """P(Z > excess), for excesses from 0 on."""
        return np.exp(-_log_ratio(excess / self.scale, self.shape))


def fit_pareto(excess: FloatArray, weights: FloatArray) -> ParetoTail:
    """Fit shape and scale by maximum likelihood, and an interval of the shape by its profile.

    Parameters
    ----------
    excess : (k,) array of numbers above 0
    weights : (k,) array, how often each occurs

    Examples
    --------
    >>> import numpy as np
    >>> excess = np.random.default_rng(0).pareto(4.0, 2000)  # shape 1/4, scale 1/4
    >>> tail = fit_pareto(excess, np.ones(2000))
    >>> tail.shape_low < 0.25 < tail.shape_high, round(tail.scale, 2)
    (True, 0.25)
    """
    unit = weighted_median(excess, weights)  # not the mean, which one gross error decides
    x = excess / unit

    def loss(shape: float) -> float:
        return _profile(x, weights, shape)[0]

    found = minimize_scalar(loss, bounds=(LEAST_SHAPE, LARGEST_SHAPE), method="bounded", options={"xatol": 1e-5})
    shape, least = float(found.x), float(found.fun)
    low, high = (_crossing(loss, shape, least, end) for end in (LEAST_SHAPE - 0.5, LARGEST_SHAPE + 1.0))
    return ParetoTail(
        shape=shape,
        scale=unit * _profile(x, weights, shape)[1],
        shape_low=low,
        shape_high=high,
        n_rows=float(weights.sum()),
    )


def cramer_von_mises(tail: ParetoTail, excess: FloatArray, weights: FloatArray) -> float:
    """The Cramer-von Mises distance of excesses from a tail: about 0.15 is exceeded in a twentieth of true fits."""
    order = np.argsort(excess, kind="stable")
    own, total = weights[order], float(weights.sum())
    stated = 1.0 - tail.exceeded(excess[order])
    seen = (np.cumsum(own) - own / 2.0) / total
    return float(np.sum(own * (stated - seen) ** 2) + 1.0 / (12.0 * total))


def _log_ratio(z: FloatArray, shape: float) -> FloatArray:
    """log(1 + shape z) / shape, z where the shape is 0; infinite beyond the end of a negative shape."""
    if abs(shape) < _STRAIGHT:
        return z
    with np.errstate(divide="ignore"):
        return np.log1p(np.maximum(shape * z, -1.0)) / shape


def _profile(x: FloatArray, weights: FloatArray, shape: float) -> tuple[float, float]:
    """The least negative log-likelihood of a shape, and the scale where it is reached."""
    total = float(weights.sum())
    least = max(1e-3, -shape * float(x.max()) * (1.0 + 1e-9))

    def loss(log_scale: float) -> float:
        ratios = _log_ratio(x / np.exp(log_scale), shape)
        return total * log_scale + (1.0 + shape) * float(weights @ ratios)

    ends = np.log(least), np.log(max(20.0, 2.0 * least))
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-6})
    return float(found.fun), float(np.exp(found.x))


def _crossing(loss: Callable[[float], float], shape: float, least: float, end: float) -> float:
    """Where twice the loss is above its least by the 95% point, between a shape and an end; the end if nowhere."""

    def above(value: float) -> float:
        return 2.0 * (loss(value) - least) - CHI_SQUARED

    return end if above(end) <= 0.0 else float(brentq(above, shape, end, xtol=1e-4))
