import numpy as np
import pytest

from skewridge.kernels import Kernel
from skewridge.ridge.diagnostics import MOST_ROWS, N_BLOCKS, neighbour_blocks, serial_dependence
from tests.ridge.test_leave_one_out import refitted

KERNEL = Kernel("matern32", bandwidth=1.0)


def look(Z, y, ridge=0.01, frequencies=None):
    """The check of rows in the order they come in."""
    f = np.ones(len(Z)) if frequencies is None else frequencies
    return serial_dependence(KERNEL, Z, lambda rows: rows, np.arange(len(Z)), y[:, None], ridge, frequencies=f)


def clustered(rng, n_groups, size):
    """Groups whose rows are near each other, with a response of their own."""
    group = np.repeat(np.arange(n_groups), size)
    Z = rng.normal(size=(n_groups, 2))[group] + 0.02 * rng.normal(size=(len(group), 2))
    return Z, rng.normal(size=n_groups)[group] + 0.05 * rng.normal(size=len(group))


def wandering(rng, n):
    return np.arange(n)[:, None] / 100.0, np.cumsum(rng.normal(size=n))


@pytest.mark.parametrize("make", [lambda rng: clustered(rng, 25, 8), lambda rng: wandering(rng, 200)])
def test_neighbours_that_tell_on_each_other_are_found_and_shuffled_ones_are_not(make):
    rng = np.random.default_rng(0)
    Z, y = make(rng)
    found = look(Z, y)
    assert found.block_error > 3 * found.most_random
    assert f"is {found.block_error:.2g} of the variance" in found.warning
    assert "groups=" in found.warning
    assert "order=" in found.warning
    mixed = rng.permutation(len(Z))
    assert look(Z[mixed], y[mixed]).warning is None


def test_errors_that_follow_each_other_are_found():
    rng = np.random.default_rng(0)
    Z, noise = rng.normal(size=(400, 2)), np.repeat(rng.normal(size=20), 20)
    found = look(Z, np.sin(Z[:, 0]) + noise, ridge=1.0)
    assert found.block_error < 2 * found.random_error  # features do not tell the group: nothing leaks
    assert found.correlation > 0.4
    assert f"a rank correlation of {found.correlation:.2f}" in found.warning


def test_a_file_sorted_by_a_noisy_response_is_no_sequence():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(400, 2)), np.sort(rng.normal(size=400))
    assert look(Z, y, ridge=1.0).warning is None


@pytest.mark.parametrize("n_seeds", [12, pytest.param(1000, marks=pytest.mark.full)])
def test_rows_in_random_order_raise_no_alarm(n_seeds):
    """Below one in a hundred: by construction for runs left out, by four deviations for correlations."""
    alarms = 0
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        n = (40, 60, 150, 300)[seed % 4]
        Z, y = (
            (rng.normal(size=(n, 2)), rng.standard_t(2, n)),
            clustered(rng, n // 10, 10),
            wandering(rng, n),
        )[seed % 3]
        mixed = rng.permutation(len(Z))
        found = look(Z[mixed], y[mixed], ridge=0.1)
        alarms += found.warning is not None
    assert alarms <= n_seeds // 100


def test_errors_of_blocks_equal_those_of_refits():
    rng = np.random.default_rng(0)
    Z, y, f = rng.normal(size=(50, 2)), rng.normal(size=50), rng.integers(1, 4, 50).astype(float)
    found = look(Z, y, 0.3, f)
    _, blocks = neighbour_blocks(np.arange(50))
    unit = y[:, None] / np.sqrt(np.average((y - np.average(y, weights=f)) ** 2, weights=f))
    errors = np.empty(50)
    for block in range(N_BLOCKS):
        own = np.flatnonzero(blocks == block)
        errors[own] = refitted(KERNEL, Z, unit, 0.3, own, frequencies=f)[:, 0]
    assert found.block_error == pytest.approx(np.average(errors**2, weights=f), rel=1e-9)


def test_blocks_are_neighbours_in_the_file():
    places = np.random.default_rng(0).permutation(5000)
    rows, blocks = neighbour_blocks(places)
    assert len(rows) == MOST_ROWS
    for block in range(N_BLOCKS):
        assert np.all(np.diff(places[rows[blocks == block]]) == 1)
    assert neighbour_blocks(np.arange(39)) is None


def test_constant_responses_and_singular_kernels_say_nothing():
    Z = np.zeros((50, 1))
    assert look(Z, np.ones(50)) is None
    assert look(Z, np.arange(50.0), ridge=1e-300) is None
