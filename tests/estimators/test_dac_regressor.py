import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor, StackingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skewridge import DacKernelRidge, DacRegressor
from skewridge.datasets import make_peaks
from skewridge.estimators.dac_regressor import seeded
from skewridge.estimators.intervals import take_rows
from skewridge.execution.context import using
from skewridge.kernels import Kernel
from skewridge.response.allocation import inclusion_probability


@parametrize_with_checks(
    [DacRegressor(Ridge()), DacRegressor(HistGradientBoostingRegressor(max_iter=5), focus=0.5, slices=3)]
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


class LocalRidge(RegressorMixin, BaseEstimator):
    """Kernel ridge regression whose alpha is n times a penalty, solved by a dense solver."""

    def __init__(self, bandwidth=0.5, penalty=1e-3):
        self.bandwidth = bandwidth
        self.penalty = penalty

    def fit(self, X, y, sample_weight=None):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.X_, kernel = X, self._kernel
        self.coef_ = np.linalg.solve(kernel.cross(X, X) + np.diag(self.penalty * weights.sum() / weights), y)
        return self

    def predict(self, X):
        return self._kernel.cross(X, self.X_) @ self.coef_

    @property
    def _kernel(self):
        return Kernel("gaussian", bandwidth=self.bandwidth)


PARTITIONS = [
    {"slices": 1},
    {"slices": "scott"},
    {"slices": 7, "oversampling": 0.5, "focus": 0.0},
    {"slices": "sturges", "focus": 0.5, "max_per_slice": 20},
    {"slices": "scott", "slice_on": "pilot"},
]


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_kernel_ridge_nodes_are_those_of_dac_kernel_ridge(partition):
    X, y = make_peaks(400, 2, random_state=1)
    settings = {"n_nodes": 4, "random_state": 7, **partition}
    ours = DacKernelRidge(bandwidth=0.5, penalty=1e-3, fit_intercept=False, **settings).fit(X, y)
    model = DacRegressor(LocalRidge(), **settings).fit(X, y)
    assert [list(rows) for rows in model.allocation_] == [list(rows) for rows in ours.allocation_]
    np.testing.assert_allclose(model.predict(X), ours.predict(X), atol=1e-8)
    assert (model.n_nodes_, model.n_oversampled_, model.n_distinct_) == (4, ours.n_oversampled_, ours.n_distinct_)


def test_prediction_is_the_mean_of_the_nodes():
    X, y = make_peaks(300, 2, random_state=0)
    model = DacRegressor(KNeighborsRegressor(), n_nodes=6, random_state=0).fit(X, y)
    nodes = np.array([clone(model.estimator).fit(X[rows], y[rows]).predict(X) for rows in model.allocation_])
    np.testing.assert_allclose(model.predict_nodes(X), nodes, rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), nodes.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.node_spread(X), nodes.std(axis=0, ddof=1), atol=1e-12)


def test_same_seed_same_bits_whatever_the_threads():
    X, y = make_peaks(500, 3, random_state=0)
    forest = RandomForestRegressor(n_estimators=5)
    fits = [DacRegressor(forest, n_nodes=5, random_state=3, n_jobs=jobs).fit(X, y).predict(X) for jobs in (1, 2)]
    np.testing.assert_array_equal(*fits)
    other = DacRegressor(forest, n_nodes=5, random_state=4).fit(X, y).predict(X)
    assert np.abs(other - fits[0]).max() > 0


def test_open_seeds_are_set_and_given_ones_stay():
    pipeline = make_pipeline(StandardScaler(), RandomForestRegressor())
    one, other = (seeded(clone(pipeline), seed)[-1].random_state for seed in (0, 1))
    assert isinstance(one, int)
    assert one != other
    assert seeded(RandomForestRegressor(random_state=5), 0).random_state == 5
    assert pipeline[-1].random_state is None  # the user's estimator is not touched


def test_nodes_draw_different_seeds():
    X, y = make_peaks(300, 2, random_state=0)
    model = DacRegressor(RandomForestRegressor(n_estimators=2), n_nodes=4, random_state=0).fit(X, y)
    assert len({node.random_state for node in model.estimators_}) == 4


@pytest.mark.parametrize("estimator", [KNeighborsRegressor(), make_pipeline(StandardScaler(), KNeighborsRegressor())])
def test_weights_for_an_estimator_that_takes_none_are_refused_before_work(estimator):
    X, y = make_peaks(100, 2, random_state=0)
    with pytest.raises(ValueError, match=r"focus=0.5 weights the rows, and \w+.fit takes no sample_weight"):
        DacRegressor(estimator, focus=0.5).fit(X, y)
    with pytest.raises(ValueError, match=r"^sample_weight weights the rows"):
        DacRegressor(estimator).fit(X, y, sample_weight=np.ones(100))


