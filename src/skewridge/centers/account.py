"""What the choice of centres, bandwidth and penalty tells about itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.choosing import Chosen, Searched
from skewridge.centers.fit import LowRankModel
from skewridge.centers.judging import Verdict, pass_work
from skewridge.ridge.cg import is_solved


@dataclass(frozen=True)
class CenterTuning:
    """How centres, bandwidth and penalty were chosen.

    Attributes
    ----------
    criterion : "cv", with centres drawn inside the folds; "given" where nothing was to be chosen, "none" where fewer
        than 10 distinct rows or a constant y left nothing to choose by
    scoring : what the criterion aimed at
    chosen : a dict with kernel, n_centers, adapt, bandwidth, slice_on, features ("standard", also where they are taken
        as they are, or "learned"), penalty and risk; the risk is the held-out
        squared error over the variance of y, averaged over outputs
    penalty : the chosen penalty; where adaptive centres are clearly better than random ones and scoring is "mse", the
        smallest of those (up to two steps) that the folds cannot tell from the best
    dominant, pulls : rows that dominate the fit, the culprit first, and by how many typical residuals each moves the
        fitted values in all
    tried : a list of dicts like ``chosen``, in the order tried
    penalties, values, margins : (P,) arrays, the chosen candidate's risk along the penalties and its standard error
        between folds
    at_edge : ("penalty",) where the largest penalty was chosen, else ()
    n_fits : what the choice cost, in fits with the chosen number of centres to the rows it was made on
    cost : in mean squared error, of another scoring; see :class:`~skewridge.nodes.tuning.Tuning`
    """

    criterion: str
    scoring: str
    chosen: dict[str, Any]
    penalty: float
    dominant: IntArray
    pulls: FloatArray
    tried: list[dict[str, Any]] = field(default_factory=list)
    penalties: FloatArray = field(default_factory=lambda: np.empty(0))
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    margins: FloatArray = field(default_factory=lambda: np.empty(0))
    at_edge: tuple[str, ...] = ()
    n_fits: float = 0.0
    cost: dict[str, float] | None = None


def tell(chosen: Chosen, model: LowRankModel, kept: IntArray, scoring: str, units: FloatArray) -> CenterTuning:
    """Return what was tried, in the units of y; ``kept`` are the places of the rows in the data."""
    features = "standard" if chosen.multipliers is None else "learned"
    picked = {**vars(chosen.candidate), "features": features, "penalty": chosen.penalty}
    told = CenterTuning(
        "none" if chosen.wanted else "given", scoring, picked, chosen.penalty, kept[model.dominant], model.pulls
    )
    verdict, searched = chosen.verdict, chosen.searched
    if verdict is None or searched is None:
        return told
    fit = pass_work(len(searched.rows), len(model.rows))
    return replace(
        told,
        criterion="cv",
        chosen={**picked, "risk": verdict.risk},
        tried=[
            {**vars(v.candidate), "features": features, "penalty": v.penalty, "risk": v.risk}
            for features, v in searched.verdicts
        ],
        penalties=verdict.penalties,
        values=verdict.curve,
        margins=verdict.margins,
        at_edge=("penalty",) if 0 < np.argmin(verdict.curve) == len(verdict.curve) - 1 else (),
        n_fits=searched.flops / fit,
        cost=None if scoring == "mse" else _cost(verdict, searched, units),
    )


def _cost(verdict: Verdict, searched: Searched, units: FloatArray) -> dict[str, float]:
    """What aiming at the scores costs in mean squared error against all that was tried, and the bias it brings."""
    plain = float(verdict.plain.mean(axis=0)[verdict.place])
    best = min(float(v.plain.mean(axis=0).min()) for _, v in searched.verdicts)
    scale = float(np.mean(searched.rows.scale * units**2))
    bias = float(verdict.biases.mean(axis=0)[verdict.place]) * float(np.sqrt(scale))
    return {"mse": plain * scale, "best_mse": best * scale, "ratio": plain / best, "bias": bias}


def concerns(tuning: CenterTuning, model: LowRankModel) -> Iterator[str]:
    """What a user should know of a fit: a choice at the edge, a solver that gave up, rows that dominate."""
    if "penalty" in tuning.at_edge:
        yield (
            f"The chosen penalty ({tuning.penalty:.3g}) is the largest that was tried: the features hardly explain "
            "y. See tuning_; pass a penalty to go beyond."
        )
    if model.n_steps is not None and not is_solved(model.n_steps, model.precision):
        yield (
            f"Conjugate gradients ended after {model.n_steps} steps with {model.precision:.1e} of the first "
            "error left, and predictions may be off by much more. Very unequal weights or a tiny penalty may be why. "
            "Take solver='direct', or raise the penalty."
        )
    if len(tuning.dominant):
        rows = ", ".join(str(row) for row in tuning.dominant)
        yield (
            f"Rows {rows} dominate the fit: row {tuning.dominant[0]} alone moves the fitted values by "
            f"{tuning.pulls[0]:.3g} typical residuals in all. Squared errors follow such rows wherever the "
            "centres are. If they are wrong, correct them, drop them or give them a sample_weight of 0; if they "
            "are right, a transformed response (log, asinh) may serve better."
        )
