"""Choosing the bandwidth and the penalty: what was asked for, what the search found, and what it says about itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_choice, warn_user
from skewridge.execution.chunked import RowData
from skewridge.execution.job import Job
from skewridge.execution.passes import map_rows
from skewridge.features.scaling import range_rows
from skewridge.kernels import BANDWIDTH_FREE, Kernel, make_kernel, median_bandwidth, penalty_rule
from skewridge.metrics import SCORINGS, scoring_name
from skewridge.nodes.search import CRITERIA, LOCAL, Data, Search

AUTO = "loo"  # the criterion with the least regret: docs/tuning.md
HONEST = ("loo", "cv")  # criteria that judge a row by fits that have not seen it
PENALTIES = np.logspace(-9, 0.5, 20)  # times the kernel's size
FEWEST_ROWS = 10  # fewer rows are not tuned on


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

    def check(self) -> None:
        """Refuse a scoring that nothing would be chosen by."""
        if not callable(self.scoring):
            check_choice("scoring", self.scoring, SCORINGS)
        if self.scoring != "mse" and not self.chooses:
            raise ValueError(
                f"scoring={scoring_name(self.scoring)!r} has nothing to choose: bandwidth and penalty are both fixed. "
                "Leave one at 'auto', or scoring at 'mse'."
            )
        if self.scoring != "mse" and self.criterion not in HONEST:
            raise ValueError(
                f"penalty={self.penalty!r} judges rows by fits that have seen them and cannot aim at "
                f"scoring={scoring_name(self.scoring)!r}: rare rows are fitted most closely. Use penalty 'loo' or "
                "'cv', or scoring='mse'."
            )

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
        """The criterion that judges whatever is to be chosen."""
        named = isinstance(self.penalty, str) and self.penalty in CRITERIA
        return str(self.penalty) if named else AUTO

    @property
    def searches_bandwidth(self) -> bool:
        """Whether the bandwidth is to be chosen by the criterion."""
        return self.kernel not in BANDWIDTH_FREE and self.bandwidth == "auto"

    @property
    def searches_penalty(self) -> bool:
        """Whether the penalty is to be chosen by the criterion."""
        return isinstance(self.penalty, str) and self.penalty != "rule"


def tune(settings: KernelSettings, data: Data, job: Job) -> tuple[Kernel, FloatArray, Tuning]:
    """Return the kernel, every node's penalty, and how they were chosen."""
    k = len(data.partition.allocation)
    base = _base_kernel(settings, data, job)
    fixed = float(
        penalty_rule(settings.kernel, *data.X.shape) if isinstance(settings.penalty, str) else settings.penalty
    )
    if not settings.chooses or len(data.y) < FEWEST_ROWS or not np.ptp(data.y):
        return base, np.full(k, fixed), _nothing_chosen(settings, base, fixed)
    scale = 2.0 ** np.floor(np.log2(np.abs(data.y).max()))  # squares of tiny responses must not vanish
    size = _mean_diagonal(base, data.X, job)
    penalties = PENALTIES * size if settings.searches_penalty else np.array([fixed])
    search = Search(settings.criterion, replace(data, y=data.y / scale), base, penalties, fixed, job)
    tuning = _searched(settings, search, float(scale))
    kernel = base if tuning.bandwidth is None else replace(base, bandwidth=tuning.bandwidth)
    if settings.is_local:
        local = search.local_penalties(kernel)
        return kernel, local, replace(tuning, penalty=float(np.exp(np.mean(np.log(local)))))
    return kernel, np.full(k, tuning.penalty), tuning


def _searched(settings: KernelSettings, search: Search, scale: float) -> Tuning:
    """Search, warn of a choice at the edge, and tell in the units of y."""
    found = search.choose(settings.searches_bandwidth)
    for name in found.at_edge:
        warn_user(
            f"The chosen {name} ({getattr(found, name):.3g}) lies at the edge of what was tried; see tuning_. A least "
            "penalty means that y looks free of noise or that rows repeat, a largest one that the features do not "
            f"explain y. Pass a {name} to go beyond."
        )
    cost = None
    if settings.scoring != "mse":
        units = {"mse": scale**2, "best_mse": scale**2, "ratio": 1.0, "bias": scale}
        cost = {name: value * units[name] for name, value in search.cost(found).items()}
    return Tuning(
        settings.criterion,
        scoring_name(settings.scoring),
        np.array([np.nan if b is None else b for b in found.bandwidths]),
        search.penalties,
        found.values * scale**2,
        found.margins * scale**2,
        found.bandwidth,
        found.penalty,
        found.at_edge,
        cost,
    )


def _mean_diagonal(kernel: Kernel, X: RowData, job: Job) -> float:
    """The mean of k(x, x); 1 for kernels of distances."""
    if kernel.name not in BANDWIDTH_FREE:
        return 1.0
    return float(np.mean(np.concatenate(list(map_rows(kernel.diagonal, [X], job, "diagonal")))))


def _base_kernel(settings: KernelSettings, data: Data, job: Job) -> Kernel:
    bandwidth: Any = None
    if settings.kernel not in BANDWIDTH_FREE:
        given = not isinstance(settings.bandwidth, str)
        bandwidth = settings.bandwidth if given else median_bandwidth(data.X, settings.kernel, data.seed)
    return make_kernel(settings.kernel, range_rows(settings.kernel, data.X, job), bandwidth, settings.degree)


def _nothing_chosen(settings: KernelSettings, kernel: Kernel, penalty: float) -> Tuning:
    criterion, empty = "none" if settings.chooses else "given", np.empty((0, 0))
    none = np.empty(0)
    return Tuning(criterion, scoring_name(settings.scoring), none, none, empty, empty, kernel.bandwidth, penalty)
