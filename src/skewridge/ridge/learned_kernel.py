"""Scales, ridge and trends of a kernel, as they were learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import BoolArray, FloatArray


@dataclass(frozen=True)
class LearnedKernel:
    """Scales, ridge and trends, and how the learning went.

    Attributes
    ----------
    scales : (d,) array, what features are multiplied by before they enter the kernel
    ridge : float, c in k(s z, s z') + Q diag(trends) Q' + c diag(1 / f)
    trends : (k,) array, one for every column of Q
    losses : (n_steps,) array, the leave-one-out error of every step's sample over the variance of
        y; NaN for steps that could not be used
    """

    scales: FloatArray
    ridge: float
    trends: FloatArray
    losses: FloatArray

    @property
    def n_used(self) -> int:
        """Steps that could be used."""
        return int(np.isfinite(self.losses).sum())

    @property
    def learned(self) -> bool:
        """False if no step could be used: scales, ridge and trends are the starting values."""
        return self.n_used > 0

    def without_guides(self, ignored: BoolArray) -> LearnedKernel:
        """The same with scale and trend 0 for some guides, whose scales stand last; ignored, (k,), marks them.

        Examples
        --------
        >>> import numpy as np
        >>> own = LearnedKernel(np.array([1.0, 2.0, 3.0]), 0.1, np.array([4.0, 5.0]), np.zeros(1))
        >>> silent = own.without_guides(np.array([False, True]))
        >>> silent.scales, silent.trends
        (array([1., 2., 0.]), array([4., 0.]))
        """
        heard = np.append(np.full(len(self.scales) - len(ignored), True), ~ignored)
        return replace(self, scales=np.where(heard, self.scales, 0.0), trends=np.where(ignored, 0.0, self.trends))


def average_kernel(kernels: Sequence[LearnedKernel]) -> LearnedKernel:
    """Return the geometric means of scales, ridges and trends that were learned on parts of the rows.

    Learned scales of a small table vary with the rows they were learned on; their mean over parts
    varies less. A guide that some of them ignore has the mean of the others.

    Examples
    --------
    >>> import numpy as np
    >>> one, other = (LearnedKernel(np.array([s]), s, np.empty(0), np.zeros(1)) for s in (1.0, 4.0))
    >>> average_kernel([one, other]).scales, average_kernel([one, other]).ridge
    (array([2.]), 2.0)
    """
    found = np.array([np.concatenate([own.scales, [own.ridge], own.trends]) for own in kernels])
    d = len(kernels[0].scales)
    heard = found > 0.0
    theta = np.log(np.where(heard, found, 1.0)).sum(axis=0) / np.maximum(heard.sum(axis=0), 1)
    values = np.where(heard.any(axis=0), np.exp(theta), 0.0)
    losses = np.concatenate([own.losses for own in kernels])
    return LearnedKernel(values[:d], float(values[d]), values[d + 1 :], losses)
