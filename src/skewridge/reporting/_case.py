"""The subject of a report: a fitted model, rows with their response, and how that response is cut."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from skewridge._plain_data import plain
from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge._validation import check_integer, check_same_order, check_vector
from skewridge.advice.diagnose import Diagnosis, diagnose
from skewridge.metrics import rare_region
from skewridge.response.sampling import choose_rule
from skewridge.response.slices import slice_labels

COVERAGE = 0.9  # of intervals
MOST_BARS = 120  # slices that are shown one by one; more are shown in groups

SUPPORT = {"center_rows_": "centres", "knot_rows_": "knots"}  # rows that span the estimate, and what they are called

_REMEMBERED = (
    ("center_rows_", "centers_"),
    ("knot_rows_", "knots_"),
    ("center_rows_", "X_fit_"),
    (None, "X_fit_"),
)


@dataclass(frozen=True)
class Case:
    """A model and the rows that it is judged by.

    Attributes
    ----------
    model : as it was passed
    fitted : the estimator that does the work in it, whose fitted attributes are told
    X, y, predicted : rows, their response and the model's prediction
    inputs : X as the fitted estimator gets it
    output : which of several responses y is
    y_ref : the response that decides what is rare
    seen : whether the model was fitted to these rows; None where it does not remember
    knows_training : whether y_ref is the response that was fitted
    rule : how y_ref is cut
    diagnosis : what y_ref looks like
    features, target : names
    """

    model: Any
    fitted: Any
    X: Any
    inputs: Any
    output: int | None
    y: FloatArray
    predicted: FloatArray
    y_ref: FloatArray
    seen: bool | None
    knows_training: bool
    rule: Any
    diagnosis: Diagnosis
    features: tuple[str, ...]
    target: str

    @property
    def sliced(self) -> bool:
        """Whether anything can be rare: several slices hold rows."""
        return bool(np.count_nonzero(self.diagnosis.counts) > 1)

    @cached_property
    def rare(self) -> BoolArray:
        """Which rows are rare by their response; none where nothing can be."""
        return self._rare(self.y)

    @cached_property
    def predicted_rare(self) -> BoolArray:
        """Which rows are rare by their prediction."""
        return self._rare(self.predicted)

    def _rare(self, values: FloatArray) -> BoolArray:
        return rare_region(values, self.y_ref, slices=self.rule) & self.sliced

    @cached_property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """The ends of every row's interval, of the output that is judged."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # infinite ones are counted
            ends = self.fitted.predict_interval(self.inputs, COVERAGE)
        low, high = (values if values.ndim == 1 else values[:, self.output or 0] for values in ends)
        return low, high

    @cached_property
    def starts(self) -> IntArray:
        """The first slice of every bar: a slice, or a few neighbours with rows and the empty ones after them."""
        counts = self.diagnosis.counts
        if len(counts) <= MOST_BARS:
            return np.arange(len(counts))
        occupied = np.flatnonzero(counts)
        return np.r_[0, occupied[:: -(-len(occupied) // MOST_BARS)][1:]]

    def bars(self, values: FloatArray) -> IntArray:
        """Return the bar that every value of the response belongs to."""
        return np.searchsorted(self.starts, slice_labels(values, self.diagnosis.edges), side="right") - 1

    def bar_sums(self, values: FloatArray, weights: FloatArray | None = None) -> Any:
        """Return how many values every bar holds, or the sums of their weights."""
        return np.bincount(self.bars(values), weights, minlength=len(self.starts))


@dataclass(frozen=True)
class Part:
    """One part of a report: its name, the fitted attributes without which it is left out, and how it is told."""

    name: str
    needs: tuple[str, ...]
    tell: Callable[[Case], Any]

    def applies(self, case: Case) -> bool:
        """Whether the model has what the part needs."""
        return all(has(case.fitted, path) for path in self.needs)


def tell(parts: Iterable[Part], case: Case) -> dict[str, Any]:
    """Return every part that applies and has something to tell, as plain data."""
    told = {part.name: part.tell(case) for part in parts if part.applies(case)}
    return {name: plain(value) for name, value in told.items() if value is not None}


def has(fitted: Any, path: str) -> bool:
    """Whether an attribute, or an attribute of an attribute, is there."""
    try:
        attrgetter(path)(fitted)
    except AttributeError:
        return False
    return True


def make_case(model: Any, X: Any, y: Any, y_ref: Any = None, slices: Any = "auto", output: int | None = None) -> Case:
    """Predict the rows and cut the response."""
    check_same_order(X, y)
    target, column = _name_of(y, output), _column("y", y, output)
    predicted = _predicted(model, X, len(column), output)
    fitted, inputs, features = _opened(model, X)
    seen = _seen(fitted, inputs, column, output)
    reference = column if y_ref is None else _column("y_ref", y_ref, output)
    rule = choose_rule(reference, _rule(fitted, slices, reference), np.ones(len(reference)))
    diagnosis = diagnose(reference, slices=rule, n_nodes=1)
    knows = (y_ref is not None or bool(seen)) and _may_be_training(fitted, len(reference))
    judged = (X, inputs, output, column, predicted)
    return Case(model, fitted, *judged, reference, seen, knows, rule, diagnosis, features, target)


def _column(name: str, values: Any, output: int | None) -> FloatArray:
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


def _name_of(y: Any, output: int | None) -> str:
    """The response's name, "y" where it has none."""
    columns = getattr(y, "columns", None)
    name = getattr(y, "name", None) if columns is None else list(columns)[output or 0]
    return "y" if name is None else str(name)


def _predicted(model: Any, X: Any, n_rows: int, output: int | None) -> FloatArray:
    predicted = _column("the prediction", model.predict(X), output)
    if len(predicted) != n_rows:
        raise ValueError(f"X and y must have as many rows; got {len(predicted)} and {n_rows}.")
    return predicted


def _opened(model: Any, X: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """The estimator inside, the rows as it gets them, and what its features are called."""
    if hasattr(model, "best_estimator_"):
        return _opened(model.best_estimator_, X)
    if not hasattr(model, "steps"):
        return model, X, _feature_names(model)
    before, last = model[:-1], model.steps[-1][1]
    if not len(before):
        return _opened(last, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predicting has said it already
        fitted, inputs, names = _opened(last, before.transform(X))
    with suppress(AttributeError):  # a step that names nothing
        names = tuple(str(name) for name in before.get_feature_names_out())
    return fitted, inputs, names


def table_columns(model: Any) -> tuple[Any, ...]:
    """The columns that a TableEncoder has learned, where it alone stands before the estimator."""
    model = getattr(model, "best_estimator_", model)
    alone = hasattr(model, "steps") and len(model.steps) == 2
    return tuple(getattr(model.steps[0][1], "columns_", ())) if alone else ()


def _seen(fitted: Any, X: Any, y: FloatArray, output: int | None) -> bool | None:
    """Whether the rows that the model remembers stand at their places in X; None where it remembers none.

    Models that keep the responses of the fit, but no rows as they came, know rows by these.
    """
    if has(fitted, "loo_prediction_") and has(fitted, "_honest"):
        own = fitted._honest[1][:, output or 0]
        if len(own) == len(y):
            return bool(np.array_equal(own, y))
        values, counts = np.unique(own, return_counts=True)  # without rows of weight 0
        there = [np.count_nonzero(y == value) for value in values]
        return len(fitted.loo_prediction_) == len(y) and bool(np.all(counts <= there))
    for places, points in _REMEMBERED:
        if has(fitted, points) and (places is None or has(fitted, places)):
            kept = getattr(fitted, points)
            rows = np.arange(len(kept)) if places is None else getattr(fitted, places)
            n_rows = np.shape(X)[0]
            if rows.max() >= n_rows or (places is None and len(kept) != n_rows):
                return False
            values = (X.iloc if hasattr(X, "iloc") else np.asarray(X))[rows]
            return np.array_equal(np.asarray(values, dtype=np.float64), kept)
    return None


def _may_be_training(fitted: Any, n_rows: int) -> bool:
    """Whether the model can have been fitted to so many rows."""
    if has(fitted, "slices_.labels") and len(fitted.slices_.labels) != n_rows:
        return False
    if has(fitted, "loo_prediction_") and len(fitted.loo_prediction_) != n_rows:
        return False
    return all(getattr(fitted, name).max() < n_rows for name in SUPPORT if has(fitted, name))


def _feature_names(fitted: Any) -> tuple[str, ...]:
    numbered = [f"x{f}" for f in range(getattr(fitted, "n_features_in_", 0))]
    return tuple(str(name) for name in getattr(fitted, "feature_names_in_", numbered))


def _rule(fitted: Any, slices: Any, y_ref: FloatArray) -> Any:
    """The rule asked for; "auto" is the model's own where it cuts y into several slices, else "auto" of diagnose."""
    own = getattr(fitted, "slices", "auto")
    if not (isinstance(slices, str) and slices == "auto"):
        return slices
    if np.ndim(own) == 1:  # edges: the outer ones need not cover the rows that the model is judged by
        return np.r_[min(own[0], y_ref.min()), own[1:-1], max(own[-1], y_ref.max())]
    return "auto" if own == 1 else own
