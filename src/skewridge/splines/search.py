"""Penalty and term weights of a spline: penalised least squares, its GCV score, and where that is least.

With features F_b of the terms and weights theta_b, f = s'd + sum_b theta_b F_b'U_b c minimises (1/N) sum w (y - f)^2 +
penalty J(f), J(f) = c'(sum_b theta_b U_b'U_b) c. Stack sqrt(theta_b) U_b = W T' with orthonormal columns W: then
f = s'd + F'E beta with E_b = sqrt(theta_b) W_b, beta = T'c and J(f) = ||beta||^2, a ridge regression.
GCV = (RSS / N) / (1 - alpha tr A / N)^2, A the smoother. Nothing here knows the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize

from skewridge._typing import FloatArray, IntArray
from skewridge.splines.sums import Normal

ALPHA = 1.4  # of GCV: how much a degree of freedom costs; 1 is the plain criterion, which undersmooths now and then
LEAST_LEFT = 0.01  # of the rows after alpha times the degrees of freedom: beyond that GCV goes straight on, and up
RANK = 1e-8  # directions below this share of the largest are not among the functions
RIDGES = np.logspace(5, -12, 171)  # over the largest eigenvalue, smoothest first: what a penalty is searched among
LEAST_WEIGHT = 1e-10  # times its trace, of the heaviest term: where a term starts at least
FARTHEST = np.log(1e8)  # how far its logarithm goes from there
MOST_STEPS = 200
PRECISION = 1e-9  # of log GCV: the search ends where a step gains less


@dataclass(frozen=True)
class Task:
    """Normal equations, the terms' features at the knots, (P, q), the term of every feature, and alpha of GCV."""

    normal: Normal
    at_knots: FloatArray
    term: IntArray
    alpha: float = ALPHA

    @property
    def n_terms(self) -> int:
        """Terms that are penalised."""
        return int(self.term[-1]) + 1 if len(self.term) else 0

    def by_term(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Sums of products over every term's rows."""
        products = (a * b).reshape(len(self.term), -1).sum(axis=1)
        return np.bincount(self.term, products, self.n_terms).astype(np.float64)

    @property
    def traces(self) -> FloatArray:
        """The trace of R_b(Z, Z) of every term."""
        return self.by_term(self.at_knots, self.at_knots)

    def least_ridge(self, loads: FloatArray) -> float:
        """The rounding error of the gram of some loads, (P, r): smaller ridges cannot be told from none."""
        return float(np.sum(self.normal.rounding[:, None] * loads**2))

    def score(self, rss: float, trace: float) -> tuple[float, float, float]:
        """Log of N GCV, and its slopes along the residual sum of squares and the trace."""
        n, least = self.normal.n_rows, 1e-16 * self.normal.square + 1e-300
        left, rss = 1 - self.alpha * trace / n, max(rss, least)
        near = max(left, LEAST_LEFT)
        value = np.log(rss) - 2 * (np.log(near) + (left - near) / near)
        return float(value), 1 / rss if rss > least else 0.0, 2 * self.alpha / (n * near)


@dataclass(frozen=True)
class Ridge:
    """The ridge regression that given weights make of a task, in the eigenvectors of its gram.

    Attributes
    ----------
    task : Task
    theta : (p,) array
    eigenvalues : (r,) array, e
    moments : (r,) array, z
    least : float, the least ridge that is told from none
    loads : (P, r) array, E: what a function of coefficient 1 has of every feature
    duals : (q, r) array, its coefficients c of the kernels at the knots
    """

    task: Task
    theta: FloatArray
    eigenvalues: FloatArray
    moments: FloatArray
    least: float
    loads: FloatArray
    duals: FloatArray

    def trace(self, ridge: float) -> float:
        """Degrees of freedom: the free functions' and sum e / (e + ridge)."""
        return self.task.normal.n_free + float(np.sum(self.eigenvalues / (self.eigenvalues + ridge)))

    def rss(self, ridge: float) -> float:
        """The residual sum of squares, y'y - sum z^2 (e + 2 ridge) / (e + ridge)^2."""
        e = self.eigenvalues
        explained = np.sum(self.moments**2 * (e + 2 * ridge) / (e + ridge) ** 2)
        return max(0.0, self.task.normal.square - float(explained))

    def score(self, ridge: float) -> float:
        """Log of N GCV."""
        return self.task.score(self.rss(ridge), self.trace(ridge))[0]

    def slope(self, ridge: float) -> float:
        """The derivative of the score by the log of the ridge."""
        e, z = self.eigenvalues, self.moments
        _, by_rss, by_trace = self.task.score(self.rss(ridge), self.trace(ridge))
        rss = np.sum(2 * z**2 * ridge**2 / (e + ridge) ** 3)
        return float(by_rss * rss - by_trace * np.sum(e * ridge / (e + ridge) ** 2))

    def best(self) -> float:
        """The ridge of least score: the best of a grid, then the root of the slope between its neighbours."""
        ridges = np.maximum(RIDGES * (float(self.eigenvalues.max(initial=0.0)) or 1.0), self.least)
        scores = [self.score(ridge) for ridge in ridges]
        i = int(np.argmin(scores))
        high, low = np.log(ridges[max(i - 1, 0)]), np.log(ridges[min(i + 1, len(ridges) - 1)])
        if self.slope(np.exp(low)) >= 0 or self.slope(np.exp(high)) <= 0:
            return float(ridges[i])
        return float(np.exp(brentq(lambda log: self.slope(np.exp(log)), low, high, xtol=1e-12)))

    def amount(self, penalty: float | None) -> float:
        """The ridge of a penalty, N times it, or the best one."""
        return self.best() if penalty is None else max(self.task.normal.n_rows * penalty, self.least)

    def coef(self, ridge: float) -> FloatArray:
        """beta = z / (e + ridge)."""
        return self.moments / (self.eigenvalues + ridge)

    def sizes(self, ridge: float) -> FloatArray:
        """The squared norm of every term of the solution in the term's own space, ||theta_b U_b c||^2."""
        part = self.loads @ self.coef(ridge)
        return self.task.by_term(part, part)


def make_ridge(task: Task, theta: FloatArray) -> Ridge:
    """Return the ridge regression of given weights."""
    W, duals = _orthonormal(task, theta)
    E = np.sqrt(theta)[task.term][:, None] * W
    gram = E.T @ (task.normal.gram @ E)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    loads = E @ vectors
    moments = loads.T @ task.normal.moments
    return Ridge(task, theta, np.maximum(values, 0.0), moments, task.least_ridge(E), loads, duals @ vectors)


def start_theta(task: Task, penalty: float | None) -> FloatArray:
    """Weights before any search: 1 / trace, a fit, then the squared norms of its terms.

    A term that a first fit hardly uses starts, and may stay, with next to no weight.
    """
    theta = normalised(task, 1 / task.traces)
    ridge = make_ridge(task, theta)
    sizes = ridge.sizes(ridge.amount(penalty))
    share = sizes * task.traces
    if not share.any():  # nothing to explain
        return theta
    return normalised(task, np.maximum(share, LEAST_WEIGHT * share.max()) / task.traces)


def search_theta(task: Task, start: FloatArray, penalty: float | None) -> tuple[FloatArray, int, bool]:
    """Return the weights of least GCV near a start, the steps taken, and whether they were enough.

    Quasi-Newton on the weights' logarithms. Their common scale stands for the penalty where none is given; otherwise
    it is kept.
    """
    ridge = make_ridge(task, start).amount(penalty)

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
    W, _ = _orthonormal(task, theta)
    E = np.sqrt(theta)[task.term][:, None] * W
    V, ridge = task.normal.gram @ E, max(ridge, task.least_ridge(E))
    M, z = E.T @ V, E.T @ task.normal.moments
    B = np.linalg.inv((M + M.T) / 2 + ridge * np.eye(len(M)))
    B = (B + B.T) / 2
    beta = B @ z
    g, left = B @ beta, task.normal.moments - V @ beta

    rss = float(task.normal.square - beta @ z - ridge * beta @ beta)
    trace = task.normal.n_free + len(M) - ridge * float(np.trace(B))
    by_trace = 2 * task.by_term(V @ (B @ B), E) - task.by_term(W @ (B - ridge * B @ B), W)
    by_rss = task.by_term(V @ g, E @ beta) + ridge * task.by_term(W @ g, W @ beta)
    by_rss = 2 * ridge * by_rss - 2 * task.by_term(left, E @ (beta + ridge * g))
    score, slope_rss, slope_trace = task.score(rss, trace)
    return score, slope_rss * by_rss + slope_trace * ridge * by_trace


def _orthonormal(task: Task, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """W, (P, r), of the functions that the knots span with given weights, and T'^-1, (q, r)."""
    weighted = np.sqrt(theta)[task.term][:, None] * task.at_knots
    Q, R = np.linalg.qr(weighted)
    left, values, right = np.linalg.svd(R, full_matrices=False)
    kept = values > RANK * values.max(initial=0.0)
    return Q @ left[:, kept], right[kept].T / values[kept]
