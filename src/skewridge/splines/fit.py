"""The fitted spline, f(x) = s(x)'d + sum_b F_b(x)'u_b, its values and its Bayesian standard deviations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray
from skewridge.execution.job import Job
from skewridge.execution.memory import Budget
from skewridge.splines.search import Ridge, Task, make_ridge, search_theta, start_theta
from skewridge.splines.sums import Features, Free, Normal, affordable, make_features, make_free, sum_rows
from skewridge.splines.terms import Model

RAISED = 1.01  # times the penalty given: a larger one was used, and that is told
SETTLED = 1e-9  # of the rows: where fewer are left after the degrees of freedom, none tells the noise


@dataclass(frozen=True)
class Wish:
    """Settings of a fit: the penalty, a weight for every term (None: chosen), whether to search, and alpha of GCV."""

    penalty: float | None
    theta: FloatArray | None
    searches: bool
    alpha: float


@dataclass(frozen=True)
class SplineFit:
    """A smoothing spline.

    Values are computed from the features that were fitted: the kernels' own coefficients cancel where knots are close.

    Attributes
    ----------
    features, free : Features and Free
    theta, penalty : the terms' weights, (p,), and lambda
    loads : (P,) array, u: what f has of every feature
    free_coef : (k,) array, d
    coef : (q,) array, c: the same function is s(x)'d + sum_b theta_b R_b(x, Z) c
    gcv, dof, noise : the score, tr A, and the estimated variance of the noise (nan where no rows are left for it)
    converged : bool, whether the search for theta, of n_steps, ended by itself
    spread, free_spread : (P, r) and (k, r + k) arrays
        The posterior variance over the noise is the squared norm of s(x)'free_spread - [F(x)'spread, 0].
    """

    features: Features
    free: Free
    theta: FloatArray
    penalty: float
    loads: FloatArray
    free_coef: FloatArray
    coef: FloatArray
    gcv: float
    dof: float
    noise: float
    n_steps: int
    converged: bool
    spread: FloatArray
    free_spread: FloatArray

    @np.errstate(over="ignore", invalid="ignore")  # the caller refuses what is not finite
    def predict(self, X: FloatArray) -> FloatArray:
        """f at one block of rows."""
        return self.free(X) @ self.free_coef + self.features(X) @ self.loads

    @np.errstate(over="ignore", invalid="ignore")
    def std(self, X: FloatArray) -> FloatArray:
        """The posterior standard deviation of f at one block of rows."""
        parts = self.free(X) @ self.free_spread
        parts[:, : self.spread.shape[1]] -= self.features(X) @ self.spread
        return np.sqrt(self.noise * np.sum(parts**2, axis=1))


def fit_rows(
    model: Model,
    knots: FloatArray,
    X: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    wish: Wish,
    budget: Budget,
    job: Job,
) -> SplineFit:
    """Return the spline of some rows and knots in [0, 1]; a fit that needs more memory than there is is refused."""
    features = make_features(model, knots)
    job = affordable(job, features, len(X), budget)
    free = make_free(model, X, weights)
    return fit_spline(features, free, sum_rows(features, free, X, y, weights, job), wish)


def fit_spline(features: Features, free: Free, normal: Normal, wish: Wish) -> SplineFit:
    """Choose the weights, then the penalty, by GCV, where they are not given, and solve."""
    task = Task(normal, np.ascontiguousarray(features(features.knots).T), features.term, wish.alpha)
    theta, n_steps, converged = _choose_theta(task, wish, features)
    ridge = make_ridge(task, theta)
    amount = ridge.amount(wish.penalty)
    beta = ridge.coef(amount)
    loads = ridge.loads @ beta
    return SplineFit(
        features,
        free,
        theta,
        amount / normal.n_rows,
        loads,
        normal.level - normal.lines @ loads,
        ridge.duals @ beta,
        *_qualities(ridge, amount),
        n_steps,
        converged,
        *_spreads(ridge, amount),
    )


def _choose_theta(task: Task, wish: Wish, features: Features) -> tuple[FloatArray, int, bool]:
    if wish.theta is not None:
        return wish.theta[features.places], 0, True
    if task.n_terms < 2:
        return np.ones(task.n_terms), 0, True
    start = start_theta(task, wish.penalty)
    return search_theta(task, start, wish.penalty) if wish.searches else (start, 0, True)


def _qualities(ridge: Ridge, amount: float) -> tuple[float, float, float]:
    """GCV, degrees of freedom and the variance of the noise."""
    n, dof, rss = ridge.task.normal.n_rows, ridge.trace(amount), ridge.rss(amount)
    left = 1 - ridge.task.alpha * dof / n
    gcv = rss / n / left**2 if left > 0 else np.inf
    return gcv, dof, rss / (n - dof) if n - dof > SETTLED * n else np.nan


def _spreads(ridge: Ridge, amount: float) -> tuple[FloatArray, FloatArray]:
    """Square roots of the posterior covariance: of the penalised part, and of the free one given it."""
    normal = ridge.task.normal
    spread = ridge.loads / np.sqrt(ridge.eigenvalues + amount)
    return spread, np.hstack([normal.lines @ spread, np.eye(normal.n_free)])


def concerns(fit: SplineFit, wish: Wish, n_rows: float) -> Iterator[str]:
    """Yield what a user should be warned of."""
    n_free = fit.free.basis.shape[1]
    if wish.penalty is None and wish.alpha * n_free >= n_rows and len(fit.theta):
        yield (
            f"{n_rows:g} rows are too few to choose a penalty by GCV beside {n_free} free functions: "
            "the smoothest fit was taken. Use fewer features or interactions, or pass a penalty."
        )
    if wish.penalty is not None and fit.penalty > RAISED * wish.penalty:
        yield (
            f"penalty={wish.penalty:g} is below what rounding can tell from none with these knots; "
            f"{fit.penalty:g} was used."
        )
    if not fit.converged:
        yield (
            f"The search for theta ended after {fit.n_steps} steps, before GCV settled. Use fewer terms, or "
            "theta='start'."
        )
