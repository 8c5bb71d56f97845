"""The base of every estimator: its parameters and rows are checked, it runs as these say, and adopts a fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, ClassVar, Literal, ParamSpec, Self, TypeVar, overload

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from skewridge._typing import AnyFloatArray, FloatArray, IntArray, Prediction
from skewridge._validation import (
    check_bytes,
    check_choice,
    check_flag,
    check_integer,
    check_magnitude,
    check_one_column,
    check_plain,
    check_real,
    check_same_order,
    columns_with_times,
    is_auto,
    is_lazy,
    warn_user,
)
from skewridge.estimators.intervals import RUNNING, IntervalMixin, check_in_memory
from skewridge.estimators.sources import predict_collection
from skewridge.estimators.summaries import NotebookMixin
from skewridge.execution.chunked import Table
from skewridge.execution.context import running
from skewridge.execution.passes import check_rows
from skewridge.features.scaling import constant_outputs, prediction_bounds
from skewridge.io.sources import engine_for, open_source
from skewridge.kernels import BANDWIDTH_FREE, MAX_DEGREE
from skewridge.metrics import SCORINGS, row_scores
from skewridge.response.groups import RowGroups, coded_labels, ordered_blocks, row_groups
from skewridge.response.slices import check_slice_rule, choose_rule, slice_edges

Parameters = ParamSpec("Parameters")
Fitted = TypeVar("Fitted")
Check = Callable[[str, Any], object]  # of a parameter's name and value: raises unless it is valid

PRECISIONS = [np.float64, np.float32]  # float32 stays; all else becomes float64
SHOWN = 5  # columns that a message lists
OF_AN_EARLIER_FIT = ("_fitted_rows", "_together", "_error_model", "_expansion")


# Parameters


def whole(low: int, high: int | None = None, *, auto: bool = False) -> Check:
    """An integer in [low, high], or "auto"."""
    also = " or 'auto'" if auto else ""
    return lambda name, value: (auto and is_auto(value)) or check_integer(name, value, low, high, also=also)


def real(low: float, high: float = np.inf, *, auto: bool = False) -> Check:
    """A number in [low, high], or "auto"."""
    also = " or 'auto'" if auto else ""
    return lambda name, value: (auto and is_auto(value)) or check_real(name, value, low, high, also=also)


def positive(*names: str, also: str) -> Check:
    """A positive number, or one of some names."""
    return lambda name, value: (
        check_choice(name, value, names)
        if isinstance(value, str)
        else check_real(name, value, 0, open_low=True, also=also)
    )


def optional(check: Check) -> Check:
    """What a check lets pass, or None."""
    return lambda name, value: value is None or check(name, value)


def check_slices(name: str, rule: Any) -> None:
    """Refuse what is no way to cut the response, and not "auto"."""
    if not is_auto(rule):
        check_slice_rule(rule)


def check_bounds(name: str, bounds: Any) -> None:
    """Raise unless bounds are "auto", None, or (low, high), either of which may be None.

    Examples
    --------
    >>> check_bounds("bounds", (0.0, None))
    >>> check_bounds("bounds", (1.0, 0.0))
    Traceback (most recent call last):
    ValueError: bounds must be (low, high) with low < high; got (1.0, 0.0). Swap the ends.
    """
    if bounds is None or is_auto(bounds):
        return
    if not isinstance(bounds, tuple | list | np.ndarray) or np.shape(bounds) != (2,):
        raise TypeError(f"{name} must be 'auto', None or (low, high), or one end None; got {bounds!r}.")
    low, high = (None if end is None else check_real(name, end, -np.inf, also=" or None") for end in bounds)
    if low is not None and high is not None and not low < high:
        raise ValueError(f"{name} must be (low, high) with low < high; got {bounds!r}. Swap the ends.")


THREADS: dict[str, Check] = {
    "n_jobs": optional(partial(check_integer, low=-(2**31), also=" or None")),
    "verbose": lambda name, value: check_integer(name, int(value) if isinstance(value, bool) else value, 0),
}
MACHINE: dict[str, Check] = {"memory_limit": optional(check_bytes), **THREADS}
AIM: dict[str, Check] = {
    "scoring": lambda name, value: callable(value) or check_choice(name, value, SCORINGS),
    "bounds": check_bounds,
}
BANDWIDTH = positive("auto", "median", also=", 'median' or 'auto'")
KERNEL: dict[str, Check] = {"degree": whole(1, MAX_DEGREE), "fit_intercept": check_flag, **MACHINE}


def check_bandwidth(bandwidth: Any, kernels: Sequence[str]) -> None:
    """Refuse a bandwidth that is none, or that none of the kernels takes."""
    if not isinstance(bandwidth, str) and set(kernels) <= set(BANDWIDTH_FREE):
        raise ValueError(
            f"The {kernels[0]} kernel takes no bandwidth; got bandwidth={bandwidth!r}. Leave it at 'auto'."
        )
    BANDWIDTH("bandwidth", bandwidth)


def as_bounds(bounds: Any) -> str | tuple[float | None, float | None] | None:
    """Checked bounds as the algebra takes them."""
    if bounds is None or isinstance(bounds, str):
        return bounds
    low, high = bounds
    return None if low is None else float(low), None if high is None else float(high)


def bounds_of(bounds: Any, y: FloatArray) -> tuple[float, float] | None:
    """The ends that predictions of y, (N,), are clipped to; None: no clipping.

    Examples
    --------
    >>> import numpy as np
    >>> bounds_of("auto", np.array([0.0, 10.0]))
    (-1.0, 11.0)
    """
    if bounds is None:
        return None
    low, high = prediction_bounds(as_bounds(bounds), y[:, None], np.zeros(1), np.ones(1))
    return float(low[0]), float(high[0])


def scores_of(scoring: Any, y: FloatArray, weights: FloatArray) -> FloatArray | None:
    """How much every row counts, (N,), 1 on average; None where all rows count alike."""
    if scoring == "mse":
        return None
    scores = row_scores(scoring, y, weights)
    return np.asarray(scores / np.average(scores, weights=weights))


# Estimators


def runs(method: Callable[Parameters, Fitted]) -> Callable[Parameters, Fitted]:
    """Have an estimator's method run as its parameters say: threads, memory, and progress if asked for."""

    @wraps(method)
    def run_it(*given: Parameters.args, **more: Parameters.kwargs) -> Fitted:
        estimator: Any = given[0]
        with estimator._running(given[1] if len(given) > 1 else more.get("X")):
            return method(*given, **more)

    return run_it


