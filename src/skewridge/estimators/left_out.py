"""Estimators that keep left-out predictions of their rows: stated risks, intervals without another fit; companions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from skewridge._typing import FloatArray, IntArray, Prediction
from skewridge._validation import check_magnitude
from skewridge.distribution.intervals import OutOfSample, with_common_error
from skewridge.estimators.base import KernelEstimator, bounds_of
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.context import on_threads
from skewridge.execution.passes import predict_rows
from skewridge.response.groups import RowGroups
from skewridge.two_levels.expected_error import ExpectedError
from skewridge.two_levels.planning import LevelSize, require_memory

EXAMPLE = "companions=[HistGradientBoostingRegressor()]"


class LeftOutEstimator(KernelEstimator):
    """A regressor that knows what it predicts for rows it has not seen.

    It fits to rows in memory: those of files and Dask collections are collected, once it is known
    that the memory holds the fit, and give the bits of an array.

    A fit keeps ``_left_out``: left-out predictions, responses and weights of the rows that it was fitted to and has
    left out; and, but in files, ``_fitted_rows``: X, their groups or None, where they lie among predictions, and
    whether the errors of all count alike.
    """

    _takes_tables = True
    _left_out: tuple[FloatArray, FloatArray, FloatArray]
    _not_pickled = ("_fitted_with", "_together")  # copies keep the rows, to learn the noise from
    _keeps_left_out = True
    _runs_with: ClassVar[dict[str, Any]] = {"checkpoint": None}
    _size: Callable[[int, int], LevelSize]  # of so many rows and columns: all that memory and work of a fit depend on
    _predict_block: Callable[[FloatArray], FloatArray]  # predictions of some rows, (n, 1)
    expected_error_: ExpectedError
    oof_prediction_: FloatArray

    def _check_size(self, n_rows: int, n_columns: int) -> None:
        """Refuse rows that the memory does not hold a fit to, before any is read."""
        self._check_parameters()
        with self._running():
            require_memory(self._size(n_rows, n_columns))

    def _predict(self, X: Any, return_std: bool) -> Prediction:
        prediction = self._values(self._check_new(X).astype(np.float64))
        return (prediction, self.predict_distribution(X).sd()) if return_std else prediction

    def _values(self, X: FloatArray) -> FloatArray:
        """Predictions of checked rows within the bounds, (n,)."""
        with one_blas_thread(), on_threads():
            return self._clipped(predict_rows(self._predict_block, X)[:, 0])

    def _adopt_left_out(
        self,
        checked: Any,
        X: FloatArray,
        kept: IntArray,
        y: FloatArray,
        weights: FloatArray,
        together: RowGroups | None,
        left_out: FloatArray,
        level: FloatArray,
        risk: ExpectedError,
        unused: IntArray,
        **fitted: Any,
    ) -> Self:
        """Adopt a fit to the rows ``kept`` of X, and keep their left-out predictions and where they lie, (n,).

        ``unused`` are the numbers of the columns that the fit has dropped, which are named where there are names.
        """
        names = getattr(checked, "feature_names_in_", None)
        fitted["dropped_features_"] = unused.tolist() if names is None else [str(names[column]) for column in unused]
        row = risk.dominant_row  # which is named by its place in the data
        fitted["expected_error_"] = risk if row is None else replace(risk, dominant_row=int(kept[row]))
        known = ~np.isnan(left_out)  # rows without a past have none
        groups = None if together is None else together.labels[known]
        rows = X if len(kept) == len(X) and known.all() else X[kept[known]]
        fitted["_left_out"] = left_out[known], y[known], weights[known]
        fitted["_fitted_rows"] = rows, groups, level[known], self.scoring == "mse"
        self._adopt(checked, X[kept], y, weights, _bounds=bounds_of(self.bounds, y), **fitted)
        every = np.empty(len(X))
        every[kept] = left_out
        if len(kept) < len(X):  # rows of weight 0 were left out anyhow
            others = np.delete(np.arange(len(X)), kept)
            every[others] = self._values(X[others])
        self.oof_prediction_ = every
        return self

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
        if X is None and y is None and hasattr(self, "calibration_") and not hasattr(self, "_fitted_rows"):
            if self.calibration_.source == "left out":
                return self  # a loaded model has them, and no rows to learn the noise from again
            raise ValueError(
                "The rows of the fit are gone: a model that was saved does not carry them, and calibrate(X, y) has "
                "replaced its errors. Load it again, or call calibrate(X, y) with rows that it was not fitted to."
            )
        return super().calibrate(X, y, sample_weight)

    def _cross_fitted(self) -> OutOfSample:
        """Intervals and distributions are made of the left-out errors that the fit has kept."""
        X, groups, level, plain = getattr(self, "_fitted_rows", (None, None, None, True))
        left_out, y, weights = self._left_out
        if groups is None and plain:
            left_out = with_common_error(left_out, y, weights, X)
        return OutOfSample(left_out, y, weights, "left out", X=X, groups=groups, level=level)


# Companions: any scikit-learn regressors beside level 1


@dataclass(frozen=True)
class Companion:
    """A regressor, which is cloned for every fit and whose predictions are checked; errors call it by its name."""

    regressor: Any
    name: str

    def fit(self, X: FloatArray, y: FloatArray, weights: FloatArray) -> Companion:
        """Fit a clone to rows that occur `weights` times, (n,): to so many copies, if it takes no weights."""
        model, taken = clone(self.regressor, safe=False), {}
        if not np.all(weights == 1.0):
            name = _weights_name(model)
            if name is None:
                copies = np.repeat(np.arange(len(X)), np.rint(weights).astype(np.int64))
                X, y = X[copies], y[copies]
            else:
                taken = {name: weights}
        try:
            model.fit(X.copy(), y.copy(), **taken)  # some overwrite what they are given: copy_X=False
        except Exception as error:
            error.add_note(f"Raised by {self.name}.fit, a companion, on {len(X)} rows.")
            raise
        return Companion(model, self.name)

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict rows, (n,); raises ValueError for another shape, nan, inf and absurd numbers."""
        found = np.asarray(self.regressor.predict(X.copy()))  # some overwrite what they are given
        if found.shape not in ((len(X),), (len(X), 1)):
            raise ValueError(
                f"The companion {self.name} must predict one number a row; got shape {found.shape} "
                f"for {len(X)} rows. Wrap it so that predict returns shape (n,), or leave it out."
            )
        values = found.reshape(-1).astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ValueError(
                f"The companion {self.name} predicts {values[bad[0]]} for {len(bad)} of {len(X)} rows; "
                "predictions must be finite. Change its settings, or leave it out."
            )
        check_magnitude(f"what the companion {self.name} predicts", values)
        return values


