import os
import subprocess
import sys
import threading
import time
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from skewridge.execution.chunked import ArrayChunk, Table
from skewridge.kernels import Kernel, make_kernel, suits_blas
from skewridge.linalg.cholesky import (
    NotPositiveDefinite,
    Workspace,
    cholesky,
    cholesky_solve,
    lower_inverse,
    squared_columns,
)
from skewridge.response.allocation import Allocation
from skewridge.ridge.exact import Nodes, NodeSolver, PointLayout, factorise, make_layout, ridge_of
from tests import naive
from tests.kernels import oracle


def solver_of(kernel, X, y, weights, penalties, allocation):
    """Nodes that are ready to be solved on these rows."""
    layout = make_layout(kernel, X, False, 0.0)
    return NodeSolver(Nodes(kernel, layout, y, weights, penalties, allocation), X)


def solve_node(kernel, X, y, penalty, weights=None):
    """The coefficients of a node that holds all rows."""
    one = Allocation(np.arange(len(X)), np.array([0, len(X)]))
    solver = solver_of(kernel, X, y, weights, np.array([penalty]), one)
    solver.solve(np.array([0]))
    return solver.coef.astype(np.float64)


@pytest.fixture
def spd():
    A = np.random.default_rng(0).normal(size=(30, 40))
    return A @ A.T + np.eye(30)


def test_cholesky_factors_in_place(spd):
    a = spd.copy()
    out = cholesky(a)
    assert out is a
    np.testing.assert_allclose(np.tril(a), np.linalg.cholesky(spd), rtol=1e-12)
    assert np.array_equal(np.triu(a, 1), np.triu(spd, 1))


def test_cholesky_solve_takes_one_or_many_right_hand_sides(spd):
    B = np.random.default_rng(1).normal(size=(4, 30))
    factor = cholesky(spd.copy())
    np.testing.assert_allclose(cholesky_solve(factor, B.copy()), np.linalg.solve(spd, B.T).T, rtol=1e-9)
    np.testing.assert_allclose(cholesky_solve(factor, B[0].copy()), np.linalg.solve(spd, B[0]), rtol=1e-9)


def test_inverse_diagonal(spd):
    np.testing.assert_allclose(
        squared_columns(lower_inverse(cholesky(spd.copy()))), np.diag(np.linalg.inv(spd)), rtol=1e-10
    )


def test_indefinite_matrices_are_told(spd):
    spd[3, 3] = -1
    with pytest.raises(NotPositiveDefinite, match="leading minor 4 of 30"):
        cholesky(spd)


def test_cholesky_releases_the_gil():
    """Another thread counts on while LAPACK works: with the GIL held it could not take a step."""
    n, steps, done = 1500, [0], threading.Event()
    matrix = np.eye(n) * 2 + 1e-3

    def count():
        while not done.is_set():
            steps[0] += 1
            time.sleep(0)  # gives the GIL back

    counter = threading.Thread(target=count, daemon=True)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # nobody is asked to give the GIL up: it must be released
    try:
        counter.start()
        with threadpool_limits(1):
            before = steps[0]
            cholesky(matrix)
            during = steps[0] - before
    finally:
        sys.setswitchinterval(switch)
        done.set()
        counter.join()
    assert during > 0


def test_only_square_c_ordered_float64_matrices_are_taken():
    with pytest.raises(ValueError, match="square, C-ordered matrix of float64"):
        cholesky(np.eye(3)[:, :2])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_node_solves_the_papers_equation(weighted):
    rng = np.random.default_rng(0)
    X, y = rng.random((25, 2)), rng.normal(size=25)
    w = rng.random(25) + 0.5 if weighted else None
    kernel = Kernel("matern32", bandwidth=0.5)
    expected = naive.solve(naive.gram("matern32", X, X, bandwidth=0.5), y, 1e-3, w)
    np.testing.assert_allclose(solve_node(kernel, X, y, 1e-3, w), expected, rtol=1e-9)


