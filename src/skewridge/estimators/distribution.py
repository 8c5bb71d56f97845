"""The whole distribution of y at new rows: quantiles, probabilities of more than a threshold, expected costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skewridge._typing import FloatArray
from skewridge._validation import warn_user
from skewridge.distribution.intervals import Calibration
from skewridge.distribution.predictive import PredictiveDistribution
from skewridge.estimators.error_models import NO_MODEL, ErrorModel
from skewridge.estimators.intervals import IntervalMixin


class DistributionMixin(IntervalMixin):
    """``predict_distribution`` and what is read off it, for a regressor that can be calibrated."""

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
        check_is_fitted(self)
        prediction = self.predict(X)
        if not hasattr(self, "calibration_"):
            self.calibrate()
        if any(found.source == "unstable" for found in self.calibration_):
            warn_user(
                "Distributions are not promised to be calibrated: fits without a fifth of the rows differ from one "
                "another by more than their errors. Look for gross errors in y, or calibrate(X, y) with rows that "
                "were kept back."
            )
        columns = prediction.reshape(len(prediction), -1).T
        parts = zip(self._models_of_errors, self.calibration_, columns, self._scales(X, columns), strict=True)
        outputs = [model.distribution(*part) for model, *part in parts]
        return PredictiveDistribution(outputs, single=prediction.ndim == 1)

    def predict_quantiles(self, X: Any, levels: Any = (0.05, 0.5, 0.95)) -> FloatArray:
        """Return quantiles of y: the least value that y stays below, or at, with probability ``level``.

        Parameters
        ----------
        X : (n, d) array or data frame
        levels : number in ]0, 1[, or (L,) array of them

        Returns
        -------
        quantiles : (n,) or (n, L) array; (n, p) or (n, p, L) for several outputs
        """
        asked = _levels(levels)
        found = self.predict_distribution(X)
        for model, calibration in zip(self._models_of_errors, self.calibration_, strict=True):
            _check_known(asked, calibration, model)
        return found.quantile(asked)

    def predict_cdf(self, X: Any, t: Any) -> FloatArray:
        """Return P(y <= t).

        Parameters
        ----------
        X : (n, d) array or data frame
        t : number, or (T,) array of them

        Returns
        -------
        probability : (n,) or (n, T) array; (n, p) or (n, p, T) for several outputs
        """
        asked = _thresholds("t", t)
        return self.predict_distribution(X).cdf(asked)

    def predict_exceedance(self, X: Any, thresholds: Any) -> FloatArray:
        """Return P(y > threshold): positive also above all that was seen, where there are rows enough for a tail.

        Parameters
        ----------
        X : (n, d) array or data frame
        thresholds : number, or (T,) array of them

        Returns
        -------
        probability : (n,) or (n, T) array; (n, p) or (n, p, T) for several outputs

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
        asked = _thresholds("thresholds", thresholds)
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
        cost : (n, A) array; (n, p, A) for several outputs

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
        return np.stack([_expected(found, cost, action) for action in choices], axis=-1)

    @property
    def _models_of_errors(self) -> tuple[ErrorModel, ...]:
        """Of every output; files of earlier versions have none."""
        return getattr(self, "_error_models", (NO_MODEL,) * len(self.calibration_))


def _expected(found: PredictiveDistribution, cost: Callable[[Any, FloatArray], Any], action: Any) -> FloatArray:
    def of_action(y: FloatArray) -> FloatArray:
        values = np.asarray(cost(action, y), dtype=np.float64)
        if values.shape not in ((), y.shape):
            raise ValueError(
                f"cost(action, y) must return one cost for every response, of shape {y.shape}; got {values.shape}."
            )
        return np.broadcast_to(values, y.shape)

    return found.expected(of_action)


def _levels(levels: Any) -> FloatArray:
    """Levels as numbers in ]0, 1[, or raise."""
    asked = _thresholds("levels", levels)
    if asked.size == 0 or not np.all((asked > 0.0) & (asked < 1.0)):
        odd = asked[~((asked > 0.0) & (asked < 1.0))].ravel()
        got = f"{odd[0]:g}" if len(odd) else "none"
        raise ValueError(f"levels must lie above 0 and below 1; got {got}. The median is 0.5, the 99% level 0.99.")
    return asked


def _thresholds(name: str, values: Any) -> FloatArray:
    """A number or a vector of numbers, or raise."""
    try:
        asked = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number or a list of numbers; got {values!r}.") from error
    if asked.ndim > 1:
        raise ValueError(f"{name} must be a number or a list of numbers; got an array of shape {asked.shape}.")
    if np.isnan(asked).any():
        raise ValueError(f"{name} must be numbers; got nan at place {int(np.argmax(np.isnan(asked)))}.")
    return asked


def _check_known(levels: FloatArray, calibration: Calibration, model: ErrorModel) -> None:
    """Refuse levels that the errors say nothing about."""
    own = calibration if model.masses is None else model.masses.rest
    if own is None:
        return
    least, largest = own.shape.known_levels
    odd = np.atleast_1d(levels)[(levels < least) | (levels > largest)].ravel()
    if len(odd):
        raise ValueError(
            f"level {odd[0]:g} cannot be told from {own.n_rows:.0f} errors: levels from {least:.4g} to {largest:.4g} "
            "can. Calibrate with more rows (a tail beyond them takes 500), or ask for other levels."
        )