def test_a_pipelines_last_step_takes_the_weights():
    X, y = make_peaks(300, 2, random_state=0)
    alone = DacRegressor(Ridge(), n_nodes=3, focus=0.0, random_state=0).fit(X, y)
    inside = DacRegressor(make_pipeline("passthrough", Ridge()), n_nodes=3, focus=0.0, random_state=0).fit(X, y)
    plain = DacRegressor(Ridge(), n_nodes=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(inside.predict(X), alone.predict(X), rtol=1e-12)
    assert np.abs(plain.predict(X) - alone.predict(X)).max() > 1e-6


def test_weights_multiply_and_zero_leaves_rows_out():
    X, y = make_peaks(200, 2, random_state=0)
    weights = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    model = DacRegressor(Ridge(), n_nodes=3, focus=0.0, random_state=0).fit(X, y, sample_weight=weights)
    kept = np.flatnonzero(weights)
    slices = model.slices_
    focus = 1.0 / inclusion_probability(slices.counts, slices.copies, 3)[slices.labels]
    fits = [
        Ridge().fit(X[kept][rows], y[kept][rows], sample_weight=(focus * weights[kept])[rows]).predict(X)
        for rows in model.allocation_
    ]
    np.testing.assert_allclose(model.predict(X), np.mean(fits, axis=0), rtol=1e-10)


def test_metadata_is_routed_and_dealt_with_the_rows():
    class Echo(RegressorMixin, BaseEstimator):
        def fit(self, X, y, tags=None, label="none"):
            self.tags_, self.label_ = tags, label
            return self

        def predict(self, X, shift=0.0):
            return np.full(len(X), shift)

    X, y = make_peaks(60, 2, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        echo = Echo().set_fit_request(tags=True, label=True).set_predict_request(shift=True)
        model = DacRegressor(echo, n_nodes=3, random_state=0).fit(X, y, tags=np.arange(60), label="here")
        for node, rows in zip(model.estimators_, model.allocation_, strict=True):
            np.testing.assert_array_equal(node.tags_, rows)
            assert node.label_ == "here"
        np.testing.assert_array_equal(model.predict(X[:2], shift=3.0), [3.0, 3.0])
    with pytest.raises(ValueError, match="not explicitly set as requested"):
        DacRegressor(Echo()).fit(X, y, tags=np.arange(60))


def test_frames_go_to_the_estimator_as_they_are():
    X, y = make_peaks(200, 2, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.where(X[:, 0] > 0.5, "high", "low"))
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = DacRegressor(make_pipeline(encode, Ridge()), n_nodes=3, random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "kind"]
    fits = [clone(model.estimator).fit(frame.iloc[rows], y[rows]).predict(frame) for rows in model.allocation_]
    np.testing.assert_allclose(model.predict(frame), np.mean(fits, axis=0), rtol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "kind"]])


def test_polars_and_sparse_rows():
    X, y = make_peaks(120, 2, random_state=0)
    settings = {"n_nodes": 3, "random_state": 0}
    wanted = DacRegressor(Ridge(solver="cholesky"), **settings).fit(X, y).predict(X)
    polars = DacRegressor(Ridge(solver="cholesky"), **settings).fit(pl.DataFrame(X), pl.Series(y))
    np.testing.assert_allclose(polars.predict(pl.DataFrame(X)), wanted, rtol=1e-10)
    sparse = DacRegressor(Ridge(), **settings).fit(scipy.sparse.csr_matrix(X), y)
    assert sparse.predict(scipy.sparse.csr_matrix(X)).shape == (120,)


