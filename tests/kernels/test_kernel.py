import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skewridge.kernels import BANDWIDTH_FREE, KERNELS, Kernel, make_kernel
from skewridge.kernels import kernel as kernel_module
from skewridge.kernels import loops as compiled_loops
from skewridge.kernels.kernel import BLAS_KERNELS, NARROW_KERNELS
from tests import naive
from tests.kernels import oracle


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
    S, values = np.empty((2, len(X), len(Z)))
    compiled_loops().similarity(kernel, kernel.prepare(X), np.ascontiguousarray(kernel.prepare(Z).T), S)
    for bandwidth in (0.1, 0.7, 5.0):
        other = some_kernel(name, X, bandwidth)
        compiled_loops().rescaled(kernel, values, S, kernel.rescaling(other.bandwidth))
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
    left, square, diagonal = kernel.prepare(X), np.empty((n, n)), np.empty(n)
    compiled_loops().similarity_upper(kernel, left, np.ascontiguousarray(left.T), square, diagonal)
    for factor in (1.0, 0.3, 4.0):
        other = make_kernel(name, X, bandwidth and bandwidth * factor)
        compiled_loops().rescaled_below(kernel, square, diagonal, kernel.rescaling(other.bandwidth))
        np.testing.assert_allclose(np.tril(square), np.tril(other.gram(X)), rtol=1e-12)


@pytest.fixture(params=["compiled", "oracle"])
def loops(request, monkeypatch):
    """The compiled loops, and their oracle."""
    if request.param == "oracle":
        oracle.take_the_place_of_the_compiled_loops(monkeypatch)
    return request.param


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [1, 3, 4, 7, 20])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_all_products_equal_the_formula_in_both_precisions(name, d, dtype, rtol, loops):
    rng = np.random.default_rng(d)
    X, Z = (rng.random((20, d)) * 2 - 1).astype(dtype), (rng.random((70, d)) * 2 - 1).astype(dtype)
    coef = rng.normal(size=(2, 70))
    kernel = some_kernel(name, Z.astype(float), 1.5 * np.sqrt(d))
    K = naive_gram(kernel, X.astype(float), Z.astype(float))
    scale = np.abs(K).max()
    assert kernel.cross(X, Z).dtype == dtype
    np.testing.assert_allclose(kernel.cross(X, Z), K, rtol=rtol, atol=rtol * scale)
    product = kernel.product(Z, coef)
    if dtype == np.float32 and name in NARROW_KERNELS:
        product = product.in_single(np.full(2, np.inf))
        assert product.points.dtype == dtype
    np.testing.assert_allclose(product(X), K @ coef.T, rtol=0, atol=rtol * scale * np.abs(coef).sum())
    gram = naive_gram(kernel, Z.astype(float), Z.astype(float))
    np.testing.assert_allclose(kernel.gram(Z), gram, rtol=rtol, atol=rtol * np.abs(gram).max())
    assert (product.norms is not None) == (d == 20 and name in BLAS_KERNELS)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_single_precision_is_used_wherever_points_are(name, offset, scale):
    rng = np.random.default_rng(0)
    Z, coef = rng.random((300, 2)) * 3 + offset, rng.normal(size=(1, 300))
    X = np.vstack([Z[:40] + 0.01, rng.random((10, 2)) * 3 + offset])
    double = some_kernel(name, Z).product(Z, coef)
    single = double.in_single(np.array([scale]))
    assert np.abs(single(X) - double(X)).max() <= 1e-4 * scale
    assert (single.points.dtype == np.float32) == (name in NARROW_KERNELS and scale == 1.0)


def layout(kind, d, rng):
    """Points whose rounding errors differ in size, and in whether they cancel."""
    uniform, side = rng.random((300, d)), np.where(np.arange(300)[:, None] % 2, 100.0, -100.0)
    if kind == "sphere":  # BLAS takes the difference of squared norms of up to 15
        near = np.repeat(rng.normal(size=(150, d)), 2, axis=0) + 0.05 * rng.normal(size=(300, d))
        return 3.8 * near / np.linalg.norm(near, axis=1, keepdims=True)
    return {
        "uniform": uniform * np.sqrt(d),
        "clusters": side + uniform / d,
        "equal columns": side + uniform[:, :1] / d * np.ones(d),
    }[kind]


