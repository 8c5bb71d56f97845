import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skewridge.ridge.diagnostics import (
    CANDIDATES,
    MOST_NAMED,
    THRESHOLD,
    dominating_rows,
    influence_candidates,
    typical_size,
)

RIDGE = 0.1


def ridge_fit(F, y, w):
    """beta of a ridge regression whose ridge does not change with the rows."""
    return np.linalg.solve(F.T @ (w[:, None] * F) + RIDGE * np.eye(F.shape[1]), F.T @ (w * y))


def hat_of(F, w):
    return F @ np.linalg.solve(F.T @ (w[:, None] * F) + RIDGE * np.eye(F.shape[1]), F.T) * w


def regression(n=60, r=6, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, r))
    return F, F @ rng.normal(size=r) + rng.normal(size=n), rng.random(n) + 0.5 if weighted else np.ones(n)


def named(F, y, w, spread=None):
    """What is named by the fit to all rows; None: in units of its own residuals."""
    residual = y - F @ ridge_fit(F, y, w)
    return dominating_rows(residual, y, hat_of(F, w), typical_size(residual) if spread is None else spread)


def left_out(F, y, w, left):
    """Every remaining row's error by a refit to the others that remain; 0 for the rest."""
    errors = np.zeros(len(y))
    for i in np.flatnonzero(left):
        rest = left & (np.arange(len(y)) != i)
        errors[i] = y[i] - F[i] @ ridge_fit(F[rest], y[rest], w[rest])
    return errors


def brute_force(F, y, w, spread):
    """Of the rows that pull, |left-out error| sqrt(h_ii), leave out the one without which others err least; again."""
    left, found, pulls = np.ones(len(y), dtype=bool), [], []
    while len(found) < MOST_NAMED and left.any():
        pull = np.zeros(len(y))
        pull[left] = np.abs(left_out(F, y, w, left)[left]) * np.sqrt(hat_of(F[left], w[left]).diagonal())
        strong = np.flatnonzero(pull > THRESHOLD * spread).tolist()
        if not strong:
            break
        others = [np.sum(left_out(F, y, w, left & (np.arange(len(y)) != i)) ** 2) for i in strong]
        found.append(strong[int(np.argmin(others))])
        pulls.append(pull[found[-1]] / spread)
        left[found[-1]] = False
    return found, pulls


def test_a_pull_bounds_how_far_all_fitted_values_move_without_the_row():
    F, y, w = regression()
    own, whole = hat_of(F, w).diagonal(), ridge_fit(F, y, w)
    for i in range(60):
        rest = np.arange(60) != i
        alone = ridge_fit(F[rest], y[rest], w[rest])
        assert np.linalg.norm(F @ (whole - alone)) <= abs(y[i] - F[i] @ alone) * np.sqrt(own[i]) + 1e-12


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("planted", [{}, {5: 1e3}, {5: 1e3, 17: -4e3, 40: 2e3}])
def test_dominating_rows_are_those_that_refits_without_them_find(weighted, planted):
    F, y, w = regression(weighted=weighted)
    for row, size in planted.items():
        y[row] += size
    found, pulls = named(F, y, w, 1.0)
    expected, moved = brute_force(F, y, w, 1.0)
    assert found.tolist() == expected
    assert set(found) == set(planted)
    np.testing.assert_allclose(pulls, moved, rtol=1e-7)


@settings(max_examples=15)
@given(st.integers(0, 300), st.floats(0.01, 0.1))
def test_a_low_bar_names_what_refits_name(seed, spread):
    F, y, w = regression(30, 4, seed, weighted=True)
    found, pulls = named(F, y, w, spread)
    expected, moved = brute_force(F, y, w, spread)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(pulls, moved, rtol=1e-6)


