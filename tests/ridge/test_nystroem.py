"""Low-rank nodes against dense algebra."""

import numpy as np
import pytest

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.execution.job import Job
from skewridge.kernels import Kernel
from skewridge.nodes.planning import make_plan, n_shared_centers
from skewridge.response.slices import slice_quietly, slice_response
from skewridge.ridge.lowrank import make_basis
from skewridge.ridge.nystroem import SharedNode, draw_shared, spread_out

KERNEL = Kernel("matern32", bandwidth=0.7)


def dense_hat(X, centers, penalty, weights):
    """The hat matrix onto new points as a function: K_xC (K_Cn W K_nC + penalty sum(w) K_CC)^-1 K_Cn W."""
    K, M = KERNEL.cross(X, centers), KERNEL.cross(centers, centers)
    inner = K.T @ (weights[:, None] * K) + penalty * weights.sum() * M
    return lambda new: KERNEL.cross(new, centers) @ np.linalg.solve(inner, K.T * weights)


def a_node(weighted, n=60, m=15, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, 2)), rng.lognormal(size=n)
    weights = rng.uniform(0.5, 3.0, n) if weighted else None
    centers = rng.random((m, 2))
    return X, y, weights, centers, SharedNode(make_basis(KERNEL, centers), X, y, weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", [1e-6, 1e-3, 1.0])
def test_a_node_equals_the_dense_solution(weighted, penalty):
    X, y, weights, centers, node = a_node(weighted)
    hat = dense_hat(X, centers, penalty, np.ones(len(y)) if weights is None else weights)
    new = np.random.default_rng(1).random((7, 2))
    coef = spread_out(node.basis.dual(node.beta(penalty)[None, :]), node.basis, len(centers))[0]
    np.testing.assert_allclose(KERNEL.cross(new, centers) @ coef, hat(new) @ y, rtol=1e-7)
    np.testing.assert_allclose(node.influence(penalty, node.basis.features(new)), hat(new), atol=1e-8)
    np.testing.assert_allclose(node.residual(penalty), y - hat(X) @ y, atol=1e-7)
    np.testing.assert_allclose(node.unexplained(penalty), 1 - np.diag(hat(X)), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_path_solves_every_penalty_and_leaves_rows_out(weighted):
    X, y, weights, centers, node = a_node(weighted)
    penalties, rows = np.array([1e-5, 1e-2]), np.array([3, 40])
    path = node.path(penalties, rows)
    for p, penalty in enumerate(penalties):
        np.testing.assert_allclose(path.coef[p], node.basis.dual(node.beta(penalty)[None, :])[0], rtol=1e-6)
        np.testing.assert_allclose(path.residual[p], node.residual(penalty), atol=1e-8)
        for place, row in enumerate(rows):  # with the ridge held, a left-out row is one of weight 0
            w = np.ones(len(y)) if weights is None else weights.copy()
            total = w.sum()
            w[row] = 0.0
            without = dense_hat(X, centers, penalty * total / w.sum(), w)(X[[row]]) @ y
            np.testing.assert_allclose(path.left_out[p, place], y[row] - without[0], rtol=1e-6)
    whole = node.path(penalties, None)
    np.testing.assert_allclose(whole.trace, len(y) - whole.unexplained.sum(axis=1))
    np.testing.assert_allclose(whole.trace[1], (1 - node.unexplained(1e-2)).sum(), rtol=1e-8)


def test_centres_that_the_others_explain_get_no_coefficient():
    X, y, _, centers, _ = a_node(False)
    doubled = np.vstack([centers, centers[:4]])
    node = SharedNode(make_basis(KERNEL, doubled), X, y, None)
    coef = spread_out(node.basis.dual(node.beta(1e-3)[None, :]), node.basis, len(doubled))[0]
    assert np.sum(coef == 0) == 4
    alone = SharedNode(make_basis(KERNEL, centers), X, y, None)
    np.testing.assert_allclose(node.residual(1e-3), alone.residual(1e-3), atol=1e-8)


def test_half_of_the_centres_are_drawn_evenly_over_the_slices():
    rng = np.random.default_rng(0)
    X, y = rng.random((2000, 2)), rng.lognormal(sigma=1.5, size=2000)
    rows = draw_shared(X, y, 10, 200, 3, Job())
    labels = slice_quietly(y, 10, 1.0).labels
    assert len(np.unique(rows)) == 200
    assert np.all(np.diff(rows) > 0)
    rare = np.flatnonzero(np.bincount(labels, minlength=10) <= 5)
    assert set(np.flatnonzero(np.isin(labels, rare))) <= set(rows)  # a rare slice gives all it has


@pytest.mark.parametrize(
    ("n", "size", "m"), [(50, 50.0, 50), (1000, 300.0, 150), (10_000, 1500.0, 500), (400, 20.0, 100)]
)
def test_how_many_centres_are_shared(n, size, m):
    assert n_shared_centers(n, size) == m


SETTINGS = {"n_nodes": 4, "kernel": "matern32", "bandwidth": 0.7, "penalty": 1e-4, "random_state": 0}


def dense_average(model, X, y, X_new):
    """The mean of the nodes' dense solutions over the model's centres."""
    weights = model._problem.partition.weights
    fits = []
    for rows in model.allocation_:
        w = np.ones(len(rows)) if weights is None else weights[rows]
        fits.append(dense_hat(X[rows], X[model.center_rows_], 1e-4, w)(X_new) @ (y[rows] - model.intercept_))
    return np.array(fits)


@pytest.mark.parametrize(
    "changed", [{}, {"slices": 1}, {"focus": 0.3}, {"fit_intercept": False}, {"slice_on": "pilot"}]
)
def test_the_average_is_one_short_expansion(changed):
    X, y = make_peaks(300, 2, random_state=0)
    model = DacKernelRidge(**SETTINGS, **changed, local_solver="nystroem", keep_nodes=True).fit(X, y)
    assert len(model.dual_coef_) == len(model.X_fit_) == len(model.center_rows_) == 100
    np.testing.assert_array_equal(model.X_fit_, X[model.center_rows_])
    fits = dense_average(model, X, y, X[:20])
    np.testing.assert_allclose(model.predict(X[:20]), fits.mean(axis=0) + model.intercept_, atol=1e-7)
    np.testing.assert_allclose(model.predict_nodes(X[:20]), fits + model.intercept_, atol=1e-7)
    np.testing.assert_allclose(model.node_spread(X[:20]), fits.std(axis=0, ddof=1), atol=1e-7)


def test_all_rows_as_centres_give_the_exact_nodes_of_one_node():
    X, y = make_peaks(90, 2, random_state=0)
    exact = DacKernelRidge(**(SETTINGS | {"n_nodes": 1})).fit(X, y)
    shared = DacKernelRidge(**(SETTINGS | {"n_nodes": 1}), local_solver="nystroem").fit(X, y)
    np.testing.assert_allclose(shared.predict(X), exact.predict(X), atol=1e-6)
    np.testing.assert_allclose(shared.predict(X, return_std=True)[1], exact.predict(X, return_std=True)[1], rtol=1e-4)


def test_the_standard_deviation_counts_shared_rows_once():
    X, y = make_peaks(200, 2, random_state=0)
    model = DacKernelRidge(**SETTINGS, local_solver="nystroem", fit_intercept=False, focus=0.5).fit(X, y)
    weights, k = model._problem.partition.weights, model.n_nodes_
    influence, squares, freedom = np.zeros((5, 200)), 0.0, 0.0
    held = np.bincount(model.allocation_.rows, minlength=200)
    for rows in model.allocation_:
        hat = dense_hat(X[rows], X[model.center_rows_], 1e-4, weights[rows])
        influence[:, rows] += hat(X[:5]) / k
        inside = hat(X[rows])
        squares += np.sum((y[rows] - inside @ y[rows]) ** 2 / held[rows])
        freedom += np.sum((1 - np.diag(inside)) / held[rows])
    wanted = np.sqrt(np.sum(influence**2, axis=1) * squares / freedom)
    np.testing.assert_allclose(model.predict(X[:5], return_std=True)[1], wanted, rtol=1e-5)


@pytest.mark.parametrize("criterion", ["loo", "dgcv", "cv", "gcv", "cp"])
def test_every_criterion_chooses_for_shared_centres(criterion):
    X, y = make_peaks(600, 2, random_state=0)
    settings = {"n_nodes": 3, "kernel": "matern32", "penalty": criterion, "random_state": 0}
    model, other = (DacKernelRidge(**settings, local_solver="nystroem", n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    new, truth = make_peaks(500, 2, noise=0.0, random_state=1)
    assert np.mean((model.predict(new) - truth) ** 2) < 0.3 * truth.var()


def test_leave_one_out_of_the_average_is_exact():
    """The criterion at a given penalty against refits without each row, with ridge, intercept and allocation held."""
    X, y = make_peaks(60, 2, random_state=0)
    y = y - y.mean()
    settings = {"n_nodes": 3, "kernel": "matern32", "bandwidth": "auto", "penalty": "loo", "random_state": 0}
    model = DacKernelRidge(**settings, fit_intercept=False, local_solver="nystroem").fit(X, y)
    tuning, centers = model.tuning_, X[model.center_rows_]
    b, p = 1, 5
    kernel = Kernel("matern32", bandwidth=tuning.bandwidths[b])
    errors = []
    for i in range(60):
        fits = []
        for rows in model.allocation_:
            w = (rows != i).astype(float)
            K, M = kernel.cross(X[rows], centers), kernel.cross(centers, centers)
            inner = K.T @ (w[:, None] * K) + tuning.penalties[p] * len(rows) * M
            fits.append(kernel.cross(X[[i]], centers) @ np.linalg.lstsq(inner, K.T @ (w * y[rows]), rcond=None)[0])
        errors.append(y[i] - np.mean(fits))
    np.testing.assert_allclose(tuning.values[b, p], np.mean(np.square(errors)), rtol=1e-3)


def test_a_plan_with_shared_centres_needs_less():
    y = np.random.default_rng(0).lognormal(size=20_000)
    slices = slice_response(y, "scott", 1.0)
    exact, shared = make_plan(slices, 4, 3), make_plan(slices, 4, 3, shared=True)
    assert exact.n_centers is None
    assert shared.n_centers == 707
    assert shared.n_bytes < exact.n_bytes / 2
    assert shared.n_flops < exact.n_flops / 5


def test_a_kernel_that_overflows_is_named():
    X, y = np.full((40, 1), 1e90), np.arange(40.0)
    X[:20] *= -1
    model = DacKernelRidge(kernel="polynomial", degree=4, penalty=1.0, n_nodes=2, local_solver="nystroem")
    with pytest.raises(np.linalg.LinAlgError, match="polynomial kernel's values overflow"):
        model.fit(X, y)