def test_gaps_are_the_estimators_affair():
    X, y = make_peaks(200, 2, random_state=0)
    X[::7, 0] = np.nan
    assert np.isfinite(DacRegressor(HistGradientBoostingRegressor(max_iter=3), n_nodes=2).fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        DacRegressor(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="pilot"):
        DacRegressor(HistGradientBoostingRegressor(), slice_on="pilot").fit(X, y)


def test_nested_parameters_are_searched():
    X, y = make_peaks(120, 2, random_state=0)
    model = DacRegressor(LocalRidge(), n_nodes=2, random_state=0)
    search = GridSearchCV(model, {"estimator__penalty": [1e-4, 1e4]}, cv=3)
    assert search.fit(X, y).best_params_ == {"estimator__penalty": 1e-4}


def test_a_fit_that_fails_changes_nothing():
    X, y = make_peaks(60, 2, random_state=0)
    model = DacRegressor(Ridge(), n_nodes=2, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="n_nodes must not exceed"):
        model.set_params(n_nodes=61).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"estimator": "ridge"}, "estimator must be a regressor with fit and predict"),
        ({"n_nodes": 0}, "n_nodes must be an integer >= 1"),
        ({"slice_on": "x"}, "slice_on must be one of"),
        ({"focus": 2}, "focus must be a number in"),
        ({"slices": "many"}, "slices"),
        ({"n_jobs": 1.5}, "n_jobs must be an integer"),
    ],
)
def test_bad_parameters_are_refused(changed, message):
    X, y = make_peaks(60, 2, random_state=0)
    with pytest.raises((TypeError, ValueError), match=message):
        DacRegressor(LinearRegression()).set_params(**changed).fit(X, y)


@pytest.mark.parametrize("y", [np.full(50, 3.0), np.arange(50), np.arange(50, dtype=np.float32)])
def test_constant_and_integer_responses(y):
    X = np.random.default_rng(0).random((50, 2))
    fit = DacRegressor(LinearRegression(), n_nodes=2, random_state=0).fit(X, y).predict(X)
    assert fit.shape == (50,)
    assert np.isfinite(fit).all()


@pytest.mark.parametrize("framed", [False, True])
def test_intervals_cover_unseen_rows(framed):
    X, y = make_peaks(900, 2, random_state=0)
    X_new, y_new = make_peaks(2000, 2, random_state=1)
    if framed:
        X, X_new = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(X_new, columns=["a", "b"])
    model = DacRegressor(KNeighborsRegressor(8), n_nodes=3, random_state=0).fit(X, y)
    low, high = model.predict_interval(X_new, coverage=0.9)
    assert 0.85 < np.mean((low <= y_new) & (y_new <= high)) < 0.95


def test_intervals_of_rows_with_metadata_need_fresh_rows():
    class Echo(RegressorMixin, BaseEstimator):
        def fit(self, X, y, tags):
            self.n_features_in_ = X.shape[1]
            return self

        def predict(self, X):
            return np.zeros(len(X))

    X, y = make_peaks(60, 2, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = DacRegressor(Echo().set_fit_request(tags=True), n_nodes=2).fit(X, y, tags=np.arange(60))
    with pytest.raises(ValueError, match=r"Call calibrate\(X, y\) with rows"):
        model.predict_interval(X)
    assert np.isfinite(model.calibrate(X, y).predict_interval(X)).all()


def test_notebooks_show_how_rows_were_dealt():
    X, y = make_peaks(60, 2, random_state=0)
    shown = DacRegressor(Ridge(), n_nodes=2, random_state=0).fit(X, y)._repr_html_()
    assert "What was fitted" in shown
    assert "2 of" in shown


def test_rows_are_taken_by_position():
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=[9, 8, 7])
    assert take_rows(frame, np.array([2, 0]))["a"].tolist() == [3, 1]
    assert take_rows([5, 6, 7], np.array([2, 0])).tolist() == [7, 5]


def test_frames_with_another_order_of_labels_are_refused():
    frame, y = pd.DataFrame({"a": [1.0, 2.0, 3.0]}), pd.Series([1.0, 2.0, 3.0], index=[2, 1, 0])
    with pytest.raises(ValueError, match="same index labels in a different order"):
        DacRegressor(Ridge()).fit(frame, y)


@pytest.mark.parametrize(
    "estimator",
    [make_pipeline(SimpleImputer(), Ridge()), TransformedTargetRegressor(HistGradientBoostingRegressor(max_iter=3))],
)
def test_gaps_in_arrays_reach_estimators_that_may_fill_them(estimator):
    X, y = make_peaks(200, 2, random_state=0)
    X[::7, 0] = np.nan
    model = DacRegressor(estimator, n_nodes=2, random_state=0).fit(X, y)
    fits = [clone(estimator).fit(X[rows], y[rows]).predict(X) for rows in model.allocation_]
    np.testing.assert_allclose(model.predict(X), np.mean(fits, axis=0), rtol=1e-12)


@pytest.mark.parametrize("kind", [np.array, pd.DataFrame, scipy.sparse.csr_matrix])
def test_what_the_caller_does_to_the_rows_afterwards_changes_no_interval(kind):
    X, y = make_peaks(300, 2, random_state=0)
    ends = []
    for changed in (False, True):
        rows = kind(X.copy())
        model = DacRegressor(Ridge(), n_nodes=3, random_state=0).fit(rows, y)
        if changed:
            rows *= -5.0
        ends.append(model.predict_interval(kind(X)))
    np.testing.assert_array_equal(*ends)


