import numpy as np
import pytest

from skewridge.kernels import Kernel
from skewridge.ridge.learn_scales import distances_to_one, draw_rows
from skewridge.ridge.sample import Sample
from tests.kernels import oracle


def batch(Y, size, seed=0, step=1, groups=None):
    one = np.ones(len(Y))
    return draw_rows(Sample(np.empty((len(Y), 0)), Y, one, one, groups), size, seed, step)


def ball(Z, Y, scales, size, name="matern32", seed=0, step=1, groups=None):
    one, kernel = np.ones(len(Y)), Kernel(name, bandwidth=1.0)
    distances = distances_to_one(kernel, np.ascontiguousarray(Z.T), scales, seed, step)
    return draw_rows(Sample(Z, Y, one, one, groups), size, seed, step, distances)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(700, 3)), rng.normal(size=(700, 1)), np.array([2.0, 0.5, 0.1])


def test_batches_are_random_rows_without_repeats(rows):
    _, Y, _ = rows
    counts = np.zeros(700)
    for step in range(1, 201):
        found = batch(Y, 50, step=step)
        assert len(np.unique(found)) == 50
        counts[found] += 1
    assert counts.sum() == 200 * 50
    assert abs(counts - 200 * 50 / 700).max() < 5 * np.sqrt(200 * 50 / 700)  # as a binomial would


def test_fewer_rows_than_a_ball_are_all_of_it(rows):
    Z, Y, scales = rows
    np.testing.assert_array_equal(np.sort(ball(Z, Y, scales, 900)), np.arange(700))


@pytest.mark.parametrize(("n", "size"), [(2, 2), (19, 19), (24, 20), (90, 60), (599, 399), (650, 400)])
def test_a_batch_holds_at_most_two_thirds_of_the_rows_unless_they_are_few(rows, n, size):
    found = batch(rows[1][:n], 400)
    assert len(np.unique(found)) == len(found) == size


@pytest.mark.parametrize("name", ["laplacian", "matern32", "gaussian"])
@pytest.mark.parametrize("plain", [False, True])
def test_balls_are_the_nearest_rows_in_the_metric(rows, name, plain, monkeypatch):
    Z, Y, scales = rows
    if plain:
        oracle.take_the_place_of_the_compiled_loops(monkeypatch)
    found = ball(Z, Y, scales, 101, name, step=5)
    gaps = np.abs(Z - Z[found[0]]) * scales
    distances = gaps.sum(axis=1) if name == "laplacian" else np.sum(gaps**2, axis=1)
    np.testing.assert_array_equal(found, np.argsort(distances, kind="stable")[:101])


def test_equally_near_rows_come_in_their_order():
    Z, Y = np.zeros((1500, 2)), np.random.default_rng(0).normal(size=(1500, 1))
    np.testing.assert_array_equal(ball(Z, Y, np.ones(2), 40, step=3), np.arange(40))


def test_steps_and_seeds_draw_other_samples(rows):
    Z, Y, scales = rows
    keys = [(seed, step) for seed in range(5) for step in range(1, 5)]
    drawn = [batch(Y, 20, seed, step) for seed, step in keys]
    centers = [ball(Z, Y, scales, 9, seed=seed, step=step)[0] for seed, step in keys]
    assert len({tuple(rows) for rows in drawn}) == 20
    assert len(set(centers)) > 15


def test_a_sample_without_variance_gets_rows_of_other_responses(rows):
    Z, _, scales = rows
    Y = np.zeros((700, 2))
    Y[[13, 400, 650], 1] = [1.0, 2.0, 3.0]
    for step in range(1, 30):
        for found in (batch(Y, 60, 1, step), ball(Z, Y, scales, 60, seed=1, step=step)):
            assert np.any(Y[found] != Y[found[0]])
            assert len(np.unique(found)) == len(found) == 60


def test_the_other_responses_of_a_ball_are_the_nearest():
    Z = np.random.default_rng(0).normal(size=(700, 3))
    far = Z[:, 0] > 2.0  # some 16 rows that no ball around the others reaches
    Z[far, 0] += 50.0
    Y = np.where(far, np.arange(700.0), 0.0)[:, None]
    drawn = (ball(Z, Y, np.ones(3), 20, step=step) for step in range(1, 50))
    rows = next(found for found in drawn if not far[found[0]])
    distances = np.sum((Z - Z[rows[0]]) ** 2, axis=1)
    others = np.flatnonzero(far)
    np.testing.assert_array_equal(rows[10:], others[np.argsort(distances[others])[:10]])
    np.testing.assert_array_equal(rows[:10], np.argsort(distances)[:10])


def test_constant_responses_are_drawn_as_they_are(rows):
    Z, _, scales = rows
    Y = np.full((700, 1), 4.0)
    assert len(batch(Y, 30)) == 30
    assert len(ball(Z, Y, scales, 30)) == 30


@pytest.mark.parametrize("local", [False, True])
def test_samples_of_one_group_get_rows_of_others(local):
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(400, 2)), rng.normal(size=(400, 1))
    groups = np.zeros(400, dtype=np.int64)
    groups[:5] = 1
    Z[:5] += 50.0
    for step in range(1, 30):
        if local:
            found = ball(Z, Y, np.ones(2), 40, step=step, groups=groups)
        else:
            found = batch(Y, 40, step=step, groups=groups)
        assert len(np.unique(groups[found])) == 2
        assert len(np.unique(found)) == 40
