import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError

from skewridge import AdaptiveKernelRidge, DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.estimators.intervals import IntervalMixin
from skewridge.response.candidates import candidate_rows
from skewridge.response.slices import slice_edges

GIVEN = {"bandwidth": 0.2, "penalty": 1e-4, "random_state": 0}
MODELS = [
    AdaptiveKernelRidge(60, 0.5, scale_features="standard", **GIVEN),
    DacKernelRidge(3, **GIVEN),
]


@pytest.fixture(scope="module")
def rows():
    return make_peaks(600, 2, random_state=0)


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request, rows):
    return clone(request.param).fit(*rows)


def test_fresh_rows_are_predicted_by_the_model_itself(model):
    X, y = make_peaks(300, 2, random_state=1)
    calibration = model.calibrate(X, y).calibration_
    assert calibration.source == "fresh"
    assert np.array_equal(np.sort(calibration.errors), np.sort(y - model.predict(X)))
    low, high = model.predict_interval(X)
    bands = calibration.bands(0.9)
    assert np.array_equal((low, high), bands.around(model.predict(X)))


def test_intervals_come_without_calibrating_first(model, rows):
    low, high = model.predict_interval(rows[0][:50])
    assert low.shape == high.shape == (50,)
    assert (low < high).all()
    assert model.calibration_.source == "cross-fitted"
    assert model.calibration_.n_rows == 600


def naive_adaptive(model, X, y, X_new):
    """Normal equations on centres drawn from the rows, with the whole fit's scales."""
    pool = candidate_rows(X, y[:, None], np.ones(len(y)), "auto", model._seed)
    X, X_new = X * model.feature_scale_, X_new * model.feature_scale_
    centers = X[pool.rows[pool.draw(60, 0.5)]]

    def k(A, B):
        r = np.sqrt(3 * ((A[:, None] - B) ** 2).sum(axis=2)) / 0.2
        return (1 + r) * np.exp(-r)

    F, K = k(X, centers), k(centers, centers)
    coef = np.linalg.solve(F.T @ F + len(X) * 1e-4 * K, F.T @ (y - y.mean()))
    return k(X_new, centers) @ coef + y.mean()


def test_cross_fitted_errors_are_those_of_refits(model, rows):
    """Every row by a fit without its fold, at the settings of the whole fit and less what shifts all it predicts."""
    X, y = rows
    model.calibrate()
    pool = candidate_rows(X, y[:, None], np.ones(600), "auto", model._seed)
    folds, common = pool.folds[pool.member], pool.rows[:500]
    errors = np.empty(600)
    for fold in range(5):
        here, both = folds == fold, common[folds[common] != fold]
        if isinstance(model, DacKernelRidge):
            refit = clone(model).set_params(n_nodes=2, random_state=model._seed).fit(X[~here], y[~here])
            found = refit.predict(X)
        else:
            found = naive_adaptive(model, X[~here], y[~here], X)
        errors[here] = (y - found)[here] + np.median(found[both] - model.predict(X[both]))
    assert np.allclose(np.sort(model.calibration_.errors), np.sort(errors), atol=1e-9)


def test_the_same_bits_for_any_number_of_threads_and_any_order_of_calls(model, rows):
    X, y = rows
    other = clone(model).set_params(n_jobs=2).fit(X, y)
    other.predict_interval(X[:5], coverage=0.5)
    assert np.array_equal(model.predict_interval(X), other.predict_interval(X))


def test_a_new_fit_forgets_the_calibration(model, rows):
    X, y = rows
    model.predict_interval(X[:2])
    model.fit(X[:300], y[:300])
    assert not hasattr(model, "calibration_")
    model.predict_interval(X[:2])
    assert model.calibration_.n_rows == 300


def test_fitting_calibrates_nothing(model):
    assert not hasattr(model, "calibration_")


def test_few_rows_give_infinite_intervals_and_say_so(model):
    X, y = make_peaks(18, 2, random_state=1)
    model.calibrate(X, y)
    with pytest.warns(UserWarning, match=r"infinite: 18 calibration rows are too few for coverage=0.9, which takes 19"):
        low, high = model.predict_interval(X)
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.predict_interval(X, coverage=0.8)).all()


@pytest.mark.parametrize("n", [1, 2, 7])
def test_models_of_few_rows_have_intervals(n):
    X, y = make_peaks(n, 2, random_state=0)
    for model in (AdaptiveKernelRidge(random_state=0), DacKernelRidge(random_state=0)):
        with pytest.warns(UserWarning, match="Intervals are infinite"):
            low, _ = model.fit(X, y).predict_interval(X)
        assert low.shape == (n,)


def test_constant_responses_have_intervals_of_no_width():
    X = np.random.default_rng(0).random((60, 2))
    for model in (AdaptiveKernelRidge(random_state=0), DacKernelRidge(random_state=0)):
        low, high = model.fit(X, np.full(60, 3.0)).predict_interval(X)
        assert np.allclose((low, high), 3.0)


