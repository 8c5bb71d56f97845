"""Estimators that keep honest predictions of their training rows: stated risks, and intervals without another fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
from sklearn.base import clone

from skewridge._typing import FloatArray, IntArray, Prediction
from skewridge._validation import is_lazy
from skewridge.distribution.intervals import Unseen, with_common_error
from skewridge.estimators.base import KernelEstimator
from skewridge.estimators.intervals import check_in_memory
from skewridge.estimators.sources import predict_collection
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.chunked import Table
from skewridge.execution.context import on_threads
from skewridge.execution.passes import predict_rows
from skewridge.response.grouping import RowGroups
from skewridge.two_levels.planning import LevelSize, require_memory
from skewridge.two_levels.results import StatedRisk


class SeenRows(NamedTuple):
    """What calibration knows of the rows of a fit beside their left-out errors; nothing of a loaded model's.

    Attributes
    ----------
    X : (n, d) array
    groups : (n,) array of labels, or None
    level : (n,) array, where rows lie among predictions
    plain : bool, True if the errors of all rows count alike
    """

    X: FloatArray | None = None
    groups: IntArray | None = None
    level: FloatArray | None = None
    plain: bool = True


class HonestEstimator(KernelEstimator):
    """A regressor that knows what it predicts for rows it has not seen.

    It fits to rows in memory: those of files and Dask collections are collected, once it is known
    that the memory holds the fit, and give the bits of an array.

    A fit keeps ``_honest``: left-out predictions, responses and weights of the rows that it was fitted to and has
    left out.
    """

    _takes_tables = True
    _honest: tuple[FloatArray, FloatArray, FloatArray]
    _seen: SeenRows  # type: ignore[assignment]
    _left_behind = ("_fitted_with", "_together")  # copies keep the rows, to learn the noise from

    def _check_data(  # type: ignore[override]
        self, X: Any, y: Any
    ) -> tuple[Self, FloatArray, FloatArray]:
        """Validate on a clone; rows of a table are read once, into memory."""
        X, y = self._opened(X, y)
        if not isinstance(X, Table):
            return super()._check_data(X, y)  # type: ignore[return-value]
        checked, rows = clone(self), X.load()
        return checked, rows, self._check_table(checked, X, y, rows)

    def _check_size(self, n_rows: int, n_columns: int) -> None:
        """Refuse rows that the memory does not hold a fit to, before any is read."""
        self._check_parameters()
        with self._running():
            require_memory(self._size(n_rows, n_columns))

    def _size(self, n_rows: int, n_columns: int) -> LevelSize:
        """All that memory and work of a fit depend on."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        raise NotImplementedError

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> FloatArray: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...
    @overload
    def predict(self, X: Any, return_std: bool) -> Prediction: ...
    def predict(self, X: Any, return_std: bool = False) -> Prediction:
        """Predict rows; values stay within ``bounds``.

        Parameters
        ----------
        X : (n, d) array or data frame, or a Dask array or frame, predicted as lazily as it is
        return_std : bool, default=False
            Whether to return as well the standard deviation of y given x: that of
            :meth:`predict_distribution`.

        Returns
        -------
        prediction : (n,) array
        std : (n,) array, with ``return_std=True``
        """
        if is_lazy(X):
            if return_std:
                check_in_memory(X)
            return predict_collection(self, X)
        prediction = self._values(self._check_new(X).astype(np.float64))
        return (prediction, self.predict_distribution(X).sd()) if return_std else prediction

    def _values(self, X: FloatArray) -> FloatArray:
        """Predictions of checked rows within the bounds, (n,)."""
        with one_blas_thread(), self._running(), on_threads():
            return self._clipped(predict_rows(self._predict_block, X)[:, 0])

    def _predict_block(self, X: FloatArray) -> FloatArray:
        """Predictions of one block of rows, (n, 1)."""
        raise NotImplementedError

    def _placed(self, risk: StatedRisk, kept: IntArray) -> StatedRisk:
        """A risk whose dominating row is named by its place in the data."""
        row = risk.dominant_row
        return risk if row is None else replace(risk, dominant_row=int(kept[row]))

    def _remember_honest(
        self,
        X: FloatArray,
        kept: IntArray,
        left_out: FloatArray,
        y: FloatArray,
        weights: FloatArray,
        together: RowGroups | None,
        level: FloatArray | None = None,
    ) -> None:
        """Keep left-out predictions of the rows that were fitted; rows of weight 0 were left out anyhow.

        Level, (n,), is where rows lie among predictions, if not where their left-out prediction does.
        """
        known = ~np.isnan(left_out)  # rows without a past have none
        self._honest = left_out[known], y[known], weights[known]
        rows = X if len(kept) == len(X) and known.all() else X[kept[known]]
        level = left_out if level is None else level
        labels = None if together is None else together.labels[known]
        self._seen = SeenRows(rows, labels, level[known], self.scoring == "mse")
        every = np.empty(len(X))
        every[kept] = left_out
        others = np.delete(np.arange(len(X)), kept)
        if len(others):
            every[others] = self._values(X[others])
        self.loo_prediction_ = every
        self._remember_response(y, weights)

    def calibrate(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Measure the errors that intervals and distributions are made of: the left-out ones, or those of new rows.

        Parameters
        ----------
        X, y : (n, d) and (n,) arrays, optional
            Rows that the model was not fitted to: then coverage of intervals is guaranteed (see
            :meth:`predict_interval`). Without them left-out errors of the rows of the fit are taken, and
            the scale of the noise is learned from them.
        sample_weight : (n,) array, optional
            How often each row occurs.

        Returns
        -------
        self
        """
        if X is None and y is None and hasattr(self, "calibration_") and not hasattr(self, "_seen"):
            if self.calibration_.source == "left out":
                return self  # a loaded model has them, and no rows to learn the noise from again
            raise ValueError(
                "The rows of the fit are gone: a model that was saved does not carry them, and calibrate(X, y) has "
                "replaced its errors. Load it again, or call calibrate(X, y) with rows that it was not fitted to."
            )
        return super().calibrate(X, y, sample_weight)

    def _cross_fitted(self) -> Unseen:
        """Intervals and distributions are made of the left-out errors that the fit has kept."""
        X, groups, level, plain = getattr(self, "_seen", SeenRows())
        left_out, y, weights = self._honest
        if groups is None and plain:
            left_out = with_common_error(left_out, y, weights, X)
        return Unseen(left_out, y, weights, "left out", X=X, groups=groups, level=level)

    def _unseen_already(self) -> Unseen:
        return self._cross_fitted()

    def _column_names(self, columns: IntArray) -> list[Any]:
        """Names of columns where there are any, else their numbers."""
        names = getattr(self, "feature_names_in_", None)
        return columns.tolist() if names is None else [str(names[column]) for column in columns]

    risk_: StatedRisk
    loo_prediction_: FloatArray
