"""A low-rank model with chosen centres: draw them, sum over all rows, solve, look which rows dominate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray, PicklesFields
from skewridge.centers.choose import Choice, FitSize, Transform, holds_direct, solver_of
from skewridge.centers.rows import CenterSettings, TrainingRows
from skewridge.execution.chunked import RowData, Table, held_numbers
from skewridge.features.forms import ScaledForms
from skewridge.features.scaling import variances
from skewridge.kernels import Kernel, Product
from skewridge.linalg.cholesky import cholesky_solve, lower_inverse, lower_solve, squared_columns
from skewridge.ridge.cg import NormalEquations, conjugate_inverse, conjugate_solve, is_solved, preconditioner
from skewridge.ridge.diagnostics import NEGLIGIBLE, THRESHOLD, dominating_rows, influence_candidates, typical_size
from skewridge.ridge.low_rank import Basis, make_basis, ridge_factor, sum_features

N_PARTS = 2  # more folds leak more: the values of rows in other folds hold a row's own response
LEVERAGE_PRECISION = 1e-2  # of the leverages of rows that may dominate, by conjugate gradients
DOUBT = 5.0  # by which influence that is estimated by the centres may be too small


@dataclass(frozen=True)
class GlobalModel(PicklesFields):
    """g(x) = clip(intercepts + sum_i coef_i k(transform x, centers_i)) * units + means: level 1, as it predicts.

    transform, what rows go through first; centers (m, D), transformed; coef (1, m); intercepts, means, units and the
    bounds low, high, each (1,).
    """

    transform: Transform
    centers: FloatArray
    coef: FloatArray
    kernel: Kernel
    intercepts: FloatArray
    low: FloatArray
    high: FloatArray
    means: FloatArray
    units: FloatArray

    @cached_property
    def product(self) -> Product:
        """x -> k(x, centers) @ coef', prepared once."""
        return self.kernel.product(self.centers, self.coef)

    def predict(self, X: FloatArray, product: Product | None = None) -> FloatArray:
        """Predict one block of rows, (n, 1), by another product, in single precision, where one is given."""
        return self.predict_transformed(self.transform(X), product)

    def predict_transformed(self, Z: FloatArray, product: Product | None = None) -> FloatArray:
        """Predict one block of rows that went through the transform, (n, 1)."""
        product = self.product if product is None else product
        return np.clip(product(Z) + self.intercepts, self.low, self.high) * self.units + self.means

    @property
    def row_work(self) -> float:
        """Operations of predicting a row."""
        return 60.0 * self.coef.size

    @property
    def column_scale(self) -> FloatArray:
        """Every column's scale, (d,): the root of the sum of squares over its forms."""
        transform = self.transform
        return transform.forms.column_scale(transform.scales) if isinstance(transform, ScaledForms) else transform.scale


@dataclass(frozen=True)
class LowRankModel:
    """f(x) = F(x) beta + intercept in units of the responses' size, beta (1, r), and its posterior.

    rows (r,), the centres' places; factor (r, r), the Cholesky factor of F'wF + ridge, or of the centres' estimate of
    it; n_rows, the sum of the weights; spread (1,), the responses' deviation; n_steps, precision of conjugate
    gradients, None where there were none.
    """

    basis: Basis
    rows: IntArray
    beta: FloatArray
    intercepts: FloatArray
    factor: FloatArray
    n_rows: float
    spread: FloatArray
    n_steps: int | None = None
    precision: float = 0.0

    def std(self, Z: FloatArray) -> FloatArray:
        """Posterior deviation of f over that of the noise, (n, 1): (F'(F'wF + ridge)^-1 F + 1/N)^1/2."""
        leverages = np.sum(lower_solve(self.factor, self.basis.features(Z)) ** 2, axis=1)
        return np.sqrt(leverages + 1.0 / self.n_rows)[:, None]


