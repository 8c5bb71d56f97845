"""Other regressors beside level 1: their cross-fitted values guide the local fits and join the blend.

A companion is fitted by objects of another room, which know its kind; here it is a name and a fit.
Companions are fitted where a fit is driven from, one after another: they are not ours, and may not
bear threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from skewridge._typing import FloatArray, IntArray


class FittedCompanion(Protocol):
    """A fitted regressor."""

    @property
    def regressor(self) -> Any:
        """What was fitted."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Finite predictions of rows, (n,)."""


class Companion(Protocol):
    """A regressor that can be fitted, as often as it is asked, to rows that occur `weights` times."""

    @property
    def name(self) -> str:
        """What it is called among the members of the blend."""

    def fit(self, X: FloatArray, y: FloatArray, weights: FloatArray) -> FittedCompanion:
        """Fit a copy of it to rows (n, d), responses (n,) and frequencies (n,)."""


@dataclass(frozen=True)
class CompanionFits:
    """Companions fitted to all rows, and what they predict for rows that they have not seen.

    Attributes
    ----------
    fitted : tuple of c FittedCompanion, for new rows
    honest : (n, c) array of cross-fitted values at the rows
    """

    fitted: tuple[FittedCompanion, ...]
    honest: FloatArray

    def predict(self, X: FloatArray) -> FloatArray:
        """Predictions of new rows, (n, c)."""
        return companion_values(self.fitted, X)


def fit_companions(
    companions: Sequence[Companion],
    X: FloatArray,
    y: FloatArray,
    frequencies: FloatArray,
    folds: IntArray,
) -> CompanionFits:
    """Fit every companion to all rows, and cross-fit it: a row's value is of the fit to other folds.

    Parameters
    ----------
    X, y, frequencies : (n, d), (n,) and (n,) arrays of distinct rows
    folds : (n,) array, at least two folds
    """
    honest = np.empty((len(X), len(companions)))
    for companion, values in zip(companions, honest.T, strict=True):
        for fold in np.unique(folds):
            rest, own = folds != fold, folds == fold
            values[own] = companion.fit(X[rest], y[rest], frequencies[rest]).predict(X[own])
    return CompanionFits(tuple(own.fit(X, y, frequencies) for own in companions), honest)


def no_companions(n_rows: int) -> CompanionFits:
    """The fits of no companion."""
    return CompanionFits((), np.empty((n_rows, 0)))


def companion_values(fitted: Sequence[FittedCompanion], X: FloatArray) -> FloatArray:
    """Predictions of some companions side by side, (n, c)."""
    return np.array([own.predict(X) for own in fitted]).reshape(len(fitted), len(X)).T
