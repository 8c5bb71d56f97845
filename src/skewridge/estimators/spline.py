"""The shell of the smoothing spline: parameters in, fitted attributes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from skewridge._typing import Auto, Bounds, Bytes, FloatArray, IntArray, Prediction, RandomState, SliceRule
from skewridge._validation import check_choice, check_weights, is_auto, warn_user
from skewridge.estimators.base import (
    MACHINE,
    Check,
    KernelEstimator,
    bounds_of,
    check_bounds,
    check_slices,
    positive,
    real,
    runs,
    whole,
)
from skewridge.estimators.intervals import fit_quietly
from skewridge.estimators.summaries import spline_summary
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.context import on_threads
from skewridge.execution.passes import predict_rows
from skewridge.features.scaling import unit_responses
from skewridge.model_selection import draw_seed
from skewridge.response.candidates import CandidateRows, candidate_rows, distinct_rows
from skewridge.splines.fit import fit_rows, warnings_of
from skewridge.splines.model import check_pairs, check_splines, make_domain, make_model

FEWEST_KNOTS = 30

SplineName: TypeAlias = Literal["cubic", "linear"]


class SmoothingSpline(KernelEstimator):
    """Smoothing-spline ANOVA: main effects and chosen interactions, each with a weight of its own.

    ``f = sum of free functions + sum_b f_b`` minimises ``(1/N) sum_i w_i (y_i - f(x_i))^2 + penalty sum_b ||f_b||^2 /
    theta_b`` among the functions that q knots span, N = sum w. A cubic spline's constant and line are free and its
    smooth part costs the integral of the squared second derivative; a linear spline's constant is free and the rest
    costs that of the squared first derivative. Costs N (p q)^2 for p penalised terms, once; a prediction costs p q
    kernel values.

    Features must be numbers: categories are out of scope. A constant feature takes no part.

    Parameters
    ----------
    spline : {"cubic", "linear"} or list of them, default="cubic"
        For all features, or for each.
    interactions : None, "all" or list of pairs, default=None
        Which features interact, by column number or name. Two cubic splines add a free product of lines and three
        penalised terms, line by smooth, smooth by line and smooth by smooth.
    knots : {"random", "adaptive"} or array of row numbers, default="random"
        How knots are drawn among the distinct rows: uniformly, or evenly over the slices of the response; or which
        rows they are.
    n_knots : int or "auto", default="auto"
        q. "auto" is max(30, 10 N^(2/9)), and never more than the distinct rows.
    slices : {"auto", "scott", "sturges", "fd", "log"}, int or array of edges, default="auto"
        How the response is cut for adaptive knots.
    penalty : float or "auto", default="auto"
        lambda; "auto" minimises GCV.
    theta : "auto", "start" or array of floats, default="auto"
        The terms' weights, in the order of ``terms_``. "start" takes the squared norms of the terms of a first fit;
        "auto" goes on from there to the least GCV. Chosen weights leave ``sum_b theta_b R_b(z, z)``, averaged over the
        knots, as weights of 1 have it: only their ratio to the penalty matters.
    alpha : float, default=1.4
        GCV is ``(RSS / N) / (1 - alpha tr A / N)^2``; 1 is the plain criterion, more is smoother.
    bounds : None, "auto" or (low, high), default=None
        What predictions are clipped to. None: nothing; "auto": the training range of y plus 10% at either end. Either
        end may be None.
    memory_limit : int or str, optional
        In bytes, or a text such as "2GB"; a fit that needs more is refused before it starts. None: the
        machine's memory.
    n_jobs : int, optional
        Threads. The result is the same to the last bit for any number.
    random_state : int, RandomState instance or None, default=None
        Decides which rows become knots.
    verbose : int, default=0
        Whether to report progress on stderr.

    Attributes
    ----------
    terms_ : list of str
        The penalised terms: s(x) a smooth part, x a line, a:b a product.
    free_terms_ : list of str
        The functions that are not penalised, "1" the constant.
    theta_ : (p,) array, the terms' weights; 0 for a term of a constant feature
    penalty_ : float
    knots_ : (q, d) array, distinct rows of X
    knot_rows_ : (q,) array, their places in X
    coef_ : (q,) array, of sum_b theta_b R_b(x, knot)
    null_coef_ : (m,) array, of the free functions
    gcv_ : float, the score; infinite where too few rows are left for it
    dof_ : float, degrees of freedom, tr A
    sigma2_ : float, the estimated variance of the noise, RSS / (N - tr A)
    n_iter_ : int, steps of the search for theta
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    feature_min_in_, feature_max_in_ : (d,) arrays, the range of every column of the rows fitted

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge import SmoothingSpline
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 2))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(300)
    >>> model = SmoothingSpline(interactions="all", random_state=0).fit(X, y)
    >>> model.terms_
    ['s(x0)', 's(x1)', 'x0:s(x1)', 's(x0):x1', 's(x0):s(x1)']
    >>> mean, std = model.predict([[0.25, 1.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 3 * std[0])
    True
    """

    _summary = spline_summary
    _parameters: ClassVar[dict[str, Check]] = {
        "n_knots": whole(1, auto=True),
        "slices": check_slices,
        "penalty": positive("auto", also=" or 'auto'"),
        "alpha": real(0),
        "bounds": check_bounds,
        **MACHINE,
    }

    def __init__(
        self,
        spline: SplineName | Sequence[SplineName] = "cubic",
        interactions: Literal["all"] | Sequence[tuple[int, int] | tuple[str, str]] | None = None,
        knots: Literal["random", "adaptive"] | Sequence[int] | npt.NDArray[np.integer] = "random",
        n_knots: int | Auto = "auto",
        slices: SliceRule | Auto = "auto",
        penalty: float | Auto = "auto",
        theta: Literal["auto", "start"] | Sequence[float] | FloatArray = "auto",
        alpha: float = 1.4,
        bounds: Bounds = None,
        memory_limit: Bytes | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.spline = spline
        self.interactions = interactions
        self.knots = knots
        self.n_knots = n_knots
        self.slices = slices
        self.penalty = penalty
        self.theta = theta
        self.alpha = alpha
        self.bounds = bounds
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @runs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw knots, pass over the rows once, choose the terms' weights and the penalty, solve.

        Parameters
        ----------
        X : (N, d) array or data frame
        y : (N,) array or series; paired with the rows of X by position
        sample_weight : (N,) array, optional
            Frequencies: a row of weight 2 is two rows, a row of weight 0 none.

        Returns
        -------
        self
        """
        self._check_parameters()
        raw, (checked, X, y) = X, self._check_data(X, y)
        features = getattr(checked, "feature_names_in_", [f"x{f}" for f in range(X.shape[1])])
        pairs = check_pairs(self.interactions, X.shape[1], features)
        full = make_model(check_splines(self.spline, X.shape[1]), pairs)
        names = full.names(features)
        given = self._check_theta(names[1])
        weights, kept = check_weights(sample_weight, len(X), raw)
        domain = make_domain(X[kept])
        free, terms = full.among(domain.varies)

        seed = draw_seed(self.random_state)
        seen = X[kept], y[kept, None]
        places, counts, _ = distinct_rows(np.column_stack(seen), weights, seed)
        rows = kept[places]  # in an order of their own: repeats and the rows' order change nothing
        knot_rows = self._knot_rows(X, candidate_rows(*seen, weights, self.slices, seed), kept)
        unit, means, units = unit_responses(y[rows, None], counts, centre=True)
        model, penalty = full.only(free, terms), None if isinstance(self.penalty, str) else float(self.penalty)
        knots, points = domain(X[knot_rows]), domain(X[rows])
        with one_blas_thread():
            fit = fit_rows(
                model,
                knots,
                points,
                unit[:, 0],
                counts,
                penalty=penalty,
                theta=None if given is None else given[terms],
                searches=given is None and self.theta == "auto",
                alpha=float(self.alpha),
            )

        used = np.array(terms, dtype=np.int64)[fit.features.places]
        theta, null_coef, scale = np.zeros(len(full.terms)), np.zeros(len(full.free)), float(units[0])
        theta[used], null_coef[free] = fit.theta, fit.free.basis @ fit.free_coef * scale
        null_coef[0] += float(means[0])
        self._adopt(
            checked,
            X[kept],
            y[kept],
            weights,
            _seed=seed,
            _fitted_rows=(X[kept], y[kept], weights),
            _bounds=bounds_of(self.bounds, y[kept]),
            _domain=domain,
            _fit=fit,
            _unit=scale,
            _mean=float(means[0]),
            knot_rows_=knot_rows,
            knots_=X[knot_rows],
            free_terms_=names[0],
            terms_=names[1],
            theta_=theta,
            null_coef_=null_coef,
            coef_=fit.coef * scale,
            penalty_=fit.penalty,
            dof_=fit.dof,
            n_iter_=fit.n_steps,
            gcv_=fit.gcv * scale**2,
            sigma2_=fit.noise * scale**2,
        )
        for warning in warnings_of(fit, penalty, float(self.alpha), counts.sum()):
            warn_user(warning)
        return self

    def _predict(self, X: Any, return_std: bool) -> Prediction:
        X = self._check_new(X)
        X = self._domain(X.astype(np.float64))
        with one_blas_thread(), on_threads():
            prediction = predict_rows(self._fit.predict, X) * self._unit + self._mean
            if not np.isfinite(prediction).all():
                raise ValueError(
                    "The spline overflows at some of these points, too far beyond the range that was fitted."
                )
            prediction = self._clipped(prediction)
            if not return_std:
                return prediction
            return prediction, predict_rows(self._fit.std, X, "standard deviations") * self._unit

    def _refitted(self, X: Any, y: FloatArray, weights: FloatArray, X_new: Any) -> FloatArray:
        """Knots are drawn from the rows given; the terms' weights and the penalty stay as they are."""
        twin = self._clone_as_fitted(theta=self.theta_, penalty=self.penalty_, random_state=self._seed)
        if not isinstance(twin.knots, str):
            twin.set_params(knots="random")
        return fit_quietly(twin, X, y, weights).predict(X_new)

    def _check_parameters(self) -> None:
        if isinstance(self.knots, str):
            check_choice("knots", self.knots, ["random", "adaptive"])
        elif not is_auto(self.n_knots):
            raise ValueError(f"n_knots must be 'auto' where knots are given as rows; got {self.n_knots!r}.")
        super()._check_parameters()

    def _check_theta(self, names: Sequence[str]) -> FloatArray | None:
        """The weights that were given, one for each of some terms, or None."""
        if isinstance(self.theta, str):
            check_choice("theta", self.theta, ["auto", "start"])
            return None
        theta = np.asarray(self.theta)
        fine = theta.shape == (len(names),) and theta.dtype.kind in "iuf"
        if not fine or not np.isfinite(theta).all() or (theta < 0).any():
            raise ValueError(
                f"theta must be 'auto', 'start' or a nonnegative number for each of the terms {', '.join(names)}; "
                f"got {self.theta!r}."
            )
        return theta.astype(np.float64)

    def _knot_rows(self, X: FloatArray, pool: CandidateRows, kept: IntArray) -> IntArray:
        """The rows that become knots; rows at the same point count once."""
        if isinstance(self.knots, str):
            n_rows = pool.weights.sum()
            wanted = max(FEWEST_KNOTS, np.ceil(10 * n_rows ** (2 / 9))) if self.n_knots == "auto" else self.n_knots
            drawn = pool.draw(min(int(wanted), len(pool)), float(self.knots == "adaptive"))
            rows = kept[pool.rows[drawn]]
        else:
            rows = np.asarray(self.knots)
            if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu" or not np.isin(rows, kept).all():
                raise ValueError(
                    "knots must be 'random', 'adaptive' or row numbers of X, each of positive sample_weight; "
                    f"got {self.knots!r}."
                )
            rows = rows.astype(np.int64)
        return rows[np.sort(np.unique(X[rows], axis=0, return_index=True)[1])]
