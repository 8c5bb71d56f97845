"""The fitted spline: f(x) = s(x)'d + sum_b theta_b R_b(x, Z) c, its values and its Bayesian standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .engine import Job, run
from .lowrank import BLOCK_ROWS
from .slices import FloatArray
from .spline_search import Ridge, Task, make_ridge, search_theta, start_theta
from .spline_sums import Features, Normal
from .spline_terms import Model

SETTLED = 1e-9  # of the rows: where fewer are left after the degrees of freedom, none tells the noise


@dataclass(frozen=True)
class Wish:
    """What the user fixed: the penalty and the weights (None: chosen), whether to search, and alpha of GCV."""

    penalty: float | None
    theta: FloatArray | None
    searches: bool
    alpha: float


@dataclass(frozen=True)
class SplineFit:
    """A smoothing spline.

    Attributes
    ----------
    model : Model
    knots : (q, d) array in [0, 1]
    theta, penalty : the terms' weights, (p,), and lambda
    coef : (q,) array, c
    free_coef : (m,) array, d
    gcv, dof, noise : the score, tr A, and the estimated variance of the noise (nan where no rows are left for it)
    n_steps : int, of the search for theta
    spread, free_spread : (q, r) and (m, r + m) arrays
        The posterior variance over the noise is the squared norm of s(x)'free_spread - [R(x, Z) spread, 0].
    """

    model: Model
    knots: FloatArray
    theta: FloatArray
    penalty: float
    coef: FloatArray
    free_coef: FloatArray
    gcv: float
    dof: float
    noise: float
    n_steps: int
    spread: FloatArray
    free_spread: FloatArray

    def kernel(self, X: FloatArray) -> FloatArray:
        """sum_b theta_b R_b(x, Z) of every row, (n, q)."""
        out = np.zeros((len(X), len(self.knots)))
        for theta, values in zip(self.theta, self.model.kernels(X, self.knots), strict=True):
            out += theta * values
        return out

    def predict(self, X: FloatArray, job: Job) -> FloatArray:
        """f at every row, block by block."""

        def block(start: int) -> FloatArray:
            rows = X[start : start + BLOCK_ROWS]
            return self.model.free_values(rows) @ self.free_coef + self.kernel(rows) @ self.coef

        return np.concatenate(list(run(block, range(0, len(X), BLOCK_ROWS), job, "prediction")))

    def std(self, X: FloatArray, job: Job) -> FloatArray:
        """The posterior standard deviation of f at every row."""
        n_features = self.spread.shape[1]

        def block(start: int) -> FloatArray:
            rows = X[start : start + BLOCK_ROWS]
            loads = self.model.free_values(rows) @ self.free_spread
            loads[:, :n_features] -= self.kernel(rows) @ self.spread
            return np.sqrt(self.noise * np.sum(loads**2, axis=1))

        return np.concatenate(list(run(block, range(0, len(X), BLOCK_ROWS), job, "standard deviations")))


def fit_spline(features: Features, normal: Normal, wish: Wish) -> SplineFit:
    """Choose the weights, then the penalty, by GCV, where they are not given, and solve."""
    task = Task(normal, np.ascontiguousarray(features(features.knots).T), features.term, wish.alpha)
    theta, n_steps = _choose_theta(task, wish)
    ridge = make_ridge(task, theta)
    amount = ridge.best() if wish.penalty is None else normal.n_rows * wish.penalty
    beta, dof, rss = ridge.coef(amount), ridge.trace(amount), ridge.rss(amount)
    spread, free_spread = _spreads(ridge, amount)
    left, n = normal.n_rows - dof, normal.n_rows
    denominator = 1 - wish.alpha * dof / n
    return SplineFit(
        features.model,
        features.knots,
        theta,
        amount / n,
        ridge.duals @ beta,
        normal.level - normal.lines @ (ridge.loads @ beta),
        rss / n / denominator**2 if denominator > 0 else np.inf,
        dof,
        rss / left if left > SETTLED * n else np.nan,
        n_steps,
        spread,
        free_spread,
    )


def _choose_theta(task: Task, wish: Wish) -> tuple[FloatArray, int]:
    if wish.theta is not None or task.n_terms == 0:
        return np.zeros(0) if wish.theta is None else wish.theta, 0
    if task.n_terms == 1:
        return np.ones(1), 0
    start = start_theta(task, wish.penalty)
    return search_theta(task, start, wish.penalty) if wish.searches else (start, 0)


def _spreads(ridge: Ridge, amount: float) -> tuple[FloatArray, FloatArray]:
    """Square roots of the posterior covariance: of the penalised part, and of the free one given it."""
    normal, scale = ridge.task.normal, np.sqrt(ridge.eigenvalues + amount)
    values, vectors = np.linalg.eigh(normal.inverse)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return ridge.duals / scale, np.hstack([normal.lines @ ridge.loads / scale, root])
