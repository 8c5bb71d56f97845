"""The shell of level 1: parameters in, fitted attributes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from skewridge import _typing as t
from skewridge._typing import FloatArray
from skewridge._validation import check_choice, check_weights, is_auto, warn_user
from skewridge.centers.choose import Choice
from skewridge.centers.cross_validation import Candidate
from skewridge.centers.fit import GlobalModel, LowRankModel
from skewridge.centers.global_fit import fit_again, fit_global, warnings_of
from skewridge.centers.rows import CenterSettings
from skewridge.estimators.base import (
    AIM,
    KERNEL,
    Check,
    KernelEstimator,
    as_bounds,
    check_bandwidth,
    check_slices,
    dependence_of,
    optional,
    positive,
    real,
    runs,
    scores_of,
    whole,
)
from skewridge.estimators.summaries import centers_summary
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.chunked import kept_rows
from skewridge.execution.context import current, on_threads
from skewridge.execution.passes import predict_rows
from skewridge.features.forms import FeatureForms
from skewridge.kernels import BANDWIDTH_FREE, check_kernel_name
from skewridge.metrics import scoring_name
from skewridge.model_selection import draw_seed


class AdaptiveKernelRidge(KernelEstimator):
    """Kernel ridge regression on centres that follow the response, with every row in the loss.

    ``f(x) = k(x, C) a + intercept`` with m centres C among the rows minimises ``sum_i w_i (y_i - f(x_i))^2 + N
    penalty ||f||^2``, N = sum w. A share ``adapt`` of the centres is drawn evenly over the slices of the response, so
    that rare values have centres; the rest is drawn uniformly. Rows are selected on y as centres only, never for the
    loss, which counts every row once. Costs N m^2; a prediction costs m kernel evaluations.

    Every column enters twice, standardised and as normal scores of its ranks, with scales learned by leave-one-out.
    Five folds choose centres, share and penalty; rows with equal x share a fold.

    Standard deviations are those of f in the low-rank Gaussian process with the estimated noise, which does not know
    what lies far from all centres. With ``solver_`` "cg" they are estimates by the centres, for single rows half to
    three times that of "direct" with matern32 and up to 23 times with gaussian and a penalty of 1e-9.

    Parameters
    ----------
    n_centers : int or "auto", default="auto"
        m. "auto" chooses among 150, 300 and 600, together with ``adapt``.
    adapt : float in [0, 1] or "auto", default="auto"
        Share of the centres drawn evenly over the slices; 0 is random centres. "auto" chooses among (150, 0.8),
        (300, 0.8), (300, 0.5), (600, 0.5) and (600, 0) centres and shares, or 0.8, 0.5 and 0 of given centres.
    slices : {"auto", "scott", "sturges", "fd", "log"}, int or array of edges, default="auto"
        How the response is cut. "auto" is "scott", or "log" where that leaves one slice with over 90% of the rows.
    kernel : str or list of str, default="matern32"
        As in :class:`DacKernelRidge`, or several to choose from.
    bandwidth : float, "median" or "auto", default="auto"
        In units of the scaled features. "auto" learns it with the scales; "median" is the rows' median distance.
    degree : int, default=3
        Of the polynomial kernel.
    penalty : float, "rule" or "auto", default="auto"
        lambda; "auto" chooses it with the rest.
    scoring : {"mse", "balanced_mse", "sera"} or callable, default="mse"
        What learning and choosing aim at; a callable takes y and returns how much every row's squared error counts.
    scale_features : {"auto", "learn", "standard"} or None, default="auto"
        "learn": both forms of every column, with learned scales; not for polynomial and sobolev.
        "standard": mean 0 and standard deviation 1, constant features ignored; None: features as
        they are; with both a bandwidth of "auto" is learned. "auto": "learn", and "standard" for
        polynomial and sobolev.
    solver : {"auto", "direct", "cg"}, default="auto"
        "direct": normal equations of whitened features, N m^2. "cg": preconditioned conjugate
        gradients to nine digits, N m a step, for thousands of centres; standard deviations are then
        estimates by the centres. "auto": the one that should be faster, and "direct" after all
        where steps run out and the memory allows it.
    fit_intercept : bool, default=True
        Whether the mean of y is subtracted before fitting and added to predictions.
    bounds : "auto", None or (low, high), default="auto"
        What predictions are clipped to. "auto": the training range of y plus 10% at either end;
        None: nothing. Either end may be None.
    memory_limit : int or str, optional
        In bytes, or a text such as "2GB"; "auto" chooses no more centres than it holds, more are
        refused before work starts. None: the machine's memory.
    n_jobs : int, optional
        Threads. The result is the same to the last bit for any number.
    random_state : int, RandomState instance or None, default=None
        Decides which rows become centres, the folds, and the batches that scales are learned on.
    verbose : int, default=0
        1 shows progress of fits of more than two seconds on stderr: one line for the whole fit.

    Attributes
    ----------
    centers_ : (m, d) array, rows of X; centres that others explain are dropped
    center_rows_ : (m,) array, their places in X
    dual_coef_ : (m,) array
    intercept_ : float
    n_centers_, adapt_, kernel_, penalty_ : what was chosen or given
    bandwidth_ : float, in units of the scaled features, whose scales have a root mean square of 1
        where they were learned; None for polynomial and sobolev
    feature_scale_ : (d,) array, the scale of every column: learned, the root of the sum of squares
        over its forms, so that columns compare; else what it is multiplied by
    dropped_features_ : array, names or numbers of columns that are constant or of negligible scale
    feature_importances_ : (d,) array, every column's share of what the mean squared error gains when
        its values are shuffled, at rows that were left out: halves of up to 1,000 rows, each
        predicted by a fit to the other
    rare_importances_ : (d,) array, the same of rows whose response is rare
    feature_slopes_ : (d,) array, mean squared slopes of the fit along every column's forms (along
        scaled columns, where scales are not learned), over their sum; along two values the
        difference between predictions at both over their distance
    tuning_ : CenterTuning, what was tried and what it cost
    noise_ : float, the estimated standard deviation of the noise
    solver_, n_iter_ : the solver, and the steps of "cg" (None for "direct")
    calibration_ : Calibration, the errors that intervals are made of, once there are any
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    feature_min_in_, feature_max_in_ : (d,) arrays, the range of every column of the rows fitted

    Examples
    --------
    >>> from skewridge import AdaptiveKernelRidge
    >>> from skewridge.datasets import make_peaks
    >>> X, y, X_test, truth = make_peaks(1000, 2, random_state=0, return_test=True)
    >>> model = AdaptiveKernelRidge(random_state=0).fit(X, y)
    >>> bool(((model.predict(X_test) - truth) ** 2).mean() < 0.1 * truth.var())
    True
    """

    dual_coef_: FloatArray
    intercept_: float
    noise_: float
    _model: GlobalModel
    _low_rank: LowRankModel
    _takes_tables = True
    _check_kernel = staticmethod(check_kernel_name)
    _summary = centers_summary
    _parameters: ClassVar[dict[str, Check]] = {
        "n_centers": whole(1, auto=True),
        "adapt": real(0, 1, auto=True),
        "slices": check_slices,
        "scale_features": optional(partial(check_choice, options=["auto", "standard", "learn"])),
        "penalty": positive("auto", "rule", also=", 'rule' or 'auto'"),
        "solver": partial(check_choice, options=["auto", "direct", "cg"]),
        **AIM,
        **KERNEL,
    }

    def __init__(
        self,
        n_centers: int | t.Auto = "auto",
        adapt: float | t.Auto = "auto",
        slices: t.SliceRule | t.Auto = "auto",
        kernel: t.KernelName | Sequence[t.KernelName] = "matern32",
        bandwidth: t.Bandwidth = "auto",
        degree: int = 3,
        penalty: float | Literal["rule", "auto"] = "auto",
        scoring: t.Scoring = "mse",
        scale_features: Literal["auto", "learn", "standard"] | None = "auto",
        solver: Literal["auto", "direct", "cg"] = "auto",
        fit_intercept: bool = True,
        bounds: t.Bounds = "auto",
        memory_limit: t.Bytes | None = None,
        n_jobs: int | None = None,
        random_state: t.RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_centers = n_centers
        self.adapt = adapt
        self.slices = slices
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.degree = degree
        self.penalty = penalty
        self.scoring = scoring
        self.scale_features = scale_features
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @runs
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, order: Any = None) -> Self:
        """Learn scales, choose centres and penalty, then solve with every row.

        Parameters
        ----------
        X : (N, d) array or data frame
        y : (N,) array or series; paired with the rows of X by position
        sample_weight : (N,) array, optional
            Frequencies: a row of weight 2 is two rows, a row of weight 0 none.
        groups : (N,) array, series or list of labels, optional
            New rows come with other labels: learning, folds and intervals leave whole groups out.
        order : (N,) array, series or list, optional, not together with ``groups``
            New rows come later: learning and folds leave out blocks of a tenth of the rows, and intervals are
            made of the later half, predicted by fits to what lies before.

        Returns
        -------
        self
        """
        self._check_parameters()
        given, (checked, X, y) = X, self._check_data(X, y)
        weights, kept = check_weights(sample_weight, len(X), given)
        together = dependence_of(given, groups, order, kept, len(X), weights)
        X, y = kept_rows(X, kept), np.asarray(kept_rows(y, kept))
        seed = current().value("seed", lambda: draw_seed(self.random_state))
        found = fit_global(
            *(X, y[:, None], weights, self._settings),
            scores=scores_of(self.scoring, y, weights),
            scoring=scoring_name(self.scoring),
            groups=None if together is None else together.labels,
            seed=seed,
        )
        model, low_rank, candidate = found.model, found.low_rank, found.choice.candidate
        names = ("feature_importances_", "rare_importances_")
        self._adopt(
            checked,
            X,
            y,
            weights,
            _seed=seed,
            _fitted_rows=(X, y, weights),
            _model=model,
            _low_rank=low_rank,
            tuning_=replace(found.tuning, dominant=kept[found.tuning.dominant]),
            center_rows_=kept[low_rank.rows],
            centers_=X[low_rank.rows],
            dual_coef_=model.coef[0] * model.units,
            intercept_=float((model.intercepts * model.units + model.means)[0]),
            noise_=float(found.noise * model.units[0]),
            n_centers_=len(low_rank.rows),
            adapt_=candidate.adapt,
            kernel_=candidate.kernel,
            bandwidth_=candidate.bandwidth,
            penalty_=found.choice.penalty,
            feature_scale_=model.column_scale,
            feature_slopes_=found.slopes,
            solver_="direct" if low_rank.n_steps is None else "cg",
            n_iter_=low_rank.n_steps,
            **({} if found.importances is None else dict(zip(names, found.importances, strict=True))),
            **({} if together is None else {"_together": together}),
        )
        for concern in warnings_of(found, self.tuning_):
            warn_user(concern)
        if found.adjacent is not None and found.adjacent.warning is not None:
            warn_user(found.adjacent.warning)
        return self

    def _predict(self, X: Any, return_std: bool) -> t.Prediction:
        X = self._check_new(X)
        with one_blas_thread():
            model = self._model
            single = model.product.in_single(self._low_rank.spread) if X.dtype == np.float32 else None
            prediction = predict_rows(partial(model.predict, product=single), X, row_work=model.row_work)
            if not return_std:
                return prediction[:, 0]
            with on_threads():
                std = predict_rows(lambda rows: self._low_rank.std(model.transform(rows)), X, "standard deviations")
            return prediction[:, 0], std[:, 0] * self.noise_

    @property
    def dropped_features_(self) -> Any:
        """Names, or numbers, of columns that are constant or whose scale is negligible."""
        dropped = np.flatnonzero(self.feature_scale_ == 0.0)
        names = getattr(self, "feature_names_in_", None)
        return dropped if names is None else names[dropped]

    @property
    def _column_forms(self) -> FeatureForms | None:
        """The forms of the training columns; None where scales were not learned."""
        return getattr(self._model.transform, "forms", None)

    @runs
    def _refitted(self, X: Any, y: FloatArray, weights: FloatArray, X_new: Any) -> FloatArray:
        """Centres are drawn from the rows given; scales, penalty and share stay as they are."""
        n_centers, features = (self.tuning_.chosen[name] for name in ("n_centers", "features"))
        candidate = Candidate(self.kernel_, n_centers, self.adapt_, self.bandwidth_, features)
        choice = Choice(candidate, self.penalty_, self._model.transform, criterion="given")
        found = fit_again(X, y[:, None], weights, self._clone_as_fitted()._settings, choice, seed=self._seed)
        with one_blas_thread():
            return predict_rows(found.model.predict, X_new)[:, 0]

    @property
    def _settings(self) -> CenterSettings:
        learn = is_auto(self.scale_features)
        return CenterSettings(
            n_centers=None if is_auto(self.n_centers) else int(self.n_centers),
            adapt=None if is_auto(self.adapt) else float(self.adapt),
            slices=self.slices,
            kernels=self._kernels,
            bandwidth=self.bandwidth,
            degree=self.degree,
            penalty=self.penalty,
            fit_intercept=bool(self.fit_intercept),
            scale_features="learn" if learn else self.scale_features,
            solver=self.solver,
            bounds=as_bounds(self.bounds),
        )

    def _check_parameters(self) -> None:
        if not isinstance(self.kernel, str) and not (isinstance(self.kernel, list | tuple) and len(self.kernel)):
            raise TypeError(f"kernel must be a name or a list of names; got {self.kernel!r}.")
        check_bandwidth(self.bandwidth, self._kernels)
        super()._check_parameters()
        refused = sorted(set(self._kernels) & set(BANDWIDTH_FREE))
        if self.scale_features == "learn" and refused:
            raise ValueError(
                "scale_features='learn' learns scales relative to a bandwidth, which "
                f"{', '.join(refused)} has not. Take another kernel, or scale_features='standard'.",
            )
        if self.scoring != "mse" and not self._settings.chooses:
            raise ValueError(
                f"scoring={scoring_name(self.scoring)!r} has nothing to choose: centres, bandwidth "
                "and penalty are all given. Leave one at 'auto', or scoring at 'mse'.",
            )
