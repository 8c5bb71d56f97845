"""Memory and time of each way of fitting, before any work."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from skewridge._messages import plain
from skewridge._typing import Data, FloatArray
from skewridge._validation import check_bytes, check_integer, check_vector, format_bytes
from skewridge.cells.local import LEARNING_ROWS
from skewridge.centers.choose import MOST_TRIED, VALUE_WORK, FitSize, candidates_to_try, most_centers, n_bytes
from skewridge.centers.cross_validation import cv_work
from skewridge.centers.rows import SAMPLE_ROWS, CenterSettings
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.context import using
from skewridge.execution.memory import Budget
from skewridge.execution.progress import duration
from skewridge.linalg.cholesky import inverse_factor
from skewridge.nodes.partition import (
    FEWEST_ROWS_PER_NODE,
    PartitionSettings,
    Plan,
    choose_n_nodes,
    make_plan,
    memory_refusal,
)
from skewridge.response.candidates import N_FOLDS
from skewridge.response.slices import Slices, slice_quietly
from skewridge.ridge.learn_scales import N_STEPS, batch_rows
from skewridge.two_levels.members import LevelSettings
from skewridge.two_levels.planning import (
    GUIDING_ROWS,
    N_OUTER_FOLDS,
    OUTER_STEPS,
    LevelSize,
    bytes_per_row,
    is_small,
    levels_bytes,
    levels_flops,
)

TRIAL_ROWS = 500
TRIAL_SECONDS = 0.1


@dataclass(frozen=True)
class Cost:
    """Memory and time of one way of fitting.

    Attributes
    ----------
    fit : the estimator, as one would write it
    n_bytes : peak memory beyond the data passed in
    n_flops : floating-point operations of one fit with every setting known
    fits : whether the memory holds it
    seconds : of a fit on this machine, estimated; of SkewRidge and AdaptiveKernelRidge with all that
        they learn and choose, of DacKernelRidge with every setting known
    """

    fit: str
    n_bytes: float
    n_flops: float
    fits: bool
    seconds: float


@dataclass(frozen=True)
class FitPlan(Plan):
    """The size of Algorithm 2 on this response, and what it and its rivals need.

    Attributes
    ----------
    n_rows, n_features, n_slices, n_nodes, n_oversampled, n_distinct, n_bytes, n_flops : N, d, l, k, N*, expected N~,
        and what Algorithm 2 needs
    allowed : the memory there is, in bytes
    costs : of two levels, whose model holds every row, adaptive centres, Algorithm 2,
        Algorithm 1 on as many nodes, and the exact fit
    refusal : why Algorithm 2 would be refused, and what would fit; None where it would not
    """

    allowed: float = float("inf")
    costs: tuple[Cost, ...] = ()
    refusal: str | None = None

    def to_dict(self) -> Data:
        """Return everything as plain data."""
        return dict(plain(self))

    def __str__(self) -> str:
        width = max(len(cost.fit) for cost in self.costs)
        columns = f"{self.n_features:,} column{'s' if self.n_features > 1 else ''}"
        lines = [
            f"{self.n_rows:,} rows of {columns}; {format_bytes(self.allowed)} of memory may be used",
            f"{'':{width}}  {'memory':>9}  {'time':>11}",
            *(
                f"{c.fit:{width}}  {format_bytes(c.n_bytes):>9}  {duration(c.seconds):>11}"
                f"{'' if c.fits else '  too large'}"
                for c in self.costs
            ),
            "Times are estimates for this machine. SkewRidge and AdaptiveKernelRidge learn and choose everything "
            "within them; DacKernelRidge's are with every setting known, and choosing takes 5 to 60 times as long.",
        ]
        if self.n_nodes > 1:
            lines.append(
                f"DacKernelRidge on {self.n_nodes:,} nodes: copies of rare rows make {self.n_distinct:,.0f} of "
                f"{self.n_rows:,} rows, {self.n_distinct / self.n_nodes:,.0f} a node; slices=1 copies none, "
                "n_nodes=1 is exact."
            )
        return "\n".join(lines if self.refusal is None else [*lines, self.refusal])


def plan(
    y: Any,
    X: Any = None,
    *,
    n_features: int = 1,
    n_nodes: Any = "auto",
    slices: Any = "scott",
    oversampling: float = 1.0,
    max_per_slice: int | None = None,
    n_centers: Any = "auto",
    memory_limit: Any = None,
    n_jobs: int | None = None,
) -> FitPlan:
    """Return memory and time of every way of fitting, and how rows would be dealt to nodes, before any work.

    The pace of this machine is tried for a tenth of a second, once a process.

    Parameters
    ----------
    y : (N,) array or series
    X : (N, d) array or data frame, optional
        Only its shape is looked at; without it d is ``n_features``.
    n_features : int, default=1
    n_nodes, slices, oversampling, max_per_slice : as in :class:`~skewridge.DacKernelRidge`
    n_centers : int or "auto", default="auto"
        As in :class:`~skewridge.AdaptiveKernelRidge`; "auto" is planned with the most that it would try.
    memory_limit : int or str, optional
        In bytes, or a text such as "2GB". None: the machine's memory.
    n_jobs : int, optional
        Threads; each holds a matrix.

    Returns
    -------
    FitPlan

    Examples
    --------
    >>> from skewridge import plan
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(10_000, 2, random_state=0)
    >>> planned = plan(y, X, n_nodes=100)
    >>> planned.n_distinct > 10_000  # rare rows sit in several nodes
    True
    >>> [cost.fit for cost in planned.costs][2:4]
    ['DacKernelRidge(n_nodes=100)', 'DacKernelRidge(n_nodes=100, slices=1)']
    """
    y = check_vector("y", y)
    d = check_integer("n_features", n_features, 1) if X is None else width_of(X, len(y))
    settings = PartitionSettings(n_nodes, slices, oversampling, max_per_slice).check(len(y))
    budget = Budget(None if memory_limit is None else check_bytes("memory_limit", memory_limit))
    workers = effective_n_jobs(n_jobs)
    cut = slice_quietly(y, slices, oversampling)
    k, refusal = nodes_for(y, cut, settings, d)
    told = make_plan(cut, k, d, max_per_slice, workers)
    with using(budget=budget):
        refusal = refusal or memory_refusal(y, cut, replace(settings, n_nodes=k), told, workers)
    whole = slice_quietly(y, 1)
    costs = (
        _levels_cost(len(y), d, budget, workers),
        _adaptive_cost(len(y), d, n_centers, budget, workers),
        _partition_cost(told, "", budget, workers),
        _partition_cost(make_plan(whole, k, d, max_per_slice, workers), ", slices=1", budget, workers),
        _partition_cost(make_plan(whole, 1, d), "", budget, workers),
    )
    return FitPlan(**vars(told), allowed=budget.allowed, costs=costs, refusal=refusal)


def width_of(X: Any, n_rows: int) -> int:
    """Return the number of columns of a table with so many rows, or raise."""
    shape = np.shape(X)
    if len(shape) != 2 or shape[0] != n_rows:
        raise ValueError(f"X must be a table with one row for every y: expected ({n_rows}, d), got shape {shape}.")
    return int(shape[1])


def nodes_for(y: FloatArray, cut: Slices, settings: PartitionSettings, n_features: int) -> tuple[int, str | None]:
    """Return how many nodes are taken; where "auto" finds none, the most it looks at and why it refuses them."""
    if settings.n_nodes != "auto":
        return int(settings.n_nodes), None
    try:
        return choose_n_nodes(y, cut, settings, n_features), None
    except ValueError as refusal:
        return len(y) // FEWEST_ROWS_PER_NODE, str(refusal)


def _partition_cost(told: Plan, more: str, budget: Budget, workers: int) -> Cost:
    """The nodes' solves: their kernel values and factors."""
    rows = told.n_distinct / told.n_nodes
    values = told.n_nodes * _values_work(rows, rows / 2.0, told.n_features)
    return Cost(
        fit=f"DacKernelRidge(n_nodes={told.n_nodes}{more})",
        n_bytes=told.n_bytes,
        n_flops=told.n_flops,
        fits=told.n_bytes <= budget.allowed,
        seconds=seconds_per_operation() * (values + told.n_flops) / min(workers, told.n_nodes),
    )


