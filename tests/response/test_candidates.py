import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skewridge.response.candidates import N_FOLDS, candidate_rows, choose_rule, distinct_rows
from skewridge.response.slices import slice_edges, slice_labels

SHARES = [0.0, 0.3, 0.5, 0.8, 1.0]
RULES = ["scott", "sturges", "fd", "log"]


def skewed(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, 2)), rng.lognormal(sigma=0.8, size=(n, 1))


def pool_of(n, seed=0, rule="auto"):
    X, Y = skewed(n, seed)
    return candidate_rows(X, Y, np.ones(n), rule, seed)


def drawn_rows(X, Y, weights, m, adapt, fold=-1):
    """The centres themselves, as a sorted list of (x, y)."""
    pool = candidate_rows(X, Y, weights, "auto", 7)
    rows = pool.rows[pool.draw(m, adapt, fold)]
    return sorted(map(tuple, np.column_stack([X, Y])[rows].tolist()))


@given(st.permutations(range(40)), st.sampled_from(SHARES), st.integers(-1, N_FOLDS - 1))
def test_draws_do_not_depend_on_the_order_of_rows(order, adapt, fold):
    X, Y = skewed(40)
    w = np.arange(1.0, 41.0)
    assert drawn_rows(X, Y, w, 12, adapt, fold) == drawn_rows(X[order], Y[order], w[order], 12, adapt, fold)


@given(arrays(np.int64, 30, elements=st.integers(1, 6)), st.sampled_from(SHARES), st.integers(-1, N_FOLDS - 1))
def test_a_repeated_row_is_one_row_of_its_weight(times, adapt, fold):
    X, Y = skewed(30)
    weighted = candidate_rows(X, Y, times.astype(float), "auto", 3)
    which = np.repeat(np.arange(30), times)
    repeated = candidate_rows(X[which], Y[which], np.ones(len(which)), "auto", 3)
    assert np.array_equal(weighted.rows, which[repeated.rows])
    assert np.array_equal(weighted.weights, repeated.weights)
    assert np.array_equal(weighted.labels, repeated.labels)
    assert np.array_equal(weighted.folds, repeated.folds)
    assert np.array_equal(weighted.draw(8, adapt, fold), repeated.draw(8, adapt, fold))


@given(arrays(np.float64, (25, 2), elements=st.sampled_from([-1.0, -0.0, 0.0, 2.5])), st.integers(0, 50))
def test_distinct_rows_are_those_of_a_dictionary(table, seed):
    weights = np.arange(1.0, 26.0)
    rows, totals, member = distinct_rows(table, weights, seed)
    expected = {}
    for i, row in enumerate((table + 0.0).tolist()):
        first, total = expected.get(tuple(row), (i, 0.0))
        expected[tuple(row)] = first, total + weights[i]
    assert sorted(zip(rows, totals, strict=True)) == sorted(expected.values())
    assert np.array_equal(table[rows[member]], table)


def test_minus_zero_is_zero():
    rows, totals, _ = distinct_rows(np.array([[0.0, 1.0], [-0.0, 1.0]]), np.ones(2), 0)
    assert rows.tolist() == [0]
    assert totals.tolist() == [2.0]


def test_the_order_is_keyed_by_the_seed():
    table = np.arange(100.0)[:, None]
    orders = {tuple(distinct_rows(table, np.ones(100), seed)[0]) for seed in range(20)}
    assert len(orders) == 20


@given(st.sampled_from(SHARES), st.integers(-1, N_FOLDS - 1))
def test_draws_are_nested_and_have_their_size(adapt, fold):
    pool = pool_of(60)
    inside = np.flatnonzero(pool.folds != fold)
    before = set()
    for m in range(70):
        drawn = pool.draw(m, adapt, fold)
        assert len(drawn) == len(set(drawn)) == min(m, len(inside))
        assert (np.diff(drawn) > 0).all()
        assert before <= set(drawn) <= set(inside)
        before = set(drawn)


