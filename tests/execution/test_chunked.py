from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.execution.chunked import ArrayChunk, Table, held_numbers, kept_rows, prefetch, through

ROWS = np.random.default_rng(0).normal(size=(40, 3))


class Counted(ArrayChunk):
    """A chunk that counts how often it is read."""

    reads = 0

    def read(self):
        Counted.reads += 1
        return super().read()


def table_of(cuts, **more):
    Counted.reads = 0
    return Table(tuple(Counted(part) for part in np.split(ROWS, sorted(cuts)) if len(part)), 3, **more)


chunkings = st.lists(st.integers(1, 39), max_size=6)


@given(chunkings, st.lists(st.integers(0, 39), max_size=30))
def test_rows_by_number_are_those_of_the_array_in_any_order_and_with_repeats(cuts, rows):
    rows = np.array(rows, dtype=np.int64)
    assert np.array_equal(table_of(cuts)[rows], ROWS[rows])


@given(chunkings, st.sets(st.integers(0, 40), min_size=2))
def test_blocks_are_those_of_the_array_and_no_chunk_is_read_twice(cuts, edges):
    edges = sorted(edges)
    table = table_of(cuts)
    spans = list(pairwise(edges))
    for block, (first, last) in zip(table.blocks(spans), spans, strict=True):
        assert np.array_equal(block, ROWS[first:last])
    assert Counted.reads <= len(table.chunks)


@given(chunkings)
def test_a_table_has_the_arrays_shape_and_rows(cuts):
    table = table_of(cuts)
    assert (table.shape, len(table)) == ((40, 3), 40)
    assert np.array_equal(table.load(), ROWS)


def test_transforms_follow_each_other_wherever_rows_are_read():
    table = through(np.sqrt, through(np.abs, table_of([7, 30])))
    expected = np.sqrt(np.abs(ROWS))
    assert np.array_equal(table.load(), expected)
    assert np.array_equal(table[np.array([39, 3])], expected[[39, 3]])
    assert np.array_equal(np.concatenate(list(table.blocks([(0, 25), (25, 40)]))), expected)
    assert np.array_equal(through(np.sqrt, np.abs(ROWS)), expected)


def test_prefetched_rows_are_not_read_again_also_through_a_transform():
    table = table_of([7, 30])
    table.prefetch(np.array([35, 2, 8]))
    before = Counted.reads
    assert np.array_equal(table[np.array([8, 35])], ROWS[[8, 35]])
    assert np.array_equal(through(np.abs, table)[np.array([2])], np.abs(ROWS[[2]]))
    assert Counted.reads == before
    assert np.array_equal(table[np.array([2, 9])], ROWS[[2, 9]])
    assert Counted.reads > before
    prefetch(ROWS, np.array([1]))  # nothing to do


def test_rows_are_taken_by_whatever_a_table_is_told_to_take_them_by():
    asked = []

    def take(requests):
        asked.extend(len(local) for _, local in requests)
        return [chunk.read()[local] for chunk, local in requests]

    assert np.array_equal(table_of([10], take=take)[np.array([1, 5, 20])], ROWS[[1, 5, 20]])
    assert asked == [2, 1]


def test_a_row_is_found_by_its_chunk():
    assert table_of([10]).where(12) == "row 2 of an array"


def test_chunks_of_other_rows_have_another_identity():
    one, two = ArrayChunk(ROWS), ArrayChunk(ROWS + 1)
    assert one.identity == ArrayChunk(ROWS.copy()).identity != two.identity
    assert one.handle is one


def test_kept_rows_are_cut_from_arrays_only():
    kept = np.arange(39)
    assert kept_rows(ROWS, np.arange(40)) is ROWS
    assert np.array_equal(kept_rows(ROWS, kept), ROWS[:39])
    with pytest.raises(ValueError, match=r"1 rows have a sample_weight of 0 .* filter them"):
        kept_rows(table_of([5]), kept)


def test_numbers_that_rows_take_in_memory():
    assert (held_numbers(ROWS), held_numbers(table_of([30]))) == (120, 2 * 3 * 30)
