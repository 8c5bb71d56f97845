import numpy as np
import pytest

from skewridge.centers.judging import PENALTIES, Candidate, Judge, Verdict, fold_rows
from skewridge.engine.job import Job
from skewridge.response.sampling import N_FOLDS, make_pool
from tests import naive

GIVEN = np.logspace(-4, 0, 5)


def data_of(n, seed=0, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    Y = np.column_stack([np.exp(3 * X[:, 0] + p * X[:, 1]) for p in range(outputs)])
    return X, Y + 0.1 * rng.normal(size=Y.shape)


def judge_of(X, Y, weights=None, scores=None, fit_intercept=True, most=10**6, penalties=GIVEN, job=None, on=None):
    w = np.ones(len(X)) if weights is None else weights
    pools = {"response": make_pool(X, Y, w, "auto", 5)}
    if on is not None:
        pools["pilot"] = pools["response"].sliced(on, "auto")
    return Judge(fold_rows(X, Y, scores, pools, most), 3, penalties, fit_intercept, job or Job())


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


def assert_equal(verdict, expected):
    errors, plain, biases = expected
    np.testing.assert_allclose(verdict.errors, errors, rtol=1e-7)
    np.testing.assert_allclose(verdict.plain, plain, rtol=1e-7)
    np.testing.assert_allclose(verdict.biases, biases, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("adapt", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_errors_are_those_of_refits_without_the_fold_on_centres_drawn_outside_it(adapt, outputs, fit_intercept):
    X, Y = data_of(60, outputs=outputs)
    judge, candidate = judge_of(X, Y, fit_intercept=fit_intercept), Candidate("matern32", 12, adapt, 0.6)
    expected = brute_force(X, Y, judge.rows.pools["response"], candidate, fit_intercept)
    assert_equal(judge(candidate), expected)


@pytest.mark.parametrize("kernel", ["matern12", "laplacian", "sobolev"])
def test_every_kernel_is_judged_alike(kernel):
    X, Y = data_of(50, 1)
    judge, candidate = judge_of(X, Y), Candidate(kernel, 10, 0.5, None if kernel == "sobolev" else 0.6)
    assert_equal(judge(candidate), brute_force(X, Y, judge.rows.pools["response"], candidate))


@pytest.mark.parametrize("scored", [False, True])
def test_weights_and_scores_count_rows_in_the_fit_and_in_the_errors(scored):
    X, Y = data_of(60, 2, outputs=2)
    rng = np.random.default_rng(0)
    scores = rng.random(60) + 0.1 if scored else None
    judge, candidate = judge_of(X, Y, rng.random(60) + 0.5, scores), Candidate("matern32", 12, 0.5, 0.6)
    verdict = judge(candidate)
    assert_equal(verdict, brute_force(X, Y, judge.rows.pools["response"], candidate, scores=scores))
    assert np.array_equal(verdict.errors, verdict.plain) == (not scored)


def test_a_repeated_row_is_judged_as_a_row_of_its_weight():
    X, Y = data_of(50, 3)
    times, candidate = np.random.default_rng(0).integers(1, 4, 50), Candidate("matern32", 10, 0.5, 0.6)
    which = np.repeat(np.arange(50), times)
    weighted, repeated = judge_of(X, Y, times.astype(float))(candidate), judge_of(X[which], Y[which])(candidate)
    assert np.array_equal(weighted.errors, repeated.errors)


def test_the_order_of_rows_changes_no_bit():
    X, Y = data_of(50, 4)
    order, candidate = np.random.default_rng(0).permutation(50), Candidate("matern32", 10, 0.5, 0.6)
    assert np.array_equal(judge_of(X, Y)(candidate).errors, judge_of(X[order], Y[order])(candidate).errors)


def test_threads_change_no_bit():
    X, Y = data_of(120, 5)
    candidate = Candidate("matern32", 30, 0.5, 0.6)
    one, two = (judge_of(X, Y, job=Job(n_jobs=j))(candidate) for j in (1, 2))
    assert np.array_equal(one.errors, two.errors)


@pytest.mark.parametrize("most", [25, 40])
def test_only_so_many_rows_are_judged_on(most):
    X, Y = data_of(60, 6)
    judge, candidate = judge_of(X, Y, most=most), Candidate("matern32", 10, 0.5, 0.6)
    pool = make_pool(X, Y, np.ones(60), "auto", 5).first(most)
    assert len(judge.rows) == len(pool) == most
    assert judge.rows.ends[-1] == most
    assert_equal(judge(candidate), brute_force(X, Y, pool, candidate))


def test_rows_come_fold_after_fold_and_are_found_again():
    X, Y = data_of(60, 7)
    scores = np.arange(60.0)
    judge = judge_of(X, Y, np.arange(1.0, 61.0), scores)
    rows, pool = judge.rows, judge.rows.pools["response"]
    np.testing.assert_array_equal(rows.X[rows.places], X[pool.rows])
    np.testing.assert_array_equal(rows.Y[rows.places], Y[pool.rows])
    np.testing.assert_array_equal(rows.weights[rows.places], pool.weights)
    np.testing.assert_array_equal(rows.scores[rows.places], scores[pool.rows])
    folds = np.searchsorted(rows.ends, np.arange(60), side="right")
    np.testing.assert_array_equal(folds[rows.places], pool.folds)


def test_slices_of_something_else_draw_other_centres_in_the_same_folds():
    X, Y = data_of(60, 8)
    judge = judge_of(X, Y, on=-X[:, :1])
    for name, pool in judge.rows.pools.items():
        candidate = Candidate("matern32", 12, 0.8, 0.6, name)
        assert_equal(judge(candidate), brute_force(X, Y, pool, candidate))
    assert len({verdict.risk for verdict in judge.verdicts.values()}) == 2


def test_the_path_of_penalties_is_in_units_of_the_kernels_diagonal():
    X, Y = data_of(40, 9)
    judge = judge_of(X, Y, penalties=None)
    np.testing.assert_allclose(judge(Candidate("matern32", 10, 0.0, 0.6)).penalties, PENALTIES)
    diagonal = np.mean((1 + np.sum(X**2, axis=1)) ** 3)
    np.testing.assert_allclose(judge(Candidate("polynomial", 10, 0.0, None)).penalties, PENALTIES * diagonal)


def test_a_constant_output_has_no_error_and_harms_no_other():
    X, Y = data_of(50, 10)
    judge, candidate = judge_of(X, np.column_stack([Y, np.full(50, 3.0)])), Candidate("matern32", 10, 0.0, 0.6)
    assert judge.rows.scale[1] == 1.0
    expected, _, _ = brute_force(X, Y, judge.rows.pools["response"], candidate)
    np.testing.assert_allclose(2 * judge(candidate).errors, expected, rtol=1e-7)


def test_a_verdict_is_remembered():
    X, Y = data_of(40, 11)
    judge, candidate = judge_of(X, Y), Candidate("matern32", 10, 0.0, 0.6)
    first, cost = judge(candidate), judge.flops
    assert judge(Candidate("matern32", 10, 0.0, 0.6)) is first
    assert judge.flops == cost > 0


def verdict_of(errors):
    errors = np.array(errors, dtype=float)
    return Verdict(Candidate("matern32", 1, 0.0, 1.0), np.arange(errors.shape[1]) + 1.0, errors, errors, errors)


def test_a_verdict_is_least_where_the_mean_of_the_folds_is():
    verdict = verdict_of([[1.0, 0.2, 5.0], [1.0, 0.6, 0.0]])
    assert verdict.curve.tolist() == [1.0, 0.4, 2.5]
    assert (verdict.place, verdict.penalty, verdict.risk) == (1, 2.0, 0.4)
    np.testing.assert_allclose(verdict.margins, [0.0, 0.2, 2.5])


def test_to_beat_is_to_gain_so_many_standard_errors_in_paired_folds():
    old, new = verdict_of([[1.0], [2.0], [3.0]]), verdict_of([[0.9], [1.8], [2.7]])  # gains 0.1, 0.2, 0.3
    t = 0.2 / (0.1 / np.sqrt(3))
    assert new.beats(old, 0.99 * t)
    assert not new.beats(old, 1.01 * t)
    assert not old.beats(new, 0.0)
    assert not old.beats(old, 0.0)


def test_easing_lowers_the_penalty_while_the_folds_cannot_tell():
    rise = np.array([0.0, 0.1, 0.2])  # mean 0.1, standard error 0.1 / sqrt(3)
    verdict = verdict_of(1 + np.column_stack([3 * rise + 1, 2 * rise, rise, np.zeros(3), np.ones(3)]))
    t = np.sqrt(3)
    assert verdict.ease(0.99 * t, 9.0, 9).eased == 0
    assert verdict.ease(1.01 * t, 9.0, 9).penalty == 2.0
    assert verdict.ease(1.01 * t, 9.0, 1).penalty == 3.0
    eased = verdict.ease(1.01 * t, 9.0, 9)
    assert (eased.place, eased.risk, eased.curve[3]) == (1, pytest.approx(1.2), 1.0)
    assert verdict.ease(1e9, 9.0, 9).place == 0
    assert verdict.ease(1e9, 0.15, 9).penalty == 3.0, "a tenth of the risk, but not a fifth"


def test_a_fold_in_which_no_row_counts_does_no_harm():
    X, Y = data_of(60, 2)
    scores = np.zeros(60)
    scores[7] = 1.0
    judge, candidate = judge_of(X, Y, None, scores), Candidate("matern32", 12, 0.5, 0.6)
    verdict = judge(candidate)
    assert_equal(verdict, brute_force(X, Y, judge.rows.pools["response"], candidate, scores=scores))
    assert np.count_nonzero(verdict.errors.sum(axis=1)) == 1


def test_scores_that_count_no_row_are_refused():
    X, Y = data_of(60, 2)
    with pytest.raises(ValueError, match="scoring gives no weight to any of the rows"):
        judge_of(X, Y, None, np.zeros(60))(Candidate("matern32", 12, 0.5, 0.6))