class Shell(IntervalMixin, NotebookMixin, RegressorMixin, BaseEstimator):
    """Base of all regressors: checks by a table, threads, and a fit that leaves the estimator as it was if it fails."""

    _parameters: ClassVar[dict[str, Check]]
    _runs_with: ClassVar[dict[str, Any]] = {}  # how work runs whatever engine and checkpoint are in use
    _bounds: tuple[float, float] | None

    def _check_parameters(self) -> None:
        for name, check in self._parameters.items():
            check(name, getattr(self, name))

    def _running(self, X: Any = None) -> Any:
        """Run as the parameters say; rows in chunks where they are, unless they are collected here first."""
        limit = getattr(self, "memory_limit", None)
        n_bytes = None if limit is None else check_bytes("memory_limit", limit)
        engine = {"engine": engine_for(X)} if is_lazy(X) and not self._runs_with else {}
        return running(self.n_jobs, self.verbose, n_bytes, **engine, **self._runs_with)

    def _clipped(self, prediction: FloatArray) -> FloatArray:
        return prediction if self._bounds is None else np.clip(prediction, *self._bounds)

    def _adopt(self, checked: Any, X: Any, y: FloatArray, weights: FloatArray, **fitted: Any) -> Self:
        """Set what a fit to rows of positive weight has found, what was validated on a clone, and what errors need.

        Nothing else sets attributes of a fit; those of an earlier one are forgotten.
        """
        for name in [name for name in vars(self) if name.endswith("_") or name in OF_AN_EARLIER_FIT]:
            del self.__dict__[name]
        self.__dict__.update(
            {name: value for name, value in vars(checked).items() if name.endswith("_in_") and value is not None}
        )
        if isinstance(X, np.ndarray):  # the range of a table was found when it was checked
            self.feature_min_in_, self.feature_max_in_ = X.min(axis=0), X.max(axis=0)
        given = checked.get_params(deep=False)  # of a copy that nobody changes, for fits without some rows
        self._fitted_with = {name: value for name, value in given.items() if name not in RUNNING}
        self._response_edges = slice_edges(y, choose_rule(y, "auto", weights), weights)  # before it is calibrated
        self.__dict__.update(fitted)
        return self


