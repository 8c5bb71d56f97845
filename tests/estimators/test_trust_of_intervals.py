"""Intervals that hold whatever holds the rows, whatever was set since, and whatever y holds."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    DacRegressor,
    LocalKernelRidge,
    SkewRidge,
    SmoothingSpline,
    fit_source,
    load_model,
    save_model,
)

RNG = np.random.default_rng(0)
X, X_TEST = np.round(RNG.normal(size=(600, 3)), 1), np.round(RNG.normal(size=(2000, 3)), 1)
NAMES = ["a", "b", "c"]


def covered(model, points, y, coverage=0.9):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Intervals are widened")
        low, high = model.predict_interval(points, coverage)
    return float(np.mean((low <= y) & (y <= high)))


# One way to fold


KINDS = {
    "array": np.asarray,
    "pandas": partial(pd.DataFrame, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(dict(zip(NAMES, rows.T, strict=True))),
    "sparse": sparse.csr_matrix,
}


@pytest.mark.parametrize("kind", KINDS)
def test_discrete_responses_are_covered_whatever_holds_the_rows(kind):
    """Folds that y alone decides hold whole classes out: coverage was 0.00 for two classes, 0.42 for counts."""
    rate = 1 / (1 + np.exp(-np.r_[X, X_TEST][:, 0]))
    rng, as_kind = np.random.default_rng(1), KINDS[kind]
    for y in (rng.binomial(1, rate), rng.poisson(3 * rate)):
        y = y.astype(np.float64)
        model = DacRegressor(DecisionTreeRegressor(min_samples_leaf=20, random_state=0), n_nodes=2, random_state=0)
        model.fit(as_kind(X), y[:600])
        low, high = model.predict_interval(as_kind(X_TEST))
        assert np.mean((low <= y[600:]) & (y[600:] <= high)) > 0.85
        array = DacRegressor(model.estimator, n_nodes=2, random_state=0).fit(X, y[:600]).predict_interval(X_TEST)
        np.testing.assert_allclose((low, high), array, atol=1e-6)


def test_copies_of_a_row_share_a_fold_whatever_holds_them():
    """Pure noise and a learner that knows every row by heart: copies in other folds would tell it the response."""
    rows = pd.DataFrame({"a": RNG.permutation([f"row {i}" for i in range(100)] * 2), "b": 1.0})
    y = rows["a"].map(dict(zip(sorted(set(rows["a"])), RNG.normal(size=100), strict=True))).to_numpy()
    model = DacRegressor(ByHeart(), n_nodes=1, random_state=0).fit(rows, y)
    assert np.abs(model.calibrate().calibration_.errors).max() > 1.0


class ByHeart(DummyRegressor):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y)
        self.known_ = dict(zip(X["a"], y, strict=True))
        return self

    def predict(self, X):
        return np.array([self.known_.get(name, 0.0) for name in X["a"]])


def test_intervals_from_files_are_those_of_arrays(tmp_path):
    y = np.exp(X[:, 0]) + RNG.normal(size=600)
    pd.DataFrame(np.c_[X, y], columns=[*NAMES, "y"]).to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    given = {"bandwidth": 1.0, "penalty": 1e-3, "random_state": 0}
    for model in (AdaptiveKernelRidge(40, 0.5, scale_features="standard", **given), DacKernelRidge(2, **given)):
        here = type(model)(**model.get_params()).fit(X, y).predict_interval(X_TEST)
        frame = pd.DataFrame(X_TEST, columns=NAMES)
        there = fit_source(model, tmp_path / "rows.parquet", "y").predict_interval(frame)
        np.testing.assert_array_equal(here, there)


# What a fit knew


CHANGES = [
    (
        AdaptiveKernelRidge(40, 0.5, kernel="poly", penalty=1e-4, random_state=0),
        {"degree": 1, "slices": 2, "bounds": (0.0, 0.5), "fit_intercept": False, "solver": "cg"},
    ),
    (
        DacKernelRidge(3, bandwidth=1.0, penalty=1e-3, random_state=0),
        {"kernel": "laplacian", "slices": 1, "focus": 0.0, "fit_intercept": False},
    ),
    (
        DacRegressor(Ridge(), n_nodes=3, random_state=0),
        {"estimator__alpha": 1e6, "slices": 1, "bounds": (0.0, 0.5), "random_state": 7},
    ),
    (SmoothingSpline(random_state=0), {"spline": "linear", "alpha": 3.0, "knots": "adaptive", "n_knots": 5}),
    (LocalKernelRidge(random_state=0), {"kernel": "gaussian", "cell_size": 100, "bounds": (0.0, 0.5)}),
    (SkewRidge(random_state=0), {"kernel": "gaussian", "bounds": (0.0, 0.5)}),
]


@pytest.mark.parametrize(("model", "changes"), CHANGES, ids=lambda value: type(value).__name__)
def test_parameters_set_after_a_fit_change_no_interval(model, changes):
    n = 20 if isinstance(model, SkewRidge) else 200
    y = np.sin(2 * X[:n, 0]) + 0.3 * np.random.default_rng(2).normal(size=n)
    fits = [type(model)(**pickle.loads(pickle.dumps(model.get_params(deep=False)))).fit(X[:n], y) for _ in range(2)]
    as_fitted, set_since = fits[0], fits[1].set_params(**changes, n_jobs=2)
    assert set_since._clone_as_fitted().n_jobs == 2, "threads are those of now"
    np.testing.assert_array_equal(*(fit.predict_interval(X_TEST, 0.6) for fit in (as_fitted, set_since)))


def test_nor_do_they_once_rows_come_back_from_a_file(tmp_path):
    y = np.sin(2 * X[:200, 0])
    expected = DacKernelRidge(2, bandwidth=1.0, penalty=1e-3, random_state=0).fit(X[:200], y)
    model = DacKernelRidge(2, bandwidth=1.0, penalty=1e-3, random_state=0).fit(X[:200], y)
    save_model(model.set_params(slices=np.array([-1.0, 0.0, 1.0]), focus=0.5), tmp_path / "model.skr")
    loaded = load_model(tmp_path / "model.skr")
    assert loaded.focus == 0.5
    expected = expected.predict_interval(X_TEST)
    np.testing.assert_array_equal(loaded.predict_interval(X_TEST), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_interval(X_TEST), expected)


# Gross errors, and responses that are mostly one number


CROSS_FITTED = {
    "adaptive": AdaptiveKernelRidge(60, 0.5, random_state=0),
    "dac": DacKernelRidge(2, random_state=0),
    "narrow dac": DacKernelRidge(2, bandwidth=0.01, penalty=1e-9, random_state=0),
    "ridge": DacRegressor(Ridge(), n_nodes=2, random_state=0),
    "mean": DacRegressor(DummyRegressor(), n_nodes=1, random_state=0),
    "tree": DacRegressor(DecisionTreeRegressor(min_samples_leaf=5, random_state=0), n_nodes=2, random_state=0),
    "spline": SmoothingSpline(random_state=0),
    "local": LocalKernelRidge(random_state=0),
}


def with_gross_errors(seed, n=500, n_test=1000):
    """A smooth function and noise; three rows are 1e6 standard deviations off."""
    rng = np.random.default_rng(seed)
    points = rng.random((n + n_test, 3))
    y = np.sin(6 * points[:, 0]) + points[:, 1] + 0.3 * rng.normal(size=n + n_test)
    y[rng.choice(n, 3, replace=False)] += 1e6 * y.std() * rng.choice([-1.0, 1.0], 3)
    return points[:n], y[:n], points[n:], y[n:]


def mostly_zero(seed, n=500, n_test=1000):
    """Ninety-nine in a hundred are 0, the others positive, wherever x is."""
    rng = np.random.default_rng(seed)
    points = rng.random((n + n_test, 3))
    y = np.where(rng.random(n + n_test) < 0.01, 1 + rng.exponential(size=n + n_test), 0.0)
    return points[:n], y[:n], points[n:], y[n:]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", [with_gross_errors, mostly_zero])
@pytest.mark.parametrize("name", CROSS_FITTED)
def test_few_rows_that_decide_a_fit_do_not_take_its_coverage(name, make):
    """Fits without a fold were shifted otherwise than the whole fit: coverage was 0.00 to 0.94, by seed."""
    for seed in range(2):
        rows, y, points, responses = make(seed)
        model = type(CROSS_FITTED[name])(**CROSS_FITTED[name].get_params(deep=False))
        assert covered(model.fit(rows, y), points, responses) > 0.85, seed


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", [with_gross_errors, mostly_zero])
@pytest.mark.parametrize("estimator", [SkewRidge, AdaptiveKernelRidge, DacKernelRidge])
def test_nor_that_of_fits_that_learn_all(estimator, make):
    for seed in range(5):
        rows, y, points, responses = make(seed, n=1000)
        assert covered(estimator(random_state=seed).fit(rows, y), points, responses) > 0.85, seed


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_a_value_that_most_rows_have_is_in_their_intervals(coverage):
    """Left-out errors tell where 0 lies about other fits: without it 0.46 of all rows were covered at 0.9."""
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(4000, 3)), rng.normal(size=(4000, 3))
    y, y_new = (np.where(rng.random(4000) < 0.01, 5 + np.exp(rows[:, 1]), 0.0) for rows in (X, X_new))
    assert covered(SkewRidge(random_state=0).fit(X, y), X_new, y_new, coverage) >= max(0.97, coverage - 0.01)


def test_what_cannot_be_calibrated_is_widened_and_told(tmp_path):
    """A fit that knows its rows by heart shows nothing of a shift at rows that it has seen."""
    rows, y, points, responses = with_gross_errors(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DacKernelRidge(**CROSS_FITTED["narrow dac"].get_params()).fit(rows, y)
    with pytest.warns(UserWarning, match=r"widened, and their coverage is not promised.*few rows decide.*kept back"):
        low, high = model.predict_interval(points)
    assert np.mean((low <= responses) & (responses <= high)) > 0.95
    assert model.calibration_.source == "unstable"
    save_model(model, tmp_path / "model.skr")
    with pytest.warns(UserWarning, match="coverage is not promised"):
        np.testing.assert_array_equal(load_model(tmp_path / "model.skr").predict_interval(points), (low, high))
    with pytest.warns(UserWarning, match="500 calibration rows are too few for coverage=0.999, which takes 9999"):
        assert np.isinf(model.predict_interval(points, 0.999)).all()
    fresh = model.calibrate(points, responses)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = fresh.predict_interval(points)
    assert np.mean((low <= responses) & (responses <= high)) > 0.85


def test_sound_rows_are_not_warned_of_nor_widened():
    rng = np.random.default_rng(5)
    points = rng.random((1000, 3))
    y = np.sin(6 * points[:, 0]) + 0.3 * rng.standard_t(2, size=1000)
    for name in ("ridge", "spline", "tree", "mean"):
        model = type(CROSS_FITTED[name])(**CROSS_FITTED[name].get_params(deep=False)).fit(points, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict_interval(points)
        assert model.calibration_.source == "cross-fitted"


def test_rows_that_shift_a_fit_are_told_and_do_not_shift_its_intervals():
    """Left-out errors have n / (n - 1) of the shift: with three gross errors among 1,000 coverage was 0.69."""
    rows, y, points, responses = with_gross_errors(0, n=1000)
    with pytest.warns(UserWarning, match="off by 835.* a few extreme ones decide the fit.*sample_weight of 0"):
        model = SkewRidge(random_state=0).fit(rows, y)
    assert 0.85 < covered(model, points, responses) < 0.95
    with pytest.warns(UserWarning, match="a few extreme ones decide the fit"):
        LocalKernelRidge(random_state=0).fit(rows, y)
    times = {"sample_weight": np.full(1000, 10.0)}
    for copied, how in (((rows, y), times), ((np.repeat(rows, 5, axis=0), np.repeat(y, 5)), {})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SkewRidge(random_state=0).fit(*copied, **how)
            assert 0.85 < covered(model, points, responses) < 0.95


@pytest.mark.parametrize(("n", "seed"), [(1000, 2), (3200, 1)])
def test_a_fit_that_is_next_to_the_mean_does_not_tell_rows_their_own_response(n, seed):
    """The mean of the others is low where y is high: taken for x, it explained all noise, and 0.05 were covered."""
    rng = np.random.default_rng(seed)
    rows, y = rng.normal(size=(n, 3)), np.exp(rng.normal(size=n))
    points, responses = rng.normal(size=(2000, 3)), np.exp(rng.normal(size=2000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SkewRidge(random_state=0).fit(rows, y)
    assert sum(model.blend_weights_.values()) < 0.1
    assert 0.86 < covered(model, points, responses) < 0.94
    deviation = np.median(model.predict_distribution(points).sd())
    assert 0.8 < deviation / y.std() < 1.2


@pytest.mark.parametrize("size", [3e3, 1e4, 2e4])
def test_one_error_of_any_size_takes_no_coverage(size):
    rows, y, points, responses = with_gross_errors(0, n=1000)
    y = np.where(np.abs(y) > 1e3, y[0], y)
    y[7] += size * 0.75
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SkewRidge(random_state=0).fit(rows, y)
    assert 0.85 < covered(model, points, responses) < 0.95


def test_what_a_scoring_was_asked_for_is_no_gross_error():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(600, 3)), 0.01 * rng.normal(size=600)
    y[:18] += 100.0
    for model in (SkewRidge(scoring="balanced_mse", random_state=0), LocalKernelRidge(scoring="balanced_mse")):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.fit(rows, y)
        assert not any("extreme ones decide" in str(one.message) for one in told)


def test_large_responses_that_are_not_few_are_no_gross_errors():
    """Nearly equal responses beside 45% of large ones: what is usual is not told by the median deviation."""
    rng = np.random.default_rng(0)
    skewed = rng.random((1500, 2))
    large = rng.random(1500) < 0.45
    tables = [
        mostly_zero(0)[:2],
        (skewed, np.where(large, rng.exponential(1 + 3 * skewed[:, 0]), 1e-3 * rng.normal(size=1500))),
    ]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for rows, y in tables:
            SkewRidge(random_state=0).fit(rows, y)
    assert not any("extreme ones decide" in str(one.message) for one in told)
