"""The shell of cells alone: parameters in, fitted attributes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from skewridge._typing import Bytes, FloatArray, KernelName, RandomState, Scoring
from skewridge._validation import check_choice, check_integer, check_weights, warn_user
from skewridge.cells.fit import check_cell_kernel
from skewridge.cells.learned import LocalFit, LocalSettings, fit_local
from skewridge.cells.partition import CELL_SIZE, N_PARTITIONS
from skewridge.engine.job import one_blas_thread
from skewridge.engine.passes import predict_rows
from skewridge.estimators.base import KernelEstimator
from skewridge.estimators.bounds import Bounds, check_bounds, clip_columns, ends_of
from skewridge.estimators.notebook import cells_summary
from skewridge.features.forms import learn_forms
from skewridge.levels.blend import stated_risk
from skewridge.levels.planning import require_memory
from skewridge.metrics import SCORINGS, row_scores
from skewridge.model_selection import draw_seed
from skewridge.ridge.distinct import DistinctRows, collapse_rows


class LocalKernelRidge(KernelEstimator):
    """Exact kernel ridge regression in small cells of x, averaged over a few random partitions.

    Scales of features and the ridge are learned by the exact gradient of the leave-one-out error on
    balls of near rows; then x is cut into cells of at most ``cell_size`` rows, ``n_partitions``
    times, and every cell is solved exactly. Up to ``cell_size`` rows it is one cell. Cells see what
    is near and nothing else: :class:`SkewRidge` has a global fit beside them.

    Parameters
    ----------
    kernel : str, default="laplacian"
        One that decays with distance: "gaussian", "matern12", "matern32", "matern52" or "laplacian".
    n_partitions : int, default=4
        Random partitions whose fits are averaged.
    cell_size : int, default=1200
        The most rows of a cell. A cell of n rows costs n^3 / 3 operations and n^2 numbers.
    scoring : {"mse", "balanced_mse", "sera"} or callable, default="mse"
        What scales and ridge are learned by; a callable takes y and returns how much every row's squared error counts.
    bounds : "auto", None or (low, high), default="auto"
        What predictions stay between. "auto": the training range of y plus a tenth at either end; None: anything; an
        end may be None, as in ``(0, None)``.
    memory_limit : int or str, optional
        In bytes, or a text such as "2GB"; a fit that needs more is refused before it starts. None: the machine's
        memory.
    n_jobs : int, optional
        Threads. The result is the same to the last bit for any number.
    random_state : int, RandomState instance or None, default=None
        Decides balls and cells.
    verbose : int, default=0
        Whether to report progress on stderr.

    Attributes
    ----------
    loo_prediction_ : (N,) or (N, p) array
        Predictions of the training rows by fits without them, given scales and cells.
    risk_ : StatedRisk, or a tuple of them
        The stated error, from ``loo_prediction_``: it does not see that scales were learned from the same rows.
    feature_scale_ : (d,) array, the learned scale of every column
    dropped_features_ : list
        Columns (names where there are any) that are constant or whose learned scale is negligible.
    ridge_ : float
    n_cells_ : int, in all partitions
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Notes
    -----
    Several outputs share scales, ridge and cells. A fitted model, and its file, hold every distinct training row.

    Examples
    --------
    >>> from skewridge import LocalKernelRidge
    >>> from skewridge.datasets import make_peaks
    >>> X, y, X_test, truth = make_peaks(1000, 2, random_state=0, return_test=True)
    >>> model = LocalKernelRidge("matern32", random_state=0).fit(X, y)
    >>> bool(((model.predict(X_test) - truth) ** 2).mean() < 0.05 * truth.var())
    True
    """

    _summary = cells_summary

    def __init__(
        self,
        kernel: KernelName = "laplacian",
        n_partitions: int = N_PARTITIONS,
        cell_size: int = CELL_SIZE,
        scoring: Scoring = "mse",
        bounds: Bounds = "auto",
        memory_limit: Bytes | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_partitions = n_partitions
        self.cell_size = cell_size
        self.scoring = scoring
        self.bounds = bounds
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
