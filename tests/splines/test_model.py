from itertools import pairwise

import numpy as np
import pytest

from skewridge.splines.model import PARTS, check_pairs, check_splines, make_domain, make_model

POINTS = np.array([0.0, 0.13, 0.5, 0.77, 1.0])


def bernoulli(r, t, terms=4000):
    """k_r by its Fourier series, r even: -(-1)^(r/2) sum_v 2 cos(2 pi v t) / (2 pi v)^r."""
    v = 2 * np.pi * np.arange(1, terms + 1)
    return -((-1) ** (r // 2)) * float(np.sum(2 * np.cos(v * t) / v**r))


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("z", POINTS)
def test_the_kernels_are_their_fourier_series(x, z):
    cubic = bernoulli(2, x) * bernoulli(2, z) - bernoulli(4, abs(x - z))
    linear = (x - 0.5) * (z - 0.5) + bernoulli(2, abs(x - z))
    assert PARTS["cubic"](np.array([x]), np.array([z]))[0, 0] == pytest.approx(cubic, abs=1e-4)
    assert PARTS["linear"](np.array([x]), np.array([z]))[0, 0] == pytest.approx(linear, abs=1e-4)


def integral(values_at, *kinks):
    """Gauss-Legendre between the kinks: exact for what is a polynomial in between."""
    t, w = np.polynomial.legendre.leggauss(12)
    edges = np.unique([0.0, 1.0, *kinks])
    return sum((b - a) / 2 * w @ values_at((a + b) / 2 + (b - a) / 2 * t) for a, b in pairwise(edges))


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("z", POINTS)
def test_the_kernels_reproduce(x, z):
    """<R(x, .), R(z, .)> = R(x, z), with the inner product that the penalty is the square of."""

    def second(u, t):
        k2 = lambda s: ((s - 0.5) ** 2 - 1 / 12) / 2  # noqa: E731
        return k2(u) - k2(np.abs(t - u))

    def first(u, t):
        return (u - 0.5) + np.sign(t - u) * (np.abs(t - u) - 0.5)

    for part, derivative in (("cubic", second), ("linear", first)):
        inner = integral(lambda t, d=derivative: d(x, t) * d(z, t), x, z)
        assert inner == pytest.approx(PARTS[part](np.array([x]), np.array([z]))[0, 0], abs=1e-14)


@pytest.mark.parametrize("part", ["cubic", "linear"])
@pytest.mark.parametrize("z", POINTS)
def test_smooth_parts_have_mean_zero(part, z):
    assert integral(lambda t: PARTS[part](t, np.array([z]))[:, 0], z) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("part", ["cubic", "linear"])
def test_kernels_go_straight_on_beyond_their_interval(part):
    kernel, step = PARTS[part], 1e-6
    for edge, out in ((0.0, -1.0), (1.0, 1.0)):
        at, near, far, farther = kernel(edge + out * np.array([0.0, -step, 1.0, 3.0]), POINTS[1:-1])
        slope = (at - near) / step
        np.testing.assert_allclose(far - at, slope, atol=2e-6)
        np.testing.assert_allclose(farther - at, 3 * (far - at), atol=1e-14)


def test_the_terms_of_two_features():
    model = make_model(["cubic", "cubic"], [(0, 1)])
    free, terms = model.names(["a", "b"])
    assert free == ["1", "a", "b", "a:b"]
    assert terms == ["s(a)", "s(b)", "a:s(b)", "s(a):b", "s(a):s(b)"]
    X, Z = np.random.default_rng(0).random((2, 4, 2))
    smooth = [PARTS["cubic"](X[:, f], Z[:, f]) for f in (0, 1)]
    line = [PARTS["line"](X[:, f], Z[:, f]) for f in (0, 1)]
    expected = [smooth[0], smooth[1], line[0] * smooth[1], smooth[0] * line[1], smooth[0] * smooth[1]]
    for found, wanted in zip(model.kernels(X, Z), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    k1 = X - 0.5
    np.testing.assert_allclose(
        model.free_values(X), np.column_stack([np.ones(4), k1[:, 0], k1[:, 1], k1[:, 0] * k1[:, 1]]), atol=1e-16
    )


def test_linear_splines_have_no_line():
    free, terms = make_model(["linear", "linear", "cubic"], [(0, 1), (1, 2)]).names("abc")
    assert free == ["1", "c"]
    assert terms == ["s(a)", "s(b)", "s(c)", "s(a):s(b)", "s(b):c", "s(b):s(c)"]


def test_a_constant_feature_takes_no_part():
    domain = make_domain(np.array([[1.0, 5.0, 0.1 + 0.2], [2.0, 5.0, 0.3]]))
    assert domain.varies.tolist() == [True, False, False]
    model = make_model(["cubic"] * 3, [(0, 1)])
    free, terms = model.among(domain.varies)
    assert model.only(free, terms).names("abc") == (["1", "a"], ["s(a)"])


def test_the_interval_exceeds_the_range_by_a_twentieth():
    domain = make_domain(np.array([[0.0], [10.0]]))
    np.testing.assert_allclose(domain(np.array([[-0.5], [0.0], [10.5], [21.5]]))[:, 0], [0, 0.5 / 11, 1, 2], atol=1e-15)


@pytest.mark.parametrize("bad", [3, "some", [(0, 0)], [(0, 3)], [(-1, 0)], [(0, 1, 2)], [(0.0, 1.0)], ["ab"], [0, 1]])
def test_bad_interactions(bad):
    with pytest.raises(ValueError, match="interactions must be"):
        check_pairs(bad, 3)


def test_pairs_are_taken_once():
    assert check_pairs(np.array([[1, 0], [0, 1]]), 2) == [(0, 1)]
    assert check_pairs([], 2) == check_pairs("all", 1) == check_pairs(None, 5) == []


@pytest.mark.parametrize("bad", ["quintic", ["cubic"], ["cubic", "step"], 3, None, [1, 2]])
def test_bad_splines(bad):
    with pytest.raises(ValueError, match="spline must be"):
        check_splines(bad, 2)


def test_good_splines():
    assert check_splines("linear", 2) == ["linear", "linear"]
    assert check_splines(("cubic", "linear"), 2) == ["cubic", "linear"]
