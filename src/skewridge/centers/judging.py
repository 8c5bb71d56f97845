"""Judging ways to place centres by cross-validation with the centres drawn inside the folds.

A fold's rows neither enter the loss nor help to draw the centres that they are judged by: leave-one-out and generalised
cross-validation cannot see that a row's own y made it a centre. All folds share one pass over the data: the pass sums
features of the union of the folds' centres (about 1.25 m of them), and every fold projects the sums on its own centres.
One judgement costs about 1.6 fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.engine.chunked import RowData
from skewridge.engine.job import Job, run
from skewridge.features.scaling import variances
from skewridge.kernels import Kernel, make_kernel
from skewridge.response.sampling import N_FOLDS, Pool
from skewridge.ridge.lowrank import Basis, Sums, make_basis, projected, ridge_path, subspace, sum_by_fold

PENALTIES = np.logspace(-13, 1, 43)  # times the mean of k(x, x)
LEAST_GAIN = 1e-6  # share of the risk below which two candidates are alike


@dataclass(frozen=True)
class Candidate:
    """One way to place centres and to measure closeness."""

    kernel: str
    n_centers: int
    adapt: float
    bandwidth: float | None
    slice_on: str = "response"


@dataclass(frozen=True)
class Verdict:
    """A candidate's errors in every fold along the penalties.

    Attributes
    ----------
    candidate : Candidate
    penalties : (P,) array
    errors : (N_FOLDS, P) array, squared errors as the scores count them, over the variance, averaged over outputs
    plain : the same with all rows alike
    biases : the mean of y minus prediction, over the standard deviation
    eased : how many penalties below that of the least risk the choice is
    """

    candidate: Candidate
    penalties: FloatArray
    errors: FloatArray
    plain: FloatArray
    biases: FloatArray
    eased: int = 0

    @property
    def curve(self) -> FloatArray:
        """The risk along the penalties, (P,)."""
        return self.errors.mean(axis=0)

    @property
    def place(self) -> int:
        """Where the choice is: where the risk is least, or as far below it as the verdict was eased."""
        return int(np.argmin(self.curve)) - self.eased

    @property
    def risk(self) -> float:
        """The risk of the choice."""
        return float(self.curve[self.place])

    @property
    def margins(self) -> FloatArray:
        """The standard error of the risk between folds, (P,)."""
        return standard_error(self.errors)

    @property
    def penalty(self) -> float:
        """The penalty of the choice."""
        return float(self.penalties[self.place])

    def beats(self, other: Verdict, margin: float) -> bool:
        """Whether the risk is lower than another's by so many standard errors of the folds' differences."""
        gains = other.errors[:, other.place] - self.errors[:, self.place]
        return bool(gains.mean() > max(margin * standard_error(gains), LEAST_GAIN * other.risk))

    def ease(self, margin: float, share: float, most: int) -> Verdict:
        """Lower the penalty by up to ``most`` steps while the folds cannot tell.

        That is, while the risk is not higher by so many standard errors nor by such a share of it.
        """
        eased = self
        while eased.eased - self.eased < most and eased.place > 0:
            there = replace(eased, eased=eased.eased + 1)
            losses = there.errors[:, there.place] - self.errors[:, self.place]
            allowed = min(margin * standard_error(losses), share * self.risk)
            if not losses.mean() <= allowed:
                break
            eased = there
        return eased


def standard_error(values: FloatArray) -> Any:
    """Of the mean over folds, the first axis."""
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


@dataclass(frozen=True)
class FoldedRows:
    """Distinct rows, fold after fold, with what is known of them: the data that candidates are judged on.

    Attributes
    ----------
    X, Y, weights : (n, d), (n, p) and (n,) arrays
    scores : (n,) array, how much a row's squared error counts; None where all count alike
    places : (n,) array, where a distinct row of the pools stands here
    ends : where every fold ends
    pools : what is sliced -> Pool
    scale : (p,) array, the outputs' variances; 1 for a constant output
    """

    X: FloatArray
    Y: FloatArray
    weights: FloatArray
    scores: FloatArray | None
    places: IntArray
    ends: tuple[int, ...]
    pools: dict[str, Pool]
    scale: FloatArray

    def __len__(self) -> int:
        return len(self.X)


def pass_work(n_rows: int, rank: float) -> float:
    """Operations of one pass over the rows: kernel values, whitening and sums."""
    return n_rows * rank * (2.0 * rank + 30.0)


def judging_work(n_rows: int, rank: float) -> float:
    """Operations of one judgement: a pass over the rows, and every fold's projection and path."""
    return pass_work(n_rows, rank) + N_FOLDS * 10.0 * rank**3


def fold_rows(X: RowData, Y: FloatArray, scores: FloatArray | None, pools: dict[str, Pool], most: int) -> FoldedRows:
    """Return the rows of the pools (at most ``most`` of them) fold after fold; all pools hold the same rows."""
    pools = {name: pool.first(most) for name, pool in pools.items()}
    pool = next(iter(pools.values()))
    order = np.argsort(pool.folds, kind="stable")
    places = np.empty(len(pool), dtype=np.int64)
    places[order] = np.arange(len(pool))
    rows, weights = pool.rows[order], pool.weights[order]
    ends = np.searchsorted(pool.folds[order], np.arange(N_FOLDS), side="right")
    Y = Y[rows]
    picked = None if scores is None else scores[rows]
    last = tuple(int(end) for end in ends)
    return FoldedRows(X[rows], Y, weights, picked, places, last, pools, variances(Y, weights))


