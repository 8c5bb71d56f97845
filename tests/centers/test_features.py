from dataclasses import replace

import numpy as np
import pytest

from skewridge import AdaptiveKernelRidge
from skewridge.centers import features
from skewridge.centers.features import FLOOR, MOST_ROUNDS, POWERS, can_learn, learn_scales, mixed_scales, steepness
from skewridge.centers.judging import Candidate, Judge, fold_rows
from skewridge.engine.job import Job
from skewridge.features.scaling import standard_scaling
from skewridge.kernels import make_kernel
from skewridge.response.sampling import make_pool

QUICK = {"n_centers": 100, "adapt": 0.0, "random_state": 0}


def judge_of(X, y, seed=0):
    Y, w = y[:, None], np.ones(len(X))
    pool = make_pool(X, Y, w, "auto", seed)
    rows = fold_rows(standard_scaling(X, w)(X), Y - Y.mean(), None, {"response": pool}, 10**6)
    return Judge(rows, 3, None, True, Job())


def one_feature_matters(n=600, noise=8, seed=0):
    """The first of several features decides."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1 + noise))
    return X, np.sin(9 * X[:, 0]) + 0.05 * rng.normal(size=n)


def first_round(judge):
    return features._fitted(judge, Candidate("matern32", 60, 0.5, 3.0), np.ones(judge.rows.X.shape[1]))


def test_the_fold_that_decides_is_neither_fitted_nor_differentiated():
    """Other rows there, responses within the same range, change no bit of the slopes; other rows before do."""
    judge = judge_of(*one_feature_matters(400, 3))
    rows, expected = judge.rows, features._slopes(judge.rows, first_round(judge))
    for first, last, same in ((rows.ends[-2], None, True), (0, rows.ends[0], False)):
        X, Y = rows.X.copy(), rows.Y.copy()
        X[first:last], Y[first:last] = 0.3, np.median(Y)
        other = judge.on(replace(rows, X=X, Y=Y))
        assert np.array_equal(features._slopes(other.rows, first_round(other)), expected) == same


def test_no_centre_lies_in_the_fold_that_decides():
    judge = judge_of(*one_feature_matters(400, 3))
    aside = {tuple(x) for x in judge.rows.X[judge.rows.ends[-2] :]}
    assert not aside & {tuple(x) for x in first_round(judge).basis.centers}


def test_the_fold_that_chooses_is_neither_fitted_nor_differentiated(monkeypatch):
    """With one bandwidth and one penalty to choose from, nothing depends on its responses."""
    monkeypatch.setattr(features, "BANDWIDTHS", (1.0,))
    judge = judge_of(*one_feature_matters(400, 3))
    judge.given = {"matern32": 1e-4}
    rows, found = judge.rows, first_round(judge)
    Y = rows.Y.copy()
    Y[rows.ends[-3] : rows.ends[-2]] = np.median(Y)
    other = judge.on(replace(rows, Y=Y))
    np.testing.assert_array_equal(first_round(other).dual, found.dual)
    some = features._slopes(rows, found)
    X = rows.X.copy()
    X[rows.ends[-3] :] = 0.3
    np.testing.assert_array_equal(features._slopes(replace(rows, X=X), found), some)


@pytest.mark.parametrize("power", POWERS)
def test_features_that_matter_are_found(power):
    X, y = one_feature_matters()
    found = learn_scales(judge_of(X, y), Candidate("matern32", 100, 0.0, 3.0), 0)[power]
    assert found.multipliers[0] > 3 * found.multipliers[1:].max()
    assert found.multipliers.min() >= FLOOR**power


def test_learned_scales_predict_better_where_features_differ_in_worth():
    X, y = one_feature_matters(1200)
    train, test = slice(0, 600), slice(600, None)
    risk = {
        scale: np.mean(
            (AdaptiveKernelRidge(scale_features=scale, **QUICK).fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2
        )
        for scale in ("standard", "learn", "auto")
    }
    assert risk["learn"] < 0.5 * risk["standard"]
    assert risk["auto"] == risk["learn"]


def test_what_was_learned_is_told():
    X, y = one_feature_matters()
    model = AdaptiveKernelRidge(**QUICK).fit(X, y)
    assert model.tuning_.chosen["features"] == "learned"
    assert {tried["features"] for tried in model.tuning_.tried} == {"standard", "learned"}
    assert model.feature_importances_.argmax() == 0
    assert model.feature_importances_[0] > 0.9
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    standard = AdaptiveKernelRidge(scale_features="standard", **QUICK).fit(X, y)
    assert standard.tuning_.chosen["features"] == "standard"
    np.testing.assert_allclose(standard.feature_scale_, 1 / X.std(axis=0))
    assert model.feature_scale_[0] / standard.feature_scale_[0] > 1.5


def test_importances_are_the_mean_squares_of_the_slopes():
    X, y = one_feature_matters(200, 2)
    model = AdaptiveKernelRidge(scale_features="standard", **QUICK).fit(X, y)
    step, slopes = 1e-5, []
    for f, deviation in enumerate(X.std(axis=0)):
        shift = np.zeros(3)
        shift[f] = step * deviation
        slopes.append(np.mean((model.predict(X + shift) - model.predict(X - shift)) ** 2))
    np.testing.assert_allclose(model.feature_importances_, np.array(slopes) / np.sum(slopes), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_importance_of_a_binary_feature_is_what_flipping_it_does(outputs):
    """A kernel much narrower than the gap is flat at both values."""
    rng = np.random.default_rng(0)
    b, x = rng.integers(0, 2, 300).astype(float), rng.random(300)
    Y = np.column_stack([6 * b + np.sin(25 * x) + 0.05 * rng.normal(size=300), np.cos(9 * x)])[:, :outputs]
    X = np.c_[b, x]
    model = AdaptiveKernelRidge(kernel="gaussian", n_centers=200, adapt=0.0, random_state=0).fit(X, Y)
    shift, deviations = np.array([0.0, 1e-5]), X.std(axis=0)
    slopes = [
        (model.predict(np.c_[1 - b, x]) - model.predict(X)) * deviations[0],
        (model.predict(X + shift) - model.predict(X - shift)) / 2e-5 * deviations[1],
    ]
    expected = [np.mean(slope**2 / Y.var(axis=0)) for slope in slopes]
    np.testing.assert_allclose(model.feature_importances_, expected / np.sum(expected), rtol=1e-3)
    assert model.feature_importances_[0] > 0.05


@pytest.mark.parametrize("seed", range(3))
def test_scales_are_rarely_learned_from_noise_and_do_little_harm(seed):
    """With a permuted response, and with pure-noise columns added to a fit that needs all its features alike."""
    rng = np.random.default_rng(seed)
    alike = rng.normal(size=(1000, 4))
    y = np.cos(alike.sum(axis=1)) + 0.1 * rng.normal(size=1000)
    for X, response in ((alike, rng.permutation(y)), (np.c_[alike, rng.normal(size=(1000, 20))], y)):
        errors = [
            np.mean(
                (AdaptiveKernelRidge(scale_features=s, **QUICK).fit(X[:700], response[:700]).predict(X[700:])
                 - response[700:]) ** 2
            )
            for s in ("learn", "standard")
        ]  # fmt: skip
        assert errors[0] <= 1.02 * errors[1]


def test_binary_features_of_rare_levels_start_no_wider_than_even_ones():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(1000) < 0.01, rng.random(1000) < 0.5, rng.random(1000), rng.integers(0, 5, 1000)])
    X = standard_scaling(X.astype(float), np.ones(1000))(X.astype(float))
    scales = mixed_scales(X)
    assert np.ptp(X[:, 0]) > 5
    assert np.ptp(X[:, 0] * scales[0]) == pytest.approx(2.0)
    assert np.ptp(X[:, 1] * scales[1]) == pytest.approx(2.0, abs=1e-3)
    assert scales[2:].tolist() == [1.0, 1.0]


def test_a_stray_level_does_not_leave_a_rare_one_wide():
    rng = np.random.default_rng(0)
    rare = (rng.random(1000) < 0.01).astype(float)
    rare[7] = 2.0
    cylinders = rng.choice([4, 6, 8, 12], 1000, p=[0.67, 0.2, 0.1, 0.03])
    many = np.where(rng.random(1000) < 0.9, 0.0, rng.random(1000))
    X = np.column_stack([rare, cylinders, many])
    X = standard_scaling(X, np.ones(1000))(X)
    scales = mixed_scales(X)
    assert np.ptp(X[:, 0]) > 5
    assert np.ptp(X[:, 0] * scales[0]) == pytest.approx(2.0)
    assert scales[1:].tolist() == [1.0, 1.0]  # steps of a number; many levels


def test_a_start_that_no_round_betters_is_judged_once(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(400) < 0.02, rng.random((400, 2))])
    judge = judge_of(X.astype(float), np.sin(4 * X[:, 1]))
    monkeypatch.setattr(features.Round, "betters", lambda self, other, weights: other.multipliers.min() == 1.0)
    (found,) = learn_scales(judge, Candidate("matern32", 50, 0.0, 3.0), 0).values()
    np.testing.assert_array_equal(found.multipliers, mixed_scales(judge.rows.X))


def test_constant_and_discrete_features_are_safe():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(300, 7.0), rng.integers(0, 2, 300), rng.integers(0, 3, 300), rng.random(300)])
    y = X[:, 1] * np.sin(6 * X[:, 3]) + 0.05 * rng.normal(size=300)
    model = AdaptiveKernelRidge(scale_features="learn", **QUICK).fit(X, y)
    assert model.feature_scale_[0] == 0.0
    assert model.feature_importances_[0] == 0.0
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.feature_scale_).all()


def test_weights_repeat_rows():
    X, y = one_feature_matters(300, 3)
    w = np.random.default_rng(1).integers(0, 3, 300)
    weighted = AdaptiveKernelRidge(**QUICK).fit(X, y, sample_weight=w)
    repeated = AdaptiveKernelRidge(**QUICK).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.feature_importances_, repeated.feature_importances_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


def test_the_same_bits_for_any_number_of_threads():
    X, y = one_feature_matters(400, 3)
    one, two = (AdaptiveKernelRidge(n_jobs=n, **QUICK).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.feature_scale_, two.feature_scale_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_few_rows_and_one_feature_leave_features_as_they_are():
    X, y = one_feature_matters(60, 3)
    assert AdaptiveKernelRidge(scale_features="learn", **QUICK).fit(X, y).tuning_.chosen["features"] == "standard"
    X, y = one_feature_matters(300, 0)
    assert AdaptiveKernelRidge(scale_features="learn", **QUICK).fit(X, y).tuning_.chosen["features"] == "standard"


@pytest.mark.parametrize("kernel", ["sobolev", "polynomial", ["matern32", "sobolev"]])
def test_kernels_without_a_bandwidth_refuse_to_learn_and_auto_does_not(kernel):
    X, y = one_feature_matters(200, 2)
    with pytest.raises(ValueError, match="scale_features='learn' follows the fit's gradient relative to a bandwidth"):
        AdaptiveKernelRidge(kernel=kernel, scale_features="learn", **QUICK).fit(X, y)
    assert AdaptiveKernelRidge(kernel=kernel, **QUICK).fit(X, y).tuning_.chosen["features"] == "standard"


def test_auto_keeps_the_units_of_a_bandwidth_that_was_given():
    X, y = one_feature_matters(300, 3)
    model = AdaptiveKernelRidge(bandwidth=2.0, **QUICK).fit(X, y)
    np.testing.assert_allclose(model.feature_scale_, 1 / X.std(axis=0))
    learned = AdaptiveKernelRidge(bandwidth=2.0, scale_features="learn", **QUICK).fit(X, y)
    assert learned.bandwidth_ == 2.0


def test_a_flat_fit_proposes_no_scales():
    X, _ = one_feature_matters(200, 2)
    assert learn_scales(judge_of(X, np.zeros(200)), Candidate("matern32", 50, 0.0, 3.0), 0) == {}


def test_rounds_are_few():
    assert 2 <= MOST_ROUNDS <= 5
    assert can_learn(("matern32", "laplacian"), 2)
    assert not can_learn(("matern32",), 1)


def test_steepness_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    X, Z, dual = rng.random((20, 3)), rng.random((7, 3)), rng.normal(size=(2, 7))
    kernel, w, step = make_kernel("matern52", X, 0.8), rng.random(20), 1e-5
    expected = np.zeros(3)
    for f in range(3):
        shift = np.zeros(3)
        shift[f] = step
        slopes = (kernel.cross(X + shift, Z) - kernel.cross(X - shift, Z)) @ dual.T / (2 * step)
        expected[f] = np.mean(np.average(slopes**2, axis=0, weights=w))
    np.testing.assert_allclose(steepness(kernel, Z, dual, X, w), expected, rtol=1e-6)
