"""Stated risks against real ones, by simulation with fixed seeds; benchmarks/stated_risk.py does it at length."""

import warnings

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from skewridge import SkewRidge
from skewridge.two_levels.expected_error import ExpectedError


def fit(X, y, seed, weights=None, companions=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SkewRidge(companions=companions, random_state=seed).fit(X, y, sample_weight=weights)


def mean_over_seeds(run, n_seeds):
    return np.mean([run(seed) for seed in range(n_seeds)], axis=0)


@pytest.mark.parametrize(
    ("n", "d", "n_seeds"),
    [(100, 5, 6), pytest.param(200, 20, 10, marks=pytest.mark.full), pytest.param(200, 300, 3, marks=pytest.mark.full)],
)
def test_noise_is_not_mistaken_for_signal(n, d, n_seeds):
    def run(seed):
        rng = np.random.default_rng([seed, n, d])
        X, y = rng.normal(size=(n, d)), rng.normal(size=n)
        model = fit(X, y, seed)
        return model.expected_error_.mse / y.var(), 1.0 + np.mean(model.predict(rng.normal(size=(2000, d))) ** 2)

    stated, real = mean_over_seeds(run, n_seeds)
    assert real < 1.10
    assert abs(stated / real - 1.0) < 0.07


def test_copies_of_rows_do_not_tell_on_each_other():
    def run(seed):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
        model = fit(np.repeat(X, 4, axis=0), np.repeat(y, 4), seed)
        weighted = fit(X, y, seed, np.full(80, 4.0))
        np.testing.assert_allclose(model.oof_prediction_[::4], weighted.oof_prediction_, atol=1e-8)
        return model.expected_error_.mse / y.var()

    assert mean_over_seeds(run, 4) > 0.95  # leave one copy out, and the other three predict it: 0


@pytest.mark.full
@pytest.mark.parametrize("noise", ["normal", "t3"])
def test_half_signal_is_stated_as_it_is(noise):
    def run(seed):
        rng = np.random.default_rng([seed, 7])

        def draw(n):
            X = rng.normal(size=(n, 2))
            errors = rng.normal(size=n) if noise == "normal" else rng.standard_t(3, n) / np.sqrt(3)
            truth = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2
            return X, truth + errors, truth

        X, y, own = draw(1500)
        X_new, _, truth = draw(4000)
        noise_square = np.mean((y - own) ** 2)  # as it was drawn: that of t varies
        model = fit(X, y, seed)
        excess = [np.mean((p - truth) ** 2) for p in (model.predict(X_new), model._level_one.predict(X_new)[:, 0])]
        return model.expected_error_.mse, noise_square + excess[0], noise_square + excess[1]

    stated, real, first = mean_over_seeds(run, 6)
    assert abs(stated / real - 1.0) < 0.08
    assert real < 1.01 * first


@pytest.mark.full
def test_a_companion_that_repeats_what_it_saw_tells_no_row_its_own_response():
    """From 3,000 rows on nothing goes around companions but the two folds of level 1."""

    def run(seed):
        rng = np.random.default_rng(seed)
        X, X_new = rng.normal(size=(3100, 2)), rng.normal(size=(4000, 2))
        truth, truth_new = (np.sin(2 * Z[:, 0]) + 0.5 * Z[:, 1] ** 2 for Z in (X, X_new))
        y = truth + rng.normal(size=3100)
        model = fit(X, y, seed, companions=[KNeighborsRegressor(1)])
        return model.expected_error_.mse, np.mean((y - truth) ** 2) + np.mean((model.predict(X_new) - truth_new) ** 2)

    stated, real = mean_over_seeds(run, 2)
    assert abs(stated / real - 1.0) < 0.03


def test_a_stated_risk_is_told_in_units_of_the_response():
    risk = ExpectedError(9.0, 1.0, 1e10, 1e9, None, 0.1)
    assert (risk.rmse, risk.rare_rmse) == (3.0, 1e5)
    assert str(risk) == "RMSE 3, and 100,000 where y is rare, stated for rows that the fit has not seen"
    nothing_rare = ExpectedError(1e-8, 1.0, float("nan"), float("nan"), None, 0.1)
    assert str(nothing_rare) == "RMSE 0.0001 stated for rows that the fit has not seen"
