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
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.rows import CollapsedRows, TrainingRows, collapse
from skewridge.execution.context import run, where_it_pays
from skewridge.features.scaling import CONSTANT
from skewridge.kernels import Kernel, make_kernel
from skewridge.response.sampling import N_FOLDS, CandidateRows
from skewridge.ridge.low_rank import Basis, Sums, make_basis, projected, ridge_path, subspace, sum_blocks

PENALTIES = np.logspace(-13, 1, 43)  # times the mean of k(x, x)


@dataclass(frozen=True)
class Candidate:
    """One way to place centres and to measure closeness."""

    kernel: str
    n_centers: int
    adapt: float
    bandwidth: float | None


@dataclass(frozen=True)
class CVScore:
    """A candidate's errors in every fold along the penalties.

    Attributes
    ----------
    candidate : Candidate
    penalties : (P,) array
    errors : (F, P) array, squared errors as the scores count them, over the variance,
        averaged over outputs
    plain : the same with all rows alike
    biases : the mean of y minus prediction, over the standard deviation
    work : float, operations that it took
    """

    candidate: Candidate
    penalties: FloatArray
    errors: FloatArray
    plain: FloatArray
    biases: FloatArray
    work: float = 0.0

    @property
    def curve(self) -> FloatArray:
        """The risk along the penalties, (P,)."""
        return self.errors.mean(axis=0)

    @property
    def place(self) -> int:
        """Where the risk is least."""
        return int(np.argmin(self.curve))

    @property
    def risk(self) -> float:
        """The least risk."""
        return float(self.curve[self.place])

    @property
    def margins(self) -> FloatArray:
        """The standard error of the risk between folds, (P,)."""
        return np.asarray(self.errors.std(axis=0, ddof=1) / np.sqrt(len(self.errors)))

    @property
    def penalty(self) -> float:
        """The penalty of the least risk."""
        return float(self.penalties[self.place])


def pass_work(n_rows: int, rank: float) -> float:
    """Operations of one pass over the rows: kernel values, whitening and sums."""
    return n_rows * rank * (2.0 * rank + 30.0)


def cv_work(n_rows: int, rank: float) -> float:
    """Operations of one candidate: a pass over the rows, and every fold's projection and path."""
    return pass_work(n_rows, rank) + N_FOLDS * 10.0 * rank**3


@dataclass(frozen=True)
class FoldedRows:
    """Distinct rows, fold after fold: the data that candidates are cross-validated on.

    Attributes
    ----------
    X : (n, d) array
    plain : CollapsedRows, responses and frequencies
    scored : CollapsedRows, the same as the scores count rows; None where all count alike
    places : (n,) array, where a candidate row stands here
    ends : where every fold ends
    candidates : CandidateRows
    scale : (p,) array, the outputs' variances; 1 for a constant output
    """

    X: FloatArray
    plain: CollapsedRows
    scored: CollapsedRows | None
    places: IntArray
    ends: tuple[int, ...]
    candidates: CandidateRows
    scale: FloatArray

    def __len__(self) -> int:
        return len(self.X)


def fold_rows(rows: TrainingRows, most: int) -> FoldedRows:
    """Return the first candidate rows, at most ``most``, fold after fold and not yet scaled."""
    some = rows.candidates.first(most)
    order = np.argsort(some.folds, kind="stable")
    places = np.empty(len(some), dtype=np.int64)
    places[order] = np.arange(len(some))
    ends = np.searchsorted(some.folds[order], np.arange(some.n_folds), side="right")
    plain = _picked(collapse(rows.candidates, rows.Y, rows.weights), order)
    scored = None
    if rows.scores is not None:
        counted = rows.weights * rows.scores
        scored = _picked(collapse(rows.candidates, rows.Y, counted), order)
    return FoldedRows(
        X=np.asarray(rows.X[some.rows[order]]),
        plain=plain,
        scored=scored,
        places=places,
        ends=tuple(int(end) for end in ends),
        candidates=some,
        scale=_variances(plain),
    )


def _picked(rows: CollapsedRows, order: IntArray) -> CollapsedRows:
    return CollapsedRows(rows.Y[order], rows.weights[order], rows.within[order])


def _variances(rows: CollapsedRows) -> FloatArray:
    """The outputs' variances, copies of a row included; 1 for a constant output."""
    w = rows.weights
    between = np.average((rows.Y - np.average(rows.Y, axis=0, weights=w)) ** 2, axis=0, weights=w)
    found = between + rows.within.sum(axis=0) / w.sum()
    return np.where(found > (CONSTANT * np.abs(rows.Y).max(axis=0)) ** 2, found, 1.0)


