from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.execution.checkpoint import Checkpoint
from skewridge.execution.chunked import ArrayChunk, Table
from skewridge.execution.context import using
from skewridge.execution.memory import Budget
from skewridge.kernels import Kernel
from skewridge.response.allocation import Allocation, allocate
from skewridge.response.slices import slice_response
from skewridge.ridge.exact import Nodes, NodeSolver, make_layout
from skewridge.ridge.sharding import divided, solve_share, solve_shares

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(400, 2)), RNG.gamma(0.5, size=400)
NODES = allocate(slice_response(Y, 6), 9, seed=0)
KERNEL = Kernel("matern32", bandwidth=1.0)


def nodes_of(weights=None):
    penalties = np.linspace(1e-3, 1e-2, 9)
    return Nodes(KERNEL, make_layout(KERNEL, X, False, 1e-3), Y, weights, penalties, NODES)


def direct(nodes):
    solver = NodeSolver(nodes, X)
    solver.solve(np.arange(9))
    return solver.coef


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("allowed", [1.0, 4e4, 1e9])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_shares_have_the_bits_of_all_nodes_at_once(weighted, allowed, n_jobs):
    given = nodes_of(RNG.random(400) + 0.5 if weighted else None)
    table = Table((ArrayChunk(X[:150]), ArrayChunk(X[150:])), 2)
    for rows in (X, table):
        assert np.array_equal(using(n_jobs=n_jobs, budget=Budget(allowed))(solve_shares)(given, rows), direct(given))


def test_a_share_is_solved_on_its_own_rows_alone():
    ids, share = nodes_of().some(np.array([2, 5]))
    assert np.array_equal(ids, np.union1d(NODES[2], NODES[5]))
    solved = solve_share(X[ids], share)
    found = {int(name): coef for names, coefs in solved for name, coef in zip(names, coefs, strict=True)}
    assert sorted(found) == [2, 5]
    for name, coef in found.items():
        assert np.array_equal(coef, direct(nodes_of())[NODES.starts[name] : NODES.starts[name + 1]])


@given(
    st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=1, max_size=12),
    st.integers(1, 40),
    st.sampled_from([50.0, 5000.0, np.inf]),
)
def test_shares_hold_every_node_once_and_no_more_rows_than_allowed(sets, most, work):
    starts = np.cumsum([0, *map(len, sets)])
    nodes = Allocation(np.concatenate([sorted(rows) for rows in sets]), starts)
    parts = divided(nodes, np.arange(len(sets)), most, work)
    assert np.concatenate(parts).tolist() == list(range(len(sets)))
    for part in parts:
        assert len(part) == 1 or len(set().union(*(sets[i] for i in part))) <= most
        assert len(part) == 1 or sum(len(sets[i]) ** 3 for i in part) <= work


def test_an_unsolvable_node_is_named_as_it_is_called():
    bad = replace(nodes_of(), penalties=np.array([1e-2] * 8 + [-1.0]))
    with pytest.raises(np.linalg.LinAlgError, match=r"Node 8 \("):
        using(budget=Budget(1.0))(solve_shares)(bad, X)


def test_nodes_that_were_solved_are_not_solved_again(tmp_path, monkeypatch):
    solved, original, expected = [], NodeSolver.solve, direct(nodes_of())

    def solve(self, batch):
        if len(solved) == 4:
            raise KeyboardInterrupt
        solved.extend(self.nodes.names[batch])
        original(self, batch)

    monkeypatch.setattr("skewridge.ridge.exact.BATCH_WORK", 1.0)  # one node a batch
    monkeypatch.setattr(NodeSolver, "solve", solve)
    with pytest.raises(KeyboardInterrupt):
        using(checkpoint=Checkpoint(tmp_path, {}))(solve_shares)(nodes_of(), X)
    first = solved[:]
    solved.clear()
    monkeypatch.setattr(NodeSolver, "solve", lambda s, n: solved.extend(s.nodes.names[n]) or original(s, n))
    coef = using(checkpoint=Checkpoint(tmp_path, {}))(solve_shares)(nodes_of(), X)
    assert sorted(first + solved) == list(range(9))
    assert np.array_equal(coef, expected)
    solved.clear()
    assert np.array_equal(using(checkpoint=Checkpoint(tmp_path, {}))(solve_shares)(nodes_of(), X), coef)
    assert not solved