def least_scale(product):
    """The scale at which a product only just turns to single precision."""
    low, high = 0.0, 100.0 * np.abs(product.coef).sum()
    for _ in range(30):
        middle = 0.5 * (low + high)
        turns = product.in_single(np.array([middle])).points.dtype == np.float32
        low, high = (low, middle) if turns else (middle, high)
    return high


@pytest.mark.parametrize("name", NARROW_KERNELS)
@pytest.mark.parametrize("d", [1, 2, 16, 50])
@pytest.mark.parametrize("kind", ["uniform", "clusters", "equal columns", "sphere"])
def test_single_precision_keeps_its_promise_or_stays_double(name, d, kind):
    rng = np.random.default_rng(d)
    Z = layout(kind, d, rng)
    X = np.vstack([Z, Z + 0.3 / d * rng.normal(size=Z.shape)]).astype(np.float32)
    for coef in (np.ones(300), np.eye(300)[0], rng.normal(size=300)):
        double = Kernel(name, bandwidth=1.0 if kind == "sphere" else 0.7).product(Z, coef[None])
        single = double.in_single(np.array([np.inf]))
        assert single.points.dtype == np.float32
        assert np.abs(single(X) - double(X)).max() <= 1e-4 * least_scale(double)


def test_coefficients_that_cancel_are_predicted_in_single_precision():
    rng = np.random.default_rng(0)
    Z, coef = rng.random((20_000, 3)), rng.normal(size=(1, 20_000))
    product = Kernel("gaussian", bandwidth=0.5).product(Z, coef)
    X = rng.random((200, 3)).astype(np.float32)
    expected = product(X)
    single = product.in_single(expected.std(axis=0))
    assert single.points.dtype == np.float32
    assert np.abs(single(X) - expected).max() <= 1e-5 * expected.std()
    alike = Kernel("gaussian", bandwidth=0.5).product(Z, np.abs(coef))
    assert alike.in_single(expected.std(axis=0)).points.dtype == np.float64
    lone = Kernel("gaussian", bandwidth=1e-3).product(Z, np.eye(1, 20_000))  # its errors do not average
    assert lone.in_single(np.array([3e-2])).points.dtype == np.float64


def test_the_single_exponential_is_accurate():
    kernel, r = Kernel("laplacian", bandwidth=1.0), np.linspace(0, 40, 20_001, dtype=np.float32)
    ours = kernel.cross(np.zeros((1, 1), np.float32), r[:, None])[0]
    np.testing.assert_allclose(ours, np.exp(-r.astype(float)), rtol=1.2 * np.finfo(np.float32).eps)


def test_single_precision_far_away_is_zero():
    Z, far = np.random.default_rng(0).random((300, 2)), np.array([[1e30, 0.0], [0.0, -1e25]])
    for name in NARROW_KERNELS:
        single = some_kernel(name, Z).product(Z, np.ones((1, 300))).in_single(np.array([10.0]))
        assert single.points.dtype == np.float32
        np.testing.assert_array_equal(single(far), np.zeros((2, 1)))


def test_points_far_apart_stay_double():
    Z = np.random.default_rng(0).random((300, 2))
    Z[0] = 1e9  # rounding it loses what its neighbours are apart
    product = Kernel("gaussian", bandwidth=1.0).product(Z, np.ones((1, 300)))
    assert product.in_single(np.array([1.0])).points.dtype == np.float64


