import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge._permutation import SORTED_BELOW, shuffle


@given(st.integers(1, 5000), st.integers(0, 2**63), st.integers(0, 10_000))
def test_it_is_a_permutation(n, seed, stream):
    assert np.array_equal(np.sort(shuffle(np.arange(n), n, seed, stream)), np.arange(n))


@given(st.integers(1, 5000), st.data())
def test_any_place_can_be_told_without_the_others(n, data):
    slots = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=5))
    assert np.array_equal(shuffle(slots, n, 3, 1), shuffle(np.arange(n), n, 3, 1)[slots])


def test_large_permutations_work_in_blocks():
    n = 100_003
    assert np.array_equal(np.sort(shuffle(np.arange(n), n, 5, 2)), np.arange(n))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_small_permutations_are_uniform(n):
    draws = 20_000
    codes = [tuple(shuffle(np.arange(n), n, seed, 1)) for seed in range(draws)]
    _, counts = np.unique(codes, axis=0, return_counts=True)
    cells = math.factorial(n)
    expected = draws / cells
    chi2 = ((counts - expected) ** 2 / expected).sum() + expected * (cells - len(counts))
    assert chi2 < cells - 1 + 5 * math.sqrt(2 * (cells - 1))


@pytest.mark.parametrize("n", [SORTED_BELOW + 1, 2000, 40_000])
def test_places_of_pairs_are_uniform_in_large_permutations(n):
    """Neighbouring slots' places, mod 7, over seeds: all 49 pairs equally often."""
    draws = 5000
    pairs = np.array([shuffle([10, 11], n, seed, 1) % 7 for seed in range(draws)])
    counts = np.bincount(pairs[:, 0] * 7 + pairs[:, 1], minlength=49)
    chi2 = ((counts - draws / 49) ** 2 / (draws / 49)).sum()
    assert chi2 < 48 + 5 * math.sqrt(2 * 48)


def test_streams_and_seeds_differ():
    base = shuffle(np.arange(100), 100, 0, 0)
    assert not np.array_equal(base, shuffle(np.arange(100), 100, 0, 1))
    assert not np.array_equal(base, shuffle(np.arange(100), 100, 1, 0))
