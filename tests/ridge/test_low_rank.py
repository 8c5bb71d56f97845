import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.execution.blas import one_blas_thread
from skewridge.execution.context import using
from skewridge.execution.passes import BLOCK_ROWS, predict_rows
from skewridge.kernels import make_kernel
from skewridge.linalg.cholesky import NotPositiveDefinite, cholesky_solve, congruence, lower_solve, pivoted_cholesky
from skewridge.ridge.low_rank import (
    TOLERANCE,
    Sums,
    make_basis,
    ridge_factor,
    ridge_path,
    subspace,
    sum_blocks,
    sum_features,
)
from tests import naive

KERNELS = ["matern12", "matern32", "gaussian", "laplacian", "polynomial", "sobolev"]


def rows_of(n, seed=0, outputs=1, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    Y = np.column_stack([np.sin((4 + p) * X[:, 0]) + X[:, 1] for p in range(outputs)]) + 0.1 * rng.normal(size=(n, 1))
    return X, Y, rng.random(n) + 0.3 if weighted else np.ones(n)


def fitted(kernel, centers, X, Y, w, penalty, intercepts=0.0):
    """(basis, sums, factor, beta)."""
    basis = make_basis(kernel, centers)
    sums = sum_features(basis, X, Y, w)
    factor = ridge_factor(sums.gram.copy(), penalty * sums.n_rows)
    return basis, sums, factor, cholesky_solve(factor, sums.moments(np.full(Y.shape[1], intercepts)))


def closed_form(K_NC, K_CC, Y, w, penalty):
    """a = (K_NC' w K_NC + N penalty K_CC)^-1 K_NC' w Y, one column an output."""
    return np.linalg.solve(K_NC.T @ (w[:, None] * K_NC) + w.sum() * penalty * K_CC, K_NC.T @ (w[:, None] * Y))


def span(X):
    return {"low": X.min(axis=0), "high": X.max(axis=0)}


@pytest.mark.parametrize("name", KERNELS)
def test_features_are_orthonormal_in_the_kernels_space(name):
    X, _, _ = rows_of(40)
    kernel = make_kernel(name, X, None if name in ("polynomial", "sobolev") else 0.5)
    centers = X[:12]
    K = naive.gram(name, centers, centers, bandwidth=0.5, **span(X))
    basis = make_basis(kernel, centers)
    F = basis.features(centers)
    np.testing.assert_allclose(F @ F.T, K, atol=1e-8 * K.max())
    K_kept = K[np.ix_(basis.kept, basis.kept)]
    np.testing.assert_allclose(basis.factor @ basis.factor.T, K_kept, atol=1e-12 * K.max())
    np.testing.assert_array_equal(basis.centers, centers[basis.kept])


def test_features_and_duals_are_two_ways_to_say_one_function():
    X, _, _ = rows_of(30)
    basis = make_basis(make_kernel("matern32", X, 0.5), X[:9])
    beta = np.random.default_rng(1).normal(size=(3, 9))
    values = predict_rows(basis.kernel.product(basis.centers, basis.dual(beta)), X)
    np.testing.assert_allclose(values, basis.features(X) @ beta.T, atol=1e-11)
    squares = np.einsum("pi,ij,pj->p", basis.dual(beta), basis.kernel.gram(basis.centers), basis.dual(beta))
    np.testing.assert_allclose(squares, np.sum(beta**2, axis=1), rtol=1e-10)


@pytest.mark.parametrize("name", ["matern12", "matern32", "laplacian"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("penalty", [1e-5, 1e-2])
def test_a_fit_is_its_closed_form(name, weighted, outputs, penalty):
    X, Y, w = rows_of(60, 2, outputs, weighted)
    basis, _, _, beta = fitted(make_kernel(name, X, 0.4), X[:15], X, Y, w, penalty)
    prediction = predict_rows(basis.kernel.product(basis.centers, basis.dual(beta)), X)
    K_NC, K_CC = (naive.gram(name, Z, X[:15], bandwidth=0.4) for Z in (X, X[:15]))
    np.testing.assert_allclose(prediction, K_NC @ closed_form(K_NC, K_CC, Y, w, penalty), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_as_centres_are_exact_kernel_ridge(weighted):
    X, Y, w = rows_of(40, 3, weighted=weighted)
    basis, _, _, beta = fitted(make_kernel("matern32", X, 0.4), X, X, Y, w, 1e-3)
    K = naive.gram("matern32", X, X, bandwidth=0.4)
    expected = K @ naive.solve(K, Y, 1e-3, w)
    np.testing.assert_allclose(basis.features(X) @ beta.T, expected, atol=1e-8)


def test_a_row_repeated_is_a_row_of_its_weight():
    X, Y, _ = rows_of(50, 4)
    times = np.random.default_rng(0).integers(1, 5, 50)
    kernel = make_kernel("matern32", X, 0.4)
    _, _, _, beta = fitted(kernel, X[:10], X, Y, times.astype(float), 1e-3)
    which = np.repeat(np.arange(50), times)
    _, _, _, again = fitted(kernel, X[:10], X[which], Y[which], np.ones(len(which)), 1e-3)
    np.testing.assert_allclose(beta, again, rtol=1e-9, atol=1e-10)


def test_sums_are_sums_over_rows():
    X, Y, w = rows_of(70, 5, outputs=2, weighted=True)
    basis = make_basis(make_kernel("matern32", X, 0.4), X[:10])
    sums = sum_features(basis, X, Y, w)
    gram, cross, inner = np.zeros((10, 10)), np.zeros((10, 3)), np.zeros((3, 3))
    for f, y, weight in zip(basis.features(X), Y, w, strict=True):
        target = np.array([*y, 1.0])
        gram, cross = gram + weight * np.outer(f, f), cross + weight * np.outer(f, target)
        inner += weight * np.outer(target, target)
    np.testing.assert_allclose(sums.gram, gram, atol=1e-11)
    np.testing.assert_allclose(sums.cross, cross, atol=1e-11)
    np.testing.assert_allclose(sums.inner, inner, atol=1e-11)
    assert sums.n_rows == pytest.approx(w.sum())
    np.testing.assert_allclose(sums.inner[-1, :-1] / sums.n_rows, np.average(Y, axis=0, weights=w))


@pytest.mark.parametrize("n", [1, BLOCK_ROWS, 2 * BLOCK_ROWS + 17])
def test_sums_and_predictions_are_the_same_bits_for_any_number_of_threads(n):
    X, Y, w = rows_of(n, 6, outputs=2, weighted=True)
    basis = make_basis(make_kernel("matern32", X, 0.4), X[:20])
    dual = np.ones((2, len(basis.kept)))
    with one_blas_thread():
        one, others = (using(n_jobs=j)(sum_features)(basis, X, Y, w) for j in (1, 3))
        for name in ("gram", "cross", "inner"):
            assert np.array_equal(getattr(one, name), getattr(others, name))
        values = [using(n_jobs=j)(predict_rows)(basis.kernel.product(basis.centers, dual), X) for j in (1, 3)]
    assert np.array_equal(*values)


def test_sums_by_fold_are_the_sums_of_the_folds():
    X, Y, w = rows_of(50, 7, weighted=True)
    basis = make_basis(make_kernel("matern32", X, 0.4), X[:10])
    ends = [7, 20, 21, 40, 50]
    parts = sum_blocks(basis.summed_features, X, Y, w, "choosing", ends)
    for start, end, part in zip([0, *ends], ends, parts, strict=False):
        F = basis.features(X[start:end])
        np.testing.assert_allclose(part.gram, F.T @ (w[start:end, None] * F), atol=1e-12)
    whole = sum_features(basis, X, Y, w)
    np.testing.assert_allclose(sum(parts[1:], parts[0]).gram, whole.gram, atol=1e-11)
    np.testing.assert_allclose((whole - parts[0]).cross, sum(parts[2:], parts[1]).cross, atol=1e-11)


@given(st.integers(1, 25), st.integers(1, 3), st.integers(0, 500))
def test_a_ridge_path_equals_explicit_solves(r, outputs, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(r + 3, r))
    moments, ridges = rng.normal(size=(outputs, r)), np.logspace(-4, 2, 5)
    path = ridge_path((A.T @ A).copy(), moments, ridges)
    assert path.shape == (5, outputs, r)
    for c, beta in zip(ridges, path, strict=True):
        expected = np.linalg.solve(A.T @ A + c * np.eye(r), moments.T).T
        np.testing.assert_allclose(beta, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
        factor = ridge_factor(A.T @ A, c)
        np.testing.assert_allclose(
            cholesky_solve(factor, moments.copy()), expected, rtol=1e-6, atol=1e-8 * np.abs(beta).max()
        )


@given(st.integers(0, 200), st.floats(-3, 3))
def test_errors_from_sums_are_errors_from_residuals(seed, intercept):
    X, Y, w = rows_of(40, seed, outputs=2, weighted=True)
    basis = make_basis(make_kernel("matern12", X, 0.5), X[:8])
    sums, F = sum_features(basis, X, Y, w), basis.features(X)
    betas = np.random.default_rng(seed).normal(size=(4, 2, 8))
    intercepts = np.array([intercept, 1.0])
    residual = Y[None] - intercepts - np.einsum("nr,qpr->qnp", F, betas)
    squares = np.einsum("n,qnp->qp", w, residual**2)
    found, plain = sums.errors(betas, intercepts)
    np.testing.assert_allclose(found, squares, rtol=1e-9)
    np.testing.assert_allclose(plain, np.einsum("n,qnp->qp", w, residual), atol=1e-9)
    np.testing.assert_allclose(sums.moments(intercepts), (F.T @ (w[:, None] * (Y - intercepts))).T, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_factor_gives_the_hat_matrix(weighted):
    X, Y, w = rows_of(50, 8, weighted=weighted)
    basis, _, factor, beta = fitted(make_kernel("matern32", X, 0.4), X[:12], X, Y, w, 1e-3)
    K_NC, K_CC = (naive.gram("matern32", Z, X[:12], bandwidth=0.4) for Z in (X, X[:12]))
    hat = K_NC @ closed_form(K_NC, K_CC, np.eye(50), w, 1e-3)  # the fits to unit responses
    F = basis.features(X)
    np.testing.assert_allclose(F @ cholesky_solve(factor, F.copy()).T * w, hat, atol=1e-9)
    np.testing.assert_allclose(basis.features(X) @ beta.T, hat @ Y, atol=1e-8)


def test_a_subspace_is_spanned_by_the_centres_it_is_of():
    X, Y, w = rows_of(60, 9)
    kernel = make_kernel("matern32", X, 0.4)
    union = make_basis(kernel, X[:20])
    T = subspace(union, X[5:12])
    np.testing.assert_allclose(T @ T.T, np.eye(7), atol=1e-10)
    own = sum_features(make_basis(kernel, X[5:12]), X, Y, w)
    whole = sum_features(union, X, Y, w)
    inside = Sums(T @ whole.gram @ T.T, T @ whole.cross, whole.inner)
    fits = [cholesky_solve(ridge_factor(s.gram, 0.05), s.moments(np.zeros(1))) for s in (own, inside)]
    values = [make_basis(kernel, X[5:12]).features(X) @ fits[0].T, union.features(X) @ T.T @ fits[1].T]
    np.testing.assert_allclose(*values, atol=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "matern32", "matern52"])
@pytest.mark.parametrize("bandwidth", [5.0, 100.0, 1e4])
@pytest.mark.parametrize("penalty", [1e-12, 1e-6])
def test_nearly_dependent_centres_give_one_fit_in_any_order_and_any_blocks(name, bandwidth, penalty, monkeypatch):
    X, Y, w = rows_of(500, 10)
    X[100:200], Y[100:200] = X[:100], Y[:100]  # repeated rows, also among the centres
    kernel, order = make_kernel(name, X, bandwidth), np.random.default_rng(0).permutation(500)
    predictions = []
    for rows, size in ((np.arange(500), 2048), (order, 2048), (order, 33)):
        monkeypatch.setattr("skewridge.execution.passes.BLOCK_ROWS", size)
        basis, _, _, beta = fitted(kernel, X[80:140], X[rows], Y[rows], w, penalty)
        predictions.append(predict_rows(kernel.product(basis.centers, basis.dual(beta)), X))
    assert np.isfinite(predictions).all()
    assert np.ptp(predictions, axis=0).max() < 1e-6 * Y.std()


def test_a_fit_at_a_wide_bandwidth_still_follows_the_response():
    """Sums of raw kernel values lose all digits here."""
    X, Y, w = rows_of(500, 11)
    basis, _, _, beta = fitted(make_kernel("matern32", X, 100.0), X[:60], X, Y, w, 1e-12, intercepts=Y.mean())
    residual = Y - Y.mean() - basis.features(X) @ beta.T
    assert residual.std() < 0.3 * Y.std()


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 300))
def test_a_pivoted_factor_reveals_the_rank(n, rank, seed):
    A = np.random.default_rng(seed).normal(size=(n, min(n, rank)))
    matrix = A @ A.T
    kept, factor = pivoted_cholesky(matrix.copy(), TOLERANCE)
    assert len(kept) == len(set(kept)) <= min(n, rank)
    np.testing.assert_allclose(factor @ factor.T, matrix[np.ix_(kept, kept)], atol=1e-10 * matrix.max())
    assert np.array_equal(factor, np.tril(factor))
    explained = lower_solve(factor, np.ascontiguousarray(matrix[:, kept]))
    left = np.diag(matrix) - np.sum(explained**2, axis=1)
    assert left.max() <= 10 * TOLERANCE * matrix.diagonal().max()


def test_a_pivoted_factor_takes_the_largest_first_and_drops_repeats():
    matrix = np.diag([1.0, 9.0, 4.0, 0.0])
    kept, factor = pivoted_cholesky(matrix, TOLERANCE)
    assert kept.tolist() == [1, 2, 0]
    assert np.diag(factor).tolist() == [3.0, 2.0, 1.0]
    X = rows_of(10)[0]
    basis = make_basis(make_kernel("matern32", X, 0.5), np.repeat(X, 3, axis=0))
    assert sorted(basis.kept // 3) == list(range(10))


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, -1.0])
def test_a_matrix_without_a_positive_diagonal_is_refused(value):
    with pytest.raises(NotPositiveDefinite, match="the largest diagonal of 2 is"):
        pivoted_cholesky(np.full((2, 2), value), TOLERANCE)


def test_sums_are_whitened_late_only_where_the_penalty_drowns_what_is_lost():
    rng = np.random.default_rng(0)
    X, Y, w = rng.random((3000, 3)), rng.normal(size=(3000, 2)), rng.random(3000) + 0.5
    for bandwidth, penalty, late in ((0.3, 1e-3, True), (0.3, 1e-13, False), (30.0, 1e-3, False)):
        basis = make_basis(make_kernel("matern32", X, bandwidth), X[:80])
        first = sum_features(basis, X, Y, w)
        second = sum_features(basis, X, Y, w, penalty=penalty)
        assert np.array_equal(first.gram, second.gram) != late
        means, ridges = first.inner[-1, :-1] / first.n_rows, np.array([penalty * first.n_rows])
        fits = [ridge_path(s.gram.copy(), s.moments(means), ridges) for s in (first, second)]
        np.testing.assert_allclose(fits[1], fits[0], rtol=1e-7, atol=1e-7 * np.abs(fits[0]).max())
        np.testing.assert_array_equal(first.inner, second.inner)


def test_a_congruence_whitens_on_both_sides():
    rng = np.random.default_rng(0)
    factor = np.tril(rng.random((7, 7))) + 2 * np.eye(7)
    matrix = rng.random((7, 7))
    matrix = matrix + matrix.T
    inverse = np.linalg.inv(factor)
    np.testing.assert_allclose(congruence(factor, matrix.copy()), inverse @ matrix @ inverse.T, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("repeats", [0, 3])
def test_many_centres_have_the_same_span_without_pivots(repeats, monkeypatch):
    X, Y, w = rows_of(80)
    centers = np.vstack([X[:30], X[:repeats]])
    fits = []
    for many in (10**6, 10):
        monkeypatch.setattr("skewridge.ridge.low_rank.MANY", many)
        basis, _, _, beta = fitted(make_kernel("matern32", X, 0.7), centers, X, Y, w, 1e-4)
        assert len(basis.kept) == 30
        fits.append(basis.features(X) @ beta.T)
    np.testing.assert_allclose(*fits, atol=1e-9)
