import numpy as np
import pytest

from skewridge.linalg.cholesky import (
    LEAF,
    NotPositiveDefinite,
    inverse_factor,
    inverse_solve,
    lower_inverse,
    lower_multiply,
    squared_columns,
)

SIZES = [1, 2, 7, LEAF, LEAF + 1, LEAF + 2, 130, 391]


def spread(n):
    A = np.random.default_rng(0).normal(size=(n, n))
    return A @ A.T / n + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-3)])
def test_the_inverse_factor_fills_the_lower_triangle_only(n, dtype, tolerance):
    a = spread(n)
    work = (np.tril(a) + np.triu(np.full((n, n), 7.0), 1)).astype(dtype)
    found = inverse_factor(work)
    expected = np.linalg.inv(np.linalg.cholesky(a))
    np.testing.assert_allclose(np.tril(found), expected, atol=tolerance * np.abs(expected).max())
    assert np.all(found[np.triu_indices(n, 1)] == 7.0)


@pytest.mark.parametrize("n", SIZES)
def test_systems_and_the_inverses_diagonal_from_the_inverse_factor(n):
    a, rows = spread(n), np.random.default_rng(1).normal(size=(3, n))
    inverse = inverse_factor(a.copy())
    np.testing.assert_allclose(squared_columns(inverse), np.diag(np.linalg.inv(a)), rtol=1e-10)
    np.testing.assert_allclose(inverse_solve(inverse, rows.copy()), np.linalg.solve(a, rows.T).T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("transpose", [False, True])
def test_rows_are_multiplied_by_the_lower_triangle_alone(transpose):
    L, rows = np.random.default_rng(2).normal(size=(9, 9)), np.random.default_rng(3).normal(size=(2, 9))
    lower = np.tril(L).T if transpose else np.tril(L)
    np.testing.assert_allclose(lower_multiply(L, rows.copy(), transpose), rows @ lower.T, atol=1e-13)


@pytest.mark.parametrize("minor", [1, 60, LEAF + 5, 200])
def test_the_first_minor_that_is_not_positive_is_named(minor):
    a = np.eye(201)
    a[minor - 1, minor - 1] = -1.0
    with pytest.raises(NotPositiveDefinite, match=f"leading minor {minor} of 201 is not positive") as caught:
        inverse_factor(a)
    assert caught.value.minor == minor


def test_rows_of_another_length_are_refused():
    with pytest.raises(ValueError, match="rows as long as the factor's"):
        lower_multiply(np.eye(3), np.ones((1, 2)))


@pytest.mark.parametrize("n", SIZES)
def test_a_lower_triangle_is_inverted_in_place(n):
    L = np.tril(np.random.default_rng(4).normal(size=(n, n)) / n, -1) + np.diag(np.linspace(0.5, 1.5, n))
    found = lower_inverse(L + np.triu(np.full((n, n), 7.0), 1))
    np.testing.assert_allclose(np.tril(found), np.linalg.inv(L), atol=1e-12)
    assert np.all(found[np.triu_indices(n, 1)] == 7.0)


def test_a_factor_with_a_pivot_of_zero_has_no_inverse():
    L = np.eye(150)
    L[99, 99] = 0.0
    with pytest.raises(NotPositiveDefinite, match="pivot 100 of 150 is 0"):
        lower_inverse(L)
