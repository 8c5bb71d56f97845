import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skewridge import AdaptiveKernelRidge, DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.kernels import BANDWIDTH_FREE, KERNELS
from tests import naive

X, Y = make_peaks(600, 2, weights=(1, 1), random_state=0)
GIVEN = {"n_centers": 40, "adapt": 0.5, "bandwidth": 0.7, "penalty": 1e-4, "random_state": 0}
STANDARD = {**GIVEN, "scale_features": "standard"}


@pytest.mark.filterwarnings("ignore:The chosen penalty", "ignore:Rows")
@parametrize_with_checks(
    [
        AdaptiveKernelRidge(),
        AdaptiveKernelRidge(
            n_centers=30, kernel="gaussian", penalty="rule", fit_intercept=False, scale_features=None, bounds=None
        ),
    ]
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def naive_fit(model, X, y, weights=None, intercept=True):
    """The closed form on the model's own centres: a = (K_NC' W K_NC + N penalty K_CC)^-1 K_NC' W (y - mean)."""
    w = np.ones(len(X)) if weights is None else weights
    C, Z = model._model.transform(model.centers_), model._model.transform(X)
    level = np.average(y, axis=0, weights=w) if intercept else 0.0
    K, KC = (naive.gram(model.kernel_, A, C, bandwidth=model.bandwidth_) for A in (Z, C))
    left = K.T @ (w[:, None] * K) + w.sum() * model.penalty_ * KC
    return Z, C, left, np.linalg.solve(left, K.T @ (w * (y - level))), level


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k not in BANDWIDTH_FREE])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scales", ["auto", "standard"])
def test_the_estimate_is_the_closed_form_on_its_centres(kernel, intercept, scales):
    model = AdaptiveKernelRidge(kernel=kernel, fit_intercept=intercept, scale_features=scales, **GIVEN).fit(X, Y)
    Z, C, _, coef, level = naive_fit(model, X, Y, intercept=intercept)
    expected = naive.gram(kernel, Z, C, bandwidth=0.7) @ coef + level
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-8)
    np.testing.assert_allclose(naive.gram(kernel, Z, C, bandwidth=0.7) @ model.dual_coef_ + level, expected, atol=1e-8)
    np.testing.assert_array_equal(model.centers_, X[model.center_rows_])


