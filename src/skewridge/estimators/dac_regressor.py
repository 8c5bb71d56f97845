"""Algorithms 1 and 2 around any scikit-learn regressor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import check_array, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from skewridge._validation import check_choice, check_integer, check_magnitude, check_same_order, check_weights
from skewridge.centers.pilot import pilot_of
from skewridge.engine.job import Job, run
from skewridge.engine.memory import Budget
from skewridge.estimators.intervals import IntervalMixin, fit_quietly, take_rows
from skewridge.estimators.notebook import NotebookMixin, dealt_summary
from skewridge.io.dask_collections import is_collection
from skewridge.model_selection import draw_seed
from skewridge.nodes.collapse import spread
from skewridge.nodes.partition import partition_rows
from skewridge.nodes.planning import PartitionSettings, check_n_nodes
from skewridge.nodes.sample_weights import WEIGHT, is_composed, routing_is_on, weights_name


class DacRegressor(IntervalMixin, NotebookMixin, MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Divide and conquer, classical and oversampled, around any regressor (Algorithms 1 and 2 of the paper).

    The range of y is cut into slices; rows of rare slices are copied until every slice is as full as the fullest;
    copies are dealt evenly to ``n_nodes`` nodes and de-duplicated; every node fits a clone of ``estimator`` to its own
    rows; the prediction is the average of the nodes', ``fbar(x) = (1/k) sum_j f_j(x)``.

    Parameters
    ----------
    estimator : regressor
        Cloned for every node. Seeds that it leaves open are drawn from ``random_state``, another one for every node.
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
        E[y | x], which needs numeric features without gaps.
    focus : float in [0, 1], default=1.0
        1: as published; 0: rows weighted by their inverse inclusion probability, which aims at the overall risk; in
        between, ``pi ** -(1 - focus)``. Below 1 the estimator must take ``sample_weight`` (and have requested it,
        where scikit-learn's metadata routing is enabled); a pipeline hands the weights to its last step. Weights
        are at least 1, rare rows' the least: a penalty that does not grow with them counts for less than with focus=1.
    n_jobs : int, optional
        Threads of this process, whatever engine is in use. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Decides which rows go to which nodes, and the seeds that the estimator leaves open (None or a generator).
    verbose : int, default=0
        Whether to report progress on stderr.

    Attributes
    ----------
    estimators_ : list of fitted regressors
        One a node.
    slices_ : Slices
        ``edges``, ``labels``, ``counts`` and ``copies``.
    allocation_ : Allocation
        ``allocation_[i]`` are the ascending row ids of node i, among the rows of positive weight.
    n_nodes_, n_oversampled_, n_distinct_ : int
        k; rows after oversampling (N*); sum of the node sizes (N~).
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from skewridge import DacRegressor
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(500, 2, random_state=0)
    >>> model = DacRegressor(KNeighborsRegressor(), n_nodes=5, random_state=0).fit(X, y)
    >>> len(model.estimators_), model.n_distinct_ > 500  # rare rows sit in several nodes
    (5, True)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    _hands_weights_on = True  # to the estimator

    def __init__(
        self,
        estimator,
        n_nodes="auto",
        slices="scott",
        oversampling=1.0,
        max_per_slice=None,
        slice_on="response",
        focus=1.0,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.n_nodes = n_nodes
        self.slices = slices
        self.oversampling = oversampling
        self.max_per_slice = max_per_slice
        self.slice_on = slice_on
        self.focus = focus
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, **fit_params):
        """Slice the response, deal the rows, fit a clone of the estimator to every node.

        Parameters
        ----------
        X : (N, d) array, sparse matrix or data frame, as the estimator takes it
        y : (N,) array or series; paired with the rows of X by position
        sample_weight : (N,) array, optional
            Passed to the estimators, multiplied by the weights of ``focus``. Rows of weight 0 are left out; how rows
            are dealt does not depend on weights otherwise. With scikit-learn's metadata routing the estimator must
            have requested it.
        **fit_params : dict
            Metadata for the estimator's ``fit``, with scikit-learn's metadata routing enabled; arrays with one entry
            a row are dealt with the rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        metadata, sample_weight = self._routed(sample_weight, fit_params)
        self._check_weights_are_taken(sample_weight)
        given, (checked, X, y) = X, self._check_data(X, y)
        rows = _Rows(X, y, None, metadata)
        if sample_weight is not None:
            weights, kept = check_weights(sample_weight, len(y))
            rows = replace(rows.take(kept), weights=weights)
        check_n_nodes(self._settings, len(rows.y))
        seed = draw_seed(self.random_state)

        partition = partition_rows(
            self._sliced(rows, seed), self._settings, X.shape[1], seed, Budget(np.inf), self._job
        )
        seeds = np.random.SeedSequence(seed).generate_state(len(partition.allocation))

        def fit_node(i):
            ids, focus = partition.node(i)
            return rows.take(ids).weighted(focus).fitted(seeded(clone(self.estimator), int(seeds[i])), i)

        estimators = list(run(_as_configured(fit_node), range(len(seeds)), self._job, "local fits"))
        self._remember(checked, partition, estimators)
        return self._keep_rows(replace(rows, X=_own(rows.X, given)), seed)

    def predict(self, X, **predict_params):
        """Return the average of the nodes' predictions.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame, as the estimator takes it
        **predict_params : dict
            Metadata for the estimator's ``predict``, with scikit-learn's metadata routing enabled.

        Returns
        -------
        prediction : (n,) array
        """
        total = sum(self._node_estimates(X, predict_params))
        return total / self.n_nodes_

    def node_spread(self, X):
        """Return the standard deviation between the nodes' predictions at X.

        A diagnostic of how much the nodes disagree; not a standard error, since nodes share rows.
        """
        return spread(self._node_estimates(X, {}))

    def predict_nodes(self, X):
        """Return every node's own prediction at X, (k, n)."""
        return np.array(list(self._node_estimates(X, {})))

    def get_metadata_routing(self):
        """Return what metadata the estimator takes in ``fit`` and ``predict``.

        Returns
        -------
        routing : MetadataRouter
        """
        methods = MethodMapping().add(caller="fit", callee="fit").add(caller="predict", callee="predict")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=methods)

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    @property
    def _job(self):
        return Job(self.n_jobs, self.verbose)

    @property
    def _settings(self):
        return PartitionSettings(self.n_nodes, self.slices, self.oversampling, self.max_per_slice, self.focus)

    def _check_parameters(self):
        if not all(hasattr(type(self.estimator), name) for name in ("fit", "predict")):
            raise TypeError(
                f"estimator must be a regressor with fit and predict, such as Ridge(); got {self.estimator!r}."
            )
        self._settings.check()
        check_choice("slice_on", self.slice_on, ["response", "pilot"])
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, -(2**31), also=" or None")
        check_integer("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)

    def _routed(self, sample_weight, fit_params):
        """Metadata for the estimator, and apart from it the weights, which the nodes' are multiplied by."""
        if not routing_is_on():
            return process_routing(self, "fit", **fit_params).estimator.fit if fit_params else {}, sample_weight
        told = fit_params if sample_weight is None else {**fit_params, WEIGHT: sample_weight}
        metadata = dict(process_routing(self, "fit", **told).estimator.fit) if told else {}
        return metadata, metadata.pop(weights_name(self.estimator), None)

    def _check_weights_are_taken(self, sample_weight):
        if self.focus == 1 and sample_weight is None:
            return
        wanted = f"focus={self.focus:g}" if self.focus < 1 else WEIGHT
        name, kind = weights_name(self.estimator), type(self.estimator).__name__
        if name is None and routing_is_on():
            raise ValueError(
                f"{wanted} weights the rows, and with metadata routing the regressor of {kind} has not requested "
                f"sample_weight in fit. Call set_fit_request(sample_weight=True) on it, or use focus=1."
            )
        if name is None:
            raise ValueError(
                f"{wanted} weights the rows, and {kind}.fit takes no sample_weight for its regressor. Use an estimator "
                "that does, or focus=1 without sample_weight."
            )
        if routing_is_on() and is_composed(self.estimator):
            process_routing(self.estimator, "fit", **{name: 1.0})  # every step must have said whether it takes them

    def _check_data(self, X, y):
        """Validate on a clone, so that a fit that fails later leaves this estimator as it was."""
        checked = clone(self)
        _check_kind(X)
        check_same_order(X, y)
        if hasattr(X, "columns"):  # what a frame may hold is up to the estimator
            X, y = validate_data(checked, X, y, skip_check_array=True)
            y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), warn=True)
            check_consistent_length(X, y)
        else:
            if y is not None and np.asarray(y).dtype.kind in "OSU":
                y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
            X, y = validate_data(checked, X, y, y_numeric=True, **self._accepted)
        check_magnitude("y", y)
        return checked, X, np.array(y, dtype=np.float64)

    @property
    def _accepted(self):
        """What arrays the estimator takes."""
        tags = get_tags(self.estimator).input_tags
        gaps = tags.allow_nan or is_composed(self.estimator)  # which may fill them
        sparse, finite = "csr" if tags.sparse else False, "allow-nan" if gaps else True
        return {"accept_sparse": sparse, "dtype": None, "ensure_all_finite": finite}

    def _sliced(self, rows, seed):
        """What is cut into slices."""
        if self.slice_on == "response":
            return rows.y
        X = check_array(rows.X, dtype=np.float64, input_name="X (sliced on a pilot, which takes numbers alone)")
        check_magnitude("X", X)
        return pilot_of(X, rows.y[:, None], np.ones(len(X)), self.slices, seed, self._job)[:, 0]

    def _remember(self, checked, partition, estimators):
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self.__dict__.update({k: v for k, v in vars(checked).items() if k.endswith("_in_")})
        self.estimators_ = estimators
        self.slices_, self.allocation_ = partition.slices, partition.allocation
        self.n_nodes_ = len(estimators)
        self.n_oversampled_ = partition.slices.n_oversampled
        self.n_distinct_ = len(partition.allocation.rows)
        return self

    def _keep_rows(self, rows, seed):
        """What intervals need; rows that came with metadata of their own cannot be fitted again without it."""
        weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
        self._seed, self._weighted = seed, rows.weights is not None
        self.__dict__.pop("_seen", None)
        if not rows.metadata:
            self._seen = rows.X, rows.y[:, None], weights
        self._remember_response(rows.y[:, None], weights)
        return self

    def _refitted(self, X, Y, weights, X_new):
        """Nodes stay as large as they are: fewer rows are dealt to fewer nodes."""
        n_nodes = max(1, round(self.n_nodes_ * len(Y) / self.slices_.n_rows))
        model = clone(self).set_params(n_nodes=n_nodes, random_state=self._seed)
        return fit_quietly(model, X, Y[:, 0], weights if self._weighted else None).predict(X_new)

    def _summary(self):
        return dealt_summary(self)

    def _node_estimates(self, X, predict_params):
        check_is_fitted(self)
        if hasattr(X, "columns"):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = validate_data(self, X, reset=False, **self._accepted)
        routed = process_routing(self, "predict", **predict_params).estimator.predict if predict_params else {}

        def estimate(fitted):
            found = np.asarray(fitted.predict(X, **routed))
            if found.shape[:1] != X.shape[:1] or found.size != X.shape[0]:
                raise ValueError(
                    f"{type(fitted).__name__}.predict must give one number a row; got shape {found.shape} for "
                    f"{X.shape[0]} rows."
                )
            return found.ravel()

        return run(_as_configured(estimate), self.estimators_, self._job, "prediction")


