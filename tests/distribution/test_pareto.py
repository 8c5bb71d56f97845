import numpy as np
import pytest
from scipy.stats import genpareto

from skewridge.distribution.pareto import cramer_von_mises, fit_pareto


def draws(shape, n, seed):
    return genpareto.rvs(shape, size=n, random_state=seed)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.25, 0.8])
def test_the_fit_is_that_of_scipy(shape):
    excess = draws(shape, 800, 1)
    found = fit_pareto(excess, np.ones(800))
    theirs, _, scale = genpareto.fit(excess, floc=0)
    ours = genpareto.logpdf(excess, found.shape, scale=found.scale).sum()
    assert ours >= genpareto.logpdf(excess, theirs, scale=scale).sum() - 1e-3
    assert found.shape == pytest.approx(theirs, abs=0.01)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.4])
def test_quantiles_and_probabilities_are_those_of_the_law(shape):
    found = fit_pareto(draws(shape, 300, 2), np.ones(300))
    p = np.array([1.0, 0.5, 0.01, 1e-6])
    assert found.quantile(p) == pytest.approx(genpareto.isf(p, found.shape, scale=found.scale), rel=1e-9, abs=1e-12)
    assert found.exceeded(found.quantile(p)) == pytest.approx(p, rel=1e-9)


def test_beyond_the_end_of_a_negative_shape_nothing_exceeds():
    found = fit_pareto(draws(-0.4, 500, 3), np.ones(500))
    assert found.exceeded(np.array([-found.scale / found.shape * 1.001])) == 0.0


def test_weights_are_copies():
    excess, counts = draws(0.2, 100, 4), np.arange(100) % 3 + 1.0
    weighted = fit_pareto(excess, counts)
    copied = fit_pareto(np.repeat(excess, counts.astype(int)), np.ones(int(counts.sum())))
    assert weighted.shape == pytest.approx(copied.shape, abs=1e-6)
    assert (weighted.shape_low, weighted.shape_high) == pytest.approx((copied.shape_low, copied.shape_high), abs=1e-4)


def test_units_change_the_scale_alone():
    excess = draws(0.3, 200, 5)
    one, other = (fit_pareto(unit * excess, np.ones(200)) for unit in (1.0, 1e-12))
    assert other.shape == pytest.approx(one.shape, abs=1e-6)
    assert other.scale == pytest.approx(1e-12 * one.scale, rel=1e-6)


@pytest.mark.parametrize("shape", [0.1, 0.4])
def test_the_interval_of_the_shape_covers_as_often_as_it_says(shape):
    """200 draws of 150 excesses; 95% is stated, 0.88 to 0.97 is what so many draws may show."""
    found = [fit_pareto(draws(shape, 150, seed), np.ones(150)) for seed in range(200)]
    assert 0.88 <= np.mean([tail.shape_low <= shape <= tail.shape_high for tail in found]) <= 0.97


def test_other_laws_are_far_from_it():
    uniform = np.random.default_rng(0).random(2000) ** 3  # a density without an end at 0
    near, far = draws(0.2, 2000, 6), np.abs(np.random.default_rng(1).normal(5, 1, 2000))
    distances = [cramer_von_mises(fit_pareto(own, np.ones(2000)), own, np.ones(2000)) for own in (near, far, uniform)]
    assert distances[0] < 0.15 < min(distances[1:])
