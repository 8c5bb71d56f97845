import pickle

import numpy as np
import pytest

from skewridge import AdaptiveKernelRidge, LocalKernelRidge, SkewRidge, load_model, save_model

LEVELS = np.array([0.01, 0.05, 0.5, 0.95, 0.99, 0.999])


def noisy(n, seed):
    """The noise depends on a column that the mean does not show."""
    random = np.random.default_rng(seed)
    X = random.random((n, 2))
    return X, np.sin(6 * X[:, 0]) + (0.05 + X[:, 1] ** 2) * random.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return SkewRidge(random_state=0, n_jobs=2).fit(*noisy(3000, 0)).calibrate()


@pytest.fixture(scope="module")
def new():
    return noisy(4000, 1)


class TestPromises:
    def test_every_fifth_of_the_noise_is_covered(self, model, new):
        """Intervals by slices of the prediction alone covered 0.54 of the noisy fifth."""
        X, y = new
        low, high = model.predict_quantiles(X, [0.05, 0.95]).T
        held = (low <= y) & (y <= high)
        fifths = [held[part].mean() for part in np.array_split(np.argsort(X[:, 1]), 5)]
        assert 0.88 < held.mean() < 0.92
        assert min(fifths) > 0.85
        assert max(fifths) < 0.95

    def test_intervals_are_quantiles_rounded_outwards(self, model, new):
        X, y = new
        low, high = model.predict_interval(X, 0.9)
        quantiles = model.predict_quantiles(X, [0.05, 0.95])
        assert 0.88 < np.mean((low <= y) & (y <= high)) < 0.93
        assert np.median(np.abs(low - quantiles[:, 0]) / (high - low)) < 0.05

    def test_far_levels_are_exceeded_as_seldom_as_they_say(self, model):
        X, y = noisy(20_000, 2)
        above = (y[:, None] > model.predict_quantiles(X, [0.99, 0.999])).mean(axis=0)
        assert 0.006 < above[0] < 0.014
        assert 0.0003 < above[1] < 0.003

    def test_exceedances_add_up_to_counts(self, model, new):
        X, y = new
        t = np.quantile(y, 0.98)
        assert model.predict_exceedance(X, t).sum() == pytest.approx(np.sum(y > t), rel=0.25)

    def test_more_than_was_ever_seen_is_possible(self, model, new):
        highest = noisy(3000, 0)[1].max()
        assert 0.0 < model.predict_exceedance([[0.25, 1.0]], highest + 0.01)[0] < 0.01


class TestShapesAndConsistency:
    def test_all_of_them_are_one_distribution(self, model, new):
        X = new[0][:50]
        found = model.predict_distribution(X)
        quantiles = model.predict_quantiles(X, LEVELS)
        assert quantiles.shape == (50, 6)
        assert np.all(np.diff(quantiles, axis=1) > 0)
        assert np.array_equal(found.quantile(LEVELS), quantiles)
        p = np.array([model.predict_cdf(X[[i]], quantiles[i])[0] for i in range(50)])
        assert p == pytest.approx(np.broadcast_to(LEVELS, (50, 6)), abs=1e-9)
        assert model.predict_exceedance(X, 0.3) == pytest.approx(1.0 - model.predict_cdf(X, 0.3))
        assert model.predict_quantiles(X, 0.5).shape == (50,)

    def test_the_standard_deviation_is_that_of_the_distribution(self, model, new):
        X = new[0]
        prediction, std = model.predict(X, return_std=True)
        assert np.array_equal(prediction, model.predict(X))
        assert np.array_equal(std, model.predict_distribution(X).sd())
        assert std == pytest.approx(0.05 + X[:, 1] ** 2, rel=0.7, abs=0.1)

    def test_estimators_without_left_out_rows_get_them_by_folds(self, new):
        X, y = new
        model = AdaptiveKernelRidge(100, 0.5, random_state=0).fit(*noisy(1500, 4))
        low, high = model.predict_quantiles(X, [0.05, 0.95]).T
        assert 0.87 < np.mean((low <= y) & (y <= high)) < 0.93

    def test_the_cheapest_action_is_a_quantile(self, model):
        stocks = np.linspace(-2, 4, 601)

        def cost(stock, demand):
            return 19 * np.maximum(demand - stock, 0) + np.maximum(stock - demand, 0)

        X = np.array([[0.25, 0.1], [0.25, 0.9]])
        costs = model.expected_cost(X, cost, stocks)
        assert costs.shape == (2, 601)
        assert stocks[costs.argmin(axis=1)] == pytest.approx(model.predict_quantiles(X, 0.95), abs=0.05)


