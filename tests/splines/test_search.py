import numpy as np
import pytest
from scipy.optimize import approx_fprime

from skewridge.splines.fit import ALPHA, Ridge, Task, score_gradient, search_theta, start_theta
from skewridge.splines.model import make_features, make_free, make_model

RNG = np.random.default_rng(0)
X = RNG.random((200, 2))
Y = np.sin(6 * X[:, 0]) * X[:, 1] + 0.2 * RNG.normal(size=200)
MODEL = make_model(["cubic", "cubic"], [(0, 1)])
FEATURES, FREE = make_features(MODEL, X[:25]), make_free(MODEL, X, np.ones(200))


def task_of(y):
    return Task(FEATURES, FREE, X, y, np.ones(200), ALPHA)


TASK = task_of(Y)
THETA = np.array([2.0, 0.1, 3.0, 40.0, 900.0])


def smoother(theta, ridge):
    """A of min |y - S d - R c|^2 + ridge c'Qc: an augmented least-squares problem, row by row."""
    kernels = MODEL.kernels(X, X[:25])
    R = sum(t * K for t, K in zip(theta, kernels, strict=True))
    values, vectors = np.linalg.eigh(R[:25])
    root = (vectors * np.sqrt(np.maximum(values, 0))).T
    S = MODEL.free_values(X)
    design = np.vstack([np.hstack([S, R]), np.sqrt(ridge) * np.hstack([np.zeros((25, 4)), root])])
    return np.hstack([S, R]) @ np.linalg.pinv(design, rcond=1e-13)[:, :200]


def log_gcv(theta, ridge, alpha=1.4):
    A = smoother(theta, ridge)
    return np.log(np.sum((Y - A @ Y) ** 2)) - 2 * np.log(1 - alpha * np.trace(A) / 200)


@pytest.mark.parametrize("ridge", [1e-4, 1e-2, 1.0])
def test_the_score_is_that_of_the_dense_smoother(ridge):
    found, A = Ridge(TASK, THETA), smoother(THETA, ridge)
    assert found.sums(ridge) == pytest.approx((np.sum((Y - A @ Y) ** 2), np.trace(A)), rel=1e-7)
    assert found.score(ridge)[0] == pytest.approx(log_gcv(THETA, ridge), abs=1e-7)
    assert score_gradient(TASK, THETA, ridge)[0] == pytest.approx(found.score(ridge)[0], abs=1e-9)


@pytest.mark.parametrize("ridge", [1e-4, 1e-2, 1.0])
def test_the_gradient_is_the_numerical_one(ridge):
    _, gradient = score_gradient(TASK, THETA, ridge)
    numerical = approx_fprime(np.log(THETA), lambda log: score_gradient(TASK, np.exp(log), ridge)[0], 1e-6)
    np.testing.assert_allclose(gradient, numerical, atol=1e-5)


def test_the_slope_along_the_ridge_is_the_numerical_one():
    found, step = Ridge(TASK, THETA), 1e-5
    for ridge in (1e-3, 1.0):
        numerical = (found.score(ridge * np.exp(step))[0] - found.score(ridge * np.exp(-step))[0]) / (2 * step)
        assert found.score(ridge)[1] == pytest.approx(numerical, abs=1e-7)


def test_the_best_ridge_is_the_best_of_many():
    found = Ridge(TASK, THETA)
    best = found.amount(None)
    assert found.score(best)[0] <= min(found.score(r)[0] for r in np.logspace(-10, 6, 2000))
    assert abs(found.score(best)[1]) < 1e-9


def test_a_common_factor_of_weights_and_ridge_changes_nothing():
    assert Ridge(TASK, 7 * THETA).score(7 * 0.3)[0] == pytest.approx(Ridge(TASK, THETA).score(0.3)[0], abs=1e-9)


def test_the_start_is_the_squared_norms_of_a_first_fit():
    traces = np.array([np.trace(K) for K in MODEL.kernels(X[:25], X[:25])])
    theta = traces.mean() / traces
    ridge = Ridge(TASK, theta)
    A = ridge.amount(None)
    c = ridge.duals @ (ridge.moments / (ridge.eigenvalues + A))
    norms = [t**2 * c @ K @ c for t, K in zip(theta, MODEL.kernels(X[:25], X[:25]), strict=True)]
    expected = np.array(norms) * traces.sum() / (norms @ traces)
    np.testing.assert_allclose(start_theta(TASK, None), expected, rtol=1e-5)


@pytest.mark.parametrize("penalty", [None, 1e-4])
def test_the_search_ends_where_the_gradient_is_zero_or_a_term_has_no_weight(penalty):
    theta, steps, converged = search_theta(TASK, start_theta(TASK, penalty), penalty)
    ridge = Ridge(TASK, theta).amount(None) if penalty is None else 200 * penalty
    _, gradient = score_gradient(TASK, theta, ridge)
    if penalty is not None:
        gradient -= theta * TASK.traces / (theta @ TASK.traces) * gradient.sum()
    assert steps >= 1
    assert converged
    assert theta @ TASK.traces == pytest.approx(TASK.traces.sum())
    assert np.abs(gradient).max() < 1e-4
    start = start_theta(TASK, penalty)
    first = Ridge(TASK, start)
    assert (
        score_gradient(TASK, theta, ridge)[0]
        <= first.score(first.amount(None) if penalty is None else 200 * penalty)[0]
    )


def test_where_the_rows_are_used_up_the_score_goes_up():
    left = [TASK.score(1e-12, trace)[0] for trace in (0.0, 140.0, 142.0, 143.0, 150.0, 200.0)]
    assert (np.diff(left) > 0).all()
    assert np.isfinite(left).all()
    assert TASK.score(0.0, 200.0)[0] > TASK.score(Y @ Y, 4.0)[0]


def test_a_response_that_the_free_functions_explain_gets_the_largest_ridge():
    task = task_of(3 * X[:, 0] - 1)
    found = Ridge(task, THETA)
    assert found.amount(None) >= 1e4 * found.eigenvalues.max()
    assert np.isfinite(start_theta(task, None)).all()
