"""Prediction intervals of estimators: where errors of unseen rows come from, and the intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_plain, check_same_order, check_weights, is_lazy, warn_user
from skewridge.distribution.intervals import Calibration, Unseen, check_tail
from skewridge.estimators.column_labels import check_one_column
from skewridge.estimators.error_models import ErrorModels
from skewridge.response.grouping import RowGroups
from skewridge.response.sampling import N_FOLDS, CandidateRows, candidate_rows, choose_rule
from skewridge.response.slices import slice_edges

COMMON_ROWS = 500  # at which a fit without a fold is compared with the whole fit
RUNNING = (
    "memory_limit",
    "n_jobs",
    "random_state",
    "scoring",
    "verbose",
)  # parameters that another fit takes as set now


class IntervalMixin(ErrorModels):
    """``calibrate`` and ``predict_interval`` for a regressor.

    An estimator keeps its rows, X, y and weights, as ``_seen``, or tells them by ``_training_rows``; keeps
    ``_seed``, calls ``_remember_response`` when it is fitted, and tells what a fit without some rows predicts by
    ``_refitted``.
    """

    get_params: Callable[..., dict[str, Any]]
    _seen: tuple[Any, FloatArray, FloatArray]
    _left_behind: tuple[str, ...] = ("_seen", "_fitted_with", "_together")  # by copies, which cannot be fitted again
    _together: RowGroups | None = None

    def calibrate(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Measure the errors that intervals are made of.

        Parameters
        ----------
        X, y : (n, d) and (n,) arrays, optional
            Rows that the model was not fitted to: then coverage is guaranteed (see :meth:`predict_interval`). Without
            them rows of the fit are predicted by five fits without them, at the settings that were chosen: about as
            much work as four fits (none where left-out predictions were kept), and coverage is then a matter of
            experience, not of proof.
        sample_weight : (n,) array, optional
            How often each row occurs.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("calibrate takes X and y together, or neither: then it uses the rows of the fit.")
        rows = self._cross_fitted() if X is None else self._predicted(X, y, sample_weight)
        self._remember_errors(rows, rows if X is None else self._unseen_already())
        return self

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Return the ends of an interval that holds y with probability ``coverage`` given the slice of the prediction.

        ``f(x) + s(x) [low, high]``, where s(x) is the scale of the noise, learned from left-out errors, and low and
        high are tail quantiles of errors over s of unseen rows whose prediction lies in the same slice (slices of the
        training response, neighbours joined until each has 50 rows), rounded outwards to a whole rank, and to values
        that many rows share. y lies below with probability at most (1 - coverage) / 2, and above with no more. The
        guarantee is for rows drawn like those of ``calibrate(X, y)``; where that was not called, :meth:`calibrate` is
        called on the rows of the fit. Given that y itself is rare nothing is promised, and coverage is lower: an
        interval around a prediction cannot know.

        Parameters
        ----------
        X : (n, d) array or data frame
        coverage : float in ]0, 1[, default=0.9

        Returns
        -------
        low, high : (n,) arrays; infinite where calibration rows are too few, which is warned of

        Examples
        --------
        >>> from skewridge import AdaptiveKernelRidge
        >>> from skewridge.datasets import make_peaks
        >>> X, y = make_peaks(500, 2, random_state=0)
        >>> model = AdaptiveKernelRidge(50, 0.5, bandwidth=0.3, penalty=1e-5, random_state=0).fit(X, y)
        >>> low, high = model.predict_interval(X)
        >>> bool(((low <= y) & (y <= high)).mean() > 0.85)
        True
        """
        check_is_fitted(self)
        tail = float(check_tail(coverage))
        check_in_memory(X)
        prediction = self.predict(X)
        if not hasattr(self, "calibration_"):
            self.calibrate()
        for concern in _concerns(self.calibration_, coverage):
            warn_user(concern)
        model = self._error_model
        low, high = self.calibration_.bands(coverage).around(prediction, self._scale(X, prediction))
        if model.masses is not None:
            low, high = model.masses.widened(low, high, prediction, tail)
        return np.clip(low, model.low, model.high), np.clip(high, model.low, model.high)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle and copy the model without the rows it was fitted to."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._left_behind}

    def _remember_rows(self, X: Any, y: FloatArray, weights: FloatArray, together: RowGroups | None) -> None:
        """Keep the rows of the fit, and which of them are left out together, if any are."""
        self._seen = X, y, weights
        self.__dict__.pop("_together", None)
        if together is not None:
            self._together = together

    def _training_rows(self) -> tuple[Any, FloatArray, FloatArray]:
        if not hasattr(self, "_seen"):
            raise ValueError(
                "The rows of the fit are gone: a model that was saved, copied or sent elsewhere does not carry them. "
                "Call calibrate(X, y) with rows that it was not fitted to, or calibrate() before it leaves."
            )
        return self._seen

    def _remember_response(self, y: FloatArray, weights: FloatArray) -> None:
        """Fix the slices of predictions before anything is calibrated, and forget an earlier fit's calibration."""
        y = y.ravel()
        self._response_edges = slice_edges(y, choose_rule(y, "auto", weights), weights)
        for name in ("calibration_", "_error_model"):
            self.__dict__.pop(name, None)

    def _predicted(self, X: Any, y: Any, sample_weight: Any) -> Unseen:
        """Predictions and responses of rows that the model has not seen."""
        check_same_order(X, y)
        check_plain("y", y)
        check_one_column(self, y)
        prediction = self.predict(X)
        y = check_array(y, ensure_2d=False, dtype=np.float64, order="C", input_name="y")
        check_consistent_length(prediction, y)
        y = column_or_1d(y, warn=True)
        weights, kept = check_weights(sample_weight, len(y), X)
        rows = self._numbers(X)
        return Unseen(prediction[kept], y[kept], weights, "fresh", X=None if rows is None else rows[kept])

    def _cross_fitted(self) -> Unseen:
        """Predict every row of the fit by a fit without its fold; rows with equal x, and groups, share a fold.

        What such a fit predicts differently from the whole fit, in the median over rows that both have seen, is taken
        off: intervals are put around the whole fit, and a few rows may shift all that a fit predicts.
        """
        X, y, weights = self._training_rows()
        y = y.ravel()
        pool = candidate_rows(self._told_apart_by(X), y[:, None], weights, "auto", self._seed)
        common, folds, prediction = pool.rows[:COMMON_ROWS], np.full(len(y), -1), np.full(len(y), np.nan)
        whole = _quietly(self.predict, take_rows(X, common))
        for fold, (rest, here) in enumerate(self._folds(pool, y, weights)):
            folds[here], both = fold, np.flatnonzero(np.isin(common, rest))
            if len(rest) and len(here):
                asked = take_rows(X, np.concatenate([here, common[both]]))
                found = self._refitted(take_rows(X, rest), y[rest], weights[rest], asked)
                new, seen = np.split(found, [len(here)])
                prediction[here] = new - (np.median(seen - whole[both]) if len(both) else 0.0)
        known = ~np.isnan(prediction)  # one distinct row leaves none to fit without it; the first no past
        compared = folds[known] if self._together is None else None  # groups and blocks differ by what is asked for
        return Unseen(prediction[known], y[known], weights[known], "cross-fitted", compared)

    def _unseen_already(self) -> Unseen | None:
        """Rows of the fit that were predicted without them, if that takes no other fit."""
        return None

    def _told_apart_by(self, X: Any) -> Any:
        """Numbers that are equal where rows are. Estimators that take more than numbers override it."""
        return X

    def _folds(self, pool: CandidateRows, y: FloatArray, weights: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows to fit and those that they predict."""
        if self._together is not None:
            yield from self._together.folds(y, N_FOLDS, weights)
            return
        folds = pool.folds[pool.member]
        for fold in range(N_FOLDS):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def _refitted(self, X: Any, y: FloatArray, weights: FloatArray, X_new: Any) -> FloatArray:
        """Fit to some rows and predict others. Estimators that choose settings override it to keep them."""
        seeded = {"random_state": self._seed} if "random_state" in self.get_params() else {}
        return fit_quietly(self._twin(**seeded), X, y).predict(X_new)

    def _remember_parameters(self, checked: Any) -> None:
        """Keep the parameters of this fit, of a copy that nobody changes, for fits to come without some rows."""
        given = checked.get_params(deep=False)
        self._fitted_with = {name: value for name, value in given.items() if name not in RUNNING}

    def _twin(self, **settings: Any) -> Any:
        """An estimator with the parameters of the fit, whatever was set since, and other settings."""
        return clone(self).set_params(**{**getattr(self, "_fitted_with", {}), **settings})


def check_in_memory(X: Any) -> None:
    """Refuse a Dask collection, which is predicted as lazily as it is."""
    if is_lazy(X):
        raise TypeError(
            f"Intervals and distributions take rows in memory; got a lazy {type(X).__name__}. Call X.compute() first, "
            "or ask for one partition after the other."
        )


def take_rows(X: Any, rows: IntArray) -> Any:
    """Some rows of an array, a sparse matrix or a data frame, by position."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return (X if hasattr(X, "shape") else np.asarray(X))[rows]


def fit_quietly(model: Any, *data: Any) -> Any:
    """Fit without warnings, which the first fit gave already."""
    return _quietly(model.fit, *data)


def _quietly(call: Callable[..., Any], *data: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*data)


def _concerns(calibration: Calibration, coverage: float) -> Iterator[str]:
    """Warnings about intervals of such a coverage."""
    if not np.isfinite(calibration.bands(coverage).low).all():
        yield (
            f"Intervals are infinite: {calibration.n_rows:.0f} calibration rows are too few for "
            f"coverage={coverage:g}, which takes {calibration.rows_needed(coverage)}. Lower the coverage, or calibrate "
            "with more rows."
        )
    if calibration.source == "unstable":
        yield (
            "Intervals are widened, and their coverage is not promised: fits without a fifth of the rows differ from "
            "one another by more than their errors, so that few rows decide what is predicted. Look for gross errors "
            "in y, or calibrate(X, y) with rows that were kept back."
        )
