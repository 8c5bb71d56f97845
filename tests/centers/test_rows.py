import numpy as np
import pytest

from skewridge.centers.rows import CenterSettings, collapse, training_rows
from skewridge.response.candidates import candidate_rows


def test_collapsed_squares_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 3, (50, 2)).astype(float), rng.normal(size=(50, 1))
    w = rng.random(50) * (rng.random(50) < 0.8)
    candidates = candidate_rows(X, Y, np.ones(50), "auto", 0)
    f = rng.normal(size=(len(candidates), 1))
    means, weights, within = collapse(candidates, Y, w, np.arange(len(candidates)))
    expected = w @ (Y - f[candidates.member]) ** 2
    np.testing.assert_allclose(weights @ (means - f) ** 2 + within.sum(), expected)


def test_rows_of_their_own_are_themselves():
    X, Y = np.arange(9.0)[:, None], np.arange(9.0)[:, None] ** 2
    candidates = candidate_rows(X, Y, np.ones(9), "auto", 0)
    means, weights, within = collapse(candidates, Y, np.full(9, 0.3), np.arange(9))
    np.testing.assert_array_equal(means, Y[candidates.rows])
    np.testing.assert_array_equal(weights, np.full(9, 0.3))
    assert not within.any()


@pytest.mark.parametrize(("n", "y", "can"), [(9, np.arange(9.0), False), (12, np.ones(12), False), (12, None, True)])
def test_what_can_be_chosen_by(n, y, can):
    X = np.arange(float(n))[:, None]
    Y = (X if y is None else y[:, None]) * 1.0
    rows = training_rows(X, Y, np.ones(n), CenterSettings(), seed=0)
    assert rows.can_choose == can
    np.testing.assert_allclose(rows.Y * rows.units + rows.means, Y)
