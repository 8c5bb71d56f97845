"""Choosing the penalty and the bandwidth from the kernel and the data's size and spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skewridge._permutation import shuffle

if TYPE_CHECKING:
    from skewridge.execution.chunked import RowData

MEDIAN_ROWS = 1000  # pairs among so many rows settle the median distance to about 1%

_MATERN_SMOOTHNESS = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}


def penalty_rule(kernel: str, n_rows: float, n_features: int) -> float:
    """Return the penalty of the rate-optimal order in the TOTAL number of rows N (Zhang, Duchi & Wainwright 2015).

    1/N for gaussian (exponential eigendecay) and polynomial (finite rank); N^(-2v/(2v+1)) for eigenvalues
    that decay as j^(-2v): v = 1 for sobolev and laplacian, v = 1/2 + s/d for a Matern kernel of smoothness s in
    d features.

    Examples
    --------
    >>> penalty_rule("gaussian", 1000, 2)
    0.001
    >>> round(penalty_rule("sobolev", 1000, 1), 12)  # N^(-2/3)
    0.01
    """
    if kernel in ("gaussian", "polynomial"):
        return 1.0 / n_rows
    decay = 0.5 + _MATERN_SMOOTHNESS[kernel] / n_features if kernel in _MATERN_SMOOTHNESS else 1.0
    return float(n_rows ** (-2 * decay / (2 * decay + 1)))


def median_bandwidth(X: RowData, kernel: str, seed: int) -> float:
    """Return the median distance between rows (L1 for laplacian), from a keyed sample of at most 1,000 rows.

    Where more than half of the pairs coincide it is the mean of the others; where all do, 1.
    """
    from scipy.spatial.distance import pdist

    rows = X[np.flatnonzero(shuffle(np.arange(len(X)), len(X), seed, stream=0) < MEDIAN_ROWS)]
    unit = float(np.abs(rows).max(initial=0.0)) or 1.0  # squares of tiny features must not vanish
    distances = pdist(rows / unit, "cityblock" if kernel == "laplacian" else "euclidean")
    if distances.size == 0 or distances.max() == 0:
        return 1.0
    mean = float(distances.sum() / np.count_nonzero(distances))
    return (float(np.median(distances, overwrite_input=True)) or mean) * unit
