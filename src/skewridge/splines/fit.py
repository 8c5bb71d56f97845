"""The fitted spline, f(x) = s(x)'d + sum_b F_b(x)'u_b: penalised least squares, its GCV score, and where that is least.

With features F_b of the terms and weights theta_b, f = s'd + sum_b theta_b F_b'U_b c minimises (1/N) sum w (y - f)^2 +
penalty J(f), J(f) = c'(sum_b theta_b U_b'U_b) c. Stack sqrt(theta_b) U_b = W T' with orthonormal columns W: then
f = s'd + F'E beta with E_b = sqrt(theta_b) W_b, beta = T'c and J(f) = ||beta||^2, a ridge regression.
GCV = (RSS / N) / (1 - alpha tr A / N)^2, A the smoother. Rows are passed over once; nothing after that knows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq, minimize

from skewridge._typing import FloatArray
from skewridge.execution.context import AHEAD, current, using
from skewridge.execution.passes import BLOCK_ROWS
from skewridge.features.scaling import CONSTANT
from skewridge.ridge.low_rank import sum_blocks
from skewridge.splines.model import Features, Free, Model, make_features, make_free

ROUNDING = 100 * float(np.finfo(np.float64).eps)  # what sums over rows are known to
ALPHA = 1.4  # of GCV: how much a degree of freedom costs; 1 is the plain criterion, which undersmooths now and then
LEAST_LEFT = 0.01  # of the rows after alpha times the degrees of freedom: beyond that GCV goes straight on, and up
RANK = 1e-8  # directions below this share of the largest are not among the functions
RIDGES = np.logspace(5, -12, 171)  # over the largest eigenvalue, smoothest first: what a penalty is searched among
LEAST_WEIGHT = 1e-10  # times its trace, of the heaviest term: where a term starts at least
FARTHEST = np.log(1e8)  # how far its logarithm goes from there
MOST_STEPS = 200
PRECISION = 1e-9  # of log GCV: the search ends where a step gains less
RAISED = 1.01  # times the penalty given: a larger one was used, and that is told
SETTLED = 1e-9  # of the rows: where fewer are left after the degrees of freedom, none tells the noise


@dataclass(frozen=True)
class SplineFit:
    """A smoothing spline, from features and free functions with loads u (P,) and free_coef d (k,).

    Values are computed from the features that were fitted: the kernels' own coefficients cancel where knots are close.
    The same function is s(x)'d + sum_b theta_b R_b(x, Z) c, coef c (q,). With spread (P, r) and free_spread (k, r + k)
    the posterior variance over the noise (nan where no rows are left for it) is the squared norm of
    s(x)'free_spread - [F(x)'spread, 0]. Dof is tr A; converged, whether the search for theta ended by itself.
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
    *,
    penalty: float | None = None,
    theta: FloatArray | None = None,
    searches: bool = True,
    alpha: float = ALPHA,
) -> SplineFit:
    """Return the spline of some rows and knots in [0, 1]; a fit that needs more memory than there is is refused.

    A weight for every term and then the penalty are chosen by GCV where they are not given.
    """
    features = make_features(model, knots)
    with using(n_jobs=affordable_threads(features, len(X))):
        free = make_free(model, X, weights)
        task = Task(features, free, X, y, weights, alpha)
    n_steps, converged = 0, True
    if theta is not None:
        theta = theta[features.places]
    elif task.n_terms < 2:
        theta = np.ones(task.n_terms)
    else:
        theta = start_theta(task, penalty)
        if searches:
            theta, n_steps, converged = search_theta(task, theta, penalty)

    ridge, n = Ridge(task, theta), task.n_rows
    amount = ridge.amount(penalty)
    beta = ridge.moments / (ridge.eigenvalues + amount)
    loads, spread = ridge.loads @ beta, ridge.loads / np.sqrt(ridge.eigenvalues + amount)
    rss, dof = ridge.sums(amount)
    left = 1 - alpha * dof / n
    return SplineFit(
        features=features,
        free=free,
        theta=theta,
        penalty=amount / n,
        loads=loads,
        free_coef=task.level - task.lines @ loads,
        coef=ridge.duals @ beta,
        gcv=rss / n / left**2 if left > 0 else np.inf,
        dof=dof,
        noise=rss / (n - dof) if n - dof > SETTLED * n else np.nan,
        n_steps=n_steps,
        converged=converged,
        spread=spread,
        free_spread=np.hstack([task.lines @ spread, np.eye(len(task.level))]),
    )


