from dataclasses import replace

import numpy as np
import pytest

from skewridge.centers.cross_validation import PENALTIES, Candidate, cross_validator
from skewridge.centers.rows import CenterSettings, TrainingRows
from skewridge.execution.context import using
from skewridge.response.candidates import N_FOLDS, candidate_rows
from tests import naive

GIVEN = np.logspace(-4, 0, 5)


def data_of(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    Y = np.exp(3 * X[:, :1])
    return X, Y + 0.1 * rng.normal(size=Y.shape)


def rows_of(X, Y, weights=None, scores=None):
    w = np.ones(len(X)) if weights is None else weights
    candidates = candidate_rows(X, Y, w, "auto", 5)
    zero, one = np.zeros(1), np.ones(1)
    return TrainingRows(X, Y, w, scores, candidates, zero, one, zero - np.inf, zero + np.inf, True, 5)


def validator(X, Y, weights=None, scores=None, fit_intercept=True, most=10**6, penalties=GIVEN):
    settings = CenterSettings(fit_intercept=fit_intercept)
    return replace(cross_validator(rows_of(X, Y, weights, scores), most, settings), penalties=penalties)


def brute_force(X, Y, pool, candidate, fit_intercept=True, scores=None, degree=3):
    """(errors, plain, biases), (N_FOLDS, P), from a refit for every fold and penalty on the rows of a pool."""
    X, Y, w, p = X[pool.rows], Y[pool.rows], pool.weights, len(GIVEN)
    s = np.ones(len(w)) if scores is None else scores[pool.rows]
    K = naive.gram(
        candidate.kernel, X, X, bandwidth=candidate.bandwidth or 1.0, degree=degree, low=X.min(0), high=X.max(0)
    )
    variance = np.average((Y - np.average(Y, axis=0, weights=w)) ** 2, axis=0, weights=w)
    errors, plain, biases = (np.empty((N_FOLDS, p)) for _ in range(3))
    for fold in range(N_FOLDS):
        train, test = pool.folds != fold, pool.folds == fold
        centers = pool.draw(candidate.n_centers, candidate.adapt, fold)
        assert not set(centers) & set(np.flatnonzero(test))
        means = np.average(Y[train], axis=0, weights=w[train]) * fit_intercept
        A, B = K[np.ix_(train, centers)], K[np.ix_(test, centers)]
        for q, penalty in enumerate(GIVEN):
            left = A.T @ (w[train, None] * A) + w[train].sum() * penalty * K[np.ix_(centers, centers)]
            coef = np.linalg.solve(left, A.T @ (w[train, None] * (Y[train] - means)))
            residual = Y[test] - means - B @ coef
            counted = np.sum(w * s) / N_FOLDS
            errors[fold, q] = np.mean((w[test] * s[test]) @ residual**2 / counted / variance)
            plain[fold, q] = np.mean(np.average(residual**2, axis=0, weights=w[test]) / variance)
            biases[fold, q] = np.mean(np.average(residual, axis=0, weights=w[test]) / np.sqrt(variance))
    return (plain if scores is None else errors), plain, biases


def assert_equal(score, expected):
    errors, plain, biases = expected
    np.testing.assert_allclose(score.errors, errors, rtol=1e-7)
    np.testing.assert_allclose(score.plain, plain, rtol=1e-7)
    np.testing.assert_allclose(score.biases, biases, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("adapt", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_errors_are_those_of_refits_without_the_fold_on_centres_drawn_outside_it(adapt, fit_intercept):
    X, Y = data_of(60)
    validate, candidate = validator(X, Y, fit_intercept=fit_intercept), Candidate("matern32", 12, adapt, 0.6)
    expected = brute_force(X, Y, validate.candidates, candidate, fit_intercept)
    assert_equal(validate(candidate), expected)


@pytest.mark.parametrize("kernel", ["matern12", "laplacian", "sobolev"])
def test_every_kernel_is_validated_alike(kernel):
    X, Y = data_of(50, 1)
    validate, candidate = validator(X, Y), Candidate(kernel, 10, 0.5, None if kernel == "sobolev" else 0.6)
    assert_equal(validate(candidate), brute_force(X, Y, validate.candidates, candidate))


@pytest.mark.parametrize("scored", [False, True])
def test_weights_and_scores_count_rows_in_the_fit_and_in_the_errors(scored):
    X, Y = data_of(60, 2)
    rng = np.random.default_rng(0)
    scores = rng.random(60) + 0.1 if scored else None
    validate, candidate = validator(X, Y, rng.random(60) + 0.5, scores), Candidate("matern32", 12, 0.5, 0.6)
    score = validate(candidate)
    assert_equal(score, brute_force(X, Y, validate.candidates, candidate, scores=scores))
    assert np.array_equal(score.errors, score.plain) == (not scored)


def test_a_repeated_row_is_validated_as_a_row_of_its_weight():
    X, Y = data_of(50, 3)
    times, candidate = np.random.default_rng(0).integers(1, 4, 50), Candidate("matern32", 10, 0.5, 0.6)
    which = np.repeat(np.arange(50), times)
    weighted, repeated = validator(X, Y, times.astype(float))(candidate), validator(X[which], Y[which])(candidate)
    assert np.array_equal(weighted.errors, repeated.errors)


def test_the_order_of_rows_changes_no_bit():
    X, Y = data_of(50, 4)
    order, candidate = np.random.default_rng(0).permutation(50), Candidate("matern32", 10, 0.5, 0.6)
    assert np.array_equal(validator(X, Y)(candidate).errors, validator(X[order], Y[order])(candidate).errors)


def test_threads_change_no_bit():
    X, Y = data_of(120, 5)
    candidate = Candidate("matern32", 30, 0.5, 0.6)
    one, two = (using(n_jobs=j)(validator(X, Y))(candidate) for j in (1, 2))
    assert np.array_equal(one.errors, two.errors)


@pytest.mark.parametrize("most", [25, 40])
def test_only_so_many_rows_are_validated_on(most):
    X, Y = data_of(60, 6)
    validate, candidate = validator(X, Y, most=most), Candidate("matern32", 10, 0.5, 0.6)
    pool = candidate_rows(X, Y, np.ones(60), "auto", 5).first(most)
    assert len(validate.X) == len(pool) == most
    assert validate.ends[-1] == most
    assert_equal(validate(candidate), brute_force(X, Y, pool, candidate))


def test_rows_come_fold_after_fold_and_are_found_again():
    X, Y = data_of(60, 7)
    scores, weights = np.arange(60.0), np.arange(1.0, 61.0)
    rows = validator(X, Y, weights, scores)
    pool, sample = rows.candidates, rows.sample
    np.testing.assert_array_equal(sample.Z, X[pool.rows])
    np.testing.assert_array_equal(sample.Y, Y[pool.rows])
    np.testing.assert_array_equal(sample.frequencies, pool.weights)
    np.testing.assert_array_equal(sample.loss_weights, (scores * weights)[pool.rows])
    folds = np.searchsorted(rows.ends, np.arange(60), side="right")
    np.testing.assert_array_equal(folds[rows.places], pool.folds)


@pytest.mark.parametrize("scored", [False, True])
def test_rows_with_equal_x_are_left_out_together_and_all_their_errors_count(scored):
    """Against refits to the rows as they came, each with its own response, weight and score."""
    rng = np.random.default_rng(3)
    X, Y = data_of(30, 12)
    which = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    X, Y = X[which], Y[which] + rng.normal(size=(len(which), 1))
    w, s = rng.random(len(X)) + 0.5, rng.random(len(X)) + 0.1
    validate, candidate = validator(X, Y, w, s if scored else None), Candidate("matern32", 12, 0.5, 0.6)
    pool = validate.candidates
    folds, y = pool.folds[pool.member], Y[:, 0]
    variance = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    expected = np.empty((N_FOLDS, len(GIVEN)))
    for fold in range(N_FOLDS):
        train, test = folds != fold, folds == fold
        C = X[pool.rows[pool.draw(12, 0.5, fold)]]
        A, B, K = (naive.gram("matern32", Z, C, bandwidth=0.6) for Z in (X[train], X[test], C))
        mean = np.average(Y[train], axis=0, weights=w[train])
        for q, penalty in enumerate(GIVEN):
            left = A.T @ (w[train, None] * A) + w[train].sum() * penalty * K
            residual = Y[test] - mean - B @ np.linalg.solve(left, A.T @ (w[train, None] * (Y[train] - mean)))
            counted = w * s if scored else w
            share = counted.sum() / N_FOLDS if scored else counted[test].sum()
            expected[fold, q] = counted[test] @ residual[:, 0] ** 2 / share / variance
    np.testing.assert_allclose(validate(candidate).errors, expected, rtol=1e-7)


def test_the_path_of_penalties_is_in_units_of_the_kernels_diagonal():
    X, Y = data_of(40, 9)
    validate = validator(X, Y, penalties=None)
    np.testing.assert_allclose(validate(Candidate("matern32", 10, 0.0, 0.6)).penalties, PENALTIES)
    diagonal = np.mean((1 + np.sum(X**2, axis=1)) ** 3)
    np.testing.assert_allclose(validate(Candidate("polynomial", 10, 0.0, None)).penalties, PENALTIES * diagonal)


def test_a_constant_response_has_no_error():
    X, _ = data_of(50, 10)
    validate = validator(X, np.full((50, 1), 3.0))
    assert validate.variance == 1.0
    np.testing.assert_allclose(validate(Candidate("matern32", 10, 0.0, 0.6)).errors, 0.0, atol=1e-12)


def test_a_score_is_least_where_the_mean_of_the_folds_is():
    X, Y = data_of(60, 2)
    score = validator(X, Y)(Candidate("matern32", 12, 0.5, 0.6))
    np.testing.assert_array_equal(score.risks, score.errors.mean(axis=0))
    assert score.risk == score.risks.min()
    assert score.penalty == score.penalties[score.place] == score.penalties[np.argmin(score.risks)]


def test_a_fold_in_which_no_row_counts_does_no_harm():
    X, Y = data_of(60, 2)
    scores = np.zeros(60)
    scores[7] = 1.0
    validate, candidate = validator(X, Y, None, scores), Candidate("matern32", 12, 0.5, 0.6)
    score = validate(candidate)
    assert_equal(score, brute_force(X, Y, validate.candidates, candidate, scores=scores))
    assert np.count_nonzero(score.errors.sum(axis=1)) == 1


def test_scores_that_count_no_row_are_refused():
    X, Y = data_of(60, 2)
    with pytest.raises(ValueError, match="scoring gives no weight to any of the rows"):
        validator(X, Y, None, np.zeros(60))(Candidate("matern32", 12, 0.5, 0.6))
