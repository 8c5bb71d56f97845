"""The distribution of y at new rows: y = f(x) + s(x) e, with errors e as unseen rows have shown them.

f is the prediction and s the scale of the noise; e has the distribution of its slice of the prediction, and values that
many rows share have probabilities of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray, RandomState
from skewridge._validation import check_plain
from skewridge.distribution.point_masses import PointMasses
from skewridge.distribution.shape import ErrorShape

GRID: FloatArray = ((np.arange(1, 1001) - 0.5) / 1000.0).astype(np.float64)  # levels that means are taken over
BLOCK = 2**21  # numbers that are held at once
DRAWS = (np.random.Generator, np.random.RandomState)
GRID_EPS = 1e-9  # of a step
NARROW = 1e-6  # of the errors, between two ends of y
TINY, EPS = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class OutputDistribution:
    """The distribution of one output at n rows.

    Attributes
    ----------
    prediction, scale : (n,) arrays, f(x) and s(x)
    shape : ErrorShape; None where y has point masses alone
    masses : PointMasses, or None
    low, high : float, what y stays between
    origin, step : float, of the grid that y lies on, such as whole numbers; 0 where there is none
    """

    prediction: FloatArray
    scale: FloatArray
    shape: ErrorShape | None
    masses: PointMasses | None = None
    low: float = -np.inf
    high: float = np.inf
    origin: float = 0.0
    step: float = 0.0

    def __len__(self) -> int:
        return len(self.prediction)

    def some(self, rows: slice) -> OutputDistribution:
        """The distribution at some of the rows."""
        return replace(self, prediction=self.prediction[rows], scale=self.scale[rows])

    def quantile(self, levels: FloatArray) -> FloatArray:
        """Return the least y with P(y' <= y) >= level, for levels of every row, (n, L)."""
        masses = self.masses
        found = self._smooth_quantile(levels) if masses is None else self._mixed_quantile(levels, masses)
        if self.step:  # what rounds to a value of the grid is that value
            found = self.origin + self.step * np.ceil((found - self.origin) / self.step - 0.5 - GRID_EPS)
        return self._within(found)

    def cdf(self, t: FloatArray) -> FloatArray:
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

    def _within(self, values: FloatArray) -> FloatArray:
        return np.clip(values, self.low, self.high)

    def _smooth_quantile(self, levels: FloatArray) -> FloatArray:
        """Quantiles by errors alone, between point masses that are ends of y."""
        assert self.shape is not None
        low, high = self._cut
        inner = np.clip(low + levels * (high - low), TINY, 1.0 - EPS)
        errors = self.shape.quantile(self.shape.labels(self.prediction), inner)
        return self.prediction[:, None] + self.scale[:, None] * errors

    def _smooth_cdf(self, t: FloatArray) -> FloatArray:
        """P(y <= t) by errors alone, between point masses that are ends of y."""
        low, high = self._cut
        return np.clip((self._uncut_cdf(t) - low) / (high - low), 0.0, 1.0)

    def _uncut_cdf(self, t: FloatArray) -> FloatArray:
        if self.shape is None:
            return np.zeros(t.shape)
        errors = (t - self.prediction[:, None]) / self.scale[:, None]
        return self.shape.cdf(self.shape.labels(self.prediction), errors)

    @cached_property
    def _cut(self) -> tuple[FloatArray, FloatArray]:
        """The levels of errors that lead beyond ends of y, (n, 1) each, where these ends are point masses."""
        low, high = np.zeros((len(self), 1)), np.ones((len(self), 1))
        if self.masses is None or self.shape is None:
            return low, high
        if self.masses.values[0] == self.low:
            low = self._uncut_cdf(np.full((len(self), 1), self.low))
        if self.masses.values[-1] == self.high:
            high = self._uncut_cdf(np.full((len(self), 1), self.high))
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
        if self.shape is None:  # rounding left a level above the last one
            out[between] = masses.values[-1]
            return out
        inner = (levels - passed) / np.where(left > 0.0, left, 1.0)
        return np.where(between, self._smooth_quantile(np.clip(inner, TINY, 1.0 - EPS)), out)


class PredictiveDistribution:
    """The distribution of y at n rows, of one or several outputs.

    Made by ``predict_distribution`` of a fitted estimator. Levels and thresholds are numbers, or
    arrays (L,): results are (n,) or (n, L), with an axis for outputs before the last where there
    are several.
    """

    def __init__(self, outputs: Sequence[OutputDistribution], single: bool = True) -> None:
        self._outputs, self._single = tuple(outputs), single

    def __len__(self) -> int:
        return len(self._outputs[0])

    def __repr__(self) -> str:
        several = "" if self._single else f", {len(self._outputs)} outputs"
        return f"<PredictiveDistribution of {len(self)} rows{several}>"

    def quantile(self, levels: Any) -> FloatArray:
        """Return the least y with P(y' <= y) >= level, for levels in ]0, 1[."""
        return self._each(lambda own, asked: own.quantile(asked), check_levels(levels))

    def cdf(self, t: Any) -> FloatArray:
        """Return P(y <= t)."""
        return self._each(lambda own, asked: own.cdf(asked), check_thresholds("t", t))

    def sf(self, t: Any) -> FloatArray:
        """Return P(y > t)."""
        return 1.0 - self.cdf(t)

    def mean(self) -> FloatArray:
        """Return the mean, over 1,000 levels; it may differ a little from ``predict``."""
        return self._reduced(lambda values: values.mean(axis=1))

    def sd(self) -> FloatArray:
        """Return the standard deviation, over 1,000 levels: finite also where the tail has none."""
        return self._reduced(_deviation)

    def sample(self, size: int = 1, random_state: RandomState = None) -> FloatArray:
        """Return draws of y, (n, size) or (n, p, size), independent of one another."""
        generator = random_state if isinstance(random_state, DRAWS) else np.random.default_rng(random_state)
        uniform = [generator.random((len(self), size)) for _ in self._outputs]
        drawn = [own.quantile(np.maximum(u, TINY)) for own, u in zip(self._outputs, uniform, strict=True)]
        return drawn[0] if self._single else np.stack(drawn, axis=1)

    def expected(self, value: Callable[[FloatArray], Any]) -> FloatArray:
        """Return the mean of ``value(y)``, a function of arrays, over 1,000 levels."""
        return self._reduced(lambda values: _checked(value(values), values.shape).mean(axis=1))

    def plot(self, row: int = 0, ax: Any = None) -> Any:
        """Draw P(y > t) of one row against t; return the axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        levels = np.linspace(0.001, 0.999, 999)
        for own in self._outputs:
            ax.step(own.some(slice(row, row + 1)).quantile(levels[None])[0], 1.0 - levels, where="post")
        ax.set(xlabel="t", ylabel="P(y > t)", ylim=(0.0, 1.0))
        return ax

    def _each(self, ask: Callable[[OutputDistribution, FloatArray], FloatArray], asked: FloatArray) -> FloatArray:
        """What every output answers, in blocks of rows."""
        columns = np.atleast_1d(asked)
        found = [_blocks(own, columns, ask) for own in self._outputs]
        out = found[0] if self._single else np.stack(found, axis=1)
        return out[..., 0] if asked.ndim == 0 else out

    def _reduced(self, reduce: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """A number of every row from its quantiles at 1,000 levels."""
        found = [
            np.concatenate([reduce(part.quantile(_repeated(GRID, len(part)))) for part in _parts(own, len(GRID))])
            for own in self._outputs
        ]
        return found[0] if self._single else np.stack(found, axis=1)


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


def _checked(values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Values of a user's function, one for every response, or one for all; or raise."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape not in ((), shape):
        raise ValueError(
            f"A function of responses must return one number for each of them, of shape {shape}; got {found.shape}."
        )
    return np.broadcast_to(found, shape)


def _deviation(values: FloatArray) -> FloatArray:
    """Standard deviations of rows, also where squares would underflow."""
    about = values - values.mean(axis=1, keepdims=True)
    largest = np.abs(about).max(axis=1, keepdims=True)
    unit = np.where(largest > 0.0, largest, 1.0)
    return unit[:, 0] * np.sqrt(np.mean((about / unit) ** 2, axis=1))


def _repeated(columns: FloatArray, n_rows: int) -> FloatArray:
    return np.broadcast_to(columns, (n_rows, len(columns)))


def _parts(own: OutputDistribution, width: int) -> list[OutputDistribution]:
    """Blocks of rows that are small enough to be held with so many numbers a row."""
    size = max(1, BLOCK // max(width, 1))
    starts: IntArray = np.arange(0, max(len(own), 1), size)
    return [own.some(slice(int(start), int(start) + size)) for start in starts]


def _blocks(
    own: OutputDistribution, columns: FloatArray, ask: Callable[[OutputDistribution, FloatArray], FloatArray]
) -> FloatArray:
    return np.concatenate([ask(part, _repeated(columns, len(part))) for part in _parts(own, len(columns))])
