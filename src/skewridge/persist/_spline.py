"""The layout of smoothing splines in files.

Letters of lengths: d features, q knots, t terms, b of them in use, u fitted features, o free functions, f of them in
use, g of those independent, w and s directions of the posterior.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge.estimators.spline import SmoothingSpline
from skewridge.persist._compound import Items, Record
from skewridge.persist._errors import NAMES, errors_hold
from skewridge.persist._estimator import Estimator
from skewridge.persist._layouts import Field, Floats, Ints, Length, Number
from skewridge.persist._regressors import BOUNDS, FLAG, INTERVALS, TEXT, WHOLE
from skewridge.splines.fit import SplineFit
from skewridge.splines.sums import Features, Free
from skewridge.splines.terms import PARTS, Domain, Model

ANY = Number(loose=True)


def _model_holds(model: Model) -> bool:
    """Whether free functions are products of features, and terms of parts of features."""
    return _are_tuples(model.free) and _are_tuples(model.terms) and all(map(_is_free, model.free)) and _are_terms(model)


def _are_tuples(value: Any) -> bool:
    return type(value) is tuple and all(type(item) is tuple for item in value)


def _is_free(features: tuple[Any, ...]) -> bool:
    return all(type(f) is int and f >= 0 for f in features)


def _are_terms(model: Model) -> bool:
    factors = [factor for term in model.terms for factor in term]
    pairs = all(type(factor) is tuple and len(factor) == 2 for factor in factors)
    return (
        pairs
        and all(1 <= len(term) <= 2 for term in model.terms)
        and _is_free(tuple(f for f, _ in factors))
        and all(type(part) is str and part in PARTS for _, part in factors)
    )


def _features_hold(features: Features) -> bool:
    """Whether every term has a factor as large as the knots that it keeps, and its features follow the last one's."""
    sizes = [len(kept) for kept in features.kept]
    shapes = [factor.shape for factor in features.factors]
    starts = np.cumsum([0, *sizes])
    return (
        len(sizes) == len(features.model.terms)
        and shapes == [(n, n) for n in sizes]
        and np.array_equal(features.starts, starts)
    )


def _fit_holds(fit: SplineFit) -> bool:
    """Whether every feature of the model has knots, and every fitted feature a coefficient."""
    models = (fit.features.model, fit.free.model)
    used = [f for model in models for features in model.free for f in features]
    used += [f for model in models for term in model.terms for f, _ in term]
    width = fit.features.knots.shape[1]
    return max(used, default=-1) < width and len(fit.loads) == len(fit.features) and len(fit.free.model.free) > 0


def _spline_holds(model: Any) -> bool:
    """Whether parameters are valid, and errors are those of the model's rows."""
    model._check_parameters()
    return not hasattr(model, "n_features_in_") or errors_hold(model)


MODEL = Record(Model, {"free": Field(), "terms": Field()}, holds=_model_holds)
FEATURES = Record(
    Features,
    {
        "model": MODEL,
        "places": Ints("b"),
        "knots": Floats("q d"),
        "kept": Items(Ints("*", below="q"), tuple),
        "factors": Items(Floats("* *"), tuple),
        "starts": Ints("b+1"),
    },
    holds=_features_hold,
)
FIT = Record(
    SplineFit,
    {
        "features": FEATURES,
        "free": Record(Free, {"model": MODEL, "basis": Floats("f g")}),
        "theta": Floats("b"),
        "penalty": Number(0),
        "loads": Floats("u"),
        "free_coef": Floats("g"),
        "coef": Floats("q"),
        "gcv": ANY,
        "dof": ANY,
        "noise": ANY,
        "n_steps": WHOLE,
        "converged": FLAG,
        "spread": Floats("u w"),
        "free_spread": Floats("g s"),
    },
    holds=_fit_holds,
)
SMOOTHING_SPLINE = Estimator(
    SmoothingSpline,
    {
        "terms_": Items(TEXT),
        "free_terms_": Items(TEXT),
        "theta_": Floats("t"),
        "penalty_": Number(0),
        "knots_": Floats("q d"),
        "knot_rows_": Ints("q"),
        "coef_": Floats("q"),
        "null_coef_": Floats("o"),
        "gcv_": ANY,
        "dof_": ANY,
        "sigma2_": ANY,
        "n_iter_": WHOLE,
        "n_features_in_": Length("d"),
        "_domain": Record(Domain, {"low": Floats("d"), "span": Floats("d")}),
        "_fit": FIT,
        "_unit": Number(),
        "_mean": Number(),
        **INTERVALS,
    },
    optional={**NAMES, **BOUNDS},
    holds=_spline_holds,
)