def test_features_that_are_not_learned_are_standardised_or_as_they_are():
    model = AdaptiveKernelRidge(**STANDARD).fit(X, Y)
    np.testing.assert_allclose(model._model.transform(X), (X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(model.feature_scale_, 1 / X.std(axis=0))
    model = AdaptiveKernelRidge(scale_features=None, **GIVEN).fit(X, Y)
    np.testing.assert_array_equal(model._model.transform(X), X)


def worth(n=600, useless=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2 + useless))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.05 * rng.normal(size=n)


def test_columns_that_matter_get_the_largest_scales_and_importances():
    X, y = worth()
    model = AdaptiveKernelRidge(100, random_state=0).fit(X, y)
    assert model.tuning_.chosen["features"] == "learned"
    assert model.feature_scale_[:2].min() > 2 * model.feature_scale_[2:].max()
    assert model.feature_importances_[:2].sum() > 0.95
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    new, truth = worth(400, seed=1)
    errors = [
        np.mean((AdaptiveKernelRidge(100, scale_features=scales, random_state=0).fit(X, y).predict(new) - truth) ** 2)
        for scales in ("auto", "standard")
    ]
    assert errors[0] < 0.5 * errors[1]


def test_slopes_are_the_mean_squares_of_the_slopes_along_the_forms():
    X, y = worth(300, 1)
    model = AdaptiveKernelRidge(60, 0.5, kernel="gaussian", random_state=0).fit(X, y)
    scaling, model_ = model._model.transform, model._model
    Z, step, slopes = scaling.forms(X), 1e-5, np.zeros(len(scaling.scales))
    for form in range(len(slopes)):
        move = step * (np.arange(len(slopes)) == form)
        up, down = (model_.product((Z + sign * move) * scaling.scales) for sign in (1, -1))
        slopes[form] = np.mean(((up - down) / (2 * step)) ** 2)
    expected = np.bincount(scaling.forms.columns, slopes, minlength=3)
    np.testing.assert_allclose(model.feature_slopes_, expected / expected.sum(), rtol=1e-4, atol=1e-8)


def test_columns_without_scale_are_dropped_by_name_and_number(recwarn):
    X, y = worth(300, 1)
    wide = np.column_stack([X, np.full(300, 7.0)])
    model = AdaptiveKernelRidge(60, 0.5, random_state=0).fit(wide, y)
    assert model.dropped_features_.tolist() == np.flatnonzero(model.feature_scale_ == 0).tolist()
    assert 3 in model.dropped_features_
    moved = wide.copy()
    moved[:, model.dropped_features_] = 1e6
    np.testing.assert_array_equal(model.predict(moved), model.predict(wide))
    named = AdaptiveKernelRidge(60, 0.5, random_state=0).fit(pd.DataFrame(wide, columns=list("abcd")), y)
    assert "d" in named.dropped_features_
    standard = AdaptiveKernelRidge(60, 0.5, scale_features="standard", random_state=0).fit(wide, y)
    assert standard.dropped_features_.tolist() == [3]


def test_the_bandwidth_is_in_units_of_scales_of_root_mean_square_one():
    model = AdaptiveKernelRidge(60, 0.5, random_state=0).fit(X, Y)
    assert np.mean(model._model.transform.scales**2) == pytest.approx(1.0)
    assert model._model.kernel.bandwidth == model.bandwidth_


@pytest.mark.parametrize("kernel", ["sobolev", "polynomial", ["matern32", "sobolev"]])
def test_kernels_without_a_bandwidth_refuse_to_learn_and_auto_does_not(kernel):
    with pytest.raises(ValueError, match=r"which (sobolev|polynomial) has not. Take another kernel"):
        AdaptiveKernelRidge(kernel=kernel, scale_features="learn").fit(X, Y)
    model = AdaptiveKernelRidge(30, 0.5, kernel=kernel, random_state=0).fit(X, Y)
    assert model.tuning_.chosen["features"] == ("learned" if model.kernel_ == "matern32" else "standard")


def test_learning_without_a_usable_step_is_warned_of(monkeypatch):
    def singular(*_, **__):
        raise np.linalg.LinAlgError

    monkeypatch.setattr("skewridge.ridge.learn_scales.leave_one_out", singular)
    with pytest.warns(UserWarning, match="No step of learning the features' scales could be used"):
        model = AdaptiveKernelRidge(40, 0.5, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model._model.transform.scales, 1.0)


@pytest.mark.parametrize("settings", [GIVEN, {"adapt": 0.5, "bandwidth": 0.7, "random_state": 0}], ids=["all", "some"])
def test_no_more_centres_are_planned_judged_and_told_than_there_are_distinct_rows(settings):
    few = np.tile(X[:60], (2, 1)), np.tile(Y[:60], 2)
    model = AdaptiveKernelRidge(**settings | {"n_centers": 10**9}).fit(*few)
    assert model.tuning_.chosen["n_centers"] == 60
    assert {tried["n_centers"] for tried in model.tuning_.tried} <= {60}
    expected = AdaptiveKernelRidge(**settings | {"n_centers": 60}).fit(*few)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_constant_features_are_no_reason_to_speak_of_the_largest_penalty(recwarn):
    model = AdaptiveKernelRidge(random_state=0).fit(np.ones((50, 2)), Y[:50])
    assert model.tuning_.at_edge == ()
    assert not [told for told in recwarn if "largest that was tried" in str(told.message)]
    noise = np.random.default_rng(0).normal(size=(2, 300))
    with pytest.warns(UserWarning, match="is the largest that was tried"):
        AdaptiveKernelRidge(50, 0.0, bandwidth=1.0, scale_features="standard", random_state=0).fit(
            noise[0][:, None], noise[1]
        )


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_the_memory_order_of_the_response_does_not_matter(solver):
    both = np.column_stack([Y, np.sin(5 * X[:, 1])])
    rows, columns = (AdaptiveKernelRidge(solver=solver, **GIVEN).fit(X, y) for y in (both[:, 0], both[:, 0].copy()))
    np.testing.assert_array_equal(rows.predict(X), columns.predict(X))
    for one, other in zip(rows.predict_interval(X), columns.predict_interval(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_standard_deviation_is_the_low_rank_posteriors():
    model = AdaptiveKernelRidge(**GIVEN).fit(X, Y)
    Z, C, left, coef, level = naive_fit(model, X, Y)
    K = naive.gram("matern32", Z, C, bandwidth=0.7)
    hat = K @ np.linalg.solve(left, K.T)
    noise = np.sqrt(np.sum((Y - level - K @ coef) ** 2) / (len(Y) - np.trace(hat) - 1))
    assert model.noise_ == pytest.approx(noise, rel=1e-6)
    _, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(std, noise * np.sqrt(np.diag(hat) + 1 / len(Y)), rtol=1e-6)


def test_the_standard_deviation_covers_what_it_should():
    """Errors over standard deviations at the rows have a root mean square of about 1 where the model is right."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Z = rng.random((400, 1))
        truth = np.sin(6 * Z[:, 0])
        y = truth + 0.3 * rng.standard_normal(400)
        model = AdaptiveKernelRidge(n_centers=30, adapt=0, bandwidth=1.0, penalty=1e-5, random_state=0).fit(Z, y)
        fitted, std = model.predict(Z, return_std=True)
        ratios.append(np.mean(((fitted - truth) / std) ** 2))
    assert 0.8 < np.mean(ratios) < 1.2


def test_all_rows_as_centres_are_exact_kernel_ridge_regression():
    few = X[:80], Y[:80]
    settings = {"bandwidth": 0.3, "penalty": 1e-3, "kernel": "matern32"}
    low_rank = AdaptiveKernelRidge(n_centers=80, adapt=0, scale_features=None, **settings).fit(*few)
    exact = DacKernelRidge(n_nodes=1, **settings).fit(*few)
    np.testing.assert_allclose(low_rank.predict(X), exact.predict(X), atol=1e-7)


@pytest.mark.parametrize("settings", [{}, {"scale_features": "standard"}, {"scoring": "sera"}, GIVEN])
def test_the_same_bits_for_any_number_of_threads(settings):
    settings = {"random_state": 3, **settings}
    models = [AdaptiveKernelRidge(n_jobs=jobs, **settings).fit(X, Y) for jobs in (1, 2, 4)]
    for other in models[1:]:
        assert np.array_equal(models[0].dual_coef_, other.dual_coef_)
        assert np.array_equal(models[0].predict(X, return_std=True), other.predict(X, return_std=True))


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(len(Y))
    one, other = (
        AdaptiveKernelRidge(random_state=1).fit(X, Y),
        AdaptiveKernelRidge(random_state=1).fit(X[order], Y[order]),
    )
    assert set(order[other.center_rows_]) == set(one.center_rows_)
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-7)


@pytest.mark.parametrize("settings", [{}, {"scale_features": None}, {"slices": "fd"}, {"scoring": "balanced_mse"}])
def test_weights_are_frequencies(settings):
    times = np.random.default_rng(0).integers(0, 4, 300)
    which = np.repeat(np.arange(300), times)
    weighted = AdaptiveKernelRidge(random_state=0, **settings).fit(X[:300], Y[:300], sample_weight=times)
    repeated = AdaptiveKernelRidge(random_state=0, **settings).fit(X[which], Y[which])
    assert (times[weighted.center_rows_] > 0).all()
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-8 * Y.std())


def test_rows_with_equal_x_are_fitted_as_one_of_their_mean():
    """At given settings: sums of squares differ by what no fit changes."""
    rng = np.random.default_rng(1)
    which = np.repeat(np.arange(200), rng.integers(1, 4, 200))
    y = Y[which] + rng.normal(size=len(which))
    counts = np.bincount(which).astype(float)
    settings = {**GIVEN, "scale_features": None, "slices": 1, "bounds": None}
    means = np.bincount(which, y) / counts
    one = AdaptiveKernelRidge(**settings).fit(X[:200], means, sample_weight=counts)
    every = AdaptiveKernelRidge(**settings).fit(X[which], y)
    np.testing.assert_allclose(every.predict(X), one.predict(X), atol=1e-8 * y.std())
    assert set(which[every.center_rows_]) == set(one.center_rows_)


def test_rare_values_are_met_where_random_centres_miss_them():
    errors = {}
    for adapt in ("auto", 0.0):
        total = 0.0
        for seed in range(3):
            Z, y, Z_test, truth = make_peaks(2000, 2, weights=(1, 1), random_state=seed, return_test=True)
            model = AdaptiveKernelRidge(n_centers=100, adapt=adapt, random_state=seed).fit(Z, y)
            total += np.mean((model.predict(Z_test) - truth) ** 2)
        errors[adapt] = total
    assert errors["auto"] < 0.3 * errors[0.0]


@pytest.mark.parametrize("seed", range(3))
def test_an_absurd_row_is_named_and_changes_no_more_than_with_random_centres(seed):
    Z, y = make_peaks(1500, 2, random_state=seed)
    y[17] = 1e6 * y.std()
    with pytest.warns(UserWarning, match=r"Rows 17[, ].*dominate the fit: row 17 alone .*sample_weight"):
        model = AdaptiveKernelRidge(random_state=seed).fit(Z, y)
    assert model.tuning_.dominant[0] == 17
    assert model.tuning_.influence[0] > 30


def test_the_index_named_is_that_of_the_rows_given():
    Z, y = make_peaks(1500, 2, random_state=0)
    y[17] = 1e6 * y.std()
    weights = np.ones(1500)
    weights[:10] = 0
    with pytest.warns(UserWarning, match="Rows 17"):
        AdaptiveKernelRidge(random_state=0).fit(Z, y, sample_weight=weights)


def test_nothing_is_named_on_clean_skewed_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AdaptiveKernelRidge(random_state=0).fit(X, Y)
    assert len(model.tuning_.dominant) == 0


def test_tuning_tells_what_was_tried_and_what_it_cost():
    tuning = AdaptiveKernelRidge(random_state=0).fit(X, Y).tuning_
    assert tuning.criterion == "cv"
    assert tuning.chosen in tuning.tried
    assert tuning.chosen["risk"] == min(tried["risk"] for tried in tuning.tried) == tuning.values.min()
    assert tuning.penalty == tuning.penalties[np.argmin(tuning.values)]
    ladder = [(150, 0.8), (300, 0.8), (300, 0.5), (600, 0.5)]  # all of 480 rows outside a fold: once
    assert [(tried["n_centers"], tried["adapt"]) for tried in tuning.tried] == ladder
    assert 1 < tuning.n_fits < 1000
    assert tuning.cost is None


def test_aiming_at_rare_values_tells_its_cost():
    cost = AdaptiveKernelRidge(scoring="balanced_mse", random_state=0).fit(X, Y).tuning_.cost
    assert cost["ratio"] == pytest.approx(cost["mse"] / cost["best_mse"])
    assert cost["ratio"] >= 1
    assert 0.5 * 0.02**2 < cost["best_mse"] < Y.var()
    assert abs(cost["bias"]) < Y.std()


def test_a_list_of_kernels_is_chosen_from():
    model = AdaptiveKernelRidge(kernel=["sobolev", "matern32"], random_state=0).fit(X, Y)
    assert model.kernel_ == "matern32"  # peaks are not a product of minima
    assert {c["kernel"] for c in model.tuning_.tried} == {"sobolev", "matern32"}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.filterwarnings("ignore")
def test_every_kernel_is_chosen_for(kernel):
    model = AdaptiveKernelRidge(kernel=kernel, random_state=0).fit(X[:200], Y[:200])
    assert np.isfinite(model.predict(X)).all()


def test_wide_kernels_and_repeated_rows_are_no_garbage():
    """A centre gram of numerical rank far below m: predictions agree with a narrower set of the same functions."""
    Z, y = np.repeat(X[:100], 3, axis=0), np.repeat(Y[:100], 3)
    settings = {"bandwidth": 1e4, "penalty": 1e-9, "scale_features": "standard", "random_state": 0}
    model = AdaptiveKernelRidge(n_centers=100, adapt=0, **settings).fit(Z, y)
    assert model.n_centers_ < 100
    fitted = model.predict(Z)
    assert np.isfinite(fitted).all()
    line = np.column_stack([np.ones(300), Z])
    linear = line @ np.linalg.lstsq(line, y, rcond=None)[0]
    assert np.mean((fitted - y) ** 2) < 1.05 * np.mean((linear - y) ** 2)  # so wide a kernel is at least linear


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_few_rows_are_fitted_without_choosing(n):
    model = AdaptiveKernelRidge(random_state=0).fit(X[:n], Y[:n])
    assert model.tuning_.criterion == "none"
    assert model.predict(X[:5]).shape == (5,)


def test_a_constant_response_is_predicted_exactly():
    model = AdaptiveKernelRidge().fit(X, np.full(600, 7.5))
    np.testing.assert_array_equal(model.predict(X), 7.5)


@pytest.mark.parametrize("unit", [1e-200, 1e-9, 1e9, 1e100])
def test_units_of_the_response_and_the_features_do_not_matter(unit):
    model = AdaptiveKernelRidge(random_state=0).fit(X, Y)
    power = 2.0 ** np.round(np.log2(unit))
    scaled = AdaptiveKernelRidge(random_state=0).fit(X, Y * power)
    np.testing.assert_allclose(scaled.predict(X) / power, model.predict(X), atol=1e-8 * Y.std())
    other = AdaptiveKernelRidge(random_state=0).fit(X * power, Y)
    assert np.mean((other.predict(X * power) - model.predict(X)) ** 2) < 0.01 * Y.var()


def test_constant_and_repeated_features_are_harmless():
    wide = np.column_stack([X, np.full(600, 3.0), X[:, 0]])
    model = AdaptiveKernelRidge(random_state=0).fit(wide, Y)
    assert model.feature_scale_[2] == 0
    moved = wide.copy()
    moved[:, 2] = 1e6
    np.testing.assert_array_equal(model.predict(moved), model.predict(wide))


@pytest.mark.parametrize("response", [lambda x: np.sin(6 * x), lambda x: 5 + x**2])
def test_predictions_stay_near_the_response_where_there_are_no_rows(response):
    rng = np.random.default_rng(0)
    Z = rng.random((300, 1))
    y = response(Z[:, 0])
    settings = {"bandwidth": 50.0, "penalty": 1e-13, "scale_features": "standard", "random_state": 0}
    model = AdaptiveKernelRidge(100, 0.0, **settings).fit(Z, y)
    far = np.linspace(-30, 30, 200)[:, None]
    free = model._model.product(model._model.transform(far))
    assert np.abs(free).max() > 10, "the expansion itself goes far beyond"
    span = np.ptp(y)
    assert (model.predict(far) >= y.min() - 0.1001 * span).all()
    assert (model.predict(far) <= y.max() + 0.1001 * span).all()
    assert np.abs(model.predict(Z) - y).max() < 0.05


def test_float32_rows_are_predicted_in_float32_where_that_serves():
    single = X.astype(np.float32)
    model = AdaptiveKernelRidge(60, 0.5, bandwidth=0.5, penalty=1e-3, random_state=0).fit(single, Y)
    gap = np.abs(model.predict(single) - model.predict(single.astype(float))).max()
    assert 0 < gap < 1e-4 * Y.std()
    model = AdaptiveKernelRidge(60, 0.5, bandwidth=50.0, penalty=1e-12, random_state=0).fit(single, Y)
    assert np.abs(model._model.coef).sum() > 1e4, "coefficients that cancel"
    assert np.abs(model.predict(single) - model.predict(single.astype(float))).max() < 1e-4 * Y.std()


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_dtypes_and_read_only_arrays_are_taken(dtype):
    Z, y = (np.round(X * 1000)).astype(dtype), Y.copy()
    Z.flags.writeable = y.flags.writeable = False
    model = AdaptiveKernelRidge(random_state=0).fit(Z, y)
    assert model.predict(Z).dtype == np.float64


def test_frames_pipelines_pickles_and_searches():
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = AdaptiveKernelRidge(**GIVEN).fit(frame, pd.Series(Y))
    np.testing.assert_array_equal(model.predict(pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})), model.predict(frame))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), clone(model)), {"adaptivekernelridge__adapt": [0.0, 0.8]}, cv=3
    )
    assert search.fit(X, Y).best_params_ == {"adaptivekernelridge__adapt": 0.8}


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"n_centers": 0}, ValueError, "n_centers must be an integer >= 1 or 'auto'; got 0"),
        ({"n_centers": 2.5}, TypeError, "n_centers must be an integer"),
        ({"adapt": 1.5}, ValueError, r"adapt must be a number in \[0, 1\] or 'auto'; got 1.5"),
        ({"adapt": "much"}, TypeError, "adapt must be a number"),
        ({"slices": "many"}, ValueError, "slices must be one of 'scott'"),
        ({"kernel": "cubic"}, ValueError, "kernel must be one of 'gaussian'"),
        ({"kernel": []}, TypeError, r"kernel must be a name or a list of names; got \[\]"),
        ({"kernel": ["gaussian", 3]}, ValueError, "kernel must be one of"),
        ({"kernel": "sobolev", "bandwidth": 1.0}, ValueError, "The sobolev kernel takes no bandwidth"),
        ({"bandwidth": 0}, ValueError, "bandwidth must be a number"),
        ({"penalty": "loo"}, ValueError, "penalty must be one of 'auto', 'rule'; got 'loo'"),
        ({"penalty": 0.0}, ValueError, "penalty must be a number"),
        ({"scoring": "r2"}, ValueError, "scoring must be one of 'mse'"),
        ({**STANDARD, "scoring": "sera"}, ValueError, "scoring='sera' has nothing to choose"),
        ({"scale_features": 1}, ValueError, "scale_features must be one of 'auto', 'standard', 'learn'; got 1"),
        ({"scale_features": np.ones(2)}, ValueError, r"scale_features must be one of .*; got array\(\[1., 1.\]\)"),
        ({"n_centers": np.ones(2)}, TypeError, "n_centers must be an integer"),
        ({"adapt": np.ones(2)}, TypeError, "adapt must be a number"),
        ({"solver": "lu"}, ValueError, "solver must be one of 'auto', 'direct', 'cg'; got 'lu'"),
        ({"memory_limit": "1kB"}, MemoryError, "needs .* at least and memory_limit is 1 kB"),
        ({"memory_limit": "10MB", "n_centers": 600}, MemoryError, r"600 centres need .* What would fit: n_centers="),
        ({"slices": [0.0, 0.1]}, ValueError, "slices given as edges must cover every response"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(parameters, error, match):
    model = AdaptiveKernelRidge(**parameters)
    before = model.get_params()
    with pytest.raises(error, match=match):
        model.fit(X, Y)
    assert model.get_params() == before
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (np.zeros(600), "not all zero"),
        (np.full(600, -1.0), "nonnegative"),
        (np.full(600, np.nan), "finite"),
        (np.ones(5), "expected 600, got 5"),
        (["a"] * 600, "must hold numbers"),
    ],
)
def test_bad_weights_are_refused(weights, match):
    with pytest.raises(ValueError, match=match):
        AdaptiveKernelRidge().fit(X, Y, sample_weight=weights)


def test_a_failed_fit_leaves_the_earlier_one():
    model = AdaptiveKernelRidge(**GIVEN).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(600, np.nan))
    np.testing.assert_array_equal(model.predict(X), before)


def test_the_memory_limit_keeps_the_number_of_centres_down():
    model = AdaptiveKernelRidge(memory_limit="10MB", random_state=0).fit(X, Y)
    assert max(c["n_centers"] for c in model.tuning_.tried) <= 170


@pytest.mark.parametrize("slices", ["scott", 12, [-10.0, 0.1, 0.3, 10.0]])
def test_algorithm_2_slices_a_pilot(slices):
    model = DacKernelRidge(n_nodes=6, slice_on="pilot", slices=slices, penalty=1e-3, bandwidth=0.2, random_state=0)
    model.fit(X, Y)
    published = clone(model).set_params(slice_on="response").fit(X, Y)
    assert model.slices_.counts.sum() == 600
    assert not np.array_equal(model.slices_.labels, published.slices_.labels)
    assert np.corrcoef(model.predict(X), Y)[0, 1] > 0.5


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}])
def test_a_constant_response_is_predicted(settings):
    rng = np.random.default_rng(0)
    X, w = rng.random((300, 3)), rng.random(300) + 0.5
    model = AdaptiveKernelRidge(60, 0.0, random_state=0, **settings).fit(X, np.full(300, 0.1), w)
    np.testing.assert_allclose(model.predict(X), 0.1, atol=0.02 if settings else 1e-12)


def test_the_memory_limit_gives_the_same_centres_for_any_number_of_threads():
    few = {
        AdaptiveKernelRidge(memory_limit="10MB", adapt=0.0, bandwidth=0.3, random_state=0, n_jobs=n)
        .fit(X, Y)
        .n_centers_
        for n in (1, 2, 8)
    }
    assert len(few) == 1


def test_weights_are_frequencies_for_balanced_errors_too():
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y, w = np.exp(2 * X[:, 0]) + 0.05 * rng.normal(size=200), rng.integers(1, 6, 200)
    settings = {"n_centers": 50, "adapt": 0.0, "scoring": "balanced_mse", "random_state": 0}
    weighted = AdaptiveKernelRidge(**settings).fit(X, y, sample_weight=w)
    repeated = AdaptiveKernelRidge(**settings).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5 * y.std())


def test_a_penalty_by_rule_is_each_kernels_own():
    names = ["matern12", "gaussian"]
    found = [
        AdaptiveKernelRidge(50, 0.0, kernel=order, penalty="rule", bandwidth=0.5, random_state=0).fit(X, Y)
        for order in (names, names[::-1])
    ]
    assert found[0].kernel_ == found[1].kernel_
    assert found[0].penalty_ == found[1].penalty_