def test_saved_models_keep_their_calibration_and_not_their_rows(rows):
    X, y = rows
    model = AdaptiveKernelRidge(60, 0.5, **GIVEN).fit(X, y)
    bare = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match=r"The rows of the fit are gone.*calibrate\(X, y\)"):
        bare.predict_interval(X)
    bare.calibrate(X[:100], y[:100])
    assert np.isfinite(bare.predict_interval(X)).all()
    kept = pickle.loads(pickle.dumps(model.calibrate()))
    assert np.array_equal(kept.predict_interval(X), model.predict_interval(X))
    assert len(pickle.dumps(model)) < X.nbytes + model.centers_.size**2 * 40


def test_frequencies_are_repeated_rows(rows):
    X, y = rows
    weights = np.random.default_rng(0).integers(1, 3, 600)
    kwargs = {**GIVEN, "n_centers": 60, "adapt": 0.5}
    weighted = AdaptiveKernelRidge(**kwargs).fit(X, y, weights).predict_interval(X[:50])
    repeated = AdaptiveKernelRidge(**kwargs).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.allclose(weighted, repeated.predict_interval(X[:50]), atol=1e-7)


def test_frames_and_weights_are_taken(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = AdaptiveKernelRidge(60, 0.5, **GIVEN).fit(frame, pd.Series(y))
    model.calibrate(frame[:100], pd.Series(y)[:100], sample_weight=np.r_[np.zeros(20), np.ones(80)])
    assert model.calibration_.n_rows == 80


@pytest.mark.parametrize(
    "setting",
    [
        {"penalty": "gcv"},
        {"kernel": "sobolev", "bandwidth": "auto"},
        {"focus": 0.5, "max_per_slice": 20},
    ],
)
def test_every_kind_of_dac_can_be_calibrated(rows, setting):
    X, y = rows
    settings = {"n_nodes": 3, "bandwidth": 0.2, "penalty": 1e-3, "random_state": 0, **setting}
    X, y = X[:200], y[:200]
    low, high = DacKernelRidge(**settings).fit(X, y).predict_interval(X)
    assert np.mean((y >= low) & (y <= high)) > 0.85


def test_calibrating_costs_no_warnings_and_leaves_the_model_as_it_was(rows):
    X, y = rows
    y = y.copy()
    y[0] = 1e4
    model = AdaptiveKernelRidge(60, 0.5, **GIVEN)
    with pytest.warns(UserWarning, match="dominate"):
        model.fit(X, y)
    before = model.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.calibrate()
    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, X, y: m.calibrate(X), ValueError, "X and y together, or neither"),
        (lambda m, X, y: m.calibrate(X, y[:-1]), ValueError, "inconsistent numbers of samples"),
        (lambda m, X, y: m.calibrate(X, np.column_stack([y, y])), ValueError, "y must have one column; got 2"),
        (lambda m, X, y: m.calibrate(X, np.where(y == y[0], np.nan, y)), ValueError, "contains NaN"),
        (lambda m, X, y: m.calibrate(X, y, np.zeros(len(y))), ValueError, "sample_weight must be finite"),
        (lambda m, X, y: m.calibrate(X[:, :1], y), ValueError, "features"),
        (lambda m, X, y: m.predict_interval(X, 1.0), ValueError, "coverage must be below 1"),
        (lambda m, X, y: m.predict_interval(X[:, :1]), ValueError, "features"),
        (lambda m, X, y: clone(m).predict_interval(X), NotFittedError, "not fitted"),
        (lambda m, X, y: clone(m).calibrate(X, y), NotFittedError, "not fitted"),
    ],
)
def test_bad_calls_are_refused(model, rows, call, error, message):
    with pytest.raises(error, match=message):
        call(model, *rows)


class Means(IntervalMixin, RegressorMixin, BaseEstimator):
    """The mean of the sign of the first feature: an estimator that brings nothing of its own."""

    def fit(self, X, y):
        self._fitted_rows, self._seed = (X, y, np.ones(len(y))), 0
        self.means_ = np.array([y[X[:, 0] <= 0].mean(), y[X[:, 0] > 0].mean()])
        self._response_edges = slice_edges(y, "scott")
        return self

    def predict(self, X):
        return self.means_[(X[:, 0] > 0).astype(int)]

    def _refitted(self, X, y, weights, X_new):
        return Means().fit(X, y).predict(X_new)


def test_any_regressor_can_have_intervals():
    """Errors of variance 1 and 9 about two means: every slice has its own width."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    y = np.where(X[:, 0] > 0, 100 + 3 * rng.normal(size=4000), rng.normal(size=4000))
    low, high = Means().fit(X, y).predict_interval(np.array([[-1.0], [1.0]]))
    assert np.allclose(high - low, [2 * 1.645, 6 * 1.645], rtol=0.1)
