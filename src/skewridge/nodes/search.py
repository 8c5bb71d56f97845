"""The search for a bandwidth and a penalty: which nodes to try, which bandwidths, and what to take.

Three bandwidths two octaves apart around the median heuristic are screened, then the best one's neighbours an octave
and half an octave away, each on 6 to 20 nodes that hold about 3,000 rows; then the penalty is chosen at the bandwidth
found on 20 nodes. With nodes of 500 rows that is 56 reductions. Where fewer nodes are tried than there are, a standard
error is added to the estimated risk, of which a negative estimate counts as none: estimates from few nodes are least
certain where the penalty is small, and must not be believed there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData, Table, prefetch
from skewridge.execution.job import Job
from skewridge.kernels import Kernel
from skewridge.metrics import every_row_alike
from skewridge.nodes.criteria import Risk, dgcv, jackknife_error, mean_risk, pair_risk
from skewridge.nodes.partition import Partition, focus_weights
from skewridge.nodes.planning import PartitionSettings
from skewridge.nodes.trials import Trial, Tried, judge, judged_rows, try_nodes
from skewridge.response.allocation import allocate
from skewridge.response.slices import slice_quietly
from skewridge.ridge.batches import divided, rows_within

CRITERIA = ("loo", "dgcv", "cv", "gcv", "cp")
LOCAL = ("gcv", "cp")  # every node chooses its own penalty

SCREENING_ROWS, SCREENING_NODES, SAFE_MARGIN, SCREENING_MARGIN = 3000, (6, 20), 2.0, 1.0
FINAL_NODES, FINAL_MARGIN = 20, 1.0
OCTAVES = (-3.0, -1.0, 1.0)
MOST_EXTENSIONS = 4
GATHERED_BYTES = 256e6  # rows that are gathered at a time where every node is solved
JUDGED_ROWS, JUDGED_SHARED_ROWS = 2000, 1000  # the latter where nodes share rows, whose leverages cost as much again
N_FOLDS = 5


@dataclass(frozen=True)
class Data:
    """The rows to tune on: X, the centred and the observed response, how much each counts, and who holds them."""

    X: RowData
    y: FloatArray
    observed: FloatArray
    scores: FloatArray
    partition: Partition
    settings: PartitionSettings
    seed: int


@dataclass(frozen=True)
class Found:
    """Everything that was tried, (B, P) values and margins, and the choice."""

    bandwidths: list[float | None]
    values: FloatArray
    margins: FloatArray
    bandwidth: float | None
    penalty: float
    column: int
    at_edge: tuple[str, ...]


class Search:
    """The state of one search: trials, the bandwidths tried so far, and their risks."""

    def __init__(
        self, criterion: str, data: Data, base: Kernel, penalties: FloatArray, fallback: float, job: Job
    ) -> None:
        self.criterion, self.data, self.base, self.penalties, self.job = criterion, data, base, penalties, job
        self.trials = _trials(criterion, data)
        prefetch(data.X, _tried_rows(self.trials))
        self.fallback = fallback  # the penalty where none is better than another
        self.tried: dict[float | None, list[list[Tried]]] = {}  # bandwidth -> trial -> node; the latest and the best
        self.risks: dict[float | None, Risk] = {}
        self.plain: dict[float | None, Risk] = {}  # in mean squared error, where the scores aim at something else

    def choose(self, search_bandwidth: bool) -> Found:
        """Search the bandwidth, then the penalty at the bandwidth found."""
        best = self._best_bandwidth() if search_bandwidth else self.base.bandwidth
        self._try([best], FINAL_NODES)
        tried = sorted(self.risks, key=lambda b: b or 0.0)
        values = np.array([self.risks[b].risk for b in tried])
        margins = np.array([self.risks[b].error for b in tried])
        bound = (np.maximum(values, 0.0) + FINAL_MARGIN * margins)[tried.index(best)]
        penalty, edge = _lowest(self.penalties, bound, self.fallback)
        edges = {"bandwidth": search_bandwidth and best in (tried[0], tried[-1]), "penalty": edge}
        at_edge = tuple(name for name, reached in edges.items() if reached)
        return Found(tried, values, margins, best, penalty, int(np.argmin(bound)), at_edge)

    def local_penalties(self, kernel: Kernel) -> FloatArray:
        """Return every node's own choice at the bandwidth found."""
        whole = replace(self.trials[0], nodes=_nodes(self.data.partition))
        curves = [getattr(node, self.criterion) for node in self._solve_all(whole, kernel.bandwidth)]
        return np.array([_lowest(self.penalties, curve, self.fallback)[0] for curve in curves])

    def _solve_all(self, whole: Trial, bandwidth: float | None) -> Iterator[Tried]:
        """Yield every node of a trial that is solved, with rows gathered for some of them at a time."""
        X, names = self.data.X, np.arange(len(whole.nodes))
        most = rows_within(GATHERED_BYTES, X.shape[1]) if isinstance(X, Table) else np.inf
        for part in divided(self.data.partition.allocation, names, most):
            prefetch(X, np.concatenate([whole.nodes[i][0] for i in part]))
            yield from self._solve(whole, range(part[0], part[-1] + 1), [bandwidth])[0]

    def _best_bandwidth(self) -> float:
        """Two octaves apart, then one, farther while the best is the outermost, then half an octave."""
        center, octaves = float(self.base.bandwidth or 1.0), list[float]()

        def widen(more: list[float]) -> float:
            new = [o for o in more if o not in octaves]
            self._try([center * 2.0**o for o in new], self._n_screening)
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

    @property
    def _n_screening(self) -> int:
        """How many nodes a bandwidth is screened on: few where nodes are large, more where they are small and cheap."""
        size = len(self.data.partition.allocation.rows) / len(self.data.partition.allocation)
        return int(np.clip(SCREENING_ROWS / size, *SCREENING_NODES))

    def _screened(self, bandwidths: list[float]) -> int:
        """Return the place of the best of the bandwidths by the risk's difference to a safe choice.

        The safe choice is the least upper bound of the risk. What all choices share, such as the noise at the judged
        rows, cancels in the difference, and its standard error is small where two choices err alike.
        """
        tables = [self.risks[b] for b in bandwidths]
        risk = np.maximum([table.risk for table in tables], 0.0)
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
        scores, plain = self.data.scores, every_row_alike(self.data.y)
        self.risks.update(zip(bandwidths, self._judge(list(bandwidths), scores), strict=True))
        if not np.array_equal(scores, plain):
            self.plain.update(zip(bandwidths, self._judge(list(bandwidths), plain), strict=True))

    def _solve(self, trial: Trial, which: range, bandwidths: list[float | None]) -> list[list[Tried]]:
        if not len(which):
            return [[] for _ in bandwidths]
        data = self.data
        return try_nodes(trial, which, data.X, data.y, self.base, bandwidths, self.penalties, self.job)

    def _judge(self, bandwidths: list[float | None], scores: FloatArray) -> list[Risk]:
        """The criterion along the penalties at bandwidths just tried, over the rows of all trials."""
        masses = np.array([np.dot(trial.row_weights, scores[trial.rows]) for trial in self.trials])
        if not masses.sum() > 0:
            raise ValueError("scoring gives no weight to any of the rows that penalties are judged by.")
        parts = [self._judge_trial(t, bandwidths, scores, mass or 1.0) for t, mass in enumerate(masses)]
        return [mean_risk(list(part), masses / masses.sum()) for part in zip(*parts, strict=True)]

    def _judge_trial(self, t: int, bandwidths: list[float | None], scores: FloatArray, mass: float) -> list[Risk]:
        nodes = [self.tried[b][t] for b in bandwidths]
        if self.criterion in LOCAL:
            return [_local_risk(tried, self.criterion) for tried in nodes]
        products, _ = self._products(t, bandwidths, scores)
        risks = [pair_risk(product / mass, self.trials[t].n_nodes) for product in products]
        if self.criterion == "dgcv":
            return [_inflated(risk, tried, len(self.data.y)) for risk, tried in zip(risks, nodes, strict=True)]
        return risks

    def _products(self, t: int, bandwidths: list[float | None], scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        trial, data = self.trials[t], self.data
        nodes = [self.tried[b][t] for b in bandwidths]
        weights = trial.row_weights * scores[trial.rows]
        return judge(trial, nodes, data.X, data.y, self.base, bandwidths, weights, self.job)

    def cost(self, found: Found) -> dict[str, float]:
        """The price of another scoring in mean squared error, against all candidates, and its bias."""
        plain_risks = self.plain or self.risks  # a scoring may count every row alike
        bounds = {b: np.maximum(risk.risk, 0.0) + FINAL_MARGIN * risk.error for b, risk in plain_risks.items()}
        chosen = float(bounds[found.bandwidth][found.column])
        least = min(float(bound.min()) for bound in bounds.values())
        plain = every_row_alike(self.data.y)
        sums = [self._products(t, [found.bandwidth], plain)[1][0, found.column] for t in range(len(self.trials))]
        bias = float(np.sum(sums) / np.sum([trial.row_weights.sum() for trial in self.trials]))
        return {"mse": chosen, "best_mse": least, "ratio": chosen / least, "bias": bias}


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
        folds = allocate(slice_quietly(data.observed, data.settings.slices, 0.0), N_FOLDS, data.seed)
        return [_fold_trial(data, inside, data.seed + 1 + fold) for fold, inside in enumerate(folds)]
    shared = len(data.partition.allocation.rows) > 1.5 * len(data.y)
    rows, weights = judged_rows(data.observed, JUDGED_SHARED_ROWS if shared else JUDGED_ROWS, data.seed)
    nodes = _sampled(_nodes(data.partition), data.seed)
    return [Trial(nodes, len(nodes), rows, weights, left_out=criterion == "loo")]


def _tried_rows(trials: list[Trial]) -> IntArray:
    """All rows that a search looks at."""
    return np.concatenate([rows for t in trials for rows in (t.rows, *(node for node, _ in t.nodes[:FINAL_NODES]))])


def _fold_trial(data: Data, inside: IntArray, seed: int) -> Trial:
    """Nodes of the rows outside a response-stratified fold, judged at the rows inside."""
    settings = data.settings
    outside = np.setdiff1d(np.arange(len(data.y)), inside)
    slices = slice_quietly(data.observed[outside], settings.slices, settings.oversampling)
    k = min(len(data.partition.allocation), len(outside))
    allocation = allocate(slices, k, seed, settings.max_per_slice)
    part = Partition(slices, allocation, focus_weights(slices, k, settings))
    nodes = [(outside[rows], weights) for rows, weights in _nodes(part)]
    judged, weights = judged_rows(data.observed[inside], JUDGED_ROWS, data.seed)
    return Trial(_sampled(nodes, data.seed), k, inside[judged], weights, left_out=False)


def _nodes(partition: Partition) -> list[tuple[Any, FloatArray | None]]:
    return [partition.node(i) for i in range(len(partition.allocation))]


def _sampled(nodes: list[Any], seed: int) -> list[Any]:
    """All nodes in a keyed random order, of which the first are tried."""
    order = np.argsort(shuffle(np.arange(len(nodes)), len(nodes), seed, stream=2_000_000))
    return [nodes[i] for i in order]


def _lowest(penalties: FloatArray, values: FloatArray, fallback: float) -> tuple[float, bool]:
    """Return the penalty of the least value, by a parabola in the logarithm, and whether it is at the edge.

    Where no penalty is better than another it is the fallback.
    """
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        return (fallback if len(values) > 1 else float(penalties[0])), False
    i = int(np.argmin(values))
    if i in (0, len(values) - 1):
        return float(penalties[i]), True
    left, middle, right = values[i - 1 : i + 2]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
    step = np.log(penalties[i + 1] / penalties[i])
    return float(penalties[i] * np.exp(shift * step)), False
