"""Learn a kernel's scales, its ridge and its trends by the gradient of the leave-one-out error.

Adam on the logarithms of scales s, ridge c and trends, one small batch of rows a step, with the
gradient of the loss L divided by sqrt(L var y): between log L, which forgets rare rows, and L,
which sees nothing else. The answer is the mean of the last steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import BoolArray, FloatArray
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.progress import advance, stage
from skewridge.features.scaling import unit_responses
from skewridge.kernels import BANDWIDTH_FREE, Kernel
from skewridge.response.grouping import share_groups
from skewridge.ridge.draws import Balls, Batch, RandomBatches, batch_rows
from skewridge.ridge.leave_one_out import LeaveOneOut, leave_one_out
from skewridge.ridge.sample import Sample

N_STEPS = 100
FIRST_RATE, LAST_RATE = 0.1, 0.03
DECAY_FROM = 0.3  # of the steps; then the rate falls to LAST_RATE on a straight line
AVERAGED = 0.3  # the last steps, whose mean is the answer
MOMENTUM, MEMORY, LEAST_SIZE = 0.9, 0.99, 1e-8  # of Adam
LEAST_LOSS = 1e-4  # of the variance: below, steps get shorter with the loss
START_RIDGE, START_TREND = 0.01, 1.0
RIDGES, TRENDS = (1e-7, 30.0), (1e-4, 1e4)
HALF_WAY = 0.5  # in logarithms, from equal scales to those that are known of another fit
LEAST_KNOWN = 1e-3  # of the largest scale of that fit
MOST_STRETCH = 1e8  # scales stay within this factor of their starting values
RAISE = 0.5  # of the log ridge, after a step whose matrix was singular
PAIRS = 2000  # of rows that the median distance is taken over


@dataclass(frozen=True)
class LearnedKernel:
    """Scales (d,), ridge c and trends (k,) of k(s z, s z') + Q diag(trends) Q' + c diag(1 / f).

    ``losses``, (n_steps,), are the leave-one-out errors of every step's batch over the variance of y; NaN for steps
    that could not be used.
    """

    scales: FloatArray
    ridge: float
    trends: FloatArray
    losses: FloatArray

    @property
    def n_used(self) -> int:
        """Steps that could be used."""
        return int(np.isfinite(self.losses).sum())

    @property
    def learned(self) -> bool:
        """False if no step could be used: scales, ridge and trends are the starting values."""
        return self.n_used > 0

    def drop_trends(self, unused: BoolArray) -> LearnedKernel:
        """The same with scale and trend 0 for some trends, (k,), whose scales stand last.

        Examples
        --------
        >>> own = LearnedKernel(np.array([1.0, 2.0, 3.0]), 0.1, np.array([4.0, 5.0]), np.zeros(1))
        >>> fewer = own.drop_trends(np.array([False, True]))
        >>> fewer.scales, fewer.trends
        (array([1., 2., 0.]), array([4., 0.]))
        """
        used = np.append(np.full(len(self.scales) - len(unused), True), ~unused)
        return replace(self, scales=np.where(used, self.scales, 0.0), trends=np.where(unused, 0.0, self.trends))


def average_kernel(kernels: Sequence[LearnedKernel]) -> LearnedKernel:
    """Return the geometric means of scales, ridges and trends that were learned on parts of the rows.

    Learned scales of a small table vary with the rows they were learned on; their mean over parts
    varies less. A trend that some of them ignore has the mean of the others.

    Examples
    --------
    >>> one, other = (LearnedKernel(np.array([s]), s, np.empty(0), np.zeros(1)) for s in (1.0, 4.0))
    >>> average_kernel([one, other]).scales, average_kernel([one, other]).ridge
    (array([2.]), 2.0)
    """
    found = np.array([np.concatenate([own.scales, [own.ridge], own.trends]) for own in kernels])
    d, used = len(kernels[0].scales), found > 0.0
    theta = np.log(np.where(used, found, 1.0)).sum(axis=0) / np.maximum(used.sum(axis=0), 1)
    values = np.where(used.any(axis=0), np.exp(theta), 0.0)
    losses = np.concatenate([own.losses for own in kernels])
    return LearnedKernel(values[:d], float(values[d]), values[d + 1 :], losses)


def learn_scales(
    kernel: Kernel,
    sample: Sample,
    *,
    seed: int,
    local: bool = False,
    initial_scales: FloatArray | None = None,
    common_scale: bool = False,
    n_steps: int = N_STEPS,
    batch_size: int | None = None,
) -> LearnedKernel:
    """Learn scales, ridge and trends by the exact gradient of the leave-one-out error.

    Of polynomial and sobolev only ridge and trends are learned. Outputs, in any units, share what is learned; constant
    ones are ignored. ``local`` learns on balls (a row and its nearest ones, the nearer half counts) instead of random
    rows. ``initial_scales``, (h,), are those that another fit has learned for the first h features: the start, scales
    all alike that make the median distance 1, goes half-way to them; balls of many features are no neighbourhoods until
    the few that matter are known. ``common_scale`` learns one factor of all scales, a bandwidth.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z, one = rng.normal(size=(300, 2)), np.ones(300)
    >>> Y = np.sin(2 * Z[:, :1]) + 0.1 * rng.normal(size=(300, 1))
    >>> found = learn_scales(Kernel("matern32", bandwidth=1.0), Sample(Z, Y, one, one), seed=0, n_steps=40)
    >>> bool(found.scales[0] > 5 * found.scales[1])  # the second feature says nothing
    True
    """
    n, d = sample.Z.shape
    trend = np.empty((n, 0)) if sample.trend is None else sample.trend
    sample = replace(sample, Y=_standardised(sample.Y, sample.frequencies), trend=trend)
    scales = _start_scales(kernel, sample.Z, initial_scales, seed)
    k = trend.shape[1]
    start = np.log(np.append(scales, [START_RIDGE, *[START_TREND] * k]))
    low = np.log(np.append(scales / MOST_STRETCH, [RIDGES[0], *[TRENDS[0]] * k]))
    high = np.log(np.append(scales * MOST_STRETCH, [RIDGES[1], *[TRENDS[1]] * k]))
    free = np.append(np.full(d, kernel.name not in BANDWIDTH_FREE), [True] * (1 + k))
    theta, losses = start, np.full(n_steps, np.nan)
    if n > 1 and sample.Y.shape[1]:
        size = batch_size or batch_rows(n, d)
        draws: Balls | RandomBatches = RandomBatches(sample.Y, size, seed, sample.groups)
        if local:
            draws = Balls(kernel, np.ascontiguousarray(sample.Z.T), sample.Y, size, seed, sample.groups)
        label, share = ("learning local scales", 0.5) if local else ("learning scales", 0.35)
        with one_blas_thread(), stage(label, share):
            theta, losses = _descend(kernel, sample, draws, (start, low, high), free, common_scale, n_steps)
    values = np.exp(theta)
    return LearnedKernel(values[:d], float(values[d]), values[d + 1 :], losses)


def _standardised(Y: FloatArray, frequencies: FloatArray) -> FloatArray:
    """Responses of mean 0 and standard deviation 1, without the outputs that are constant."""
    centred, _, _ = unit_responses(Y, frequencies, centre=True)
    centred = centred[:, np.any(centred != 0.0, axis=0)]
    return np.asarray(centred / np.sqrt(np.average(centred**2, axis=0, weights=frequencies)))


def _start_scales(kernel: Kernel, Z: FloatArray, initial: FloatArray | None, seed: int) -> FloatArray:
    """Scales that are all alike, or half-way to initial ones, and make the median distance of random pairs 1, (d,)."""
    scales = np.ones(Z.shape[1])
    if kernel.name in BANDWIDTH_FREE:
        return scales
    if initial is not None and initial.max(initial=0.0) > 0.0:
        logs = np.log(np.maximum(initial, LEAST_KNOWN * initial.max()))
        scales[: len(initial)] = np.exp(HALF_WAY * (logs - logs.mean()))
    some = shuffle(np.arange(min(PAIRS, len(Z))), len(Z), seed, 0)
    gaps = np.abs(Z[some] - Z[np.roll(some, 1)]) * scales
    distances = gaps.sum(axis=1) if kernel.name == "laplacian" else np.sqrt(np.sum(gaps**2, axis=1))
    apart = distances[distances > 0.0]
    return np.asarray(scales / (float(np.median(apart)) / float(kernel.bandwidth or 1.0) if len(apart) else 1.0))


def _descend(
    kernel: Kernel,
    sample: Sample,
    draws: Balls | RandomBatches,
    bounds: tuple[FloatArray, FloatArray, FloatArray],
    free: BoolArray,
    common_scale: bool,
    n_steps: int,
) -> tuple[FloatArray, FloatArray]:
    """Adam on theta = (log scales, log ridge, log trends) from its start: the mean of the last steps, all losses."""
    start, low, high = bounds
    theta, d = start, sample.Z.shape[1]
    mean, square, n_moves = np.zeros(len(theta)), np.zeros(len(theta)), 0
    losses, path = np.full(n_steps, np.nan), np.full((n_steps, len(theta)), np.nan)
    for t in range(n_steps):
        advance(1.0 / n_steps if t else 0.0)
        batch = draws.draw(t + 1, np.exp(theta[:d]))
        if not np.any(sample.loss_weights[batch.rows[batch.counted]] > 0.0):
            continue
        try:
            found = _evaluate(kernel, sample, batch, theta)
        except np.linalg.LinAlgError:
            raised = theta + RAISE * (np.arange(len(theta)) == d)
            theta = np.where(free, np.clip(raised, low, high), start)
            continue
        losses[t] = found.loss
        gradient = np.concatenate([found.log_scales, [found.log_ridge], found.log_trend])
        gradient = gradient / np.sqrt(found.loss + LEAST_LOSS)
        if common_scale:
            gradient[:d] = gradient[:d].sum()
        gradient = np.where(free, gradient, 0.0)
        n_moves += 1
        mean = MOMENTUM * mean + (1.0 - MOMENTUM) * gradient
        square = MEMORY * square + (1.0 - MEMORY) * gradient**2
        size = np.sqrt(square / (1.0 - MEMORY**n_moves))
        move = mean / (1.0 - MOMENTUM**n_moves) / (size + LEAST_SIZE)
        falling = (1.0 - (t + 1) / n_steps) / (1.0 - DECAY_FROM)
        rate = LAST_RATE + (FIRST_RATE - LAST_RATE) * min(1.0, falling)
        theta = path[t] = np.where(free, np.clip(theta - rate * move, low, high), start)
    used = np.flatnonzero(np.isfinite(losses))
    if not len(used):
        return start, losses
    late = used[used >= (1.0 - AVERAGED) * n_steps]  # or the last one that was used before them
    return np.asarray(path[late if len(late) else used[-1:]].mean(axis=0)), losses


def _evaluate(kernel: Kernel, sample: Sample, batch: Batch, theta: FloatArray) -> LeaveOneOut:
    """The leave-one-out loss and gradient of a batch; LinAlgError where they are not finite."""
    own, d = sample.some(batch.rows), sample.Z.shape[1]
    with np.errstate(all="ignore"):  # what is not finite is refused by name
        return leave_one_out(
            kernel,
            own.Z * np.exp(theta[:d]),
            own.Y,
            float(np.exp(theta[d])),
            trend=np.exp(theta[d + 1 :]),
            Q=own.trend,
            frequencies=own.frequencies,
            weights=own.loss_weights * batch.counted,
            groups=None if own.groups is None or not share_groups(own.groups) else own.groups,
        )