def test_rows_near_an_outlier_are_not_blamed_for_it():
    F, y, w = regression()
    F[6:9] = F[5] + 1e-3  # neighbours, which the fit misses because of row 5
    y[6:9] = y[5]
    y[5] += 1e4
    residual, hat = y - F @ ridge_fit(F, y, w), hat_of(F, w)
    for i in (5, 6, 7, 8):  # each, looked at by itself, pulls
        assert len(dominating_rows(residual[[i]], y[[i]], hat[np.ix_([i], [i])], 1.0)[0]) == 1
    assert named(F, y, w, 1.0)[0].tolist() == [5]


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_named_on_clean_data(seed):
    F, y, w = regression(200, 10, seed)
    found, pulls = named(F, y, w)
    assert len(found) == len(pulls) == 0


def test_an_outlier_is_among_the_candidates_and_named_by_them_alone():
    F, w = np.eye(50)[np.arange(500) % 50], np.ones(500)  # a local fit: 10 rows a bin
    y = np.random.default_rng(0).normal(size=500)
    y[123] += 1e4
    residual = y - F @ ridge_fit(F, y, w)
    places = influence_candidates(y, residual)
    assert len(places) <= 2 * CANDIDATES
    found, _ = dominating_rows(
        residual[places], y[places], hat_of(F, w)[np.ix_(places, places)], typical_size(residual)
    )
    assert places[found].tolist() == [123]


@given(st.integers(1, 100), st.integers(0, 50))
def test_candidates_are_the_largest_residuals_and_the_most_extreme_responses(n, seed):
    rng = np.random.default_rng(seed)
    y, residual = rng.normal(size=n), rng.normal(size=n)
    expected = {*np.argsort(-np.abs(y - np.median(y)))[:CANDIDATES], *np.argsort(-np.abs(residual))[:CANDIDATES]}
    assert set(influence_candidates(y, residual)) == expected


def test_no_more_rows_are_named_than_a_warning_can_hold():
    n = 3 * MOST_NAMED
    found, _ = dominating_rows(np.full(n, 1e3), np.full(n, 2e3), 0.5 * np.eye(n), 1.0)
    assert len(found) == MOST_NAMED


def test_a_perfect_fit_but_for_one_row_names_it():
    found, pulls = dominating_rows(np.array([1.0, 0.0]), np.array([2.0, 0.0]), np.diag([0.5, 0.1]), 0.0)
    assert found.tolist() == [0]
    assert pulls.tolist() == [np.inf]


@pytest.mark.parametrize("own", [1.0, 1.0 + 1e-12])
def test_a_row_that_the_fit_interpolates_is_left_out_to_the_intercept(own):
    found, pulls = dominating_rows(np.zeros(2), np.array([-1e3, 0.5]), np.diag([own, 0.1]), 2.0)
    assert found.tolist() == [0]
    assert pulls.tolist() == [500.0]


def test_the_arguments_are_left_alone():
    residual, response, hat = np.array([50.0, 0.1]), np.array([60.0, 5.0]), np.array([[0.5, 0.1], [0.1, 0.2]])
    dominating_rows(residual, response, hat, 1.0)
    assert residual.tolist() == [50.0, 0.1]
    assert response.tolist() == [60.0, 5.0]
    assert hat.tolist() == [[0.5, 0.1], [0.1, 0.2]]


def test_the_typical_residual_is_the_deviation_of_normal_ones_and_few_rows_do_not_change_it():
    residual = 3.0 * np.random.default_rng(0).normal(size=20_000)
    assert typical_size(residual) == pytest.approx(3.0, rel=0.05)
    few = residual.copy()
    few[:200] = 1e9
    assert typical_size(few) == pytest.approx(3.0, rel=0.05)
    assert typical_size(2 * residual) == pytest.approx(2 * typical_size(residual))
    assert typical_size(residual + 1e6) == pytest.approx(typical_size(residual))


def test_residuals_mostly_alike_still_have_a_spread():
    assert typical_size(np.array([0.0, 0.0, 0.0, 2.0])) > 0
    assert typical_size(np.zeros(4)) == 0
