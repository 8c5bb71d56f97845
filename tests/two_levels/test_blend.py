from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from skewridge.metrics import rare_mse, rare_region
from skewridge.two_levels import blend
from skewridge.two_levels.blend import Blend, fit_blend
from skewridge.two_levels.risk import stated_risk


@pytest.fixture(autouse=True, scope="module")
def all_rows_count():
    """Rows that dominate have tests of their own, below."""
    with mock.patch.object(blend, "MOST_SHARE", 1.0):
        yield


def some_members(n, M, seed=0, p=1):
    """Noisy, biased and shrunken versions of y, so that every kind of face is the best for some seed."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n, p)) * 3 + 7
    members = [
        Y * rng.uniform(-0.5, 2) + rng.normal(size=(n, p)) * rng.gamma(1.0, 2.0) + rng.normal() for _ in range(M)
    ]
    return members, Y, rng.gamma(1.0, 1.0, n)


def centred(members, Y, r, j=0):
    F = np.column_stack([m[:, j] for m in members])
    return F - np.average(F, axis=0, weights=r), Y[:, j] - np.average(Y[:, j], weights=r)


def loss(w, A, b, r):
    return float(r @ (b - A @ w) ** 2)


def assert_best(members, Y, r):
    """The conditions of Karush, Kuhn and Tucker."""
    w = fit_blend(members, Y, r)[0].weights[:, 0]
    A, b = centred(members, Y, r)
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
    (first, second), Y, r = some_members(20, 2, seed)
    assert_best([a * first + b * second for a, b in combinations], Y, r)


@pytest.mark.parametrize("M", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("seed", range(6))
def test_no_other_solver_finds_less(M, seed):
    members, Y, r = some_members(60, M, seed)
    w = fit_blend(members, Y, r)[0].weights[:, 0]
    A, b = centred(members, Y, r)
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
    members, Y, r = some_members(30, 2, 3)
    w = fit_blend(members, Y, r)[0].weights[:, 0]
    A, b = centred(members, Y, r)
    grid = [(u, v) for u in np.linspace(0, 1, 101) for v in np.linspace(0, 1, 101) if u + v <= 1]
    assert loss(w, A, b, r) <= min(loss(np.array(point), A, b, r) for point in grid)


def test_blended_predictions_are_the_mean_and_weighted_deviations():
    members, Y, r = some_members(30, 3, 1, p=2)
    blend, predictions = fit_blend(members, Y, r)
    for j in range(2):
        A, _ = centred(members, Y, r, j)
        expected = np.average(Y[:, j], weights=r) + A @ blend.weights[:, j]
        np.testing.assert_allclose(predictions[:, j], expected, rtol=1e-12)
        alone = fit_blend([m[:, [j]] for m in members], Y[:, [j]], r)[0]
        assert np.array_equal(alone.weights[:, 0], blend.weights[:, j])
    np.testing.assert_allclose(r @ (Y - predictions), 0.0, atol=1e-10)


def test_row_weights_are_copies_and_zero_is_no_row():
    members, Y, _ = some_members(20, 3, 2)
    r = np.arange(20) % 4
    rows = np.repeat(np.arange(20), r)
    weighted = fit_blend(members, Y, r.astype(float))[0]
    copied = fit_blend([m[rows] for m in members], Y[rows])[0]
    np.testing.assert_allclose(weighted.weights, copied.weights, rtol=0, atol=1e-10)
    np.testing.assert_allclose(weighted.intercept, copied.intercept, rtol=1e-10)


@pytest.mark.parametrize("value", [0.0, 5.0, 1e9])
def test_a_constant_member_has_weight_zero(value):
    members, Y, r = some_members(30, 2, 0)
    with_constant = fit_blend([members[0], np.full_like(Y, value), members[1]], Y, r)[0]
    without = fit_blend(members, Y, r)[0]
    assert with_constant.weights[1, 0] == 0.0
    np.testing.assert_allclose(with_constant.weights[[0, 2]], without.weights, rtol=0, atol=1e-6)


def test_of_equal_members_the_earliest_has_all_the_weight():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40, 1))
    good = Y + 0.3 * rng.normal(size=(40, 1))
    weights = fit_blend([good, good, good], Y)[0].weights[:, 0]
    assert weights[0] > 0.8
    assert weights[1:].tolist() == [0.0, 0.0]


def test_collinear_members_give_the_best_of_their_combinations():
    """The third is the mean of the first two, which have opposite errors: it alone is as good as both."""
    rng = np.random.default_rng(0)
    Y, error = rng.normal(size=(40, 1)), rng.normal(size=(40, 1))
    first, second = Y + error, Y - error
    weights = fit_blend([first, second, (first + second) / 2], Y)[0].weights[:, 0]
    np.testing.assert_allclose(weights, [0.0, 0.0, 1.0], atol=1e-12)


def test_worthless_members_leave_the_mean():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(50, 1)) + 3
    blend, predictions = fit_blend([-Y, -2 * Y], Y)
    assert not blend.weights.any()
    np.testing.assert_allclose(predictions, Y.mean())


def test_a_constant_response_has_no_weights():
    rng = np.random.default_rng(0)
    blend, predictions = fit_blend([rng.normal(size=(9, 1))], np.full((9, 1), 0.1))
    assert blend.weights.tolist() == [[0.0]]
    np.testing.assert_allclose(predictions, 0.1)


@pytest.mark.parametrize("scale", [1e-200, 1e150])
def test_units_do_not_matter(scale):
    members, Y, r = some_members(30, 3, 1)
    one, other = fit_blend(members, Y, r)[0], fit_blend([m * scale for m in members], Y * scale, r * 1e-300)[0]
    np.testing.assert_allclose(other.weights, one.weights, rtol=0, atol=1e-10)
    np.testing.assert_allclose(other.intercept, one.intercept * scale, rtol=1e-9)


def test_a_nearly_exact_member_is_told_from_an_inexact_one():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(100, 1))
    coarse, fine = Y + 1e-6 * rng.normal(size=Y.shape), Y + 1e-10 * rng.normal(size=Y.shape)
    assert fit_blend([coarse, fine], Y)[0].weights[1, 0] > 0.999


def test_fewer_rows_than_members_are_defined():
    members, Y, _ = some_members(2, 4)
    blend, predictions = fit_blend(members, Y)
    assert blend.weights.min() >= 0
    assert blend.weights.sum() <= 1 + 1e-12
    assert np.isfinite(predictions).all()
    one = fit_blend([m[:1] for m in members], Y[:1])
    assert not one[0].weights.any()
    np.testing.assert_allclose(one[1], Y[:1])


def test_members_of_weight_zero_are_not_looked_at():
    blend = Blend(np.array([[0.5], [0.0]]), np.array([1.0]))
    assert blend.predict([np.array([[2.0]]), np.array([[np.nan]])]).tolist() == [[2.0]]
    with pytest.raises(ValueError, match="A blend of 2 members is given 1"):
        blend.predict([np.array([[2.0]])])


@pytest.mark.parametrize(
    ("members", "r", "message"),
    [
        ([], None, "1 to 8 members; got 0"),
        ([np.ones((4, 1))] * 9, None, "1 to 8 members; got 9"),
        ([np.ones((3, 1))], None, r"must have one shape, \(n, p\); got \[\(3, 1\)\] and \(4, 1\)"),
        ([np.ones((4, 1)), np.full((4, 1), np.nan)], None, r"must be finite; members \[1\] are not"),
        ([np.ones((4, 1))], np.zeros(4), "row_weights must be 4 finite, nonnegative numbers, not all 0"),
        ([np.ones((4, 1))], -np.ones(4), "row_weights must be 4 finite"),
        ([np.ones((4, 1))], np.ones(3), r"row_weights must be 4 finite.*got shape \(3,\)"),
        ([np.ones((4, 1))], np.array([1.0, np.nan, 1.0, 1.0]), "row_weights must be 4 finite"),
    ],
)
def test_what_cannot_be_blended_is_refused(members, r, message):
    with pytest.raises(ValueError, match=message):
        fit_blend(members, np.arange(4.0)[:, None], r)


def test_the_stated_risk_is_the_mean_squared_error_with_its_standard_error():
    rng = np.random.default_rng(0)
    y = np.exp(rng.normal(size=500))
    predictions = y + rng.normal(size=500)
    risk = stated_risk(y, predictions)
    squares = (y - predictions) ** 2
    assert risk.mse == pytest.approx(squares.mean())
    assert risk.mse_error == pytest.approx(squares.std(ddof=1) / np.sqrt(500))
    rare = rare_region(y, y)
    assert risk.rare_mse == pytest.approx(rare_mse(y, predictions, y_ref=y))
    assert risk.rare_error == pytest.approx(squares[rare].std(ddof=1) / np.sqrt(rare.sum()))
    assert risk.dominant_row is None
    assert risk.dominant_share == pytest.approx(squares.max() / squares.sum())


def test_frequencies_count_in_the_mean_and_bring_no_new_noise():
    y, predictions, f = np.array([0.0, 0.0, 0.0, 4.0]), np.array([1.0, 2.0, 0.0, 4.0]), np.array([2.0, 1.0, 1.0, 1.0])
    risk = stated_risk(y, predictions, f)
    assert risk.mse == pytest.approx((2 * 1 + 4) / 5)
    twice = stated_risk(y, predictions, 2 * f)
    assert twice.mse_error == pytest.approx(risk.mse_error)


def test_standard_errors_are_those_of_simulation():
    rng = np.random.default_rng(0)
    risks = [stated_risk(y, np.zeros(200)) for y in rng.normal(size=(2000, 200))]
    spread = np.std([risk.mse for risk in risks])
    assert np.mean([risk.mse_error for risk in risks]) == pytest.approx(spread, rel=0.06)


def test_a_row_with_over_half_of_the_squared_error_is_named():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    assert stated_risk(y, np.array([0.0, 1.0, 4.0, 4.0])).dominant_row == 2
    assert stated_risk(y, np.array([0.0, 1.0, 3.0, 4.0])).dominant_row is None
    assert stated_risk(y, np.array([0.0, 1.0, 3.0, 4.0]), np.array([1.0, 1.0, 3.0, 1.0])).dominant_row == 2
    perfect = stated_risk(y, y)
    assert perfect.dominant_row is None
    assert perfect.dominant_share == 0.0


def test_one_extreme_row_does_not_decide_the_weights():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(300, 1))
    good, poor = y + 0.1 * rng.normal(size=y.shape), y + rng.normal(size=y.shape)
    y[7] = 50.0
    poor[7], good[7] = 40.0, 0.0  # the poor member is less wrong there
    decided = fit_blend([good, poor], y)[0].weights[:, 0]
    without = fit_blend([np.delete(own, 7, 0) for own in (good, poor)], np.delete(y, 7, 0))[0].weights[:, 0]
    with mock.patch.object(blend, "MOST_SHARE", 0.1):
        found = fit_blend([good, poor], y)[0].weights[:, 0]
    assert decided[1] > 0.7
    np.testing.assert_allclose(found, without, atol=0.1)


def test_a_row_keeps_its_weight_up_to_a_tenth_of_the_squared_error():
    rng = np.random.default_rng(1)
    y = rng.normal(size=(200, 1))
    members = [y + 0.3 * rng.normal(size=y.shape) for _ in range(2)]
    plain = fit_blend(members, y)[0].weights
    with mock.patch.object(blend, "MOST_SHARE", 0.1):
        np.testing.assert_array_equal(fit_blend(members, y)[0].weights, plain)


def test_the_intercept_is_that_of_all_rows():
    rng = np.random.default_rng(0)
    y = np.exp(2.2 * rng.normal(size=(500, 1)))
    with mock.patch.object(blend, "MOST_SHARE", 0.1):
        found, predictions = fit_blend([rng.normal(size=y.shape)], y)
    assert found.weights[0, 0] < 0.2
    assert predictions.mean() == pytest.approx(y.mean())


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_several_extreme_rows_do_not_decide_the_weights(size):
    rng = np.random.default_rng(0)
    y = rng.normal(size=(400, 1))
    good = y + 0.01 * rng.normal(size=y.shape)
    y[:9] = size * np.arange(1, 10)[:, None]
    with mock.patch.object(blend, "MOST_SHARE", 0.1):
        found = fit_blend([good], y)[0]
    assert found.weights[0, 0] > 0.9
