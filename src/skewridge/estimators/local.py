"""The shell of cells alone: parameters in, fitted attributes out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from skewridge._typing import Bounds, Bytes, FloatArray, KernelName, RandomState, Scoring
from skewridge._validation import check_integer, check_weights, warn_user
from skewridge.cells.fit import check_cell_kernel
from skewridge.cells.local import (
    LocalFit,
    LocalModel,
    LocalSettings,
    TableFit,
    fit_table,
    predict_left_out,
    predict_table,
)
from skewridge.cells.partition import CELL_SIZE, LEAST_CELL_SIZE, N_PARTITIONS
from skewridge.estimators.base import runs
from skewridge.estimators.bounds import check_bounds
from skewridge.estimators.dependence import dependence_of, warn_of_neighbours
from skewridge.estimators.honest import HonestEstimator
from skewridge.estimators.notebook import cells_summary
from skewridge.estimators.scoring import check_scoring, scores_of
from skewridge.execution.context import on_threads
from skewridge.features.forms import FeatureForms
from skewridge.features.scaling import constant_outputs
from skewridge.model_selection import draw_seed
from skewridge.response.grouping import RowGroups
from skewridge.two_levels.planning import LevelSize, is_small, require_memory
from skewridge.two_levels.results import shift_of, stated_risk, warning_of_shift


class LocalKernelRidge(HonestEstimator):
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
        The most rows of a cell, at least 8. A cell of n rows costs n^3 / 3 operations and n^2 numbers.
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
        1 shows progress of fits of more than two seconds on stderr: one line for the whole fit.

    Attributes
    ----------
    loo_prediction_ : (N,) array
        Predictions of the training rows by fits without them, given scales and cells; with ``groups``, below 3,000
        of them or 50 a column, by five fits without folds of them; with ``order`` by fits to earlier rows, and nan for
        the first half.
    risk_ : StatedRisk
        The stated error, from ``loo_prediction_``. Rows left out one by one do not see that scales were learned from
        them.
    feature_scale_ : (d,) array, the learned scale of every column
    dropped_features_ : list
        Columns (names where there are any) that are constant or whose learned scale is negligible.
    ridge_ : float
    n_cells_ : int, in all partitions
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    feature_min_in_, feature_max_in_ : (d,) arrays, the range of every column of the rows fitted

    Notes
    -----
    A fitted model, and its file, hold every distinct training row.

    Examples
    --------
    >>> from skewridge import LocalKernelRidge
    >>> from skewridge.datasets import make_peaks
    >>> X, y, X_test, truth = make_peaks(1000, 2, random_state=0, return_test=True)
    >>> model = LocalKernelRidge("matern32", random_state=0).fit(X, y)
    >>> bool(((model.predict(X_test) - truth) ** 2).mean() < 0.1 * truth.var())
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

    @runs
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, order: Any = None) -> Self:
        """Learn scales and ridge on balls, cut x into cells, solve every cell.

        Parameters
        ----------
        X : (N, d) array or data frame
        y : (N,) array or series; paired with the rows of X by position
        sample_weight : (N,) array, optional
            Frequencies: a row of weight 2 is two rows, a row of weight 0 none.
        groups : (N,) array, series or list of labels, optional
            Rows of one label (a patient, a site, a series) share what no column tells, and new rows come with other
            labels: whole groups are left out wherever rows are, and ``risk_`` and
            intervals are for rows of new groups.
        order : (N,) array, series or list, optional
            Times or places along which new rows come later: the later half, in five blocks, is predicted by fits to
            what lies before, and ``risk_`` and intervals are for rows up to a block (a tenth of the rows) ahead. Not
            together with ``groups``.

        Returns
        -------
        self
        """
        self._check_parameters()
        given, (checked, X, y) = X, self._check_data(X, y)
        weights, kept = check_weights(sample_weight, len(X), given)
        together = dependence_of(given, groups, order, kept, len(X), weights)
        require_memory(self._size(len(kept), X.shape[1]))
        seed = draw_seed(self.random_state)
        y = y[kept]
        found, left_out = self._fit_cells(X[kept], y, weights, together, seed)

        self._take_over(checked, X[kept])
        self._seed = seed
        self._remember_bounds(y)
        self._forms, self._means, fit = found.forms, found.means, found.fit
        self._model = None if fit is None else fit.model
        self._remember_cells(fit)
        left_out = self._clipped(left_out)
        self._remember_honest(X, kept, left_out, y, weights, together)
        risk = stated_risk(y, left_out, weights, member=found.distinct.member, together=found.distinct.draws)
        self.risk_ = self._placed(risk, kept)
        shift = shift_of(left_out, y, weights)
        if shift and self.scoring == "mse":
            warn_user(warning_of_shift(shift))
        if together is None:
            warn_of_neighbours(found.adjacency(X[kept], check_cell_kernel(self.kernel)))
        if fit is not None and not fit.learned.learned:
            warn_user(
                "No step of learning could be used, and the features' scales are their starting values. Look for a "
                "constant or nearly constant response."
            )
        return self

    def _predict_block(self, X: FloatArray) -> FloatArray:
        return predict_table(self._forms, self._model, self._means, X)

    @property
    def _column_forms(self) -> FeatureForms:
        """The forms of the training columns."""
        return self._forms

    def _size(self, n_rows: int, n_columns: int) -> LevelSize:
        return LevelSize(
            n_rows,
            n_columns,
            n_kernels=1,
            n_partitions=self.n_partitions,
            cell_size=self.cell_size,
            outer_folds=False,
        )

    def _fit_cells(
        self, X: FloatArray, y: FloatArray, weights: FloatArray, together: RowGroups | None, seed: int
    ) -> tuple[TableFit, FloatArray]:
        """The fit to all rows, and predictions of them by fits without them."""
        rows = X, y[:, None], weights
        scores = None if constant_outputs(y[:, None])[0] else scores_of(self.scoring, y, weights)
        settings = LocalSettings(check_cell_kernel(self.kernel), self.n_partitions, self.cell_size, seed)
        with on_threads():
            found = fit_table(*rows, settings=settings, scores=scores, groups=together)
            if together is None or not is_small(together.n_draws, X.shape[1]):
                return found, found.left_out[:, 0]
            return found, predict_left_out(*rows, together, settings=settings, scores=scores)[:, 0]

    def _remember_cells(self, fit: LocalFit | None) -> None:
        none = np.zeros(self._forms.n_columns)
        self.feature_scale_ = none if fit is None else fit.model.column_scale(self._forms)
        self.dropped_features_ = self._column_names(np.flatnonzero(self.feature_scale_ == 0.0))
        self.ridge_ = 0.0 if fit is None else fit.learned.ridge
        self.n_cells_ = 0 if fit is None else fit.model.cells.partitions.n_cells

    def _check_parameters(self) -> None:
        check_cell_kernel(self.kernel)
        check_integer("n_partitions", self.n_partitions, 1)
        check_integer("cell_size", self.cell_size, LEAST_CELL_SIZE)
        check_scoring(self.scoring)
        check_bounds(self.bounds)
        self._check_machine()

    _forms: FeatureForms
    _model: LocalModel | None
    _means: FloatArray
