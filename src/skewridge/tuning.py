"""Choosing the bandwidth and the penalty: which nodes to try, which bandwidths, and what to take.

The search spends about 70 node reductions: three bandwidths two octaves apart around the median heuristic, then the
best one's neighbours an octave and half an octave away, each on 8 nodes; then the penalty at the bandwidth found on 20
nodes. Where fewer nodes are tried than there are, a standard error is added to the estimated risk: estimates from few
nodes are least certain where the penalty is small, and must not be believed there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .allocation import allocate
from .checks import check_choice, warn_user
from .criteria import Risk, dgcv, jackknife_error, mean_risk, pair_risk
from .engine import Job
from .kernels import BANDWIDTH_FREE, Kernel, make_kernel
from .metrics import relevance
from .penalties import median_bandwidth, penalty_rule
from .pipeline import Partition, focus_weights
from .planning import PartitionSettings
from .shuffle import shuffle
from .slices import FloatArray, slice_response
from .trials import Trial, Tried, judge, judged_rows, try_nodes

CRITERIA = ("loo", "dgcv", "cv", "gcv", "cp")
SCORINGS = ("mse", "balanced_mse", "sera")
LOCAL = ("gcv", "cp")  # every node chooses its own penalty
AUTO = "loo"  # the criterion with the least regret: docs/tuning.md

SCREENING_NODES, SAFE_MARGIN, SCREENING_MARGIN = 8, 2.0, 1.0
FINAL_NODES, FINAL_MARGIN = 20, 1.0
OCTAVES = (-3.0, -1.0, 1.0)
MOST_EXTENSIONS = 4
JUDGED_ROWS, JUDGED_SHARED_ROWS = 2000, 1000  # the latter where nodes share rows, whose leverages cost as much again
N_FOLDS = 5
PENALTIES = np.logspace(-9, 0.5, 20)  # times the kernel's size
FEWEST_ROWS = 10  # fewer rows are not tuned on


@dataclass(frozen=True)
class Tuning:
    """How bandwidth and penalty were chosen.

    Attributes
    ----------
    criterion : "loo", "dgcv", "cv", "gcv", "cp", or "given" where nothing was to be chosen
    scoring : what the criterion aimed at
    bandwidths : (B,) array of those tried, ascending; nan for a kernel without bandwidth
    penalties : (P,) array
    values : (B, P) array, the criterion
    margins : (B, P) array, its standard error for being estimated from few nodes
    bandwidth, penalty : the choice; a local criterion's penalty is the nodes' geometric mean
    at_edge : which of "bandwidth" and "penalty" lies at the edge of what was tried
    cost : what aiming at something else than the mean squared error costs in it: "mse" (noise included) at the
        choice, "best_mse" over the penalties at the chosen bandwidth, their "ratio", and "bias", the mean of y minus
        prediction; None for scoring="mse"
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
class Request:
    """What the user asked for; a number is taken, a name is a way to choose."""

    kernel: str
    bandwidth: float | str
    degree: int
    penalty: float | str
    scoring: Any

    def check(self) -> None:
        """Refuse a scoring that nothing would be chosen by."""
        if not callable(self.scoring):
            check_choice("scoring", self.scoring, SCORINGS)
        if self.scoring != "mse" and not (self.searches_bandwidth or self.searches_penalty):
            raise ValueError(
                f"scoring={_name(self.scoring)!r} has nothing to choose: bandwidth and penalty are both fixed. "
                "Leave one at 'auto', or scoring at 'mse'."
            )
        if self.scoring != "mse" and self.criterion in LOCAL:
            raise ValueError(
                f"penalty={self.penalty!r} judges every node by its own rows and cannot aim at "
                f"scoring={_name(self.scoring)!r}. Use penalty 'loo', 'dgcv' or 'cv', or scoring='mse'."
            )

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


@dataclass(frozen=True)
class Data:
    """The rows to tune on: X, the centred and the observed response, their partition and how it was made."""

    X: FloatArray
    y: FloatArray
    observed: FloatArray
    partition: Partition
    settings: PartitionSettings
    seed: int


