import numpy as np
import pytest

from skewridge.centers.cross_fit import first_estimate
from skewridge.centers.cross_validation import Candidate
from skewridge.centers.rows import FEWEST_ROWS
from skewridge.execution.context import using
from skewridge.features.scaling import standard_scaling
from skewridge.response.candidates import N_FOLDS, candidate_rows
from tests import naive

CHOSEN = Candidate("matern32", 15, 0.5, 1.5)


def data_of(n, seed=0, noise=0.5):
    """X, truth and noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    truth = np.sin(5 * X[:, :1]) + X[:, 1:]
    return X, truth, noise * rng.normal(size=truth.shape)


@pytest.fixture
def without_search(monkeypatch):
    """One candidate at one penalty, whatever the data."""
    monkeypatch.setattr("skewridge.centers.cross_fit.FIRST_CANDIDATES", ((CHOSEN.n_centers, CHOSEN.adapt),))
    monkeypatch.setattr("skewridge.centers.cross_validation.PENALTIES", np.array([1e-3]))
    monkeypatch.setattr("skewridge.centers.cross_fit.scale_kernel", lambda *_: (None, CHOSEN.bandwidth, None))


def left_out_fits(X, Y, pool, penalty):
    """For every distinct row, the fit without its fold, on centres drawn outside it."""
    X, Y, w = X[pool.rows], Y[pool.rows], pool.weights
    K, out = naive.gram(CHOSEN.kernel, X, X, bandwidth=CHOSEN.bandwidth), np.empty(Y.shape)
    for fold in range(N_FOLDS):
        train, test = pool.folds != fold, pool.folds == fold
        centers = pool.draw(CHOSEN.n_centers, CHOSEN.adapt, fold)
        mean = np.average(Y[train], axis=0, weights=w[train])
        A = K[np.ix_(train, centers)]
        left = A.T @ (w[train, None] * A) + w[train].sum() * penalty * K[np.ix_(centers, centers)]
        coef = np.linalg.solve(left, A.T @ (w[train, None] * (Y[train] - mean)))
        out[test] = mean + K[np.ix_(test, centers)] @ coef
    return out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.usefixtures("without_search")
def test_estimates_are_those_of_refits_without_the_rows_fold(weighted):
    X, truth, noise = data_of(60)
    w = np.random.default_rng(1).random(60) + 0.5 if weighted else np.ones(60)
    Y = 1e3 * (truth + noise) + 7.0
    pool = candidate_rows(X, Y, w, "auto", 3)
    estimates, Z = first_estimate(X, Y, w, "auto", 3), standard_scaling(X, w)(X)
    np.testing.assert_allclose(estimates[pool.rows], left_out_fits(Z, Y, pool, 1e-3), atol=1e-7 * Y.std())


@pytest.mark.usefixtures("without_search")
def test_a_pilot_is_cross_fitted_on_standardised_features_with_the_folds_of_its_seed():
    X, truth, noise = data_of(60, 4)
    X, Y = X * [128.0, 0.0078125], truth + noise
    found = first_estimate(X, Y, np.ones(60), "auto", 9)
    pool, scaled = candidate_rows(X, Y, np.ones(60), "auto", 9), standard_scaling(X, np.ones(60))(X)
    np.testing.assert_allclose(found[pool.rows], left_out_fits(scaled, Y, pool, 1e-3), atol=1e-7)
    assert not np.allclose(first_estimate(X, Y, np.ones(60), "auto", 10), found)


@pytest.mark.usefixtures("without_search")
def test_copies_of_a_row_share_its_fold_and_its_estimate():
    X, truth, noise = data_of(40, 5)
    Y, times = truth + noise, np.random.default_rng(0).integers(1, 4, 40)
    which = np.repeat(np.arange(40), times)
    weighted = first_estimate(X, Y, times.astype(float), "auto", 0)
    repeated = first_estimate(X[which], Y[which], np.ones(len(which)), "auto", 0)
    np.testing.assert_allclose(repeated, weighted[which], atol=1e-9)


@pytest.mark.usefixtures("without_search")
def test_estimates_follow_the_rows_in_any_order():
    X, truth, noise = data_of(60, 6)
    Y, order = truth + noise, np.random.default_rng(0).permutation(60)
    straight, shuffled = (
        first_estimate(X, Y, np.ones(60), "auto", 0),
        first_estimate(X[order], Y[order], np.ones(60), "auto", 0),
    )
    np.testing.assert_allclose(shuffled, straight[order], atol=1e-9)


def test_a_searched_pilot_follows_the_rows_in_any_order_and_is_closer_to_the_truth_than_the_response():
    X, truth, noise = data_of(200, 7)
    Y, order = truth + noise, np.random.default_rng(0).permutation(200)
    estimates = first_estimate(X, Y, np.ones(200), "auto", 0)
    again = using(n_jobs=2)(first_estimate)(X[order], Y[order], np.ones(200), "auto", 0)
    np.testing.assert_allclose(again, estimates[order], atol=1e-6)
    assert np.mean((estimates - truth) ** 2) < 0.3 * np.mean(noise**2)


def test_a_rows_own_noise_is_not_in_its_estimate():
    """Over data sets, within 4 standard errors; fits that have seen the rows follow the noise."""
    crossed, inside = [], []
    for seed in range(8):
        X, truth, noise = data_of(120, seed)
        estimates = first_estimate(X, truth + noise, np.ones(120), "auto", seed)
        K = naive.gram("matern32", X, X, bandwidth=0.5)
        fit = K @ naive.solve(K, truth + noise, 1e-2)
        crossed.append(np.corrcoef((estimates - truth)[:, 0], noise[:, 0])[0, 1])
        inside.append(np.corrcoef((fit - truth)[:, 0], noise[:, 0])[0, 1])
    assert abs(np.mean(crossed)) < 4 * np.std(crossed, ddof=1) / np.sqrt(8)
    assert np.mean(inside) > 4 * np.std(inside, ddof=1) / np.sqrt(8)


@pytest.mark.usefixtures("without_search")
def test_rows_beyond_those_that_a_pilot_is_fitted_to_have_estimates_too(monkeypatch):
    monkeypatch.setattr("skewridge.centers.cross_fit.FIRST_ROWS", 50)
    X, truth, noise = data_of(120, 8)
    pool = candidate_rows(X, truth + noise, np.ones(120), "auto", 0)
    estimates, Z = first_estimate(X, truth + noise, np.ones(120), "auto", 0), standard_scaling(X, np.ones(120))(X)
    first = left_out_fits(Z, truth + noise, pool.first(50), 1e-3)
    np.testing.assert_allclose(estimates[pool.rows[:50]], first, atol=1e-7)
    assert np.isfinite(estimates).all()


@pytest.mark.parametrize("n", [1, 2, FEWEST_ROWS - 1])
def test_too_few_rows_are_their_own_estimates(n):
    X, truth, noise = data_of(n)
    np.testing.assert_array_equal(first_estimate(X, truth + noise, np.ones(n), "auto", 0), truth + noise)


def test_copies_do_not_make_few_rows_many():
    X, truth, noise = (np.repeat(a, 10, axis=0) for a in data_of(5))
    np.testing.assert_array_equal(first_estimate(X, truth + noise, np.ones(50), "auto", 0), truth + noise)


@pytest.mark.parametrize("n", [FEWEST_ROWS, FEWEST_ROWS + 1])
def test_the_fewest_rows_that_are_enough_have_finite_estimates(n):
    X, truth, noise = data_of(n)
    assert np.isfinite(first_estimate(X, truth + noise, np.ones(n), "auto", 0)).all()


def test_a_constant_response_is_its_own_estimate():
    X, _, _ = data_of(30)
    np.testing.assert_allclose(first_estimate(X, np.full((30, 1), 4.0), np.ones(30), "auto", 0), 4.0)


@pytest.mark.parametrize(
    ("rule", "low", "high"),
    [([0.0, 1.0, 3.0], 0.0, 3.0), ([-np.inf, 0.0, np.inf], -9.0, 9.0), ("scott", -9.0, 9.0), (7, -9.0, 9.0)],
)
def test_responses_of_too_few_rows_stay_between_edges_that_are_given(rule, low, high):
    Y = np.array([[-2.0], [0.5], [9.0]])
    np.testing.assert_array_equal(first_estimate(np.eye(3), Y, np.ones(3), rule, 0), np.clip(Y, low, high))


@pytest.mark.usefixtures("without_search")
def test_a_pilot_is_clipped_to_the_edges_that_are_given():
    X, truth, noise = data_of(60, 9)
    Y = truth + noise
    free = first_estimate(X, Y, np.ones(60), "auto", 0)
    edges = np.quantile(free, [0.2, 0.5, 0.8])
    np.testing.assert_array_equal(first_estimate(X, Y, np.ones(60), edges, 0), np.clip(free, edges[0], edges[-1]))
