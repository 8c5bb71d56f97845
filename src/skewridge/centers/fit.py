"""A low-rank model with chosen centres: draw them from all rows, sum over all rows, solve, look who dominates."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.choosing import Chosen, Rows, Wish, holds_direct, solver_of
from skewridge.centers.features import GRADIENT_ROWS, importances
from skewridge.engine.job import Job
from skewridge.engine.memory import Budget
from skewridge.engine.passes import predict_rows
from skewridge.features.scaling import range_rows, response_bounds, variances
from skewridge.kernels import Product, make_kernel
from skewridge.linalg.lapack import inverse_diagonal
from skewridge.response.sampling import Pool
from skewridge.ridge.cg import Normal, conjugate_inverse, conjugate_solve, is_solved, preconditioner
from skewridge.ridge.influence import NEGLIGIBLE, STRONG, dominating, suspects, typical
from skewridge.ridge.lowrank import Basis, leverages, make_basis, ridge_factor, ridge_solve, sum_features

SUSPECTS_PRECISION = 1e-2  # of the leverages of suspects by conjugate gradients
DOUBT = 5.0  # by which pulls that are estimated by the centres may be too small


@dataclass(frozen=True)
class Predictor:
    """x -> clip(k(x, C) a + intercepts): all of a low-rank model that a worker needs to predict."""

    product: Product
    intercepts: FloatArray
    low: FloatArray
    high: FloatArray

    def predict(self, X: FloatArray) -> FloatArray:
        """The estimate at one block of scaled rows, (n, p)."""
        return np.clip(self.product(X) + self.intercepts, self.low, self.high)

    @property
    def row_work(self) -> float:
        """Operations a row."""
        return 60.0 * self.product.coef.size


@dataclass(frozen=True)
class LowRankModel:
    """f(x) = F(x) beta + intercept.

    Attributes
    ----------
    basis : Basis
    rows : (r,) array, the centres' places among the rows
    beta : (p, r) array
    intercepts : (p,) array
    factor : (r, r) array, the Cholesky factor of F'F + N penalty, or of the centres' estimate of it
    noise : (p,) array, the estimated standard deviation of the noise
    spread : (p,) array, the standard deviation of the responses
    n_rows : the sum of the weights
    low, high : (p,) arrays, what predictions stay between
    dominant, pulls : rows that dominate the fit, and by how many typical residuals they move it
    n_steps, precision : of conjugate gradients; None where there were none
    """

    basis: Basis
    rows: IntArray
    beta: FloatArray
    intercepts: FloatArray
    factor: FloatArray
    noise: FloatArray
    spread: FloatArray
    n_rows: float
    low: FloatArray
    high: FloatArray
    dominant: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    pulls: FloatArray = field(default_factory=lambda: np.empty(0))
    n_steps: int | None = None
    precision: float = 0.0

    @cached_property
    def dual(self) -> FloatArray:
        """The coefficients of k(x, C), (p, r)."""
        return self.basis.dual(self.beta)

    def predictor(self, single: bool = False) -> Predictor:
        """The estimate at blocks of scaled features, in single precision where that is asked for and serves."""
        product = self.basis.kernel.product(self.basis.centers, self.dual)
        product = product.in_single(self.spread) if single else product
        return Predictor(product, self.intercepts, self.low, self.high)

    def std(self, X: FloatArray) -> FloatArray:
        """Posterior standard deviation of f at one block of rows, (n, p): noise^2 (F'(F'F + c)^-1 F + 1/N)."""
        h = leverages(self.factor, self.basis.features(X))
        return np.sqrt(h + 1.0 / self.n_rows)[:, None] * self.noise


@dataclass(frozen=True)
class System:
    """(F'wF + ridge) beta = F'w(Y - intercepts), to be solved; the ridge is N penalty."""

    basis: Basis
    rows: Rows
    intercepts: FloatArray
    penalty: float
    ridge: float
    job: Job


@dataclass(frozen=True)
class Solved:
    """The solution, the factor of F'wF + ridge or of its estimate, and an account of conjugate gradients, if any."""

    beta: FloatArray
    factor: FloatArray
    normal: Normal | None = None
    n_steps: int | None = None
    precision: float = 0.0

    @property
    def is_done(self) -> bool:
        """True if the solver converged."""
        return self.n_steps is None or is_solved(self.n_steps, self.precision)


def _solve(system: System, wish: Wish, budget: Budget, n_drawn: int, stands_for: FloatArray) -> Solved:
    """By the solver that is due; "auto" does it again directly where steps ran out and the memory allows."""
    if solver_of(wish, system.rows, n_drawn, system.penalty, budget) == "cg":
        solved = _conjugate(system, stands_for)
        if solved.is_done or wish.solver != "auto" or not holds_direct(n_drawn, system.rows, budget):
            return solved
        del solved  # its matrices are not in the plan
    return _direct(system)


def _direct(system: System) -> Solved:
    rows = system.rows
    sums = sum_features(system.basis, rows.X, rows.Y, rows.weights, system.job, "fit", system.penalty)
    factor = ridge_factor(sums.gram, system.ridge)
    return Solved(ridge_solve(factor, sums.moments(system.intercepts)), factor)


def _conjugate(system: System, stands_for: FloatArray) -> Solved:
    rows, ridge = system.rows, system.ridge
    factor = preconditioner(system.basis, ridge, stands_for)
    normal = Normal(system.basis, rows.X, rows.weights, ridge, factor, system.job)
    found = conjugate_solve(normal, rows.Y - system.intercepts)
    return Solved(found.beta, factor, normal, found.n_steps, found.precision)


def fit_model(rows: Rows, pools: dict[str, Pool], chosen: Chosen, wish: Wish, budget: Budget, job: Job) -> LowRankModel:
    """Draw the centres from all rows, sum over all rows, solve, and look for rows that dominate."""
    candidate = chosen.candidate
    pool = pools[candidate.slice_on]
    drawn = pool.draw(candidate.n_centers, candidate.adapt)
    centers = pool.rows[drawn]
    kernel = make_kernel(candidate.kernel, range_rows(candidate.kernel, rows.X, job), candidate.bandwidth, wish.degree)
    basis = make_basis(kernel, rows.X[centers])
    n_rows = float(rows.weights.sum())
    means = np.average(rows.Y, axis=0, weights=rows.weights)
    intercepts, ridge = means * wish.fit_intercept, chosen.penalty * n_rows
    system = System(basis, rows, intercepts, chosen.penalty, ridge, job)
    solved = _solve(system, wish, budget, len(drawn), pool.stands_for(drawn[basis.kept]))
    beta, factor = solved.beta, solved.factor
    product = kernel.product(basis.centers, basis.dual(beta))
    residual = rows.Y - intercepts - predict_rows(product, rows.X, job, "residuals", 60.0 * product.coef.size)
    freedom = len(factor) - ridge * float(inverse_diagonal(factor.copy()).sum()) + wish.fit_intercept
    noise = np.sqrt(rows.weights @ residual**2 / max(n_rows - freedom, 1.0))
    dominant, pulls = _dominant(rows, basis, factor, residual, wish.fit_intercept, solved.normal)
    spread = np.sqrt(variances(rows.Y, rows.weights))
    return LowRankModel(
        *(basis, centers[basis.kept], beta, intercepts, factor, noise, spread, n_rows, *response_bounds(rows.Y)),
        *(dominant, pulls, solved.n_steps, solved.precision),
    )


def feature_importances(rows: Rows, pools: dict[str, Pool], model: LowRankModel, chosen: Chosen) -> FloatArray:
    """Mean squared slopes of the fit along the features before learned multipliers, over their sum, (d,)."""
    some = next(iter(pools.values())).first(GRADIENT_ROWS)
    dual = model.dual / model.spread[:, None]
    w = importances(model.basis.kernel, model.basis.centers, dual, rows.X[some.rows], some.weights)
    w = w if chosen.multipliers is None else w * chosen.multipliers**2
    return w / (w.sum() or 1.0)


def _dominant(
    rows: Rows, basis: Basis, factor: FloatArray, residual: FloatArray, fit_intercept: bool, normal: Normal | None
) -> tuple[IntArray, FloatArray]:
    """Rows that pull some output's fit after them, culprits first; 1/N of a row's leverage is the intercept's.

    Where the factor is an estimate (conjugate gradients) and finds any, or nearly, they are looked at without it.
    """
    level = fit_intercept / rows.weights.sum()
    found: dict[int, float] = {}  # in the order of their naming
    for y, r in zip(rows.Y.T, residual.T, strict=True):
        places = suspects(y, r)
        features, spread = basis.features(rows.X[places]), max(typical(r), NEGLIGIBLE * typical(y))
        errors, weights = (r[places], y[places] - np.median(y)), rows.weights[places]
        hat = (features @ ridge_solve(factor, features).T + level) * weights
        which, pulls = dominating(*errors, hat, spread, STRONG if normal is None else STRONG / DOUBT)
        if normal is not None and len(which):
            hat = (features @ conjugate_inverse(normal, features, SUSPECTS_PRECISION).T + level) * weights
            which, pulls = dominating(*errors, hat, spread)
        for place, pull in zip(places[which], pulls, strict=True):
            found[int(place)] = max(pull, found.get(int(place), 0.0))
    return np.array(list(found), dtype=np.int64), np.array(list(found.values()))
