"""The distinct rows that the members of a blend are fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Rows:
    """Distinct rows of one response.

    Attributes
    ----------
    X : (n, d) array
    y : (n, 1) array, mean responses
    frequencies : (n,) array
    scores : (n,) array, how much a row's squared error counts; None where all count alike
    groups : (n,) array, rows that are left out together, at least two groups; None: every row on its own
    """

    X: FloatArray
    y: FloatArray
    frequencies: FloatArray
    scores: FloatArray | None = None
    groups: IntArray | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def loss_weights(self) -> FloatArray:
        """Frequency times score, (n,)."""
        return self.frequencies if self.scores is None else self.frequencies * self.scores

    def some(self, places: IntArray | BoolArray) -> Rows:
        """Rows by their places, or by a mask; those of one group that is left are left out one by one."""
        scores = None if self.scores is None else self.scores[places]
        groups = None if self.groups is None else self.groups[places]
        if groups is not None and np.all(groups == groups[0]):
            groups = None
        return replace(
            self,
            X=self.X[places],
            y=self.y[places],
            frequencies=self.frequencies[places],
            scores=scores,
            groups=groups,
        )
