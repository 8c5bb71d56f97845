"""The layouts of columns' forms, and of a fit on centres that sees them.

Letters of lengths: d columns, D features that the kernel sees, m centres, p outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge.centers.model import GlobalModel
from skewridge.features.rank_forms import FeatureForms
from skewridge.features.scaled_forms import ScaledForms
from skewridge.features.scaling import Scaling
from skewridge.persist._compound import Items, OneOf, Record
from skewridge.persist._layouts import Bools, Floats, Ints, Length, Number
from skewridge.persist._regressors import kernel_layout

END = Number(-np.inf, np.inf)


def width_of(transform: Any) -> int:
    """How many columns a Scaling, forms or scaled forms take."""
    forms = getattr(transform, "forms", transform)
    return forms.n_columns if hasattr(forms, "n_columns") else len(forms.scale)


def _forms_hold(forms: FeatureForms) -> bool:
    """Whether every form has ascending knots, at least two, and a score for each."""
    if not len(forms.knots) == len(forms.scores) == len(forms):
        return False
    pairs = zip(forms.knots, forms.scores, strict=True)
    return all(len(k) == len(s) > 1 and bool((np.diff(k) > 0).all()) for k, s in pairs)


def _global_holds(model: GlobalModel) -> bool:
    """Whether centres are as wide as transformed rows."""
    transform = model.transform
    width = len(transform.scales) if hasattr(transform, "scales") else len(transform.scale)
    return model.centers.shape[1] == width


SCALING = Record(Scaling, {"shift": Floats("d"), "scale": Floats("d")})
FORMS = Record(
    FeatureForms,
    {
        "n_columns": Length("d"),
        "columns": Ints("D", below="d"),
        "ranked": Bools("D"),
        "knots": Items(Floats("*"), tuple),
        "scores": Items(Floats("*"), tuple),
    },
    holds=_forms_hold,
)
SCALED_FORMS = Record(ScaledForms, {"forms": FORMS, "scales": Floats("D")})
GLOBAL = Record(
    GlobalModel,
    {
        "transform": OneOf((SCALING, SCALED_FORMS)),
        "centers": Floats("m *"),
        "coef": Floats("p m"),
        "kernel": kernel_layout("*"),
        "intercepts": Floats("p"),
        "low": Floats("p", finite=False),
        "high": Floats("p", finite=False),
        "means": Floats("p"),
        "units": Floats("p"),
    },
    holds=_global_holds,
    alone=True,
)
