import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skewridge.features.scaling import common_error, prediction_bounds, standard_scaling, unit_responses

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) * [1.0, 40.0, 1e-3] + [5.0, 0.0, -2.0]
TIMES = RNG.integers(1, 6, 80)


def test_standard_features_have_mean_0_and_deviation_1():
    scaled = standard_scaling(X, np.ones(80))(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    np.testing.assert_allclose(scaled, (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-11)


def test_weights_are_repeats():
    weighted = standard_scaling(X, TIMES.astype(float))
    repeated = standard_scaling(np.repeat(X, TIMES, axis=0), np.ones(TIMES.sum()))
    np.testing.assert_allclose(weighted.shift, repeated.shift)
    np.testing.assert_allclose(weighted.scale, repeated.scale)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e150, 1e-290])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_feature_is_ignored(value, weighted):
    n = 1000
    table = np.column_stack([np.full(n, value), np.arange(n)])
    scaling = standard_scaling(table, np.random.default_rng(0).random(n) if weighted else np.ones(n))
    assert scaling.scale[0] == 0
    assert scaling.scale[1] > 0
    assert not scaling(table + 1.0)[:, 0].any()


@pytest.mark.parametrize("size", [1e-280, 1e-160, 1e-5, 1e5, 1e150])
def test_huge_and_tiny_features_are_scaled_like_others(size):
    base = X[:, :1] / 8.0
    scaled = standard_scaling(base * size, np.ones(80))(base * size)
    np.testing.assert_allclose(scaled, standard_scaling(base, np.ones(80))(base), rtol=1e-9)


@given(arrays(np.float64, (12, 2), elements=st.floats(-1e150, 1e150)))
def test_scaled_features_are_finite_and_none_is_far_out(table):
    scaled = standard_scaling(table, np.ones(12))(table)
    assert np.isfinite(scaled).all()
    assert np.abs(scaled).max() <= np.sqrt(12)


@given(arrays(np.float64, (9, 2), elements=st.floats(-1e150, 1e150, allow_subnormal=False)), st.booleans())
def test_responses_come_back_from_their_units(Y, centre):
    unit, means, units = unit_responses(Y, np.arange(1.0, 10.0), centre)
    largest = np.abs(Y).max(axis=0)
    np.testing.assert_allclose(unit * units + means, Y, rtol=0, atol=1e-15 * largest.max())
    assert (np.abs(unit) <= 2).all()
    assert (np.abs(unit).max(axis=0)[np.ptp(Y, axis=0) > 1e-300] >= 1).all()
    assert (np.frexp(units)[0] == 0.5).all()  # powers of two


@pytest.mark.parametrize("exponent", [-900, -3, 0, 40, 400])
def test_units_of_two_change_no_bit(exponent):
    Y = np.random.default_rng(1).lognormal(size=(50, 2))
    unit, means, units = unit_responses(Y, np.ones(50), True)
    again, means_again, units_again = unit_responses(Y * 2.0**exponent, np.ones(50), True)
    assert np.array_equal(unit, again)
    assert np.array_equal(means * 2.0**exponent, means_again)
    assert np.array_equal(units * 2.0**exponent, units_again)


def test_responses_are_centred_at_their_weighted_means():
    Y = X[:, :2]
    unit, means, _ = unit_responses(Y, TIMES.astype(float), True)
    np.testing.assert_allclose(means, np.repeat(Y, TIMES, axis=0).mean(axis=0))
    np.testing.assert_allclose(TIMES @ unit, 0, atol=1e-11)
    assert not unit_responses(Y, np.ones(80), False)[1].any()


def test_constant_responses_have_a_unit():
    for value in (0.0, 3.0):
        unit, means, units = unit_responses(np.full((5, 1), value), np.ones(5), True)
        assert not unit.any()
        assert np.isfinite(units).all()
        assert means[0] == value


def test_an_error_is_common_where_few_responses_make_it_far_larger_than_others_differ():
    y = np.append(np.arange(40.0), 1e5)
    assert common_error(y, y, np.ones(41)) == 0.0
    assert round(common_error(y - y.mean(), y, np.ones(41))) == -2438
    assert common_error(y[-20:] - y.mean(), y[-20:], np.ones(20)) == 0.0  # too few rows to say so


def test_bounds_are_in_the_units_of_the_fit():
    Y = np.array([[0.0], [1.0]])
    assert prediction_bounds("auto", Y, np.zeros(1), np.ones(1)) == (-0.1, 1.1)
    assert prediction_bounds((0.0, None), Y, np.array([3.0]), np.array([2.0])) == (-1.5, np.inf)
    assert prediction_bounds(None, Y, np.zeros(1), np.ones(1)) == (-np.inf, np.inf)


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.floats(1e-3, 1e3))
def test_rounding_leads_no_prediction_beyond_its_bounds(end, mean, unit):
    low, high = prediction_bounds((end, end), np.zeros((2, 1)), np.array([mean]), np.array([unit]))
    assert low * unit + mean >= end >= high * unit + mean
