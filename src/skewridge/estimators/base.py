"""The base of every estimator: checks of parameters and data, and how to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from skewridge._typing import AnyFloatArray, FloatArray
from skewridge._validation import (
    check_bytes,
    check_choice,
    check_flag,
    check_integer,
    check_magnitude,
    check_plain,
    check_real,
    check_same_order,
    is_lazy,
    warn_user,
)
from skewridge.estimators.bounds import bounds_of
from skewridge.estimators.column_labels import check_labels, check_one_column, remember_labels
from skewridge.estimators.distribution import DistributionMixin
from skewridge.estimators.notebook import NotebookMixin
from skewridge.estimators.raw_tables import refuse_raw
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.context import running, using
from skewridge.execution.passes import check_rows
from skewridge.features.scaling import constant_outputs
from skewridge.io.sources import engine_for, open_source
from skewridge.kernels import BANDWIDTH_FREE, MAX_DEGREE

Parameters = ParamSpec("Parameters")
Fitted = TypeVar("Fitted")

PRECISIONS = [np.float64, np.float32]  # float32 stays; all else becomes float64


def runs(method: Callable[Parameters, Fitted]) -> Callable[Parameters, Fitted]:
    """Have an estimator's method run as its parameters say: threads, memory, and progress if asked for."""

    @wraps(method)
    def run_it(*given: Parameters.args, **more: Parameters.kwargs) -> Fitted:
        estimator: Any = given[0]
        with estimator._running(given[1] if len(given) > 1 else more.get("X")):
            return method(*given, **more)

    return run_it


class Shell(DistributionMixin, NotebookMixin, RegressorMixin, BaseEstimator):
    """Base of all regressors: threads, and a fit that leaves the estimator as it was where it fails."""

    def _check_threads(self) -> None:
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, -(2**31), also=" or None")
        check_integer("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)

    _bounds: tuple[float, float] | None

    @contextmanager
    def _running(self, X: Any = None) -> Iterator[None]:
        """Run as the parameters say; rows in chunks where they are, unless they are collected here first."""
        limit, collects = getattr(self, "memory_limit", None), hasattr(self, "_check_size")
        more = {"checkpoint": None} if collects else {"engine": engine_for(X)} if is_lazy(X) else {}
        n_bytes = None if limit is None else check_bytes("memory_limit", limit)
        with running(self.n_jobs, self.verbose, n_bytes), using(**more):
            yield

    def _remember_bounds(self, y: FloatArray) -> None:
        """Keep what predictions of y are clipped to, if anything."""
        self._bounds = bounds_of(self.bounds, y)

    def _clipped(self, prediction: FloatArray) -> FloatArray:
        return prediction if self._bounds is None else np.clip(prediction, *self._bounds)

    def _take_over(self, checked: Any, fitted: Any = None) -> None:
        """Take what was validated on the clone, and the range of the rows fitted; forget what an earlier fit left."""
        of_rows = [name for name in vars(self) if name.endswith("_in_")]
        for name in (*of_rows, "nodes_", "X_fit_", "_expansion"):
            self.__dict__.pop(name, None)
        self.__dict__.update({k: v for k, v in vars(checked).items() if k.endswith("_in_")})
        if isinstance(fitted, np.ndarray):  # that of a table was found when it was checked
            self.feature_min_in_, self.feature_max_in_ = fitted.min(axis=0), fitted.max(axis=0)
        self._remember_parameters(checked)


class KernelEstimator(Shell):
    """Parameters and checks that all kernel estimators have."""

    def _numbers(self, X: Any) -> FloatArray | None:
        return self._check_new(X).astype(np.float64)

    def _opened(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The rows as a fit takes them: Dask collections are read where they are."""
        check_one_column(self, y)
        if not is_lazy(X):
            return X, y.compute() if is_lazy(y) else y
        y = y if is_lazy(y) or hasattr(y, "iloc") else np.asarray(y)
        check_size = getattr(self, "_check_size", None)
        return open_source(X, y, check_size=check_size, read_again=check_size is None)

    def _check_kernel_parameters(self, names: Sequence[str]) -> None:
        check_integer("degree", self.degree, 1, MAX_DEGREE)
        if isinstance(self.bandwidth, str):
            check_choice("bandwidth", self.bandwidth, ["auto", "median"])
        elif set(names) <= set(BANDWIDTH_FREE):
            raise ValueError(
                f"The {names[0]} kernel takes no bandwidth; got bandwidth={self.bandwidth!r}. Leave it at 'auto'."
            )
        else:
            check_real("bandwidth", self.bandwidth, 0, open_low=True, also=", 'median' or 'auto'")

    def _check_penalty(self, names: Sequence[str], also: str) -> None:
        if isinstance(self.penalty, str):
            check_choice("penalty", self.penalty, names)
        else:
            check_real("penalty", self.penalty, 0, open_low=True, also=also)

    def _check_running(self) -> None:
        check_flag("fit_intercept", self.fit_intercept)
        self._check_machine()

    def _check_machine(self) -> None:
        if self.memory_limit is not None:
            check_bytes("memory_limit", self.memory_limit)
        self._check_threads()

    def _check_data(self, X: Any, y: Any) -> tuple[Self, RowData, FloatArray]:
        """Validate on a clone, so that a fit that fails later leaves this estimator as it was."""
        checked = clone(self)
        check_one_column(self, y)
        if isinstance(X, Table):
            return checked, X, self._check_table(checked, X, y)
        refuse_raw(self, X)
        check_plain("X", X)
        check_plain("y", y)
        check_same_order(X, y)
        remember_labels(checked, X)
        X, y = validate_data(checked, X, y, dtype=PRECISIONS, order="C", y_numeric=True)
        check_magnitude("X", X)
        checked._precision, y = X.dtype, as_response(y)
        _check_response(y)
        return checked, X.astype(np.float64), y

    def _check_table(self, checked: Any, X: Table, y: Any, collected: FloatArray | None = None) -> FloatArray:
        """Check rows in chunks, read or collected before, as an array; return the response."""
        check_plain("y", y)
        y = check_array(y, ensure_2d=False, dtype=np.float64, order="C", input_name="y")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        _check_response(y)
        checked.feature_min_in_, checked.feature_max_in_ = check_rows(X, collected)
        checked.n_features_in_, checked._precision = X.shape[1], X.precision
        if X.names is not None:
            checked.feature_names_in_ = np.array(X.names, dtype=object)
        return y

    def _check_new(self, X: Any) -> AnyFloatArray:
        check_is_fitted(self)
        check_plain("X", X)
        check_labels(self, X)
        X = np.require(validate_data(self, X, dtype=PRECISIONS, order="C", reset=False), requirements=["C", "A"])
        check_magnitude("X", X)
        return X


def as_response(y: Any) -> FloatArray:
    """Responses as numbers, texts of numbers included, one row after the other: sums round by memory order."""
    if hasattr(y, "tocsr"):
        raise TypeError(f"y must be a dense array; got {type(y).__name__}, a sparse one. Pass y.toarray().")
    return np.array(y, dtype=np.float64, order="C")


def _check_response(y: FloatArray) -> None:
    """Refuse numbers whose squares overflow; warn of a response that varies by no more than rounding."""
    check_magnitude("y", y)
    if constant_outputs(y[:, None])[0] and np.ptp(y) > 0.0:
        warn_user(
            f"y varies by {np.ptp(y):.2g} about {y[0]:.6g}, which is rounding of numbers of that size: "
            "nothing but its level can be fitted. Subtract a constant from y before it is rounded."
        )
