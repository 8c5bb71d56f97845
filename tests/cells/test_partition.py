import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.cells.partition import LEAF, SPLIT_ROWS, _quantile, random_partitions, rows_of_cells
from tests.kernels import oracle


def walk(partitions, root, z):
    """One row down one tree, as the tree is written."""
    node = root
    while partitions.feature[node] != LEAF:
        right = not z[partitions.feature[node]] <= partitions.cut[node]
        node = partitions.child[node] + int(right)
    return partitions.child[node]


@given(
    st.integers(1, 400),
    st.integers(1, 5),
    st.integers(8, 60),
    st.integers(1, 50),
    st.integers(0, 999),
)
def test_cells_are_small_and_share_out_all_rows(n, d, cell_size, n_values, seed):
    """Features with as few as one value; rows that are all equal stay together and are drawn from."""
    Z = np.random.default_rng(seed).integers(0, n_values, (n, d)) / n_values
    partitions = random_partitions(Z, seed=seed, n_partitions=3, cell_size=cell_size)
    cells = partitions.cells_of(Z)
    assert cells.shape == (n, 3 if n > cell_size else 1)
    assert sorted(set(cells.ravel().tolist())) == list(range(partitions.n_cells))
    rows = rows_of_cells(cells, partitions.n_cells, seed=seed, cell_size=cell_size)
    assert rows.sizes.max() <= cell_size
    assert rows.sizes.min() >= min(2, n)
    for cell in range(partitions.n_cells):
        inside = np.flatnonzero((cells == cell).any(axis=1))
        assert set(rows[cell].tolist()) <= set(inside.tolist())
        assert len(rows[cell]) == min(len(inside), cell_size)


def test_replay_on_new_rows_walks_down_the_tree():
    rng = np.random.default_rng(0)
    partitions = random_partitions(rng.random((900, 4)), seed=1, n_partitions=3, cell_size=100)
    new = rng.random((50, 4)) * 2 - 0.5
    new[7, partitions.feature[partitions.roots[0]]] = np.nan
    expected = [[walk(partitions, root, z) for root in partitions.roots] for z in new]
    assert partitions.cells_of(new).tolist() == expected
    assert partitions.cells_of(new.astype(np.float32)[:0]).shape == (0, 3)
    plain = np.empty((50, 3), dtype=np.int64)
    oracle.leaves_of(new, partitions.roots, partitions.feature, partitions.cut, partitions.child, plain)
    assert plain.tolist() == expected


def test_a_row_at_a_cut_goes_to_the_left_as_it_did_at_growth():
    Z = np.repeat(np.arange(10.0), 30)[:, None]
    partitions = random_partitions(Z, seed=0, n_partitions=1, cell_size=100)
    assert np.isin(partitions.cut[partitions.feature != LEAF], Z).any()  # a quantile inside repeated values
    sizes = np.bincount(partitions.cells_of(Z)[:, 0])
    assert sizes.max() <= 100
    assert all(size % 30 == 0 for size in sizes)


def test_up_to_cell_size_rows_are_one_cell():
    Z = np.random.default_rng(0).random((100, 2))
    one = random_partitions(Z, seed=0, cell_size=100)
    assert one.n_cells == 1
    assert one.cells_of(Z).tolist() == [[0]] * 100
    assert random_partitions(Z, seed=0, cell_size=99).n_cells > 4


def test_splits_are_drawn_in_proportion_to_spread_and_leave_even_cells():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(4000, 3)) * [3.0, 1.0, 0.0]
    partitions = random_partitions(Z, seed=0, n_partitions=60, cell_size=3999)
    first = partitions.feature[partitions.roots]
    assert set(first.tolist()) == {0, 1}
    assert abs(np.mean(first == 0) - 0.75) < 0.15  # three times its standard error is 0.17
    shares = np.bincount(partitions.cells_of(Z).ravel()) / 4000
    assert shares.min() > 0.39
    assert shares.max() < 0.61


