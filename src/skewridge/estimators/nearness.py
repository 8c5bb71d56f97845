"""How near the rows of a fit are to new rows, where a model holds its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.cells.local import LocalModel
from skewridge.estimators.local import LocalKernelRidge
from skewridge.estimators.skew_ridge import SkewRidge
from skewridge.features.forms import FeatureForms

N_SAMPLE = 500  # rows of the fit whose own neighbours are sought
SEED = 0


@dataclass(frozen=True)
class Nearness:
    """Distances in the scales that the model has learned: columns that matter more count for more.

    What lies beyond the range of the fit is not far by these distances, since forms of columns end there: see
    :func:`skewridge.tables.out_of_range.outside_fit`.

    Attributes
    ----------
    distance : (n,) array, from each row to the nearest row of the fit
    usual : float, the median of that distance among rows of the fit, each to the nearest other one
    further : (n,) array, the share of rows of the fit that are nearer to their neighbours than the row is
    """

    distance: FloatArray
    usual: float
    further: FloatArray


def nearest_fitted_rows(model: Any, X: Any) -> Nearness | None:
    """Return how near the rows of the fit are; None of a model that does not hold them.

    Parameters
    ----------
    model : fitted estimator
    X : (n, d) array, rows as the estimator takes them

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge import LocalKernelRidge
    >>> x = np.random.default_rng(0).permutation(np.r_[0:40, 60:100])
    >>> model = LocalKernelRidge(random_state=0).fit(x[:, None], np.sin(x / 9))
    >>> near = nearest_fitted_rows(model, np.array([[20.0], [50.0]]))  # a row of the fit, and one in the hole
    >>> near.further.tolist()
    [0.0, 1.0]
    """
    from scipy.spatial import cKDTree

    forms, local = _held(model)
    if forms is None or local is None or not len(local.used):
        return None
    width = len(local.used)
    points = local.cells.points[:, :width]  # guides, which rows of the fit see cross-fitted, are behind them
    rows = forms(np.asarray(X, dtype=np.float64))[:, local.used] * local.scales[:width]
    tree = cKDTree(points)
    drawn = np.random.default_rng(SEED).permutation(len(points))[:N_SAMPLE]
    if len(points) < 2:
        return None
    among = np.sort(tree.query(points[drawn], k=2)[0][:, 1])
    distance = np.asarray(tree.query(rows, k=1)[0], dtype=np.float64)
    further = np.searchsorted(among, distance * (1 - 1e-9)) / len(among)
    return Nearness(distance, float(np.median(among)), further)


def _held(model: Any) -> tuple[FeatureForms | None, LocalModel | None]:
    """The forms of columns, and the local fit that holds the rows."""
    if isinstance(model, LocalKernelRidge):
        return model._forms, model._model
    if isinstance(model, SkewRidge):
        levels = model._model.members.levels
        return (None, None) if levels is None else (levels.forms, levels.locals[0])
    return None, None
