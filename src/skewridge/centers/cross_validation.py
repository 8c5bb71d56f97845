"""Cross-validation of ways to place centres, with the centres drawn inside the folds.

A fold's rows neither enter the loss nor help to draw the centres that they are predicted by:
leave-one-out and generalised cross-validation cannot see that a row's own y made it a centre. All
folds share one pass over the data: the pass sums features of the union of the folds' centres (about
1.25 m of them), and every fold projects the sums on its own centres. One candidate costs about 1.6
fits, for all penalties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.rows import CenterSettings, Collapsed, TrainingRows, collapse
from skewridge.execution.context import run, where_it_pays
from skewridge.features.scaling import CONSTANT
from skewridge.kernels import Kernel, make_kernel
from skewridge.response.candidates import N_FOLDS, CandidateRows
from skewridge.ridge.low_rank import Basis, Sums, make_basis, ridge_path, subspace, sum_blocks
from skewridge.ridge.sample import Sample

PENALTIES = np.logspace(-13, 1, 43)  # times the mean of k(x, x)


@dataclass(frozen=True)
class Candidate:
    """One way to place centres and to measure closeness, of features that are "learned" or "standard"."""

    kernel: str
    n_centers: int
    adapt: float
    bandwidth: float | None
    features: str = "standard"


@dataclass(frozen=True)
class CVScore:
    """A candidate's errors in every fold, (F, P), along the penalties, (P,), and the operations that it took.

    ``errors`` are squared ones as the scores count them, over the variance, ``plain`` the same with all rows alike,
    ``biases`` the mean of y minus prediction, over the standard deviation; ``risks`` (P,) are the folds' mean errors,
    least at a ``place``.
    """

    candidate: Candidate
    penalties: FloatArray
    errors: FloatArray
    plain: FloatArray
    biases: FloatArray
    risks: FloatArray
    place: int
    risk: float
    penalty: float
    work: float


def cv_work(n_rows: int, rank: float, n_folds: int = N_FOLDS) -> float:
    """Operations of one candidate: a pass over the rows (values, whitening, sums), and every fold's path, if any."""
    return n_rows * rank * (2.0 * rank + 30.0) + n_folds * 10.0 * rank**3