def test_many_rows_are_split_by_the_first_of_them_or_by_all_where_these_are_alike():
    Z = np.random.default_rng(0).normal(size=(3 * SPLIT_ROWS, 2))
    shares = np.bincount(random_partitions(Z, seed=0, cell_size=len(Z) - 1).cells_of(Z).ravel()) / len(Z)
    assert 0.36 < shares.min() <= shares.max() < 0.64  # 0.4 to 0.6 of the first
    Z[:SPLIT_ROWS] = 1.0
    alike = random_partitions(Z, seed=0, n_partitions=1, cell_size=SPLIT_ROWS + 1)
    assert np.bincount(alike.cells_of(Z).ravel()).max() <= SPLIT_ROWS + 1


def test_partitions_differ_by_number_and_by_seed_and_repeat_by_both():
    Z = np.random.default_rng(0).random((500, 3))
    first, again, other = (random_partitions(Z, seed=s, n_partitions=2, cell_size=100) for s in (5, 5, 6))
    assert np.array_equal(first.cells_of(Z), again.cells_of(Z))
    assert not np.array_equal(first.cut, other.cut)
    a, b = first.cells_of(Z).T
    assert not np.array_equal(a, b - b.min())


def test_draws_do_not_depend_on_the_order_of_rows():
    Z = np.random.default_rng(0).integers(0, 64, (600, 3)) / 64  # sums of these are exact in any order
    shuffled = np.random.default_rng(1).permutation(600)
    first = random_partitions(Z, seed=0, cell_size=100)
    other = random_partitions(Z[shuffled], seed=0, cell_size=100)
    assert np.array_equal(first.cells_of(Z)[shuffled], other.cells_of(Z[shuffled]))


def test_equal_rows_stay_together_and_every_partition_draws_others():
    Z = np.zeros((500, 2))
    partitions = random_partitions(Z, seed=0, n_partitions=4, cell_size=100)
    assert partitions.n_cells == 4
    rows = rows_of_cells(partitions.cells_of(Z), 4, seed=0, cell_size=100)
    assert rows.sizes.tolist() == [100] * 4
    assert len(set(rows.order.tolist())) > 250  # of 500: a draw of its own in every partition
    assert all((np.diff(rows[c]) > 0).all() for c in range(4))


def test_a_few_odd_rows_among_equal_ones_make_no_tiny_cell():
    Z = np.zeros((5000, 2))
    Z[:20, 0] = np.arange(1, 21)
    assert random_partitions(Z, seed=0, n_partitions=1).n_cells == 1
    Z[:60, 0] = np.arange(1, 61)
    partitions = random_partitions(Z, seed=0, n_partitions=1)
    assert sorted(np.bincount(partitions.cells_of(Z)[:, 0]).tolist()) == [60, 4940]


def test_the_most_even_split_is_found_where_draws_are_not_even():
    """The feature with nearly all the spread has one odd value; a quiet one divides the rows in two."""
    Z = np.zeros((300, 2))
    Z[:20, 0], Z[::2, 1] = 1e6, 1e-3
    partitions = random_partitions(Z, seed=0, n_partitions=1, cell_size=200)
    assert partitions.feature[0] == 1
    assert partitions.cut[0] == pytest.approx(5e-4)


def test_neighbouring_numbers_are_divided():
    """No number lies between the two, so the cut is the lower one."""
    Z = np.repeat([1.0, np.nextafter(1.0, 2.0)], [30, 170])[:, None]
    partitions = random_partitions(Z, seed=0, n_partitions=1, cell_size=190)
    assert partitions.cut[0] == 1.0
    assert np.bincount(partitions.cells_of(Z)[:, 0]).tolist() == [30, 170]


def test_too_small_a_cell_size_is_refused():
    with pytest.raises(ValueError, match=r"cell_size must be an integer >= 8; got 7"):
        random_partitions(np.zeros((3, 1)), seed=0, cell_size=7)


@given(st.integers(1, 60), st.floats(0.0, 1.0), st.integers(0, 999), st.booleans())
def test_a_quantile_is_that_of_numpy(n, share, seed, ties):
    rng = np.random.default_rng(seed)
    column = rng.integers(0, 4, n).astype(float) if ties else rng.normal(size=n)
    np.testing.assert_allclose(_quantile(column, share), np.quantile(column, share), rtol=1e-12, atol=1e-14)
