import numpy as np
import pytest

from skewridge.execution.chunked import ArrayChunk, Table
from skewridge.kernels import make_kernel, suits_blas
from skewridge.ridge.coordinates import PointLayout, make_layout

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["gaussian", "matern12", "polynomial", "sobolev"])
@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("single", [False, True])
def test_chunks_and_arrays_have_one_frame(name, d, single):
    X = RNG.normal(size=(5000, d)) + 3.0
    bandwidth = 9.0 if name in ("gaussian", "matern12") else None
    kernel = make_kernel(name, X, bandwidth)
    table = Table((ArrayChunk(X[:77]), ArrayChunk(X[77:])), d)
    one, two = (make_layout(kernel, rows, single, 0.5) for rows in (X, table))
    assert (one.dtype, one.blas) == (two.dtype, two.blas)
    assert np.array_equal(one.points(kernel, X), two.points(kernel, X))
    assert one.blas == suits_blas(kernel, one.points(kernel, X))
    assert (one.dtype == np.float32) == (single and name in ("gaussian", "matern12"))
    if one.center is not None:
        np.testing.assert_allclose(one.points(kernel, X).mean(axis=0, dtype=float), 0.0, atol=1e-6)


def test_a_small_penalty_keeps_double_precision():
    X = RNG.normal(size=(100, 2))
    kernel = make_kernel("gaussian", X, 1.0)
    assert make_layout(kernel, X, True, 1e-9) == PointLayout()


def test_points_are_new():
    X = RNG.normal(size=(5, 2))
    points = PointLayout().points(make_kernel("polynomial", X), X)
    points[:] = 0.0
    assert X.any()


def test_many_features_far_apart_keep_double_precision():
    X = np.where(np.arange(100)[:, None] % 2, 100.0, -100.0) + RNG.random((100, 50)) / 50
    frames = [make_layout(make_kernel("laplacian", X, b), X, True, 0.1) for b in (0.7, 700.0)]
    assert [layout.dtype for layout in frames] == [np.float64, np.float32]  # errors of 50 features add up