class TestSameBits:
    def test_after_files_and_pickles(self, model, new, tmp_path):
        X = new[0][:100]
        fresh = SkewRidge(random_state=0, n_jobs=1).fit(*noisy(3000, 0))
        copy = pickle.loads(pickle.dumps(fresh))
        save_model(fresh, tmp_path / "model.skr")
        wanted = model.predict_quantiles(X, LEVELS)
        for other in (copy, fresh, load_model(tmp_path / "model.skr")):
            assert np.array_equal(other.predict_quantiles(X, LEVELS), wanted)

    def test_other_units_of_y(self):
        X, y = noisy(500, 5)
        one, other = (LocalKernelRidge(random_state=0).fit(X, unit * y) for unit in (1.0, 2.0**40))
        assert np.array_equal(2.0**40 * one.predict_quantiles(X, 0.9), other.predict_quantiles(X, 0.9))

    def test_weights_are_copies(self):
        X, y = noisy(300, 6)
        counts = np.random.default_rng(0).integers(1, 4, 300)
        weighted = LocalKernelRidge(random_state=0).fit(X, y, sample_weight=counts)
        copied = LocalKernelRidge(random_state=0).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
        levels = [0.05, 0.4, 0.9]
        assert copied.predict_quantiles(X, levels) == pytest.approx(weighted.predict_quantiles(X, levels), abs=1e-7)


class TestBadInput:
    @pytest.mark.parametrize("levels", [0.0, 1.0, [0.5, 1.2], [], -0.1])
    def test_levels_outside(self, model, levels):
        with pytest.raises(ValueError, match=r"levels must lie above 0 and below 1; got"):
            model.predict_quantiles([[0.5, 0.5]], levels)

    def test_thresholds_that_are_no_numbers(self, model):
        with pytest.raises(ValueError, match="thresholds must be numbers; got nan at place 1"):
            model.predict_exceedance([[0.5, 0.5]], [0.0, np.nan])
        with pytest.raises(TypeError, match="t must be a number or a list of numbers; got 'high'"):
            model.predict_cdf([[0.5, 0.5]], "high")
        with pytest.raises(ValueError, match=r"got an array of shape \(1, 2\)"):
            model.predict_cdf([[0.5, 0.5]], [[0.0, 1.0]])

    def test_too_few_rows_for_a_level(self):
        X, y = noisy(40, 7)
        model = LocalKernelRidge(random_state=0).fit(X, y)
        with pytest.raises(
            ValueError, match=r"level 0.99 cannot be told from 40 errors: levels from 0.02439 to 0.9756"
        ):
            model.predict_quantiles(X, [0.5, 0.99])
        assert np.isfinite(model.predict_quantiles(X, [0.05, 0.95])).all()

    def test_costs_that_are_none(self, model):
        with pytest.raises(TypeError, match="cost must be a function"):
            model.expected_cost([[0.5, 0.5]], 3.0, [1.0])
        with pytest.raises(ValueError, match="at least one action"):
            model.expected_cost([[0.5, 0.5]], lambda a, y: y, [])
        with pytest.raises(ValueError, match="must return one number for each of them"):
            model.expected_cost([[0.5, 0.5]], lambda a, y: y[0], [1.0])

    def test_constant_responses_are_certain(self):
        X = np.random.default_rng(0).random((60, 2))
        model = SkewRidge(random_state=0).fit(X, np.full(60, 3.0))
        assert model.predict_quantiles(X[:3], [0.1, 0.9]) == pytest.approx(np.full((3, 2), 3.0))
        assert model.predict_exceedance(X[:3], [2.9, 3.0])[0] == pytest.approx([1.0, 0.0])

    def test_given_bounds_hold(self):
        X, y = noisy(600, 8)
        model = LocalKernelRidge(bounds=(0.0, None), random_state=0).fit(X, np.abs(y))
        assert model.predict_quantiles(X, 0.01).min() == 0.0
        assert model.predict_cdf(X, -1e-9).max() == 0.0


