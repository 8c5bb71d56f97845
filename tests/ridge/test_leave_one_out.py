from typing import NamedTuple

import numpy as np
import pytest

from skewridge.kernels import BANDWIDTH_FREE, KERNELS, Kernel, make_kernel
from skewridge.ridge.leave_one_out import leave_one_out
from skewridge.ridge.sample import Sample
from tests.kernels import oracle

SCALED = [name for name in KERNELS if name not in BANDWIDTH_FREE]
CASES = ["plain", "trend", "trends", "weights", "frequencies", "groups", "outputs", "everything"]


class LeftOut(NamedTuple):
    loss: float
    errors: np.ndarray
    log_scales: np.ndarray
    log_ridge: float
    log_trend: np.ndarray


def left_out(kernel, Z, Y, ridge, *, trend=(), Q=None, frequencies=None, weights=None, groups=None):
    """Leaving out the rows of a sample: what is not given is 1."""
    f = np.ones(len(Z)) if frequencies is None else frequencies
    sample = Sample(Z, Y, f, f if weights is None else weights, groups, Q)
    loss, errors, gradient = leave_one_out(kernel, sample, ridge, np.ravel(trend))
    d = Z.shape[1]
    return LeftOut(loss, errors, gradient[:d], gradient[d], gradient[d + 1 :])


def some_kernel(name, Z):
    return make_kernel(name, Z, None if name in BANDWIDTH_FREE else 1.3, 2)


def problem(case, n=14, d=3, seed=0):
    """Rows, responses and what the case adds."""
    rng = np.random.default_rng(seed)
    p = 2 if case in ("outputs", "everything") else 1
    Z, Y = rng.normal(size=(n, d)), rng.normal(size=(n, p)) + 5.0
    more = {}
    if case in ("trend", "trends", "everything"):
        k = 1 if case == "trend" else 2
        more |= {"trend": np.array([0.7, 0.2][:k]), "Q": rng.normal(size=(n, k)) + 1.0}
    if case in ("weights", "everything"):
        more["weights"] = rng.integers(0, 3, n).astype(float)
    if case in ("frequencies", "everything"):
        more["frequencies"] = rng.integers(1, 4, n).astype(float)
    if case in ("groups", "everything"):
        more["groups"] = np.arange(n) % 5
    return Z, Y, more


def refitted(kernel, Z, Y, ridge, without, trend=0.0, Q=None, frequencies=None):
    """Errors at some rows of a fit to the others: one linear system, bordered by the mean."""
    n = len(Z)
    Q, f = np.empty((n, 0)) if Q is None else Q, np.ones(n) if frequencies is None else frequencies
    K, rest = kernel.gram(Z) + Q * trend @ Q.T, np.setdiff1d(np.arange(n), without)
    m = len(rest)
    system = np.zeros((m + 1, m + 1))
    system[:m, :m] = K[np.ix_(rest, rest)] + np.diag(ridge / f[rest])
    system[m, :m] = system[:m, m] = 1.0
    solved = np.linalg.solve(system, np.vstack([Y[rest], np.zeros((1, Y.shape[1]))]))
    return Y[without] - K[np.ix_(without, rest)] @ solved[:m] - solved[m]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("case", CASES)
def test_errors_equal_those_of_refits(name, case):
    Z, Y, more = problem(case)
    kernel = some_kernel(name, Z)
    model = {key: value for key, value in more.items() if key in ("trend", "Q", "frequencies")}
    groups = more.get("groups", np.arange(len(Z)))
    expected = np.empty_like(Y)
    for g in np.unique(groups):
        rows = np.flatnonzero(groups == g)
        expected[rows] = refitted(kernel, Z, Y, 0.3, rows, **model)
    found = left_out(kernel, Z, Y, 0.3, **more)
    np.testing.assert_allclose(found.errors, expected, rtol=0, atol=1e-10)
    w = more.get("weights", more.get("frequencies", np.ones(len(Z))))
    loss = np.average(np.mean(expected**2, axis=1), weights=w)
    assert found.loss == pytest.approx(loss, rel=1e-10)


def differences(loss, theta, step=1e-5):
    """Central differences of a loss, to the fourth order."""

    def at(i, t):
        moved = theta.copy()
        moved[i] += t * step
        return loss(moved)

    near = np.array([at(i, 1) - at(i, -1) for i in range(len(theta))])
    far = np.array([at(i, 2) - at(i, -2) for i in range(len(theta))])
    return (8 * near - far) / (12 * step)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("case", CASES)
