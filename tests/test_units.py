"""Units: a table in dollars and one in cents, in metres and in feet, give the same model."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LinearRegression

from skewridge import AdaptiveKernelRidge, DacKernelRidge, DacRegressor, LocalKernelRidge, SkewRidge, SmoothingSpline
from skewridge.features.scaling import unit_responses
from skewridge.metrics import relevance
from skewridge.response.candidates import distinct_rows
from skewridge.response.slices import slice_edges, slice_labels

EXACT = 1e-9  # of the standard deviation of y
ROUNDED = 1e-7  # where rounding is amplified: Gaussian kernel matrices are nearly singular, "cg" stops at nine digits
ESTIMATORS = {
    "SkewRidge": (SkewRidge(random_state=0), EXACT),
    "AdaptiveKernelRidge": (AdaptiveKernelRidge(random_state=0), EXACT),
    "AdaptiveKernelRidge, cg": (AdaptiveKernelRidge(solver="cg", n_centers=40, random_state=0), ROUNDED),
    "AdaptiveKernelRidge, median": (
        AdaptiveKernelRidge(scoring="balanced_mse", bandwidth="median", random_state=0),
        EXACT,
    ),
    "AdaptiveKernelRidge, polynomial": (AdaptiveKernelRidge(kernel="polynomial", random_state=0), EXACT),
    "AdaptiveKernelRidge, sobolev": (AdaptiveKernelRidge(kernel="sobolev", random_state=0), EXACT),
    "LocalKernelRidge": (LocalKernelRidge(random_state=0), EXACT),
    "LocalKernelRidge, cells": (LocalKernelRidge("matern32", cell_size=30, random_state=0), EXACT),
    "DacKernelRidge": (DacKernelRidge(n_nodes=3, random_state=0), ROUNDED),
    "DacKernelRidge, matern32": (DacKernelRidge(n_nodes=3, kernel="matern32", random_state=0), EXACT),
    "DacKernelRidge, fd": (DacKernelRidge(n_nodes=3, slices="fd", penalty="dgcv", random_state=0), ROUNDED),
    "DacKernelRidge, log": (DacKernelRidge(n_nodes=3, slices="log", penalty="rule", random_state=0), ROUNDED),
    "DacKernelRidge, pilot": (DacKernelRidge(n_nodes=3, slice_on="pilot", random_state=0), ROUNDED),
    "DacRegressor": (DacRegressor(LinearRegression(), n_nodes=3, random_state=0), EXACT),
    "SmoothingSpline": (SmoothingSpline(random_state=0), EXACT),
    "SmoothingSpline, start": (SmoothingSpline(interactions="all", theta="start", random_state=0), EXACT),
}


def make_rows(whole, n=90):
    """Rows to fit and to predict; whole numbers put responses on edges of slices, and rows equally near to others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 40, 3))
    X = np.c_[X[:, 0], np.round(2 * X[:, 1:])] if whole else X
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + X[:, 2] + 0.1 * rng.normal(size=len(X))
    return X[:n], (np.round(3 * y) if whole else y)[:n], X[n:]


def predicted(name, X, y, new):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ESTIMATORS[name][0].fit(X, y).predict(new)


