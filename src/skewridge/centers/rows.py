"""The rows of a fit on centres and its settings: responses in units of their size, distinct rows as candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData
from skewridge.features.forms import FeatureForms
from skewridge.features.scaling import prediction_bounds, unit_responses
from skewridge.kernels import BANDWIDTH_FREE
from skewridge.response.candidates import CandidateRows, candidate_rows, member_sums
from skewridge.ridge.learn_scales import N_STEPS, LearnedKernel

SAMPLE_ROWS = 50_000  # scales are learned, and candidates cross-validated, on so many at most
FEWEST_ROWS = 10  # nothing is chosen by fewer distinct rows

Bounds = str | tuple[float | None, float | None] | None  # "auto", none, or the ends
Collapsed = tuple[FloatArray, FloatArray, FloatArray]  # mean responses (n, 1), weights (n,), squares within (n,)


@dataclass(frozen=True)
class CenterSettings:
    """The settings of a fit on centres, as AdaptiveKernelRidge has them; None is to be chosen.

    ``forms`` of the columns are taken instead of the rows' own, ``learned`` over all of these instead of learning;
    ``guides`` is for :func:`~skewridge.centers.cross_fit.cross_fit`, whose values local fits see and correct: fewer
    candidates, and only halves are fitted.
    """

    n_centers: int | None = None
    adapt: float | None = None
    slices: object = "auto"
    kernels: tuple[str, ...] = ("matern32",)
    bandwidth: float | str = "auto"
    degree: int = 3
    penalty: float | str = "auto"
    fit_intercept: bool = True
    scale_features: str | None = "learn"
    solver: str = "auto"
    bounds: Bounds = "auto"
    forms: FeatureForms | None = None
    learned: LearnedKernel | None = None
    guides: bool = False
    n_steps: int = N_STEPS

    @property
    def cross_validates(self) -> bool:
        """True if folds have something to choose."""
        given = self.n_centers is not None and self.adapt is not None and len(self.kernels) == 1
        return not given or self.penalty == "auto"

    @property
    def chooses(self) -> bool:
        """True if anything is chosen, or scales or a bandwidth learned."""
        learns = self.scale_features == "learn" or self.bandwidth == "auto"
        return self.cross_validates or (learns and not set(self.kernels) <= set(BANDWIDTH_FREE))


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit, X (N, d) as they came, and responses Y (N, 1), y = Y * units + means.

    weights (N,), how often a row occurs; scores (N,), how much its squared error counts, None: all alike; means, units
    (1,); low, high (1,), what predictions of Y stay between; can_choose, if there are enough rows, and responses that
    differ, to choose anything by.
    """

    X: RowData
    Y: FloatArray
    weights: FloatArray
    scores: FloatArray | None
    candidates: CandidateRows
    means: FloatArray
    units: FloatArray
    low: FloatArray
    high: FloatArray
    can_choose: bool
    seed: int


def training_rows(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    settings: CenterSettings,
    *,
    seed: int,
    scores: FloatArray | None = None,
    groups: IntArray | None = None,
) -> TrainingRows:
    """Find the distinct rows and put responses, (N, 1), in units of their size, centred where there is an intercept."""
    unit, means, units = unit_responses(Y, weights, settings.fit_intercept)
    low, high = prediction_bounds(settings.bounds, unit, means, units)
    candidates = candidate_rows(X, Y, weights, settings.slices, seed, groups=groups)
    can_choose = len(candidates) >= FEWEST_ROWS and bool(np.ptp(unit, axis=0).any())
    return TrainingRows(X, unit, weights, scores, candidates, means, units, low, high, can_choose, seed)


def collapse(candidates: CandidateRows, Y: FloatArray, weights: FloatArray, places: IntArray) -> Collapsed:
    """Collapse rows with equal x, at some places: sum w_i (y_i - f)^2 = W (mean - f)^2 + within for every f.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y, w = np.zeros((2, 1)), np.array([[1.0], [3.0]]), np.ones(2)
    >>> collapse(candidate_rows(X, Y, w, "scott", seed=0), Y, w, np.arange(1))
    (array([[2.]]), array([2.]), array([2.]))
    """
    if len(candidates) == len(Y):
        rows = candidates.rows[places]
        return Y[rows], weights[rows], np.zeros(len(rows))
    means = candidates.means(Y, weights)
    squares = weights * (Y - means[candidates.member])[:, 0] ** 2
    totals, within = (member_sums(candidates.member, values) for values in (weights, squares))
    return means[places], totals[places], within[places]
