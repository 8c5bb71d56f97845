"""What estimators know of their errors at new rows: their scale, their distribution, values that y shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, PicklesFields
from skewridge.centers.model import GlobalModel
from skewridge.distribution.intervals import Calibration, Unseen
from skewridge.distribution.predictive import OutputDistribution, PointMasses, lattice_of, point_masses
from skewridge.estimators.bounds import as_bounds
from skewridge.execution.context import on_threads
from skewridge.two_levels.noise import fit_noise, noise_scale


@dataclass(frozen=True)
class ErrorModel(PicklesFields):
    """How the errors of one output depend on the row, beside the calibration that they are ordered in.

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

    def distribution(self, calibration: Calibration, f: FloatArray, scale: FloatArray) -> OutputDistribution:
        """The distribution of y at rows with such predictions and scales, (n,) each."""
        own = calibration if self.masses is None else self.masses.rest
        shape = None if own is None else own.shape
        limits = self.low, self.high, self.origin, self.step
        return OutputDistribution(f, scale, shape, self.masses, *limits)


NO_MODEL = ErrorModel()


class ErrorModels:
    """Errors of unseen rows as an estimator keeps them, for intervals and distributions."""

    predict: Callable[..., Any]
    calibration_: tuple[Calibration, ...]
    _error_models: tuple[ErrorModel, ...]
    _response_edges: tuple[FloatArray, ...]
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
            found = [self._error_model(rows, own, output) for output in range(rows.Y.shape[1])]
        self.calibration_ = tuple(calibration for calibration, _ in found)
        self._error_models = tuple(model for _, model in found)

    def _error_model(self, rows: Unseen, own: Unseen | None, output: int) -> tuple[Calibration, ErrorModel]:
        noise, scale = self._noise(rows, own, output)
        y, edges = rows.Y[:, output], self._response_edges[output]
        calibration = rows.calibration(output, edges, scale)
        own_prediction, level = rows.prediction[:, output], rows.levels(output)
        masses = point_masses(own_prediction, y, scale, edges, rows.weights, rows.source, level)
        low, high = self._support(y, masses)
        origin, step = lattice_of(y) or (0.0, 0.0)
        return calibration, ErrorModel(noise, masses, low, high, origin, step)

    def _noise(self, rows: Unseen, own: Unseen | None, output: int) -> tuple[GlobalModel | None, FloatArray]:
        """The model of the noise, and its scale at the rows: cross-fitted where the model has seen them."""
        if rows.X is None:
            return None, np.ones(len(rows.Y))
        if own is not rows and hasattr(self, "_error_models"):
            noise = self._error_models[output].noise
        elif own is None or own.X is None:
            noise = None
        else:
            columns = own.prediction[:, output], own.Y[:, output], own.weights
            noise, scale = fit_noise(own.X, *columns, level=own.levels(output), groups=own.groups, seed=self._seed)
            if own is rows:
                return noise, scale
        return noise, noise_scale(noise, rows.X, rows.prediction[:, output])

    def _support(self, y: FloatArray, masses: PointMasses | None) -> tuple[float, float]:
        """What y stays between: bounds that were given, and ends of y that many rows share."""
        given = as_bounds(getattr(self, "_fitted_with", {}).get("bounds", getattr(self, "bounds", None)))
        low, high = (None, None) if given is None or isinstance(given, str) else given
        ends = [-np.inf if low is None else low, np.inf if high is None else high]
        if masses is not None:
            ends[0] = max(ends[0], y.min()) if masses.values[0] == y.min() else ends[0]
            ends[1] = min(ends[1], y.max()) if masses.values[-1] == y.max() else ends[1]
        return float(ends[0]), float(ends[1])

    def _scales(self, X: Any, columns: Sequence[FloatArray]) -> list[FloatArray]:
        """The scale of the noise of every output at new rows with such predictions, (n,) each."""
        models = self._models_of_errors
        rows = self._numbers(X) if any(model.noise is not None for model in models) else None
        if rows is None:
            return [np.ones(len(column)) for column in columns]
        pairs = zip(models, columns, strict=True)
        with self._running(), on_threads():
            return [noise_scale(model.noise, rows, column) for model, column in pairs]

    @property
    def _models_of_errors(self) -> tuple[ErrorModel, ...]:
        """Of every output; files of earlier versions have none."""
        return getattr(self, "_error_models", (NO_MODEL,) * len(self.calibration_))
