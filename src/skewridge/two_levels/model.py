"""What two levels leave behind: the models of the blend's members, as they predict and are saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.cells.local import LocalModel
from skewridge.centers.model import GlobalModel
from skewridge.features.forms import FeatureForms, ScaledForms
from skewridge.ridge.linear import LinearModel
from skewridge.two_levels.blend import Blend


@dataclass(frozen=True)
class TwoLevels:
    """The global fit g and the local fits, which see (g - mean) / spread, and the same of companions, as guides."""

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
        forms, transform, places = self.forms(X), self.level_one.transform, self._places
        shared = isinstance(transform, ScaledForms) and places is not None
        Z = forms[:, places] * transform.scales if shared else transform(X)  # type: ignore[union-attr]
        first = self.level_one.predict_transformed(Z)
        yield first
        guides = (np.hstack([first, beside]) - self.mean) / self.spread
        for model in self.locals:
            yield model.predict(forms, guides)

    @cached_property
    def _places(self) -> IntArray | None:
        """Where level 1's forms stand among those of the local fits; None where they differ."""
        transform = self.level_one.transform
        return self.forms.places_of(transform.forms) if isinstance(transform, ScaledForms) else None


@dataclass(frozen=True)
class Members:
    """All members of a blend, no levels where rows are too few; within bounds, since lines go anywhere off the rows."""

    levels: TwoLevels | None
    linear: LinearModel
    low: float = -np.inf
    high: float = np.inf

    def predict(self, X: FloatArray, beside: FloatArray | None = None) -> list[FloatArray]:
        """Every member's predictions of one block of rows, (n, 1) each; beside, (n, c), are companions'."""
        if self.levels is None:
            return self.within([self.linear.predict(X)])
        beside = self.bounded(np.empty((len(X), 0)) if beside is None else beside)
        return self.within([*self.levels.predict(X, beside), self.linear.predict(X), *columns_of(beside)])

    def bounded(self, values: FloatArray) -> FloatArray:
        """Values clipped to the bounds."""
        return np.clip(values, self.low, self.high)

    def within(self, predictions: list[FloatArray]) -> list[FloatArray]:
        """Predictions clipped to the bounds."""
        return [self.bounded(own) for own in predictions]


@dataclass(frozen=True)
class BlendedModel:
    """Members and their weights: what predicts, what is saved, and nothing else."""

    members: Members
    blend: Blend

    def predict(self, X: FloatArray, beside: FloatArray | None = None) -> FloatArray:
        """Predict one block of rows, (n, 1); beside, (n, c), are the companions' predictions."""
        return self.blend.predict(self.members.predict(X, beside))


def columns_of(values: FloatArray) -> list[FloatArray]:
    """The columns of a matrix, (n, 1) each."""
    return [values[:, [j]] for j in range(values.shape[1])]
