"""Learn a kernel's scales, its ridge and its trends by the gradient of the leave-one-out error.

Adam on the logarithms of scales s, ridge c and trends, one small sample of rows a step, with the
gradient of the loss L divided by sqrt(L var y): between log L, which forgets rare rows, and L,
which sees nothing else. The answer is the mean of the last steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.progress import advance, stage
from skewridge.features.scaling import unit_responses
from skewridge.kernels import BANDWIDTH_FREE, Kernel
from skewridge.response.grouping import share_groups
from skewridge.ridge.adam import Adam
from skewridge.ridge.draws import Balls, Draws, RandomBatches, Sample, batch_rows
from skewridge.ridge.learned_kernel import LearnedKernel
from skewridge.ridge.leave_one_out import LeaveOneOut, leave_one_out

N_STEPS = 100
FIRST_RATE, LAST_RATE = 0.1, 0.03
DECAY_FROM = 0.3  # of the steps; then the rate falls to LAST_RATE on a straight line
AVERAGED = 0.3  # the last steps, whose mean is the answer
LEAST_LOSS = 1e-4  # of the variance: below, steps get shorter with the loss
START_RIDGE, START_TREND = 0.01, 1.0
RIDGES, TRENDS = (1e-7, 30.0), (1e-4, 1e4)
HINTED = 0.5  # how far, in logarithms, starting scales go from equal ones to those that are known of another fit
LEAST_HINT = 1e-3  # of the largest scale of that fit
MOST_STRETCH = 1e8  # scales stay within this factor of their starting values
RAISE = 0.5  # of the log ridge, after a step whose matrix was singular
PAIRS = 2000  # of rows that the median distance is taken over


@dataclass(frozen=True)
class _Rows:
    """The rows to learn from, with standardised responses."""

    kernel: Kernel
    Z: FloatArray
    Y: FloatArray
    Q: FloatArray
    frequencies: FloatArray
    weights: FloatArray
    groups: IntArray | None


@dataclass(frozen=True)
class _Start:
    """Where theta = (log scales, log ridge, log trends) begins, its bounds, and what is learned."""

    theta: FloatArray
    low: FloatArray
    high: FloatArray
    free: BoolArray
    common: bool = False

    def gradient(self, found: LeaveOneOut) -> FloatArray:
        """The gradient to follow: zero where nothing is learned, summed over scales that move as one."""
        gradient = _gradient(found)
        if self.common:
            d = len(found.log_scales)
            gradient[:d] = gradient[:d].sum()
        return np.where(self.free, gradient, 0.0)

    def bounded(self, theta: FloatArray) -> FloatArray:
        """Theta within its bounds, and what is not learned where it was."""
        return np.where(self.free, np.clip(theta, self.low, self.high), self.theta)


def learn_kernel(
    kernel: Kernel,
    Z: FloatArray,
    Y: FloatArray,
    *,
    seed: int,
    local: bool = False,
    Q: FloatArray | None = None,
    frequencies: FloatArray | None = None,
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
    scales: FloatArray | None = None,
    hint: FloatArray | None = None,
    learn_scales: bool = True,
    common_scale: bool = False,
    ridge: float | None = None,
    n_steps: int = N_STEPS,
    batch_size: int | None = None,
) -> LearnedKernel:
    """Learn scales, ridge and trends by the exact gradient of the leave-one-out error.

    Parameters
    ----------
    kernel : Kernel; of polynomial and sobolev only ridge and trends are learned
    Z : (N, d) array of distinct rows in their canonical order, without scales
    Y : (N, p) array, in any units; outputs share what is learned, constant ones are ignored
    seed : int, the key of all draws
    local : bool, learn on balls (a row and its nearest ones, the nearer half counts) instead of
        random rows
    Q : (N, k) array of trend columns, each with a trend of its own, or None
    frequencies : (N,) array, how often every row occurs; None: once
    weights : (N,) array of loss weights >= 0, frequencies times scores; None: the frequencies
    groups : (N,) array, rows that are left out together, at least two groups; None: every row on its own
    scales : (d,) array of starting values; None: all alike, so that the median distance is 1
    hint : (h,) array of scales that another fit has learned for the first h features: all alike becomes half-way
        to these. Balls of many features are no neighbourhoods until the few that matter are known
    learn_scales : bool, False keeps the starting scales
    common_scale : bool, True multiplies all starting scales by one learned factor: a bandwidth
    ridge : float, keeps the ridge at this value; None learns it
    n_steps : int
    batch_size : int; None: 300, or 400 for many features; of fewer than 2,400 rows a quarter,
        between 150 and 250

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(300, 2))
    >>> Y = np.sin(2 * Z[:, :1]) + 0.1 * rng.normal(size=(300, 1))
    >>> found = learn_kernel(Kernel("matern32", bandwidth=1.0), Z, Y, seed=0, n_steps=40)
    >>> bool(found.scales[0] > 5 * found.scales[1])  # the second feature says nothing
    True
    """
    _check_given(scales, ridge, Z.shape[1])
    f = np.ones(len(Z)) if frequencies is None else frequencies
    rows = _Rows(
        kernel=kernel,
        Z=Z,
        Y=_standardised(Y, f),
        Q=np.empty((len(Z), 0)) if Q is None else Q,
        frequencies=f,
        weights=f if weights is None else weights,
        groups=groups,
    )
    if scales is None:
        scales = _equal_scales(rows, hint, seed)
    start = _start(rows, scales, ridge, learn_scales)
    start = replace(start, common=common_scale)
    draws = _draws(rows, local, batch_size or batch_rows(*Z.shape), seed)
    theta, losses = start.theta, np.full(n_steps, np.nan)
    if len(Z) > 1 and rows.Y.shape[1] and start.free.any():
        with one_blas_thread(), stage("learning local scales" if local else "learning scales", 0.5 if local else 0.35):
            theta, losses = _descend(rows, draws, start, n_steps)
    return _as_learned(rows, theta, losses)


def _check_given(scales: FloatArray | None, ridge: float | None, d: int) -> None:
    """Refuse what has no logarithm."""
    if ridge is not None and not 0.0 < ridge < np.inf:
        raise ValueError(f"a ridge must be positive and finite; got {ridge!r}: leave it to be learned")
    if scales is None:
        return
    if scales.shape != (d,) or not np.all((scales > 0.0) & np.isfinite(scales)):
        raise ValueError(
            f"{d} positive, finite scales are needed, one a feature; got {scales!r}: drop features whose scale is 0"
        )


def _standardised(Y: FloatArray, frequencies: FloatArray) -> FloatArray:
    """Responses of mean 0 and standard deviation 1, without the outputs that are constant."""
    centred, _, _ = unit_responses(Y, frequencies, centre=True)
    centred = centred[:, np.any(centred != 0.0, axis=0)]
    return np.asarray(centred / np.sqrt(np.average(centred**2, axis=0, weights=frequencies)))


def _start(
    rows: _Rows,
    scales: FloatArray,
    ridge: float | None,
    learn_scales: bool,
) -> _Start:
    d, scaled = rows.Z.shape[1], rows.kernel.name not in BANDWIDTH_FREE
    first_ridge, k = START_RIDGE if ridge is None else ridge, rows.Q.shape[1]
    return _Start(
        theta=np.log(np.append(scales, [first_ridge, *[START_TREND] * k])),
        low=np.log(np.append(scales / MOST_STRETCH, [RIDGES[0], *[TRENDS[0]] * k])),
        high=np.log(np.append(scales * MOST_STRETCH, [RIDGES[1], *[TRENDS[1]] * k])),
        free=np.append(np.full(d, scaled and learn_scales), [ridge is None, *[True] * k]),
    )


def _equal_scales(rows: _Rows, hint: FloatArray | None, seed: int) -> FloatArray:
    """Scales that are all alike, or half-way to a hint, and make the median distance 1; 1 for kernels without any."""
    scales = np.ones(rows.Z.shape[1])
    if rows.kernel.name in BANDWIDTH_FREE:
        return scales
    if hint is not None and hint.max(initial=0.0) > 0.0:
        logs = np.log(np.maximum(hint, LEAST_HINT * hint.max()))
        scales[: len(hint)] = np.exp(HINTED * (logs - logs.mean()))
    return np.asarray(scales / _median_distance(rows.kernel, rows.Z, scales, seed))


def _median_distance(kernel: Kernel, Z: FloatArray, scales: FloatArray, seed: int) -> float:
    """The median distance, in bandwidths, of random pairs that are apart; 1 where none is."""
    some = shuffle(np.arange(min(PAIRS, len(Z))), len(Z), seed, 0)
    gaps = np.abs(Z[some] - Z[np.roll(some, 1)]) * scales
    distances = gaps.sum(axis=1) if kernel.name == "laplacian" else np.sqrt(np.sum(gaps**2, axis=1))
    apart = distances[distances > 0.0]
    return float(np.median(apart)) / float(kernel.bandwidth or 1.0) if len(apart) else 1.0


def _draws(rows: _Rows, local: bool, size: int, seed: int) -> Draws:
    if not local:
        return RandomBatches(rows.Y, size, seed, rows.groups)
    return Balls(rows.kernel, np.ascontiguousarray(rows.Z.T), rows.Y, size, seed, rows.groups)


def _descend(
    rows: _Rows,
    draws: Draws,
    start: _Start,
    n_steps: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of the last steps' theta, and the losses of all steps."""
    theta, adam, d = start.theta, Adam(len(start.theta)), rows.Z.shape[1]
    losses, path = np.full(n_steps, np.nan), np.full((n_steps, len(theta)), np.nan)
    for t in range(n_steps):
        advance(1.0 / n_steps if t else 0.0)
        sample = draws.draw(t + 1, np.exp(theta[:d]))
        if not np.any(rows.weights[sample.rows[sample.counted]] > 0.0):
            continue
        try:
            found = _evaluate(rows, sample, theta)
        except np.linalg.LinAlgError:
            theta = start.bounded(theta + RAISE * (np.arange(len(theta)) == d))
            continue
        losses[t] = found.loss
        move = adam.move(start.gradient(found))
        theta = path[t] = start.bounded(theta - _rate((t + 1) / n_steps) * move)
    return _mean_of_last(path, start.theta), losses


