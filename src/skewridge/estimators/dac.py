"""The paper's estimators: how rows are dealt to nodes, and divide-and-conquer kernel ridge regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from skewridge import _typing as t
from skewridge._typing import FloatArray
from skewridge._validation import check_choice, check_flag
from skewridge.centers.cross_fit import first_estimate
from skewridge.estimators.base import (
    AIM,
    KERNEL,
    Check,
    KernelEstimator,
    Shell,
    bounds_of,
    check_bandwidth,
    positive,
    runs,
)
from skewridge.estimators.intervals import fit_quietly
from skewridge.estimators.summaries import partition_summary
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.context import current, on_threads, run
from skewridge.execution.passes import predict_rows
from skewridge.kernels import check_kernel_name
from skewridge.metrics import row_scores, scoring_name
from skewridge.model_selection import draw_seed
from skewridge.nodes.fit import Problem, average_nodes, fit_nodes, noise_std, relative_variance, spread
from skewridge.nodes.partition import Partition, PartitionSettings, deal_rows, plan_fit
from skewridge.nodes.tuning import CRITERIA, LEFT_OUT, LOCAL, KernelSettings, tune
from skewridge.response.allocation import Allocation
from skewridge.response.slices import Slices
from skewridge.ridge.exact import Expansion, NodeFit


class PartitionedEstimator(Shell):
    """Algorithm 2's parameters and fitted attributes, and ``_node_estimates(X)``, the nodes' own, one by one."""

    slices_: Slices
    allocation_: Allocation
    n_nodes_: int
    n_oversampled_: int
    n_distinct_: int

    @runs
    def node_spread(self, X: Any) -> FloatArray:
        """Return the standard deviation between the nodes' predictions at X.

        A diagnostic of how much the nodes disagree; not a standard error, since nodes share rows. DacKernelRidge needs
        ``keep_nodes=True``.
        """
        return spread(self._node_estimates(X))

    @runs
    def predict_nodes(self, X: Any) -> FloatArray:
        """Return every node's own prediction at X, (k, n). DacKernelRidge needs ``keep_nodes=True``."""
        return np.array(list(self._node_estimates(X)))

    @property
    def _settings(self) -> PartitionSettings:
        return PartitionSettings(self.n_nodes, self.slices, self.oversampling, self.max_per_slice, self.focus)

    def _sliced(self, X: RowData, y: FloatArray, seed: int) -> FloatArray:
        """The variable that is cut into slices, (N,): y, or a first estimate of E[y | x]."""
        if self.slice_on == "response":
            return y
        ones = np.ones(len(y))
        return current().value("pilot", lambda: first_estimate(X, y[:, None], ones, self.slices, seed))[:, 0]

    def _n_nodes_for(self, n_rows: int) -> int:
        """Nodes as large as they are: fewer rows are dealt to fewer nodes."""
        return max(1, round(self.n_nodes_ * n_rows / self.slices_.n_rows))


def attributes_of(partition: Partition) -> dict[str, Any]:
    """What users see of a partition."""
    return {
        "slices_": partition.slices,
        "allocation_": partition.allocation,
        "n_nodes_": len(partition.allocation),
        "n_oversampled_": partition.slices.n_oversampled,
        "n_distinct_": len(partition.allocation.rows),
    }


