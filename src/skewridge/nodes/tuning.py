"""Choosing the bandwidth and the penalty: what was asked for, and what was found.

Three bandwidths two octaves apart around the median heuristic are screened, then the best one's neighbours an octave
and half an octave away, each on 6 to 20 nodes that hold about 3,000 rows; then the penalty is chosen at the bandwidth
found on 20 nodes. With nodes of 500 rows that is 56 reductions. Where fewer nodes are tried than there are, a standard
error is added to the estimated risk, of which a negative estimate counts as none: estimates from few nodes are least
certain where the penalty is small, and must not be believed there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import warn_user
from skewridge.execution.chunked import RowData
from skewridge.execution.passes import map_rows
from skewridge.features.scaling import range_rows
from skewridge.kernels import BANDWIDTH_FREE, Kernel, make_kernel, median_bandwidth, penalty_rule
from skewridge.metrics import scoring_name
from skewridge.nodes.partition import Partition, PartitionSettings
from skewridge.nodes.trials import (
    CRITERIA,
    FINAL_MARGIN,
    FINAL_NODES,
    LOCAL,
    Search,
    jackknife_error,
    lowest_penalty,
    make_trials,
)

AUTO = "loo"  # the criterion with the least regret: docs/tuning.md
LEFT_OUT = ("loo", "cv")  # evaluate a row by fits without it

PENALTIES = np.logspace(-9, 0.5, 20)  # times the kernel's size
FEWEST_ROWS = 10  # fewer rows are not tuned on
SCREENING_ROWS, SCREENING_NODES = 3000, (6, 20)


@dataclass(frozen=True)
class Tuning:
    """How bandwidth and penalty were chosen.

    Attributes
    ----------
    criterion : "loo", "dgcv", "cv", "gcv", "cp"; "given" where nothing was to be chosen, "none" where fewer than 10
        rows or a constant y left nothing to choose by
    scoring : what the criterion aimed at
    bandwidths : (B,) array of those tried, ascending; nan for a kernel without bandwidth
    penalties : (P,) array
    values : (B, P) array, the criterion; the chosen bandwidth's from more nodes than the others', and possibly
        negative where it is estimated from few nodes
    margins : (B, P) array, its standard error for being estimated from few nodes
    bandwidth, penalty : the choice; a local criterion's penalty is the nodes' geometric mean
    at_edge : which of "bandwidth" and "penalty" lies at the edge of what was tried
    cost : what aiming at something else than the mean squared error costs in it: "mse" (noise and margin included) at
        the choice, "best_mse" over all that was tried, their "ratio", and "bias", the mean of y minus prediction; None
        for scoring="mse"
    """

    criterion: str
    scoring: str
    bandwidths: FloatArray
    penalties: FloatArray
    values: FloatArray
    margins: FloatArray
    bandwidth: float | None
    penalty: float
    at_edge: tuple[str, ...] = ()
    cost: dict[str, float] | None = None


@dataclass(frozen=True)
class KernelSettings:
    """Kernel, bandwidth, penalty and scoring as the user gave them; a name is a way to choose."""

    kernel: str
    bandwidth: float | str
    degree: int
    penalty: float | str
    scoring: Any

    @property
    def chooses(self) -> bool:
        """Whether anything is to be chosen."""
        return self.searches_bandwidth or self.searches_penalty

    @property
    def is_local(self) -> bool:
        """Whether every node has a penalty of its own."""
        return self.searches_penalty and self.criterion in LOCAL

    @property
    def criterion(self) -> str:
        """The criterion by which whatever is to be chosen is."""
        return str(self.penalty) if self.penalty in CRITERIA else AUTO

    @property
    def searches_bandwidth(self) -> bool:
        """Whether the bandwidth is to be chosen by the criterion."""
        return self.kernel not in BANDWIDTH_FREE and self.bandwidth == "auto"

    @property
    def searches_penalty(self) -> bool:
        """Whether the penalty is to be chosen by the criterion."""
        return isinstance(self.penalty, str) and self.penalty != "rule"


def tune(
    settings: KernelSettings,
    dealt_by: PartitionSettings,
    X: RowData,
    y: FloatArray,
    sliced: FloatArray,
    scores: FloatArray,
    partition: Partition,
    seed: int,
) -> tuple[Kernel, FloatArray, Tuning]:
    """The kernel, every node's penalty, (k,), and how they were chosen, for centred y and how much each row counts."""
    k, free, scoring = len(partition.allocation), settings.kernel in BANDWIDTH_FREE, scoring_name(settings.scoring)
    width: Any = settings.bandwidth
    if isinstance(width, str):
        width = None if free else median_bandwidth(X, settings.kernel, seed)
    base = make_kernel(settings.kernel, range_rows(settings.kernel, X), width, settings.degree)
    given = settings.penalty
    fixed = float(penalty_rule(settings.kernel, *X.shape) if isinstance(given, str) else given)
    if not settings.chooses or len(y) < FEWEST_ROWS or not np.ptp(y):
        criterion, none, empty = "none" if settings.chooses else "given", np.empty(0), np.empty((0, 0))
        return base, np.full(k, fixed), Tuning(criterion, scoring, none, none, empty, empty, base.bandwidth, fixed)

    scale = float(2.0 ** np.floor(np.log2(np.abs(y).max())))  # squares of tiny responses must not vanish
    size = np.mean(np.concatenate(list(map_rows(base.diagonal, [X], "diagonal")))) if free else 1.0
    penalties = PENALTIES * size if settings.searches_penalty else np.array([fixed])
    trials = make_trials(settings.criterion, sliced, partition, dealt_by, seed)
    search = Search(settings.criterion, X, y / scale, scores, trials, base, penalties)
    n_nodes = int(np.clip(SCREENING_ROWS / (len(partition.allocation.rows) / k), *SCREENING_NODES))  # few large ones
    bandwidth = search.best_bandwidth(n_nodes) if settings.searches_bandwidth else base.bandwidth
    search.widen([bandwidth], FINAL_NODES)

    bandwidths = sorted(search.risks, key=lambda b: b or 0.0)
    values = np.array([search.risks[b][0] for b in bandwidths])
    margins = np.array([jackknife_error(search.risks[b][1]) for b in bandwidths])
    bound = (np.maximum(values, 0.0) + FINAL_MARGIN * margins)[bandwidths.index(bandwidth)]
    penalty, outermost = lowest_penalty(penalties, bound, fixed)
    narrowest_or_widest = settings.searches_bandwidth and bandwidth in (bandwidths[0], bandwidths[-1])
    reached = {"bandwidth": narrowest_or_widest, "penalty": outermost}
    at_edge = tuple(name for name in reached if reached[name])
    for name in at_edge:
        warn_user(
            f"The chosen {name} ({bandwidth if name == 'bandwidth' else penalty:.3g}) lies at the edge of what was "
            "tried; see tuning_. A least penalty means that y looks free of noise or that rows repeat, a largest one "
            f"that the features do not explain y. Pass a {name} to go beyond."
        )
    cost = None if settings.scoring == "mse" else search.cost(bandwidth, int(np.argmin(bound)), scale)
    kernel = base if bandwidth is None else replace(base, bandwidth=bandwidth)
    each = np.full(k, penalty)
    if settings.is_local:
        each = search.local_penalties(partition, bandwidth, fixed)
        penalty = float(np.exp(np.mean(np.log(each))))
    tuning = Tuning(
        criterion=settings.criterion,
        scoring=scoring,
        bandwidths=np.array([np.nan if b is None else b for b in bandwidths]),
        penalties=penalties,
        values=values * scale**2,
        margins=margins * scale**2,
        bandwidth=bandwidth,
        penalty=penalty,
        at_edge=at_edge,
        cost=cost,
    )
    return kernel, each, tuning
