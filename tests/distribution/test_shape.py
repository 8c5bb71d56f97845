import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewridge.distribution.shape import shape_of

ALL = np.array([-np.inf, np.inf])


def one_slice(errors, weights=None):
    order = np.argsort(errors)
    weights = np.ones(len(errors)) if weights is None else weights
    return shape_of(ALL, np.array([0, len(errors)]), np.asarray(errors)[order], weights[order])


def quantile(shape, levels):
    return shape.quantile(np.zeros(1, dtype=int), np.atleast_2d(levels))[0]


def cdf(shape, errors):
    return shape.cdf(np.zeros(1, dtype=int), np.atleast_2d(errors))[0]


def test_the_ith_of_n_errors_stands_at_i_over_n_plus_1():
    errors = np.random.default_rng(0).normal(size=99)
    assert quantile(one_slice(errors), np.arange(1, 100) / 100) == pytest.approx(np.sort(errors))


def test_few_errors_know_no_level_beyond_them():
    shape = one_slice(np.arange(19.0))
    assert shape.known_levels == pytest.approx((0.05, 0.95))
    assert (shape.low, shape.high) == (None, None)
    assert cdf(shape, [-1.0, 18.0, 19.0]).tolist() == [0.0, 1.0, 1.0]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(5, 1500), heavy=st.booleans())
def test_quantiles_ascend_and_probabilities_undo_them(seed, n, heavy):
    random = np.random.default_rng(seed)
    shape = one_slice(random.standard_t(2, n) if heavy else random.normal(size=n))
    levels = np.linspace(*shape.known_levels, 203)[1:-1]
    found = quantile(shape, levels)
    assert np.all(np.diff(found) >= 0)
    assert cdf(shape, found) == pytest.approx(levels, abs=1e-9)


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
        shape = shape_of(edges, starts, np.concatenate(parts), np.ones(10_000))
        found = shape.quantile(np.arange(20), np.full((20, 1), 0.999))[:, 0]
        fitted.append(found / (units * truth) - 1.0)
        plain.append([np.quantile(part, 0.999) / (unit * truth) - 1.0 for part, unit in zip(parts, units, strict=True)])
    assert np.sqrt(np.mean(np.square(fitted))) < 0.5 * np.sqrt(np.mean(np.square(plain)))


def draws(seed):
    return np.random.default_rng(seed).pareto(3.0, (20, 500))


def test_slices_share_the_shape_and_keep_their_scale():
    random = np.random.default_rng(2)
    parts = [np.sort(unit * random.standard_t(4, 3000)) for unit in (1.0, 5.0)]
    edges, starts = np.array([-np.inf, 0.0, np.inf]), np.array([0, 3000, 6000])
    shape = shape_of(edges, starts, np.concatenate(parts), np.ones(6000))
    low, high = shape.slices
    assert low.high.law is high.high.law is shape.high
    assert high.high.unit == pytest.approx(5.0 * low.high.unit, rel=0.1)
    assert shape.labels(np.array([-1.0, 1.0])).tolist() == [0, 1]