@given(st.integers(1, 80), st.integers(-1, N_FOLDS - 1), st.integers(0, 20))
def test_slices_take_turns_until_they_are_exhausted(m, fold, seed):
    pool = pool_of(80, seed, rule=6)
    inside = pool.folds != fold
    drawn = np.bincount(pool.labels[pool.draw(m, 1.0, fold)], minlength=6)
    held = np.bincount(pool.labels[inside], minlength=6)
    open_slices = drawn < held
    assert (drawn <= held).all()
    if open_slices.any():
        least = drawn[open_slices].min()
        assert ((drawn == held) | (drawn <= least + 1)).all()
        assert drawn.max() <= least + 1


def test_a_share_is_drawn_evenly_and_the_rest_as_the_rows_come():
    pool = pool_of(100, rule=5)
    even = set(pool.draw(12, 1.0))
    rest = [row for row in range(100) if row not in even]
    assert set(pool.draw(24, 0.5)) == even | set(rest[:12])


@pytest.mark.parametrize("fold", [-1, *range(N_FOLDS)])
def test_no_share_is_uniform(fold):
    pool = pool_of(50)
    assert np.array_equal(pool.draw(9, 0.0, fold), np.flatnonzero(pool.folds != fold)[:9])


def test_uniform_draws_take_every_row_as_often():
    X, Y = skewed(60)
    m, n_seeds = 15, 2000
    often = np.zeros(60)
    for seed in range(n_seeds):
        pool = candidate_rows(X, Y, np.ones(60), "scott", seed)
        often[pool.rows[pool.draw(m, 0.0)]] += 1
    share = m / 60
    assert np.abs(often / n_seeds - share).max() < 4 * np.sqrt(share * (1 - share) / n_seeds)


def test_even_draws_take_rows_of_one_slice_as_often():
    X, Y = np.arange(40.0)[:, None], np.repeat([0.0, 1.0], [32, 8])[:, None]
    often = np.zeros(40)
    for seed in range(2000):
        pool = candidate_rows(X, Y, np.ones(40), 2, seed)
        often[pool.rows[pool.draw(8, 1.0)]] += 1
    for rows, share in ((slice(32), 4 / 32), (slice(32, 40), 4 / 8)):
        assert np.abs(often[rows] / 2000 - share).max() < 4 * np.sqrt(share * (1 - share) / 2000)


def test_slices_take_turns_row_by_row():
    pool = pool_of(80, rule=5)
    queues = [list(np.flatnonzero(pool.labels == j)) for j in np.unique(pool.labels)]
    turns = []
    while any(queues):
        turns += sorted(queue.pop(0) for queue in queues if queue)
    for m in (1, 2, 3, 7, 20, 80):
        assert set(pool.draw(m, 1.0)) == set(turns[:m])


@given(st.integers(1, 200), st.integers(0, 5))
def test_folds_share_out_the_rows_and_every_slice(n, seed):
    pool = pool_of(n, seed, rule=4)
    assert np.ptp(np.bincount(pool.folds, minlength=N_FOLDS)) <= 1
    for label in range(4):
        assert np.ptp(np.bincount(pool.folds[pool.labels == label], minlength=N_FOLDS)) <= 1


@pytest.mark.parametrize("most", [1, 7, 50, 99])
def test_the_first_rows_are_a_pool_of_their_own(most):
    pool = pool_of(50)
    some = pool.first(most)
    n = min(most, 50)
    for name in ("rows", "weights", "labels", "folds"):
        assert np.array_equal(getattr(some, name), getattr(pool, name)[:n])
    assert np.array_equal(some.draw(5, 0.0), np.arange(min(5, n)))


@pytest.mark.parametrize("n_folds", [2, 3])
def test_another_number_of_folds_shares_the_slices_out_too(n_folds):
    pool = pool_of(61, rule=4).in_folds(n_folds)
    assert np.ptp(np.bincount(pool.folds, minlength=n_folds)) <= 1
    for label in range(4):
        counts = np.bincount(pool.folds[pool.labels == label], minlength=n_folds)
        assert np.ptp(counts) <= 1


