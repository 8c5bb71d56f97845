import numpy as np
import pytest

from skewridge.centers.global_fit import mean_squared_slopes
from skewridge.kernels import make_kernel

STEP = 1e-6


@pytest.mark.parametrize("kernel", ["gaussian", "matern32", "matern52", "polynomial"])
def test_slopes_are_those_of_finite_differences(kernel):
    rng = np.random.default_rng(0)
    X, C, w = rng.random((40, 3)), rng.random((12, 3)), rng.random(40)
    dual = rng.normal(size=(1, 12))
    k = make_kernel(kernel, X, 0.7, 2)
    expected = []
    for feature in range(3):
        step = STEP * (np.arange(3) == feature)
        slopes = (k.cross(X + step, C) - k.cross(X - step, C)) @ dual.T / (2 * STEP)
        expected.append(np.average(slopes**2, axis=0, weights=w).mean())
    np.testing.assert_allclose(mean_squared_slopes(k, C, dual, X, w), expected, rtol=1e-6)


def test_along_two_values_the_slope_is_what_flipping_does():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.random(40), rng.choice([-1.0, 2.0], 40)])
    C, dual = X[:10], rng.normal(size=(1, 10))
    k = make_kernel("matern32", X, 0.5)
    flipped = np.column_stack([X[:, 0], 1.0 - X[:, 1]])
    slopes = (k.cross(flipped, C) - k.cross(X, C)) @ dual.T / 3.0
    found = mean_squared_slopes(k, C, dual, X, np.ones(40))
    assert found[1] == pytest.approx(np.mean(slopes**2))