@pytest.mark.parametrize("name", KERNELS)
def test_the_compiled_loops_equal_their_oracle(name, points, monkeypatch):
    X, Z, coef = points
    kernel = some_kernel(name, np.vstack([X, Z]))

    left, right, factor = kernel.prepare(X), np.ascontiguousarray(kernel.prepare(Z).T), kernel.rescaling(0.4)

    def everything(loops):
        square, diagonal = np.zeros((len(Z), len(Z))), np.empty(len(Z))
        loops.similarity_upper(kernel, kernel.prepare(Z), right, square, diagonal)
        upper, (similar, out) = square.copy(), np.empty((2, len(X), len(Z)))
        loops.similarity(kernel, left, right, similar)
        loops.rescaled_below(kernel, square, diagonal, factor)
        loops.rescaled(kernel, out, similar, factor)
        pulled = kernel.product(Z, coef[None, :], 0.0).residual_moments(
            X, np.linspace(0.5, 1.5, len(X)), np.ones((len(X), 1))
        )
        slopes = kernel.gradient(X, Z, coef)
        return [
            upper,
            diagonal,
            similar,
            square,
            out,
            slopes,
            pulled / np.abs(pulled).max(),
        ]

    compiled = everything(compiled_loops())
    oracle.take_the_place_of_the_compiled_loops(monkeypatch)
    for ours, theirs in zip(everything(oracle), compiled, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


def test_numba_that_is_switched_off_is_refused():
    code = "import numpy as np; from skewridge.kernels import Kernel; Kernel('gaussian', bandwidth=1.0).gram(np.eye(2))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "skewridge needs loops that numba compiles; unset NUMBA_DISABLE_JIT." in done.stderr


def test_many_features_far_from_the_origin_lose_no_digits():
    rng = np.random.default_rng(0)
    for offset, uses_blas in ((1e6, True), (0.0, True)):
        Z = rng.random((70, 20)) + offset
        kernel = Kernel("matern32", bandwidth=2.0)
        assert (kernel.product(Z, np.ones((1, 70))).norms is not None) == uses_blas
        np.testing.assert_allclose(kernel.gram(Z), naive_gram(kernel, Z, Z), rtol=1e-9)
    Z[0] += 1e4  # one point so far away that norms would drown the others' distances
    assert kernel.product(Z, np.ones((1, 70))).norms is None
    np.testing.assert_allclose(kernel.gram(Z), naive_gram(kernel, Z, Z), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", ["gaussian", "matern12", "matern32", "matern52", "laplacian"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-8])
def test_skipping_keeps_its_bound(name, tolerance, loops):
    rng = np.random.default_rng(0)
    Z, X, coef = rng.random((4000, 2)), rng.random((50, 2)) * 1.2 - 0.1, rng.normal(size=(1, 4000))
    kernel = Kernel(name, bandwidth=0.01)
    product = kernel.product(Z, coef, tolerance)
    assert product.boxes is not None
    whole = kernel.cross(X, Z) @ coef[0]
    gap = np.abs(product(X)[:, 0] - whole).max()
    assert gap <= tolerance * np.abs(coef).sum() + 1e-12
    if tolerance == 1e-3:
        assert gap > 1e-12, "something was skipped"


def test_skipping_is_used_where_it_pays_and_does_not_depend_on_the_other_rows():
    rng = np.random.default_rng(0)
    Z, X, coef = rng.random((4000, 2)), rng.random((300, 2)), rng.normal(size=(1, 4000))
    assert Kernel("gaussian", bandwidth=1.0).product(Z, coef).boxes is None
    assert Kernel("gaussian", bandwidth=0.02).product(Z, coef, tolerance=0.0).boxes is None
    assert Kernel("gaussian", bandwidth=0.02).product(Z[:500], coef[:, :500]).boxes is None
    assert Kernel("polynomial", degree=2).product(Z, coef).boxes is None
    product = Kernel("gaussian", bandwidth=0.02).product(Z, coef)
    assert product.boxes is not None
    assert sorted(map(tuple, product.points.T)) == sorted(map(tuple, Z / 0.02))
    together = product(X)
    assert np.array_equal(np.vstack([product(x[None]) for x in X]), together)


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("single", [False, True])
def test_rows_one_by_one_give_what_all_give_together(d, single):
    rng = np.random.default_rng(0)
    Z, X, coef = rng.random((700, d)), rng.random((150, d)), rng.normal(size=(2, 700))
    product = Kernel("matern32", bandwidth=2.0).product(Z, coef)
    product = product.in_single(np.full(2, np.inf)) if single else product
    assert (product.points.dtype == np.float32) == single
    assert (product.norms is not None) == (d == 20)
    together, scale = product(X), np.abs(coef).sum()
    for parts in ([product(x[None]) for x in X], [product(X[:37]), product(X[37:])]):
        if d == 3:
            assert np.array_equal(np.vstack(parts), together)
        rounding = np.finfo(product.points.dtype).eps  # BLAS may round a row by its place in the tile
        np.testing.assert_allclose(np.vstack(parts), together, rtol=0, atol=rounding * scale)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", [np.int64, np.int8, bool])
def test_integers_are_points_too(name, dtype, loops):
    whole = np.array([[0, 1], [1, 1], [100, 0]]).astype(dtype)
    real, coef = whole.astype(float), np.ones(3)
    kernel = some_kernel(name, real, bandwidth=2.0)
    np.testing.assert_array_equal(kernel.gram(whole), kernel.gram(real))
    np.testing.assert_array_equal(kernel.cross(whole, whole), kernel.cross(real, real))
    np.testing.assert_array_equal(kernel.diagonal(whole), kernel.diagonal(real))
    np.testing.assert_array_equal(kernel.matvec(whole, whole, coef), kernel.matvec(real, real, coef))
    np.testing.assert_array_equal(kernel.gradient(whole, whole, coef), kernel.gradient(real, real, coef))


@pytest.mark.parametrize("name", NARROW_KERNELS)
@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e20), (np.float32, 1e30), (np.float64, 1e149)])
def test_the_gradient_far_away_is_zero(name, dtype, far, loops):
    X = np.array([[far], [0.0]], dtype=dtype)
    with np.errstate(over="ignore"):  # squares of the oracle
        assert Kernel(name, bandwidth=1.0).gradient(X, X, np.ones(2)).tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [1, 3, 20])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_not_a_number_stays_so(name, d, dtype, loops):
    Z = np.random.default_rng(0).random((30, d)).astype(dtype)
    X = Z[:2].copy()
    X[0, 0] = np.nan
    kernel = some_kernel(name, Z.astype(float))
    for found in (kernel.cross(X, Z), kernel.product(Z, np.ones((1, 30)))(X), kernel.gradient(X, Z, np.ones(30))):
        assert np.isnan(found[0]).any()
        assert np.isfinite(found[1]).all()


