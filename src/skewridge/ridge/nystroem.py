"""Low-rank nodes: every node's estimate is an expansion over the same few centres, and so is their average.

With the centres' features F(x) = L^-1 k(C, x) (see :mod:`~skewridge.ridge.lowrank`) a node of n rows solves
(F'F + n penalty I) beta = F'y; with weights w, (F'WF + penalty (sum w) I) beta = F'Wy. A node costs n m^2 instead of
n^3 / 3, holds n m numbers instead of n^2, and the average of k nodes is one expansion of m terms.
"""

from __future__ import annotations

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData
from skewridge.execution.job import Job
from skewridge.linalg.tridiagonal import Path, quadratic_forms, shifted_factors, tridiagonalise
from skewridge.response.sampling import candidate_rows
from skewridge.ridge.lowrank import Basis, leverages, ridge_factor, ridge_solve

EVENLY = 0.5  # the share of centres drawn evenly over the slices, the rest uniformly


def draw_shared(X: RowData, sliced: FloatArray, rule: object, n_centers: int, seed: int, job: Job) -> IntArray:
    """Return the rows that become centres, half of them evenly over the slices; one slice: all uniformly."""
    pool = candidate_rows(X, sliced[:, None], np.ones(len(X)), rule, seed, job)
    return np.sort(pool.rows[pool.draw(n_centers, EVENLY)])


class SharedNode:
    """One node's features and sums, from which every penalty is solved."""

    def __init__(self, basis: Basis, X: FloatArray, y: FloatArray, weights: FloatArray | None) -> None:
        self.basis, self.y = basis, y
        self.weights = np.ones(len(y)) if weights is None else weights
        self.features = basis.features(X)
        weighted = self.features if weights is None else self.features * self.weights[:, None]
        self.gram = weighted.T @ self.features
        self.moments = np.ascontiguousarray((weighted.T @ y)[None, :])

    def ridge(self, penalty: FloatArray | float) -> FloatArray:
        """penalty sum w."""
        return np.asarray(penalty * self.weights.sum())

    def factor(self, penalty: float) -> FloatArray:
        """The Cholesky factor of F'WF + ridge."""
        return ridge_factor(self.gram, float(self.ridge(penalty)))

    def beta(self, penalty: float) -> FloatArray:
        """(F'WF + ridge)^-1 F'Wy."""
        solution: FloatArray = ridge_solve(self.factor(penalty), self.moments)[0]
        return solution

    def residual(self, penalty: float) -> FloatArray:
        """y - f on the node's rows."""
        return self.y - self.features @ self.beta(penalty)

    def influence(self, penalty: float, features: FloatArray) -> FloatArray:
        """How much every row's response counts at new points, (n_new, n): F(x)' (F'WF + ridge)^-1 F'W."""
        return ridge_solve(self.factor(penalty), features) @ (self.features * self.weights[:, None]).T

    def unexplained(self, penalty: float) -> FloatArray:
        """1 - A_ii of every row, A the hat matrix."""
        return 1.0 - self.weights * leverages(self.factor(penalty), self.features)

    def path(self, penalties: FloatArray, rows: IntArray | None) -> Path:
        """The node along a path of penalties; the coefficients are those of the basis's centres.

        The sums are reduced to a tridiagonal once and a penalty then costs O(m^2), the leverages of some rows (None: of
        all) as much for each of them.
        """
        from skewridge.linalg._tridiagonal_compiled import solve_shifted  # compiled on first use

        rows = np.arange(len(self.y)) if rows is None else rows
        T = tridiagonalise(self.gram.copy())
        pivots, below = shifted_factors(T, self.ridge(penalties))
        beta = np.empty((len(penalties), len(self.gram)))
        solve_shifted(pivots, below, T.rotate(self.moments.copy(), transpose=True)[0], beta)
        T.rotate(beta, transpose=False)
        explained = quadratic_forms(T, pivots, below, self.features[rows]) * self.weights[rows]
        left = np.maximum(1.0 - explained, np.finfo(np.float64).eps)
        return Path(penalties, self.basis.dual(beta), self.y - beta @ self.features.T, left, rows)


def spread_out(coef: FloatArray, basis: Basis, n_centers: int) -> FloatArray:
    """Coefficients, (p, r), at all centres that were drawn, (p, m): 0 at those that the others explain."""
    out = np.zeros((len(coef), n_centers))
    out[:, basis.kept] = coef
    return out
