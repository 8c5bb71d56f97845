"""The whole distribution of y at new rows: quantiles, probabilities of more than a threshold, expected costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skewridge._typing import FloatArray
from skewridge._validation import warn_user
from skewridge.distribution.predictive import PredictiveDistribution, check_levels, check_thresholds
from skewridge.estimators.intervals import IntervalMixin, check_in_memory


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
        check_in_memory(X)
        prediction = self.predict(X)
        if not hasattr(self, "calibration_"):
            self.calibrate()
        if self.calibration_.source == "unstable":
            warn_user(
                "Distributions are not promised to be calibrated: fits without a fifth of the rows differ from one "
                "another by more than their errors. Look for gross errors in y, or calibrate(X, y) with rows that "
                "were kept back."
            )
        scale = self._scale(X, prediction)
        return self._error_model.distribution(self.calibration_, prediction, scale)

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
            least, largest = self.calibration_.shape.known_levels
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