def _levels_cost(n_rows: int, d: int, budget: Budget, workers: int) -> Cost:
    """Two levels with their two local kernels, learning included."""
    size = LevelSize(n_rows, d)
    need = levels_bytes(size, workers)
    return Cost(
        fit=f"SkewRidge(), a model of {bytes_per_row(size):,.0f} bytes a row",
        n_bytes=need,
        n_flops=levels_flops(size),
        fits=need <= budget.allowed,
        seconds=seconds_per_operation() * _levels_work(n_rows, d, workers),
    )


def _adaptive_cost(n_rows: int, d: int, n_centers: Any, budget: Budget, workers: int) -> Cost:
    """The most centres that would be tried or were given; the fit's own pass over the rows."""
    given = None if n_centers == "auto" else min(check_integer("n_centers", n_centers, 1, also=" or 'auto'"), n_rows)
    settings, size = CenterSettings(n_centers=given), FitSize(n_rows, d, held=n_rows * d)
    try:
        with using(budget=budget):
            most, fits = most_centers(n_rows, size, settings), True
    except MemoryError:
        most, fits = 1, False
    m = min(MOST_TRIED, n_rows, most) if given is None else given
    name = f"AdaptiveKernelRidge(n_centers={m})" if given else f"AdaptiveKernelRidge(), at most {m} centres"
    return Cost(
        fit=name,
        n_bytes=n_bytes(m, size, settings, workers if fits else 1),
        n_flops=cv_work(n_rows, m, n_folds=0),
        fits=fits,
        seconds=seconds_per_operation() * _level_one_work(n_rows, d, settings, most, workers),
    )


