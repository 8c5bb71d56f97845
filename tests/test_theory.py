import importlib.util
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from skewridge.theory import RiskBound, effective_dimension, kernel_spectrum, risk_bound, risk_order

SCRIPT = Path(__file__).parents[1] / "experiments" / "theory" / "variance.py"


@pytest.fixture(scope="module")
def experiment():
    spec = importlib.util.spec_from_file_location("variance_experiment", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_spectrum_approaches_the_operators_eigenvalues(experiment):
    """1 + min(x, z) under the uniform law; the eigenvalues sum to the integral of k(x, x), 3/2."""
    known = experiment.known_spectrum()
    assert known.sum() == pytest.approx(1.5, abs=1e-4)
    found = kernel_spectrum(np.linspace(0, 1, 1001)[:, None], "sobolev")
    assert np.allclose(found[:10], known[:10], rtol=5e-3)
    assert (np.diff(found) <= 0).all()
    assert found.min() >= 0


def test_a_polynomial_has_finite_rank():
    X = np.random.default_rng(0).random((60, 1))
    assert np.sum(kernel_spectrum(X, "polynomial", degree=2) > 1e-12) == 3


@pytest.mark.parametrize("penalty", [1e-6, 1e-2, 1.0, 100.0])
def test_effective_dimension_is_the_trace(penalty):
    """tr K (K + n lambda)^-1 by solving, not by eigenvalues."""
    X = np.random.default_rng(0).random((50, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 0.09)
    hat = np.linalg.solve(K + 50 * penalty * np.eye(50), K)
    mu = kernel_spectrum(X, "gaussian", 0.3)
    assert effective_dimension(mu, penalty) == pytest.approx(np.trace(hat), rel=1e-8)
    assert effective_dimension(mu, penalty, order=2) == pytest.approx(np.trace(hat @ hat), rel=1e-8)


def printed_bound(mu, lam, n, k, sigma, norm, omega2):
    """Theorem 4.1 as printed, in fractions and math.exp."""
    mu = [Fraction(m) for m in mu]
    lam, sigma2, norm2, omega2 = Fraction(lam), Fraction(sigma) ** 2, Fraction(norm) ** 2, Fraction(omega2)
    d = sum(1 / (1 + lam / m) for m in mu if m)
    outer = 4 * d * (max(mu) ** 2 * norm2 + omega2 * sigma2 / (lam * n * k))
    small = float(outer) * math.exp(-3 * lam * n / (28 * omega2))
    return float(8 * lam * norm2), float(4 * d * sigma2 / (n * k)), small


@pytest.mark.parametrize(
    ("mu", "lam", "n", "k", "sigma", "norm", "omega2"),
    [
        ([0.5, 0.25, 0.125, 0.0], 0.125, 100, 10, 0.5, 2.0, 1.0),
        ([0.9], 0.01, 2000, 3, 1.0, 0.0, 1.0),
        ([2.0**-j for j in range(1, 30)], 2.0**-6, 5000, 20, 0.0, 1.0, 4.0),
    ],
)
def test_the_bound_is_the_printed_one(mu, lam, n, k, sigma, norm, omega2):
    bound = risk_bound(mu, lam, node_size=n, n_nodes=k, noise=sigma, norm=norm, peak=omega2)
    bias, variance, remainder = printed_bound(mu, lam, n, k, sigma, norm, omega2)
    assert (bound.bias, bound.variance) == pytest.approx((bias, variance), rel=1e-12)
    assert bound.remainder == pytest.approx(remainder, rel=1e-9)
    assert bound.total == bound.bias + bound.variance + bound.remainder
    order = risk_order(mu, lam, n_distinct=n * k, noise=sigma, norm=norm)
    assert (8 * order.bias, 4 * order.variance) == pytest.approx((bias, variance), rel=1e-12)


def test_the_bound_holds_for_independent_nodes(experiment):
    """Bias and variance of k nodes of the finite-rank kernel (1 + xz)^2 on uniform rows, with eta_0 = k(., 0.5)."""
    lam, n, k, sigma, rng = 0.05, 400, 4, 0.3, np.random.default_rng(0)
    points = np.linspace(0, 1, 201)
    kernel = lambda a, b: (1 + np.outer(a, b)) ** 2  # noqa: E731
    truth = kernel(points, [0.5])[:, 0]
    errors = []
    for _ in range(20):
        parts = [rng.random(n) for _ in range(k)]
        fits = [
            kernel(points, x) @ np.linalg.solve(kernel(x, x) + n * lam * np.eye(n), kernel(x, [0.5])[:, 0] + e)
            for x, e in zip(parts, sigma * rng.normal(size=(k, n)), strict=True)
        ]
        errors.append(np.mean((np.mean(fits, axis=0) - truth) ** 2))
    mu = kernel_spectrum(np.linspace(0, 1, 500)[:, None], "polynomial", degree=2)
    norm = np.sqrt(kernel([0.5], [0.5])[0, 0])
    bound = risk_bound(mu, lam, node_size=n, n_nodes=k, noise=sigma, norm=norm, peak=4.0)
    assert 0 < np.mean(errors) < bound.total


@pytest.mark.parametrize(("n", "k"), [(100, 4), (100, 16), (400, 4)])
def test_variance_of_independent_nodes_falls_as_one_over_their_rows(experiment, n, k):
    limit = effective_dimension(experiment.known_spectrum(), 0.01, order=2)
    found = np.mean([experiment.independent(n, k, seed) for seed in range(5)])
    assert found == pytest.approx(limit, rel=0.05)


def test_variance_of_shared_rows_does_not(experiment):
    """Algorithm 2 has more rows in its nodes than Algorithm 1 and yet more variance; independent nodes have less."""
    runs = [list(experiment.oversampled(1000, 10, seed)) for seed in range(2)]
    size, variance = (np.mean([[entry[i] for entry in run] for run in runs], axis=0) for i in (1, 2))
    first, second, alone = 0, -2, -1
    assert size[second] > 1.5 * size[first]
    assert variance[second] > 2 * variance[first] * size[first] / size[second]
    assert variance[alone] < variance[second]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: effective_dimension([-1.0], 1.0), "spectrum must hold eigenvalues.*from -1"),
        (lambda: effective_dimension([], 1.0), "spectrum must hold eigenvalues"),
        (lambda: effective_dimension([np.nan], 1.0), "spectrum must hold eigenvalues"),
        (lambda: effective_dimension([1.0], 0.0), "penalty must be a number in"),
        (lambda: effective_dimension([1.0], 1.0, order=0), "order must be an integer"),
        (lambda: risk_bound([1.0], 1.0, node_size=0, n_nodes=1, noise=1, norm=1), "the number of rows must be"),
        (lambda: risk_bound([1.0], 1.0, node_size=5, n_nodes=1, noise=1, norm=1, peak=0), "peak must be"),
        (lambda: risk_order([1.0], 1.0, n_distinct=5, noise=-1, norm=1), "noise must be"),
        (lambda: kernel_spectrum(np.zeros(3)), "X must be a table"),
        (lambda: kernel_spectrum([[np.nan]]), "X must be a table"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_no_noise_and_no_function_cost_nothing():
    assert risk_bound([0.5], 1e3, node_size=10**6, n_nodes=1, noise=0.0, norm=0.0) == RiskBound(0.0, 0.0, 0.0)