@dataclass(frozen=True)
class _Rows:
    """Rows to fit: X, y, weights or None, and metadata, of which what comes by the row goes with the rows."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    metadata: dict[str, Any]

    def take(self, ids):
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[ids]
        metadata = {name: self._taken(value, ids) for name, value in self.metadata.items()}
        return _Rows(take_rows(self.X, ids), self.y[ids], weights, metadata)

    def _taken(self, value, ids):
        return take_rows(value, ids) if np.shape(value)[:1] == (len(self.y),) else value

    def weighted(self, more):
        """The same rows with weights multiplied by more of them, or by none."""
        if more is None:
            return self
        return replace(self, weights=more if self.weights is None else self.weights * more)

    def fitted(self, estimator, node):
        """Fit an estimator to the rows of a node; errors say which it was."""
        weights = {} if self.weights is None else {weights_name(estimator): self.weights}
        try:
            estimator.fit(self.X, self.y, **self.metadata, **weights)
        except Exception as error:
            error.add_note(f"Raised by {type(estimator).__name__}.fit on node {node}, which has {len(self.y)} rows.")
            raise
        return estimator


def seeded(estimator, seed):
    """Set every seed that an estimator leaves open, its own and nested ones, each to another number.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> seeded(RandomForestRegressor(), 0).random_state == seeded(RandomForestRegressor(), 0).random_state
    True
    """
    params = sorted(estimator.get_params(deep=True).items())
    random = np.random.default_rng(seed)
    free = [
        name for name, value in params if name.split("__")[-1] == "random_state" and not isinstance(value, Integral)
    ]
    return estimator.set_params(**{name: int(random.integers(2**31 - 1)) for name in free})


def _as_configured(task):
    """The same task with scikit-learn's configuration of this thread, on whatever thread it runs."""
    config = get_config()

    def configured(item):
        with config_context(**config):
            return task(item)

    return configured


def _check_kind(X):
    """Refuse tables whose rows cannot be taken by their numbers."""
    if is_collection(X) or type(X).__module__.partition(".")[0] in ("pyarrow", "pyspark"):
        raise TypeError(
            "X must be an array, a sparse matrix, or a pandas or polars frame in memory; got "
            f"{type(X).__module__}.{type(X).__name__}. Convert it first (compute() or to_pandas())."
        )


def _own(X, given):
    """Rows that stay as they are when the caller changes the ones that were given."""
    if isinstance(X, np.ndarray) and X is not given:
        shared = hasattr(given, "__array__") and np.may_share_memory(X, np.asarray(given))
        return X.copy() if shared else X
    return X.copy() if hasattr(X, "copy") else X  # polars frames cannot be changed
