"""A low-rank model with chosen centres: draw them, sum over all rows, solve, look who dominates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.cross_validation import Candidate
from skewridge.centers.model import LowRankModel
from skewridge.centers.planning import holds_direct, size_of, solver_of
from skewridge.centers.rows import TrainingRows
from skewridge.centers.settings import CenterSettings
from skewridge.execution.chunked import RowData
from skewridge.execution.passes import predict_rows
from skewridge.features.scaling import prediction_bounds, range_rows, variances
from skewridge.kernels import Kernel, make_kernel
from skewridge.linalg.cholesky import cholesky_solve, lower_inverse, squared_columns
from skewridge.ridge.cg import NormalEquations, conjugate_inverse, conjugate_solve, is_solved, preconditioner
from skewridge.ridge.diagnostics import NEGLIGIBLE, THRESHOLD, dominating_rows, influence_candidates, typical_size
from skewridge.ridge.low_rank import Basis, make_basis, ridge_factor, sum_features

SUSPECTS_PRECISION = 1e-2  # of the leverages of suspects by conjugate gradients
DOUBT = 5.0  # by which pulls that are estimated by the centres may be too small


@dataclass(frozen=True)
class System:
    """(F'wF + ridge) beta = F'w(Y - intercepts), to be solved; the ridge is N penalty.

    Attributes
    ----------
    basis : Basis of the centres
    centers : (r,) array, their places among the rows
    center_weights : (r,) array, how many rows each stands for
    rows : TrainingRows
    X : (N, D) rows as the kernel sees them
    weights : (N,) array; rows of weight 0 do not take part
    intercepts : (p,) array
    penalty : float
    n_drawn : int, centres before those that others explain were dropped
    """

    basis: Basis
    centers: IntArray
    center_weights: FloatArray
    rows: TrainingRows
    X: RowData
    weights: FloatArray
    intercepts: FloatArray
    penalty: float
    n_drawn: int

    @property
    def n_rows(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    @property
    def ridge(self) -> float:
        """N penalty."""
        return self.penalty * self.n_rows


@dataclass(frozen=True)
class Solved:
    """The solution, the factor of F'wF + ridge or of its estimate, and the steps it took."""

    beta: FloatArray
    factor: FloatArray
    normal: NormalEquations | None = None
    n_steps: int | None = None
    precision: float = 0.0

    @property
    def is_done(self) -> bool:
        """True if the solver converged."""
        return self.n_steps is None or is_solved(self.n_steps, self.precision)


def make_system(
    rows: TrainingRows,
    X: RowData,
    kernel: Kernel,
    candidate: Candidate,
    penalty: float,
    *,
    fit_intercept: bool,
    fold: int = -1,
) -> System:
    """Draw the centres outside a fold (-1: from all rows); the fold's rows get weight 0."""
    candidates, weights = rows.candidates, rows.weights
    drawn = candidates.draw(candidate.n_centers, candidate.adapt, fold)
    centers = candidates.rows[drawn]
    basis = make_basis(kernel, X[centers])
    if fold >= 0:
        weights = weights * (candidates.folds[candidates.member] != fold)
    share = weights.sum() / rows.weights.sum()
    return System(
        basis=basis,
        centers=centers[basis.kept],
        center_weights=candidates.center_weights(drawn[basis.kept]) * share,
        rows=rows,
        X=X,
        weights=weights,
        intercepts=np.average(rows.Y, axis=0, weights=weights) * fit_intercept,
        penalty=penalty,
        n_drawn=len(drawn),
    )


def solve_system(system: System, settings: CenterSettings) -> Solved:
    """Solve; "auto" does it again directly where steps ran out and the memory allows."""
    size = size_of(system.rows)
    if solver_of(settings, size, system.n_drawn, system.penalty) == "cg":
        solved = _conjugate(system)
        again = settings.solver == "auto" and holds_direct(system.n_drawn, size)
        if solved.is_done or not again:
            return solved
        del solved  # its matrices are not in the plan
    return _direct(system)


def _direct(system: System) -> Solved:
    sums = sum_features(system.basis, system.X, system.rows.Y, system.weights, "fit", system.penalty)
    factor = ridge_factor(sums.gram, system.ridge)
    return Solved(cholesky_solve(factor, sums.moments(system.intercepts)), factor)


def _conjugate(system: System) -> Solved:
    factor = preconditioner(system.basis, system.ridge, system.center_weights)
    normal = NormalEquations(system.basis, system.X, system.weights, system.ridge, factor)
    beta, n_steps, precision = conjugate_solve(normal, system.rows.Y - system.intercepts)
    return Solved(beta, factor, normal, n_steps, precision)


def fit_model(
    rows: TrainingRows,
    X: RowData,
    candidate: Candidate,
    penalty: float,
    settings: CenterSettings,
) -> LowRankModel:
    """Draw the centres from all rows, sum over all rows, solve, and look for rows that dominate.

    ``X`` are the rows as the kernel sees them.
    """
    name, span = candidate.kernel, range_rows(candidate.kernel, X)
    kernel = make_kernel(name, span, candidate.bandwidth, settings.degree)
    intercept = settings.fit_intercept
    system = make_system(rows, X, kernel, candidate, penalty, fit_intercept=intercept)
    solved = solve_system(system, settings)
    residual = _residuals(system, solved)
    low, high = prediction_bounds(settings.bounds, rows.Y, rows.means, rows.units)
    dominant, pulls = _dominant(system, solved, residual, intercept)
    return LowRankModel(
        basis=system.basis,
        rows=system.centers,
        beta=solved.beta,
        intercepts=system.intercepts,
        factor=solved.factor,
        noise=_noise(system, solved, residual, intercept),
        spread=np.sqrt(variances(rows.Y, rows.weights)),
        n_rows=system.n_rows,
        low=low,
        high=high,
        dominant=dominant,
        pulls=pulls,
        n_steps=solved.n_steps,
        precision=solved.precision,
    )


def _residuals(system: System, solved: Solved) -> FloatArray:
    basis = system.basis
    product = basis.kernel.product(basis.centers, basis.dual(solved.beta))
    work = 60.0 * product.coef.size
    fitted = predict_rows(product, system.X, "residuals", work)
    return system.rows.Y - system.intercepts - fitted


def _noise(system: System, solved: Solved, residual: FloatArray, fit_intercept: bool) -> FloatArray:
    """The standard deviation of the noise, (p,): residuals over the degrees of freedom left."""
    inverse = float(squared_columns(lower_inverse(solved.factor.copy())).sum())
    freedom = len(solved.factor) - system.ridge * inverse + fit_intercept
    return np.sqrt(system.weights @ residual**2 / max(system.n_rows - freedom, 1.0))


def _dominant(
    system: System,
    solved: Solved,
    residual: FloatArray,
    fit_intercept: bool,
) -> tuple[IntArray, FloatArray]:
    """Rows that pull some output's fit after them, culprits first, and how far.

    1/N of a row's leverage is the intercept's. Where the factor is an estimate (with "cg")
    and finds any, or nearly, they are looked at without it.
    """
    Y, level = system.rows.Y, fit_intercept / system.n_rows
    found: dict[int, float] = {}  # in the order of their naming
    for y, r in zip(Y.T, residual.T, strict=True):
        places = influence_candidates(y, r)
        features = system.basis.features(system.X[places])
        spread = max(typical_size(r), NEGLIGIBLE * typical_size(y))
        errors, weights = (r[places], y[places] - np.median(y)), system.weights[places]
        hat = (features @ cholesky_solve(solved.factor, features.copy()).T + level) * weights
        threshold = THRESHOLD if solved.normal is None else THRESHOLD / DOUBT
        which, pulls = dominating_rows(*errors, hat, spread, threshold)
        if solved.normal is not None and len(which):
            inverse = conjugate_inverse(solved.normal, features, SUSPECTS_PRECISION)
            which, pulls = dominating_rows(*errors, (features @ inverse.T + level) * weights, spread)
        for place, pull in zip(places[which], pulls, strict=True):
            found[int(place)] = max(pull, found.get(int(place), 0.0))
    return np.array(list(found), dtype=np.int64), np.array(list(found.values()))
