"""What estimators know of their errors at new rows: their scale, their distribution, values that y shares."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, PicklesFields
from skewridge.centers.model import GlobalModel
from skewridge.distribution.intervals import Calibration, Unseen
from skewridge.distribution.predictive import PointMasses, PredictiveDistribution, lattice_of, point_masses
from skewridge.estimators.bounds import as_bounds
from skewridge.execution.context import on_threads
from skewridge.two_levels.noise import fit_noise, noise_scale


@dataclass(frozen=True)
class ErrorModel(PicklesFields):
    """How errors depend on the row, beside the calibration that they are ordered in.

    Attributes
    ----------
    noise : GlobalModel of the logarithm of their scale; None where it is the same everywhere
    masses : PointMasses of y, or None
    low, high : float, what y stays between: bounds that were given, and ends of y that are point masses
    origin, step : float, of the grid that y lies on, such as whole numbers; 0 where there is none
    """

    noise: GlobalModel | None = None
    masses: PointMasses | None = None
    low: float = -np.inf
    high: float = np.inf
    origin: float = 0.0
    step: float = 0.0

    def distribution(self, calibration: Calibration, f: FloatArray, scale: FloatArray) -> PredictiveDistribution:
        """The distribution of y at rows with such predictions and scales, (n,) each."""
        own = calibration if self.masses is None else self.masses.rest
        shape = None if own is None else own.shape
        limits = self.low, self.high, self.origin, self.step
        return PredictiveDistribution(f, scale, shape, self.masses, *limits)


class ErrorModels:
    """Errors of unseen rows as an estimator keeps them, for intervals and distributions."""

    predict: Callable[..., Any]
    calibration_: Calibration
    _error_model: ErrorModel
    _response_edges: FloatArray
    _seed: int

    def _running(self) -> AbstractContextManager[None]:
        """How work runs: as it does around."""
        return nullcontext()

    def _numbers(self, X: Any) -> FloatArray | None:
        """New rows as checked numbers; None where the scale of the noise cannot depend on them."""
        return None

    def _remember_errors(self, rows: Unseen, own: Unseen | None) -> None:
        """Keep the errors of unseen rows; the scale of their noise is learned from ``own``, rows of the fit."""
        with self._running(), on_threads():
            noise, scale = self._noise(rows, own)
        edges, level = self._response_edges, rows.prediction if rows.level is None else rows.level
        masses = point_masses(rows.prediction, rows.y, scale, edges, rows.weights, rows.source, level)
        low, high = self._support(rows.y, masses)
        origin, step = lattice_of(rows.y) or (0.0, 0.0)
        self.calibration_ = rows.calibration(edges, scale)
        self._error_model = ErrorModel(noise, masses, low, high, origin, step)

    def _noise(self, rows: Unseen, own: Unseen | None) -> tuple[GlobalModel | None, FloatArray]:
        """The model of the noise, and its scale at the rows: cross-fitted where the model has seen them."""
        if rows.X is None:
            return None, np.ones(len(rows.y))
        if own is not rows and hasattr(self, "_error_model"):
            noise = self._error_model.noise
        elif own is None or own.X is None:
            noise = None
        else:
            columns = own.prediction, own.y, own.weights
            noise, scale = fit_noise(own.X, *columns, level=own.level, groups=own.groups, seed=self._seed)
            if own is rows:
                return noise, scale
        return noise, noise_scale(noise, rows.X, rows.prediction)

    def _support(self, y: FloatArray, masses: PointMasses | None) -> tuple[float, float]:
        """What y stays between: bounds that were given, and ends of y that many rows share."""
        given = as_bounds(getattr(self, "_fitted_with", {}).get("bounds", getattr(self, "bounds", None)))
        low, high = (None, None) if given is None or isinstance(given, str) else given
        ends = [-np.inf if low is None else low, np.inf if high is None else high]
        if masses is not None:
            ends[0] = max(ends[0], y.min()) if masses.values[0] == y.min() else ends[0]
            ends[1] = min(ends[1], y.max()) if masses.values[-1] == y.max() else ends[1]
        return float(ends[0]), float(ends[1])

    def _scale(self, X: Any, prediction: FloatArray) -> FloatArray:
        """The scale of the noise at new rows with such predictions, (n,)."""
        noise = self._error_model.noise
        rows = None if noise is None else self._numbers(X)
        if rows is None:
            return np.ones(len(prediction))
        with self._running(), on_threads():
            return noise_scale(noise, rows, prediction)
