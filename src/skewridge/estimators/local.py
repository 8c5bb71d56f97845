"""The shell of cells alone: parameters in, fitted attributes out; how near the rows of a fit are to new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from skewridge._typing import Bounds, Bytes, FloatArray, KernelName, RandomState, Scoring
from skewridge._validation import check_weights, warn_user
from skewridge.cells.fit import check_cell_kernel
from skewridge.cells.local import LocalModel, LocalSettings, fit_table, predict_left_out, predict_table
from skewridge.cells.partition import CELL_SIZE, LEAST_CELL_SIZE, N_PARTITIONS
from skewridge.estimators.base import (
    AIM,
    MACHINE,
    Check,
    bounds_of,
    dependence_of,
    runs,
    scores_of,
    whole,
)
from skewridge.estimators.left_out import LeftOutEstimator
from skewridge.estimators.summaries import cells_summary
from skewridge.execution.context import on_threads
from skewridge.features.forms import FeatureForms
from skewridge.features.scaling import constant_outputs
from skewridge.model_selection import draw_seed
from skewridge.two_levels.expected_error import expected_error
from skewridge.two_levels.planning import LevelSize, is_small, require_memory
from skewridge.two_levels.results import shift_of, warning_of_shift

N_SAMPLE = 500  # rows of the fit whose own neighbours are sought
SEED = 0


class LocalKernelRidge(LeftOutEstimator):
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
    oof_prediction_ : (N,) array
        Predictions of the training rows by fits without them, given scales and cells; with ``groups``, below 3,000
        of them or 50 a column, by five fits without folds of them; with ``order`` by fits to earlier rows, and nan for
        the first half.
    expected_error_ : ExpectedError
        The stated error, from ``oof_prediction_``. Rows left out one by one do not see that scales were learned from
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
    _parameters: ClassVar[dict[str, Check]] = {
        "kernel": lambda name, value: check_cell_kernel(value),
        "n_partitions": whole(1),
        "cell_size": whole(LEAST_CELL_SIZE),
        **AIM,
        **MACHINE,
    }
    _forms: FeatureForms
    _model: LocalModel | None
    _means: FloatArray

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
            labels: whole groups are left out wherever rows are, and ``expected_error_`` and
            intervals are for rows of new groups.
        order : (N,) array, series or list, optional
            Times or places along which new rows come later: the later half, in five blocks, is predicted by fits to
            what lies before, and ``expected_error_`` and intervals are for rows up to a block (a tenth of the rows)
            ahead. Not together with ``groups``.

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
        kernel = check_cell_kernel(self.kernel)
        settings = LocalSettings(kernel, self.n_partitions, self.cell_size, seed)
        rows = X[kept], y[:, None], weights
        scores = None if constant_outputs(rows[1])[0] else scores_of(self.scoring, y, weights)
        with on_threads():
            found = fit_table(*rows, settings=settings, scores=scores, groups=together)
            left_out = found.left_out
            if together is not None and is_small(together.n_draws, X.shape[1]):
                left_out = predict_left_out(*rows, together, settings=settings, scores=scores)
        ends, left_out = bounds_of(self.bounds, y), left_out[:, 0]
        left_out = left_out if ends is None else np.clip(left_out, *ends)
        risk = expected_error(y, left_out, weights, member=found.distinct.member, together=found.distinct.draws)

        fit, scale = found.fit, np.zeros(X.shape[1])
        if fit is not None:
            scale = fit.model.column_scale(found.forms)
        self._adopt_left_out(
            checked,
            X,
            kept,
            y,
            weights,
            together,
            left_out=left_out,
            level=left_out,
            risk=risk,
            unused=np.flatnonzero(scale == 0.0),
            _seed=seed,
            _forms=found.forms,
            _means=found.means,
            _model=None if fit is None else fit.model,
            feature_scale_=scale,
            ridge_=0.0 if fit is None else fit.learned.ridge,
            n_cells_=0 if fit is None else fit.model.cells.partitions.n_cells,
        )
        shift = shift_of(left_out, y, weights)
        if shift and self.scoring == "mse":
            warn_user(warning_of_shift(shift))
        neighbours = None if together is not None else found.serial_dependence(X[kept], kernel)
        if neighbours is not None and neighbours.warning is not None:
            warn_user(neighbours.warning)
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

    forms, _local_models = getattr(model, "_column_forms", None), getattr(model, "_local_models", ())
    local = model._model if isinstance(model, LocalKernelRidge) else next(iter(_local_models), None)
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