def tune(request: Request, data: Data, job: Job) -> tuple[Kernel, FloatArray, Tuning]:
    """Return the kernel, every node's penalty, and how they were chosen."""
    k = len(data.partition.allocation)
    base = _base_kernel(request, data)
    fixed = request.penalty if not isinstance(request.penalty, str) else penalty_rule(request.kernel, *data.X.shape)
    scores = row_scores(request.scoring, data.observed)
    if len(data.y) < FEWEST_ROWS or not (request.searches_bandwidth or request.searches_penalty):
        return base, np.full(k, float(fixed)), _nothing_chosen(request, base, float(fixed))
    penalties = PENALTIES * _size(base, data.X) if request.searches_penalty else np.array([float(fixed)])
    scale = 2.0 ** np.floor(np.log2(np.abs(data.y).max() or 1.0))  # squares of tiny responses must not vanish
    search = _Search(request, replace(data, y=data.y / scale), base, penalties, scores, job)
    tuning = _rescaled(search.choose(float(fixed)), float(scale))
    for name in tuning.at_edge:
        warn_user(
            f"The chosen {name} ({getattr(tuning, name):.3g}) lies at the edge of what was tried; see tuning_. "
            f"Pass a {name}, or rescale the features."
        )
    kernel = base if tuning.bandwidth is None else replace(base, bandwidth=tuning.bandwidth)
    if request.is_local:
        local = search.local_penalties(kernel)
        return kernel, local, replace(tuning, penalty=float(np.exp(np.mean(np.log(local)))))
    return kernel, np.full(k, tuning.penalty), tuning


def _rescaled(tuning: Tuning, scale: float) -> Tuning:
    """Give what was found for y / scale in the units of y."""
    square, cost = scale**2, tuning.cost
    if cost is not None:
        cost = {
            **cost,
            "mse": cost["mse"] * square,
            "best_mse": cost["best_mse"] * square,
            "bias": cost["bias"] * scale,
        }
    return replace(tuning, values=tuning.values * square, margins=tuning.margins * square, cost=cost)


def row_scores(scoring: Any, y: FloatArray) -> FloatArray:
    """Return how much every row's squared error counts for a scoring."""
    if callable(scoring):
        scores = np.asarray(scoring(y), dtype=np.float64)
        if scores.shape != y.shape or not np.isfinite(scores).all() or (scores < 0).any() or not scores.any():
            raise ValueError(
                "A callable scoring must return one finite, nonnegative weight a row, not all of them 0; got an array "
                f"of shape {scores.shape} for {len(y)} rows."
            )
        return scores
    if scoring == "balanced_mse":
        slices = slice_response(y, "scott")
        return 1.0 / slices.counts[slices.labels]
    return relevance(y, y) if scoring == "sera" else np.ones(len(y))


