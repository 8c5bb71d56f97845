import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.response.candidates import candidate_rows
from skewridge.response.groups import ALONE, RowGroups, apart, assign_groups, ordered_blocks, row_groups


@given(st.lists(st.integers(0, 8), min_size=2, max_size=40), st.integers(2, 6))
def test_groups_are_dealt_as_a_whole_and_evenly(labels, n_folds):
    groups = np.array(labels)
    folds = assign_groups(groups, np.zeros(len(groups)), n_folds)
    assert all(len(set(folds[groups == group])) == 1 for group in set(labels))
    sizes, largest = np.bincount(folds), np.bincount(groups).max()
    assert sizes.min() > 0
    assert len(sizes) == min(n_folds, len(set(labels)))
    assert sizes.max() - sizes.min() <= largest


def test_groups_of_one_size_share_the_response_out():
    groups, y = np.repeat(np.arange(50), 4), np.repeat(np.linspace(0.0, 1.0, 50), 4)
    folds = assign_groups(groups, y, 5)
    means = [y[folds == fold].mean() for fold in range(5)]
    assert np.ptp(means) < 0.1


@given(st.lists(st.integers(0, 12), min_size=2, max_size=60).filter(lambda ranks: len(set(ranks)) > 1))
def test_blocks_follow_the_order_and_the_later_half_lies_ahead(ranks):
    order = np.array(ranks)
    found = ordered_blocks(order)
    by_order = np.argsort(order, kind="stable")
    assert np.all(np.diff(found.labels[by_order]) >= 0)
    assert all(len(set(found.labels[order == rank])) == 1 for rank in ranks)
    assert 1 <= found.first_ahead <= found.labels.max()
    for rest, here in found.folds(np.zeros(len(order)), 5, np.ones(len(order))):
        assert order[rest].max() < order[here].min()


def test_ten_blocks_of_many_rows():
    found = ordered_blocks(np.random.default_rng(0).permutation(1000))
    assert np.bincount(found.labels).tolist() == [100] * 10
    assert found.first_ahead == 5


def test_rows_on_their_own_are_groups_of_their_own():
    found = row_groups(np.array([3, 3, 1, 2]))
    assert found.labels.tolist() == [0, 0, ALONE, ALONE]
    assert found.n_draws == 3
    assert len(set(apart(found.labels).tolist())) == 3
    assert row_groups(np.arange(5)) is None


def test_one_group_or_one_time_is_refused():
    with pytest.raises(ValueError, match=r"at least two groups.*got one for all 4 rows"):
        row_groups(np.zeros(4, dtype=int))
    with pytest.raises(ValueError, match=r"at least two values.*got one for all 4 rows"):
        ordered_blocks(np.zeros(4, dtype=int))


def test_candidates_are_one_within_their_group_and_groups_share_folds():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (60, 1)).astype(float)  # many rows of equal x, in many groups
    groups = row_groups(np.repeat(np.arange(12), 5)).labels
    found = candidate_rows(X, rng.normal(size=(60, 1)), np.ones(60), "auto", 0, groups=groups)
    pairs = {(x, g) for x, g in zip(X[:, 0], groups, strict=True)}
    assert len(found) == len(pairs)
    for n_folds in (5, 2):
        dealt = found.in_folds(n_folds)
        folds = dealt.folds[dealt.member]
        assert all(len(set(folds[groups == group])) == 1 for group in range(12))
        assert dealt.folds.max() + 1 == n_folds


def test_folds_of_some_rows():
    groups = RowGroups(np.array([0, 0, 1, ALONE]))
    assert groups.holds_several
    assert not RowGroups(np.array([0, 0])).holds_several
    dealt = sorted(here.tolist() for _, here in groups.folds(np.zeros(4), 5, np.ones(4)))
    assert dealt == [[0, 1], [2], [3]]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3)), min_size=2, max_size=30))
def test_a_row_of_weight_two_is_two_rows(rows):
    codes, weights = np.array(rows).T
    copies = np.repeat(np.arange(len(rows)), weights)
    for of in (row_groups, ordered_blocks) if len(set(codes)) > 1 else ():
        one, other = of(codes, weights.astype(float)), of(codes[copies])
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one.labels[copies], other.labels)
            assert one.first_ahead == other.first_ahead
    folds = assign_groups(codes, codes % 2, 3, weights.astype(float))
    np.testing.assert_array_equal(folds[copies], assign_groups(codes[copies], codes[copies] % 2, 3))