def test_an_error_in_a_node_says_which_it_was():
    X, y = make_peaks(100, 2, random_state=0)

    class Failing(Ridge):
        def fit(self, X, y):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no") as caught:
        DacRegressor(Failing(), n_nodes=4, slices=1, random_state=0).fit(X, y)
    assert caught.value.__notes__ == ["Raised by Failing.fit on node 0, which has 25 rows."]


def test_predictions_of_another_shape_are_refused():
    class Wide(Ridge):
        def predict(self, X):
            return np.zeros((len(X), 2))

    X, y = make_peaks(50, 2, random_state=0)
    model = DacRegressor(Wide(), n_nodes=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Wide.predict must give one number a row; got shape \(50, 2\) for 50 rows"):
        model.predict(X)


def test_an_estimator_whose_fit_returns_nothing_is_used_all_the_same():
    class Silent(Ridge):
        def fit(self, X, y):
            super().fit(X, y)

    X, y = make_peaks(50, 2, random_state=0)
    silent, plain = (DacRegressor(e, n_nodes=2, random_state=0).fit(X, y).predict(X) for e in (Silent(), Ridge()))
    np.testing.assert_array_equal(silent, plain)


def test_a_stack_without_a_final_estimator_is_a_regressor():
    X, y = make_peaks(60, 2, random_state=0)
    stack = StackingRegressor([("a", Ridge())], cv=2)
    assert DacRegressor(stack, n_nodes=2, random_state=0).fit(X, y).predict(X).shape == (60,)


def test_responses_that_are_text_are_refused_or_read():
    X, y = make_peaks(60, 2, random_state=0)
    with pytest.raises(ValueError, match="could not convert string to float"):
        DacRegressor(Ridge()).fit(X, np.repeat("much", 60))
    read = DacRegressor(Ridge(), random_state=0).fit(X, y.astype(object)).predict(X)
    np.testing.assert_array_equal(read, DacRegressor(Ridge(), random_state=0).fit(X, y).predict(X))


def test_tables_elsewhere_are_refused():
    import pyarrow

    X, y = make_peaks(60, 2, random_state=0)
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 1]})
    with pytest.raises(TypeError, match=r"pandas or polars frame in memory; got pyarrow.*to_pandas"):
        DacRegressor(Ridge()).fit(table, y)


def test_more_nodes_than_rows_are_refused_before_a_pilot_is_made(monkeypatch):
    X, y = make_peaks(60, 2, random_state=0)
    monkeypatch.setattr("skewridge.estimators.dac.first_estimate", None)
    with pytest.raises(ValueError, match="n_nodes must not exceed the number of rows; got n_nodes=61 for 60 rows"):
        DacRegressor(Ridge(), n_nodes=61, slice_on="pilot").fit(X, y)


def test_progress_is_told_when_asked(capsys, monkeypatch):
    monkeypatch.setattr("skewridge.execution.progress.SILENT", 0.0)
    X, y = make_peaks(100, 2, random_state=0)
    DacRegressor(Ridge(), n_nodes=4, random_state=0).fit(X, y).predict(X)
    assert capsys.readouterr().err == ""
    DacRegressor(Ridge(), n_nodes=4, random_state=0, verbose=1).fit(X, y).predict(X)
    told = capsys.readouterr()
    assert "local fits: 75%" in told.err
    assert "prediction: 75%" in told.err
    assert told.out == ""


def test_learners_that_overwrite_their_rows_change_nothing():
    X, y = make_peaks(90, 2, random_state=0)
    new = X[:10].copy()
    plain, rough = (make_pipeline(StandardScaler(copy=copy), Ridge(copy_X=copy)) for copy in (True, False))
    expected, found = (DacRegressor(own, n_nodes=3, random_state=0).fit(X, y).predict(new) for own in (plain, rough))
    assert np.array_equal(found, expected)
    assert np.array_equal(new, X[:10])


def test_nodes_run_on_threads_whatever_engine_is_in_use():
    X, y = make_peaks(100, 2, random_state=0)
    with using(engine=object()):  # which cannot run anything
        model = DacRegressor(Ridge(), n_nodes=3, random_state=0, n_jobs=2).fit(X, y)
        found = model.predict(X), model.node_spread(X)
    alone = DacRegressor(Ridge(), n_nodes=3, random_state=0).fit(X, y)
    assert np.array_equal(found, (alone.predict(X), alone.node_spread(X)))