class TestOddResponses:
    def test_few_rows_beside_a_point_mass_keep_their_share(self):
        random = np.random.default_rng(1)
        X = random.random((300, 2))
        y = np.where(np.arange(300) < 15, 5.0 + random.random(300), 0.0)
        stated = LocalKernelRidge(random_state=0).fit(X, y).predict_exceedance(X, 1.0)
        assert stated.mean() == pytest.approx(0.05, abs=0.02)

    def test_counts_are_counted_at_their_values(self):
        random = np.random.default_rng(1)
        X, new = random.random((1500, 2)), random.random((3000, 2))
        drawn = [random.negative_binomial(1, 1 / (3 + 4 * rows[:, 0])).astype(float) for rows in (X, new)]
        model = LocalKernelRidge(random_state=0).fit(X, drawn[0])
        for t in (0, 1, 5):
            assert model.predict_exceedance(new, t).mean() == pytest.approx(np.mean(drawn[1] > t), abs=0.03)
        assert np.array_equal(model.predict_exceedance(new, 0.5), model.predict_exceedance(new, 0.0))
        quantiles = model.predict_quantiles(new[:50], [0.2, 0.5, 0.9])
        assert np.array_equal(quantiles, np.round(quantiles))
        p = np.array([model.predict_cdf(new[[i]], quantiles[i])[0] for i in range(50)])
        assert np.all(p >= np.array([0.2, 0.5, 0.9]) - 1e-9)

    def test_one_gross_error_does_not_decide_the_tail(self):
        X, y = noisy(2000, 9)
        model = LocalKernelRidge(random_state=0).fit(*noisy(600, 10))
        before = model.calibrate(X, y).predict_quantiles([[0.5, 0.5]], 0.99)[0]
        y[7] = 1e6
        after = model.calibrate(X, y).predict_quantiles([[0.5, 0.5]], 0.99)[0]
        assert after == pytest.approx(before, abs=0.2)

    def test_intervals_stay_within_given_bounds(self):
        X, y = noisy(600, 8)
        model = LocalKernelRidge(bounds=(0.0, None), random_state=0).fit(X, np.abs(y))
        assert model.predict_interval(X)[0].min() == 0.0

    def test_tiny_responses_have_a_spread(self):
        X, y = noisy(300, 11)
        std = LocalKernelRidge(random_state=0).fit(X, 1e-200 * y).predict(X[:5], return_std=True)[1]
        assert np.all(std > 1e-203)


def test_a_loaded_model_keeps_its_errors_or_says_that_they_are_gone(tmp_path):
    X, y = noisy(400, 12)
    model = LocalKernelRidge(random_state=0).fit(X, y)
    save_model(model, tmp_path / "model.skr")
    loaded = load_model(tmp_path / "model.skr")
    assert np.array_equal(loaded.calibrate().predict_interval(X), model.predict_interval(X))
    loaded.calibrate(X, y)
    with pytest.raises(ValueError, match=r"rows of the fit are gone.*Load it again"):
        loaded.calibrate()


def test_lazy_rows_are_refused_with_the_remedy():
    da = pytest.importorskip("dask.array")
    X, y = noisy(60, 13)
    model = LocalKernelRidge(random_state=0).fit(X, y)
    lazy = da.from_array(X, chunks=(20, 2))
    for ask in (model.predict_interval, lambda rows: model.predict(rows, return_std=True), model.predict_distribution):
        with pytest.raises(TypeError, match=r"take rows in memory; got a lazy Array. Call X.compute\(\) first"):
            ask(lazy)
