import numpy as np
import pytest
from scipy.spatial.distance import pdist

from skewridge.kernels import median_bandwidth, penalty_rule


@pytest.mark.parametrize(
    ("kernel", "d", "power"),
    [
        ("gaussian", 3, -1),
        ("polynomial", 3, -1),
        ("sobolev", 2, -2 / 3),
        ("laplacian", 4, -2 / 3),
        ("matern12", 1, -2 / 3),  # v = 1, the kernel 1 + min(x, z) up to the domain
        ("matern32", 1, -4 / 5),
        ("matern52", 1, -6 / 7),
        ("matern32", 3, -2 / 3),
    ],
)
def test_rule(kernel, d, power):
    assert penalty_rule(kernel, 5000, d) == pytest.approx(5000**power)


def test_matern_rule_follows_the_measured_eigendecay():
    """Eigenvalues of the gram on a grid decay as j^(-2v) with the v of the rule."""
    from skewridge.kernels import Kernel

    x = np.linspace(0, 1, 400)[:, None]
    for name, v in (("matern12", 1.0), ("matern32", 2.0)):
        s = np.linalg.eigvalsh(Kernel(name, bandwidth=0.3).gram(x))[::-1]
        j = np.arange(10, 40)
        slope = np.polyfit(np.log(j), np.log(s[j]), 1)[0]
        assert slope == pytest.approx(-2 * v, abs=0.15 * v)


def test_median_bandwidth_is_the_median_distance():
    X = np.random.default_rng(0).random((200, 3))
    assert median_bandwidth(X, "gaussian", 0) == pytest.approx(np.median(pdist(X)))
    assert median_bandwidth(X, "laplacian", 0) == pytest.approx(np.median(pdist(X, "cityblock")))


def test_median_bandwidth_of_many_rows_is_close_from_a_sample():
    X = np.random.default_rng(0).random((4000, 3))
    assert median_bandwidth(X, "gaussian", 0) == pytest.approx(np.median(pdist(X)), rel=0.03)


def test_median_bandwidth_is_defined_for_repeated_and_constant_rows():
    assert median_bandwidth(np.ones((5, 2)), "gaussian", 0) == 1.0
    assert median_bandwidth(np.ones((1, 2)), "gaussian", 0) == 1.0
    mostly_equal = np.r_[np.zeros((9, 1)), [[2.0]]]
    assert median_bandwidth(mostly_equal, "gaussian", 0) == 2.0


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e100])
def test_median_bandwidth_scales_with_the_features(scale):
    X = np.random.default_rng(0).random((50, 3))
    assert median_bandwidth(X * scale, "gaussian", 0) == pytest.approx(median_bandwidth(X, "gaussian", 0) * scale)
