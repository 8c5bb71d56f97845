"""The scikit-learn shell: parameters in, fitted attributes out; the algebra lives below."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from sklearn.base import clone

from skewridge._validation import check_choice, check_flag, check_real
from skewridge.centers.pilot import pilot_of
from skewridge.engine.chunked import is_held
from skewridge.engine.passes import predict_rows
from skewridge.estimators.base import KernelEstimator
from skewridge.estimators.intervals import fit_quietly
from skewridge.estimators.notebook import partition_summary
from skewridge.estimators.sources import predict_collection
from skewridge.io.dask_collections import is_collection
from skewridge.kernels import check_kernel_name
from skewridge.metrics import row_scores
from skewridge.model_selection import draw_seed
from skewridge.nodes.collapse import collapse, load_rows, node_estimates, spread
from skewridge.nodes.fit import Problem, fit_nodes, node_fits, shared_centers
from skewridge.nodes.partition import partition_rows
from skewridge.nodes.planning import PartitionSettings
from skewridge.nodes.search import CRITERIA, Data
from skewridge.nodes.tuning import KernelSettings, tune
from skewridge.nodes.variance import conditional_std
from skewridge.ridge.expansion import Expansion


class DacKernelRidge(KernelEstimator):
    """Divide-and-conquer kernel ridge regression, classical and oversampled (Algorithms 1 and 2 of the paper).

    The range of y is cut into slices; rows of rare slices are copied until every slice is as full as the
    fullest; copies are dealt evenly to ``n_nodes`` nodes and de-duplicated; node i solves
    ``(K + n penalty I) beta = y`` on its n rows; the estimate is the average of the nodes.

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
    local_solver : {"exact", "nystroem"}, default="exact"
        How a node is solved: exactly, over its own rows; or over centres that all nodes share, half of them drawn
        evenly over the slices, 5 sqrt(N) in all but at most half a node's rows and at least 100. The average is then
        one short expansion, and a node of n rows costs n m^2 instead of n^3 / 3.
    fit_intercept : bool, default=True
        Whether the mean of y is subtracted before fitting and added to predictions.
    keep_nodes : bool, default=False
        Whether to keep the local estimates, which :meth:`node_spread` needs.
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
    dual_coef_ : (N,) array, or (m,) with shared centres
        The average as one expansion: the mean over nodes of each row's coefficient.
    X_fit_ : (N, d) array, or (m, d)
        The training rows in the order given, or the shared centres.
    center_rows_ : (m,) array
        The rows that are shared centres, with ``local_solver="nystroem"``.
    intercept_ : float
    n_features_in_ : int
    nodes_ : list of NodeFit
        The local estimates, with ``keep_nodes=True``.
    calibration_ : tuple of one Calibration
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

    _takes_tables = True

    def __init__(
        self,
        n_nodes="auto",
        slices="scott",
        oversampling=1.0,
        max_per_slice=None,
        slice_on="response",
        focus=1.0,
        kernel="gaussian",
        bandwidth="auto",
        degree=3,
        penalty="auto",
        scoring="mse",
        local_solver="exact",
        fit_intercept=True,
        keep_nodes=False,
        memory_limit=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
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
        self.local_solver = local_solver
        self.fit_intercept = fit_intercept
        self.keep_nodes = keep_nodes
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y):
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
        X, y, job = self._opened(X, y)
        checked, X, y = self._check_data(X, y, job)
        seed = job.value("seed", lambda: draw_seed(self.random_state))
        intercept = float(np.mean(y)) if self.fit_intercept else 0.0

        request = self._request
        scores = row_scores(self.scoring, y)
        sliced = self._sliced(X, y, seed, job)
        shared = self.local_solver == "nystroem"
        partition = partition_rows(sliced, self._settings, X.shape[1], seed, self._budget, job, shared, is_held(X))
        centers = shared_centers(X, sliced, partition, self.slices, seed, job) if shared else None
        data = Data(X, y - intercept, sliced, scores, partition, self._settings, seed, centers)
        kernel, penalties, tuning = job.value("tuning", lambda: tune(request, data, job.unkept))
        problem = Problem(X, data.y, partition, kernel, penalties, checked._precision == np.float32, centers)
        coef = fit_nodes(problem, job, self._budget)

        self._seed = seed
        return self._remember(checked, problem, tuning, intercept, coef)

    def predict(self, X, return_std=False):
        """Return the average of the nodes' estimates.

        Parameters
        ----------
        X : (n, d) array or data frame
        return_std : bool, default=False
            Whether to return as well the conditional standard deviation of the average: given the inputs and
            the allocation, with rows that several nodes share counted once. It factorises every node again.

        Returns
        -------
        prediction : (n,) array
        std : (n,) array, with ``return_std=True``
        """
        if is_collection(X):
            return predict_collection(self, X)
        X = self._check_new(X)
        prediction = predict_rows(self._expansion.predict, X, self._job)[:, 0] + self.intercept_
        if not return_std:
            return prediction
        problem = replace(self._problem, X=self._all_rows())
        return prediction, conditional_std(problem, X, self._centred, self._job.here)

    def node_spread(self, X):
        """Return the standard deviation between the nodes' estimates at X.

        A diagnostic of how much the nodes disagree; not a standard error, since nodes share rows. Needs
        ``keep_nodes=True``.
        """
        return spread(self._node_estimates(X))

    def predict_nodes(self, X):
        """Return every node's own estimate at X, (k, n). Needs ``keep_nodes=True``."""
        return np.array(list(self._node_estimates(X))) + self.intercept_

    @property
    def _settings(self):
        return PartitionSettings(self.n_nodes, self.slices, self.oversampling, self.max_per_slice, self.focus)

    @property
    def _request(self):
        return KernelSettings(check_kernel_name(self.kernel), self.bandwidth, self.degree, self.penalty, self.scoring)

    def _sliced(self, X, y, seed, job):
        """What is cut into slices."""
        if self.slice_on == "response":
            return y
        ones = np.ones(len(y))
        return job.value("pilot", lambda: pilot_of(X, y[:, None], ones, self.slices, seed, job.unkept))[:, 0]

    def _check_parameters(self):
        self._settings.check()
        self._check_kernel_parameters([check_kernel_name(self.kernel)])
        if isinstance(self.penalty, str):
            check_choice("penalty", self.penalty, ["auto", "rule", *CRITERIA])
        else:
            check_real("penalty", self.penalty, 0, open_low=True, also=", or the name of a way to choose it")
        check_choice("slice_on", self.slice_on, ["response", "pilot"])
        check_choice("local_solver", self.local_solver, ["exact", "nystroem"])
        check_flag("keep_nodes", self.keep_nodes)
        self._request.check()
        self._check_running()

    def _remember(self, checked, problem, tuning, intercept, coef):
        self._take_over(checked)
        partition = replace(problem.partition, dealing=None)
        problem = replace(problem, partition=partition)
        self.slices_, self.allocation_ = partition.slices, partition.allocation
        self.n_nodes_ = len(partition.allocation)
        self.n_oversampled_ = partition.slices.n_oversampled
        self.n_distinct_ = len(partition.allocation.rows)
        self.bandwidth_, self.penalty_, self.tuning_ = tuning.bandwidth, tuning.penalty, tuning
        if self._request.is_local:
            self.penalty_ = problem.penalties
        self.dual_coef_, self.intercept_ = collapse(problem, coef), intercept
        self._problem, self._centred = problem, self.fit_intercept
        self._remember_response((problem.y + intercept)[:, None], np.ones(len(problem.y)))
        if problem.centers is not None:
            self.center_rows_ = problem.centers
        if problem.centers is not None or is_held(problem.X):
            self.X_fit_ = problem.X if problem.centers is None else problem.X[problem.centers]
            self._expansion = self._expansion_on(self.X_fit_)
        if self.keep_nodes:
            self.nodes_ = node_fits(problem, coef)
        return self

    def _summary(self):
        return partition_summary(self)

    def _training_rows(self):
        problem = self._problem
        return self._all_rows(), (problem.y + self.intercept_)[:, None], np.ones(len(problem.y))

    def _refitted(self, X, Y, weights, X_new):
        """Nodes stay as large as they are: fewer rows are dealt to fewer nodes."""
        n_nodes = max(1, round(self.n_nodes_ * len(X) / len(self._problem.y)))
        settings = {"penalty": self.tuning_.penalty, "scoring": "mse", "keep_nodes": False, "random_state": self._seed}
        if self.bandwidth_ is not None:  # kernels without a bandwidth take none
            settings["bandwidth"] = self.bandwidth_
        return fit_quietly(clone(self).set_params(n_nodes=n_nodes, **settings), X, Y[:, 0]).predict(X_new)

    @cached_property
    def X_fit_(self):
        """The training rows in the order given; those of a source are read when they are first asked for."""
        return load_rows(self._problem.X, self._budget)

    @cached_property
    def _expansion(self):
        return self._expansion_on(self.X_fit_)

    def _expansion_on(self, rows):
        return Expansion(rows, self.dual_coef_, self._problem.kernel, float(self._problem.y.std()))

    def _all_rows(self):
        """The training rows, read once where the average is expanded over them."""
        shared = self._problem.centers is not None
        return load_rows(self._problem.X, self._budget) if shared else self.X_fit_

    def __getstate__(self):
        """A model is pickled with its rows, not with where they were read from."""
        if "_problem" in vars(self):
            self._expansion = self._expansion_on(self.X_fit_)
            self._problem = replace(self._problem, X=self._all_rows())
        return super().__getstate__()

    def _node_estimates(self, X):
        X = self._check_new(X)
        if not hasattr(self, "nodes_"):
            raise ValueError("The local estimates were not kept: fit again with keep_nodes=True.")
        return node_estimates(self.nodes_, self._problem.kernel, self._problem.X, X, self._job.here)
