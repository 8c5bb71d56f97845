"""Intervals and distributions of estimators, from errors of rows that were not fitted and the scale of the noise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from skewridge._typing import FloatArray, IntArray, PicklesFields
from skewridge._validation import check_one_column, check_plain, check_same_order, check_weights, is_lazy, warn_user
from skewridge.centers.fit import GlobalModel
from skewridge.distribution.intervals import Calibration, OutOfSample, check_tail
from skewridge.distribution.predictive import (
    PointMasses,
    PredictiveDistribution,
    check_levels,
    check_thresholds,
    lattice_of,
    point_masses,
)
from skewridge.execution.context import on_threads
from skewridge.response.candidates import N_FOLDS, candidate_rows
from skewridge.response.groups import RowGroups
from skewridge.two_levels.noise import fit_noise, noise_scale

COMMON_ROWS = 500  # at which a fit without a fold is compared with the whole fit
RUNNING = ("memory_limit", "n_jobs", "random_state", "scoring", "verbose")  # that another fit takes as set now


@dataclass(frozen=True)
class ErrorModel(PicklesFields):
    """How errors depend on the row, beside the calibration: the logarithm of their scale, None where it is the same.

    With values that many rows share, what y stays between (bounds that were given, and ends that are such values), and
    the grid that y lies on, such as whole numbers (step 0: none).
    """

    noise: GlobalModel | None = None
    masses: PointMasses | None = None
    low: float = -np.inf
    high: float = np.inf
    origin: float = 0.0
    step: float = 0.0


class IntervalMixin:
    """Intervals and distributions of a regressor, from errors of rows that it was not fitted to.

    An estimator keeps its rows, X, y and weights, as ``_fitted_rows``, or gives them by ``_training_rows``; keeps
    ``_seed`` and ``_response_edges``, and gives what a fit without some rows predicts by ``_refitted``.
    """

    predict: Callable[..., Any]
    calibration_: Calibration
    _error_model: ErrorModel
    _response_edges: FloatArray
    _seed: int
    _fitted_rows: tuple[Any, FloatArray, FloatArray]
    _not_pickled: tuple[str, ...] = (
        "_fitted_rows",
        "_fitted_with",
        "_together",
    )  # by copies, which cannot be fitted again
    _together: RowGroups | None = None
    _keeps_left_out = False  # predictions of the rows of the fit without them: then the scale of the noise is learned
    _row_keys: Callable[[Any], FloatArray] | None = None  # numbers that are equal where rows are that are no numbers
    _running: Callable[..., Any]
    _check_new: Callable[[Any], Any]
    _refitted: Callable[[Any, FloatArray, FloatArray, Any], FloatArray]  # to X, y and weights; what others would be

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
        noise, scale = None, np.ones(len(rows.y))
        if self._keeps_left_out:
            with self._running(), on_threads():
                noise, scale = self._noise(rows)
        edges, level = self._response_edges, rows.prediction if rows.level is None else rows.level
        masses = point_masses(rows.prediction, rows.y, scale, edges, rows.weights, rows.source, level)
        low, high = self._support(rows.y, masses)
        origin, step = lattice_of(rows.y) or (0.0, 0.0)
        self.calibration_ = rows.calibration(edges, scale)
        self._error_model = ErrorModel(noise, masses, low, high, origin, step)
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
        tail = float(check_tail(coverage))
        prediction, scale = self._prediction_and_scale(X)
        model, calibration = self._error_model, self.calibration_
        bands = calibration.bands(coverage)
        if not np.isfinite(bands.low).all():
            warn_user(
                f"Intervals are infinite: {calibration.n_rows:.0f} calibration rows are too few for "
                f"coverage={coverage:g}, which takes {calibration.rows_needed(coverage)}. Lower the coverage, or "
                "calibrate with more rows."
            )
        if calibration.source == "unstable":
            warn_user(
                "Intervals are widened, and their coverage is not promised: fits without a fifth of the rows differ "
                "from one another by more than their errors, so that few rows decide what is predicted. Look for "
                "gross errors in y, or calibrate(X, y) with rows that were kept back."
            )
        low, high = bands.around(prediction, scale)
        if model.masses is not None:
            low, high = model.masses.widened(low, high, prediction, tail)
        return np.clip(low, model.low, model.high), np.clip(high, model.low, model.high)

    def predict_distribution(self, X: Any) -> PredictiveDistribution:
        """Return the distribution of y at every row, y = f(x) + s(x) e.

        e is drawn as the errors of unseen rows over their scale s, whose prediction lies in the
        same slice: as they are up to a threshold, and by a generalised Pareto law beyond. Values
        that many rows share keep probabilities of their own. Where :meth:`calibrate` was not
        called, it is called on the rows of the fit.

        Parameters
        ----------
        X : (n, d) array or data frame

        Returns
        -------
        distribution : PredictiveDistribution
            With ``quantile``, ``cdf``, ``sf``, ``mean``, ``sd``, ``sample``, ``expected`` and ``plot``.

        Examples
        --------
        >>> import numpy as np
        >>> from skewridge import AdaptiveKernelRidge
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((1000, 1))
        >>> y = X[:, 0] + 0.1 * rng.exponential(size=1000)
        >>> model = AdaptiveKernelRidge(random_state=0).fit(X, y)
        >>> model.predict_distribution(X[:1]).quantile([0.1, 0.9]).shape
        (1, 2)
        """
        prediction, scale = self._prediction_and_scale(X)
        if self.calibration_.source == "unstable":
            warn_user(
                "Distributions are not promised to be calibrated: fits without a fifth of the rows differ from one "
                "another by more than their errors. Look for gross errors in y, or calibrate(X, y) with rows that "
                "were kept back."
            )
        model = self._error_model
        rest = self.calibration_ if model.masses is None else model.masses.rest
        errors = None if rest is None else rest.distribution
        limits = model.low, model.high, model.origin, model.step
        return PredictiveDistribution(prediction, scale, errors, model.masses, *limits)

    def predict_quantiles(self, X: Any, levels: Any = (0.05, 0.5, 0.95)) -> FloatArray:
        """Return quantiles of y: the least value that y stays below, or at, with probability ``level``.

        Parameters
        ----------
        X : (n, d) array or data frame
        levels : number in ]0, 1[, or (L,) array of them

        Returns
        -------
        quantiles : (n,) or (n, L) array
        """
        asked = check_levels(levels)
        found = self.predict_distribution(X)
        if self._error_model.masses is None:  # of point masses any level is known
            least, largest = self.calibration_.distribution.known_levels
            odd = np.atleast_1d(asked)[(np.atleast_1d(asked) < least) | (np.atleast_1d(asked) > largest)]
            if len(odd):
                raise ValueError(
                    f"level {odd[0]:g} cannot be told from {self.calibration_.n_rows:.0f} errors: levels from "
                    f"{least:.4g} to {largest:.4g} can. Calibrate with more rows (a tail beyond them takes 500), or "
                    "ask for other levels."
                )
        return found.quantile(asked)

    def predict_cdf(self, X: Any, t: Any) -> FloatArray:
        """Return P(y <= t).

        Parameters
        ----------
        X : (n, d) array or data frame
        t : number, or (T,) array of them

        Returns
        -------
        probability : (n,) or (n, T) array
        """
        asked = check_thresholds("t", t)
        return self.predict_distribution(X).cdf(asked)

    def predict_exceedance(self, X: Any, thresholds: Any) -> FloatArray:
        """Return P(y > threshold): positive also above all that was seen where errors have a tail without an end.

        Parameters
        ----------
        X : (n, d) array or data frame
        thresholds : number, or (T,) array of them

        Returns
        -------
        probability : (n,) or (n, T) array

        Examples
        --------
        >>> import numpy as np
        >>> from skewridge import AdaptiveKernelRidge
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((1000, 1))
        >>> y = X[:, 0] + 0.1 * rng.exponential(size=1000)
        >>> model = AdaptiveKernelRidge(random_state=0).fit(X, y)
        >>> model.predict_exceedance([[0.1], [0.9]], 0.9).round(1) + 0.0
        array([0., 1.])
        """
        asked = check_thresholds("thresholds", thresholds)
        return self.predict_distribution(X).sf(asked)

    def expected_cost(self, X: Any, cost: Callable[[Any, FloatArray], Any], actions: Any) -> FloatArray:
        """Return the expected cost of every action at every row; the cheapest is ``argmin`` over the last axis.

        Parameters
        ----------
        X : (n, d) array or data frame
        cost : callable
            ``cost(action, y)``, of one action and an array of responses, returns what each of them costs.
        actions : sequence of actions, such as numbers

        Returns
        -------
        cost : (n, A) array

        Examples
        --------
        >>> import numpy as np
        >>> from skewridge import AdaptiveKernelRidge
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((1000, 1))
        >>> y = X[:, 0] + 0.1 * rng.normal(size=1000)
        >>> model = AdaptiveKernelRidge(random_state=0).fit(X, y)
        >>> def cost(stock, demand):  # a missing unit costs 9, one too many 1
        ...     return 9 * np.maximum(demand - stock, 0) + np.maximum(stock - demand, 0)
        >>> stocks = np.linspace(0, 1.5, 151)
        >>> best = stocks[model.expected_cost([[0.5]], cost, stocks).argmin(axis=1)]
        >>> bool(abs(best[0] - model.predict_quantiles([[0.5]], 0.9)[0]) < 0.02)
        True
        """
        found = self.predict_distribution(X)
        if not callable(cost):
            raise TypeError(f"cost must be a function of an action and an array of responses; got {cost!r}.")
        choices = list(actions)
        if not choices:
            raise ValueError("actions must hold at least one action; got none.")
        return np.stack([found.expected(partial(cost, action)) for action in choices], axis=-1)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle and copy the model without the rows it was fitted to."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._not_pickled}

    def _training_rows(self) -> tuple[Any, FloatArray, FloatArray]:
        """X, y and weights of the fit."""
        if not hasattr(self, "_fitted_rows"):
            raise ValueError(
                "The rows of the fit are gone: a model that was saved, copied or sent elsewhere does not carry them. "
                "Call calibrate(X, y) with rows that it was not fitted to, or calibrate() before it leaves."
            )
        return self._fitted_rows

    def _noise(self, rows: OutOfSample) -> tuple[GlobalModel | None, FloatArray]:
        """The model of the noise, and its scale at the rows: cross-fitted where the model has seen them."""
        is_new = rows.source == "fresh"
        own = self._cross_fitted() if is_new and not hasattr(self, "_error_model") else rows
        if is_new and own is rows:
            noise = self._error_model.noise
        elif own.X is None:
            noise = None
        else:
            columns = own.prediction, own.y, own.weights
            noise, scale = fit_noise(own.X, *columns, level=own.level, groups=own.groups, seed=self._seed)
            if not is_new:
                return noise, scale
        return noise, np.ones(len(rows.y)) if rows.X is None else noise_scale(noise, rows.X, rows.prediction)

    def _support(self, y: FloatArray, masses: PointMasses | None) -> tuple[float, float]:
        """What y stays between: bounds that were given, and ends of y that many rows share."""
        given = getattr(self, "_fitted_with", {}).get("bounds", getattr(self, "bounds", None))
        low, high = (None, None) if given is None or isinstance(given, str) else given
        ends = [-np.inf if low is None else low, np.inf if high is None else high]
        if masses is not None:
            ends[0] = max(ends[0], y.min()) if masses.values[0] == y.min() else ends[0]
            ends[1] = min(ends[1], y.max()) if masses.values[-1] == y.max() else ends[1]
        return float(ends[0]), float(ends[1])

    def _prediction_and_scale(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Predictions of new rows, and the scale of the noise there, (n,) each; calibrates a model that is not yet."""
        check_is_fitted(self)
        check_in_memory(X)
        prediction = self.predict(X)
        if not hasattr(self, "calibration_"):
            self.calibrate()
        noise = self._error_model.noise
        if noise is None:
            return prediction, np.ones(len(prediction))
        with self._running(), on_threads():
            return prediction, noise_scale(noise, self._check_new(X).astype(np.float64), prediction)

    def _predicted(self, X: Any, y: Any, sample_weight: Any) -> OutOfSample:
        """Predictions and responses of rows that the model has not seen."""
        check_same_order(X, y)
        check_plain("y", y)
        check_one_column(y, self)
        prediction = self.predict(X)
        y = check_array(y, ensure_2d=False, dtype=np.float64, order="C", input_name="y")
        check_consistent_length(prediction, y)
        y = column_or_1d(y, warn=True)
        weights, kept = check_weights(sample_weight, len(y), X)
        rows = self._check_new(X).astype(np.float64)[kept] if self._keeps_left_out else None
        return OutOfSample(prediction[kept], y[kept], weights, "fresh", X=rows)

    def _cross_fitted(self) -> OutOfSample:
        """Predict every row of the fit by a fit without its fold; rows with equal x, and groups, share a fold.

        What such a fit predicts differently from the whole fit, in the median over rows that both have seen, is taken
        off: intervals are put around the whole fit, and a few rows may shift all that a fit predicts.
        """
        X, y, weights = self._training_rows()
        pool = candidate_rows(
            X if self._row_keys is None else self._row_keys(X), y[:, None], weights, "auto", self._seed
        )
        common, folds, prediction = pool.rows[:COMMON_ROWS], np.full(len(y), -1), np.full(len(y), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = self.predict(take_rows(X, common))
        own = pool.folds[pool.member]
        folded = [(np.flatnonzero(own != fold), np.flatnonzero(own == fold)) for fold in range(N_FOLDS)]
        if self._together is not None:
            folded = list(self._together.folds(y, N_FOLDS, weights))
        for fold, (rest, here) in enumerate(folded):
            folds[here], both = fold, np.flatnonzero(np.isin(common, rest))
            if len(rest) and len(here):
                asked = take_rows(X, np.concatenate([here, common[both]]))
                found = self._refitted(take_rows(X, rest), y[rest], weights[rest], asked)
                new, seen = np.split(found, [len(here)])
                prediction[here] = new - (np.median(seen - whole[both]) if len(both) else 0.0)
        known = ~np.isnan(prediction)  # one distinct row leaves none to fit without it; the first no past
        compared = folds[known] if self._together is None else None  # groups and blocks differ by what is asked for
        return OutOfSample(prediction[known], y[known], weights[known], "cross-fitted", compared)

    def _clone_as_fitted(self, **settings: Any) -> Any:
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)