def test_what_is_not_a_number_is_not_skipped(loops):
    Z = np.random.default_rng(0).random((4000, 2))
    product = Kernel("gaussian", bandwidth=0.01).product(Z, np.ones((1, 4000)))
    assert product.boxes is not None
    assert np.isnan(product(np.array([[np.nan, 0.5]]))).all()


def test_a_bandwidth_that_single_precision_does_not_have(loops):
    X = np.array([[0.0], [1e-45], [1e-41]], dtype=np.float32)
    for name in NARROW_KERNELS:
        assert np.array_equal(Kernel(name, bandwidth=1e-50).gram(X), np.eye(3))


def test_sobolev_takes_a_range_whose_inverse_overflows_for_a_constant(loops):
    rng = np.random.default_rng(0)
    X = rng.random((6, 1))
    wide = np.column_stack([X, X * 1e-310])
    kernel, alone = make_kernel("sobolev", wide), make_kernel("sobolev", X)
    assert np.array_equal(kernel.gram(wide), alone.gram(X))
    slopes = kernel.gradient(wide, wide, np.ones(6))
    assert np.array_equal(slopes[:, 0], alone.gradient(X, X, np.ones(6))[:, 0])
    assert not slopes[:, 1].any()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [2, 20])
def test_no_points_are_no_trouble(name, d):
    some, none = np.random.default_rng(0).random((4, d)), np.empty((0, d))
    kernel = some_kernel(name, some)
    assert kernel.cross(some, none).shape == (4, 0)
    assert kernel.cross(none, some).shape == (0, 4)
    np.testing.assert_array_equal(kernel.product(none, np.empty((1, 0)))(some), np.zeros((4, 1)))


