"""Learned feature scales: a feature counts by how steeply the fit changes along it.

A round fits, takes w_f = mean (df/dx_f)^2 with respect to the features as they came, multiplies them by sqrt(w_f), or
by its root where features differ less in worth than in slope, and fits again. Of five folds, three are fitted and
differentiated and one chooses bandwidth and penalty; whether the round is kept is decided by the last, which neither
has seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.judging import Candidate, FoldedRows, Judge, judging_work, standard_error
from skewridge.engine.passes import predict_rows
from skewridge.features.scaling import response_bounds
from skewridge.kernels import BANDWIDTH_FREE, Kernel, make_kernel
from skewridge.kernels.heuristics import median_bandwidth
from skewridge.response.sampling import N_FOLDS
from skewridge.ridge.lowrank import Basis, make_basis, ridge_path, sum_features

MOST_ROWS = 20_000  # that scales are learned from
FEWEST_ROWS = 100
MOST_CENTERS = 500
MOST_ROUNDS = 5
GRADIENT_ROWS = 4_000
FLOOR = 1e-3  # of the mean w_f: no feature is lost for good
POWERS = (0.5, 0.25)  # of w_f
BANDWIDTHS = (1.0, 0.5, 2.0)  # tried in every round, in those of the round before
KEEPING_MARGIN = 0.5  # standard errors by which a round must better the one before
LARGEST_GAP = 2.0  # between the values of a binary feature, that of a standardised one with even shares
MOST_LEVELS = 10  # of a feature whose rare levels are looked at
COMMON = 0.75  # share of the rows at one level from which the other levels are rare, and not steps of a number
_LAST = N_FOLDS - 1


@dataclass(frozen=True)
class Round:
    """A fit with some scales, and how well it predicts the rows that are kept aside.

    Attributes
    ----------
    multipliers : (d,) array, what features are multiplied by
    candidate : Candidate, with the best bandwidth
    kernel, basis : of the fit
    dual : (p, r) array
    errors : (n,) array, squared errors over the variance of rows kept aside, averaged over outputs
    """

    multipliers: FloatArray
    candidate: Candidate
    kernel: Kernel
    basis: Basis
    dual: FloatArray
    errors: FloatArray

    def betters(self, other: Round, weights: FloatArray) -> bool:
        """Whether errors are smaller by half a standard error of the rows' differences."""
        gains = (other.errors - self.errors) * weights / weights.mean()
        return bool(gains.mean() > KEEPING_MARGIN * standard_error(gains))


def can_learn(kernels: tuple[str, ...], n_features: int) -> bool:
    """Whether scales can be learned: with one feature, or where a kernel sets its own scale, there is nothing to."""
    return n_features > 1 and not set(kernels) & set(BANDWIDTH_FREE)


def learn_scales(judge: Judge, candidate: Candidate, seed: int) -> dict[float, Round]:
    """Return, by the power of w_f, the last round that bettered the one before.

    Powers that better none are left out, but for one where the start itself bettered features as they are.
    The judge brings the rows, what is known of the penalty, and the threads.
    """
    rows = judge.rows
    counted = _counted(rows)
    asked, aside = counted[rows.ends[-3] : rows.ends[-2]], counted[rows.ends[-2] :]
    if len(rows) < FEWEST_ROWS or not (asked.sum() > 0 and aside.sum() > 0):
        return {}
    candidate = replace(candidate, n_centers=min(candidate.n_centers, MOST_CENTERS))
    as_they_are = start = _fitted(judge, candidate, np.ones(rows.X.shape[1]))
    mixed = mixed_scales(rows.X)
    if np.any(mixed != 1.0):
        trial = _next(judge, start, mixed, seed)
        start = trial if trial.betters(start, aside) else start
    ends: dict[float, Round] = {}
    for power in POWERS:
        found = _last_better(judge, start, power, aside, seed)
        if not any(found is known for known in (as_they_are, *ends.values())):
            ends[power] = found
    return ends


def _last_better(judge: Judge, current: Round, power: float, aside: FloatArray, seed: int) -> Round:
    """The last of some rounds that each bettered the one before; where none did, the first."""
    for _ in range(MOST_ROUNDS):
        trial = _next(judge, current, _slopes(judge.rows, current) ** power, seed)
        if not trial.betters(current, aside):
            break
        current = trial
    return current


def mixed_scales(X: FloatArray) -> FloatArray:
    """Multipliers of standardised features before anything is learned: rare levels must not dominate.

    A standardised feature that is 1 in a share p of the rows has a gap of (p (1 - p))^-1/2 between its values, 10 at
    p = 0.01; no gap is left larger than that of even shares. Where there are a few more levels and three rows in four
    share one, gaps are from that one.

    Examples
    --------
    >>> import numpy as np
    >>> rare = np.repeat([0.1, -10.0], [99, 1])
    >>> mixed_scales(np.column_stack([rare, np.linspace(-1, 1, 100)])).round(3)
    array([0.198, 1.   ])
    """
    return np.array([LARGEST_GAP / max(LARGEST_GAP, _rare_gap(x)) for x in X.T])