def test_rows_with_equal_x_are_one_candidate_sliced_by_their_mean_response():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (80, 2)).astype(float)
    Y, w = rng.lognormal(size=(80, 1)), rng.integers(1, 4, 80).astype(float)
    pool = candidate_rows(X, Y, w, 4, 3)
    assert len(pool) == len(np.unique(X, axis=0))
    assert np.array_equal(X[pool.rows[pool.member]], X)
    means = np.empty((len(pool), 1))
    for g in range(len(pool)):
        same = pool.member == g
        means[g] = np.average(Y[same], axis=0, weights=w[same])
        assert pool.weights[g] == w[same].sum()
    np.testing.assert_allclose(pool.means(Y, w), means, rtol=1e-14)
    assert np.array_equal(pool.labels, slice_labels(means[:, 0], slice_edges(means[:, 0], 4, pool.weights)))


def test_copies_of_a_row_with_any_weights_keep_its_bits():
    X, Y = skewed(20)
    which = np.repeat(np.arange(20), 3)
    w = np.random.default_rng(0).random(60)
    pool = candidate_rows(X[which], Y[which], w, "auto", 0)
    assert np.array_equal(pool.means(Y[which], w), Y[which][pool.rows])


def test_auto_is_log_only_where_scott_crowds_a_slice():
    rng = np.random.default_rng(0)
    mild, heavy = rng.normal(size=500), rng.lognormal(sigma=3, size=500)
    for y in (mild, heavy):
        counts = np.bincount(slice_labels(y, slice_edges(y, "scott")))
        assert choose_rule(y, "auto", np.ones(500)) == ("log" if counts.max() > 0.9 * 500 else "scott")
    assert choose_rule(mild, "auto", np.ones(500)) == "scott"
    assert choose_rule(heavy, "auto", np.ones(500)) == "log"
    assert choose_rule(np.ones(5), "auto", np.ones(5)) == "scott"


def test_auto_counts_rows_by_their_weights():
    y, w = np.arange(10.0), np.ones(10)
    assert choose_rule(y, "auto", w) == "scott"
    w[0] = 1000.0
    assert choose_rule(y, "auto", w) == choose_rule(np.repeat(y, w.astype(int)), "auto", np.ones(1009)) == "log"


@pytest.mark.parametrize("rule", [*RULES, 5])
def test_a_rule_that_is_named_is_kept(rule):
    assert choose_rule(np.arange(9.0), rule, np.ones(9)) == rule


@given(
    arrays(
        np.float64, st.integers(1, 40), elements=st.integers(-(10**6), 10**6).map(lambda v: v / 1000) | st.just(0.0)
    ),
    st.sampled_from([*RULES, 7]),
    st.integers(0, 100),
)
def test_edges_with_weights_are_those_of_repeated_rows(y, rule, seed):
    w = np.random.default_rng(seed).integers(1, 8, len(y))
    weighted, repeated = slice_edges(y, rule, w.astype(float)), slice_edges(np.repeat(y, w), rule)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-12 * np.abs(y).max())


def test_one_row_is_the_only_centre_of_other_folds():
    pool = candidate_rows(np.ones((1, 2)), np.ones((1, 1)), np.ones(1), "auto", 0)
    assert pool.draw(50, 0.5).tolist() == [0]
    assert pool.draw(50, 0.5, int(pool.folds[0])).tolist() == []


@pytest.mark.parametrize("adapt", [0.0, 0.5, 1.0])
def test_centres_stand_for_the_rows_of_their_slices(adapt):
    pool = pool_of(200)
    drawn = pool.draw(40, adapt)
    center_weights = pool.center_weights(drawn)
    assert center_weights.sum() == pytest.approx(pool.weights.sum())
    labels = pool.labels[drawn]
    for label in set(labels.tolist()):
        assert np.ptp(center_weights[labels == label]) == 0.0
    rare, common = np.argsort(np.bincount(pool.labels)[labels])[[0, -1]]
    assert adapt < 1 or center_weights[rare] < center_weights[common]


def test_when_all_rows_are_centres_each_center_weights_itself():
    pool = pool_of(50)
    np.testing.assert_allclose(pool.center_weights(np.arange(len(pool))), pool.weights)
