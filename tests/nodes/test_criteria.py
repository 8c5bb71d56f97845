"""Every criterion against its brute-force definition: explicit hat matrices, refits, double loops."""

import numpy as np
import pytest

from skewridge.kernels import Kernel
from skewridge.linalg.cholesky import solve_path
from skewridge.nodes.partition import PartitionSettings, deal_rows
from skewridge.nodes.tuning import Search, Trial, cp, gcv, jackknife_error, mean_risk
from skewridge.nodes.tuning import pair_risk as pair_risk_of
from skewridge.response.slices import slice_response
from tests import naive

BANDWIDTHS, PENALTIES = [0.2, 0.7], np.array([1e-3, 1e-2, 0.3])
N, K = 40, 4

overlapping = pytest.mark.parametrize("slices", [1, 6], ids=["disjoint", "overlapping"])
weighting = pytest.mark.parametrize("focus", [1.0, 0.4], ids=["unweighted", "weighted"])


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    X = rng.random((N, 2))
    y = np.exp(3 * X[:, 0] ** 4) + 0.1 * rng.normal(size=N)
    return X, y - y.mean()


def partition_of(y, slices, focus):
    return deal_rows(slice_response(y, slices), K, 3, PartitionSettings(K, slices, focus=focus))


def hats(X, partition, bandwidth, penalty):
    """(rows, gram, ridge diagonal, hat matrix) of every node."""
    for i in range(K):
        rows, weights = partition.node(i)
        w = np.ones(len(rows)) if weights is None else weights
        gram = naive.gram("gaussian", X[rows], X[rows], bandwidth=bandwidth)
        ridge = penalty * w.sum() / w
        yield rows, gram, ridge, gram @ np.linalg.inv(gram + np.diag(ridge))


def search_of(criterion, X, y, partition, n_nodes=K, scores=None):
    """A search that has tried so many nodes at every bandwidth."""
    trial = Trial([partition.node(i) for i in range(K)], np.arange(N), np.ones(N))
    scores = np.ones(N) if scores is None else scores
    search = Search(criterion, X, y, scores, [trial], Kernel("gaussian", bandwidth=1.0), PENALTIES)
    search.widen(BANDWIDTHS, n_nodes)
    return search


def pair_risk(errors, row_weights, k):
    """The risk, and what it would be without each of the nodes."""
    products = np.einsum("q...r,r,s...r->...qs", errors, row_weights, errors)
    return pair_risk_of(products, k)


@overlapping
@weighting
def test_leave_one_out_of_the_average_equals_refits(data, slices, focus):
    """Row i is taken out of every node that holds it; ridge, allocation and intercept stay as they were."""
    X, y = data
    partition = partition_of(y, slices, focus)
    search = search_of("loo", X, y, partition)
    for bandwidth in BANDWIDTHS:
        for p, penalty in enumerate(PENALTIES):
            errors = np.zeros(N)
            for i in range(N):
                total = 0.0
                for rows, gram, ridge, _ in hats(X, partition, bandwidth, penalty):
                    rest = rows != i
                    coef = np.linalg.solve(gram[np.ix_(rest, rest)] + np.diag(ridge[rest]), y[rows[rest]])
                    total += naive.gram("gaussian", X[[i]], X[rows[rest]], bandwidth=bandwidth)[0] @ coef
                errors[i] = y[i] - total / K
            assert search.risks[bandwidth][0][p] == pytest.approx(np.mean(errors**2), rel=1e-8)


@overlapping
@weighting
def test_dgcv_equals_the_explicit_hat_matrix_of_the_average(data, slices, focus):
    X, y = data
    partition = partition_of(y, slices, focus)
    search = search_of("dgcv", X, y, partition)
    for bandwidth in BANDWIDTHS:
        for p, penalty in enumerate(PENALTIES):
            H = np.zeros((N, N))
            for rows, gram, ridge, _ in hats(X, partition, bandwidth, penalty):
                to_rows = naive.gram("gaussian", X, X[rows], bandwidth=bandwidth)
                H[:, rows] += to_rows @ np.linalg.inv(gram + np.diag(ridge)) / K
            expected = np.mean((y - H @ y) ** 2) / (1 - np.trace(H) / N) ** 2
            assert search.risks[bandwidth][0][p] == pytest.approx(expected, rel=1e-8)


@overlapping
@weighting
def test_gcv_and_cp_equal_the_explicit_hat_matrix_of_a_node(data, slices, focus):
    X, y = data
    partition = partition_of(y, slices, focus)
    solved = {name: search_of(name, X, y, partition).trials[0].solved for name in ("gcv", "cp")}
    for bandwidth in BANDWIDTHS:
        for j in range(K):
            table = []
            for penalty in PENALTIES:
                rows, _, ridge, hat = list(hats(X, partition, bandwidth, penalty))[j]
                w = 1 / ridge
                square = np.sum(w * (y[rows] - hat @ y[rows]) ** 2) / w.sum()
                table.append((square, np.trace(hat), len(rows)))
            square, trace, n = (np.array(column) for column in zip(*table, strict=True))
            expected = square / (1 - trace / n) ** 2
            np.testing.assert_allclose(solved["gcv"][bandwidth][j][1], expected, rtol=1e-8)
            best = np.argmin(expected)
            noise = square[best] / (1 - trace[best] / n[best])
            np.testing.assert_allclose(solved["cp"][bandwidth][j][1], square + 2 * noise * trace / n, rtol=1e-8)


