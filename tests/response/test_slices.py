from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skewridge.response.slices import copies_per_slice, slice_edges, slice_labels, slice_response
from tests import naive

responses = arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, 2.0]))
rules = st.sampled_from(["scott", "sturges", "fd", "log"]) | st.integers(1, 80)

pytestmark = pytest.mark.filterwarnings("ignore:One of")


@given(responses, rules)
def test_every_row_lies_in_its_slice_and_none_is_lost(y, rule):
    slices = slice_response(y, rule)
    assert slices.counts.sum() == len(y)
    assert len(slices) <= max(1, len(y))
    assert slices.edges[0] == y.min()
    assert slices.edges[-1] == y.max()
    assert (np.diff(slices.edges) >= 0).all()
    for value, label in zip(y, slices.labels, strict=True):
        assert slices.edges[label] <= value <= slices.edges[label + 1]
        if len(np.unique(slices.edges)) == len(slices.edges):
            assert label == naive.slice_of(value, slices.edges)


@given(responses, rules, st.integers(1, 5))
def test_copies_are_the_papers(y, rule, inverse_tau):
    slices = slice_response(y, rule, 1 / inverse_tau)
    assert slices.copies.tolist() == naive.copies(slices.counts.tolist(), Fraction(1, inverse_tau))
    assert slices.n_oversampled == sum(n * c for n, c in zip(slices.counts, slices.copies, strict=True))


def test_scott_is_its_formula():
    y = np.random.default_rng(0).lognormal(size=1000)
    width = 3.49 * np.std(y, ddof=1) * 1000 ** (-1 / 3)
    assert len(slice_edges(y, "scott")) - 1 == np.ceil(np.ptp(y) / width)


def test_sturges_and_freedman_diaconis_agree_with_numpy():
    y = np.random.default_rng(0).normal(size=1000)
    assert len(slice_edges(y, "sturges")) == len(np.histogram_bin_edges(y, "sturges"))
    assert len(slice_edges(y, "fd")) == len(np.histogram_bin_edges(y, "fd"))


def test_fd_falls_back_to_scott_when_the_iqr_is_zero():
    y = np.r_[np.zeros(90), np.linspace(1, 9, 10)]
    assert np.array_equal(slice_edges(y, "fd"), slice_edges(y, "scott"))


def test_log_rule_is_scott_on_the_asinh_scale():
    y = np.random.default_rng(0).lognormal(sigma=2, size=2000)
    median = np.median(y)
    mad = np.median(np.abs(y - median))
    z = np.arcsinh((y - median) / mad)
    expected = np.bincount(slice_labels(z, slice_edges(z, "scott")))
    assert np.array_equal(slice_response(y, "log").counts, expected)


def test_log_rule_with_more_than_half_of_the_rows_equal():
    y = np.r_[np.zeros(900), np.random.default_rng(0).lognormal(sigma=2, size=100)]
    slices = slice_response(y, "log")
    assert len(slices) > 2
    assert slices.counts.sum() == 1000


def test_log_rule_survives_extreme_ratios():
    y = np.r_[np.linspace(1, 2, 99) * 1e-200, 1e140]
    slices = slice_response(y, "log")
    assert np.isfinite(slices.edges).all()
    assert slices.counts.sum() == 100


def test_explicit_edges_of_any_spacing_are_kept():
    slices = slice_response(np.array([0.0, 1.0, 5.0, 9.0]), [-np.inf, 1.0, 2.0, 9.0])
    assert slices.edges.tolist() == [-np.inf, 1.0, 2.0, 9.0]
    assert slices.counts.tolist() == [1, 1, 2]


def test_explicit_edges_that_miss_a_row_are_refused():
    with pytest.raises(ValueError, match=r"must cover every response.*\[0, 5\].*\[0, 9\].*Widen"):
        slice_edges(np.array([0.0, 9.0]), [0.0, 5.0])


def test_constant_y_is_one_slice():
    for rule in ("scott", "sturges", "fd", "log", 7):
        slices = slice_response(np.full(5, 3.0), rule)
        assert slices.counts.tolist() == [5]
        assert slices.copies.tolist() == [1]


