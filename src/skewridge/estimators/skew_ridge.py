"""The shell of the two levels: parameters in, fitted attributes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from skewridge._typing import Bounds, Bytes, FloatArray, KernelName, RandomState, Scoring
from skewridge._validation import check_weights, warn_user
from skewridge.cells.fit import check_cell_kernel
from skewridge.cells.local import LocalModel
from skewridge.centers.fit import GlobalModel
from skewridge.centers.rows import CenterSettings
from skewridge.estimators.base import (
    AIM,
    MACHINE,
    Check,
    as_bounds,
    dependence_of,
    runs,
    scores_of,
)
from skewridge.estimators.left_out import (
    LeftOutEstimator,
    as_companions,
    check_companions,
)
from skewridge.estimators.summaries import levels_summary
from skewridge.execution.blas import one_blas_thread
from skewridge.features.forms import FeatureForms
from skewridge.metrics import scoring_name
from skewridge.model_selection import draw_seed
from skewridge.two_levels.blend import MOST_MEMBERS, BlendedModel
from skewridge.two_levels.fit import fit_blended
from skewridge.two_levels.members import LevelSettings, companion_values
from skewridge.two_levels.planning import LevelSize, require_memory
from skewridge.two_levels.results import LevelTuning, tuning_of, warnings_of

MOST_KERNELS = 4  # which leave room for companions: a blend takes a few members more


class SkewRidge(LeftOutEstimator):
    """Kernel ridge regression on two levels, everything learned by leave-one-out: the recommended estimator.

    Level 1 sees the whole table through a few hundred centres, many of them where the response is
    rare (:class:`AdaptiveKernelRidge`). Level 2 is exact in small cells of x
    (:class:`LocalKernelRidge`), and sees level 1 as a coordinate and as a trend. Ridge regression
    is a member beside them, and nonnegative weights blend all, fitted to predictions of rows that
    the fits have not seen. Scales of features, ridges and trends are learned by the exact gradient
    of the leave-one-out error.

    Parameters
    ----------
    kernel : str or sequence of str, default=("matern32", "laplacian")
        Kernels of the local fits, each a member of the blend.
    scoring : {"mse", "balanced_mse", "sera"} or callable, default="mse"
        What is learned by and blended for; a callable takes y and returns how much every row's squared error counts.
    bounds : "auto", None or (low, high), default="auto"
        What predictions stay between. "auto": the training range of y plus a tenth at either end; None: anything; an
        end may be None, as in ``(0, None)``.
    companions : list or tuple of regressors, default=None
        Any scikit-learn regressors, such as boosted trees or a pipeline, that join level 1. Each is cloned and
        cross-fitted, and what it predicts for rows that it has not seen is a member of the blend and, unless its
        squared error is over 1.5 times that of level 1, a coordinate and a trend of the local fits. It sees the
        columns of X as an array without names, one row for every distinct x, with ``sample_weight`` where rows
        occur more than once.
    memory_limit : int or str, optional
        In bytes, or a text such as "2GB"; a fit that needs more is refused before it starts. None: the machine's
        memory. What companions need is theirs, and not counted.
    n_jobs : int, optional
        Threads. The result is the same to the last bit for any number. Companions are fitted one after another, with
        the threads of their own.
    random_state : int, RandomState instance or None, default=None
        Decides batches, centres and cells. Companions have seeds of their own.
    verbose : int, default=0
        1 shows progress of fits of more than two seconds on stderr: one line for the whole fit.

    Attributes
    ----------
    blend_weights_ : dict
        The weight of every member of the blend by its name: "global", which is level 1, the local kernels, "linear",
        companions; nonnegative, with sum at most 1.
    expected_error_ : ExpectedError
        The stated error: ``mse`` and ``rare_mse`` with standard errors ``mse_se`` and ``rare_mse_se``, from
        ``oof_prediction_``.
    oof_prediction_ : (N,) array
        Predictions of the training rows by fits without them: leave-one-out given scales, cells and level 1; of five
        outer folds around the whole fit below 3,000 rows (or groups) or 50 a column. With ``order``: by fits to
        earlier rows, and nan for the first half.
    companions_ : list of regressors
        The companions, fitted to all rows; none where there are too few rows for two levels.
    feature_scale_ : (d,) array
        The learned scale of every column in level 1, with respect to its standardised and ranked forms.
    dropped_features_ : list
        Columns (names where there are any) that are constant or whose learned scale is negligible in every fit.
    tuning_ : LevelTuning
        What was learned, level 1's ladder, the weights.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    feature_min_in_, feature_max_in_ : (d,) arrays, the range of every column of the rows fitted

    Notes
    -----
    A fitted model, and its file, hold every distinct training row.

    Examples
    --------
    >>> from skewridge import SkewRidge
    >>> from skewridge.datasets import make_peaks
    >>> X, y, X_test, truth = make_peaks(1000, 2, random_state=0, return_test=True)
    >>> model = SkewRidge(random_state=0).fit(X, y)
    >>> bool(((model.predict(X_test) - truth) ** 2).mean() < 0.1 * truth.var())
    True
    >>> bool(model.expected_error_.mse < 0.2 * y.var())
    True
    """

    _summary = levels_summary
    _check_kernel = staticmethod(check_cell_kernel)
    _parameters: ClassVar[dict[str, Check]] = {**AIM, **MACHINE}
    _model: BlendedModel
    companions_: list[Any]
    tuning_: LevelTuning

    def __init__(
        self,
        kernel: KernelName | Sequence[KernelName] = ("matern32", "laplacian"),
        scoring: Scoring = "mse",
        bounds: Bounds = "auto",
        companions: Sequence[Any] | None = None,
        memory_limit: Bytes | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.scoring = scoring
        self.bounds = bounds
        self.companions = companions
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @runs
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, order: Any = None) -> Self:
        """Fit level 1, the local fits that see it, ridge regression, and the weights that blend them.

        Parameters
        ----------
        X : (N, d) array or data frame
        y : (N,) array or series; paired with the rows of X by position
        sample_weight : (N,) array, optional
            Frequencies: a row of weight 2 is two rows, a row of weight 0 none.
        groups : (N,) array, series or list of labels, optional
            Rows of one label (a patient, a site, a series) share what no column tells, and new rows come with other
            labels: whole groups are left out wherever rows are, and scales, weights, ``expected_error_`` and intervals
            are for rows of new groups.
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
        companions = as_companions(self.companions, weights)
        together = dependence_of(given, groups, order, kept, len(X), weights)
        size = self._size(len(kept), X.shape[1])
        require_memory(size if together is None else replace(size, n_groups=together.n_draws))
        seed = draw_seed(self.random_state)
        rows, y = X[kept], y[kept]
        settings = LevelSettings(
            self._kernels,
            centers=CenterSettings(bounds=as_bounds(self.bounds)),
            seed=seed,
            scoring=scoring_name(self.scoring),
            companions=companions,
        )
        scores = scores_of(self.scoring, y, weights)
        with one_blas_thread():
            fit = fit_blended(rows, y, weights, settings=settings, scores=scores, groups=together)
        tuning = tuning_of(fit, self._kernels, tuple(own.name for own in companions))
        if len(kept) < len(X):  # what cannot be predicted is refused before anything changes
            companion_values(fit.companions, np.delete(X, kept, axis=0))

        self._adopt_left_out(
            checked,
            X,
            kept,
            y,
            weights,
            together,
            left_out=fit.left_out,
            level=fit.level,
            risk=fit.risk,
            unused=np.flatnonzero(~np.any(tuning.scales > 0.0, axis=0)),
            _seed=seed,
            _model=fit.model,
            tuning_=tuning,
            companions_=[own.regressor for own in fit.companions],
            feature_scale_=tuning.scales[0],
        )
        for warning in warnings_of(fit):
            warn_user(warning)
        return self

    def _values(self, X: FloatArray) -> FloatArray:
        """Predictions within the bounds, (n,); companions predict all rows at once, before any thread starts."""
        if not self.companions_:
            return super()._values(X)
        with one_blas_thread():
            values = [own.predict(X) for own in as_companions(self.companions_)]
        return super()._values(np.column_stack([X, *values]))

    def _predict_block(self, X: FloatArray) -> FloatArray:
        """Predict rows that bring their companions' predictions as further columns."""
        rows, values = np.split(X, [self.n_features_in_], axis=1)
        return self._model.predict(np.ascontiguousarray(rows), values)

    @property
    def blend_weights_(self) -> dict[str, float]:
        """The weight of every member of the blend, by its name."""
        return dict(zip(self.tuning_.members, self.tuning_.weights.tolist(), strict=True))

    @property
    def _level_one(self) -> GlobalModel | None:
        """Level 1; None where there are too few rows."""
        levels = self._model.members.levels
        return None if levels is None else levels.level_one

    @property
    def _local_models(self) -> tuple[LocalModel, ...]:
        """Level 2: one model for every kernel."""
        levels = self._model.members.levels
        return () if levels is None else levels.locals

    @property
    def _column_forms(self) -> FeatureForms | None:
        """The forms of the training columns; None where there are too few rows."""
        levels = self._model.members.levels
        return None if levels is None else levels.forms

    def _size(self, n_rows: int, n_columns: int) -> LevelSize:
        return LevelSize(n_rows, n_columns, len(self._kernels), n_companions=len(self.companions or ()))

    def _check_parameters(self) -> None:
        if not isinstance(self.kernel, str | list | tuple) or not 1 <= len(self._kernels) <= MOST_KERNELS:
            raise ValueError(f"kernel must be a name or a list of 1 to {MOST_KERNELS} names; got {self.kernel!r}.")
        check_companions(self.companions, MOST_MEMBERS - 2 - len(self._kernels))
        super()._check_parameters()
