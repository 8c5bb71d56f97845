"""Learn a kernel's scales, its ridge and its trends by the gradient of the leave-one-out error.

Adam on the logarithms of scales s, ridge c and trends, one small batch of rows a step, with the
gradient of the loss L divided by sqrt(L var y): between log L, which forgets rare rows, and L,
which sees nothing else. The answer is the mean of the last steps. Rows come distinct and in canonical order, and
batches are keyed permutations of their places: they depend on the rows' values and the seed, never on the order or the
number of copies in which rows arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.progress import advance, stage
from skewridge.features.scaling import unit_responses
from skewridge.kernels import BANDWIDTH_FREE, Kernel, loops
from skewridge.response.groups import share_groups
from skewridge.ridge.leave_one_out import leave_one_out
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

MOST_SHARE = 2 / 3  # of the rows that a random batch holds; see draw_rows
BATCHES = (300, 400)  # rows of a batch: of few features, of many
FEW_FEATURES, ROWS_A_FEATURE = 20, 10  # batches grow by so many rows with every feature beyond these few
SMALL_TABLE, SMALL_BATCHES = 2_400, (150, 250)  # of fewer rows: a quarter of them, within these
FEWEST = 20  # rows of a random batch, where there are so many


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
    def learned(self) -> bool:
        """False if no step could be used: scales, ridge and trends are the starting values."""
        return bool(np.isfinite(self.losses).any())


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
    k = 0 if sample.trend is None else sample.trend.shape[1]
    centred, _, _ = unit_responses(sample.Y, sample.frequencies, centre=True)
    centred = centred[:, np.any(centred != 0.0, axis=0)]
    unit = centred / np.sqrt(np.average(centred**2, axis=0, weights=sample.frequencies))
    sample = replace(sample, Y=unit)

    scales = _start_scales(kernel, sample.Z, initial_scales, seed)
    start = np.log(np.append(scales, [START_RIDGE, *[START_TREND] * k]))
    low = np.log(np.append(scales / MOST_STRETCH, [RIDGES[0], *[TRENDS[0]] * k]))
    high = np.log(np.append(scales * MOST_STRETCH, [RIDGES[1], *[TRENDS[1]] * k]))
    free = np.append(np.full(d, kernel.name not in BANDWIDTH_FREE), [True] * (1 + k))
    theta, losses = start, np.full(n_steps, np.nan)
    if n > 1 and unit.shape[1]:
        size = batch_size or batch_rows(n, d)
        columns = np.ascontiguousarray(sample.Z.T) if local else sample.Z.T  # feature by feature

        def evaluate(step: int, theta: FloatArray) -> tuple[float, FloatArray] | None:
            """The loss of a step's batch and the gradient to follow; None where no row counts."""
            scales = np.exp(theta[:d])
            distances = distances_to_one(kernel, columns, scales, seed, step) if local else None
            rows = draw_rows(sample, size, seed, step, distances)
            own = sample.some(rows)
            counted = np.arange(len(rows)) < len(rows) / (2 if local else 1)  # the others only support the fit
            weights = own.loss_weights * counted
            if not np.any(weights > 0.0):
                return None
            groups = own.groups if own.groups is not None and share_groups(own.groups) else None
            with np.errstate(all="ignore"):  # what is not finite is refused by name
                own = replace(own, Z=own.Z * scales, loss_weights=weights, groups=groups)
                loss, _, gradient = leave_one_out(kernel, own, float(np.exp(theta[d])), np.exp(theta[d + 1 :]))
            gradient /= np.sqrt(loss + LEAST_LOSS)
            if common_scale:
                gradient[:d] = gradient[:d].sum()
            return loss, gradient

        label, share = ("learning local scales", 0.5) if local else ("learning scales", 0.35)
        with one_blas_thread(), stage(label, share):
            theta, losses = _descend(evaluate, (start, low, high), free, d, n_steps)
    values = np.exp(theta)
    return LearnedKernel(values[:d], float(values[d]), values[d + 1 :], losses)


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
    evaluate: Callable[[int, FloatArray], tuple[float, FloatArray] | None],
    bounds: tuple[FloatArray, FloatArray, FloatArray],
    free: BoolArray,
    ridge: int,
    n_steps: int,
) -> tuple[FloatArray, FloatArray]:
    """Adam on theta = (log scales, log ridge, log trends) from its start: the mean of the last steps, all losses."""
    start, low, high = bounds
    theta, n_moves = start, 0
    mean, square = np.zeros(len(theta)), np.zeros(len(theta))
    losses, path = np.full(n_steps, np.nan), np.full((n_steps, len(theta)), np.nan)
    for t in range(n_steps):
        advance(1.0 / n_steps if t else 0.0)
        try:
            found = evaluate(t + 1, theta)
        except np.linalg.LinAlgError:
            raised = theta + RAISE * (np.arange(len(theta)) == ridge)
            theta = np.where(free, np.clip(raised, low, high), start)
            continue
        if found is None:
            continue
        losses[t], gradient = found
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