def test_the_gradient_equals_differences(name, case):
    Z, Y, more = problem(case)
    kernel, d, trend = some_kernel(name, Z), Z.shape[1], more.pop("trend", np.empty(0))

    def loss(theta):
        s = np.ones(d) if name in BANDWIDTH_FREE else np.exp(theta[:d])
        c, tau = np.exp(theta[d]), trend * np.exp(theta[d + 1 :])
        return left_out(kernel, Z * s, Y, c, trend=tau, **more).loss

    found = left_out(kernel, Z, Y, 0.3, trend=trend, **more)
    gradient = np.concatenate([found.log_scales, [found.log_ridge], found.log_trend])
    expected = differences(loss, np.append(np.zeros(d), [np.log(0.3), *np.zeros(len(trend))]))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    assert found.log_trend.shape == trend.shape
    assert found.log_trend.all()


@pytest.mark.parametrize("name", SCALED)
def test_a_row_of_frequency_two_equals_two_rows_left_out_together(name):
    Z, Y, _ = problem("trend")
    q, f = np.sin(Z[:, :1]), np.ones(len(Z))
    f[[3, 7]] = 2.0
    kernel, copies = some_kernel(name, Z), np.append(np.arange(len(Z)), [3, 7])
    once = left_out(kernel, Z, Y, 0.2, trend=0.5, Q=q, frequencies=f)
    twice = left_out(kernel, Z[copies], Y[copies], 0.2, trend=0.5, Q=q[copies], groups=copies)
    np.testing.assert_allclose(twice.errors[: len(Z)], once.errors, atol=1e-11)
    np.testing.assert_allclose(twice.loss, once.loss, rtol=1e-11)
    np.testing.assert_allclose(twice.log_scales, once.log_scales, atol=1e-10)
    assert twice.log_ridge == pytest.approx(once.log_ridge, rel=1e-8)
    assert twice.log_trend == pytest.approx(once.log_trend, rel=1e-8)


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_groups_of_one_equal_single_rows(name, d):
    Z, Y, more = problem("frequencies", n=90, d=d)
    kernel = some_kernel(name, Z)
    fast = left_out(kernel, Z, Y, 0.1, **more)
    general = left_out(kernel, Z, Y, 0.1, groups=np.arange(90)[::-1], **more)
    np.testing.assert_allclose(general.errors, fast.errors, atol=1e-10)
    np.testing.assert_allclose(general.log_scales, fast.log_scales, atol=1e-10 * fast.loss)
    assert general.log_ridge == pytest.approx(fast.log_ridge, rel=1e-8)


@pytest.mark.parametrize("name", SCALED)
def test_rows_of_weight_zero_support_without_counting(name):
    Z, Y, _ = problem("plain", n=40)
    w = (np.arange(40) < 20) * 2.0
    found = left_out(some_kernel(name, Z), Z, Y, 0.1, weights=w)
    assert found.loss == pytest.approx(np.mean(found.errors[:20] ** 2))


@pytest.mark.parametrize("name", KERNELS)
def test_the_plain_loops_give_the_same(name, monkeypatch):
    Z, Y, more = problem("everything", n=70, d=6)
    kernel = some_kernel(name, Z)
    compiled = left_out(kernel, Z, Y, 0.1, **more)
    oracle.take_the_place_of_the_compiled_loops(monkeypatch)
    plain = left_out(kernel, Z, Y, 0.1, **more)
    np.testing.assert_allclose(plain.errors, compiled.errors, atol=1e-10)
    np.testing.assert_allclose(plain.log_scales, compiled.log_scales, atol=1e-10)
    assert plain.log_trend == pytest.approx(compiled.log_trend, rel=1e-8)


def test_the_level_of_y_and_of_the_trend_does_not_matter():
    Z, Y, more = problem("trend")
    kernel = some_kernel("matern32", Z)
    here = left_out(kernel, Z, Y, 0.1, **more)
    there = left_out(kernel, Z, Y + 1e3, 0.1, trend=more["trend"], Q=more["Q"] - 1e3)
    np.testing.assert_allclose(there.errors, here.errors, atol=1e-8)


def test_a_singular_matrix_is_refused():
    Z, Y = np.zeros((5, 1)), np.arange(5.0)[:, None]
    with pytest.raises(np.linalg.LinAlgError, match="not positive"):
        left_out(Kernel("gaussian", bandwidth=1.0), Z, Y, 1e-300)


def test_values_that_overflow_are_refused():
    Z, Y, _ = problem("plain")
    refused = pytest.raises(np.linalg.LinAlgError, match="raise the ridge")
    with np.errstate(over="ignore", invalid="ignore"), refused:
        left_out(Kernel("gaussian", bandwidth=1.0), Z, Y * 1e200, 0.1)


def test_what_cannot_be_left_out_is_refused():
    Z, Y, _ = problem("plain")
    kernel = Kernel("gaussian", bandwidth=1.0)
    with pytest.raises(ValueError, match="at least two groups"):
        left_out(kernel, Z, Y, 0.1, groups=np.zeros(len(Z)))
    with pytest.raises(ValueError, match="at least two rows; got 1"):
        left_out(kernel, Z[:1], Y[:1], 0.1)
    with pytest.raises(ValueError, match="check `weights`"):
        left_out(kernel, Z, Y, 0.1, weights=np.zeros(len(Z)))
