from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from skewridge.metrics import rare_mse, rare_region
from skewridge.two_levels import blend as blending
from skewridge.two_levels.blend import blend, fit_blend
from skewridge.two_levels.expected_error import expected_error


@pytest.fixture(autouse=True, scope="module")
def all_rows_count():
    """Rows that dominate have tests of their own, below."""
    with mock.patch.object(blending, "MOST_SHARE", 1.0):
        yield


def some_members(n, M, seed=0):
    """Noisy, biased and shrunken versions of y, so that every kind of face is the best for some seed."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n) * 3 + 7
    members = [y * rng.uniform(-0.5, 2) + rng.normal(size=n) * rng.gamma(1.0, 2.0) + rng.normal() for _ in range(M)]
    return np.column_stack(members), y, rng.gamma(1.0, 1.0, n)


def centred(members, y, r):
    return members - np.average(members, axis=0, weights=r), y - np.average(y, weights=r)


def loss(w, A, b, r):
    return float(r @ (b - A @ w) ** 2)


def assert_best(members, y, r):
    """The conditions of Karush, Kuhn and Tucker."""
    w = fit_blend(members, y, r)[0]
    A, b = centred(members, y, r)
    slope = A.T @ (r * (b - A @ w))  # of minus the loss: where the weights would like to go
    size = np.linalg.norm(A * np.sqrt(r)[:, None], axis=0) * np.linalg.norm(np.sqrt(r) * b) + 1e-300
    assert w.min() >= 0
    assert w.sum() <= 1 + 1e-12
    multiplier = 0.0 if w.sum() < 1 - 1e-9 else max(0.0, float(slope[w > 0].max()))
    tolerance = 1e-8 * size.max()
    assert (slope <= multiplier + tolerance).all()
    np.testing.assert_allclose(slope[w > 1e-9], multiplier, rtol=0, atol=tolerance)


@given(st.integers(1, 8), st.integers(8, 40), st.integers(0, 100_000))
def test_no_step_within_the_bounds_improves(M, n, seed):
    assert_best(*some_members(n, M, seed))


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=6), st.integers(0, 100_000))
def test_no_step_improves_on_collinear_and_constant_members(combinations, seed):
    members, y, r = some_members(20, 2, seed)
    assert_best(members @ np.array(combinations, dtype=float).T, y, r)


@pytest.mark.parametrize("M", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("seed", range(6))
def test_no_other_solver_finds_less(M, seed):
    members, y, r = some_members(60, M, seed)
    w = fit_blend(members, y, r)[0]
    A, b = centred(members, y, r)
    scale = float(r @ b**2)
    theirs = minimize(
        lambda v: loss(v, A, b, r) / scale,
        np.full(M, 1 / (2 * M)),
        method="SLSQP",
        bounds=[(0, 1)] * M,
        constraints={"type": "ineq", "fun": lambda v: 1 - v.sum()},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert loss(w, A, b, r) / scale <= theirs.fun + 1e-12
    np.testing.assert_allclose(w, theirs.x, rtol=0, atol=1e-4)


def test_a_grid_of_weights_has_nothing_better():
    members, y, r = some_members(30, 2, 3)
    w = fit_blend(members, y, r)[0]
    A, b = centred(members, y, r)
    grid = [(u, v) for u in np.linspace(0, 1, 101) for v in np.linspace(0, 1, 101) if u + v <= 1]
    assert loss(w, A, b, r) <= min(loss(np.array(point), A, b, r) for point in grid)


def test_blended_predictions_are_the_mean_and_weighted_deviations():
    members, y, r = some_members(30, 3, 1)
    weights, intercept, values = fit_blend(members, y, r)
    A, _ = centred(members, y, r)
    np.testing.assert_allclose(values, np.average(y, weights=r) + A @ weights, rtol=1e-12)
    np.testing.assert_allclose(blend(members, weights, intercept), values)
    np.testing.assert_allclose(r @ (y - values), 0.0, atol=1e-10)


def test_row_weights_are_copies_and_zero_is_no_row():
    members, y, _ = some_members(20, 3, 2)
    r = np.arange(20) % 4
    rows = np.repeat(np.arange(20), r)
    weights, intercept, _ = fit_blend(members, y, r.astype(float))
    copied_weights, copied_intercept, _ = fit_blend(members[rows], y[rows])
    np.testing.assert_allclose(weights, copied_weights, rtol=0, atol=1e-10)
    assert intercept == pytest.approx(copied_intercept, rel=1e-10)


@pytest.mark.parametrize("value", [0.0, 5.0, 1e9])
def test_a_constant_member_has_weight_zero(value):
    members, y, r = some_members(30, 2, 0)
    with_constant = fit_blend(np.insert(members, 1, value, axis=1), y, r)[0]
    assert with_constant[1] == 0.0
    np.testing.assert_allclose(with_constant[[0, 2]], fit_blend(members, y, r)[0], rtol=0, atol=1e-6)


def test_of_equal_members_the_earliest_has_all_the_weight():
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    good = y + 0.3 * rng.normal(size=40)
    weights = fit_blend(np.column_stack([good, good, good]), y)[0]
    assert weights[0] > 0.8
    assert weights[1:].tolist() == [0.0, 0.0]


def test_collinear_members_give_the_best_of_their_combinations():
    """The third is the mean of the first two, which have opposite errors: it alone is as good as both."""
    rng = np.random.default_rng(0)
    y, error = rng.normal(size=40), rng.normal(size=40)
    first, second = y + error, y - error
    weights = fit_blend(np.column_stack([first, second, (first + second) / 2]), y)[0]
    np.testing.assert_allclose(weights, [0.0, 0.0, 1.0], atol=1e-12)


def test_worthless_members_leave_the_mean():
    y = np.random.default_rng(0).normal(size=50) + 3
    weights, _, values = fit_blend(np.column_stack([-y, -2 * y]), y)
    assert not weights.any()
    np.testing.assert_allclose(values, y.mean())


def test_a_constant_response_has_no_weights():
    members = np.random.default_rng(0).normal(size=(9, 1))
    weights, _, values = fit_blend(members, np.full(9, 0.1))
    assert weights.tolist() == [0.0]
    np.testing.assert_allclose(values, 0.1)


@pytest.mark.parametrize("scale", [1e-200, 1e150])
def test_units_do_not_matter(scale):
    members, y, r = some_members(30, 3, 1)
    one, other = fit_blend(members, y, r), fit_blend(members * scale, y * scale, r * 1e-300)
    np.testing.assert_allclose(other[0], one[0], rtol=0, atol=1e-10)
    assert other[1] == pytest.approx(one[1] * scale, rel=1e-9, abs=0.0)


def test_a_nearly_exact_member_is_told_from_an_inexact_one():
    rng = np.random.default_rng(0)
    y = rng.normal(size=100)
    coarse, fine = y + 1e-6 * rng.normal(size=100), y + 1e-10 * rng.normal(size=100)
    assert fit_blend(np.column_stack([coarse, fine]), y)[0][1] > 0.999


def test_fewer_rows_than_members_are_defined():
    members, y, _ = some_members(2, 4)
    weights, _, values = fit_blend(members, y)
    assert weights.min() >= 0
    assert weights.sum() <= 1 + 1e-12
    assert np.isfinite(values).all()
    weights, _, values = fit_blend(members[:1], y[:1])
    assert not weights.any()
    np.testing.assert_allclose(values, y[:1])


def test_members_of_weight_zero_are_not_looked_at():
    assert blend(np.array([[2.0, np.nan]]), np.array([0.5, 0.0]), 1.0).tolist() == [2.0]


@pytest.mark.parametrize(
    ("members", "r", "message"),
    [
        (np.ones((4, 2)) * [1.0, np.nan], None, r"must be finite; members \[1\] are not"),
        (np.ones((4, 1)), np.zeros(4), "row_weights must be finite, nonnegative numbers, not all 0"),
        (np.ones((4, 1)), -np.ones(4), "row_weights must be finite"),
        (np.ones((4, 1)), np.array([1.0, np.nan, 1.0, 1.0]), "row_weights must be finite"),
    ],
)
def test_what_cannot_be_blended_is_refused(members, r, message):
    with pytest.raises(ValueError, match=message):
        fit_blend(members, np.arange(4.0), r)


def test_the_stated_risk_is_the_mean_squared_error_with_its_standard_error():
    rng = np.random.default_rng(0)
    y = np.exp(rng.normal(size=500))
    predictions = y + rng.normal(size=500)
    risk = expected_error(y, predictions)
    squares = (y - predictions) ** 2
    assert risk.mse == pytest.approx(squares.mean())
    assert risk.mse_se == pytest.approx(squares.std(ddof=1) / np.sqrt(500))
    rare = rare_region(y, y)
    assert risk.rare_mse == pytest.approx(rare_mse(y, predictions, y_ref=y))
    assert risk.rare_mse_se == pytest.approx(squares[rare].std(ddof=1) / np.sqrt(rare.sum()))
    assert risk.dominant_row is None
    assert risk.dominant_share == pytest.approx(squares.max() / squares.sum())


def test_frequencies_count_in_the_mean_and_bring_no_new_noise():
    y, predictions, f = np.array([0.0, 0.0, 0.0, 4.0]), np.array([1.0, 2.0, 0.0, 4.0]), np.array([2.0, 1.0, 1.0, 1.0])
    risk = expected_error(y, predictions, f)
    assert risk.mse == pytest.approx((2 * 1 + 4) / 5)
    twice = expected_error(y, predictions, 2 * f)
    assert twice.mse_se == pytest.approx(risk.mse_se)


def test_standard_errors_are_those_of_simulation():
    rng = np.random.default_rng(0)
    risks = [expected_error(y, np.zeros(200)) for y in rng.normal(size=(2000, 200))]
    spread = np.std([risk.mse for risk in risks])
    assert np.mean([risk.mse_se for risk in risks]) == pytest.approx(spread, rel=0.06)


def test_a_row_with_over_half_of_the_squared_error_is_named():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    assert expected_error(y, np.array([0.0, 1.0, 4.0, 4.0])).dominant_row == 2
    assert expected_error(y, np.array([0.0, 1.0, 3.0, 4.0])).dominant_row is None
    assert expected_error(y, np.array([0.0, 1.0, 3.0, 4.0]), np.array([1.0, 1.0, 3.0, 1.0])).dominant_row == 2
    perfect = expected_error(y, y)
    assert perfect.dominant_row is None
    assert perfect.dominant_share == 0.0


def test_one_extreme_row_does_not_decide_the_weights():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    members = np.column_stack([y + 0.1 * rng.normal(size=300), y + rng.normal(size=300)])  # a good and a poor one
    y[7], members[7] = 50.0, [0.0, 40.0]  # the poor one is less wrong there
    decided = fit_blend(members, y)[0]
    without = fit_blend(np.delete(members, 7, 0), np.delete(y, 7))[0]
    with mock.patch.object(blending, "MOST_SHARE", 0.1):
        found = fit_blend(members, y)[0]
    assert decided[1] > 0.7
    np.testing.assert_allclose(found, without, atol=0.1)


def test_a_row_keeps_its_weight_up_to_a_tenth_of_the_squared_error():
    rng = np.random.default_rng(1)
    y = rng.normal(size=200)
    members = y[:, None] + 0.3 * rng.normal(size=(200, 2))
    plain = fit_blend(members, y)[0]
    with mock.patch.object(blending, "MOST_SHARE", 0.1):
        np.testing.assert_array_equal(fit_blend(members, y)[0], plain)


def test_the_intercept_is_that_of_all_rows():
    rng = np.random.default_rng(0)
    y = np.exp(2.2 * rng.normal(size=500))
    with mock.patch.object(blending, "MOST_SHARE", 0.1):
        weights, _, values = fit_blend(rng.normal(size=(500, 1)), y)
    assert weights[0] < 0.2
    assert values.mean() == pytest.approx(y.mean())


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_several_extreme_rows_do_not_decide_the_weights(size):
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    good = y + 0.01 * rng.normal(size=400)
    y[:9] = size * np.arange(1, 10)
    with mock.patch.object(blending, "MOST_SHARE", 0.1):
        weights = fit_blend(good[:, None], y)[0]
    assert weights[0] > 0.9