class _Search:
    """The state of one search: trials, the bandwidths tried so far, and their risks."""

    def __init__(
        self, request: Request, data: Data, base: Kernel, penalties: FloatArray, scores: FloatArray, job: Job
    ) -> None:
        self.request, self.data, self.base, self.penalties, self.job = request, data, base, penalties, job
        self.trials = _trials(request.criterion, data)
        self.scores = scores
        self.tried: dict[float | None, list[list[Tried]]] = {}  # bandwidth -> trial -> node; the latest and the best
        self.risks: dict[float | None, Risk] = {}

    def choose(self, rule: float) -> Tuning:
        """Search the bandwidth, then the penalty at the bandwidth found."""
        best: float | None = self.base.bandwidth
        if self.request.searches_bandwidth:
            best = self._best_bandwidth()
        self._try([best], FINAL_NODES)
        tried = sorted(self.risks, key=lambda b: b or 0.0)
        tables = [self.risks[b] for b in tried]
        values = np.array([table.risk for table in tables])
        margins = np.array([table.error for table in tables])
        row = tried.index(best)
        penalty, edge = _lowest(self.penalties, values[row] + FINAL_MARGIN * margins[row])
        if np.ptp(values[row]) <= 1e-12 * np.abs(values[row]).max():  # nothing depends on the penalty
            penalty, edge = (rule, False) if len(self.penalties) > 1 else (penalty, False)
        at_edge = ("penalty",) if edge and len(self.penalties) > 1 else ()
        if self.request.searches_bandwidth and best in (tried[0], tried[-1]):
            at_edge = ("bandwidth", *at_edge)
        return Tuning(
            self.request.criterion,
            _name(self.request.scoring),
            np.array([np.nan if b is None else b for b in tried]),
            self.penalties,
            values,
            margins,
            best,
            penalty,
            at_edge,
            self._cost(best, int(np.argmin(values[row] + FINAL_MARGIN * margins[row]))),
        )

    def local_penalties(self, kernel: Kernel) -> FloatArray:
        """Return every node's own choice at the bandwidth found."""
        whole = replace(self.trials[0], nodes=_nodes(self.data.partition))
        nodes = self._solve(whole, range(len(whole.nodes)), [kernel.bandwidth])[0]
        return np.array([_lowest(self.penalties, getattr(node, self.request.criterion))[0] for node in nodes])

    def _best_bandwidth(self) -> float:
        """Two octaves apart, then one, farther while the best is the outermost, then half an octave."""
        center, octaves = float(self.base.bandwidth or 1.0), list[float]()

        def widen(more: list[float]) -> float:
            new = [o for o in more if o not in octaves]
            self._try([center * 2.0**o for o in new], SCREENING_NODES)
            octaves.extend(new)
            best = octaves[self._screened([center * 2.0**o for o in octaves])]
            self.tried = {b: nodes for b, nodes in self.tried.items() if b == center * 2.0**best}
            return best

        best = widen(list(OCTAVES))
        best = widen([best - 1, best + 1])
        for _ in range(MOST_EXTENSIONS):
            if best not in (min(octaves), max(octaves)):
                break
            best = widen([best - 1 if best == min(octaves) else best + 1])
        best = widen([best - 0.5, best + 0.5])
        return center * 2.0**best

    def _screened(self, bandwidths: list[float]) -> int:
        """Return the place of the best of the bandwidths by the risk's difference to a safe choice.

        The safe choice is the least upper bound of the risk. What all choices share, such as the noise at the judged
        rows, cancels in the difference, and its standard error is small where two choices err alike.
        """
        tables = [self.risks[b] for b in bandwidths]
        risk = np.array([table.risk for table in tables])
        without = np.array([table.without for table in tables])
        safe = np.unravel_index(np.argmin(risk + SAFE_MARGIN * jackknife_error(without)), risk.shape)
        difference = without - without[safe]
        bound = risk - risk[safe] + SCREENING_MARGIN * jackknife_error(difference)
        return int(np.argmin(bound.min(axis=1)))

    def _try(self, bandwidths: list[float | None] | list[float], n_nodes: int) -> None:
        """Have n_nodes nodes of every trial tried at these bandwidths; nodes tried before are not tried again."""
        n_nodes = n_nodes if len(self.trials) == 1 else n_nodes // 2  # folds add up
        batch: list[list[list[Tried]]] = [self.tried.get(b, [[] for _ in self.trials]) for b in bandwidths]
        for t, trial in enumerate(self.trials):
            which = range(len(batch[0][t]), min(n_nodes, len(trial.nodes)))
            for known, new in zip(batch, self._solve(trial, which, list(bandwidths)), strict=True):
                known[t] = known[t] + new
        self.tried.update(zip(bandwidths, batch, strict=True))
        self.risks.update(zip(bandwidths, self._judge(list(bandwidths), self.scores), strict=True))

    def _solve(self, trial: Trial, which: range, bandwidths: list[float | None]) -> list[list[Tried]]:
        if not len(which):
            return [[] for _ in bandwidths]
        data = self.data
        return try_nodes(trial, which, data.X, data.y, self.base, bandwidths, self.penalties, self.job)

    def _judge(self, bandwidths: list[float | None], scores: FloatArray) -> list[Risk]:
        """The criterion along the penalties at bandwidths just tried, averaged over the trials."""
        parts = []
        for t, trial in enumerate(self.trials):
            nodes = [self.tried[b][t] for b in bandwidths]
            if self.request.criterion in LOCAL:
                parts.append([_local_risk(tried, self.request.criterion) for tried in nodes])
                continue
            products, _ = self._products(t, bandwidths, scores)
            risks = [pair_risk(product, trial.n_nodes) for product in products]
            if self.request.criterion == "dgcv":
                risks = [_inflated(risk, tried, len(self.data.y)) for risk, tried in zip(risks, nodes, strict=True)]
            parts.append(risks)
        return [mean_risk(list(part)) for part in zip(*parts, strict=True)]

    def _products(self, t: int, bandwidths: list[float | None], scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        trial, data = self.trials[t], self.data
        nodes = [self.tried[b][t] for b in bandwidths]
        weights = trial.row_weights * scores[trial.rows]
        return judge(trial, nodes, data.X, data.y, self.base, bandwidths, weights, self.job)

    def _cost(self, best: float | None, column: int) -> dict[str, float] | None:
        """What aiming at the scoring costs in mean squared error at the bandwidth chosen, and the bias it brings."""
        if self.request.scoring == "mse":
            return None
        plain = np.ones(len(self.data.y))
        errors = self._judge([best], plain)[0].risk
        bias = [float(self._products(t, [best], plain)[1][0, column]) for t in range(len(self.trials))]
        chosen, least = float(errors[column]), float(errors.min())
        return {"mse": chosen, "best_mse": least, "ratio": chosen / least, "bias": float(np.mean(bias))}


def _local_risk(tried: list[Tried], criterion: str) -> Risk:
    values = np.mean([getattr(node, criterion) for node in tried], axis=0)
    return Risk(values, values[:, None])


def _inflated(risk: Risk, tried: list[Tried], n_rows: int) -> Risk:
    """Divide in-sample risks by dGCV's (1 - tr H / N)^2."""
    factor = dgcv(np.ones_like(risk.risk), np.mean([node.trace for node in tried], axis=0), n_rows)
    return Risk(risk.risk * factor, risk.without * factor[:, None])


def _trials(criterion: str, data: Data) -> list[Trial]:
    """One trial on all rows, judged left out (loo) or by the nodes' own fit; or one trial a fold (cv)."""
    if criterion == "cv":
        return [_fold_trial(data, fold) for fold in range(N_FOLDS)]
    shared = len(data.partition.allocation.rows) > 1.5 * len(data.y)
    rows, weights = judged_rows(data.observed, JUDGED_SHARED_ROWS if shared else JUDGED_ROWS, data.seed)
    nodes = _sampled(_nodes(data.partition), data.seed)
    return [Trial(nodes, len(nodes), rows, weights, left_out=criterion == "loo")]


def _fold_trial(data: Data, fold: int) -> Trial:
    """Nodes of the rows outside a response-stratified fold, judged at the rows inside."""
    k = len(data.partition.allocation)
    even = slice_response(data.observed, data.settings.slices, 0.0)
    inside = allocate(even, min(N_FOLDS, len(data.y)), data.seed)[fold % min(N_FOLDS, len(data.y))]
    outside = np.setdiff1d(np.arange(len(data.y)), inside)
    slices = slice_response(data.observed[outside], data.settings.slices, data.settings.oversampling)
    k = min(k, len(outside))
    allocation = allocate(slices, k, data.seed + 1 + fold, data.settings.max_per_slice)
    part = Partition(slices, allocation, focus_weights(slices, k, data.settings))
    nodes = [(outside[rows], weights) for rows, weights in _nodes(part)]
    judged, weights = judged_rows(data.observed[inside], JUDGED_ROWS, data.seed)
    return Trial(_sampled(nodes, data.seed), k, inside[judged], weights, left_out=False)


def _nodes(partition: Partition) -> list[tuple[Any, FloatArray | None]]:
    return [partition.node(i) for i in range(len(partition.allocation))]


def _sampled(nodes: list[Any], seed: int) -> list[Any]:
    """All nodes in a keyed random order, of which the first are tried."""
    order = np.argsort(shuffle(np.arange(len(nodes)), len(nodes), seed, stream=2_000_000))
    return [nodes[i] for i in order]


def _base_kernel(request: Request, data: Data) -> Kernel:
    bandwidth: Any = None
    if request.kernel not in BANDWIDTH_FREE:
        given = not isinstance(request.bandwidth, str)
        bandwidth = request.bandwidth if given else median_bandwidth(data.X, request.kernel, data.seed)
    return make_kernel(request.kernel, data.X, bandwidth, request.degree)


def _size(kernel: Kernel, X: FloatArray) -> float:
    """Mean of k(x, x): 1 but for polynomial and sobolev."""
    some = X[:: max(1, len(X) // 100)]
    return float(np.mean([kernel.cross(x[None], x[None])[0, 0] for x in some]))


def _lowest(penalties: FloatArray, values: FloatArray) -> tuple[float, bool]:
    """Return the penalty of the least value, by a parabola in the logarithm, and whether it is at the edge."""
    i = int(np.argmin(values))
    if i in (0, len(values) - 1):
        return float(penalties[i]), True
    left, middle, right = values[i - 1 : i + 2]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
    step = np.log(penalties[i + 1] / penalties[i])
    return float(penalties[i] * np.exp(shift * step)), False


def _name(scoring: Any) -> str:
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "callable")


def _nothing_chosen(request: Request, kernel: Kernel, penalty: float) -> Tuning:
    empty = np.empty((0, 0))
    return Tuning("given", _name(request.scoring), np.empty(0), np.empty(0), empty, empty, kernel.bandwidth, penalty)
