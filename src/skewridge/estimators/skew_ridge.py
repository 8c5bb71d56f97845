"""The shell of the two levels: parameters in, fitted attributes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from skewridge._typing import Bounds, Bytes, FloatArray, KernelName, RandomState, Scoring
from skewridge._validation import check_weights, warn_user
from skewridge.cells.fit import check_cell_kernel
from skewridge.centers.settings import CenterSettings
from skewridge.estimators.base import runs
from skewridge.estimators.bounds import as_bounds, bounds_of, check_bounds
from skewridge.estimators.companions import (
    as_companions,
    check_companion_weights,
    check_companions,
    companion_names,
    companion_predictions,
)
from skewridge.estimators.dependence import dependence_of
from skewridge.estimators.honest import HonestEstimator
from skewridge.estimators.notebook import levels_summary
from skewridge.estimators.scoring import check_scoring, scores_of
from skewridge.execution.blas import one_blas_thread
from skewridge.features.forms import FeatureForms
from skewridge.metrics import scoring_name
from skewridge.model_selection import draw_seed
from skewridge.response.grouping import RowGroups
from skewridge.two_levels.blend import MOST_MEMBERS
from skewridge.two_levels.fit import BlendedFit, fit_blended
from skewridge.two_levels.members import LevelSettings, companion_values
from skewridge.two_levels.model import BlendedModel
from skewridge.two_levels.planning import LevelSize, require_memory
from skewridge.two_levels.tuning import LevelTuning, concerns, tuning_of

MOST_KERNELS = 4  # which leave room for companions: a blend takes a few members more


class SkewRidge(HonestEstimator):
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
    weights_ : (M,) array, or (M, p) for several outputs
        Of the blend: level 1, the local kernels, ridge regression, companions; nonnegative, with sum at most 1.
    risk_ : StatedRisk, or a tuple of them
        The stated error: ``mse`` and ``rare_mse`` with standard errors ``mse_error`` and ``rare_error``, from
        ``loo_prediction_``.
    loo_prediction_ : (N,) or (N, p) array
        Predictions of the training rows by fits without them: leave-one-out given scales, cells and level 1; of five
        outer folds around the whole fit below 3,000 rows (or groups) or 50 a column. With ``order``: by fits to
        earlier rows, and nan for the first half.
    global_ : GlobalModel, or a tuple of them; None where there are too few rows
        Level 1.
    locals_ : tuple of LocalModel, or a tuple of such tuples
        Level 2, one for every kernel.
    companions_ : list of regressors, or a tuple of such lists
        The companions, fitted to all rows; none where there are too few rows for two levels.
    feature_scale_ : (d,) or (d, p) array
        The learned scale of every column in level 1, with respect to its standardised and ranked forms.
    dropped_features_ : list
        Columns (names where there are any) that are constant or whose learned scale is negligible in every fit.
    tuning_ : LevelTuning, or a tuple of them
        What was learned, level 1's ladder, the weights.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    feature_min_in_, feature_max_in_ : (d,) arrays, the range of every column of the rows fitted

    Notes
    -----
    Several outputs are fitted one by one. A fitted model, and its file, hold every distinct training row.

    Examples
    --------
    >>> from skewridge import SkewRidge
    >>> from skewridge.datasets import make_peaks
    >>> X, y, X_test, truth = make_peaks(1000, 2, random_state=0, return_test=True)
    >>> model = SkewRidge(random_state=0).fit(X, y)
    >>> bool(((model.predict(X_test) - truth) ** 2).mean() < 0.1 * truth.var())
    True
    >>> bool(model.risk_.mse < 0.2 * y.var())
    True
    """

    _summary = levels_summary

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
        y : (N,) or (N, p) array, series or data frame; paired with the rows of X by position
        sample_weight : (N,) array, optional
            Frequencies: a row of weight 2 is two rows, a row of weight 0 none.
        groups : (N,) array, series or list of labels, optional
            Rows of one label (a patient, a site, a series) share what no column tells, and new rows come with other
            labels: whole groups are left out wherever rows are, and scales, weights, ``risk_`` and intervals are for
            rows of new groups.
        order : (N,) array, series or list, optional
            Times or places along which new rows come later: the later half, in five blocks, is predicted by fits to
            what lies before, and ``risk_`` and intervals are for rows up to a block (a tenth of the rows) ahead. Not
            together with ``groups``.

        Returns
        -------
        self
        """
        self._check_parameters()
        given, (checked, X, y) = X, self._check_data(X, y, multi_output=True)
        weights, kept = check_weights(sample_weight, len(X), given)
        names = companion_names(self.companions)
        check_companion_weights(self.companions, weights)
        together = dependence_of(given, groups, order, kept, len(X), weights)
        size = self._size(len(kept), X.shape[1])
        require_memory(size if together is None else replace(size, n_draws=together.n_draws))
        seed = draw_seed(self.random_state)
        rows, Y = X[kept], y[kept].reshape(len(kept), -1)
        fits = [self._fit_output(rows, column, weights, together, seed) for column in Y.T]
        fits = [replace(fit, risk=self._placed(fit.risk, kept)) for fit in fits]
        tunings = [tuning_of(fit, self._kernels, names) for fit in fits]
        for fit in fits if len(kept) < len(X) else ():  # what cannot be predicted is refused before anything changes
            companion_values(fit.companions, np.delete(X, kept, axis=0))

        self._take_over(checked, rows)
        self._single, self._seed, self._ends = y.ndim == 1, seed, bounds_of(self.bounds, Y)
        self._models = tuple(fit.model for fit in fits)
        self._remember_levels(fits, tunings)
        left_out, level = (np.column_stack([getattr(fit, name) for fit in fits]) for name in ("left_out", "level"))
        self._remember_honest(X, kept, left_out, Y, weights, together, level)
        for concern in (text for fit in fits for text in concerns(fit)):
            warn_user(concern)
        return self

    def _values(self, X: FloatArray) -> FloatArray:
        """Predictions within the bounds, (n, p); companions predict all rows at once, before any thread starts."""
        if not any(map(len, self._fitted_companions)):
            return super()._values(X)
        with one_blas_thread():
            beside = [companion_predictions(own, X) for own in self._fitted_companions]
        return super()._values(np.hstack([X, *beside]))

    def _predict_block(self, X: FloatArray) -> FloatArray:
        """Predict rows that bring their companions' predictions as further columns."""
        ends = self.n_features_in_ + np.cumsum([0, *map(len, self._fitted_companions)])
        rows, *beside = np.split(X, ends[:-1], axis=1)
        pairs = zip(self._models, beside, strict=True)
        return np.hstack([model.predict(np.ascontiguousarray(rows), values) for model, values in pairs])

    @property
    def _fitted_companions(self) -> tuple[list[Any], ...]:
        """The fitted companions of every output."""
        return (self.companions_,) if self._single else self.companions_

    def _fit_output(
        self, X: FloatArray, y: FloatArray, weights: FloatArray, together: RowGroups | None, seed: int
    ) -> BlendedFit:
        with one_blas_thread():
            return fit_blended(
                X,
                y,
                weights,
                settings=LevelSettings(
                    self._kernels,
                    centers=CenterSettings(bounds=as_bounds(self.bounds)),
                    seed=seed,
                    scoring=scoring_name(self.scoring),
                    companions=as_companions(self.companions),
                ),
                scores=scores_of(self.scoring, y[:, None], weights),
                groups=together,
            )

    def _remember_levels(self, fits: list[BlendedFit], tunings: list[LevelTuning]) -> None:
        """Set the fitted attributes that users read."""
        self.tuning_ = self._one_or_all(tunings)
        self.companions_ = self._one_or_all([[own.regressor for own in fit.companions] for fit in fits])
        self.weights_ = self._shaped(np.column_stack([tuning.weights for tuning in tunings]))
        self.risk_ = self._one_or_all([fit.risk for fit in fits])
        self.feature_scale_ = self._shaped(np.column_stack([tuning.scales[0] for tuning in tunings]))
        unused = [set(tuning.unused_columns.tolist()) for tuning in tunings]
        self.dropped_features_ = self._column_names(np.array(sorted(set.intersection(*unused)), dtype=np.int64))

    @property
    def global_(self) -> Any:
        """Level 1, or a tuple with one for each output; None where there are too few rows."""
        levels = [model.members.levels for model in self._models]
        return self._one_or_all([None if two is None else two.level_one for two in levels])

    @property
    def locals_(self) -> Any:
        """Level 2: one model for every kernel, or a tuple of such tuples for several outputs."""
        levels = [model.members.levels for model in self._models]
        return self._one_or_all([() if two is None else two.locals for two in levels])

    @property
    def _column_forms(self) -> FeatureForms | None:
        """The forms of the training columns; None where there are too few rows."""
        levels = self._models[0].members.levels
        return None if levels is None else levels.forms

    def _size(self, n_rows: int, n_columns: int, n_outputs: int = 1) -> LevelSize:
        """Outputs are fitted one by one, so that their number does not matter."""
        n_companions = len(companion_names(self.companions))
        return LevelSize(n_rows, n_columns, len(self._kernels), n_companions=n_companions)

    @property
    def _kernels(self) -> tuple[str, ...]:
        names = [self.kernel] if isinstance(self.kernel, str) else self.kernel
        return tuple(check_cell_kernel(name) for name in names)

    def _check_parameters(self) -> None:
        if not isinstance(self.kernel, str | list | tuple) or not 1 <= len(self._kernels) <= MOST_KERNELS:
            raise ValueError(f"kernel must be a name or a list of 1 to {MOST_KERNELS} names; got {self.kernel!r}.")
        check_companions(self.companions, MOST_MEMBERS - 2 - len(self._kernels))
        check_scoring(self.scoring)
        check_bounds(self.bounds)
        self._check_machine()

    _models: tuple[BlendedModel, ...]
    companions_: Any
    tuning_: LevelTuning | tuple[LevelTuning, ...]
