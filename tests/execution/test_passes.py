from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.execution.checkpoint import Checkpoint
from skewridge.execution.chunked import ArrayChunk, Table
from skewridge.execution.context import running, using
from skewridge.execution.passes import (
    BLOCK_ROWS,
    FAN_IN,
    MOST_PIECES,
    blocks_of,
    check_rows,
    extremes,
    map_rows,
    pieces_of,
    sum_rows,
    tree_depth,
    tree_sum,
)
from skewridge.execution.progress import watched

N = 5 * BLOCK_ROWS + 100
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 1))


def chunked(rows, cuts):
    return Table(tuple(ArrayChunk(part) for part in np.split(rows, cuts)), rows.shape[1])


TABLES = [X, chunked(X, [100]), chunked(X, [1, 5000, 5001]), chunked(X, list(range(777, N, 777)))]


def naive_tree(parts):
    """The tree by recursion over levels: neighbours in fours, until one is left."""
    while len(parts) > 1:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = []
        for group in groups:
            total = group[0]
            for part in group[1:]:
                total = total + part
            parts.append(total)
    return parts[0]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_a_tree_sum_is_the_literal_tree(values):
    assert tree_sum(values) == naive_tree(values)
    assert sum(map(Fraction, values)) == tree_sum(map(Fraction, values))


def test_a_tree_sum_leaves_its_parts_as_they_are():
    parts = [np.full(2, float(i)) for i in range(11)]
    assert tree_sum(parts).tolist() == [55.0, 55.0]
    assert [part[0] for part in parts] == list(range(11))


@given(st.integers(1, 2000))
def test_pieces_are_whole_subtrees(n_blocks):
    values = RNG.normal(size=n_blocks).tolist()
    pieces = pieces_of(values)
    assert len(pieces) <= MOST_PIECES
    assert tree_sum([tree_sum(piece) for piece in pieces]) == tree_sum(values)


@pytest.mark.parametrize("n", [1, BLOCK_ROWS, 4 * BLOCK_ROWS, 5 * BLOCK_ROWS, 100 * BLOCK_ROWS])
def test_a_tree_holds_no_more_sums_than_its_depth_and_one(n):
    waiting, most = [0], 0

    class Part:
        def __init__(self, is_sum=False):
            self.is_sum = is_sum
            waiting[0] += is_sum

        def __add__(self, other):
            return Part(True)

        def __iadd__(self, other):
            return self

        def __del__(self):
            waiting[0] -= self.is_sum

    def parts():
        nonlocal most
        for _ in blocks_of(0, n, BLOCK_ROWS):
            most = max(most, waiting[0])
            yield Part()

    tree_sum(parts())
    assert most <= tree_depth(n) + 1


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_come_in_order_with_the_rows_of_every_table(table, n_jobs):
    parts = list(using(n_jobs=n_jobs)(map_rows)(lambda x, y: np.column_stack([x, y]), [table, Y]))
    assert [len(part) for part in parts] == [BLOCK_ROWS] * 5 + [100]
    assert np.array_equal(np.concatenate(parts), np.column_stack([X, Y]))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("ends", [None, [3000, N]])
def test_sums_have_the_same_bits_for_any_chunks_and_threads(table, n_jobs, ends):
    found = using(n_jobs=n_jobs)(sum_rows)(lambda x, y: x.T @ y, [table, Y], ends=ends)
    starts, ends = ([0], [N]) if ends is None else ([0, 3000], ends)
    for total, start, end in zip(found, starts, ends, strict=True):
        parts = [X[a:b].T @ Y[a:b] for a, b in blocks_of(start, end, BLOCK_ROWS)]
        assert np.array_equal(total, naive_tree(parts))


def test_progress_of_a_pass_ends_with_all_blocks():
    told = []
    with watched(lambda *state: told.append(state)), running():
        sum_rows(len, [X], "sums")
    assert told == [("sums", done, 6) for done in range(1, 7)]


@pytest.mark.parametrize("table", TABLES[:2])
def test_extremes_are_those_of_the_array(table):
    assert np.array_equal(extremes(table), [X.min(axis=0), X.max(axis=0)])


def test_a_sum_that_was_interrupted_goes_on_from_its_pieces(tmp_path):
    rows, done = chunked(X, [100]), []

    def task(x, fails=0):
        done.append(len(x))
        if fails and len(done) == fails:
            raise KeyError("the power went")
        return x.sum(axis=0)

    expected = sum_rows(lambda x: x.sum(axis=0), [X])[0]
    with pytest.raises(KeyError):
        using(checkpoint=Checkpoint(tmp_path, {}))(sum_rows)(lambda x: task(x, fails=6), [rows], "fit")
    done.clear()
    again = using(checkpoint=Checkpoint(tmp_path, {}))(sum_rows)
    assert np.array_equal(again(task, [rows], "fit")[0], expected)
    assert len(done) == 2  # the first piece, of four blocks, was kept
    done.clear()
    assert np.array_equal(using(checkpoint=Checkpoint(tmp_path, {}))(sum_rows)(task, [rows], "fit")[0], expected)
    assert not done


@pytest.mark.parametrize(("value", "word"), [(np.nan, "nan"), (-np.inf, "-inf"), (1e200, "1e\\+200")])
def test_bad_rows_are_refused_with_their_place(value, word):
    bad = X.copy()
    bad[3000, 1] = value
    table = Table((ArrayChunk(bad[:2900]), ArrayChunk(bad[2900:])), 3, ("a", "b", "c"))
    with pytest.raises(ValueError, match=f"row 3,000, column 'b' holds {word} \\(row 100 of an array\\)"):
        check_rows(table)
    check_rows(chunked(X, [100]))
