import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.linalg import _tridiagonal_compiled
from skewridge.linalg.cholesky import solve_path, tridiagonalise
from tests import naive
from tests.linalg import oracle


def random_node(n, weighted, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, 2)), rng.normal(size=n)
    weights = rng.random(n) + 0.3 if weighted else None
    return naive.gram("matern32", X, X, bandwidth=0.4), y, weights


def brute_force(K, y, penalty, weights):
    """(coef, hat matrix) from an explicit inverse."""
    w = np.ones(len(y)) if weights is None else weights
    inverse = np.linalg.inv(K + penalty * w.sum() * np.diag(1 / w))
    return inverse @ y, K @ inverse


@given(st.integers(1, 30), st.booleans(), st.integers(0, 1000))
def test_a_path_equals_explicit_solves_at_every_penalty(n, weighted, seed):
    K, y, weights = random_node(n, weighted, seed)
    penalties = np.logspace(-5, 1, 7)
    path = solve_path(np.tril(K), y, penalties, weights)
    for p, penalty in enumerate(penalties):
        coef, hat = brute_force(K, y, penalty, weights)
        np.testing.assert_allclose(path.coef[p], coef, rtol=1e-7, atol=1e-9 * np.abs(coef).max())
        np.testing.assert_allclose(path.residual[p], y - hat @ y, atol=1e-9)
        np.testing.assert_allclose(path.unexplained[p], 1 - np.diag(hat), atol=1e-9)
        assert path.trace[p] == pytest.approx(np.trace(hat), abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_equals_refits_without_the_row(weighted):
    """The ridge c = penalty sum w is held fixed, as METHOD defines it."""
    K, y, weights = random_node(15, weighted, 0)
    penalty = 0.01
    w = np.ones(15) if weights is None else weights
    path = solve_path(np.tril(K), y, np.array([penalty]), weights)
    for i in range(15):
        rest = np.arange(15) != i
        coef = np.linalg.solve(K[np.ix_(rest, rest)] + penalty * w.sum() * np.diag(1 / w[rest]), y[rest])
        assert path.left_out[0, i] == pytest.approx(y[i] - K[i, rest] @ coef, abs=1e-9)


@given(st.integers(1, 150), st.booleans(), st.data())
def test_leverages_of_some_rows_are_those_of_all(n, weighted, data):
    K, y, weights = random_node(n, weighted, n)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), unique=True)), dtype=int)
    penalties = np.logspace(-3, 0, 3)
    whole = solve_path(np.tril(K), y, penalties, weights)
    some = solve_path(np.tril(K), y, penalties, weights, rows)
    np.testing.assert_allclose(some.unexplained, whole.unexplained[:, rows], rtol=1e-9)
    np.testing.assert_allclose(some.left_out, whole.left_out[:, rows], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(some.coef, whole.coef, rtol=1e-9, atol=1e-12)


@given(st.integers(1, 40))
def test_tridiagonalisation_is_orthogonal_and_exact(n):
    A = np.random.default_rng(n).normal(size=(n, n))
    A = A + A.T
    matrix = tridiagonalise(np.tril(A))
    T = np.diag(matrix.diagonal) + np.diag(matrix.off, 1) + np.diag(matrix.off, -1)
    Q = matrix.rotate(np.eye(n), transpose=False).T
    np.testing.assert_allclose(Q @ Q.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(Q @ T @ Q.T, A, atol=1e-11)
    np.testing.assert_allclose(matrix.rotate(np.eye(n), transpose=True), Q, atol=1e-12)


@pytest.mark.parametrize("n", [1, 40, 200])  # LAPACK works in blocks above 32
@pytest.mark.parametrize("weighted", [False, True])
def test_a_reduction_leaves_the_upper_triangle_alone(n, weighted):
    """That is where the distances wait for the next bandwidth."""
    K, y, weights = random_node(n, weighted, 3)
    above = np.triu(np.random.default_rng(0).normal(size=(n, n)), 1)
    shared = np.tril(K) + above
    path = solve_path(shared, y, np.logspace(-3, 0, 3), weights)
    np.testing.assert_array_equal(np.triu(shared, 1), above)
    apart = solve_path(np.tril(K), y, np.logspace(-3, 0, 3), weights)
    np.testing.assert_array_equal(path.coef, apart.coef)


def test_the_compiled_solves_equal_their_oracle():
    rng = np.random.default_rng(0)
    n, shifts = 30, np.array([0.1, 1.0, 7.0])
    diagonal, off, z, basis = (
        rng.random(n) + 2.5,
        rng.normal(size=n - 1),
        rng.normal(size=(2, n)),
        rng.normal(size=(n, 4)),
    )
    found = []
    for home in (_tridiagonal_compiled, oracle):
        x, leverage = np.empty((2, 3, n)), np.empty((3, 4))
        pivots, below = home.solve_shifted(diagonal, off, shifts, z, x)
        home.inverse_diagonals(pivots, below, basis, leverage)
        found.append((pivots, below, x, leverage))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    T = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
    for p, shift in enumerate(shifts):
        np.testing.assert_allclose(found[1][2][:, p], np.linalg.solve(T + shift * np.eye(n), z.T).T, rtol=1e-9)
