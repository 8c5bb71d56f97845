import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skewridge._permutation import shuffle
from skewridge.response.allocation import (
    Assignment,
    _expected_kept,
    _normal_kept,
    allocate,
    expected_node_size,
    inclusion_probability,
)
from skewridge.response.slices import ranks_within, slice_response
from tests import naive

pytestmark = pytest.mark.filterwarnings("ignore:One of")

skewed = arrays(np.float64, st.integers(1, 80), elements=st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 5.0, 9.0]))


def keyed_order(seed):
    """The dealing order of a slice's slots that the library's key gives."""
    return lambda j, size: np.argsort(shuffle(np.arange(size), size, seed, j + 1)).tolist()


@given(skewed, st.integers(1, 12), st.integers(1, 12), st.sampled_from([1, 1 / 2, 1 / 5, 3.0]), st.integers(0, 99))
def test_equals_the_literal_algorithm(y, n_slices, k, tau, seed):
    slices = slice_response(y, n_slices, tau)
    seats = np.argsort(np.argsort(shuffle(np.arange(k), k, seed, 0))).tolist()
    expected = naive.deal(y, slices.edges, tau, k, keyed_order(seed), seats)
    assert [rows.tolist() for rows in allocate(slices, k, seed)] == expected


@given(skewed, st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
def test_no_row_is_lost_and_no_node_holds_a_row_twice(y, n_slices, k, seed):
    nodes = allocate(slice_response(y, n_slices), min(k, len(y)), seed)
    assert set(np.concatenate(list(nodes)).tolist()) == set(range(len(y)))
    for rows in nodes:
        assert rows.size > 0
        assert (np.diff(rows) > 0).all()


@given(skewed, st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
def test_copies_are_dealt_evenly(y, n_slices, k, seed):
    slices = slice_response(y, n_slices)
    total = np.zeros(k, dtype=int)
    assignment = Assignment(slices.counts, slices.copies, k, seed)
    for j in slices.occupied.tolist():
        nodes, places = assignment.nodes_of(j, np.arange(slices.counts[j]))
        counts = np.bincount(nodes, minlength=k)
        assert sorted(places) == list(range(slices.counts[j] * slices.copies[j]))
        assert np.ptp(counts) <= 1
        total += counts
    assert np.ptp(total) <= 1


def test_single_copies_are_dealt_with_counts_differing_by_at_most_one():
    y = np.random.default_rng(0).lognormal(size=1003)
    slices = slice_response(y, 30, oversampling=0.0)
    for rows in slices.rows_by_slice():
        held = [np.isin(node, rows).sum() for node in allocate(slices, 7, seed=1)]
        assert max(held) - min(held) <= 1


@given(skewed, st.integers(1, 12), st.integers(1, 12), st.integers(1, 5), st.integers(0, 99))
def test_cap_keeps_as_many_rows_as_it_may(y, n_slices, k, cap, seed):
    slices = slice_response(y, n_slices)
    for full, capped in zip(allocate(slices, k, seed), allocate(slices, k, seed, cap), strict=True):
        assert set(capped.tolist()) <= set(full.tolist())
        held_full = np.bincount(slices.labels[full], minlength=len(slices))
        held = np.bincount(slices.labels[capped], minlength=len(slices))
        assert np.array_equal(held, np.minimum(held_full, cap))


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 40))
def test_inclusion_probability_is_exact(n, c, k):
    pi = inclusion_probability(np.array([n]), np.array([c]), k)[0]
    assert pi == pytest.approx(float(naive.inclusion(n, c, k)), abs=1e-12)


@pytest.mark.parametrize(
    ("n", "c", "k"), [(10**6, 2, 20_000), (5 * 10**6, 2, 100_000), (10**5, 70, 30_000), (3, 999, 50)]
)
def test_inclusion_probability_is_exact_for_large_slices(n, c, k):
    """sum_{i<c} log1p(-q / (M - i)), compensated."""
    M = n * c
    q, r = divmod(M, k)
    present = [-math.expm1(math.fsum(math.log1p(-t / (M - i)) for i in range(c))) for t in (q, q + 1)]
    expected = ((k - r) * present[0] + r * present[1]) / k
    assert inclusion_probability(np.array([n]), np.array([c]), k)[0] == pytest.approx(expected, rel=1e-9)


def test_normal_approximation_of_capped_slices_agrees_with_the_exact_chain():
    n, c, q = np.array([400, 1000, 300]), np.array([5, 2, 7]), np.array([300, 500, 200])
    for cap in (50, 200, 250):
        exact, _ = _expected_kept(n, c, q, cap)
        np.testing.assert_allclose(_normal_kept(n, c, q, cap), exact, rtol=2e-3)