def _evaluate(rows: _Rows, sample: Sample, theta: FloatArray) -> LeaveOneOut:
    """The leave-one-out loss and gradient of a sample; LinAlgError where they are not finite."""
    own, d = sample.rows, rows.Z.shape[1]
    groups = None if rows.groups is None or not share_groups(rows.groups[own]) else rows.groups[own]
    with np.errstate(all="ignore"):  # what is not finite is refused by name
        return leave_one_out(
            rows.kernel,
            rows.Z[own] * np.exp(theta[:d]),
            rows.Y[own],
            float(np.exp(theta[d])),
            trend=np.exp(theta[d + 1 :]),
            Q=rows.Q[own],
            frequencies=rows.frequencies[own],
            weights=rows.weights[own] * sample.counted,
            groups=groups,
        )


def _gradient(found: LeaveOneOut) -> FloatArray:
    """The gradient in theta over sqrt(L var y); var y is 1."""
    gradient = np.concatenate([found.log_scales, [found.log_ridge], found.log_trend])
    return np.asarray(gradient / np.sqrt(found.loss + LEAST_LOSS))


def _rate(done: float) -> float:
    """The step size after a share of the steps."""
    falling = (1.0 - done) / (1.0 - DECAY_FROM)
    return LAST_RATE + (FIRST_RATE - LAST_RATE) * min(1.0, falling)


def _mean_of_last(path: FloatArray, start: FloatArray) -> FloatArray:
    """The mean over the last steps that were used; the last used one before them; or the start."""
    used = np.flatnonzero(np.isfinite(path[:, -1]))
    if not len(used):
        return start
    late = used[used >= (1.0 - AVERAGED) * len(path)]
    return np.asarray(path[late if len(late) else used[-1:]].mean(axis=0))


def _as_learned(rows: _Rows, theta: FloatArray, losses: FloatArray) -> LearnedKernel:
    values, d = np.exp(theta), rows.Z.shape[1]
    return LearnedKernel(
        scales=values[:d],
        ridge=float(values[d]),
        trends=values[d + 1 :],
        losses=losses,
    )
