"""Adam, the optimiser that scales, ridges and trends are learned by."""

from __future__ import annotations

import numpy as np

from skewridge._typing import FloatArray

MOMENTUM, MEMORY, LEAST_SIZE = 0.9, 0.99, 1e-8


class Adam:
    """Moves of about unit size: the gradient's running mean over the root of its running square."""

    def __init__(self, size: int) -> None:
        self._mean, self._square, self._n = np.zeros(size), np.zeros(size), 0

    def move(self, gradient: FloatArray) -> FloatArray:
        """Take a gradient in and return the move, with the zeros it began with corrected for."""
        self._n += 1
        self._mean = MOMENTUM * self._mean + (1.0 - MOMENTUM) * gradient
        self._square = MEMORY * self._square + (1.0 - MEMORY) * gradient**2
        mean = self._mean / (1.0 - MOMENTUM**self._n)
        size = np.sqrt(self._square / (1.0 - MEMORY**self._n))
        return np.asarray(mean / (size + LEAST_SIZE))