@dataclass(frozen=True)
class CrossValidator:
    """Scores candidates on rows that are scaled for their kernel.

    Attributes
    ----------
    rows : FoldedRows
    degree : of the polynomial kernel
    penalties : (P,) array to choose from; None: a path in units of the kernel's mean diagonal
    fit_intercept : bool
    """

    rows: FoldedRows
    degree: int
    penalties: FloatArray | None
    fit_intercept: bool

    def __call__(self, candidate: Candidate) -> CVScore:
        """Return the candidate's errors in every fold along the penalties."""
        rows = self.rows
        kernel = self.kernel(candidate)
        penalties = self.path(kernel)
        drawn, basis, sums = self.summed(candidate, kernel)
        scored = self._scored_sums(basis, sums)
        counted = sum(fold.n_rows for fold in scored) / rows.candidates.n_folds
        if not counted > 0:
            raise ValueError(
                "scoring gives no weight to any of the rows that candidates are compared by.",
            )
        parts = []
        for f, fit in enumerate(self.fold_fits(drawn, basis, sums, penalties)):
            parts.append(_errors(fit, sums[f], scored[f], counted=counted, scale=rows.scale))
        plain, errors, biases = (np.array(part) for part in zip(*parts, strict=True))
        work = cv_work(len(rows), len(basis.kept))
        return CVScore(candidate, penalties, errors, plain, biases, work)

    def kernel(self, candidate: Candidate) -> Kernel:
        """The candidate's kernel."""
        return make_kernel(candidate.kernel, self.rows.X, candidate.bandwidth, self.degree)

    def path(self, kernel: Kernel) -> FloatArray:
        """The penalties to try."""
        if self.penalties is not None:
            return self.penalties
        return PENALTIES * float(np.mean(kernel.diagonal(self.rows.X)))

    def summed(
        self,
        candidate: Candidate,
        kernel: Kernel,
    ) -> tuple[list[IntArray], Basis, list[Sums]]:
        """Every fold's centres, the basis of all of them, and the folds' sums."""
        rows = self.rows
        m, adapt = candidate.n_centers, candidate.adapt
        drawn = [rows.places[rows.candidates.draw(m, adapt, f)] for f in range(rows.candidates.n_folds)]
        basis = make_basis(kernel, rows.X[np.unique(np.concatenate(drawn))])
        return drawn, basis, self._sums(basis, rows.plain)

    def fold_fits(
        self,
        drawn: list[IntArray],
        basis: Basis,
        sums: list[Sums],
        penalties: FloatArray,
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield every fold's coefficients on the union's basis, (P, p, r), and intercepts, (p,).

        They come from the rows outside the fold, on centres drawn outside it.
        """
        total, fit_intercept = sum(sums[1:], sums[0]), self.fit_intercept

        def fit(fold: tuple[FloatArray, Sums]) -> tuple[FloatArray, FloatArray]:
            centers, train = fold
            T = subspace(basis, centers)
            own, intercepts = projected(train, T), train.means * fit_intercept
            path = ridge_path(own.gram, own.moments(intercepts), penalties * train.n_rows)
            return path @ T, intercepts

        folds = ((self.rows.X[centers], total - own) for centers, own in zip(drawn, sums, strict=True))
        with where_it_pays(3.0 * len(sums) * len(basis.kept) ** 3):
            return run(fit, folds, "folds", len(sums))

    def _scored_sums(self, basis: Basis, sums: list[Sums]) -> list[Sums]:
        """The folds' sums as the scores count rows."""
        return sums if self.rows.scored is None else self._sums(basis, self.rows.scored)

    def _sums(self, basis: Basis, counted: CollapsedRows) -> list[Sums]:
        """The folds' sums, with the squares within rows of equal x."""
        rows = self.rows
        sums = sum_blocks(
            basis.summed_features, rows.X, counted.Y, counted.weights, "choosing", rows.ends, len(basis.kept)
        )
        starts = (0, *rows.ends[:-1])
        for own, start, end in zip(sums, starts, rows.ends, strict=True):
            squares = own.inner.diagonal().copy()
            squares[:-1] += counted.within[start:end].sum(axis=0)
            np.fill_diagonal(own.inner, squares)
        return sums


def _errors(
    fit: tuple[FloatArray, FloatArray],
    sums: Sums,
    scored: Sums,
    *,
    counted: float,
    scale: FloatArray,
) -> tuple[Any, Any, Any]:
    """A fold's mean squared errors, the same as scores count them, and mean errors, each (P,).

    Scores are divided by their mean over folds, not by the fold's own: a fold may hold no row that
    counts.
    """
    beta, intercepts = fit
    plain = errors = sums.squared_error(beta, intercepts) / (scale * sums.n_rows)
    if scored is not sums:
        errors = scored.squared_error(beta, intercepts) / (scale * counted)
    bias = sums.error(beta, intercepts) / (np.sqrt(scale) * sums.n_rows)
    return plain.mean(axis=1), errors.mean(axis=1), bias.mean(axis=1)
