import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import genpareto

from skewridge.distribution.errors import cramer_von_mises, error_distribution, fit_pareto

ALL = np.array([-np.inf, np.inf])


def one_slice(errors, weights=None):
    order = np.argsort(errors)
    weights = np.ones(len(errors)) if weights is None else weights
    return error_distribution(ALL, np.array([0, len(errors)]), np.asarray(errors)[order], weights[order])


def quantile(distribution, levels):
    return distribution.quantile(np.zeros(1), np.atleast_2d(levels))[0]


def cdf(distribution, errors):
    return distribution.cdf(np.zeros(1), np.atleast_2d(errors))[0]


def test_the_ith_of_n_errors_stands_at_i_over_n_plus_1():
    errors = np.random.default_rng(0).normal(size=99)
    assert quantile(one_slice(errors), np.arange(1, 100) / 100) == pytest.approx(np.sort(errors))


def test_few_errors_know_no_level_beyond_them():
    distribution = one_slice(np.arange(19.0))
    assert distribution.known_levels == pytest.approx((0.05, 0.95))
    assert (distribution.low, distribution.high) == (None, None)
    assert cdf(distribution, [-1.0, 18.0, 19.0]).tolist() == [0.0, 1.0, 1.0]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(5, 1500), heavy=st.booleans())
def test_quantiles_ascend_and_probabilities_undo_them(seed, n, heavy):
    random = np.random.default_rng(seed)
    distribution = one_slice(random.standard_t(2, n) if heavy else random.normal(size=n))
    levels = np.linspace(*distribution.known_levels, 203)[1:-1]
    found = quantile(distribution, levels)
    assert np.all(np.diff(found) >= 0)
    assert cdf(distribution, found) == pytest.approx(levels, abs=1e-9)


def test_weights_are_copies():
    random = np.random.default_rng(1)
    errors, counts = random.normal(size=600), random.integers(1, 4, 600).astype(float)
    levels = np.array([0.001, 0.05, 0.3, 0.5, 0.77, 0.95, 0.9999])
    copied = one_slice(np.repeat(errors, counts.astype(int)))
    assert quantile(one_slice(errors, counts), levels) == pytest.approx(quantile(copied, levels), abs=1e-6)


def test_the_shared_tail_halves_the_error_of_a_slices_far_quantile():
    """0.999 in 20 slices of 500 Pareto errors with shape 1/3, ten draws: relative errors against empirical ones."""
    truth, units = 0.001 ** (-1 / 3) - 1.0, np.geomspace(1.0, 30.0, 20)
    edges, starts = np.r_[-np.inf, np.arange(19.0), np.inf], np.arange(21) * 500
    fitted, plain = [], []
    for seed in range(10):
        parts = [np.sort(unit * own) for unit, own in zip(units, draws(seed), strict=True)]
        distribution = error_distribution(edges, starts, np.concatenate(parts), np.ones(10_000))
        found = distribution.quantile(np.arange(20) - 0.5, np.full((20, 1), 0.999))[:, 0]
        fitted.append(found / (units * truth) - 1.0)
        plain.append([np.quantile(part, 0.999) / (unit * truth) - 1.0 for part, unit in zip(parts, units, strict=True)])
    assert np.sqrt(np.mean(np.square(fitted))) < 0.5 * np.sqrt(np.mean(np.square(plain)))


def draws(seed):
    return np.random.default_rng(seed).pareto(3.0, (20, 500))


