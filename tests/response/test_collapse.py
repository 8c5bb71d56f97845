import numpy as np
import pytest

from skewridge.response.candidates import collapse_rows


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 3, (60, 2)).astype(float), rng.normal(size=(60, 1))
    return X, Y, rng.integers(1, 4, 60).astype(float)


def test_rows_are_collapsed_to_their_means(rows):
    X, Y, w = rows
    found = collapse_rows(X, Y, w, seed=3)
    assert len(found) == len(np.unique(X, axis=0))
    np.testing.assert_array_equal(X[found.rows][found.member], X)
    for g in range(len(found)):
        same = found.member == g
        assert found.frequencies[g] == w[same].sum()
        np.testing.assert_allclose(found.Y[g], np.average(Y[same], axis=0, weights=w[same]))
        assert found.totals(Y[:, 0])[g] == pytest.approx(w[same] @ Y[same, 0])


def test_the_order_of_rows_does_not_matter(rows):
    X, Y, w = rows
    order = np.random.default_rng(1).permutation(60)
    here = collapse_rows(X, Y, w, seed=3)
    there = collapse_rows(X[order], Y[order], w[order], seed=3)
    np.testing.assert_array_equal(X[here.rows], X[order][there.rows])
    for name in ("frequencies", "Y"):
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
