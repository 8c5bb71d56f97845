import numpy as np
import pytest

from skewridge.kernels import Kernel
from skewridge.ridge.draws import Balls, RandomBatches, varies
from tests.kernels import oracle


def balls(Z, Y, size, name="matern32", seed=0):
    return Balls(Kernel(name, bandwidth=1.0), np.ascontiguousarray(Z.T), Y, size, seed)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(700, 3)), rng.normal(size=(700, 1)), np.array([2.0, 0.5, 0.1])


def test_batches_are_random_rows_without_repeats(rows):
    _, Y, scales = rows
    counts = np.zeros(700)
    for step in range(1, 201):
        found = RandomBatches(Y, 50, seed=0).draw(step, scales)
        assert found.counted.all()
        assert len(np.unique(found.rows)) == 50
        counts[found.rows] += 1
    assert counts.sum() == 200 * 50
    assert abs(counts - 200 * 50 / 700).max() < 5 * np.sqrt(200 * 50 / 700)  # as a binomial would


def test_fewer_rows_than_a_ball_are_all_of_it(rows):
    Z, Y, scales = rows
    found = balls(Z, Y, 900).draw(1, scales)
    np.testing.assert_array_equal(np.sort(found.rows), np.arange(700))


@pytest.mark.parametrize(("n", "size"), [(2, 2), (19, 19), (24, 20), (90, 60), (599, 399), (650, 400)])
def test_a_batch_holds_at_most_two_thirds_of_the_rows_unless_they_are_few(rows, n, size):
    _, Y, scales = rows
    found = RandomBatches(Y[:n], 400, seed=0).draw(1, scales)
    assert len(np.unique(found.rows)) == len(found.counted) == size


@pytest.mark.parametrize("name", ["laplacian", "matern32", "gaussian"])
@pytest.mark.parametrize("plain", [False, True])
def test_balls_are_the_nearest_rows_in_the_metric(rows, name, plain, monkeypatch):
    Z, Y, scales = rows
    if plain:
        oracle.take_the_place_of_the_compiled_loops(monkeypatch)
    found = balls(Z, Y, 101, name).draw(5, scales)
    gaps = np.abs(Z - Z[found.rows[0]]) * scales
    distances = gaps.sum(axis=1) if name == "laplacian" else np.sum(gaps**2, axis=1)
    np.testing.assert_array_equal(found.rows, np.argsort(distances, kind="stable")[:101])
    np.testing.assert_array_equal(found.counted, np.arange(101) < 50.5)


def test_equally_near_rows_come_in_their_order():
    Z, Y = np.zeros((1500, 2)), np.random.default_rng(0).normal(size=(1500, 1))
    found = balls(Z, Y, 40).draw(3, np.ones(2))
    np.testing.assert_array_equal(found.rows, np.arange(40))


def test_steps_and_seeds_draw_other_samples(rows):
    Z, Y, scales = rows
    keys = [(seed, step) for seed in range(5) for step in range(1, 5)]
    drawn = [RandomBatches(Y, 20, seed).draw(step, scales).rows for seed, step in keys]
    centers = [balls(Z, Y, 9, seed=seed).draw(step, scales).rows[0] for seed, step in keys]
    assert len({tuple(rows) for rows in drawn}) == 20
    assert len(set(centers)) > 15


def test_a_sample_without_variance_gets_rows_of_other_responses(rows):
    Z, _, scales = rows
    Y = np.zeros((700, 2))
    Y[[13, 400, 650], 1] = [1.0, 2.0, 3.0]
    for step in range(1, 30):
        batch = RandomBatches(Y, 60, seed=1).draw(step, scales)
        ball = balls(Z, Y, 60, seed=1).draw(step, scales)
        for found in (batch, ball):
            assert varies(Y[found.rows])
            assert len(np.unique(found.rows)) == len(found.counted) == 60


def test_the_other_responses_of_a_ball_are_the_nearest():
    Z = np.random.default_rng(0).normal(size=(700, 3))
    far = Z[:, 0] > 2.0  # some 16 rows that no ball around the others reaches
    Z[far, 0] += 50.0
    Y = np.where(far, np.arange(700.0), 0.0)[:, None]
    draws, scales = balls(Z, Y, 20), np.ones(3)
    rows = next(s.rows for s in map(draws.draw, range(1, 50), [scales] * 50) if not far[s.rows[0]])
    distances = np.sum((Z - Z[rows[0]]) ** 2, axis=1)
    others = np.flatnonzero(far)
    np.testing.assert_array_equal(rows[10:], others[np.argsort(distances[others])[:10]])
    np.testing.assert_array_equal(rows[:10], np.argsort(distances)[:10])


def test_constant_responses_are_drawn_as_they_are(rows):
    Z, _, scales = rows
    Y = np.full((700, 1), 4.0)
    assert len(RandomBatches(Y, 30, 0).draw(1, scales).rows) == 30
    assert len(balls(Z, Y, 30).draw(1, scales).rows) == 30


@pytest.mark.parametrize("local", [False, True])
def test_samples_of_one_group_get_rows_of_others(local):
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(400, 2)), rng.normal(size=(400, 1))
    groups = np.zeros(400, dtype=np.int64)
    groups[:5] = 1
    Z[:5] += 50.0
    if local:
        draws = Balls(Kernel("matern32", bandwidth=1.0), np.ascontiguousarray(Z.T), Y, 40, 0, groups)
    else:
        draws = RandomBatches(Y, 40, 0, groups)
    for step in range(1, 30):
        found = draws.draw(step, np.ones(2)).rows
        assert len(np.unique(groups[found])) == 2
        assert len(np.unique(found)) == 40
