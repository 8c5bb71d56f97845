"""The rows of a fit on centres: as they came, responses in units of their size, candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData
from skewridge.features.scaling import unit_responses
from skewridge.response.sampling import CandidateRows, candidate_rows

SAMPLE_ROWS = 50_000  # scales are learned, and candidates cross-validated, on so many at most
FEWEST_ROWS = 10  # nothing is chosen by fewer distinct rows


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit.

    Attributes
    ----------
    X : (N, d) rows, without any scaling
    Y : (N, p) array, responses in units of their size, centred where there is an intercept
    weights : (N,) array, how often every row occurs
    scores : (N,) array, how much a row's squared error counts; None where all count alike
    candidates : CandidateRows, the distinct rows
    means, units : (p,) arrays, y = Y * units + means
    seed : int
    """

    X: RowData
    Y: FloatArray
    weights: FloatArray
    scores: FloatArray | None
    candidates: CandidateRows
    means: FloatArray
    units: FloatArray
    seed: int

    @property
    def can_choose(self) -> bool:
        """True if there are enough rows, and responses that differ, to choose anything by."""
        return len(self.candidates) >= FEWEST_ROWS and bool(np.ptp(self.Y, axis=0).any())

    def in_folds(self, n_folds: int) -> TrainingRows:
        """The rows in another number of folds."""
        return replace(self, candidates=self.candidates.in_folds(n_folds))


def training_rows(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    *,
    slices: object,
    fit_intercept: bool,
    seed: int,
    scores: FloatArray | None = None,
    groups: IntArray | None = None,
) -> TrainingRows:
    """Find the distinct rows and put responses, (N, p), in units of their size."""
    unit, means, units = unit_responses(Y, weights, fit_intercept)
    return TrainingRows(
        X=X,
        Y=unit,
        weights=weights,
        scores=scores,
        candidates=candidate_rows(X, Y, weights, slices, seed, groups=groups),
        means=means,
        units=units,
        seed=seed,
    )


@dataclass(frozen=True)
class CollapsedRows:
    """One row for every distinct x: mean responses, total weights, and what is lost by it.

    Attributes
    ----------
    Y : (n, p) array, weighted means
    weights : (n,) array, totals
    within : (n, p) array, sums of w_i (y_i - mean)^2
    """

    Y: FloatArray
    weights: FloatArray
    within: FloatArray


def collapse(candidates: CandidateRows, Y: FloatArray, weights: FloatArray) -> CollapsedRows:
    """Collapse rows with equal x: sum w_i (y_i - f)^2 = W (mean - f)^2 + within for every f.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y, w = np.zeros((2, 1)), np.array([[1.0], [3.0]]), np.ones(2)
    >>> found = collapse(candidate_rows(X, Y, w, "scott", seed=0), Y, w)
    >>> found.Y, found.weights, found.within
    (array([[2.]]), array([2.]), array([[2.]]))
    """
    if len(candidates) == len(Y):
        rows = candidates.rows
        return CollapsedRows(Y[rows], weights[rows], np.zeros((len(rows), Y.shape[1])))
    means = candidates.means(Y, weights)
    spread = weights[:, None] * (Y - means[candidates.member]) ** 2
    return CollapsedRows(
        Y=means,
        weights=candidates.sums(weights),
        within=np.column_stack([candidates.sums(column) for column in spread.T]),
    )