def test_unweighted_gcv_is_the_textbook_formula(data):
    X, y = data
    K_ = naive.gram("gaussian", X, X, bandwidth=0.3)
    path = solve_path(np.tril(K_), y, PENALTIES)
    for p, penalty in enumerate(PENALTIES):
        hat = K_ @ np.linalg.inv(K_ + N * penalty * np.eye(N))
        r = y - hat @ y
        assert gcv(path)[p] == pytest.approx(N * (r @ r) / (N - np.trace(hat)) ** 2, rel=1e-8)
        assert cp(path).shape == (3,)


@overlapping
@weighting
@pytest.mark.parametrize("q", [2, 3])
def test_pair_estimate_equals_the_double_loop(data, slices, focus, q):
    X, y = data
    weights = np.random.default_rng(0).random(N)
    partition = partition_of(y, slices, focus)
    search = search_of("loo", X, y, partition, q, weights)
    for bandwidth in BANDWIDTHS:
        for p, penalty in enumerate(PENALTIES):
            e = np.array(
                [left_out_errors(X, y, node, bandwidth) for node in list(hats(X, partition, bandwidth, penalty))[:q]]
            )
            same = sum(e[j] ** 2 for j in range(q)) / q
            crossed = sum(e[j] * e[i] for j in range(q) for i in range(q) if i != j) / (q * (q - 1))
            expected = (same / K + (1 - 1 / K) * crossed) @ weights / weights.sum()
            assert search.risks[bandwidth][0][p] == pytest.approx(expected, rel=1e-8)


def left_out_errors(X, y, node, bandwidth):
    """y_i minus one node's estimate, without row i where the node holds it."""
    rows, gram, ridge, _ = node
    errors = np.empty(N)
    for i in range(N):
        rest = rows != i
        coef = np.linalg.solve(gram[np.ix_(rest, rest)] + np.diag(ridge[rest]), y[rows[rest]])
        errors[i] = y[i] - naive.gram("gaussian", X[[i]], X[rows[rest]], bandwidth=bandwidth)[0] @ coef
    return errors


def test_jackknife_leaves_each_node_out():
    errors = np.random.default_rng(0).normal(size=(5, 3, 20))
    weights = np.full(20, 1 / 20)
    whole = pair_risk(errors, weights, 50)[1]
    without = [pair_risk(np.delete(errors, j, axis=0), weights, 50)[0] for j in range(5)]
    np.testing.assert_allclose(whole, np.array(without).T, rtol=1e-10)
    expected = np.sqrt(4 / 5 * np.sum((np.array(without) - np.mean(without, axis=0)) ** 2, axis=0))
    np.testing.assert_allclose(jackknife_error(whole), expected, rtol=1e-10)


def test_pair_estimate_is_unbiased_and_the_square_of_the_q_average_is_not():
    """Independent node errors of variance 1 around a bias of 0.3: the risk of the k-average is 0.09 + 1/k."""
    rng = np.random.default_rng(0)
    q, k, rows, draws = 4, 50, 30, 4000
    weights = np.full(rows, 1 / rows)
    estimates, naive_squares = [], []
    for _ in range(draws):
        errors = 0.3 + rng.normal(size=(q, rows))
        estimates.append(float(pair_risk(errors, weights, k)[0]))
        naive_squares.append(np.mean(errors.mean(axis=0) ** 2))
    truth = 0.09 + 1 / k
    assert abs(np.mean(estimates) - truth) < 4 * np.std(estimates) / np.sqrt(draws)
    assert np.mean(naive_squares) > 2 * truth


def test_all_nodes_leave_no_doubt():
    errors = np.random.default_rng(0).normal(size=(3, 2, 10))
    risk, without = pair_risk(errors, np.full(10, 0.1), 3)
    np.testing.assert_allclose(risk, np.mean(errors.mean(axis=0) ** 2, axis=-1))
    assert not jackknife_error(without).any()


def test_mean_of_risks_has_the_mean_and_the_independent_error():
    rng = np.random.default_rng(0)
    parts = [pair_risk(rng.normal(size=(4, 2, 10)), np.full(10, 0.1), 9) for _ in range(3)]
    shares = np.array([0.5, 0.3, 0.2])
    risk, without = mean_risk(parts, shares)
    np.testing.assert_allclose(risk, sum(s * part for s, (part, _) in zip(shares, parts, strict=True)))
    expected = np.sqrt(sum((s * jackknife_error(own)) ** 2 for s, (_, own) in zip(shares, parts, strict=True)))
    np.testing.assert_allclose(jackknife_error(without), expected, rtol=1e-9)
    assert mean_risk(parts[:1], np.ones(1)) is parts[0]
    assert jackknife_error(np.ones((2, 1))).tolist() == [0.0, 0.0]