@dataclass(frozen=True)
class CrossValidator:
    """Distinct rows, fold after fold, on which candidates are scored.

    sample, the rows in their canonical order, as they came, to learn from; X (n, d), scaled for their kernel; plain,
    responses and frequencies, and scored, the same as the scores count rows, None where all count alike; places (n,),
    where a candidate row stands here; ends (F,), of the folds; variance of the responses; penalties (P,) to choose
    from, None: a path in units of the kernel's mean diagonal.
    """

    sample: Sample
    X: FloatArray
    plain: Collapsed
    scored: Collapsed | None
    places: IntArray
    ends: tuple[int, ...]
    candidates: CandidateRows
    variance: float
    degree: int
    fit_intercept: bool
    penalties: FloatArray | None = None

    def __call__(self, candidate: Candidate) -> CVScore:
        """Return the candidate's errors in every fold along the penalties."""
        kernel = make_kernel(candidate.kernel, self.X, candidate.bandwidth, self.degree)
        penalties = self.penalties
        if penalties is None:
            penalties = PENALTIES * float(np.mean(kernel.diagonal(self.X)))
        drawn, basis, sums, scored = self.summed(candidate, kernel)
        counted = sum(fold.n_rows for fold in scored) / len(scored)
        if not counted > 0:
            raise ValueError("scoring gives no weight to any of the rows that candidates are compared by.")
        errors, plain, biases = np.empty((3, len(sums), len(penalties)))
        for f, (beta, intercepts) in enumerate(self.fold_fits(drawn, basis, sums, penalties)):
            n_rows = sums[f].n_rows
            squares, left = sums[f].errors(beta, intercepts)
            plain[f] = errors[f] = squares[:, 0] / (self.variance * n_rows)
            if self.scored is not None:  # by their mean over folds: a fold may hold no row that counts
                errors[f] = scored[f].errors(beta, intercepts)[0][:, 0] / (self.variance * counted)
            biases[f] = left[:, 0] / (np.sqrt(self.variance) * n_rows)
        risks = errors.mean(axis=0)
        place = int(np.argmin(risks))
        return CVScore(
            candidate=candidate,
            penalties=penalties,
            errors=errors,
            plain=plain,
            biases=biases,
            risks=risks,
            place=place,
            risk=float(risks[place]),
            penalty=float(penalties[place]),
            work=cv_work(len(self.X), len(basis.kept)),
        )

    def summed(self, candidate: Candidate, kernel: Kernel) -> tuple[list[IntArray], Basis, list[Sums], list[Sums]]:
        """Every fold's centres, the basis of all of them, the folds' sums, and these as the scores count rows."""
        m, adapt = candidate.n_centers, candidate.adapt
        drawn = [self.places[self.candidates.draw(m, adapt, fold)] for fold in range(len(self.ends))]
        basis = make_basis(kernel, self.X[np.unique(np.concatenate(drawn))])
        found = list[list[Sums]]()
        for Y, weights, within in (self.plain,) if self.scored is None else (self.plain, self.scored):
            sums = sum_blocks(basis.summed_features, self.X, Y, weights, "choosing", self.ends, len(basis.kept))
            for own, squares in zip(sums, np.split(within, self.ends[:-1]), strict=True):
                own.inner[0, 0] += squares.sum()  # within rows of equal x
            found.append(sums)
        return drawn, basis, found[0], found[-1]

    def fold_fits(
        self, drawn: list[IntArray], basis: Basis, sums: list[Sums], penalties: FloatArray
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield every fold's coefficients on the union's basis, (P, 1, r), and intercept, (1,).

        They come from the rows outside the fold, on centres drawn outside it.
        """
        total = sum(sums[1:], sums[0])

        def fit(fold: tuple[FloatArray, Sums]) -> tuple[FloatArray, FloatArray]:
            centers, train = fold
            T = subspace(basis, centers)
            own = Sums(T @ train.gram @ T.T, T @ train.cross, train.inner)
            intercepts = train.inner[-1, :-1] / train.n_rows * self.fit_intercept
            path = ridge_path(own.gram, own.moments(intercepts), penalties * train.n_rows)
            return path @ T, intercepts

        folds = ((self.X[centers], total - own) for centers, own in zip(drawn, sums, strict=True))
        with where_it_pays(3.0 * len(sums) * len(basis.kept) ** 3):
            return run(fit, folds, "folds", len(sums))


def cross_validator(rows: TrainingRows, most: int, settings: CenterSettings) -> CrossValidator:
    """Take the first candidate rows, at most ``most``, fold after fold and not yet scaled."""
    some = rows.candidates.first(most)
    order = np.argsort(some.folds, kind="stable")
    places = np.empty(len(some), dtype=np.int64)
    places[order] = np.arange(len(some))
    ends = np.searchsorted(some.folds[order], np.arange(int(some.folds.max(initial=0)) + 1), side="right")

    plain = Y, weights, within = collapse(rows.candidates, rows.Y, rows.weights, order)
    scored = None
    if rows.scores is not None:
        scored = collapse(rows.candidates, rows.Y, rows.weights * rows.scores, order)
    _, loss_weights, _ = scored or plain
    between = np.average((Y - np.average(Y, axis=0, weights=weights)) ** 2, axis=0, weights=weights)[0]
    variance = float(between + within.sum() / weights.sum())  # copies of a row included
    X = np.asarray(rows.X[some.rows[order]])
    return CrossValidator(
        sample=Sample(X[places], Y[places], weights[places], loss_weights[places], some.groups),
        X=X,
        plain=plain,
        scored=scored,
        places=places,
        ends=tuple(ends.tolist()),
        candidates=some,
        variance=variance if variance > (CONSTANT * np.abs(Y).max()) ** 2 else 1.0,
        degree=settings.degree,
        fit_intercept=settings.fit_intercept,
    )
