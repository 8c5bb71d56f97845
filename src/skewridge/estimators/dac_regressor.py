"""Algorithms 1 and 2 around any scikit-learn regressor, on rows of any kind: arrays, sparse matrices, data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_array, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from skewridge._typing import Auto, Bounds, FloatArray, IntArray, RandomState, SliceRule
from skewridge._validation import (
    check_choice,
    check_magnitude,
    check_plain,
    check_same_order,
    check_weights,
    is_lazy,
)
from skewridge.estimators.base import THREADS, Check, bounds_of, check_bounds, check_labels, column_labels, runs
from skewridge.estimators.dac import PartitionedEstimator, attributes_of
from skewridge.estimators.intervals import fit_quietly, take_rows
from skewridge.estimators.summaries import dealt_summary
from skewridge.execution.context import run, using
from skewridge.execution.memory import Budget
from skewridge.model_selection import draw_seed
from skewridge.nodes.partition import deal_rows, plan_fit
from skewridge.nodes.sample_weights import (
    WEIGHT,
    check_weights_are_taken,
    inside,
    is_composed,
    routing_is_on,
    weights_name,
)
from skewridge.response.candidates import row_keys


class DacRegressor(MetaEstimatorMixin, PartitionedEstimator):
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
    bounds : None, "auto" or (low, high), default=None
        What predictions are clipped to. None: nothing; "auto": the training range of y plus 10% at either end. Either
        end may be None.
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
    _summary = dealt_summary
    _runs_with: ClassVar[dict[str, Any]] = {"engine": None, "checkpoint": None}
    _row_keys = staticmethod(row_keys)
    _parameters: ClassVar[dict[str, Check]] = {
        "slice_on": partial(check_choice, options=["response", "pilot"]),
        "bounds": check_bounds,
        **THREADS,
    }

    def __init__(
        self,
        estimator: Any,
        n_nodes: int | Auto = "auto",
        slices: SliceRule = "scott",
        oversampling: float = 1.0,
        max_per_slice: int | None = None,
        slice_on: Literal["response", "pilot"] = "response",
        focus: float = 1.0,
        bounds: Bounds = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_nodes = n_nodes
        self.slices = slices
        self.oversampling = oversampling
        self.max_per_slice = max_per_slice
        self.slice_on = slice_on
        self.focus = focus
        self.bounds = bounds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @runs
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
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
        check_weights_are_taken(self.estimator, self.focus, sample_weight)
        given, (checked, X, y) = X, self._check_data(X, y)
        weights = None
        if sample_weight is not None:
            weights, kept = check_weights(sample_weight, len(y), given, are_counts=False)
            metadata = _taken_with(metadata, kept, len(y))
            X, y = take_rows(X, kept), y[kept]
        self._settings.check(len(y))
        seed = draw_seed(self.random_state)

        sliced = self._sliced(X, y, seed)
        with using(budget=Budget(np.inf)):  # what the estimator takes is not known
            slices, plan = plan_fit(sliced, self._settings, X.shape[1])
        partition = deal_rows(slices, plan.n_nodes, seed, self._settings)
        seeds = np.random.SeedSequence(seed).generate_state(plan.n_nodes)

        def fit_node(i: int) -> Any:
            rows, node_weights = partition.node(i)
            own, parts = seeded(clone(self.estimator), int(seeds[i])), _taken_with(metadata, rows, len(y))
            if weights is not None:
                node_weights = weights[rows] if node_weights is None else weights[rows] * node_weights
            if node_weights is not None:
                parts[str(weights_name(own))] = node_weights
            try:
                own.fit(take_rows(X, rows), y[rows], **parts)
            except Exception as error:
                error.add_note(f"Raised by {type(own).__name__}.fit on node {i}, which has {len(rows)} rows.")
                raise
            return own

        estimators = list(run(_as_configured(fit_node), range(plan.n_nodes), "local fits"))
        counts = np.ones(len(y)) if weights is None else weights
        self._adopt(
            checked,
            None,
            y,
            counts,
            _seed=seed,
            _bounds=bounds_of(self.bounds, y),
            _weighted=weights is not None,
            estimators_=estimators,
            **attributes_of(partition),
            **({} if metadata else {"_fitted_rows": (_own_rows(X, given), y, counts)}),  # else none can be fitted again
        )
        return self

    @runs
    def predict(self, X: Any, **predict_params: Any) -> FloatArray:
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
        total: Any = sum(self._node_estimates(X, **predict_params))
        return self._clipped(total / self.n_nodes_)

    def get_metadata_routing(self) -> Any:
        """Return what metadata the estimator takes in ``fit`` and ``predict``.

        Returns
        -------
        routing : MetadataRouter
        """
        methods = MethodMapping().add(caller="fit", callee="fit").add(caller="predict", callee="predict")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=methods)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def _check_parameters(self) -> None:
        if not all(hasattr(type(self.estimator), name) for name in ("fit", "predict")):
            raise TypeError(
                f"estimator must be a regressor with fit and predict, such as Ridge(); got {self.estimator!r}."
            )
        self._settings.check()
        super()._check_parameters()

    def _routed(self, sample_weight: Any, fit_params: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Metadata for the estimator, and apart from it the weights, which the nodes' are multiplied by."""
        if not routing_is_on():
            return process_routing(self, "fit", **fit_params).estimator.fit if fit_params else {}, sample_weight
        told = fit_params if sample_weight is None else {**fit_params, WEIGHT: sample_weight}
        metadata = dict(process_routing(self, "fit", **told).estimator.fit) if told else {}
        return metadata, metadata.pop(weights_name(self.estimator), None)

    def _check_data(self, X: Any, y: Any) -> tuple[Self, Any, FloatArray]:
        """Validate on a clone, so that a fit that fails later leaves this estimator as it was."""
        checked, library = clone(self), type(X).__module__.partition(".")[0]
        if is_lazy(X) or library in ("pyarrow", "pyspark"):  # rows cannot be taken by their numbers
            raise TypeError(
                "X must be an array, a sparse matrix, or a pandas or polars frame in memory; got "
                f"{type(X).__module__}.{type(X).__name__}. Convert it first (compute() or to_pandas())."
            )
        check_same_order(X, y)
        check_plain("X", X, may_hold_times=_encodes_tables(self.estimator))
        check_plain("y", y)
        checked.column_labels_in_ = column_labels(X)
        if hasattr(X, "columns"):  # what a frame may hold is up to the estimator
            X, y = validate_data(checked, X, y, skip_check_array=True)
            y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), warn=True)
            check_consistent_length(X, y)
        else:
            if y is not None and np.asarray(y).dtype.kind in "OSU":
                y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
            X, y = validate_data(checked, X, y, y_numeric=True, **_accepted_arrays(self.estimator))
        check_magnitude("y", y)
        return checked, X, np.array(y, dtype=np.float64)

    def _sliced(self, X: Any, y: FloatArray, seed: int) -> FloatArray:
        if self.slice_on == "pilot":
            X = check_array(X, dtype=np.float64, input_name="X (sliced on a pilot, which takes numbers alone)")
            check_magnitude("X", X)
        return super()._sliced(X, y, seed)

    def _refitted(self, X: Any, y: FloatArray, weights: FloatArray, X_new: Any) -> FloatArray:
        twin = self._clone_as_fitted(n_nodes=self._n_nodes_for(len(y)), random_state=self._seed)
        return fit_quietly(twin, X, y, weights if self._weighted else None).predict(X_new)

    def _node_estimates(self, X: Any, **predict_params: Any) -> Iterator[FloatArray]:
        check_is_fitted(self)
        check_plain("X", X, may_hold_times=_encodes_tables(self.estimator))
        check_labels(self, X)
        if hasattr(X, "columns"):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = validate_data(self, X, reset=False, **_accepted_arrays(self.estimator))
        routed = process_routing(self, "predict", **predict_params).estimator.predict if predict_params else {}

        def estimate(fitted: Any) -> FloatArray:
            rows = X.copy() if hasattr(X, "copy") else X  # some overwrite what they are given: copy=False
            found = np.asarray(fitted.predict(rows, **routed))
            if found.shape[:1] != X.shape[:1] or found.size != X.shape[0]:
                raise ValueError(
                    f"{type(fitted).__name__}.predict must give one number a row; got shape {found.shape} for "
                    f"{X.shape[0]} rows."
                )
            return found.ravel()

        return run(_as_configured(estimate), self.estimators_, "prediction")