def _rare_gap(x: FloatArray) -> float:
    """The largest distance of a level from the commonest; 0 where levels are many, or some and none is common."""
    levels, counts = np.unique(x, return_counts=True)
    told = len(levels) <= 2 or (len(levels) <= MOST_LEVELS and counts.max() > COMMON * len(x))
    return float(np.abs(levels - levels[counts.argmax()]).max()) if told else 0.0


def steepness(kernel: Kernel, centers: FloatArray, dual: FloatArray, X: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean squared derivatives of f along the features X that the kernel sees, averaged over outputs, (d,)."""
    squares = [np.average(kernel.gradient(X, centers, a) ** 2, axis=0, weights=weights) for a in dual]
    return np.asarray(np.mean(squares, axis=0))


def importances(
    kernel: Kernel, centers: FloatArray, dual: FloatArray, X: FloatArray, weights: FloatArray
) -> FloatArray:
    """Steepness, and along binary features the mean squared quotient of differences between their two values, (d,).

    A kernel much narrower than the gap between two values is flat at both of them, however much lies between.
    """
    w = steepness(kernel, centers, dual, X, weights)
    low, high, binary = _two_values(X)
    product = kernel.product(centers, dual)
    f = product(X) if len(binary) else np.empty(0)
    for feature in binary:
        other = X.copy()
        other[:, feature] = np.where(X[:, feature] == low[feature], high[feature], low[feature])
        quotients = (product(other) - f) / (high[feature] - low[feature])
        w[feature] = np.average(quotients**2, axis=0, weights=weights).mean()
    return w


def _two_values(X: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """The least and the largest value of every feature, and which features have these two and no other."""
    low, high = X.min(axis=0), X.max(axis=0)
    return low, high, np.flatnonzero(np.all((X == low) | (X == high), axis=0) & (high > low))


def _next(judge: Judge, current: Round, multipliers: FloatArray, seed: int) -> Round:
    """The fit with other multipliers, bandwidths starting from the same share of the median distance between rows."""
    X, candidate = judge.rows.X, current.candidate
    before, after = (median_bandwidth(X * m, candidate.kernel, seed) for m in (current.multipliers, multipliers))
    bandwidth = float(candidate.bandwidth or 1.0) * after / before
    return _fitted(judge, replace(candidate, bandwidth=bandwidth), multipliers)


def _fitted(judge: Judge, candidate: Candidate, multipliers: FloatArray) -> Round:
    """The fit with the best of some bandwidths and penalties."""
    rows = judge.rows
    X, counted = rows.X * multipliers, _counted(rows)
    fitted, asked, aside = slice(0, rows.ends[-3]), slice(rows.ends[-3], rows.ends[-2]), slice(rows.ends[-2], None)
    drawn = rows.places[rows.pools[candidate.slice_on].draw(candidate.n_centers, candidate.adapt, _LAST)]
    found = []
    for factor in BANDWIDTHS:
        here = replace(candidate, bandwidth=float(candidate.bandwidth or 1.0) * factor)
        kernel = make_kernel(here.kernel, X, here.bandwidth, judge.degree)
        basis = make_basis(kernel, X[drawn])
        judge.flops += judging_work(len(X), len(basis.kept))
        sums = sum_features(basis, X[fitted], rows.Y[fitted], rows.weights[fitted], judge.job, "scales")
        held = sum_features(basis, X[asked], rows.Y[asked], counted[asked], judge.job, "scales")
        intercepts = sums.means * judge.fit_intercept
        betas = ridge_path(sums.gram, sums.moments(intercepts), judge.penalties(kernel) * sums.n_rows)
        risks = (held.squared_error(betas, intercepts) / rows.scale).mean(axis=1)
        best = int(np.argmin(risks))
        found.append((float(risks[best]), here, kernel, basis, betas[best], intercepts))
    _, here, kernel, basis, beta, intercepts = min(found, key=lambda outcome: outcome[0])
    dual = basis.dual(beta)
    fit = (
        predict_rows(kernel.product(basis.centers, dual), X[aside], judge.job, "scales", 60.0 * dual.size) + intercepts
    )
    residual = rows.Y[aside] - np.clip(fit, *response_bounds(rows.Y))
    return Round(multipliers, here, kernel, basis, dual, (residual**2 / rows.scale).mean(axis=1))


def _counted(rows: FoldedRows) -> FloatArray:
    """How much every row's squared error counts."""
    return rows.weights if rows.scores is None else rows.weights * rows.scores


def _slopes(rows: FoldedRows, current: Round) -> FloatArray:
    """w_f of a fit, (d,), of mean 1 and with a floor; all 1 where the fit is flat."""
    some = slice(0, min(GRADIENT_ROWS, rows.ends[-3]))
    X = rows.X[some] * current.multipliers
    dual = current.dual / np.sqrt(rows.scale)[:, None]
    w = steepness(current.kernel, current.basis.centers, dual, X, rows.weights[some]) * current.multipliers**2
    mean = float(w.mean())
    return np.maximum(w / mean, FLOOR) if mean > 0 and np.isfinite(mean) else np.ones(len(w))