def test_slices_share_the_shape_and_keep_their_scale():
    random = np.random.default_rng(2)
    parts = [np.sort(unit * random.standard_t(4, 3000)) for unit in (1.0, 5.0)]
    edges, starts = np.array([-np.inf, 0.0, np.inf]), np.array([0, 3000, 6000])
    distribution = error_distribution(edges, starts, np.concatenate(parts), np.ones(6000))
    assert len(distribution.slices) == 2
    assert distribution.high.slice_scales[1] == pytest.approx(5.0 * distribution.high.slice_scales[0], rel=0.1)
    p = np.array([[0.999, 0.9999]])
    for row, (start, unit) in enumerate(zip(distribution.high.thresholds, distribution.high.slice_scales, strict=True)):
        law = genpareto(distribution.high.shape, loc=start, scale=unit * distribution.high.scale)
        found = distribution.quantile(np.array([row - 0.5]), p)
        assert found == pytest.approx(law.isf((1.0 - p) / distribution.high.share), rel=1e-9)
        assert distribution.cdf(np.array([row - 0.5]), found) == pytest.approx(p, rel=1e-12)


def pareto_draws(shape, n, seed):
    return genpareto.rvs(shape, size=n, random_state=seed)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.25, 0.8])
def test_the_fit_is_that_of_scipy(shape):
    excess = pareto_draws(shape, 800, 1)
    found = fit_pareto(excess, np.ones(800))
    theirs, _, scale = genpareto.fit(excess, floc=0)
    ours = genpareto.logpdf(excess, found.shape, scale=found.scale).sum()
    assert ours >= genpareto.logpdf(excess, theirs, scale=scale).sum() - 1e-3
    assert found.shape == pytest.approx(theirs, abs=0.01)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.4])
def test_quantiles_and_probabilities_are_those_of_the_law(shape):
    found = fit_pareto(pareto_draws(shape, 300, 2), np.ones(300))
    p = np.array([1.0, 0.5, 0.01, 1e-6])
    assert found.isf(p) == pytest.approx(genpareto.isf(p, found.shape, scale=found.scale), rel=1e-9, abs=1e-12)
    assert found.sf(found.isf(p)) == pytest.approx(p, rel=1e-9)


def test_beyond_the_end_of_a_negative_shape_nothing_exceeds():
    found = fit_pareto(pareto_draws(-0.4, 500, 3), np.ones(500))
    assert found.sf(np.array([-found.scale / found.shape * 1.001])) == 0.0


def test_weights_of_excesses_are_copies():
    excess, counts = pareto_draws(0.2, 100, 4), np.arange(100) % 3 + 1.0
    weighted = fit_pareto(excess, counts)
    copied = fit_pareto(np.repeat(excess, counts.astype(int)), np.ones(int(counts.sum())))
    assert weighted.shape == pytest.approx(copied.shape, abs=1e-6)
    assert (weighted.shape_low, weighted.shape_high) == pytest.approx((copied.shape_low, copied.shape_high), abs=1e-4)


def test_units_change_the_scale_alone():
    excess = pareto_draws(0.3, 200, 5)
    one, other = (fit_pareto(unit * excess, np.ones(200)) for unit in (1.0, 1e-12))
    assert other.shape == pytest.approx(one.shape, abs=1e-6)
    assert other.scale == pytest.approx(1e-12 * one.scale, rel=1e-6)


@pytest.mark.parametrize("shape", [0.1, 0.4])
def test_the_interval_of_the_shape_covers_as_often_as_it_says(shape):
    """200 draws of 150 excesses; 95% is stated, 0.88 to 0.97 is what so many draws may show."""
    found = [fit_pareto(pareto_draws(shape, 150, seed), np.ones(150)) for seed in range(200)]
    assert 0.88 <= np.mean([tail.shape_low <= shape <= tail.shape_high for tail in found]) <= 0.97


def test_other_laws_are_far_from_it():
    uniform = np.random.default_rng(0).random(2000) ** 3  # a density without an end at 0
    near, far = pareto_draws(0.2, 2000, 6), np.abs(np.random.default_rng(1).normal(5, 1, 2000))
    distances = [cramer_von_mises(fit_pareto(own, np.ones(2000)), own, np.ones(2000)) for own in (near, far, uniform)]
    assert distances[0] < 0.15 < min(distances[1:])