@pytest.mark.parametrize("rule", ["scott", "sturges", "fd", "log", 3])
def test_a_range_of_the_least_numbers_there_are_is_one_slice(rule):
    assert slice_response(np.array([0.0] + [5e-324] * 8), rule).counts.tolist() == [9]


def test_ties_and_integers_go_to_the_upper_slice():
    assert slice_response(np.array([0, 1, 1, 2, 2, 2], dtype=float), 2).counts.tolist() == [1, 5]


def test_single_extreme_row_gets_a_slice_of_its_own_and_all_copies():
    y = np.r_[np.linspace(0, 1, 999), 50.0]
    slices = slice_response(y, 10)
    assert slices.counts.tolist() == [999] + [0] * 8 + [1]
    assert slices.copies.tolist() == [1] + [0] * 8 + [999]


def test_left_skew_mirrors_right_skew():
    y = np.random.default_rng(1).lognormal(size=500)
    assert np.array_equal(slice_response(-y).counts, slice_response(y).counts[::-1])
    assert np.array_equal(slice_response(-y).copies, slice_response(y).copies[::-1])


def test_two_sided_skew_copies_both_tails():
    y = np.random.default_rng(1).standard_t(3, size=2000)
    slices = slice_response(y)
    assert slices.copies[0] > 100
    assert slices.copies[-1] > 100
    assert slices.copies[np.argmax(slices.counts)] == 1


def test_number_of_slices_is_capped_by_the_rows():
    y = np.random.default_rng(0).random(12_000)
    assert len(slice_response(y[:7], 100)) == 7
    assert len(slice_response(y, 11_000)) == 10_000


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e140])
def test_counts_do_not_depend_on_the_scale_of_y(scale):
    y = np.random.default_rng(0).lognormal(size=300)
    for rule in ("scott", "fd", "log", "sturges"):
        assert np.array_equal(slice_response(y * scale, rule).counts, slice_response(y, rule).counts)


def test_heavy_tail_warns_and_names_the_log_rule():
    y = np.r_[np.random.default_rng(0).random(990), np.full(10, 1e6)]
    with pytest.warns(UserWarning, match=r"holds 99.0% of the rows.*slices='log'"):
        slice_response(y)


def test_classical_single_slice_does_not_warn(recwarn):
    slice_response(np.arange(10.0), 1)
    assert not recwarn.list


def test_thirds_are_exact():
    counts = np.array([9, 3, 1])
    assert copies_per_slice(counts, 1 / 3).tolist() == [1, 1, 3]
    assert copies_per_slice(np.array([3 * 10**9, 1]), 1 / 3).tolist() == [1, 10**9]


@pytest.mark.parametrize("rule", ["scot", [1.0], [2.0, 1.0], [[0.0, 1.0]], [0.0, np.nan], None, ["a", "b"], 2.5])
def test_unknown_rules_are_refused(rule):
    with pytest.raises(ValueError, match="slices must be"):
        slice_edges(np.arange(5.0), rule)


def test_zero_slices_are_refused():
    with pytest.raises(ValueError, match=r"slices must be an integer >= 1.*got 0"):
        slice_edges(np.arange(5.0), 0)


def test_boolean_slices_are_refused():
    with pytest.raises((TypeError, ValueError), match="slices must be"):
        slice_edges(np.arange(5.0), True)


@pytest.mark.parametrize("tau", [-0.1, np.nan, np.inf, 101])
def test_oversampling_out_of_range_is_refused(tau):
    with pytest.raises(ValueError, match=r"oversampling must be a number in \[0, 100\]"):
        copies_per_slice(np.array([1]), tau)


@pytest.mark.parametrize("y", [[], [np.nan], [np.inf], [[1.0]]])
def test_bad_responses_are_refused(y):
    with pytest.raises(ValueError, match="y must be a one-dimensional array of finite numbers"):
        slice_edges(np.array(y), "scott")
