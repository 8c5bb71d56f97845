"""Sums over the rows that a spline needs: of the terms' features, freed of the functions that are not penalised.

Every term b gets features F_b = L_b^-1 R_b(Z, x), orthonormal in the term's own space, where R_b(Z, Z) = L_b L_b' at
the knots Z. They do not depend on the terms' weights theta, so one pass over the rows serves every theta and every
penalty: f(x) = s(x)'d + sum_b theta_b F_b(x)'U_b c with U_b = F_b(Z)'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from joblib import effective_n_jobs

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.job import AHEAD, Job
from skewridge.execution.memory import Budget
from skewridge.execution.passes import BLOCK_ROWS
from skewridge.features.scaling import CONSTANT
from skewridge.linalg.cholesky import lower_solve, pivoted_cholesky
from skewridge.ridge.lowrank import sum_blocks
from skewridge.splines.terms import Model

TOLERANCE = 1e-12  # knots that the others explain to this share of a term's largest R(z, z) add no feature
ROUNDING = 100 * float(np.finfo(np.float64).eps)  # what sums over rows are known to
DEPENDENT = 1e-10  # free functions with less than this share of their own are those that others explain


@dataclass(frozen=True)
class Features:
    """The features of every term, one after the other.

    Attributes
    ----------
    model : Model, with the terms that are not zero at all knots
    places : (p,) array, their places among the terms given
    knots : (q, d) array in [0, 1]
    kept, factors : for every term the knots that are linearly independent, and L_b
    starts : (p + 1,) array, where each term's features start
    """

    model: Model
    places: IntArray
    knots: FloatArray
    kept: tuple[IntArray, ...]
    factors: tuple[FloatArray, ...]
    starts: IntArray

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def term(self) -> IntArray:
        """Which term every feature is of."""
        return np.repeat(np.arange(len(self.kept)), np.diff(self.starts))

    def __call__(self, X: FloatArray) -> FloatArray:
        """The features of every row, (n, P)."""
        out = np.empty((len(X), len(self)))
        for b, values in enumerate(self.model.kernels(X, self.knots)):
            own = np.take(values, self.kept[b], axis=1)
            out[:, self.starts[b] : self.starts[b + 1]] = lower_solve(self.factors[b], own)
        return out


def make_features(model: Model, knots: FloatArray) -> Features:
    """Return the features at some knots; rank-revealing, so knots may be repeated and features have few values."""
    places, kept, factors = [], [], []
    for b, gram in enumerate(model.kernels(knots, knots)):
        if gram.diagonal().max(initial=0.0) > 0:
            independent, factor = pivoted_cholesky(gram.copy(), TOLERANCE)
            places.append(b)
            kept.append(independent)
            factors.append(factor)
    starts = np.cumsum([0, *map(len, kept)])
    chosen = model.only(range(len(model.free)), places)
    return Features(chosen, np.array(places, dtype=np.int64), knots, tuple(kept), tuple(factors), starts)


@dataclass(frozen=True)
class Free:
    """The functions that are not penalised, made orthonormal on the rows: nearly dependent ones lose no digits.

    Attributes
    ----------
    model : Model
    basis : (m, k) array, what each of the k functions has of the m that the model names
    """

    model: Model
    basis: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Their values at every row, (n, k)."""
        return self.model.free_values(X) @ self.basis


def make_free(model: Model, X: FloatArray, weights: FloatArray) -> Free:
    """Return the free functions that are linearly independent on the rows."""
    values = model.free_values(X) * np.sqrt(weights)[:, None]
    unit = np.sqrt(np.sum(values**2, axis=0))
    unit[unit == 0] = 1.0
    _, sizes, right = np.linalg.svd(np.linalg.qr(values / unit, mode="r"), full_matrices=False)
    kept = sizes > DEPENDENT * sizes[0]
    return Free(model, (right[kept].T / sizes[kept]) / unit[:, None])


@dataclass(frozen=True)
class Normal:
    """Normal equations of the features and the response once what the free functions explain is taken out.

    Attributes
    ----------
    gram : (P, P) array, F'wF of the residuals of the features
    moments : (P,) array, F'wy of both residuals
    square : float, y'wy of the residual
    n_rows : float, sum of the weights
    rounding : (P,) array, what is known of every feature's square only up to rounding
    lines : (k, P) array, coefficients of the free functions that fit every feature
    level : (k,) array, and the response
    """

    gram: FloatArray
    moments: FloatArray
    square: float
    n_rows: float
    rounding: FloatArray
    lines: FloatArray
    level: FloatArray

    @property
    def n_free(self) -> int:
        """Free functions that are linearly independent on the rows."""
        return len(self.level)


def sum_rows(features: Features, free: Free, X: FloatArray, y: FloatArray, weights: FloatArray, job: Job) -> Normal:
    """Pass over the rows once, in fixed blocks, and take the free functions out of the sums."""
    S = free(X)
    level = np.zeros(S.shape[1])
    for _ in range(2):  # the second round takes out what rounding left
        level = level + S.T @ (weights * (y - S @ level))
    left = y - S @ level
    sums = sum_blocks(features, X, np.column_stack([left, S]), weights, job, "spline")
    FS = sums.cross[:, 1:-1]
    lines: FloatArray = np.linalg.inv(sums.inner[1:-1, 1:-1]) @ FS.T
    moments, square = sums.cross[:, 0], float(sums.inner[0, 0])
    if square <= CONSTANT**2 * float(weights @ y**2):  # what is left is rounding
        moments, square = np.zeros(len(moments)), 0.0
    rounding = ROUNDING * sums.gram.diagonal()
    return Normal(sums.gram - FS @ lines, moments, square, sums.n_rows, rounding, lines, level)


def affordable(job: Job, features: Features, n_rows: int, budget: Budget) -> Job:
    """Return the job on as many threads as the memory allows; refuse a fit that is too large for one."""
    what = f"{len(features.kept)} terms with {len(features.knots):,} knots need {{need}}"
    budget.require(n_bytes(features, n_rows, 1), what, "Take fewer knots (n_knots) or fewer interactions.")
    workers = budget.threads(lambda n: n_bytes(features, n_rows, n), effective_n_jobs(job.n_jobs))
    return replace(job, n_jobs=workers)


def n_bytes(features: Features, n_rows: int, workers: int) -> float:
    """Peak bytes of a fit on so many threads: squares of the number of features, blocks, and the rows."""
    blocks = workers * BLOCK_ROWS * (2 * len(features) + (len(features.kept) + 2) * len(features.knots))
    rows = n_rows * (3 * features.knots.shape[1] + len(features.model.free) + 8)
    return 8.0 * ((4 + AHEAD * workers) * len(features) ** 2 + blocks + rows)
