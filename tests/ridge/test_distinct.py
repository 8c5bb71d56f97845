import numpy as np
import pytest

from skewridge.kernels import Kernel
from skewridge.ridge.distinct import collapse_rows
from tests.ridge.test_leave_one_out import left_out


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 3, (60, 2)).astype(float), rng.normal(size=(60, 2))
    return X, Y, rng.integers(1, 4, 60).astype(float)


def test_rows_are_collapsed_to_their_means(rows):
    X, Y, w = rows
    found = collapse_rows(X, Y, w, seed=3)
    assert len(found) == len(np.unique(X, axis=0))
    np.testing.assert_array_equal(X[found.rows][found.member], X)
    within = np.zeros(2)
    for g in range(len(found)):
        same = found.member == g
        assert found.frequencies[g] == w[same].sum()
        np.testing.assert_allclose(found.Y[g], np.average(Y[same], axis=0, weights=w[same]))
        within += w[same] @ (Y[same] - found.Y[g]) ** 2
        assert found.totals(Y[:, 0])[g] == pytest.approx(w[same] @ Y[same, 0])
    np.testing.assert_allclose(found.within, within)


def test_the_order_of_rows_does_not_matter(rows):
    X, Y, w = rows
    order = np.random.default_rng(1).permutation(60)
    here = collapse_rows(X, Y, w, seed=3)
    there = collapse_rows(X[order], Y[order], w[order], seed=3)
    np.testing.assert_array_equal(X[here.rows], X[order][there.rows])
    for name in ("frequencies", "Y", "within"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
    np.testing.assert_array_equal(here.member[order], there.member)


def test_weights_equal_copies(rows):
    X, Y, w = rows
    copies = np.repeat(np.arange(60), w.astype(int))
    here = collapse_rows(X, Y, w, seed=3)
    there = collapse_rows(X[copies], Y[copies], np.ones(len(copies)), seed=3)
    np.testing.assert_array_equal(X[here.rows], X[copies][there.rows])
    np.testing.assert_array_equal(here.frequencies, there.frequencies)
    np.testing.assert_allclose(here.Y, there.Y, atol=1e-14)
    np.testing.assert_allclose(here.within, there.within, rtol=1e-12)


def test_the_response_does_not_move_rows(rows):
    X, Y, w = rows
    here, there = collapse_rows(X, Y, w, seed=3), collapse_rows(X, Y * 5, w, seed=3)
    np.testing.assert_array_equal(here.rows, there.rows)
    other = collapse_rows(X, Y, w, seed=4)
    assert not np.array_equal(X[here.rows], X[other.rows])


def test_rows_that_are_distinct_stay_as_they_are():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 1))
    found = collapse_rows(X, Y, np.full(50, 0.3), seed=0)
    np.testing.assert_array_equal(found.Y[found.member], Y)
    assert found.within == 0.0


def test_row_errors_equal_leaving_all_copies_out_together(rows):
    X, Y, _ = rows
    found, kernel = collapse_rows(X, Y, np.ones(60), seed=0), Kernel("matern32", bandwidth=2.0)
    Z = X[found.rows]
    errors = left_out(kernel, Z, found.Y, 0.3, frequencies=found.frequencies).errors
    expected = left_out(kernel, X, Y, 0.3, groups=found.member).errors
    own = found.row_errors(errors, Y)
    np.testing.assert_allclose(own, expected, atol=1e-11)
    split = found.frequencies @ errors**2 + found.within
    np.testing.assert_allclose(np.sum(own**2, axis=0), split, rtol=1e-12)
