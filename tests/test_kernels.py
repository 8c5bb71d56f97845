import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skewridge.kernels import BANDWIDTH_FREE, KERNELS, Kernel, make_kernel

from . import naive


def some_kernel(name, X, bandwidth=0.7, degree=3):
    return make_kernel(name, X, None if name in BANDWIDTH_FREE else bandwidth, degree)


def naive_gram(kernel, X, Z):
    return naive.gram(
        kernel.name, X, Z, bandwidth=kernel.bandwidth, degree=kernel.degree, low=kernel.low, high=kernel.high
    )


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.random((37, 3)) * 4 - 2, rng.random((23, 3)) * 6 - 3, rng.normal(size=23)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("bandwidth", [0.05, 0.7, 30.0])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_products_equal_the_formula(name, bandwidth, degree, points):
    X, Z, coef = points
    kernel = some_kernel(name, X, bandwidth, degree)
    K = naive_gram(kernel, X, Z)
    np.testing.assert_allclose(kernel.cross(X, Z), K, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(kernel.matvec(X, Z, coef), K @ coef, rtol=0, atol=1e-13 * np.abs(K).max() * 23)
    np.testing.assert_allclose(kernel.gram(X), naive_gram(kernel, X, X), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", KERNELS)
def test_products_cross_tile_borders(name):
    rng = np.random.default_rng(1)
    X, Z, coef = rng.random((150, 2)), rng.random((1100, 2)), rng.normal(size=1100)
    kernel = some_kernel(name, Z)
    np.testing.assert_allclose(kernel.matvec(X, Z, coef), kernel.cross(X, Z) @ coef, atol=1e-11, rtol=0)


@pytest.mark.parametrize("name", KERNELS)
def test_gram_is_symmetric_and_positive_semidefinite(name, points):
    K = some_kernel(name, points[0]).gram(points[0])
    assert np.array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10 * K.max()


@pytest.mark.parametrize("name", KERNELS)
def test_gradient_equals_finite_differences(name, points):
    X, Z, coef = points
    kernel = some_kernel(name, np.vstack([X, Z]))
    step = 1e-6
    expected = np.empty_like(X)
    for f in range(X.shape[1]):
        shift = np.zeros(X.shape[1])
        shift[f] = step
        expected[:, f] = (kernel.matvec(X + shift, Z, coef) - kernel.matvec(X - shift, Z, coef)) / (2 * step)
    np.testing.assert_allclose(kernel.gradient(X, Z, coef), expected, atol=2e-7 * np.abs(expected).max(), rtol=1e-6)


@pytest.mark.parametrize("name", ["matern12", "laplacian"])
def test_gradient_at_a_kink_is_half_way(name):
    x = np.zeros((1, 2))
    assert some_kernel(name, x).gradient(x, x, np.ones(1)).tolist() == [[0.0, 0.0]]


def test_sobolev_gradient_at_a_kink_is_half_way_and_zero_outside():
    X = np.array([[0.0], [2.0]])
    kernel = make_kernel("sobolev", X)
    assert kernel.gradient(np.array([[1.0], [3.0]]), np.array([[1.0]]), np.ones(1)).tolist() == [[0.25], [0.0]]


def test_gradient_crosses_tile_borders():
    rng = np.random.default_rng(1)
    X, Z, coef = rng.random((5, 2)), rng.random((1100, 2)), rng.normal(size=1100)
    kernel = Kernel("gaussian", bandwidth=0.5)
    parts = kernel.gradient(X, Z[:600], coef[:600]) + kernel.gradient(X, Z[600:], coef[600:])
    np.testing.assert_allclose(kernel.gradient(X, Z, coef), parts, atol=1e-11)


@given(arrays(np.float64, 50, elements=st.floats(0, 40)))
def test_the_polynomial_exponential_is_accurate(r):
    kernel = Kernel("matern12", bandwidth=1.0)
    ours = kernel.cross(np.zeros((1, 1)), r[:, None])[0]
    exact = np.array([math.exp(-abs(v)) for v in r])
    np.testing.assert_allclose(ours, exact, rtol=4 * np.finfo(float).eps)


def test_the_exponential_underflows_to_zero():
    kernel = Kernel("gaussian", bandwidth=1.0)
    assert kernel.cross(np.zeros((1, 1)), np.array([[26.7], [1e100], [1e149]])).tolist() == [[0.0, 0.0, 0.0]]


def test_sobolev_clips_new_points_to_the_training_range():
    X = np.array([[1.0], [3.0]])
    kernel = make_kernel("sobolev", X)
    assert kernel.cross(np.array([[-5.0], [9.0]]), X).tolist() == [[1.0, 1.0], [1.0, 2.0]]


def test_sobolev_ignores_a_constant_feature():
    rng = np.random.default_rng(0)
    X = rng.random((6, 1))
    wide = np.column_stack([X, np.full(6, 4.0)])
    assert np.array_equal(make_kernel("sobolev", wide).gram(wide), make_kernel("sobolev", X).gram(X))


def test_aliases_are_scikit_learns():
    from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

    X = np.random.default_rng(0).random((5, 2))
    np.testing.assert_allclose(make_kernel("rbf", X, 0.5).gram(X), rbf_kernel(X, gamma=4), rtol=1e-13)
    np.testing.assert_allclose(make_kernel("laplacian", X, 0.5).gram(X), laplacian_kernel(X, gamma=2), rtol=1e-13)
    assert make_kernel("poly", X).name == "polynomial"


@pytest.mark.parametrize("scale", [1e-200, 1e120])
def test_scale_of_the_features_does_not_matter(scale):
    X = np.random.default_rng(0).random((6, 2))
    expected = make_kernel("matern32", X, 0.5).gram(X)
    np.testing.assert_allclose(make_kernel("matern32", X * scale, 0.5 * scale).gram(X * scale), expected, rtol=1e-12)


def test_read_only_and_strided_points_are_accepted():
    X = np.random.default_rng(0).random((10, 6))[:, ::2]
    X.flags.writeable = False
    kernel = Kernel("gaussian", bandwidth=1.0)
    assert np.array_equal(kernel.gram(X), kernel.gram(X.copy()))


def test_points_of_other_width_are_refused():
    kernel = Kernel("gaussian", bandwidth=1.0)
    with pytest.raises(ValueError, match="points of 3 and of 2 features do not go together"):
        kernel.matvec(np.zeros((4, 3)), np.zeros((5, 2)), np.zeros(5))


@pytest.mark.parametrize("name", KERNELS)
def test_similarities_serve_every_bandwidth(name, points):
    X, Z, _ = points
    kernel = some_kernel(name, X, 0.7)
    S = kernel.similarity_prepared(kernel.prepare(X), kernel.prepare_right(Z))
    for bandwidth in (0.1, 0.7, 5.0):
        other = some_kernel(name, X, bandwidth)
        values = kernel.rescaled(S, other.bandwidth, np.empty_like(S))
        np.testing.assert_allclose(values, other.cross(X, Z), rtol=1e-11, atol=1e-300)


def test_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match=r"kernel must be one of 'gaussian'.*got 'cubic'"):
        make_kernel("cubic", np.zeros((1, 1)))


@pytest.mark.parametrize("n", [1, 5, 32, 33, 100])
@pytest.mark.parametrize("name", KERNELS)
def test_one_matrix_holds_similarities_above_and_the_gram_below(name, n):
    X = np.random.default_rng(n).random((n, 3))
    bandwidth = None if name in BANDWIDTH_FREE else 0.7
    kernel = make_kernel(name, X, bandwidth)
    square = np.empty((n, n))
    diagonal = kernel.similarity_upper(X, square)
    for factor in (1.0, 0.3, 4.0):
        other = make_kernel(name, X, bandwidth and bandwidth * factor)
        kernel.rescaled_below(square, diagonal, other.bandwidth)
        np.testing.assert_allclose(np.tril(square), np.tril(other.gram(X)), rtol=1e-12)