def _taken_with(metadata: dict[str, Any], rows: IntArray, n_rows: int) -> dict[str, Any]:
    """Metadata for some of n_rows rows, of which what comes by the row goes with the rows."""
    by_row = {name: np.shape(value)[:1] == (n_rows,) for name, value in metadata.items()}
    return {name: take_rows(value, rows) if by_row[name] else value for name, value in metadata.items()}


def _own_rows(X: Any, given: Any) -> Any:
    """Rows that stay as they are when the caller changes the ones that were given."""
    if isinstance(X, np.ndarray) and X is not given:
        shared = hasattr(given, "__array__") and np.may_share_memory(X, np.asarray(given))
        return X.copy() if shared else X
    return X.copy() if hasattr(X, "copy") else X  # polars frames cannot be changed


def _accepted_arrays(estimator: Any) -> dict[str, Any]:
    """The kinds of arrays that an estimator takes, as scikit-learn's validation is given them."""
    tags = get_tags(estimator).input_tags
    gaps = tags.allow_nan or is_composed(estimator)  # which may fill them
    sparse, finite = "csr" if tags.sparse else False, "allow-nan" if gaps else True
    return {"accept_sparse": sparse, "dtype": None, "ensure_all_finite": finite}


def _as_configured(task: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The task with scikit-learn's configuration of this thread, on whatever thread it runs."""
    config = get_config()

    def configured(item: Any) -> Any:
        with config_context(**config):
            return task(item)

    return configured


def seeded(estimator: Any, seed: int) -> Any:
    """Set every seed that an estimator leaves open, its own and nested ones, each to another number."""
    random, free = np.random.default_rng(seed), {}
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if name.split("__")[-1] == "random_state" and not isinstance(value, Integral):
            free[name] = int(random.integers(2**31 - 1))
    return estimator.set_params(**free)


def _encodes_tables(estimator: Any) -> bool:
    """Whether the first that sees the rows may turn times into numbers.

    scikit-learn's own learners and transformers take them for counts of nanoseconds, all but those that hand columns on
    to others.
    """
    if isinstance(estimator, Pipeline):
        return _encodes_tables(estimator.steps[0][1])
    within = inside(estimator)
    if within is not None:
        return _encodes_tables(within)
    hands_on = isinstance(estimator, ColumnTransformer | FunctionTransformer | FeatureUnion)
    return hands_on or type(estimator).__module__.partition(".")[0] != "sklearn"