def fit_centers(
    rows: TrainingRows, Z: RowData, kernel: Kernel, choice: Choice, settings: CenterSettings, fold: int = -1
) -> LowRankModel:
    """Draw the centres outside a fold (-1: from all rows) and solve (F'wF + N penalty) beta = F'w(Y - intercepts).

    Z are the rows as the kernel sees them; the fold's have weight 0. "auto" solves again directly where steps of
    conjugate gradients ran out and the memory allows.
    """
    candidates, weights, penalty = rows.candidates, rows.weights, choice.penalty
    drawn = candidates.draw(choice.candidate.n_centers, choice.candidate.adapt, fold)
    basis = make_basis(kernel, Z[candidates.rows[drawn]])
    kept = drawn[basis.kept]
    if fold >= 0:
        weights = weights * (candidates.folds[candidates.member] != fold)
    n_rows, places = float(weights.sum()), candidates.rows[kept]
    intercepts = np.average(rows.Y, axis=0, weights=weights) * settings.fit_intercept
    spread = np.sqrt(variances(rows.Y, weights))
    ridge = penalty * n_rows
    size = FitSize(len(rows.Y), rows.X.shape[1], held_numbers(rows.X), not isinstance(rows.X, Table))
    if solver_of(settings, size, len(drawn), penalty) == "cg":
        center_weights = candidates.center_weights(kept) * (n_rows / rows.weights.sum())
        factor = preconditioner(basis, ridge, center_weights)
        normal = NormalEquations(basis, Z, weights, ridge, factor)
        beta, n_steps, precision = conjugate_solve(normal, rows.Y - intercepts)
        if is_solved(n_steps, precision) or settings.solver == "cg" or not holds_direct(len(drawn), size):
            return LowRankModel(basis, places, beta, intercepts, factor, n_rows, spread, n_steps, precision)
        del factor, normal  # these matrices are not in the plan
    sums = sum_features(basis, Z, rows.Y, weights, "fit", penalty)
    factor = ridge_factor(sums.gram, ridge)
    beta = cholesky_solve(factor, sums.moments(intercepts))
    return LowRankModel(basis, places, beta, intercepts, factor, n_rows, spread)


def as_predictor(
    basis: Basis, beta: FloatArray, intercepts: FloatArray, rows: TrainingRows, transform: Transform
) -> GlobalModel:
    """The model of coefficients beta (1, r) on a basis as it predicts, in the units of y."""
    return GlobalModel(
        transform=transform,
        centers=basis.centers,
        coef=basis.dual(beta),
        kernel=basis.kernel,
        intercepts=intercepts,
        low=rows.low,
        high=rows.high,
        means=rows.means,
        units=rows.units,
    )


def fit_halves(
    rows: TrainingRows, Z: RowData, kernel: Kernel, choice: Choice, settings: CenterSettings
) -> list[GlobalModel]:
    """For each of two folds the fit to the rows outside it; to all where there are none."""
    folds, models = rows.candidates.folds, list[GlobalModel]()
    for fold in range(N_PARTS):
        outside = fold if np.any(folds != fold) else -1
        found = fit_centers(rows, Z, kernel, choice, settings, outside)
        models.append(as_predictor(found.basis, found.beta, found.intercepts, rows, choice.transform))
    return models


def left_out_values(models: Sequence[GlobalModel], Z: FloatArray, folds: npt.NDArray[np.int8]) -> FloatArray:
    """The values of transformed rows by the fits without their folds, (n, 1)."""
    out = np.empty((len(Z), 1))
    for fold in np.unique(folds):
        out[folds == fold] = models[fold].predict_transformed(Z[folds == fold])
    return out


def noise_level(found: LowRankModel, rows: TrainingRows, residual: FloatArray, ridge: float, level: bool) -> float:
    """The standard deviation of the noise: residuals, (N, 1), over the degrees of freedom left."""
    inverse = float(squared_columns(lower_inverse(found.factor.copy())).sum())
    freedom = len(found.factor) - ridge * inverse + level
    return float(np.sqrt(rows.weights @ residual**2 / max(found.n_rows - freedom, 1.0))[0])


def find_dominating(
    found: LowRankModel, rows: TrainingRows, Z: RowData, residual: FloatArray, ridge: float, level: bool
) -> tuple[IntArray, FloatArray]:
    """Rows that pull the fit after them, culprits first, and by how many typical residuals they move it.

    1/N of a row's leverage is the intercept's. Where the factor is an estimate (with "cg") and finds any, or nearly,
    they are looked at without it.
    """
    y, r = rows.Y[:, 0], residual[:, 0]
    places = influence_candidates(y, r)
    features, weights = found.basis.features(Z[places]), rows.weights[places]
    errors, spread = (r[places], y[places] - np.median(y)), max(typical_size(r), NEGLIGIBLE * typical_size(y))
    hat = (features @ cholesky_solve(found.factor, features.copy()).T + level / found.n_rows) * weights
    if found.n_steps is None:
        which, influence = dominating_rows(*errors, hat, spread)
        return places[which], influence
    which, influence = dominating_rows(*errors, hat, spread, THRESHOLD / DOUBT)
    if len(which):
        normal = NormalEquations(found.basis, Z, rows.weights, ridge, found.factor)
        inverse = conjugate_inverse(normal, features, LEVERAGE_PRECISION)
        hat = (features @ inverse.T + level / found.n_rows) * weights
        which, influence = dominating_rows(*errors, hat, spread)
    return places[which], influence