def test_the_limit_formula_is_badly_wrong_for_tiny_slices():
    exact = inclusion_probability(np.array([1]), np.array([100]), 100)[0]
    assert exact == 1.0
    assert 1 - (1 - 1 / 100) ** 100 == pytest.approx(0.634, abs=1e-3)


@pytest.mark.parametrize(
    ("counts", "k", "cap"),
    [
        ([60, 1, 2, 5, 13], 10, None),
        ([60, 1, 2, 5, 13], 10, 2),
        ([40, 7, 0, 3], 25, None),
        ([40, 7, 0, 3], 5, 3),
        ([2500, 30, 1], 40, None),
        ([2500, 30, 1], 40, 20),
    ],
)
def test_inclusion_frequencies_match_the_exact_probability(counts, k, cap):
    y = np.repeat(np.arange(len(counts)) + 0.5, counts)
    slices = slice_response(y, np.arange(len(counts) + 1.0))
    draws = 300
    seen = np.zeros((draws, len(counts)))
    for seed in range(draws):
        rows = allocate(slices, k, seed, cap).rows
        seen[seed] = np.bincount(slices.labels[rows], minlength=len(counts))
    pi = inclusion_probability(slices.counts, slices.copies, k, cap)
    frequency = seen / (k * np.maximum(slices.counts, 1))
    one_event = 1 / (draws * k * np.maximum(slices.counts, 1))  # what the draws can resolve
    error = np.maximum(frequency.std(axis=0, ddof=1) / math.sqrt(draws), one_event)
    assert np.all(np.abs(frequency.mean(axis=0) - pi) <= 4 * error)
    assert expected_node_size(slices, k, cap) == pytest.approx(np.dot(slices.counts, pi))


def test_every_row_of_a_slice_is_equally_likely():
    y = np.repeat([0.5, 1.5], [50, 6])
    slices = slice_response(y, [0.0, 1.0, 2.0])
    draws, k = 400, 20
    seen = np.zeros(len(y))
    for seed in range(draws):
        seen += np.bincount(allocate(slices, k, seed).rows, minlength=len(y))
    pi = inclusion_probability(slices.counts, slices.copies, k)[slices.labels]
    error = np.sqrt(pi * (1 - pi) / (draws * k)) + 1e-12
    assert np.all(np.abs(seen / (draws * k) - pi) <= 4 * error + 1e-9)


def test_one_slice_is_a_random_partition():
    nodes = allocate(slice_response(np.arange(103.0), 1), 10, seed=3)
    assert sorted(np.concatenate(list(nodes)).tolist()) == list(range(103))
    assert np.ptp(nodes.sizes) <= 1


def test_an_allocation_reads_like_a_list():
    nodes = allocate(slice_response(np.arange(10.0), 1), 3, seed=0)
    assert len(nodes) == 3
    assert np.array_equal(nodes[-1], nodes[2])
    assert len(list(nodes)) == 3
    with pytest.raises(IndexError, match="node 3 of an allocation to 3 nodes"):
        nodes[3]


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_a_million_rows_in_seconds_and_under_a_gigabyte():
    code = (
        "import numpy as np; from pathlib import Path; from skewridge.response.allocation import allocate; "
        "from skewridge.response.slices import slice_response; "
        "y = np.random.default_rng(0).lognormal(size=10**6); nodes = allocate(slice_response(y, 200), 1000, 0); "
        "assert len(np.unique(nodes.rows)) == 10**6; "
        "print(*Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[:2])"
    )  # getrusage would tell of the process that started this one, if that was larger
    peak, unit = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout.split()
    assert unit == "kB"
    assert float(peak) < 1e6


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=60),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.one_of(st.none(), st.integers(1, 3)),
    st.lists(st.integers(0, 60), max_size=3),
)
def test_chunks_that_know_the_counts_agree_with_the_allocation(values, n_nodes, tau, cap, cuts):
    slices = slice_response(np.array(values, dtype=float), 4, tau)
    expected = allocate(slices, n_nodes, 3, cap)
    assignment = Assignment(slices.counts, slices.copies, n_nodes, 3, cap)
    ranks, found = ranks_within(slices.labels), []
    for part in filter(len, np.split(np.arange(len(values)), sorted(cuts))):
        rows, nodes, places = assignment.pairs(slices.labels[part], ranks[part])
        found.append(np.column_stack([part[rows], nodes, slices.labels[part[rows]], places]))
    rows, nodes, labels, places = np.concatenate(found).T
    kept = ranks_within(nodes * len(slices) + labels, places) < (np.inf if cap is None else cap)
    for node in range(n_nodes):
        assert sorted(rows[kept & (nodes == node)]) == expected[node].tolist()