class Judge:
    """Judges candidates, remembers verdicts, and counts what they cost."""

    def __init__(
        self,
        rows: FoldedRows,
        degree: int,
        penalties: FloatArray | dict[str, float] | None,
        fit_intercept: bool,
        job: Job,
    ) -> None:
        self.rows, self.degree, self.given, self.fit_intercept, self.job = rows, degree, penalties, fit_intercept, job
        self.verdicts: dict[Candidate, Verdict] = {}
        self.flops = 0.0

    def on(self, rows: FoldedRows) -> Judge:
        """A judge of the same kind on other rows, with no verdicts yet."""
        return Judge(rows, self.degree, self.given, self.fit_intercept, self.job)

    def __call__(self, candidate: Candidate) -> Verdict:
        """Return the candidate's verdict."""
        if candidate not in self.verdicts:
            self.verdicts[candidate] = self._judge(candidate)
        return self.verdicts[candidate]

    def kernel(self, candidate: Candidate) -> Kernel:
        """The candidate's kernel."""
        return make_kernel(candidate.kernel, self.rows.X, candidate.bandwidth, self.degree)

    def _judge(self, candidate: Candidate) -> Verdict:
        kernel = self.kernel(candidate)
        penalties = self.penalties(kernel)
        drawn, basis, sums = self.summed(candidate, kernel)
        scored = self._scored(basis, sums)
        fits = self.fold_fits(drawn, basis, sums, penalties)
        counted = sum(fold.n_rows for fold in scored) / N_FOLDS
        if not counted > 0:
            raise ValueError("scoring gives no weight to any of the rows that candidates are judged by.")
        parts = [_errors(*fit, sums[f], scored[f], counted, self.rows.scale) for f, fit in enumerate(fits)]
        plain, errors, biases = (np.array(part) for part in zip(*parts, strict=True))
        return Verdict(candidate, penalties, errors, plain, biases)

    def penalties(self, kernel: Kernel) -> FloatArray:
        """The penalties to try: those given, that given for the kernel, or a path in units of its mean diagonal."""
        if self.given is not None:
            return np.array([self.given[kernel.name]]) if isinstance(self.given, dict) else self.given
        return PENALTIES * float(np.mean(kernel.diagonal(self.rows.X)))

    def fold_fits(
        self, drawn: list[IntArray], basis: Basis, sums: list[Sums], penalties: FloatArray
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield every fold's coefficients on the union's basis, (P, p, r), and its intercepts, (p,).

        They come from the rows outside the fold, on centres drawn outside it.
        """
        total, fit_intercept = sum(sums[1:], sums[0]), self.fit_intercept

        def fit(fold: tuple[FloatArray, Sums]) -> tuple[FloatArray, FloatArray]:
            centers, train = fold
            T = subspace(basis, centers)
            own, intercepts = projected(train, T), train.means * fit_intercept
            return ridge_path(own.gram, own.moments(intercepts), penalties * train.n_rows) @ T, intercepts

        folds = ((self.rows.X[drawn[fold]], total - sums[fold]) for fold in range(N_FOLDS))
        return run(fit, folds, self.job.sized(3.0 * N_FOLDS * len(basis.kept) ** 3), "folds", N_FOLDS)

    def summed(self, candidate: Candidate, kernel: Kernel) -> tuple[list[IntArray], Basis, list[Sums]]:
        """Every fold's centres, the basis of all of them, and the folds' sums."""
        rows = self.rows
        pool = rows.pools[candidate.slice_on]
        drawn = [rows.places[pool.draw(candidate.n_centers, candidate.adapt, fold)] for fold in range(N_FOLDS)]
        basis = make_basis(kernel, rows.X[np.unique(np.concatenate(drawn))])
        r = len(basis.kept)
        self.flops += judging_work(len(rows), r)
        return drawn, basis, sum_by_fold(basis, rows.X, rows.Y, rows.weights, rows.ends, self.job)

    def _scored(self, basis: Basis, sums: list[Sums]) -> list[Sums]:
        """The folds' sums as the scores count rows."""
        rows = self.rows
        if rows.scores is None:
            return sums
        return sum_by_fold(basis, rows.X, rows.Y, rows.weights * rows.scores, rows.ends, self.job)


def _errors(
    beta: FloatArray, intercepts: FloatArray, sums: Sums, scored: Sums, counted: float, scale: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean squared errors, the same as the scores count them, and mean errors, of a fold along the penalties, (P,).

    Scores are divided by their mean over folds, not by the fold's own: a fold may hold no row that counts.
    """
    plain = sums.squared_error(beta, intercepts) / (scale * sums.n_rows)
    errors = scored.squared_error(beta, intercepts) / (scale * counted) if scored is not sums else plain
    bias = sums.error(beta, intercepts) / (np.sqrt(scale) * sums.n_rows)
    return plain.mean(axis=1), errors.mean(axis=1), bias.mean(axis=1)
