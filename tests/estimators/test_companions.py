"""SkewRidge with companions as users meet it."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skewridge import AdaptiveKernelRidge, ModelFileError, SkewRidge, load_model, save_model
from skewridge.datasets import make_peaks

X, Y = make_peaks(80, 2, random_state=1)
NEW = make_peaks(40, 2, random_state=2)[0]
TREE = DecisionTreeRegressor(max_depth=4, random_state=0)


def fitted(*companions, X=X, y=Y, weights=None, **settings):
    given = {"kernel": "laplacian", "random_state": 0, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SkewRidge(companions=list(companions), **given).fit(X, y, sample_weight=weights)


class Wrong(RegressorMixin, BaseEstimator):
    """Predicts what no regressor should; right for few rows."""

    def __init__(self, how="shape"):
        self.how = how

    def fit(self, X, y):
        return self

    def predict(self, X):
        wrong = {"shape": np.zeros((len(X), 2)), "short": np.zeros(3), "nan": np.full(len(X), np.nan)}
        return {**wrong, "huge": np.full(len(X), 1e200)}[self.how]


def test_companions_are_members_after_ridge_regression_and_told_apart():
    model = fitted(Ridge(), TREE, Ridge(alpha=10.0))
    assert model.tuning_.members == ("global", "laplacian", "linear", "Ridge", "DecisionTreeRegressor", "Ridge 2")
    assert len(model.blend_weights_) == 6
    assert min(model.blend_weights_.values()) >= 0.0
    assert model.tuning_.trends.shape == model.tuning_.guide_scales.shape == (1, 4)
    assert [type(own) for own in model.companions_] == [Ridge, DecisionTreeRegressor, Ridge]
    assert "DecisionTreeRegressor" in model._repr_html_()
    np.testing.assert_allclose(model.companions_[1].predict(NEW), clone(TREE).fit(X, Y).predict(NEW))


@pytest.mark.parametrize("none", [None, [], ()])
def test_no_companions_change_no_bit(none):
    model = SkewRidge(kernel="laplacian", companions=none, random_state=0).fit(X, Y)
    assert model.companions_ == []
    assert model.tuning_.trends.shape == (1, 1)
    assert np.array_equal(model.predict(NEW), fitted().predict(NEW))


def test_the_objects_that_were_given_are_never_fitted():
    given = [LinearRegression(), clone(TREE)]
    model = SkewRidge(kernel="laplacian", companions=given, random_state=0)
    assert model.companions is given
    model.fit(X, Y)
    assert model.companions is given
    assert not hasattr(given[0], "coef_")
    assert not hasattr(given[1], "tree_")


@pytest.mark.parametrize("weights", [None, np.arange(80) % 3 + 1.0])
def test_companions_that_overwrite_their_rows_change_nothing(weights):
    plain, rough = (make_pipeline(StandardScaler(copy=copy), LinearRegression(copy_X=copy)) for copy in (True, False))
    plain, rough = (model if weights is None else model[-1] for model in (plain, rough))  # pipelines take no weights
    before = X.copy(), Y.copy(), NEW.copy()
    expected, found = (fitted(model, weights=weights).predict(NEW) for model in (plain, rough))
    assert np.array_equal(found, expected)
    assert all(np.array_equal(old, now) for old, now in zip(before, (X, Y, NEW), strict=True))


def test_threads_do_not_change_a_bit():
    one, two = (fitted(TREE, kernel=("matern32", "laplacian"), n_jobs=n) for n in (1, 2))
    assert np.array_equal(one.predict(NEW), two.predict(NEW))
    assert np.array_equal(one.oof_prediction_, two.oof_prediction_)
    assert one.blend_weights_ == two.blend_weights_


@pytest.mark.parametrize(
    "companion", [Ridge(), TREE, make_pipeline(StandardScaler(with_mean=False, with_std=False), Ridge())]
)
def test_weights_equal_copies(companion):
    counts = np.arange(len(Y)) % 3
    weighted = fitted(companion, weights=counts)
    copied = fitted(companion, X=np.repeat(X, counts, axis=0), y=np.repeat(Y, counts))
    np.testing.assert_allclose(weighted.predict(NEW), copied.predict(NEW), atol=1e-8 * Y.std())
    assert weighted.expected_error_.mse == pytest.approx(copied.expected_error_.mse, rel=1e-8)
    assert np.array_equal(weighted.companions_[0].predict(NEW), copied.companions_[0].predict(NEW))


def test_copies_of_rows_reach_a_companion_that_takes_no_weights():
    counts = 1 + np.arange(len(Y)) % 2
    model = fitted(KNeighborsRegressor(3), X=np.repeat(X, counts, axis=0), y=np.repeat(Y, counts))
    assert model.companions_[0].n_samples_fit_ == counts.sum()


def test_weights_that_a_companion_would_not_see_are_refused_before_any_work():
    model = SkewRidge(companions=[TREE, KNeighborsRegressor()])
    with pytest.raises(ValueError, match=r"the companion KNeighborsRegressor takes no sample_weight.*repeat rows"):
        model.fit(X, Y, sample_weight=np.arange(len(Y)) % 3)
    assert not hasattr(model, "n_features_in_")
    fitted(KNeighborsRegressor(), weights=np.arange(len(Y)) % 2)  # rows are there or not
    with config_context(enable_metadata_routing=True), pytest.raises(ValueError, match="companion Ridge takes no"):
        SkewRidge(companions=[Ridge()]).fit(X, Y, sample_weight=np.arange(len(Y)) % 3)


def test_a_constant_response_needs_no_companions():
    model = fitted(TREE, Ridge(), y=np.ones(len(Y)))
    assert model.companions_ == []
    assert len(model.blend_weights_) == 5
    np.testing.assert_allclose(model.predict(NEW), 1.0)


def test_few_rows_do_without_companions():
    model = fitted(TREE, X=X[:8], y=Y[:8])
    assert model.companions_ == []
    assert len(model.blend_weights_) == 4
    assert [[*model.blend_weights_.values()][place] for place in (0, 1, 3)] == [0.0, 0.0, 0.0]
    assert np.isfinite(model.predict(NEW)).all()


def test_steps_are_followed_where_a_tree_follows_them():
    rng = np.random.default_rng(0)
    X, X_new = rng.random((250, 4)), rng.random((1000, 4))

    def steps(X):
        return np.floor(5 * X[:, 0]) % 2 + np.floor(4 * X[:, 1]) * (X[:, 2] > 0.5)

    y = steps(X) + 0.1 * rng.normal(size=250)
    trees = RandomForestRegressor(20, max_features=1.0, random_state=0)
    errors = [np.mean((fitted(*own, X=X, y=y).predict(X_new) - steps(X_new)) ** 2) for own in ((), (trees,))]
    alone = np.mean((clone(trees).fit(X, y).predict(X_new) - steps(X_new)) ** 2)
    assert errors[1] < 0.8 * errors[0]
    assert errors[1] < 1.1 * alone


@pytest.mark.parametrize(
    ("companions", "error", "message"),
    [
        (Ridge(), TypeError, r"must be a list or tuple of regressors.*got Ridge\(\)\. Put a single one in a list"),
        ("Ridge", TypeError, "must be a list or tuple of regressors.*got 'Ridge'"),
        ([StandardScaler()], TypeError, r"with fit and predict; got StandardScaler\(\)\. Give objects"),
        ([Ridge], TypeError, "with fit and predict; got <class"),
        ([None], TypeError, "with fit and predict; got None"),
        ([Ridge()] * 6, ValueError, "at most 5 beside these kernels.*got 6"),
        ([Wrong("shape")], ValueError, r"companion Wrong must predict one number a row; got shape \(\d+, 2\)"),
        ([Wrong("short")], ValueError, r"companion Wrong must predict one number a row; got shape \(3,\)"),
        ([Ridge(), Wrong("nan")], ValueError, "companion Wrong predicts nan for .* must be finite"),
        ([Wrong("huge")], ValueError, "what the companion Wrong predicts must stay below"),
    ],
)
def test_bad_companions_are_refused_by_name(companions, error, message):
    model = SkewRidge(kernel="laplacian", companions=companions, random_state=0)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "n_features_in_")


def test_a_companion_that_fails_says_who_it_was():
    with pytest.raises(ValueError, match="n_neighbors") as caught:
        fitted(KNeighborsRegressor(-1))
    assert "Raised by KNeighborsRegressor.fit, a companion, on" in caught.value.__notes__[0]


def test_a_companion_that_fails_on_new_rows_is_named():
    model = fitted(TREE)
    model.companions_ = [Wrong("nan")]
    with pytest.raises(ValueError, match="companion Wrong predicts nan for 40 of 40 rows"):
        model.predict(NEW)


def test_clones_grids_and_pickles():
    model = SkewRidge(kernel="laplacian", companions=[Ridge(2.0)], random_state=0)
    again = clone(model)
    assert again.companions[0] is not model.companions[0]
    assert again.companions[0].alpha == 2.0
    assert model.get_params()["companions"] is model.companions
    assert clone(model).set_params(companions=None).companions is None
    search = GridSearchCV(model, {"companions": [None, [TREE]]}, cv=2).fit(X[:40], Y[:40])
    assert len(search.cv_results_["params"]) == 2
    model.fit(X, Y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), model.predict(NEW))


def test_intervals_and_rows_of_weight_zero():
    counts = np.ones(len(Y))
    counts[:20] = 0.0
    model = fitted(TREE, weights=counts)
    np.testing.assert_allclose(model.oof_prediction_[:20], model.predict(X[:20]), atol=1e-12)
    low, high = model.predict_interval(NEW, coverage=0.8)
    assert (low <= high).all()


@pytest.mark.parametrize(
    "companion",
    [RandomForestRegressor(3), make_pipeline(PolynomialFeatures(), Ridge())],
    ids=["trees", "pipeline"],
)
def test_a_file_refuses_companions_of_others_by_name(companion, tmp_path):
    model = fitted(companion)
    with pytest.raises(ModelFileError, match=f"companion {type(companion).__name__} is no .* pickle or joblib.*column"):
        save_model(model, tmp_path / "model.skr")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("y", [Y, np.ones(len(Y))], ids=["skewed", "constant"])
def test_a_file_holds_companions_of_our_own(y, tmp_path):
    model = fitted(AdaptiveKernelRidge(n_centers=20, random_state=0), y=y)
    save_model(model, tmp_path / "model.skr")
    loaded = load_model(tmp_path / "model.skr")
    assert np.array_equal(loaded.predict(NEW), model.predict(NEW))
    assert repr(loaded.companions) == repr(model.companions)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: setattr(m, "companions_", []),
        lambda m: setattr(m, "companions_", m.companions_ * 2),
        lambda m: setattr(m, "companions_", [Ridge().fit(X, Y)]),
        lambda m: setattr(m, "companions_", [AdaptiveKernelRidge()]),
        lambda m: setattr(m, "companions_", [AdaptiveKernelRidge(n_centers=5).fit(X[:, :1], Y)]),
    ],
)
def test_a_file_without_the_companions_of_its_blend_is_refused(change, tmp_path):
    model = fitted(AdaptiveKernelRidge(n_centers=20, random_state=0))
    change(model)
    with pytest.raises(ModelFileError, match=r"not valid|not a fitted estimator|has length"):
        save_model(model, tmp_path / "model.skr")
