"""What a report is about: a fitted model, rows with their response, and how that response is cut."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from skewridge._typing import BoolArray, Data, FloatArray, IntArray
from skewridge._validation import check_integer, check_same_order, check_vector
from skewridge.advice.diagnose import diagnose
from skewridge.advice.explain import RawRows, drivers, raw_rows
from skewridge.metrics import figures, rare_region
from skewridge.response.slices import choose_rule, slice_labels
from skewridge.tables.out_of_range import Outside, outside_fit

COVERAGE = 0.9  # of intervals
MOST_BARS = 120  # slices that are shown one by one; more are shown in groups
SUPPORT = {"center_rows_": "centres", "knot_rows_": "knots"}  # rows that span the estimate, and what they are called


class ReportInput:
    """A model, the n rows that it is evaluated by, and the training response y_ref, which decides what is rare."""

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        y_ref: Any,
        slices: Any,
        output: int | None,
        baselines: Mapping[str, Any] | None,
        train: tuple[Any, Any] | None,
    ) -> None:
        check_same_order(X, y)
        self.model, self.X, self.output, self.train = model, X, output, train
        self.y = _one_output("y", y, output)
        self.predicted = _one_output("the prediction", model.predict(X), output)
        if len(self.predicted) != len(self.y):
            raise ValueError(f"X and y must have as many rows; got {len(self.predicted)} and {len(self.y)}.")
        self.error = self.predicted - self.y
        # the estimator that does the work, X as it gets them, and what its features are called
        self.fitted, self.inputs, self.features = _opened(model, X)
        self.risk: Any = getattr(self.fitted, "expected_error_", None)  # what it states for rows it has not seen
        columns = getattr(y, "columns", None)
        name = getattr(y, "name", None) if columns is None else list(columns)[output or 0]
        self.target = "y" if name is None else str(name)

        self.y_ref = self.y if y_ref is None else _one_output("y_ref", y_ref, output)
        self.seen = _fitted_rows(self.fitted, self.inputs, self.y)  # None where the model does not remember
        # whether y_ref is the response that was fitted
        self.knows_training = (y_ref is not None or bool(self.seen)) and _may_be_training(self.fitted, len(self.y_ref))
        self.rule: Any = choose_rule(self.y_ref, _rule(self.fitted, slices, self.y_ref), np.ones(len(self.y_ref)))
        self.diagnosis = diagnose(self.y_ref, slices=self.rule, n_nodes=1)
        self.sliced = bool(np.count_nonzero(self.diagnosis.counts) > 1)  # or nothing can be rare
        self.rare = rare_region(self.y, self.y_ref, slices=self.rule) & self.sliced
        self.predicted_rare = rare_region(self.predicted, self.y_ref, slices=self.rule) & self.sliced
        # by what names of their errors begin with
        self.regions = {"": np.ones(len(self.y), dtype=bool), "rare_": self.rare}
        self.baselines = {"the mean": np.full(len(self.y), self.y_ref.mean())}
        for name, values in (baselines or {}).items():
            self.baselines[str(name)] = check_vector(f"baseline {name!r}", values, len(self.y))

    @cached_property
    def methods(self) -> list[Data]:
        """The errors of the model, and of every baseline."""
        named = [(type(self.fitted).__name__, self.predicted), *self.baselines.items()]
        return [{"name": name, **figures(self.y, values, self.rare)} for name, values in named]

    @cached_property
    def forecaster(self) -> Any:
        """The model with its errors on unseen rows, which intervals are made of; None where that takes further fits."""
        if not hasattr(self.fitted, "predict_interval"):
            return None
        if hasattr(self.fitted, "calibration_"):
            return self.fitted
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # intervals say it again
            return copy.copy(self.fitted).calibrate() if hasattr(self.fitted, "_left_out") else None

    @cached_property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """The ends of every row's interval, (n,) each."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # infinite ones are counted
            low, high = self.forecaster.predict_interval(self.inputs, COVERAGE)
        return low, high

    @cached_property
    def covered(self) -> BoolArray:
        """Which intervals hold the response, (n,)."""
        low, high = self.interval
        return (low <= self.y) & (self.y <= high)

    @cached_property
    def outside(self) -> list[Outside]:
        """The columns that put rows outside the range of the fit, by the columns of a lone TableEncoder."""
        model = getattr(self.model, "best_estimator_", self.model)
        alone = hasattr(model, "steps") and len(model.steps) == 2
        columns = getattr(model.steps[0][1], "columns_", ()) if alone else ()
        return outside_fit(self.fitted, self.inputs, self.features, columns)

    @cached_property
    def raw(self) -> RawRows:
        """The rows as they came, by column."""
        named = len(self.features) == np.shape(self.X)[1]
        return raw_rows(self.model, self.X, np.arange(len(self.y)), self.features if named else None)

    @cached_property
    def drivers(self) -> Data:
        """What drives the model, by column."""
        how = {"y_ref": self.y_ref, "slices": self.rule, "output": self.output}
        return drivers(self.model, self.raw.table, self.y, names=self.raw.names, **how)

    @cached_property
    def starts(self) -> IntArray:
        """The first slice of every bar: a slice, or a few neighbours with rows and the empty ones after them."""
        counts = self.diagnosis.counts
        if len(counts) <= MOST_BARS:
            return np.arange(len(counts))
        occupied = np.flatnonzero(counts)
        return np.r_[0, occupied[:: -(-len(occupied) // MOST_BARS)][1:]]

    def bars(self, values: FloatArray) -> IntArray:
        """The bar that every value of the response belongs to."""
        return np.searchsorted(self.starts, slice_labels(values, self.diagnosis.edges), side="right") - 1

    def bar_sums(self, values: FloatArray, weights: FloatArray | None = None) -> Any:
        """How many values every bar holds, or the sums of their weights."""
        return np.bincount(self.bars(values), weights, minlength=len(self.starts))


def has(fitted: Any, *paths: str) -> bool:
    """Whether attributes, or attributes of attributes, are there."""
    try:
        attrgetter(*paths)(fitted)
    except AttributeError:
        return False
    return True


def known(**parts: Any) -> Data:
    """The parts of a section that have something to say."""
    return {name: value for name, value in parts.items() if value is not None}


def _one_output(name: str, values: Any, output: int | None) -> FloatArray:
    """One response, as numbers."""
    shape = np.shape(values)
    if len(shape) == 2 and shape[1] > 1:
        if output is None:
            raise ValueError(
                f"A report tells of one response, and {name} has {shape[1]} columns. Pass output=0 for the first of "
                "them, output=1 for the second, and so on."
            )
        values = np.asarray(values)[:, check_integer("output", output, 0, shape[1] - 1)]
    return check_vector(name, values)


def _opened(model: Any, X: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """The estimator inside, the rows as it gets them, and what its features are called."""
    if hasattr(model, "best_estimator_"):
        return _opened(model.best_estimator_, X)
    if not hasattr(model, "steps"):
        numbered = [f"x{f}" for f in range(getattr(model, "n_features_in_", 0))]
        return model, X, tuple(str(name) for name in getattr(model, "feature_names_in_", numbered))
    before, last = model[:-1], model.steps[-1][1]
    if not len(before):
        return _opened(last, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predicting has said it already
        fitted, inputs, names = _opened(last, before.transform(X))
    with suppress(AttributeError):  # a step that names nothing
        names = tuple(str(name) for name in before.get_feature_names_out())
    return fitted, inputs, names


def _rule(fitted: Any, slices: Any, y_ref: FloatArray) -> Any:
    """The rule asked for; "auto" is the model's own where it cuts y into several slices, else "auto" of diagnose."""
    own = getattr(fitted, "slices", "auto")
    if not (isinstance(slices, str) and slices == "auto"):
        return slices
    if np.ndim(own) == 1:  # edges: the outer ones need not cover the rows that the model is evaluated by
        return np.r_[min(own[0], y_ref.min()), own[1:-1], max(own[-1], y_ref.max())]
    return "auto" if own == 1 else own


def _fitted_rows(fitted: Any, X: Any, y: FloatArray) -> bool | None:
    """Whether the rows that the model remembers stand at their places in X; None where it remembers none.

    Models that keep the responses of the fit, but no rows as they came, know rows by these.
    """
    if has(fitted, "oof_prediction_", "_left_out"):
        own = fitted._left_out[1]
        if len(own) == len(y):
            return bool(np.array_equal(own, y))
        values, counts = np.unique(own, return_counts=True)  # without rows of weight 0
        there = [np.count_nonzero(y == value) for value in values]
        return len(fitted.oof_prediction_) == len(y) and bool(np.all(counts <= there))
    remembered = next((getattr(fitted, name) for name in ("centers_", "knots_", "X_fit_") if has(fitted, name)), None)
    if remembered is None:
        return None
    rows = next((getattr(fitted, name) for name in SUPPORT if has(fitted, name)), np.arange(len(y)))
    if rows.max() >= len(y) or len(rows) != len(remembered):
        return False
    values = (X.iloc if hasattr(X, "iloc") else np.asarray(X))[rows]
    return np.array_equal(np.asarray(values, dtype=np.float64), remembered)


def _may_be_training(fitted: Any, n_rows: int) -> bool:
    """Whether the model can have been fitted to so many rows."""
    kept = [attrgetter(path)(fitted) for path in ("slices_.labels", "oof_prediction_") if has(fitted, path)]
    places = [getattr(fitted, name) for name in SUPPORT if has(fitted, name)]
    return all(len(one) == n_rows for one in kept) and all(rows.max() < n_rows for rows in places)