def test_repeated_points_are_boxed():
    Z = np.repeat(np.arange(6.0)[:, None] * 50.0, 500, axis=0) * np.ones(2)
    product = Kernel("gaussian", bandwidth=1.0).product(Z, np.ones((1, 3000)))
    assert product.boxes is not None
    np.testing.assert_allclose(product(np.zeros((1, 2))), 500.0)


@pytest.mark.parametrize("name", BLAS_KERNELS)
def test_inner_products_by_blas_cross_tile_borders(name, monkeypatch):
    rng = np.random.default_rng(1)
    X, Z, coef = rng.random((150, 20)), rng.random((1100, 20)), rng.normal(size=(1, 1100))
    kernel = some_kernel(name, Z, 2.0)
    tiled = kernel.product(Z, coef)(X), kernel.cross(X, Z), kernel.gram(Z)
    monkeypatch.setattr(kernel_module, "BLAS_FEATURES", 21)
    plain = kernel.product(Z, coef)(X), kernel.cross(X, Z), kernel.gram(Z)
    for ours, theirs in zip(tiled, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


PREDICTS = """
import numpy as np
from pathlib import Path
from skewridge.execution.context import using
from skewridge.execution.passes import predict_rows
from skewridge.kernels import Kernel
from skewridge.ridge.exact import Expansion
peak = lambda: float(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1e3
rng = np.random.default_rng(0)
def grown(rows, d, dtype):
    X, new = rng.random((2, rows, d))
    model = Expansion(X, rng.normal(size=rows), Kernel("gaussian", bandwidth=1.0), scale=1e9)
    before = peak()
    predict_rows(model.predict, new.astype(dtype))
    return peak() - before
cases = [(d, dtype) for d in (3, 20) for dtype in (np.float64, np.float32)]
for rows in (100, 8000):
    found = [grown(rows, *case) for case in cases]
print(*found)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_prediction_never_holds_the_kernel_matrix():
    found = subprocess.run([sys.executable, "-c", PREDICTS], capture_output=True, text=True, check=True, timeout=300)
    megabytes = [float(value) for value in found.stdout.split()]
    assert len(megabytes) == 4
    assert max(megabytes) < 32  # of the 512 of k(X, Z) in double precision, 256 in single


def test_a_row_function_is_compiled_for_the_kernels_in_use_only():
    code = (
        "import numpy as np; from skewridge.kernels import Kernel, _compiled_rows as p;"
        "X = np.random.default_rng(0).random((5, 2)); Kernel('matern32', bandwidth=1.0).gram(X);"
        "print(*(len(f.overloads) for f in (p.matern32, p.exponential, p.matern52, p.polynomial)))"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert told.split() == ["1", "0", "0", "0"]


def test_row_functions_refuse_arrays_of_two_precisions_and_strided_ones():
    from numba.core.errors import TypingError

    from skewridge.kernels import _compiled

    left, right, out = np.ones((4, 2)), np.ones((2, 3)), np.empty((4, 3))
    for wrong in ((left.astype(np.float32), right, False, out), (left[::2], right, False, out[:2])):
        with pytest.raises(TypingError, match="call_similarity"):
            _compiled.cross(Kernel("gaussian", bandwidth=1.0), *wrong)


@pytest.mark.parametrize("name", ["gaussian", "matern12", "matern32", "matern52", "laplacian"])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_the_gradient_in_scales_of_any_number_of_features_is_that_of_the_oracle(name, d):
    rng = np.random.default_rng(d)
    X, kernel = rng.normal(size=(23, d)), Kernel(name, bandwidth=1.0)
    similar, curvature = np.zeros((23, 23)), rng.normal(size=(23, 23))
    compiled_loops().similarity_upper(kernel, X, np.ascontiguousarray(X.T), similar, np.empty(23))
    curvature, V, A = curvature + curvature.T, rng.normal(size=(23, 2)), rng.normal(size=(23, 2))
    expected, found = np.zeros((2, d))
    oracle.scale_gradient(kernel, X, X.T, np.triu(similar, 1), curvature, V.T.copy(), A.T.copy(), expected)
    compiled_loops().scale_gradient(kernel, X, X.T.copy(), similar, curvature, V.T.copy(), A.T.copy(), found)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
