"""Choosing the bandwidth and the penalty: what was asked for, and what was found.

Three bandwidths two octaves apart around the median heuristic are screened, then the best one's neighbours an octave
and half an octave away, each on 6 to 20 nodes that hold about 3,000 rows; then the penalty is chosen at the bandwidth
found on 20 nodes. With nodes of 500 rows that is 56 reductions. Where fewer nodes are tried than there are, a standard
error is added to the estimated risk, of which a negative estimate counts as none: estimates from few nodes are least
certain where the penalty is small, and must not be believed there.

``gcv`` and ``cp`` evaluate a node by its own rows; the others the average of k nodes, if need be from q of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge._validation import warn_user
from skewridge.execution.chunked import RowData, Table, prefetch
from skewridge.execution.context import run, where_it_pays
from skewridge.execution.passes import map_rows
from skewridge.features.scaling import range_rows
from skewridge.kernels import BANDWIDTH_FREE, Kernel, loops, make_kernel, median_bandwidth, penalty_rule
from skewridge.linalg.cholesky import Path, Workspace, solve_path
from skewridge.metrics import scoring_name
from skewridge.nodes.partition import Partition, PartitionSettings, deal_rows
from skewridge.response.allocation import allocate
from skewridge.response.slices import slice_quietly
from skewridge.ridge.sharding import divided, rows_within

LOCAL = ("gcv", "cp")  # every node chooses its own penalty
EVALUATED_ROWS, EVALUATED_SHARED_ROWS = 2000, 1000  # the latter where nodes share rows, whose leverages cost as much
N_FOLDS = 5
SAFE_MARGIN, SCREENING_MARGIN, FINAL_MARGIN = 2.0, 1.0, 1.0
FINAL_NODES, MOST_EXTENSIONS = 20, 4
GATHERED_BYTES = 256e6  # rows that are gathered at a time where every node is solved
BLOCK_ROWS = 128  # evaluated at a time

Node = tuple[IntArray, FloatArray | None]  # rows and their weights
Solved = tuple[FloatArray, FloatArray]  # a node's coefficients along P penalties, (P, n), and the criterion's figures
Bandwidths = Sequence[float | None]
Risk = tuple[FloatArray, FloatArray]  # an estimated risk, (...), and what it would be without each of q nodes, (..., q)


@dataclass
class Trial:
    """The nodes of an average in the order in which they are tried, and the rows (R,) at which they are evaluated.

    ``row_weights``: how many rows each of those stands for; ``solved``: the first nodes, by bandwidth.
    """

    nodes: list[Node]
    rows: IntArray
    row_weights: FloatArray
    solved: dict[float | None, list[Solved]] = field(default_factory=dict)


def make_trials(
    criterion: str, sliced: FloatArray, partition: Partition, settings: PartitionSettings, seed: int
) -> list[Trial]:
    """One trial of the nodes; with cv one a response-stratified fold, of nodes of the rows outside it."""

    def in_random_order(partition: Partition) -> list[Node]:
        k = len(partition.allocation)
        return [partition.node(i) for i in np.argsort(shuffle(np.arange(k), k, seed, stream=2_000_000))]

    k, n_rows, trials = len(partition.allocation), len(sliced), []
    if criterion != "cv":
        n_evaluated = EVALUATED_ROWS if len(partition.allocation.rows) <= 1.5 * n_rows else EVALUATED_SHARED_ROWS
        return [Trial(in_random_order(partition), *sample_rows(sliced, n_evaluated, seed))]
    for fold, inside in enumerate(allocate(slice_quietly(sliced, settings.slices, 0.0), N_FOLDS, seed)):
        outside = np.setdiff1d(np.arange(n_rows), inside)
        slices = slice_quietly(sliced[outside], settings.slices, settings.oversampling)
        dealt = deal_rows(slices, min(k, len(outside)), seed + 1 + fold, settings)
        nodes = [(outside[rows], weights) for rows, weights in in_random_order(dealt)]
        rows, row_weights = sample_rows(sliced[inside], EVALUATED_ROWS, seed)
        trials.append(Trial(nodes, inside[rows], row_weights))
    return trials


def sample_rows(y: FloatArray, size: int, seed: int) -> tuple[IntArray, FloatArray]:
    """About ``size`` rows to evaluate at, ascending, and how many rows each stands for.

    Slice j of n_j rows gives a number of rows proportional to sqrt(n_j), at least one and all of them at most: errors
    are large and rows few where the response is rare.
    """
    if len(y) <= size:
        return np.arange(len(y)), np.ones(len(y))
    slices = slice_quietly(y)
    counts = slices.counts[slices.occupied]

    def taken_at(rate: float) -> IntArray:
        return np.clip((rate * np.sqrt(counts)).astype(np.int64), 1, counts)

    low, high = 0.0, float(np.sqrt(counts.max())) + 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if taken_at(middle).sum() <= size else (low, middle)
    taken, members = taken_at(low), [rows for rows in slices.rows_by_slice() if len(rows)]
    picked = []
    for j, (rows, number) in enumerate(zip(members, taken, strict=True)):
        order = np.argsort(shuffle(np.arange(len(rows)), len(rows), seed, 1_000_000 + j))
        picked.append(rows[order[:number]])
    rows = np.concatenate(picked)
    order = np.argsort(rows)
    return rows[order], np.repeat(counts / taken, taken)[order]


def shared_places(rows: IntArray, others: IntArray) -> tuple[IntArray, IntArray]:
    """Where ascending rows are among ascending others: their places in the rows, and among the others."""
    place = np.minimum(np.searchsorted(rows, others), len(rows) - 1)
    which = np.flatnonzero(rows[place] == others)
    return place[which], which


def gcv(path: Path, weights: FloatArray | None = None) -> FloatArray:
    """Generalised cross-validation of one node, (P,): n ||r||^2 / (n - tr A)^2.

    With weights the mean square is weighted: sum w r^2 / sum w / (1 - tr A / n)^2.
    """
    n = path.residual.shape[1]
    return np.average(path.residual**2, axis=1, weights=weights) / (1.0 - path.trace / n) ** 2


def cp(path: Path, weights: FloatArray | None = None) -> FloatArray:
    """Mallows' Cp of one node, (P,): ||r||^2/n + 2 s2 tr A / n.

    The noise variance s2 = ||r||^2 / (n - tr A) is taken where generalised cross-validation is least.
    """
    n = path.residual.shape[1]
    square, trace = np.average(path.residual**2, axis=1, weights=weights), path.trace
    best = int(np.argmin(gcv(path, weights)))
    noise = square[best] / (1.0 - trace[best] / n)
    return square + 2.0 * noise * trace / n


def pair_risk(products: FloatArray, k: int) -> Risk:
    """Mean squared error of the average of k nodes, from the error products, (..., q, q), of q of them.

    (1/k) mean_j e_j^2 + (1 - 1/k) mean_{j != j'} e_j e_j', averaged over rows by weights that sum to 1. The square of
    the q-average would count the nodes' variance k/q times too often and over-smooth. With q = k it is the squared
    error of the average itself, and its standard error is 0.
    """

    def combined(squares: FloatArray, crossed: FloatArray, q: int) -> FloatArray:
        pairs = crossed / (q * (q - 1)) if q > 1 else squares  # of one node there is no pair: its square is both
        return squares / (q * k) + (1.0 - 1.0 / k) * pairs

    q = products.shape[-1]
    squares = np.einsum("...jj->...j", products)
    crossed = products.sum(axis=-1) - squares  # sum over the other nodes of <e_j, e_j'>
    square, cross = squares.sum(axis=-1), crossed.sum(axis=-1)
    risk = combined(square, cross, q)
    if q == k:
        return risk, risk[..., None]
    return risk, combined(square[..., None] - squares, cross[..., None] - 2 * crossed, q - 1)


def mean_risk(parts: Sequence[Risk], shares: FloatArray) -> Risk:
    """The mean of independent estimates with shares that sum to 1; their leave-one-out estimates stand side by side."""
    if len(parts) == 1:
        return parts[0]
    risk = np.sum([share * part for share, (part, _) in zip(shares, parts, strict=True)], axis=0)
    total = sum(without.shape[-1] for _, without in parts)
    if total == len(parts):
        return risk, risk[..., None]
    shifts = []
    for share, (_, without) in zip(shares, parts, strict=True):
        scale = np.sqrt((1 - 1 / without.shape[-1]) / (1 - 1 / total))  # the jackknife's (q - 1) / q
        shifts.append((without - without.mean(axis=-1, keepdims=True)) * scale * share)
    return risk, risk[..., None] + np.concatenate(shifts, axis=-1)


def jackknife_error(without: FloatArray) -> FloatArray:
    """Standard error from leave-one-node-out estimates, (..., q); 0 where nothing was left out."""
    q = without.shape[-1]
    spread = without - without.mean(axis=-1, keepdims=True)
    return np.sqrt((q - 1) / q * np.sum(spread**2, axis=-1))


def lowest_penalty(penalties: FloatArray, values: FloatArray, fallback: float) -> tuple[float, bool]:
    """The penalty of the least value, by a parabola in the logarithm, and whether it is at the edge.

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
    return float(penalties[i] * np.exp(shift * np.log(penalties[i + 1] / penalties[i]))), False


FIGURES: dict[str, Callable[[Path, FloatArray | None], FloatArray]] = {  # what a criterion takes from a node's path
    "loo": lambda path, _: path.left_out,
    "dgcv": lambda path, _: path.trace,
    "cv": lambda path, _: path.left_out,  # of no rows
    "gcv": gcv,
    "cp": cp,
}
CRITERIA = tuple(FIGURES)


class Search:
    """A criterion at the bandwidths tried so far, along the penalties: ``risks[bandwidth]``.

    ``scores`` are how much each row counts; ``plain`` are risks in mean squared error, where scores aim elsewhere.
    """

    def __init__(
        self,
        criterion: str,
        X: RowData,
        y: FloatArray,
        scores: FloatArray,
        trials: list[Trial],
        base: Kernel,
        penalties: FloatArray,
    ) -> None:
        self.criterion, self.X, self.y, self.scores = criterion, X, y, scores
        self.trials, self.base, self.penalties = trials, base, penalties
        self.alike = np.broadcast_to(np.float64(1.0), y.shape)  # takes no memory
        self.risks: dict[float | None, Risk] = {}
        self.plain: dict[float | None, Risk] = {}
        looked_at = [rows for t in trials for rows in (t.rows, *(node for node, _ in t.nodes[:FINAL_NODES]))]
        prefetch(X, np.concatenate(looked_at))

    def best_bandwidth(self, n_nodes: int) -> float:
        """Two octaves apart, then one, farther while the best is the outermost, then half an octave."""
        center, tried = float(self.base.bandwidth or 1.0), dict[float, float]()  # octave -> bandwidth

        def best_of(*octaves: float) -> float:
            new = {octave: center * 2.0**octave for octave in octaves if octave not in tried}
            self.widen([*new.values()], n_nodes)
            tried.update(new)
            best = [*tried][self.screen([*tried.values()])]
            for trial in self.trials:  # coefficients of others would fill the memory
                trial.solved = {b: nodes for b, nodes in trial.solved.items() if b == tried[best]}
            return best

        best = best_of(-3.0, -1.0, 1.0)
        best = best_of(best - 1, best + 1)
        for _ in range(MOST_EXTENSIONS):
            if best not in (min(tried), max(tried)):
                break
            best = best_of(best - 1 if best == min(tried) else best + 1)
        return tried[best_of(best - 0.5, best + 0.5)]

    def screen(self, bandwidths: Bandwidths) -> int:
        """The place of the best of the bandwidths by the risk's difference to a safe choice.

        The safe choice is the least upper bound of the risk. What all choices share, such as the noise at the rows
        evaluated, cancels in the difference, and its standard error is small where two choices err alike.
        """
        risk = np.maximum([self.risks[b][0] for b in bandwidths], 0.0)
        without = np.array([self.risks[b][1] for b in bandwidths])
        safe = np.unravel_index(np.argmin(risk + SAFE_MARGIN * jackknife_error(without)), risk.shape)
        bound = risk - risk[safe] + SCREENING_MARGIN * jackknife_error(without - without[safe])
        return int(np.argmin(bound.min(axis=1)))

    def widen(self, bandwidths: Bandwidths, n_nodes: int) -> None:
        """Have n_nodes nodes of every trial tried at these bandwidths; nodes tried before are not tried again."""
        for trial in self.trials:
            known = [trial.solved.get(bandwidth, []) for bandwidth in bandwidths]
            nodes = trial.nodes[len(known[0]) : n_nodes if len(self.trials) == 1 else n_nodes // 2]  # folds add up
            found = zip(*self.solve(nodes, trial.rows, bandwidths), strict=True) if nodes else [()] * len(known)
            trial.solved |= {b: [*old, *new] for b, old, new in zip(bandwidths, known, found, strict=True)}
        self.risks.update(zip(bandwidths, self.evaluate(bandwidths, self.scores), strict=True))
        if not np.array_equal(self.scores, self.alike):
            self.plain.update(zip(bandwidths, self.evaluate(bandwidths, self.alike), strict=True))

    def solve(self, nodes: Sequence[Node], rows: IntArray, bandwidths: Bandwidths) -> list[list[Solved]]:
        """Every node for every bandwidth and penalty, ``[j][i]`` node j at bandwidth i; loo leaves out these rows.

        Distances are computed once a node and serve every bandwidth. A thread holds one square matrix: distances above
        the diagonal, and below it the gram of one bandwidth after the other and what it is reduced to.
        """
        base, penalties, workspace, figures = self.base, self.penalties, Workspace(), FIGURES[self.criterion]
        leverages_of = {"loo": rows, "cv": rows[:0]}.get(self.criterion)

        def along_penalties(node: Any) -> list[Solved]:
            X, y, weights, places = node
            square, found = workspace.square(len(X)), []
            left, diagonal = base.prepare(X), np.empty(len(X))
            loops().similarity_upper(base, left, np.ascontiguousarray(left.T), square, diagonal)
            for bandwidth in bandwidths:
                loops().rescaled_below(base, square, diagonal, base.rescaling(bandwidth))
                path = solve_path(square, y, penalties, weights, places)
                found.append((path.coef, figures(path, weights)))
            return found

        gathered = (
            (self.X[ids], self.y[ids], weights, None if leverages_of is None else shared_places(ids, leverages_of)[0])
            for ids, weights in nodes
        )
        with where_it_pays(len(bandwidths) * sum(4 / 3 * len(ids) ** 3 for ids, _ in nodes)):
            return list(run(along_penalties, gathered, "tuning", len(nodes)))

    def evaluate(self, bandwidths: Bandwidths, scores: FloatArray) -> list[Risk]:
        """The criterion along the penalties at bandwidths just tried, over the rows of all trials."""
        masses = np.array([np.dot(trial.row_weights, scores[trial.rows]) for trial in self.trials])
        if not masses.sum() > 0:
            raise ValueError("scoring gives no weight to any of the rows that penalties are judged by.")
        if self.criterion in LOCAL:
            values = [np.mean([own for _, own in self.trials[0].solved[b]], axis=0) for b in bandwidths]
            return [(value, value[:, None]) for value in values]
        parts = []
        for trial, mass in zip(self.trials, masses, strict=True):
            products, _ = self.errors(trial, bandwidths, scores)
            risks = [pair_risk(product / (mass or 1.0), len(trial.nodes)) for product in products]
            if self.criterion == "dgcv":  # Xu, Shang & Cheng 2018: over (1 - tr H / N)^2, tr H = mean_j tr A_j
                traces = np.array([np.mean([own for _, own in trial.solved[b]], axis=0) for b in bandwidths])
                factors = 1.0 / (1.0 - traces / len(self.y)) ** 2
                risks = [(risk * own, no * own[:, None]) for (risk, no), own in zip(risks, factors, strict=True)]
            parts.append(risks)
        return [mean_risk(part, masses / masses.sum()) for part in zip(*parts, strict=True)]

    def errors(self, trial: Trial, bandwidths: Bandwidths, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Products of the solved nodes' errors, (B, P, q, q), and mean errors, (B, P), summed over the rows evaluated.

        Sums are weighted. Rows go by in blocks, so that no more than a block of errors is in memory.
        """
        base, left_out = self.base, self.criterion == "loo"
        X, y, row_weights = self.X[trial.rows], self.y[trial.rows], trial.row_weights * scores[trial.rows]
        solved = [trial.solved[bandwidth] for bandwidth in bandwidths]
        nodes = [ids for ids, _ in trial.nodes[: len(solved[0])]]
        rights = [np.ascontiguousarray(base.prepare(self.X[ids]).T) for ids in nodes]
        places = [shared_places(ids, trial.rows)[1] for ids in nodes]
        shape = len(nodes), len(bandwidths), len(self.penalties)

        def sum_block(start: int) -> tuple[FloatArray, FloatArray]:
            here = slice(start, start + BLOCK_ROWS)
            left, errors = base.prepare(X[here]), np.empty((*shape, len(y[here])))
            for j, right in enumerate(rights):
                distances, values = np.empty((2, len(left), right.shape[1]))
                loops().similarity(base, left, right, distances)
                own = slice(*np.searchsorted(places[j], (here.start, here.stop)))
                for i, bandwidth in enumerate(bandwidths):
                    coef, figures = solved[i][j]
                    loops().rescaled(base, values, distances, base.rescaling(bandwidth))
                    np.subtract(y[here], coef @ values.T, out=errors[j, i])
                    if left_out:
                        errors[j, i][:, places[j][own] - start] = figures[:, own]
            weighted = np.moveaxis(errors * np.sqrt(row_weights[here]), 0, -2)
            return weighted @ np.swapaxes(weighted, -1, -2), errors.mean(axis=0) @ row_weights[here]

        products, means = np.zeros(1), np.zeros(1)
        with where_it_pays(len(y) * sum(map(len, nodes)) * len(bandwidths) * (60.0 + 2 * len(self.penalties))):
            found = run(sum_block, range(0, len(y), BLOCK_ROWS), "judging")
        for more_products, more_means in found:
            products, means = products + more_products, means + more_means
        return products, means

    def cost(self, bandwidth: float | None, column: int, scale: float) -> dict[str, float]:
        """The price of another scoring in mean squared error, against all candidates, and its bias, in units of y."""
        risks = self.plain or self.risks  # a scoring may count every row alike
        bounds = {b: np.maximum(risk, 0.0) + FINAL_MARGIN * jackknife_error(no) for b, (risk, no) in risks.items()}
        chosen, least = float(bounds[bandwidth][column]), min(float(bound.min()) for bound in bounds.values())
        sums = [self.errors(trial, [bandwidth], self.alike)[1][0, column] for trial in self.trials]
        bias = float(np.sum(sums) / np.sum([trial.row_weights.sum() for trial in self.trials]))
        squared = scale**2
        return {"mse": chosen * squared, "best_mse": least * squared, "ratio": chosen / least, "bias": bias * scale}

    def local_penalties(self, partition: Partition, bandwidth: float | None, fallback: float) -> FloatArray:
        """Every node's own choice at the bandwidth found, (k,), with rows gathered for some nodes at a time."""
        X, found = self.X, list[float]()
        most = rows_within(GATHERED_BYTES, X.shape[1]) if isinstance(X, Table) else np.inf
        for part in divided(partition.allocation, np.arange(len(partition.allocation)), most):
            nodes = [partition.node(i) for i in part]
            prefetch(X, np.concatenate([rows for rows, _ in nodes]))
            solved = self.solve(nodes, self.trials[0].rows, [bandwidth])
            found += [lowest_penalty(self.penalties, curve, fallback)[0] for ((_, curve),) in solved]
        return np.array(found)


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
    if settings.criterion in LOCAL:
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