# The batches


def batch_rows(n_rows: int, n_features: int) -> int:
    """The rows of a batch: few rows are learned from by smaller ones, in less time and no worse.

    Many features need larger batches: in small ones the scales of features that say nothing stay
    noise (ten such columns beside eight others: errors 6 to 17% larger with 300 rows a batch, 2 to
    9% with 400).

    Examples
    --------
    >>> [batch_rows(n, 8) for n in (500, 900, 2000, 10_000)]
    [150, 225, 250, 300]
    >>> [batch_rows(10_000, d) for d in (20, 25, 50)]
    [300, 350, 400]
    """
    if n_rows < SMALL_TABLE:
        low, high = SMALL_BATCHES
        return min(high, max(low, n_rows // 4))
    low, high = BATCHES
    return min(high, low + ROWS_A_FEATURE * max(0, n_features - FEW_FEATURES))


def draw_rows(sample: Sample, size: int, seed: int, step: int, distances: FloatArray | None = None) -> IntArray:
    """The rows of a step: random ones, at most two thirds of all; or those of the least distances, (n,), nearest first.

    Scales learned on all rows of a small table at every step overfit, and leave-one-out does not
    see it. With two thirds, errors on new rows were 10% lower for pure noise, 18% on 400 rows of
    Abalone, and between 33% lower and 4% higher on ten other tables of 400 to 500 rows. Where all rows drawn have one
    response, or are of one group, the second half are rows of others.

    Examples
    --------
    >>> import numpy as np
    >>> Z, Y, one = np.zeros((1000, 0)), np.zeros((1000, 1)), np.ones(1000)
    >>> Y[7] = 1.0
    >>> bool(7 in draw_rows(Sample(Z, Y, one, one), 20, seed=0, step=1))
    True
    """
    n, Y, groups = len(sample), sample.Y, sample.groups
    size = min(n, size, n if distances is not None else max(FEWEST, round(MOST_SHARE * n)))

    def draw(candidates: IntArray, m: int) -> IntArray:
        if distances is None or not m:
            return candidates[shuffle(np.arange(m), len(candidates), seed, step)]
        d = distances[candidates]
        near = np.flatnonzero(d <= np.partition(d, m - 1)[m - 1])  # of equally near ones those that come first
        return candidates[near[np.argsort(d[near], kind="stable")[:m]]]

    rows = draw(np.arange(n), size)
    others = np.empty(0, dtype=np.int64)
    if groups is not None and np.all(groups[rows] == groups[rows[0]]):
        others = np.flatnonzero(groups != groups[rows[0]])
    elif np.all(Y[rows] == Y[rows[0]]):
        others = np.flatnonzero(np.any(Y != Y[rows[0]], axis=1))
    others = draw(others, min(size // 2, len(others)))
    return np.concatenate([rows[: size - len(others)], others])


def distances_to_one(kernel: Kernel, columns: FloatArray, scales: FloatArray, seed: int, step: int) -> FloatArray:
    """How far all rows, columns (d, n) by their scales, are from a random one: 1-norm for the laplacian, or squares."""
    n = columns.shape[1]
    center = int(shuffle([0], n, seed, step)[0])
    distances, x = np.empty(n), np.ascontiguousarray(columns[:, center])
    loops().distances_from(kernel.name == "laplacian", x, scales, columns, distances)
    return distances
