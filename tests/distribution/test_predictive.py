import numpy as np
import pytest

from skewridge.distribution.intervals import calibration_of
from skewridge.distribution.predictive import (
    PointMasses,
    PredictiveDistribution,
    point_masses,
    shared_values,
)

ALL = np.array([-np.inf, np.inf])


def calibrated(n=1000, seed=0):
    errors = np.random.default_rng(seed).normal(size=n)
    return calibration_of(np.zeros(n), errors, ALL, np.ones(n), "fresh")


def rained(n=4000, seed=0):
    """Rain: none with a probability that the prediction tells, else an amount."""
    random = np.random.default_rng(seed)
    f = random.random(n)
    y = np.where(random.random(n) < 1.0 - f, 0.0, f + 0.3 * random.random(n))
    return f, y


def mixed(f, y, new):
    masses = point_masses(f, y, np.ones(len(y)), ALL, np.ones(len(y)), "fresh")
    return PredictiveDistribution(new, np.ones(len(new)), masses.rest.distribution, masses, low=0.0)


class TestWithoutPointMasses:
    def test_rows_shift_and_scale_one_distribution(self):
        errors = calibrated().distribution
        found = PredictiveDistribution(np.array([0.0, 10.0]), np.array([1.0, 2.0]), errors)
        levels = np.array([0.1, 0.5, 0.999])
        q = found.quantile(levels)
        assert q[1] == pytest.approx(10.0 + 2.0 * q[0])
        assert found.cdf(q[0])[0] == pytest.approx(levels)
        assert found.sf(10.0) == pytest.approx(1.0 - found.cdf(10.0))

    def test_mean_sd_and_draws_agree(self):
        found = PredictiveDistribution(np.array([3.0]), np.array([2.0]), calibrated().distribution)
        drawn = found.sample(20_000, random_state=0)
        assert drawn.shape == (1, 20_000)
        assert found.mean() == pytest.approx(drawn.mean(axis=1), abs=0.06)
        assert found.sd() == pytest.approx(drawn.std(axis=1), rel=0.03)
        assert np.array_equal(drawn, found.sample(20_000, random_state=0))
        assert found.expected(lambda y: y**2) == pytest.approx(found.mean() ** 2 + found.sd() ** 2)

    def test_many_rows_are_taken_in_blocks(self, monkeypatch):
        one = PredictiveDistribution(np.arange(50.0), np.ones(50), calibrated().distribution)
        whole = one.quantile([0.2, 0.7])
        monkeypatch.setattr("skewridge.distribution.predictive.BLOCK", 7)
        assert np.array_equal(one.quantile([0.2, 0.7]), whole)

    def test_given_bounds_hold(self):
        found = PredictiveDistribution(np.zeros(1), np.ones(1), calibrated().distribution, None, low=-0.5, high=1.0)
        assert found.quantile([0.001, 0.999])[0].tolist() == [-0.5, 1.0]
        assert found.cdf([-0.6, 1.0])[0].tolist() == [0.0, 1.0]

    def test_what_is_asked_for_is_checked(self):
        found = PredictiveDistribution(np.zeros(2), np.ones(2), calibrated().distribution)
        with pytest.raises(ValueError, match=r"levels must lie above 0 and below 1; got 1.5"):
            found.quantile([0.5, 1.5])
        with pytest.raises(ValueError, match="t must be numbers; got nan at place 0"):
            found.cdf(np.nan)
        with pytest.raises(TypeError, match="t must hold numbers; got dates, times or durations"):
            found.cdf(np.datetime64("2020-01-01"))
        assert found.expected(lambda y: 1.0).tolist() == [1.0, 1.0]


