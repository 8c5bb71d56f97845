"""Weights reach the regressor inside, or are refused before any work."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, VotingRegressor
from sklearn.linear_model import LinearRegression, RANSACRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from skewridge import DacRegressor
from skewridge.datasets import make_peaks
from skewridge.nodes.sample_weights import weights_name

X, y = make_peaks(200, 2, random_state=0)
WEIGHTS = np.random.default_rng(0).uniform(0.1, 2.0, 200)
NEIGHBOURS = KNeighborsRegressor()

TAKING = {
    "sample_weight": [
        Ridge(),
        TransformedTargetRegressor(Ridge()),
        TransformedTargetRegressor(),
        GridSearchCV(Ridge(), {"alpha": [1e-6, 1e-3]}, cv=2),
        VotingRegressor([("a", Ridge()), ("b", SVR()), ("c", "drop")]),
        BaggingRegressor(Ridge(), n_estimators=2),
        DacRegressor(Ridge(), n_nodes=2),
        DacRegressor(make_pipeline(Ridge()), n_nodes=2),
        RANSACRegressor(LinearRegression(), min_samples=20),
    ],
    "ridge__sample_weight": [
        make_pipeline(StandardScaler(), Ridge()),
        TransformedTargetRegressor(make_pipeline(Ridge())),
    ],
    "pipeline__ridge__sample_weight": [make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), Ridge()))],
    "transformedtargetregressor__sample_weight": [make_pipeline(StandardScaler(), TransformedTargetRegressor(Ridge()))],
}
REFUSING = [
    NEIGHBOURS,
    make_pipeline(StandardScaler(), NEIGHBOURS),
    make_pipeline(make_pipeline(NEIGHBOURS)),
    TransformedTargetRegressor(NEIGHBOURS),
    GridSearchCV(NEIGHBOURS, {}),
    VotingRegressor([("a", Ridge()), ("b", NEIGHBOURS)]),
    DacRegressor(NEIGHBOURS, n_nodes=2),
    DacRegressor(DacRegressor(NEIGHBOURS, n_nodes=2), n_nodes=2),
    RANSACRegressor(NEIGHBOURS, min_samples=10),
    MultiOutputRegressor(NEIGHBOURS),
]


def dealt(estimator, **settings):
    return DacRegressor(estimator, n_nodes=3, random_state=0, **settings)


@pytest.fixture
def no_work(monkeypatch):
    def work(*_, **__):
        raise AssertionError("rows were dealt")

    monkeypatch.setattr("skewridge.estimators.dac_regressor.plan_fit", work)


@pytest.mark.parametrize(
    ("name", "estimator"), [(name, one) for name, several in TAKING.items() for one in several], ids=str
)
def test_estimators_that_take_weights_are_given_them(name, estimator):
    assert weights_name(estimator) == name
    weighted = dealt(clone(estimator), focus=0.0).fit(X, y).predict(X)
    assert np.isfinite(weighted).all()
    assert np.abs(weighted - dealt(estimator).fit(X, y).predict(X)).max() > 1e-9


@pytest.mark.parametrize("estimator", REFUSING, ids=str)
def test_estimators_that_take_none_are_refused_before_rows_are_dealt(estimator, no_work):
    assert weights_name(estimator) is None
    with pytest.raises(ValueError, match=r"focus=0.5 weights the rows, and \w+.fit takes no sample_weight"):
        dealt(estimator, focus=0.5).fit(X, y)


def test_a_logarithmic_target_inside_is_fitted_with_the_weights():
    inner = TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1)
    model = dealt(inner).fit(X, y - y.min(), sample_weight=WEIGHTS)
    fits = [
        clone(inner).fit(X[rows], (y - y.min())[rows], sample_weight=WEIGHTS[rows]).predict(X)
        for rows in model.allocation_
    ]
    np.testing.assert_allclose(model.predict(X), np.mean(fits, axis=0), rtol=1e-12)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def asking(estimator, how=True):
    return estimator.set_fit_request(sample_weight=how)


def test_with_routing_weights_go_where_they_were_requested(routing):
    wanted = [
        Ridge().fit(X[rows], y[rows], sample_weight=WEIGHTS[rows]).predict(X)
        for rows in dealt(Ridge()).fit(X, y).allocation_
    ]
    for model, weights in (
        (dealt(asking(Ridge())), {"sample_weight": WEIGHTS}),
        (dealt(asking(Ridge(), "mine")), {"mine": WEIGHTS}),
        (dealt(make_pipeline(asking(Ridge()))), {"sample_weight": WEIGHTS}),
        (dealt(make_pipeline(asking(Ridge(), "mine"))), {"mine": WEIGHTS}),
    ):
        np.testing.assert_allclose(model.fit(X, y, **weights).predict(X), np.mean(wanted, axis=0), rtol=1e-12)


def test_with_routing_weights_that_were_not_requested_are_refused(routing, no_work):
    with pytest.raises(ValueError, match="not explicitly set as requested"):
        dealt(Ridge()).fit(X, y, sample_weight=WEIGHTS)
    with pytest.raises(TypeError, match="unexpected argument"):
        dealt(asking(Ridge(), False)).fit(X, y, sample_weight=WEIGHTS)
    for estimator in (Ridge(), asking(Ridge(), False), make_pipeline(StandardScaler(), Ridge()), NEIGHBOURS):
        with pytest.raises(ValueError, match=r"has not requested sample_weight in fit. Call set_fit_request"):
            dealt(estimator, focus=0.5).fit(X, y)


def test_with_routing_a_scaler_that_takes_weights_is_not_enough(routing, no_work):
    scaler = asking(StandardScaler())
    for last in (asking(DecisionTreeRegressor(), False), KNeighborsRegressor()):
        with pytest.raises(ValueError, match="has not requested sample_weight"):
            dealt(make_pipeline(scaler, last), focus=0.0).fit(X, y)


def test_with_routing_every_step_must_have_said_whether_it_takes_weights(routing, no_work):
    with pytest.raises(ValueError, match="not explicitly set as requested"):
        dealt(make_pipeline(StandardScaler(), asking(Ridge())), focus=0.5).fit(X, y)


@pytest.mark.parametrize("how", [True, "mine"])
@pytest.mark.parametrize("piped", [False, True])
def test_with_routing_weights_multiply_those_of_focus_and_zero_leaves_rows_out(routing, how, piped):
    whole = WEIGHTS * (np.arange(200) % 5 > 0)
    estimator = asking(Ridge(), how)
    model = dealt(make_pipeline(estimator) if piped else estimator, focus=0.0)
    model.fit(X, y, **{"sample_weight" if how is True else how: whole})
    with sklearn.config_context(enable_metadata_routing=False):
        plain = dealt(Ridge(), focus=0.0).fit(X, y, sample_weight=whole)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-12)


def test_with_routing_two_threads_do_as_one(routing):
    inner = make_pipeline(asking(StandardScaler()), asking(Ridge()))
    fits = [dealt(inner, focus=0.5, n_jobs=jobs).fit(X, y).predict(X) for jobs in (1, 2)]
    np.testing.assert_array_equal(*fits)


class ByFrame(RegressorMixin, BaseEstimator):
    """Tells frames from arrays."""

    def fit(self, X, y):
        self.framed_ = hasattr(X, "columns")
        return self

    def predict(self, X):
        return np.full(len(X), float(hasattr(X, "columns") + self.framed_))


@pytest.mark.parametrize("jobs", [1, 2])
def test_scikit_learns_configuration_holds_on_every_thread(jobs):
    with sklearn.config_context(transform_output="pandas"):
        model = dealt(make_pipeline(StandardScaler(), ByFrame()), n_jobs=jobs).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), 2.0)
