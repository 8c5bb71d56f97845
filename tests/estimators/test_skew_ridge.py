"""SkewRidge and LocalKernelRidge as users meet them."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    LocalKernelRidge,
    ModelFileError,
    SkewRidge,
    SmoothingSpline,
    fit_source,
    load_model,
    save_model,
)
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse

MANY, MANY_Y, X_TEST, TRUTH = make_peaks(600, 2, random_state=0, return_test=True)
X_TEST, TRUTH = X_TEST[::4], TRUTH[::4]
X, Y = make_peaks(150, 2, random_state=1)  # few rows are learned on fast
BOTH = [SkewRidge(random_state=0), LocalKernelRidge("matern32", random_state=0)]
NAMES = ["skew", "local"]
both = pytest.mark.parametrize("estimator", BOTH, ids=NAMES)


def fitted(estimator, X=X, y=Y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).set_params(**settings).fit(X, y)


@parametrize_with_checks([SkewRidge(), SkewRidge(companions=[LinearRegression()]), LocalKernelRidge()])
def test_scikit_learns_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(Row|No member|No step).*")
        check(estimator)


@cache
def fitted_to_many(name):
    return fitted(dict(zip(NAMES, BOTH, strict=True))[name], MANY, MANY_Y)


@pytest.mark.parametrize("name", NAMES)
def test_peaks_are_learned_and_the_risk_is_stated(name):
    model = fitted_to_many(name)
    prediction = model.predict(X_TEST)
    real = np.mean((prediction - TRUTH) ** 2)
    assert real < 0.1 * TRUTH.var()
    stated = model.expected_error_.mse - 0.02**2  # without the noise
    assert abs(stated - real) < 4 * model.expected_error_.mse_se + 0.5 * real
    assert model.expected_error_.rare_mse > model.expected_error_.mse
    assert model.expected_error_.mse == pytest.approx(np.mean((model.oof_prediction_ - MANY_Y) ** 2), rel=1e-6)


def test_the_blend_is_no_worse_than_level_one_on_peaks():
    model = fitted_to_many("skew")
    first = model._level_one.predict(X_TEST)[:, 0]
    blended = np.mean((model.predict(X_TEST) - TRUTH) ** 2)
    assert blended < 1.2 * np.mean((first - TRUTH) ** 2)
    assert rare_mse(TRUTH, model.predict(X_TEST), y_ref=MANY_Y) < 1.1 * rare_mse(TRUTH, first, y_ref=MANY_Y)


@both
def test_weights_equal_copies(estimator):
    counts = np.arange(len(Y)) % 3
    weighted = fitted(estimator).set_params(random_state=1).fit(X, Y, sample_weight=counts)
    copied = clone(estimator).set_params(random_state=1).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    np.testing.assert_allclose(weighted.predict(X_TEST), copied.predict(X_TEST), atol=1e-8 * Y.std())
    assert weighted.expected_error_.mse == pytest.approx(copied.expected_error_.mse, rel=1e-8)


@both
def test_the_order_of_rows_does_not_matter(estimator):
    order = np.random.default_rng(0).permutation(len(Y))
    one, other = fitted(estimator), fitted(estimator, X[order], Y[order])
    np.testing.assert_allclose(other.predict(X_TEST), one.predict(X_TEST), atol=1e-8 * Y.std())
    np.testing.assert_allclose(other.oof_prediction_, one.oof_prediction_[order], atol=1e-8 * Y.std())


@both
def test_threads_do_not_change_a_bit(estimator):
    one, two = fitted(estimator, n_jobs=1), fitted(estimator, n_jobs=2)
    assert np.array_equal(one.predict(X_TEST), two.predict(X_TEST))
    assert np.array_equal(one.oof_prediction_, two.oof_prediction_)


OTHER = [
    AdaptiveKernelRidge(20, 0.5, random_state=0),
    SmoothingSpline(random_state=0),
    DacKernelRidge(2, bandwidth=1.0, penalty=1e-3, random_state=0),
]


@pytest.mark.parametrize("estimator", [*BOTH, *OTHER], ids=lambda e: type(e).__name__)
def test_several_outputs_are_refused_and_fitted_by_scikit_learn(estimator, tmp_path):
    Y2, own = np.column_stack([Y, np.sin(5 * X[:, 0])])[:80], clone(estimator)
    told = rf"y must have one column; got 2\. Wrap .*MultiOutputRegressor\({type(estimator).__name__}\(\)\)"
    for response in (Y2, Y2.tolist(), pd.DataFrame(Y2)):
        with pytest.raises(ValueError, match=told):
            own.fit(X[:80], response)
    assert not hasattr(own, "n_features_in_")
    pd.DataFrame(np.c_[X[:80], Y2], columns=["a", "b", "y", "z"]).to_parquet(tmp_path / "rows.parquet")
    for target in (["y", "z"], Y2):
        with pytest.raises(ValueError, match=told):
            fit_source(own, tmp_path / "rows.parquet", target=target, features=["a", "b"])
    both = MultiOutputRegressor(own).fit(X[:80], Y2)
    for j in range(2):
        assert np.array_equal(both.predict(X_TEST)[:, j], clone(estimator).fit(X[:80], Y2[:, j]).predict(X_TEST))
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        column = clone(estimator).fit(X[:80], Y2[:, :1])
    assert np.array_equal(column.predict(X_TEST), both.predict(X_TEST)[:, 0])


@both
def test_bounds_are_kept(estimator):
    far = np.full((1, 2), 50.0)
    model = fitted(estimator, bounds=(0, None))
    assert model.predict(X_TEST).min() >= 0.0
    assert model.oof_prediction_.min() >= 0.0
    auto = fitted(estimator)
    span = np.ptp(Y)
    assert Y.min() - 0.1 * span <= auto.predict(far)[0] <= Y.max() + 0.1 * span
    assert np.isfinite(fitted(estimator, bounds=None).predict(far)).all()


@both
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"bounds": (1, 0)}, ValueError, "low < high"),
        ({"bounds": "tight"}, TypeError, "bounds must be 'auto', None or"),
        ({"scoring": "r2"}, ValueError, "scoring must be one of"),
        ({"memory_limit": "20kB"}, MemoryError, "needs .* memory_limit is 20 kB.*AdaptiveKernelRidge"),
        ({"n_jobs": "all"}, TypeError, "n_jobs must be"),
    ],
)
def test_bad_settings_are_refused_before_any_work(estimator, settings, error, message):
    model = clone(estimator).set_params(**settings)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("kernel", ["sobolev", "poly", "cosine", [], ["laplacian"] * 5])
def test_kernels_that_cells_cannot_use_are_refused(kernel):
    with pytest.raises(ValueError, match="kernel"):
        SkewRidge(kernel=kernel).fit(X, Y)


def test_one_kernel_is_enough():
    model = fitted(SkewRidge(kernel="laplacian", random_state=0))
    assert len(model.blend_weights_) == 3
    assert model.tuning_.members == ("global", "laplacian", "linear")


@both
@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_few_rows_give_a_sane_fit(estimator, n):
    model = fitted(estimator, X[:n], Y[:n])
    prediction = model.predict(X_TEST)
    span = np.ptp(Y[:n])
    assert np.isfinite(prediction).all()
    assert prediction.min() >= Y[:n].min() - 0.1 * span - 1e-12
    assert prediction.max() <= Y[:n].max() + 0.1 * span + 1e-12


@both
@pytest.mark.parametrize("value", [0.0, 7.5, -1e-200])
def test_a_constant_response_is_predicted(estimator, value):
    model = fitted(estimator, y=np.full(len(Y), value))
    np.testing.assert_allclose(model.predict(X_TEST), value)
    assert model.expected_error_.mse == pytest.approx(0.0, abs=1e-300)


@both
def test_useless_columns_are_listed(estimator):
    frame = pd.DataFrame(X, columns=["east", "north"]).assign(same=3.0)
    model = fitted(estimator, X=frame)
    assert "same" in model.dropped_features_
    assert "east" not in model.dropped_features_
    assert model.feature_scale_.shape == (3,)
    assert model.feature_scale_[0] > 0.0 == model.feature_scale_[2]
    assert "not used" in model._repr_html_()


@both
def test_a_cell_of_a_million_does_little_harm(estimator):
    wild = X.copy()
    wild[7, 0] = 1e6
    model = fitted(estimator, X=wild)
    tame = np.mean((fitted(estimator).predict(X_TEST) - TRUTH) ** 2)
    assert np.mean((model.predict(X_TEST) - TRUTH) ** 2) < 2 * tame


def test_a_row_that_decides_the_risk_is_named():
    y = Y.copy()
    y[11] = 1e4
    with pytest.warns(UserWarning, match="Row 11 holds .*% of the stated squared error"):
        SkewRidge(random_state=0).fit(X, y)


@pytest.mark.parametrize("name", NAMES)
def test_intervals_come_from_left_out_errors_without_a_refit(name, monkeypatch):
    model = fitted_to_many(name)
    monkeypatch.setattr(type(model), "fit", None)
    low, high = model.predict_interval(X_TEST, coverage=0.8)
    noisy = TRUTH + 0.02 * np.random.default_rng(5).normal(size=len(TRUTH))
    assert 0.7 < np.mean((low <= noisy) & (noisy <= high)) < 0.9
    assert model.calibration_.source == "left out"


@both
def test_rows_of_weight_zero_are_predicted_as_rows_that_were_not_seen(estimator):
    counts = np.ones(len(Y))
    counts[:50] = 0.0
    model = clone(estimator).fit(X, Y, sample_weight=counts)
    np.testing.assert_allclose(model.oof_prediction_[:50], model.predict(X[:50]), atol=1e-12)
    assert np.array_equal(model.predict(X_TEST), fitted(estimator, X[50:], Y[50:]).predict(X_TEST))


@both
def test_a_failed_fit_leaves_the_estimator_as_it_was(estimator):
    model = fitted(estimator)
    before = model.predict(X_TEST)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 2), np.nan), np.ones(5))
    assert np.array_equal(model.predict(X_TEST), before)


def test_a_checkpoint_changes_nothing(tmp_path):
    model = fit_source(SkewRidge(random_state=0), np.c_[X, Y][:80], target=2, checkpoint=tmp_path / "kept")
    assert np.array_equal(model.predict(X_TEST), fitted(BOTH[0], X[:80], Y[:80]).predict(X_TEST))


def test_a_constant_response_is_fitted():
    model = fitted(BOTH[0], X[:60], np.ones(60))
    assert len(model.blend_weights_) == 4
    np.testing.assert_allclose(model.predict(X_TEST), 1.0)


@both
def test_the_stated_risk_is_that_of_bounded_predictions(estimator):
    model = fitted(estimator, X[:80], Y[:80], bounds=(0.05, 0.4), scoring="balanced_mse")
    assert model.expected_error_.mse == pytest.approx(np.mean((model.oof_prediction_ - Y[:80]) ** 2), rel=1e-9)


@both
@pytest.mark.parametrize("scoring", ["mse", "sera"])
def test_all_of_the_risk_is_the_same_for_weights_and_copies(estimator, scoring):
    counts = 1 + np.arange(60) % 3
    rows = X[:60], Y[:60]
    weighted = clone(estimator).set_params(scoring=scoring).fit(*rows, sample_weight=counts)
    copied = fitted(estimator, *(np.repeat(part, counts, axis=0) for part in rows), scoring=scoring)
    np.testing.assert_allclose(weighted.predict(X_TEST), copied.predict(X_TEST), atol=1e-8 * Y.std())
    for name in ("mse", "mse_se", "rare_mse", "rare_mse_se", "dominant_share"):
        assert getattr(weighted.expected_error_, name) == pytest.approx(
            getattr(copied.expected_error_, name), rel=1e-6, nan_ok=True
        )


@both
def test_rows_are_named_by_their_place_in_the_data(estimator):
    y, counts = Y.copy(), np.ones(len(Y))
    y[15], counts[:4] = 1e4, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(X, y, sample_weight=counts)
    assert model.expected_error_.dominant_row == 15


def test_columns_that_only_ridge_regression_uses_are_not_called_dropped():
    few = np.random.default_rng(0).normal(size=(8, 3))
    model = fitted(BOTH[0], few, 2 * few[:, 0])
    assert model.dropped_features_ == []
    assert model.tuning_.members[-1] == "linear"
    assert [*model.blend_weights_.values()][:3] == [0.0, 0.0, 0.0]


@both
def test_a_response_that_is_constant_up_to_rounding_is_constant(estimator):
    y = np.ones(30)
    y[3] = np.nextafter(1.0, 2.0)
    with pytest.warns(UserWarning, match="which is rounding of numbers of that size") as caught:
        model = clone(estimator).fit(X[:30], y)
    assert len(caught) == 1
    np.testing.assert_allclose(model.predict(X_TEST), 1.0)


def test_frames_with_weights_of_zero_warn_of_nothing():
    frame = pd.DataFrame(X[:60], columns=["east", "north"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LocalKernelRidge(random_state=0).fit(frame, Y[:60], sample_weight=np.arange(60) % 2)


def change_level_one(model, **fields):
    """Replace fields of level 1, which is frozen."""
    for name, value in fields.items():
        object.__setattr__(model._model.members.levels.level_one, name, value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m._model.weights.__setitem__(0, np.nan), "not finite"),
        (lambda m: object.__setattr__(m._model, "intercept", np.nan), "intercept is not a number from"),
        (lambda m: setattr(m, "_bounds", (0.0,)), "not valid"),
        (lambda m: setattr(m, "_bounds", (1.0, 0.0)), "not valid"),
        (lambda m: setattr(m, "_left_out", m._left_out[:2]), "not valid"),
        (lambda m: setattr(m, "_response_edges", m._response_edges.astype(np.float32)), "array of float64"),
        (lambda m: m._model.members.levels.locals[0].used.__setitem__(0, -1), "valid"),
        (lambda m: change_level_one(m, centers=np.zeros((3, 9)), coef=np.zeros((1, 3))), "valid"),
        (lambda m: change_level_one(m, coef=np.zeros((1, 3))), "length"),
    ],
)
def test_a_file_whose_arrays_contradict_each_other_is_refused(change, message, tmp_path):
    model = fitted(SkewRidge(random_state=0), X[:60], Y[:60])
    change(model)

    def there_and_back():
        save_model(model, tmp_path / "model")
        load_model(tmp_path / "model")

    with pytest.raises(ModelFileError, match=message):
        there_and_back()