class KernelEstimator(Shell):
    """A regressor of numbers: rows are checked, wherever they are."""

    kernel: Any
    _takes_tables = False  # rows in chunks
    _check_kernel: Callable[[str], Any]  # returns the name of a kernel, or raises
    _predict: Callable[[Any, bool], Prediction]  # of rows in memory

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> FloatArray: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...
    @overload
    def predict(self, X: Any, return_std: bool) -> Prediction: ...
    @runs
    def predict(self, X: Any, return_std: bool = False) -> Prediction:
        """Predict rows; values stay within ``bounds``.

        Parameters
        ----------
        X : (n, d) array or data frame
            A Dask array or frame is predicted as lazily as it is, but by SmoothingSpline.
        return_std : bool, default=False
            Whether to return standard deviations as well: of f given the data (AdaptiveKernelRidge and SmoothingSpline,
            a Gaussian process with the estimated noise), of the average given the inputs (DacKernelRidge), or of y
            given x, those of :meth:`predict_distribution` (SkewRidge and LocalKernelRidge).

        Returns
        -------
        prediction : (n,) array
        std : (n,) array, with ``return_std=True``
        """
        if not (self._takes_tables and is_lazy(X)):
            return self._predict(X, return_std)
        if return_std and self._keeps_left_out:
            check_in_memory(X)
        found: FloatArray = predict_collection(self, X)
        return found

    @property
    def _kernels(self) -> tuple[str, ...]:
        names = [self.kernel] if isinstance(self.kernel, str) else self.kernel
        return tuple(type(self)._check_kernel(name) for name in names)

    def _check_data(self, X: Any, y: Any) -> tuple[Self, Any, FloatArray]:
        """Validate on a clone, so that a fit that fails later leaves this estimator as it was.

        Dask collections are read where they are; estimators that check the size of what they fit collect rows here.
        """
        check_one_column(y, self)
        checked, check_size = clone(self), getattr(self, "_check_size", None)
        if self._takes_tables and is_lazy(X):
            y = y if is_lazy(y) or hasattr(y, "iloc") else np.asarray(y)
            X, y = open_source(X, y, check_size=check_size, read_again=check_size is None)
        elif self._takes_tables and is_lazy(y):
            y = y.compute()
        if isinstance(X, Table):
            rows = None if check_size is None else X.load()
            check_plain("y", y)
            y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64, order="C", input_name="y"), warn=True)
            check_consistent_length(X, y)
            _check_response(y)
            checked.feature_min_in_, checked.feature_max_in_ = check_rows(X, rows)
            checked.n_features_in_, checked._precision = X.shape[1], X.precision
            if X.names is not None:
                checked.feature_names_in_ = np.array(X.names, dtype=object)
            return checked, X if rows is None else rows, y
        refuse_raw(self, X)
        check_plain("X", X)
        check_plain("y", y)
        check_same_order(X, y)
        checked.column_labels_in_ = column_labels(X)
        if hasattr(y, "tocsr"):
            raise TypeError(f"y must be a dense array; got {type(y).__name__}, a sparse one. Pass y.toarray().")
        X, y = validate_data(checked, X, y, dtype=PRECISIONS, order="C", y_numeric=True)
        check_magnitude("X", X)
        checked._precision = X.dtype
        y = np.array(y, dtype=np.float64, order="C")  # texts of numbers, too; sums round by memory order
        _check_response(y)
        return checked, X.astype(np.float64), y

    def _check_new(self, X: Any) -> AnyFloatArray:
        check_is_fitted(self)
        check_plain("X", X)
        check_labels(self, X)
        X = np.require(validate_data(self, X, dtype=PRECISIONS, order="C", reset=False), requirements=["C", "A"])
        check_magnitude("X", X)
        return X


