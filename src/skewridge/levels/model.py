"""What two levels leave behind: the models of the blend's members, as they predict and are saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.cells.learned import LocalModel
from skewridge.centers.model import GlobalModel
from skewridge.features.rank_forms import FeatureForms
from skewridge.features.scaled_forms import ScaledForms
from skewridge.ridge.linear import LinearModel


@dataclass(frozen=True)
class TwoLevels:
    """The global fit and the local fits that see it, and its companions' values.

    Attributes
    ----------
    level_one : GlobalModel
    forms : FeatureForms, that local fits see
    locals : tuple of LocalModel
    mean, spread : float, guides are (g - mean) / spread, of level 1 and of every companion
    """

    level_one: GlobalModel
    forms: FeatureForms
    locals: tuple[LocalModel, ...]
    mean: float
    spread: float

    @property
    def n_guides(self) -> int:
        """Level 1 and its companions."""
        return self.locals[0].cells.n_guides

    def predict(self, X: FloatArray, beside: FloatArray) -> Iterator[FloatArray]:
        """Yield the members' predictions of one block of rows, each (n, 1); beside are companions'."""
        forms = self.forms(X)
        first = self.level_one.predict_transformed(self._transformed(X, forms))
        yield first
        guides = (np.hstack([first, beside]) - self.mean) / self.spread
        for model in self.locals:
            yield model.predict(forms, guides)

    def _transformed(self, X: FloatArray, forms: FloatArray) -> FloatArray:
        """Rows as level 1 sees them: some of the forms, times their scales."""
        transform, places = self.level_one.transform, self._shared
        if places is None or not isinstance(transform, ScaledForms):
            return transform(X)
        return forms[:, places] * transform.scales

    @cached_property
    def _shared(self) -> IntArray | None:
        """Where level 1's forms stand among those of the local fits; None where they differ."""
        transform = self.level_one.transform
        return self.forms.places_of(transform.forms) if isinstance(transform, ScaledForms) else None


@dataclass(frozen=True)
class Members:
    """All members of a blend; without levels where there are too few rows for them.

    Attributes
    ----------
    levels : TwoLevels or None
    linear : LinearModel
    low, high : float, the bounds of every member's predictions: a line may go anywhere off the rows
    """

    levels: TwoLevels | None
    linear: LinearModel
    low: float = -np.inf
    high: float = np.inf

    def predict(self, X: FloatArray, beside: FloatArray | None = None) -> list[FloatArray]:
        """Every member's predictions of one block of rows, (n, 1) each, in the order of the weights.

        ``beside``, (n, c), are the companions' predictions; None where there are none.
        """
        if self.levels is None:
            return self.within([self.linear.predict(X)])
        beside = self.bounded(np.empty((len(X), 0)) if beside is None else beside)
        levels = self.levels.predict(X, beside)
        return self.within([*levels, self.linear.predict(X), *columns_of(beside)])

    def bounded(self, values: FloatArray) -> FloatArray:
        """Values clipped to the bounds."""
        return np.clip(values, self.low, self.high)

    def within(self, predictions: list[FloatArray]) -> list[FloatArray]:
        """Predictions clipped to the bounds."""
        return [self.bounded(own) for own in predictions]


def columns_of(values: FloatArray) -> list[FloatArray]:
    """The columns of a matrix, (n, 1) each."""
    return [values[:, [j]] for j in range(values.shape[1])]
