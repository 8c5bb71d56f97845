"""The ``tuning_`` record of AdaptiveKernelRidge, and its warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skewridge._messages import row_name
from skewridge._typing import FloatArray, IntArray
from skewridge.centers.cross_validation import CVScore, pass_work
from skewridge.centers.ladder import Choice
from skewridge.centers.model import LowRankModel
from skewridge.ridge.cg import is_solved


@dataclass(frozen=True)
class CenterTuning:
    """How centres, bandwidth and penalty were chosen.

    Attributes
    ----------
    criterion : "cv", with centres drawn inside the folds; "given" where folds had nothing to
        choose, "none" where fewer than 10 distinct rows or a constant y left nothing to choose by
    scoring : what learning and choosing aimed at
    chosen : a dict with kernel, n_centers, adapt, bandwidth, features ("standard", also where they
        are taken as they are, or "learned"), penalty and risk; the risk is the squared error of
        rows outside the fit over the variance of y, averaged over outputs
    penalty : the chosen penalty
    dominant, pulls : rows that dominate the fit, the culprit first, and by how many typical
        residuals each moves the fitted values in all; not looked for where local fits correct it
    tried : a list of dicts like ``chosen``, in the order tried
    penalties, values, margins : (P,) arrays, the chosen candidate's risk along the penalties and
        its standard error between folds
    at_edge : ("penalty",) where the largest penalty was chosen, else ()
    n_fits : what the ladder cost, in fits with the chosen number of centres to its rows
    cost : in mean squared error, of another scoring; see :class:`~skewridge.nodes.tuning.Tuning`
    """

    criterion: str
    scoring: str
    chosen: dict[str, Any]
    penalty: float
    dominant: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    pulls: FloatArray = field(default_factory=lambda: np.empty(0))
    tried: list[dict[str, Any]] = field(default_factory=list)
    penalties: FloatArray = field(default_factory=lambda: np.empty(0))
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    margins: FloatArray = field(default_factory=lambda: np.empty(0))
    at_edge: tuple[str, ...] = ()
    n_fits: float = 0.0
    cost: dict[str, float] | None = None


def describe(
    choice: Choice,
    n_centers: int,
    units: FloatArray,
    n_sample: int,
    scoring: str,
) -> CenterTuning:
    """Return what was tried and chosen, in the units of y, on a sample of so many rows; so many centres were kept."""
    chosen = {**vars(choice.candidate), "features": choice.features, "penalty": choice.penalty}
    tuning = CenterTuning(
        criterion=choice.criterion,
        scoring=scoring,
        chosen=chosen,
        penalty=choice.penalty,
    )
    best = choice.best
    if best is None:
        return tuning
    one_fit = pass_work(n_sample, n_centers)
    at_edge = 0 < best.place == len(best.curve) - 1
    return replace(
        tuning,
        chosen={**chosen, "risk": best.risk},
        tried=[_as_dict(features, score) for features, score in choice.scores],
        penalties=best.penalties,
        values=best.curve,
        margins=best.margins,
        at_edge=("penalty",) if at_edge else (),
        n_fits=sum(score.work for _, score in choice.scores) / one_fit,
        cost=None if scoring == "mse" else _cost(best, choice, units),
    )


def _as_dict(features: str, score: CVScore) -> dict[str, Any]:
    way = vars(score.candidate)
    return {**way, "features": features, "penalty": score.penalty, "risk": score.risk}


def _cost(best: CVScore, choice: Choice, units: FloatArray) -> dict[str, float]:
    """The price of another scoring in mean squared error against all candidates, and its bias."""
    plain = float(best.plain.mean(axis=0)[best.place])
    least = min(float(score.plain.mean(axis=0).min()) for _, score in choice.scores)
    scale = float(np.mean(np.asarray(choice.scale) * units**2))
    bias = float(best.biases.mean(axis=0)[best.place]) * float(np.sqrt(scale))
    return {
        "mse": plain * scale,
        "best_mse": least * scale,
        "ratio": plain / least,
        "bias": bias,
    }


def concerns(tuning: CenterTuning, model: LowRankModel, unlearned: bool) -> Iterator[str]:
    """Yield warnings about a fit: nothing learned, an edge, a solver that gave up, rows that dominate."""
    if unlearned:
        yield (
            "No step of learning the features' scales could be used, so that all have the starting "
            "value, 1 / median distance: kernel matrices were singular or not finite. Look for "
            "columns of extreme values, or take scale_features='standard' with a bandwidth."
        )
    if "penalty" in tuning.at_edge:
        yield (
            f"The chosen penalty ({tuning.penalty:.3g}) is the largest that was tried: the "
            "features hardly explain y. See tuning_; pass a penalty to go beyond."
        )
    if model.n_steps is not None and not is_solved(model.n_steps, model.precision):
        yield (
            f"Conjugate gradients ended after {model.n_steps} steps with {model.precision:.1e} of "
            "the first error left, and predictions may be off by much more. Very unequal weights "
            "or a tiny penalty may be why. Take solver='direct', or raise the penalty."
        )
    if len(tuning.dominant):
        rows = [row_name(row) for row in tuning.dominant]
        yield (
            f"Rows {', '.join(rows)} dominate the fit: row {rows[0]} alone moves the fitted values "
            f"by {tuning.pulls[0]:.3g} typical residuals in all. Squared errors follow such rows "
            "wherever the centres are. If they are wrong, correct them, drop them or give them a "
            "sample_weight of 0; if they are right, a transformed response (log, asinh) may serve "
            "better."
        )