class TestPointMasses:
    def test_slices_that_ties_leave_empty_are_joined(self):
        f = np.r_[np.full(100, 0.3), np.full(150, 0.3 + 1e-12), np.full(400, 0.9)]
        y = (np.arange(650) % 3).astype(float)
        masses = point_masses(f, y, np.ones(650), ALL, np.ones(650), "fresh")
        assert np.isfinite(masses.shares).all()
        assert masses.shares.sum(axis=1) == pytest.approx(1.0)

    def test_what_counts_as_one(self):
        random = np.random.default_rng(0)
        smooth = random.normal(size=500)
        assert shared_values(smooth, np.ones(500)).tolist() == []
        assert shared_values(np.r_[np.zeros(20), smooth], np.ones(520)).tolist() == [0.0]
        counts = random.poisson(40.0, 5000)
        assert shared_values(counts, np.ones(5000)).tolist() == []
        assert shared_values(np.r_[np.zeros(2000), counts], np.ones(7000)).tolist() == [0.0]
        assert shared_values(smooth > 0, np.ones(500)).tolist() == [0.0, 1.0]

    def test_weights_count(self):
        y = np.arange(100.0)
        assert shared_values(y, np.where(y == 7, 50.0, 1.0)).tolist() == [7.0]

    def test_the_probability_of_none_is_right(self):
        new, truth = rained(seed=1)
        found = mixed(*rained(), new)
        none = found.cdf(0.0)
        for part in np.array_split(np.argsort(new), 5):
            assert none[part].mean() == pytest.approx(np.mean(truth[part] == 0), abs=0.04)

    def test_quantiles_and_probabilities_are_one_distribution(self):
        new, levels = np.linspace(0.05, 0.95, 19), np.linspace(0.01, 0.99, 99)
        found = mixed(*rained(), new)
        q = found.quantile(levels)
        assert np.all(np.diff(q, axis=1) >= 0)
        assert q.min() == 0.0
        p = np.array([mixed(*rained(), new[[i]]).cdf(own)[0] for i, own in enumerate(q)])
        assert np.all(p >= levels - 1e-9)  # at a point mass it is above
        inside = q > 0
        assert p[inside] == pytest.approx(np.broadcast_to(levels, q.shape)[inside], abs=1e-6)

    @pytest.mark.parametrize("tail", [0.005, 0.05, 0.2])
    def test_ends_of_intervals_leave_out_no_more_of_them_than_a_tail(self, tail):
        """Against a naive count: the values beyond an end hold at most a tail, and ends that do so already stay."""
        random = np.random.default_rng(0)
        shares, values = np.array([[0.04, 0.03, 0.5, 0.02], [0.0, 0.0, 0.1, 0.06]]), np.array([0.0, 1.0, 2.0, 5.0])
        masses = PointMasses(values, np.array([-np.inf, 0.5, np.inf]), shares, None)
        f = random.random(200)
        low, high = np.sort(random.uniform(-1.0, 6.0, (2, 200)), axis=0)
        found = masses.widened(low, high, f, tail)
        for i, own in enumerate(shares[(f > 0.5).astype(int)]):
            least = next((v for v in values if own[values <= v].sum() > tail), np.inf)
            most = next((v for v in values[::-1] if own[values >= v].sum() > tail), -np.inf)
            assert (found[0][i], found[1][i]) == (min(low[i], least), max(high[i], most))
            assert own[values < found[0][i]].sum() <= tail
            assert own[values > found[1][i]].sum() <= tail

    def test_a_response_of_two_values_has_no_others(self):
        random = np.random.default_rng(0)
        f = random.random(3000)
        y = (random.random(3000) < f).astype(float)
        masses = point_masses(f, y, np.ones(3000), ALL, np.ones(3000), "fresh")
        found = PredictiveDistribution(np.array([0.1, 0.9]), np.ones(2), None, masses)
        assert masses.rest is None
        assert found.quantile(0.5).tolist() == [0.0, 1.0]
        assert found.cdf(0.0) == pytest.approx([0.9, 0.1], abs=0.06)
        assert found.cdf(1.0) == pytest.approx([1.0, 1.0])

    def test_a_cap_is_no_end_of_a_smooth_tail(self):
        random = np.random.default_rng(0)
        f = random.random(4000)
        y = np.minimum(f + 0.2 * random.normal(size=4000), 1.0)
        masses = point_masses(f, y, np.ones(4000), ALL, np.ones(4000), "fresh")
        found = PredictiveDistribution(f, np.ones(4000), masses.rest.distribution, masses, high=1.0)
        at_cap = 1.0 - found.cdf(1.0 - 1e-9)
        assert masses.values.tolist() == [1.0]
        assert at_cap.mean() == pytest.approx(np.mean(y == 1.0), abs=0.01)
