"""Prediction intervals of estimators: where errors of unseen rows come from, and the intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from skewridge._typing import FloatArray
from skewridge._validation import check_same_order, check_weights, warn_user
from skewridge.distribution.intervals import Calibration, calibration_of, rows_needed
from skewridge.estimators.any_rows import holds_numbers, take_rows
from skewridge.response.sampling import N_FOLDS, candidate_rows, choose_rule
from skewridge.response.slices import slice_edges

Predicted: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, str]  # predictions, responses, weights, whose they are


class IntervalMixin:
    """``calibrate`` and ``predict_interval`` for a regressor.

    An estimator keeps its rows, X, Y (N, p) and weights, as ``_seen``, or tells them by ``_training_rows``; keeps
    ``_seed``, calls ``_remember_response`` when it is fitted, and tells what a fit without some rows predicts by
    ``_refitted``.
    """

    predict: Callable[..., Any]
    get_params: Callable[..., dict[str, Any]]
    calibration_: tuple[Calibration, ...]
    _seen: tuple[Any, FloatArray, FloatArray]
    _seed: int

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
        prediction, Y, weights, source = rows
        outputs = zip(prediction.T, Y.T, self._response_edges, strict=True)
        self.calibration_ = tuple(calibration_of(f, v, edges, weights, source) for f, v, edges in outputs)
        return self

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Return the ends of an interval that holds y with probability ``coverage`` given the slice of the prediction.

        ``f(x) + [low, high]``, where low and high are tail quantiles of the errors of unseen rows whose prediction lies
        in the same slice (slices of the training response, neighbours joined until each has 50 rows). y lies below with
        probability at most (1 - coverage) / 2, and above with no more. The guarantee is for rows drawn like those of
        ``calibrate(X, y)``; where that was not called, :meth:`calibrate` is called on the rows of the fit. Given that y
        itself is rare nothing is promised, and coverage is lower: an interval around a prediction cannot know.

        Parameters
        ----------
        X : (n, d) array or data frame
        coverage : float in ]0, 1[, default=0.9

        Returns
        -------
        low, high : (n,) or (n, p) arrays; infinite where calibration rows are too few, which is warned of

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
        needed = rows_needed(coverage)
        prediction = self.predict(X)
        if not hasattr(self, "calibration_"):
            self.calibrate()
        bands = [calibration.bands(coverage) for calibration in self.calibration_]
        if not all(np.isfinite(band.low).all() for band in bands):
            warn_user(
                f"Intervals are infinite: {self.calibration_[0].n_rows:.0f} calibration rows are too few for "
                f"coverage={coverage:g}, which takes {needed}. Lower the coverage, or calibrate with more rows."
            )
        columns = prediction.reshape(len(prediction), -1).T
        ends = np.array([band.around(column) for band, column in zip(bands, columns, strict=True)])
        low, high = (ends[:, i].T.reshape(prediction.shape) for i in (0, 1))
        return low, high

    def __getstate__(self) -> dict[str, Any]:
        """Pickle and copy the model without the rows it was fitted to."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_seen"}

    def _training_rows(self) -> tuple[Any, FloatArray, FloatArray]:
        if not hasattr(self, "_seen"):
            raise ValueError(
                "The rows of the fit are gone: a model that was saved, copied or sent elsewhere does not carry them. "
                "Call calibrate(X, y) with rows that it was not fitted to, or calibrate() before it leaves."
            )
        return self._seen

    def _remember_response(self, Y: FloatArray, weights: FloatArray) -> None:
        """Fix the slices of predictions before anything is calibrated, and forget an earlier fit's calibration."""
        self._response_edges = tuple(slice_edges(y, choose_rule(y, "auto", weights), weights) for y in Y.T)
        self.__dict__.pop("calibration_", None)

    def _predicted(self, X: Any, y: Any, sample_weight: Any) -> Predicted:
        """Predictions and responses of rows that the model has not seen."""
        check_same_order(X, y)
        prediction = self.predict(X)
        y = check_array(y, ensure_2d=False, dtype=np.float64, order="C", input_name="y")
        check_consistent_length(prediction, y)
        prediction, Y = (values.reshape(len(values), -1) for values in (prediction, y))
        if Y.shape != prediction.shape:
            raise ValueError(f"y must have {prediction.shape[1]} output(s), as in fit; got {Y.shape[1]}.")
        weights, kept = check_weights(sample_weight, len(Y))
        return prediction[kept], Y[kept], weights, "fresh"

    def _cross_fitted(self) -> Predicted:
        """Predict every row of the fit by a fit without its fold; equal rows share a fold."""
        X, Y, weights = self._training_rows()
        pool = candidate_rows(X if holds_numbers(X) else Y, Y, weights, "auto", self._seed)
        folds, prediction = pool.folds[pool.member], np.full(Y.shape, np.nan)
        for fold in range(N_FOLDS):
            rest, here = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            if len(rest) and len(here):
                found = self._refitted(take_rows(X, rest), Y[rest], weights[rest], take_rows(X, here))
                prediction[here] = found.reshape(-1, Y.shape[1])
        known = ~np.isnan(prediction).any(axis=1)  # one distinct row leaves none to fit without it
        return prediction[known], Y[known], weights[known], "cross-fitted"

    def _refitted(self, X: Any, Y: FloatArray, weights: FloatArray, X_new: Any) -> FloatArray:
        """Fit to some rows and predict others. Estimators that choose settings override it to keep them."""
        seeded = {"random_state": self._seed} if "random_state" in self.get_params() else {}
        model = clone(self).set_params(**seeded)
        return fit_quietly(model, X, Y[:, 0] if Y.shape[1] == 1 else Y).predict(X_new)


def fit_quietly(model: Any, *data: Any) -> Any:
    """Fit without warnings, which the first fit gave already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)
