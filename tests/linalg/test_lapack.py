import numpy as np
import pytest

from skewridge.linalg.cholesky import add_gram


def spread(n):
    A = np.random.default_rng(0).normal(size=(n, n))
    return A @ A.T + np.eye(n)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_a_gram_is_added_to_the_lower_triangle_only(k):
    rng = np.random.default_rng(1)
    a, columns = spread(6), rng.normal(size=(6, k))
    found = add_gram(a.copy(), columns, 0.5)
    np.testing.assert_allclose(np.tril(found), np.tril(a + 0.5 * columns @ columns.T), atol=1e-13)
    np.testing.assert_array_equal(np.triu(found, 1), np.triu(a, 1))


def test_columns_of_a_gram_may_have_factors_of_their_own():
    a, columns, factors = np.zeros((6, 6)), np.random.default_rng(1).normal(size=(6, 3)), np.array([0.5, 0.0, 2.0])
    found = add_gram(a, columns, factors)
    np.testing.assert_allclose(found, np.tril(columns * factors @ columns.T), atol=1e-13)


def test_columns_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="columns of 3 rows are needed"):
        add_gram(np.eye(3), np.ones((2, 1)), 1.0)