def affordable_threads(features: Features, n_rows: int) -> int:
    """As many of the threads asked for as the memory allows; refuse a fit that is too large for one.

    A fit holds squares of the number of features, blocks, and the rows.
    """
    knots, n_terms = features.knots, len(features.kept)
    rows = n_rows * (3 * knots.shape[1] + len(features.model.free) + 8)
    shared = 8.0 * (4 * len(features) ** 2 + rows)
    own = 8.0 * (AHEAD * len(features) ** 2 + BLOCK_ROWS * (2 * len(features) + (n_terms + 2) * len(knots)))
    what = f"{n_terms} terms with {len(knots):,} knots need {{need}}"
    current().budget.require(shared + own, what, "Take fewer knots (n_knots) or fewer interactions.")
    return max(1, current().budget.largest(lambda n: shared + n * own, current().n_threads))


class Task:
    """Normal equations of P features and the response once what k free functions explain is taken out; alpha of GCV.

    gram (P, P) and moments (P,), F'wF and F'wy of residuals; square, y'wy of the residual; rounding (P,), what is known
    of every feature's square only up to rounding; lines (k, P) and level (k,), coefficients of the free functions
    that fit every feature and the response; at_knots (P, q), the features there.
    """

    def __init__(
        self,
        features: Features,
        free: Free,
        X: FloatArray,
        y: FloatArray,
        weights: FloatArray,
        alpha: float,
    ) -> None:
        S = free(X)
        self.level = np.zeros(S.shape[1])
        for _ in range(2):  # the second round takes out what rounding left
            self.level = self.level + S.T @ (weights * (y - S @ self.level))
        left = y - S @ self.level
        [sums] = sum_blocks(features, X, np.column_stack([left, S]), weights, "spline")
        FS = sums.cross[:, 1:-1]
        self.lines: FloatArray = np.linalg.inv(sums.inner[1:-1, 1:-1]) @ FS.T
        self.gram, self.moments, self.square = sums.gram - FS @ self.lines, sums.cross[:, 0], float(sums.inner[0, 0])
        if self.square <= CONSTANT**2 * float(weights @ y**2):  # what is left is rounding
            self.moments, self.square = np.zeros(len(self.moments)), 0.0
        self.rounding, self.n_rows = ROUNDING * sums.gram.diagonal(), sums.n_rows
        self.at_knots = np.ascontiguousarray(features(features.knots).T)
        self.term, self.n_terms, self.alpha = features.term, len(features.kept), alpha

    def by_term(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Sums of products over every term's rows."""
        products = (a * b).reshape(len(self.term), -1).sum(axis=1)
        return np.bincount(self.term, products, self.n_terms).astype(np.float64)

    @cached_property
    def traces(self) -> FloatArray:
        """The trace of R_b(Z, Z) of every term, (p,)."""
        return self.by_term(self.at_knots, self.at_knots)

    def score(self, rss: float, trace: float) -> tuple[float, float, float]:
        """Log of N GCV, and its slopes along the residual sum of squares and the trace."""
        n, least = self.n_rows, 1e-16 * self.square + 1e-300
        left, rss = 1 - self.alpha * trace / n, max(rss, least)
        near = max(left, LEAST_LEFT)
        value = np.log(rss) - 2 * (np.log(near) + (left - near) / near)
        return float(value), 1 / rss if rss > least else 0.0, 2 * self.alpha / (n * near)


class Ridge:
    """The ridge regression that weights theta (p,) make of a task, in the r eigenvectors of its gram.

    eigenvalues e and moments z, (r,); least, the least ridge that is told from none; loads (P, r), E: what a function
    of coefficient 1 has of every feature; duals (q, r), its coefficients c of the kernels at the knots.
    """

    def __init__(self, task: Task, theta: FloatArray) -> None:
        _, E, duals, least = _span(task, theta)
        gram = E.T @ (task.gram @ E)
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        self.task, self.eigenvalues, self.least = task, np.maximum(values, 0.0), least
        self.loads, self.duals = E @ vectors, duals @ vectors
        self.moments: FloatArray = self.loads.T @ task.moments

    def sums(self, ridge: float) -> tuple[float, float]:
        """The residual sum of squares y'y - sum z^2 (e + 2 ridge) / (e + ridge)^2, and the degrees of freedom.

        These are the free functions' and sum e / (e + ridge).
        """
        e, shrunk = self.eigenvalues, self.eigenvalues + ridge
        explained = float(np.sum(self.moments**2 * (e + 2 * ridge) / shrunk**2))
        return max(0.0, self.task.square - explained), len(self.task.level) + float(np.sum(e / shrunk))

    def score(self, ridge: float) -> tuple[float, float]:
        """Log of N GCV, and its derivative by the log of the ridge."""
        e, shrunk = self.eigenvalues, self.eigenvalues + ridge
        value, by_rss, by_trace = self.task.score(*self.sums(ridge))
        rss = np.sum(2 * self.moments**2 * ridge**2 / shrunk**3)
        return value, float(by_rss * rss - by_trace * np.sum(e * ridge / shrunk**2))

    def amount(self, penalty: float | None) -> float:
        """The ridge of a penalty, N times it; of none that of least score: best of a grid, then a root of slopes."""
        if penalty is not None:
            return max(self.task.n_rows * penalty, self.least)
        ridges = np.maximum(RIDGES * (float(self.eigenvalues.max(initial=0.0)) or 1.0), self.least)
        best = int(np.argmin([self.score(ridge)[0] for ridge in ridges]))
        high, low = np.log(ridges[max(best - 1, 0)]), np.log(ridges[min(best + 1, len(ridges) - 1)])

        def slope(log: float) -> float:
            return self.score(np.exp(log))[1]

        if slope(low) >= 0 or slope(high) <= 0:
            return float(ridges[best])
        return float(np.exp(brentq(slope, low, high, xtol=1e-12)))


def start_theta(task: Task, penalty: float | None) -> FloatArray:
    """Weights before any search: 1 / trace, a fit, then the squared norms of its terms.

    A term that a first fit hardly uses starts, and may stay, with next to no weight.
    """
    theta = normalised(task, 1 / task.traces)
    ridge = Ridge(task, theta)
    part = ridge.loads @ (ridge.moments / (ridge.eigenvalues + ridge.amount(penalty)))
    share = task.by_term(part, part) * task.traces  # ||theta_b U_b c||^2 of every term in its own space
    if not share.any():  # nothing to explain
        return theta
    return normalised(task, np.maximum(share, LEAST_WEIGHT * share.max()) / task.traces)


def search_theta(task: Task, start: FloatArray, penalty: float | None) -> tuple[FloatArray, int, bool]:
    """Return the weights of least GCV near a start, the steps taken, and whether they were enough.

    Quasi-Newton on the weights' logarithms. Their common scale stands for the penalty where none is given; otherwise
    it is kept.
    """
    ridge = Ridge(task, start).amount(penalty)

    def objective(log: FloatArray) -> tuple[float, FloatArray]:
        theta = np.exp(log)
        if penalty is None:
            return score_gradient(task, theta, ridge)
        score, gradient = score_gradient(task, normalised(task, theta), ridge)
        return score, gradient - theta * task.traces / (theta @ task.traces) * gradient.sum()

    first = np.log(start)
    bounds = list(zip(first - FARTHEST, first + FARTHEST, strict=True))
    options = {"maxiter": MOST_STEPS, "ftol": PRECISION, "gtol": 1e-6}
    found = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return normalised(task, np.exp(found.x)), int(found.nit), found.nit < MOST_STEPS


def normalised(task: Task, theta: FloatArray) -> FloatArray:
    """Weights with which sum_b theta_b R_b(z, z) is on average over the knots what weights of 1 make it.

    Only their ratio to the penalty matters; so scaled, a penalty means the same whatever the kernels' sizes are.
    """
    return theta * (task.traces.sum() / (theta @ task.traces))


def score_gradient(task: Task, theta: FloatArray, ridge: float) -> tuple[float, FloatArray]:
    """Return log N GCV at a ridge and its gradient by log theta.

    With M = E'GE, H = M + ridge I, B = H^-1, beta = B E'm and V = GE, moving log theta_b moves F by F_b E_b and the
    penalty by W_b'W_b: d tr = 2 ridge tr(B^2 V_b'E_b) - ridge tr(B M B W_b'W_b), and with g = B beta
    and F_b'r = m_b - V_b beta, d RSS = -2 (F_b'r)'E_b (beta + ridge g) + 2 ridge (V_b g)'(E_b beta)
    + 2 ridge^2 (W_b g)'(W_b beta).
    """
    W, E, _, least = _span(task, theta)
    V, ridge = task.gram @ E, max(ridge, least)
    M, z = E.T @ V, E.T @ task.moments
    B = np.linalg.inv((M + M.T) / 2 + ridge * np.eye(len(M)))
    B = (B + B.T) / 2
    beta = B @ z
    g, left = B @ beta, task.moments - V @ beta

    rss = float(task.square - beta @ z - ridge * beta @ beta)
    trace = len(task.level) + len(M) - ridge * float(np.trace(B))
    by_trace = 2 * task.by_term(V @ (B @ B), E) - task.by_term(W @ (B - ridge * B @ B), W)
    by_rss = task.by_term(V @ g, E @ beta) + ridge * task.by_term(W @ g, W @ beta)
    by_rss = 2 * ridge * by_rss - 2 * task.by_term(left, E @ (beta + ridge * g))
    score, slope_rss, slope_trace = task.score(rss, trace)
    return score, slope_rss * by_rss + slope_trace * ridge * by_trace


def _span(task: Task, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """W (P, r) of the functions that the knots span with given weights, their loads E, T'^-1 (q, r), and a ridge.

    The ridge is the rounding error of E's gram: smaller ones cannot be told from none.
    """
    roots = np.sqrt(theta)[task.term][:, None]
    Q, R = np.linalg.qr(roots * task.at_knots)
    left, values, right = np.linalg.svd(R, full_matrices=False)
    kept = values > RANK * values.max(initial=0.0)
    W = Q @ left[:, kept]
    E = roots * W
    return W, E, right[kept].T / values[kept], float(np.sum(task.rounding[:, None] * E**2))


def warnings_of(fit: SplineFit, penalty: float | None, alpha: float, n_rows: float) -> Iterator[str]:
    """Yield what a user should be warned of."""
    n_free = fit.free.basis.shape[1]
    if penalty is None and alpha * n_free >= n_rows and len(fit.theta):
        yield (
            f"{n_rows:g} rows are too few to choose a penalty by GCV beside {n_free} free functions: "
            "the smoothest fit was taken. Use fewer features or interactions, or pass a penalty."
        )
    if penalty is not None and fit.penalty > RAISED * penalty:
        yield (
            f"penalty={penalty:g} is below what rounding can tell from none with these knots; {fit.penalty:g} was used."
        )
    if not fit.converged:
        yield (
            f"The search for theta ended after {fit.n_steps} steps, before GCV settled. Use fewer terms, or "
            "theta='start'."
        )
