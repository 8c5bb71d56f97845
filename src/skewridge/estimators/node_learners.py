"""A clone of any regressor for a node: its seeds, its fit, and scikit-learn's configuration on its thread."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from sklearn import config_context, get_config
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from skewridge.estimators.any_rows import AnyRows
from skewridge.nodes.sample_weights import inside, is_composed, weights_name

Item = TypeVar("Item")
Result = TypeVar("Result")


def accepted_arrays(estimator: Any) -> dict[str, Any]:
    """The kinds of arrays that an estimator takes, as scikit-learn's validation is told them."""
    tags = get_tags(estimator).input_tags
    gaps = tags.allow_nan or is_composed(estimator)  # which may fill them
    sparse, finite = "csr" if tags.sparse else False, "allow-nan" if gaps else True
    return {"accept_sparse": sparse, "dtype": None, "ensure_all_finite": finite}


def fit_learner(estimator: Any, rows: AnyRows, node: int) -> Any:
    """Fit an estimator to the rows of a node; errors say which it was."""
    weights = {} if rows.weights is None else {str(weights_name(estimator)): rows.weights}
    try:
        estimator.fit(rows.X, rows.y, **rows.metadata, **weights)
    except Exception as error:
        error.add_note(f"Raised by {type(estimator).__name__}.fit on node {node}, which has {len(rows.y)} rows.")
        raise
    return estimator


def seeded(estimator: Any, seed: int) -> Any:
    """Set every seed that an estimator leaves open, its own and nested ones, each to another number.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> seeded(RandomForestRegressor(), 0).random_state == seeded(RandomForestRegressor(), 0).random_state
    True
    """
    params = sorted(estimator.get_params(deep=True).items())
    random = np.random.default_rng(seed)
    free = [
        name for name, value in params if name.split("__")[-1] == "random_state" and not isinstance(value, Integral)
    ]
    return estimator.set_params(**{name: int(random.integers(2**31 - 1)) for name in free})


def encodes_tables(estimator: Any) -> bool:
    """True if the first that sees the rows may turn times into numbers.

    scikit-learn's own learners and transformers take them for counts of nanoseconds, all but those that hand columns on
    to others.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from skewridge import TableEncoder
    >>> encodes_tables(Ridge()), encodes_tables(make_pipeline(TableEncoder(), Ridge()))
    (False, True)
    """
    if isinstance(estimator, Pipeline):
        return encodes_tables(estimator.steps[0][1])
    within = inside(estimator)
    if within is not None:
        return encodes_tables(within)
    hands_on = isinstance(estimator, ColumnTransformer | FunctionTransformer | FeatureUnion)
    return hands_on or type(estimator).__module__.partition(".")[0] != "sklearn"


def as_configured(task: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """The task with scikit-learn's configuration of this thread, on whatever thread it runs."""
    config = get_config()

    def configured(item: Item) -> Result:
        with config_context(**config):
            return task(item)

    return configured
