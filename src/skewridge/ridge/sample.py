"""The rows that algorithms work on: distinct rows in canonical order, with all that is known of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Sample:
    """Distinct rows in canonical order (see :mod:`skewridge.response.candidates`); the first n are a random sample.

    Z (n, D), features or forms of columns; Y (n, p); frequencies (n,), how often a row occurs; loss_weights (n,), how
    much its squared error counts: frequency times score; groups (n,), rows that are left out together, None: every
    row on its own; trend (n, k), first estimates that a fit may follow, or None.
    """

    Z: FloatArray
    Y: FloatArray
    frequencies: FloatArray
    loss_weights: FloatArray
    groups: IntArray | None = None
    trend: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.Z)

    def some(self, places: IntArray | BoolArray | slice) -> Sample:
        """Rows by their places, or by a mask; those of one group that is left are left out one by one."""
        groups = None if self.groups is None else self.groups[places]
        return Sample(
            Z=self.Z[places],
            Y=self.Y[places],
            frequencies=self.frequencies[places],
            loss_weights=self.loss_weights[places],
            groups=None if groups is None or np.all(groups == groups[0]) else groups,
            trend=None if self.trend is None else self.trend[places],
        )