def test_equal_weights_are_no_weights():
    rng = np.random.default_rng(0)
    X, y = rng.random((25, 2)), rng.normal(size=25)
    kernel = Kernel("gaussian", bandwidth=0.5)
    np.testing.assert_allclose(
        solve_node(kernel, X, y, 1e-3, np.full(25, 3.0)), solve_node(kernel, X, y, 1e-3), rtol=1e-9
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_inverse_diagonal_gives_one_minus_the_hat_diagonal(weighted):
    rng = np.random.default_rng(0)
    X = rng.random((20, 2))
    w = rng.random(20) + 0.5 if weighted else None
    ridge = ridge_of(20, 1e-2, w)
    K = naive.gram("gaussian", X, X, bandwidth=0.5)
    hat = K @ np.linalg.inv(K + np.diag(ridge))
    factor = factorise(Kernel("gaussian", bandwidth=0.5), X, 1e-2, w, workspace=Workspace())
    np.testing.assert_allclose(ridge * squared_columns(lower_inverse(factor)), 1 - np.diag(hat), rtol=1e-9)


def test_a_singular_node_is_named_with_size_penalty_and_remedy():
    X = np.zeros((40, 1))
    X[1:] += 1e-9
    with pytest.raises(np.linalg.LinAlgError, match=r"Node 7 \(40 rows\).*penalty 1e-25.*Raise the penalty"):
        factorise(Kernel("gaussian", bandwidth=1e3), X, 1e-25, workspace=Workspace(), node=7)


@pytest.mark.parametrize("loops", ["compiled", "oracle"])
def test_the_first_node_that_fails_is_named(loops, monkeypatch):
    if loops == "oracle":
        oracle.take_the_place_of_the_compiled_loops(monkeypatch)
    X = np.vstack([np.arange(5.0)[:, None], np.zeros((40, 1))])
    held = Allocation(np.arange(45), np.array([0, 5, 45]))
    solver = solver_of(Kernel("gaussian", bandwidth=1.0), X, np.ones(45), None, np.full(2, 1e-25), held)
    with pytest.raises(np.linalg.LinAlgError, match=r"Node 1 \(40 rows\).*penalty 1e-25.*Raise the penalty"):
        solver.solve(np.array([0, 1]))


@pytest.mark.parametrize("loops", ["compiled", "oracle"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 2e-3)])
@pytest.mark.parametrize("d", [2, 20])
def test_nodes_solve_the_papers_equation_whatever_the_batches(loops, weighted, dtype, rtol, d, monkeypatch):
    if loops == "oracle":
        oracle.take_the_place_of_the_compiled_loops(monkeypatch)
    rng = np.random.default_rng(0)
    X, y = rng.random((60, d)).astype(dtype), rng.normal(size=60)
    w = rng.random(60) + 0.5 if weighted else None
    starts = np.array([0, 20, 20, 35, 50])  # the second node is empty
    rows = np.concatenate([np.sort(rng.permutation(60)[: stop - start]) for start, stop in pairwise(starts)])
    kernel = Kernel("matern32", bandwidth=1.0)
    solver = solver_of(kernel, X, y, w, np.array([1e-2, 1.0, 1e-1, 1e-2]), Allocation(rows, starts))
    assert solver.points.dtype == dtype
    for batch in solver.nodes.batches():
        solver.solve(batch)
    for i, (start, stop) in enumerate(pairwise(starts)):
        own = rows[start:stop]
        K = naive.gram("matern32", X[own].astype(float), X[own].astype(float), bandwidth=1.0)
        expected = naive.solve(K, y[own], solver.nodes.penalties[i], None if w is None else w[own]) if len(own) else []
        np.testing.assert_allclose(solver.coef[start:stop], expected, rtol=rtol, atol=rtol)


def test_batches_hold_every_node_once_largest_first():
    starts = np.concatenate([[0], np.cumsum([10, 900, 30, 900, 500])])
    rows = np.concatenate([np.arange(n) for n in np.diff(starts)])
    kernel = Kernel("gaussian", bandwidth=1.0)
    nodes = Nodes(kernel, PointLayout(), np.ones(900), None, np.ones(5), Allocation(rows, starts))
    batches = nodes.batches()
    assert np.concatenate(batches).tolist() == [1, 3, 4, 2, 0]
    assert [len(batch) for batch in batches] == [1, 4]


def test_the_penalty_named_is_the_one_passed_whatever_the_weights():
    X = np.zeros((4, 1))
    with pytest.raises(np.linalg.LinAlgError, match="penalty 1e-25"):
        solve_node(Kernel("gaussian", bandwidth=1e3), X, np.ones(4), 1e-25, np.array([1.0, 5.0, 9.0, 99.0]))


def test_overflow_is_named():
    X = np.array([[1e100], [2e100]])
    with pytest.raises(np.linalg.LinAlgError, match=r"Node 0 \(2 rows\).*overflow. Standardise the features"):
        solve_node(Kernel("polynomial", degree=3), X, np.ones(2), 1e-3)


def test_workspaces_are_reused_in_a_thread_and_not_shared_between_threads():
    workspace, seen = Workspace(), {}
    large = workspace.square(10)
    assert np.shares_memory(large, workspace.square(5))
    thread = threading.Thread(target=lambda: seen.setdefault("other", workspace.square(10)))
    thread.start()
    thread.join()
    assert not np.shares_memory(large, seen["other"])


def test_a_workspace_that_grows_holds_one_matrix_at_a_time():
    workspace, n = Workspace(), 400
    workspace.square(n - 1)
    tracemalloc.start()
    workspace.square(n)
    peak = tracemalloc.get_traced_memory()[1]
    workspace.square(n + 1)
    assert tracemalloc.get_traced_memory()[1] < 1.1 * peak
    tracemalloc.stop()


SOLVES = """
import numpy as np
from skewridge.kernels import Kernel
from skewridge.response.allocation import Allocation
from skewridge.ridge.exact import Nodes, NodeSolver, PointLayout
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
for _ in range(3):
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    kernel, one = Kernel("gaussian", bandwidth=1.0), Allocation(np.arange(60), np.array([0, 60]))
    solver = NodeSolver(Nodes(kernel, PointLayout(), y, None, np.array([1e-2]), one), X)
    solver.solve(np.array([0]))
    assert np.allclose(solver.coef, np.linalg.solve(K + 0.6 * np.eye(60), y))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's switches")
def test_compiled_solves_read_no_freed_memory():
    switches = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "MALLOC_PERTURB_": "165"}
    done = subprocess.run(
        [sys.executable, "-c", SOLVES], env={**os.environ, **switches}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["gaussian", "matern12", "polynomial", "sobolev"])
@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("single", [False, True])
def test_chunks_and_arrays_have_one_layout(name, d, single):
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
    layouts = [make_layout(make_kernel("laplacian", X, b), X, True, 0.1) for b in (0.7, 700.0)]
    assert [layout.dtype for layout in layouts] == [np.float64, np.float32]  # errors of 50 features add up