def _check_response(y: FloatArray) -> None:
    """Refuse numbers whose squares overflow; warn of a response that varies by no more than rounding."""
    check_magnitude("y", y)
    if constant_outputs(y[:, None])[0] and np.ptp(y) > 0.0:
        warn_user(
            f"y varies by {np.ptp(y):.2g} about {y[0]:.6g}, which is rounding of numbers of that size: "
            "nothing but its level can be fitted. Subtract a constant from y before it is rounded."
        )


# Tables, groups and orders


def column_labels(X: Any) -> Any:
    """The labels of a pandas frame's columns, as texts; None where all are texts, which names are, or there are none.

    scikit-learn compares labels that are texts, and lets others pass in any order.
    """
    columns: Any = getattr(X, "columns", None)
    if not hasattr(X, "iloc") or not hasattr(columns, "tolist"):
        return None
    labels = columns.tolist()
    texts = all(isinstance(label, str) for label in labels)
    return None if texts else np.array([repr(label) for label in labels], dtype=object)


def check_labels(fitted: Any, X: Any) -> None:
    """Refuse a frame whose columns have the labels of the fit in another order."""
    before, now = getattr(fitted, "column_labels_in_", None), column_labels(X)
    if before is None or now is None or np.array_equal(before, now) or sorted(before) != sorted(now):
        return
    place = next(i for i, (one, other) in enumerate(zip(before, now, strict=True)) if one != other)
    raise ValueError(
        f"X must have its columns in the order of the fit: expected {before[place]} at place {place}, "
        f"got {now[place]}. Reorder them, or drop the labels with to_numpy()."
    )


def refuse_raw(estimator: Any, X: Any) -> None:
    """Raise for a data frame with columns of text, dates or times; what it says can be pasted.

    Lazy collections are checked where they are read.
    """
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        X = X.to_pandas()  # a table of pyarrow
    if not hasattr(X, "columns") or type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):
        return
    times = columns_with_times(X)
    texts = [str(name) for name in _texts(X) if str(name) not in times]
    found = [
        f"{what} in {', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''}"
        for what, names in (("dates, times or durations", times), ("text", texts))
        if names
    ]
    if found:
        raise TypeError(
            f"X must hold numbers; got {' and '.join(found)}. Encode the table and fit it by these two lines:\n\n"
            f"from skewridge import {type(estimator).__name__}, make_table_model\n"
            f"model = make_table_model({' '.join(repr(estimator).split())}).fit(X, y)"
        )


def _texts(X: Any) -> list[Any]:
    """The columns of a frame that hold a text that is no number."""
    if not hasattr(X, "iloc"):  # polars
        return [name for name in X.columns if str(X[name].dtype) in ("String", "Utf8", "Categorical", "Enum")]
    import pandas as pd

    found = []
    for place, name in enumerate(X.columns):
        column = X.iloc[:, place]
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(object)
        if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
            words = column[column.map(lambda value: isinstance(value, str))]
            if pd.to_numeric(words, errors="coerce").isna().any():
                found.append(name)
    return found


def dependence_of(
    X: Any, groups: Any, order: Any, kept: IntArray, n_rows: int, weights: FloatArray | None = None
) -> RowGroups | None:
    """Rows that are left out together, of those that are kept; None where every row is on its own.

    Parameters
    ----------
    X : the rows as they were given, whose index labels must not contradict
    groups, order : one label, or one place, for every row of X; at most one of them is given
    kept : (k,) array, rows of positive weight
    weights : (k,) array, how often each of them occurs; None: once
    """
    if groups is None and order is None:
        return None
    if groups is not None and order is not None:
        raise ValueError(
            "groups and order cannot both be given: rows are left out with their group, or predicted by "
            "earlier ones. Give the one that tells how new rows come: in new groups, or later."
        )
    if groups is not None:
        return row_groups(coded_labels("groups", X, groups, n_rows)[kept], weights)
    codes = coded_labels("order", X, order, n_rows, sortable=True)
    return ordered_blocks(codes[kept], weights)
