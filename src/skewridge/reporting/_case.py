"""The subject of a report: a fitted model, rows with their response, and how that response is cut."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from skewridge._messages import plain
from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge._validation import check_integer, check_same_order, check_vector
from skewridge.advice.diagnose import Diagnosis, diagnose
from skewridge.advice.drivers import drivers
from skewridge.advice.learning_curve import learning_curve
from skewridge.advice.raw_rows import RawRows, raw_rows
from skewridge.metrics import rare_region
from skewridge.reporting._fitted_rows import has, may_be_training, seen_rows
from skewridge.response.sampling import choose_rule
from skewridge.response.slices import slice_labels

COVERAGE = 0.9  # of intervals
MOST_BARS = 120  # slices that are shown one by one; more are shown in groups


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
    baselines : what other methods predict of the rows, by name
    train : the rows that were fitted and their response, where they are told
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
    baselines: Mapping[str, FloatArray] = field(default_factory=dict)
    train: tuple[Any, Any] | None = None

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
    def forecaster(self) -> Any:
        """The model with its errors on unseen rows, which intervals are made of; None where that takes further fits."""
        if not hasattr(self.fitted, "predict_interval"):
            return None
        if hasattr(self.fitted, "calibration_"):
            return self.fitted
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # intervals say it again
            return copy.copy(self.fitted).calibrate() if hasattr(self.fitted, "_honest") else None

    @cached_property
    def raw(self) -> RawRows:
        """The rows as they came, by column."""
        named = len(self.features) == np.shape(self.X)[1]
        return raw_rows(self.model, self.X, np.arange(len(self.y)), self.features if named else None)

    @cached_property
    def drivers(self) -> dict[str, Any]:
        """What drives the model, by column."""
        how = {"y_ref": self.y_ref, "slices": self.rule, "output": self.output}
        return drivers(self.model, self.raw.table, self.y, names=self.raw.names, **how)

    @cached_property
    def learning(self) -> dict[str, Any] | None:
        """The errors of fits to fewer rows, where the rows of the fit were told."""
        if self.train is None:
            return None
        return learning_curve(self.model, *self.train, self.X, self.y, output=self.output)

    @cached_property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """The ends of every row's interval, of the output that is judged."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # infinite ones are counted
            ends = self.forecaster.predict_interval(self.inputs, COVERAGE)
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


def make_case(
    model: Any,
    X: Any,
    y: Any,
    y_ref: Any = None,
    slices: Any = "auto",
    output: int | None = None,
    baselines: Mapping[str, Any] | None = None,
    train: tuple[Any, Any] | None = None,
) -> Case:
    """Predict the rows and cut the response."""
    check_same_order(X, y)
    target, column = _name_of(y, output), _column("y", y, output)
    predicted = _predicted(model, X, len(column), output)
    fitted, inputs, features = _opened(model, X)
    seen = seen_rows(fitted, inputs, column, output)
    reference = column if y_ref is None else _column("y_ref", y_ref, output)
    rule = choose_rule(reference, _rule(fitted, slices, reference), np.ones(len(reference)))
    diagnosis = diagnose(reference, slices=rule, n_nodes=1)
    knows = (y_ref is not None or bool(seen)) and may_be_training(fitted, len(reference))
    others = {str(name): check_vector(f"baseline {name!r}", v, len(column)) for name, v in (baselines or {}).items()}
    return Case(
        model=model,
        fitted=fitted,
        X=X,
        inputs=inputs,
        output=output,
        y=column,
        predicted=predicted,
        y_ref=reference,
        seen=seen,
        knows_training=knows,
        rule=rule,
        diagnosis=diagnosis,
        features=features,
        target=target,
        baselines=others,
        train=train,
    )


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