@pytest.mark.parametrize("whole", [False, True], ids=["reals", "whole numbers"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_power_of_two_in_y_changes_no_bit(name, whole):
    X, y, new = make_rows(whole)
    np.testing.assert_array_equal(predicted(name, X, 2.0**-40 * y, new), 2.0**-40 * predicted(name, X, y, new))


@pytest.mark.parametrize("whole", [False, True], ids=["reals", "whole numbers"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_other_units_of_y_and_x_change_next_to_nothing(name, whole):
    X, y, new = make_rows(whole)
    before, tolerance = predicted(name, X, y, new), ESTIMATORS[name][1] * y.std()
    shift = -10 * y.std()
    after = (predicted(name, X, 3.7 * y + 3.7 * shift, new) - 3.7 * shift) / 3.7
    np.testing.assert_allclose(after, before, rtol=0, atol=tolerance)
    factors, shifts = np.array([0.013, 37.0, 3.7]), np.array([-10.0, 0.3, 9.0]) * X.std(axis=0)
    if name.startswith("DacKernelRidge"):  # which sees distances in the columns' own units
        factors = factors[2]
    after = predicted(name, (X + shifts) * factors, y, (new + shifts) * factors)
    np.testing.assert_allclose(after, before, rtol=0, atol=tolerance)


@pytest.mark.full
def test_other_units_change_next_to_nothing_where_rows_are_left_out_one_by_one():
    X, y, new = make_rows(False, 3100)
    before = predicted("SkewRidge", X, y, new)
    after = predicted("SkewRidge", 3.7 * X + 9, 0.013 * y + 0.1, 3.7 * new + 9)
    np.testing.assert_allclose((after - 0.1) / 0.013, before, rtol=0, atol=EXACT * y.std())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_response_that_varies_in_its_last_digits_is_not_constant(name):
    X, y, new = make_rows(False)
    before = predicted(name, X, y, new)
    after = predicted(name, X, 2e14 + y, new) - 2e14  # numbers there are 1/32 apart
    assert np.mean((after - before) ** 2) < 0.3 * before.var()


@pytest.mark.parametrize("estimator", [SkewRidge(random_state=0), LocalKernelRidge(random_state=0)])
def test_the_stated_risk_of_such_a_response_is_not_rounded_away(estimator):
    X, y, _ = make_rows(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        risks = [estimator.fit(X, offset + y).expected_error_.mse for offset in (0.0, 2e14)]
    assert risks[1] == pytest.approx(risks[0], rel=0.3)


def test_a_response_that_varies_by_rounding_is_said_to_be_constant():
    X, y, new = make_rows(False)
    y = 3e15 + np.round(y)
    with pytest.warns(UserWarning, match="y varies by .* which is rounding of numbers of that size: .* Subtract"):
        prediction = AdaptiveKernelRidge(random_state=0).fit(X, y).predict(new)
    assert np.ptp(prediction) == 0.0


def test_unit_responses_keep_what_an_offset_leaves():
    y = np.array([[0.0], [1.0], [3.0], [8.0]])
    unit, means, units = unit_responses(y + 2e14, np.ones(4), centre=True)
    np.testing.assert_array_equal(unit * units, y - 3.0)
    assert means == 2e14 + 3.0


tables = arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 3)), elements=st.integers(-3, 3).map(float))


@given(tables, st.floats(1e-3, 1e3), st.floats(-1e3, 1e3), st.integers(0, 100))
def test_distinct_rows_come_in_the_same_order_in_any_units(table, factor, shift, seed):
    before, after = (distinct_rows(rows, np.ones(len(table)), seed) for rows in (table, table * factor + shift))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    rows, _, _ = distinct_rows(np.exp(table), np.ones(len(table)), seed)
    np.testing.assert_array_equal(rows, before[0])


@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=60).filter(lambda y: len(set(y)) > 1),
    st.sampled_from(["scott", "sturges", "fd", "log", 2, 8, 10]),
    st.floats(1e-3, 1e3),
    st.floats(-10, 10),
)
def test_whole_numbers_are_in_the_same_slices_in_any_units(y, rule, factor, shift):
    y = np.array(y, dtype=np.float64)
    other = factor * y + shift * factor * y.std()
    before, after = (slice_labels(v, slice_edges(v, rule)) for v in (y, other))
    np.testing.assert_array_equal(before, after)


@given(st.floats(1e-3, 1e3), st.floats(-10, 10))
def test_values_at_tukeys_fences_stay_inside_in_any_units(factor, shift):
    y = np.array([-1.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0, 8.0, 12.0])  # quartiles 3 and 5, fences 0 and 8
    np.testing.assert_allclose(relevance(y, y), relevance(*[factor * y + shift] * 2), atol=1e-9)