class DacKernelRidge(PartitionedEstimator, KernelEstimator):
    """Divide-and-conquer kernel ridge regression, classical and oversampled (Algorithms 1 and 2 of the paper).

    The range of y is cut into slices; rows of rare slices are copied until every slice is as full as the
    fullest; copies are dealt evenly to ``n_nodes`` nodes and de-duplicated; node i solves
    ``(K + n penalty I) beta = y`` on its n rows; the estimate is the average of the nodes.

    Standard deviations are those of the average given the inputs and the allocation, with rows that several nodes share
    counted once; they factorise every node again.

    Parameters
    ----------
    n_nodes : int or "auto", default="auto"
        k. "auto" takes the fewest nodes whose expected size is about 1,500 rows, and one below 2,000 rows.
    slices : {"scott", "sturges", "fd", "log"}, int or array of edges, default="scott"
        How y is cut. ``slices=1`` is Algorithm 1, classical divide and conquer.
    oversampling : float, default=1.0
        The paper's tau: a row of slice j gets ``max(1, floor(tau * |fullest| / |slice j|))`` copies.
    max_per_slice : int, optional
        At most so many rows of any slice in a node.
    slice_on : {"response", "pilot"}, default="response"
        What is sliced: y as published, which copies rows for the noise in them; or a cross-fitted first estimate of
        E[y | x].
    focus : float in [0, 1], default=1.0
        1: as published; 0: rows weighted by their inverse inclusion probability, which aims at the overall
        risk; in between, ``pi ** -(1 - focus)``.
    kernel : str, default="gaussian"
        "gaussian" ("rbf"), "matern12", "matern32", "matern52", "laplacian", "polynomial" ("poly"), "sobolev".
    bandwidth : float, "median" or "auto", default="auto"
        b in ``exp(-||x - z||^2 / b^2)`` and its kin. "median" is the median distance between rows; "auto"
        searches around it by the criterion of ``penalty``. polynomial and sobolev take none.
    degree : int, default=3
        Of the polynomial kernel.
    penalty : float or str, default="auto"
        lambda; scikit-learn's alpha is n times it. Chosen by "loo", the exact leave-one-out error of the
        average; "dgcv", its distributed generalised cross-validation; "cv", 5 response-stratified folds;
        "gcv" or "cp", every node for itself; or "rule", the rate-optimal order in the total number of rows.
        "auto" is "loo".
    scoring : {"mse", "balanced_mse", "sera"} or callable, default="mse"
        What choices aim at; a callable takes y and returns how much every row's squared error counts.
    fit_intercept : bool, default=True
        Whether the mean of y is subtracted before fitting and added to predictions.
    keep_nodes : bool, default=False
        Whether to keep the local estimates, which :meth:`node_spread` needs.
    bounds : None, "auto" or (low, high), default=None
        What predictions are clipped to. None: nothing; "auto": the training range of y plus 10% at either end. Either
        end may be None.
    memory_limit : int or str, optional
        In bytes, or a text such as "2GB"; a fit that needs more is refused before it starts. None: the
        machine's memory.
    n_jobs : int, optional
        Threads. The result is the same to the last bit for any number.
    random_state : int, RandomState instance or None, default=None
        Decides which rows go to which nodes.
    verbose : int, default=0
        Whether to report progress on stderr.

    Attributes
    ----------
    slices_ : Slices
        ``edges``, ``labels``, ``counts`` and ``copies``.
    allocation_ : Allocation
        ``allocation_[i]`` are the ascending row ids of node i.
    n_nodes_, n_oversampled_, n_distinct_ : int
        k; rows after oversampling (N*); sum of the node sizes (N~).
    bandwidth_ : float or None
    penalty_ : float, or (k,) array with "gcv" and "cp"
    tuning_ : Tuning
        How they were chosen: ``bandwidths``, ``penalties``, ``values``, the choice, ``at_edge``, ``cost``.
    dual_coef_ : (N,) array
        The average as one expansion: the mean over nodes of each row's coefficient.
    X_fit_ : (N, d) array
        The training rows in the order given.
    intercept_ : float
    n_features_in_ : int
    feature_min_in_, feature_max_in_ : (d,) arrays, the range of every column of the rows fitted
    nodes_ : list of NodeFit
        The local estimates, with ``keep_nodes=True``.
    calibration_ : Calibration
        The errors that intervals are made of, once there are any.

    Examples
    --------
    >>> from skewridge import DacKernelRidge
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(500, 2, random_state=0)
    >>> model = DacKernelRidge(n_nodes=5, random_state=0).fit(X, y)
    >>> model.n_distinct_ > 500  # rare rows sit in several nodes
    True
    >>> model.predict(X[:3]).shape
    (3,)
    """

    dual_coef_: FloatArray
    intercept_: float
    _problem: Problem
    _takes_tables = True
    _summary = partition_summary
    _parameters: ClassVar[dict[str, Check]] = {
        "penalty": positive("auto", "rule", *CRITERIA, also=", or the name of a way to choose it"),
        "slice_on": partial(check_choice, options=["response", "pilot"]),
        "keep_nodes": check_flag,
        **AIM,
        **KERNEL,
    }
    _not_pickled = ()  # by copies: rows go with them, and the parameters to fit some of them again

    def __init__(
        self,
        n_nodes: int | t.Auto = "auto",
        slices: t.SliceRule = "scott",
        oversampling: float = 1.0,
        max_per_slice: int | None = None,
        slice_on: Literal["response", "pilot"] = "response",
        focus: float = 1.0,
        kernel: t.KernelName = "gaussian",
        bandwidth: t.Bandwidth = "auto",
        degree: int = 3,
        penalty: float | Literal["auto", "loo", "dgcv", "cv", "gcv", "cp", "rule"] = "auto",
        scoring: t.Scoring = "mse",
        fit_intercept: bool = True,
        keep_nodes: bool = False,
        bounds: t.Bounds = None,
        memory_limit: t.Bytes | None = None,
        n_jobs: int | None = None,
        random_state: t.RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_nodes = n_nodes
        self.slices = slices
        self.oversampling = oversampling
        self.max_per_slice = max_per_slice
        self.slice_on = slice_on
        self.focus = focus
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.degree = degree
        self.penalty = penalty
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.keep_nodes = keep_nodes
        self.bounds = bounds
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @runs
    def fit(self, X: Any, y: Any) -> Self:
        """Slice the response, deal the rows, fit every node, average.

        Parameters
        ----------
        X : (N, d) array or data frame
        y : (N,) array or series; paired with the rows of X by position

        Returns
        -------
        self
        """
        self._check_parameters()
        checked, X, y = self._check_data(X, y)
        seed = current().value("seed", lambda: draw_seed(self.random_state))
        intercept = float(np.mean(y)) if self.fit_intercept else 0.0
        centred, scores = y - intercept, row_scores(self.scoring, y)

        dealt_by, kernel_by = self._settings, self._kernel_settings
        sliced = self._sliced(X, y, seed)
        slices, plan = plan_fit(sliced, dealt_by, X.shape[1], current().n_threads, not isinstance(X, Table))
        partition = deal_rows(slices, plan.n_nodes, seed, dealt_by)
        kernel, penalties, tuning = current().value(
            "tuning", lambda: tune(kernel_by, dealt_by, X, centred, sliced, scores, partition, seed)
        )
        problem = Problem(X, centred, partition, kernel, penalties, checked._precision == np.float32)
        coef = fit_nodes(problem)
        average = average_nodes(problem, coef)

        response, nodes = centred + intercept, {}
        if self.keep_nodes:
            parts = np.split(coef, partition.allocation.starts[1:-1])
            nodes["nodes_"] = [NodeFit(rows, part) for rows, part in zip(partition.allocation, parts, strict=True)]
        self._adopt(
            checked,
            X,
            response,
            np.ones(len(y)),
            _seed=seed,
            _bounds=bounds_of(self.bounds, response),
            bandwidth_=tuning.bandwidth,
            tuning_=tuning,
            penalty_=penalties if kernel_by.criterion in LOCAL else tuning.penalty,
            dual_coef_=average,
            intercept_=intercept,
            _centred=self.fit_intercept,
            _problem=replace(problem, partition=replace(partition, dealing=None)),
            **nodes,
            **attributes_of(partition),
        )
        if not isinstance(X, Table):  # rows of a source are read when they are first asked for
            _ = self._expansion
        return self

    def _predict(self, X: Any, return_std: bool) -> t.Prediction:
        X = self._check_new(X)
        prediction = self._clipped(predict_rows(self._expansion.predict, X)[:, 0] + self.intercept_)
        if not return_std:
            return prediction
        with on_threads():
            problem = replace(self._problem, X=self.X_fit_)
            return prediction, np.sqrt(relative_variance(problem, X, self._centred)) * noise_std(problem)

    def predict_nodes(self, X: Any) -> FloatArray:
        """Return every node's own estimate at X, (k, n). Needs ``keep_nodes=True``."""
        return super().predict_nodes(X) + self.intercept_

    @cached_property
    def X_fit_(self) -> FloatArray:
        """The training rows in the order given; those of a source are read when they are first asked for."""
        X = self._problem.X
        if not isinstance(X, Table):
            return X
        what = f"Predictions of divide-and-conquer need all {len(X):,} training rows at hand, {{need}},"
        remedy = "Raise memory_limit, predict where there is more memory, or use AdaptiveKernelRidge, which keeps its "
        current().budget.require(8.0 * len(X) * X.n_columns, what, f"{remedy}centres only.")
        return X.load()

    @cached_property
    def _expansion(self) -> Expansion:
        return Expansion(self.X_fit_, self.dual_coef_, self._problem.kernel, float(self._problem.y.std()))

    def __getstate__(self) -> dict[str, Any]:
        """A model is pickled with its rows, not with where they were read from."""
        if "_problem" in vars(self):
            self._problem = replace(self._problem, X=self._expansion.points)
        return super().__getstate__()

    @property
    def _kernel_settings(self) -> KernelSettings:
        return KernelSettings(check_kernel_name(self.kernel), self.bandwidth, self.degree, self.penalty, self.scoring)

    def _check_parameters(self) -> None:
        self._settings.check()
        check_bandwidth(self.bandwidth, [check_kernel_name(self.kernel)])
        super()._check_parameters()
        settings = self._kernel_settings
        if self.scoring != "mse" and not settings.chooses:
            raise ValueError(
                f"scoring={scoring_name(self.scoring)!r} has nothing to choose: bandwidth and penalty are both fixed. "
                "Leave one at 'auto', or scoring at 'mse'."
            )
        if self.scoring != "mse" and settings.criterion not in LEFT_OUT:
            raise ValueError(
                f"penalty={self.penalty!r} judges rows by fits that have seen them and cannot aim at "
                f"scoring={scoring_name(self.scoring)!r}: rare rows are fitted most closely. Use penalty 'loo' or "
                "'cv', or scoring='mse'."
            )

    def _training_rows(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        y = self._problem.y
        return self.X_fit_, y + self.intercept_, np.ones(len(y))

    def _refitted(self, X: Any, y: FloatArray, weights: FloatArray, X_new: Any) -> FloatArray:
        settings = {"penalty": self.tuning_.penalty, "scoring": "mse", "keep_nodes": False, "random_state": self._seed}
        if self.bandwidth_ is not None:  # kernels without a bandwidth take none
            settings["bandwidth"] = self.bandwidth_
        twin = self._clone_as_fitted(n_nodes=self._n_nodes_for(len(X)), **settings)
        return fit_quietly(twin, X, y).predict(X_new)

    def _node_estimates(self, X: Any) -> Iterator[FloatArray]:
        X = self._check_new(X)
        if not hasattr(self, "nodes_"):
            raise ValueError("The local estimates were not kept: fit again with keep_nodes=True.")
        fitted = self._problem
        with on_threads():
            return run(lambda fit: fitted.kernel.matvec(X, fitted.X[fit.rows], fit.coef), self.nodes_, "node estimates")
