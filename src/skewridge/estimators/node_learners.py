"""A clone of any regressor for a node: its seeds, its fit, and scikit-learn's configuration on its thread."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from sklearn import config_context, get_config

from skewridge.estimators.any_rows import AnyRows
from skewridge.nodes.sample_weights import weights_name

Item = TypeVar("Item")
Result = TypeVar("Result")


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


def as_configured(task: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """The task with scikit-learn's configuration of this thread, on whatever thread it runs."""
    config = get_config()

    def configured(item: Item) -> Result:
        with config_context(**config):
            return task(item)

    return configured