# Operations of fits, each as long as one of a Cholesky factor, over how much faster threads make them; constants are
# measured. Kernels see two forms of a column.


def _values_work(n_rows: float, n_centers: float, n_features: float) -> float:
    return n_rows * n_centers * (VALUE_WORK + 2.0 * n_features)


def _learning_work(n_rows: int, n_features: int, n_steps: int, n_searched: int = 0) -> float:
    """Gradients on batches, and of local scales the search for the nearest rows."""
    batch = min(n_rows, batch_rows(n_rows, n_features))
    gradient = 2.0 * batch**3 + batch**2 * (VALUE_WORK + 4.0 * n_features)
    return n_steps * (gradient + n_searched * (20.0 + 2.0 * n_features))


def _level_one_work(
    n_rows: int, d: int, settings: CenterSettings, most: int, workers: int, n_steps: int = N_STEPS
) -> float:
    """Learning, every candidate with its five folds, and the fit."""
    n, width = min(n_rows, SAMPLE_ROWS), 2 * d

    def sums(n_rows: int, rank: float) -> float:
        return 1.2 * n_rows * rank**2 + 2.0 * rank**3 + _values_work(n_rows, rank, width)

    steps = candidates_to_try(settings, n, n - n // N_FOLDS, most)
    ranks = [min(1.25 * m, n) for m, _ in steps]
    m = settings.n_centers or max(m for m, _ in steps)
    choosing = sum(sums(n, rank) + 6.0 * N_FOLDS * rank**3 for rank in ranks)
    fitting = sums(n_rows, m) + _values_work(n_rows, m, width)
    return _learning_work(n, width, n_steps) * bool(n_steps) + (choosing + fitting) / workers


def _levels_work(n_rows: int, d: int, workers: int) -> float:
    """Both levels, once, or in five outer folds and then with what these have learned."""
    settings, width = LevelSettings(), 2 * d + 1
    n_kernels, guiding = len(settings.kernels), replace(settings.centers, guides=True)

    def fit(n: int, n_steps: int, workers: int) -> float:
        own = settings.local(settings.kernels[0], n)
        size = 0.7 * min(n, own.cell_size)  # of a cell, where nodes are split at the usual quantiles
        cell = 2.0 / 3.0 * size**3 + _values_work(size, size / 2.0, width)
        cells = (own.n_partitions if n > own.cell_size else 1) * n / size * cell
        learned = min(n, LEARNING_ROWS)
        local = _learning_work(learned, width, n_steps, learned) + cells / max(1, workers // n_kernels)
        guides = min(n, GUIDING_ROWS)
        level_one = _level_one_work(guides, d, guiding, guides, workers, n_steps)
        return level_one + n_kernels * local / min(n_kernels, workers)

    if not is_small(n_rows, d):
        return fit(n_rows, N_STEPS, workers)
    outer = N_OUTER_FOLDS * fit(n_rows - n_rows // N_OUTER_FOLDS, OUTER_STEPS, 1) / min(N_OUTER_FOLDS, workers)
    return outer + fit(n_rows, 0, workers)


@cache
def seconds_per_operation() -> float:
    """The time of an operation of a Cholesky factor; tried once a process.

    The median over inverse factors of a matrix of 500 rows, of which each has 2/3 n^3.
    """
    rows = np.linspace(0.0, 5.0, TRIAL_ROWS)
    matrix = np.exp(-np.abs(rows[:, None] - rows)) + np.eye(TRIAL_ROWS)
    took, end = list[float](), time.perf_counter() + TRIAL_SECONDS
    with one_blas_thread():
        while time.perf_counter() < end or not took:
            work = matrix.copy()
            start = time.perf_counter()
            inverse_factor(work)
            took.append(time.perf_counter() - start)
    return float(np.median(took)) / (2.0 / 3.0 * TRIAL_ROWS**3)