def as_companions(regressors: Sequence[Any] | None, weights: FloatArray | None = None) -> tuple[Companion, ...]:
    """Regressors by the names of their classes, numbered from the second of a class on.

    Weights of rows that one of them would not see are refused.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso, Ridge
    >>> [own.name for own in as_companions([Ridge(), Lasso(), Ridge(alpha=10.0)])]
    ['Ridge', 'Lasso', 'Ridge 2']
    """
    found: list[Companion] = []
    kinds = [type(own).__name__ for own in regressors or ()]
    for place, own in enumerate(regressors or ()):
        before = kinds[:place].count(kinds[place])
        found.append(Companion(own, f"{kinds[place]} {before + 1}" if before else kinds[place]))
    if weights is None or np.all(weights == 1.0):
        return tuple(found)
    unweighted = [own.name for own in found if _weights_name(own.regressor) is None]
    if unweighted:
        raise ValueError(
            f"sample_weight weights the rows, and the companion {unweighted[0]} takes no sample_weight in "
            "fit. Use a regressor that does, repeat rows instead of weighting them, or leave it out."
        )
    return tuple(found)


def check_companions(companions: Any, most: int) -> None:
    """Refuse what is no list of regressors, and more of them than the blend has room for."""
    if companions is None:
        return
    if not isinstance(companions, list | tuple):
        raise TypeError(
            "companions must be a list or tuple of regressors with fit and predict, or None; got "
            f"{companions!r}. Put a single one in a list, as in {EXAMPLE}."
        )
    for own in companions:
        if isinstance(own, type) or not all(hasattr(own, name) for name in ("fit", "predict")):
            raise TypeError(
                f"companions must be regressors with fit and predict; got {own!r}. Give objects, as in {EXAMPLE}."
            )
    if len(companions) > most:
        raise ValueError(
            f"companions may be at most {most} beside these kernels, since the blend has room for "
            f"so many; got {len(companions)}. Leave some out, or average them in a VotingRegressor."
        )


def _weights_name(regressor: Any) -> str | None:
    """What the regressor's fit calls sample weights; imported on use, since most fits have no companions."""
    from skewridge.nodes.sample_weights import weights_name

    return weights_name(regressor)
