from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import RidgeCV

from skewridge.response.groups import assign_groups
from skewridge.ridge import linear
from skewridge.ridge.linear import GROUP_FOLDS, PENALTIES


class Fit(NamedTuple):
    model: linear.LinearModel
    left_out: np.ndarray
    penalty: float


def fit_linear(X, y, f, **more):
    return Fit(*linear.fit_linear(X, y, f, **more))


def some_rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.gamma(1.0, 1.0, d) + rng.normal(size=d)
    Y = X[:, :3] @ rng.normal(size=(min(3, d), 1)) + 0.5 * rng.normal(size=(n, 1)) + 4.0
    return X, Y, rng.integers(1, 4, n).astype(float)


def standardised(X, f):
    centred = X - np.average(X, axis=0, weights=f)
    return centred / np.sqrt(np.average(centred**2, axis=0, weights=f))


def refit(S, y, f, ridge, at):
    """Weighted least squares with an unpenalised intercept, by the normal equations."""
    A = np.column_stack([np.ones(len(S)), S])
    penalty = ridge * np.eye(A.shape[1])
    penalty[0, 0] = 0.0
    beta = np.linalg.solve(A.T @ (f[:, None] * A) + penalty, A.T @ (f * y))
    return np.concatenate([[1.0], at]) @ beta


def left_out_by_refits(X, y, f, penalty):
    S, ridge = standardised(X, f), penalty * f.sum()
    rows = np.arange(len(y))
    return np.array([refit(S[rows != i], y[rows != i], f[rows != i], ridge, S[i]) for i in rows])


@pytest.mark.parametrize(("n", "d"), [(30, 4), (12, 8), (10, 11), (9, 30)])
@pytest.mark.parametrize("penalty", [1e-6, 1e-2, 1.0])
def test_leave_one_out_equals_refits_of_coefficients_and_intercept(n, d, penalty):
    X, Y, f = some_rows(n, d)
    fit = fit_linear(X, Y, f, penalties=np.array([penalty]))
    expected = left_out_by_refits(X, Y[:, 0], f, penalty)
    np.testing.assert_allclose(fit.left_out[:, 0], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("n", "d"), [(30, 4), (9, 30)])
def test_predictions_equal_a_solve(n, d):
    X, Y, f = some_rows(n, d)
    fit = fit_linear(X, Y, f, penalties=np.array([0.03]))
    new = X[:5] + 0.1
    S = standardised(X, f)
    mean = np.average(X, axis=0, weights=f)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=f))
    expected = [refit(S, Y[:, 0], f, 0.03 * f.sum(), (x - mean) / deviation) for x in new]
    np.testing.assert_allclose(fit.model.predict(new)[:, 0], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(60, 5), (40, 30), (20, 50)])
def test_errors_and_choice_equal_scikit_learns(n, d):
    X, Y, _ = some_rows(n, d)
    S = standardised(X, np.ones(n))
    theirs = RidgeCV(alphas=PENALTIES * n, store_cv_results=True).fit(S, Y[:, 0])
    fit = fit_linear(X, Y, np.ones(n))
    assert fit.penalty * n == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(fit.model.predict(X)[:, 0], theirs.predict(S), rtol=0, atol=1e-8)
    chosen = int(np.flatnonzero(fit.penalty == PENALTIES)[0])
    squares = (Y[:, 0] - fit.left_out[:, 0]) ** 2
    np.testing.assert_allclose(squares, theirs.cv_results_[:, chosen], rtol=1e-8, atol=1e-8)


@given(st.integers(3, 25), st.integers(1, 30), st.integers(0, 10_000))
def test_frequencies_are_copies_left_out_together(n, d, seed):
    X, Y, f = some_rows(n, d, seed=seed)
    once = fit_linear(X, Y, f, penalties=np.array([0.01]))
    rows = np.repeat(np.arange(n), f.astype(int))
    copied = fit_linear(X[rows], Y[rows], np.ones(len(rows)), penalties=np.array([0.01]))
    np.testing.assert_allclose(copied.model.predict(X), once.model.predict(X), rtol=0, atol=1e-8)
    expected = left_out_by_refits(X, Y[:, 0], f, 0.01)
    np.testing.assert_allclose(once.left_out[:, 0], expected, rtol=0, atol=1e-7 * np.abs(Y).max())


def test_loss_weights_decide_which_errors_count():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1))
    half = np.arange(200) < 100
    y = np.where(half, x[:, 0], 0.0) * 3 + 0.01 * rng.normal(size=200)  # linear in one half, flat in the other
    flat = fit_linear(x, y[:, None], np.ones(200), loss_weights=(~half).astype(float))
    steep = fit_linear(x, y[:, None], np.ones(200), loss_weights=half.astype(float))
    assert flat.penalty > 100 * steep.penalty


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e150])
def test_units_of_columns_and_of_the_response_do_not_matter(scale):
    X, Y, f = some_rows(30, 4)
    factors = np.array([1.0, scale, 1.0, scale])
    one, other = fit_linear(X, Y, f), fit_linear(X * factors, Y, f)
    np.testing.assert_allclose(other.left_out, one.left_out, rtol=1e-9)
    np.testing.assert_allclose(other.model.predict(X * factors), one.model.predict(X), rtol=1e-9)
    units = fit_linear(X, Y * scale, f)
    np.testing.assert_allclose(units.left_out, one.left_out * scale, rtol=1e-9)
    assert units.penalty == one.penalty


def test_constant_columns_are_ignored_and_nothing_but_them_is_the_mean():
    X, Y, f = some_rows(30, 4)
    wide = np.column_stack([X, np.full(30, 3e7)])
    np.testing.assert_allclose(fit_linear(wide, Y, f).left_out, fit_linear(X, Y, f).left_out, rtol=1e-12)
    alone = fit_linear(wide[:, 4:], Y, f)
    others = (f @ Y - f[:, None] * Y[:, 0][:, None]) / (f.sum() - f)[:, None]
    np.testing.assert_allclose(alone.left_out, others, rtol=1e-12)
    np.testing.assert_allclose(alone.model.predict(np.array([[9.0]])), np.average(Y, axis=0, weights=f)[None])


def test_collinear_columns_share_the_coefficient():
    X, Y, f = some_rows(30, 1)
    twice = fit_linear(np.column_stack([X, 5 * X - 2]), Y, f, penalties=np.array([0.02]))
    once = fit_linear(X, Y, f, penalties=np.array([0.01]))
    np.testing.assert_allclose(twice.left_out, once.left_out, rtol=0, atol=1e-10)
    np.testing.assert_allclose(twice.model.coef[0], twice.model.coef[1], rtol=1e-9)


def test_a_noise_free_linear_table_is_found():
    X, _, f = some_rows(60, 5)
    Y = X @ np.arange(1.0, 6.0)[:, None] + 2.0
    fit = fit_linear(X, Y, f)
    assert fit.penalty == PENALTIES[-1]
    np.testing.assert_allclose(fit.left_out, Y, rtol=0, atol=1e-6 * Y.std())


def test_a_constant_response_and_two_rows_are_defined():
    X, _, f = some_rows(20, 3)
    np.testing.assert_allclose(fit_linear(X, np.full((20, 1), 7.0), f).left_out, 7.0)
    two = fit_linear(X[:2], np.array([[1.0], [3.0]]), np.ones(2))
    np.testing.assert_allclose(two.left_out.ravel(), [3.0, 1.0], atol=1e-9)
    with pytest.raises(ValueError, match="at least 2 distinct rows; got 1"):
        fit_linear(X[:1], np.ones((1, 1)), np.ones(1))


def test_a_penalty_that_gains_little_is_not_taken_and_the_plane_is_left_without_harm():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(200, 1))
    X = np.column_stack([flat, flat + 1e-6 * rng.normal(size=(200, 1))])  # rows lie on a line, nearly
    y = flat + 0.3 * rng.normal(size=(200, 1))
    plain, careful = (fit_linear(X, y, np.ones(200), least_gain=gain) for gain in (0.0, 0.01))
    assert careful.penalty >= plain.penalty
    losses = [np.mean((fit.left_out - y) ** 2) for fit in (careful, plain)]
    assert losses[0] <= 1.02 * losses[1]
    off = np.array([[1.0, 0.0]])
    assert abs(careful.model.predict(off)[0, 0]) < 2.0


@pytest.mark.parametrize("d", [1, 2, 7, 40])
def test_rows_have_the_same_bits_alone_and_beside_others(d):
    rng = np.random.default_rng(d)
    X, Y = rng.normal(size=(60, d)), rng.normal(size=(60, 1))
    model = fit_linear(X, Y, np.ones(60)).model
    together = model.predict(X)
    assert np.array_equal(together, np.vstack([model.predict(X[i : i + 1]) for i in range(60)]))
    assert np.array_equal(together[:7], model.predict(X[:7]))
    standardised = model.scaling(X)
    np.testing.assert_allclose(together, standardised @ model.coef + model.intercept, rtol=1e-12, atol=1e-12)


def test_an_absurd_cell_does_not_carry_the_line_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, :1] + 0.1 * rng.normal(size=(100, 1))
    model = fit_linear(X, y, np.ones(100)).model
    assert model.predict(np.array([[1e6, 0.0]]))[0, 0] < 10.0


@pytest.mark.parametrize("n_groups", [4, 25])
def test_groups_left_out_equal_refits_without_their_fold(n_groups):
    X, Y, f = some_rows(60, 4)
    groups = np.arange(60) % n_groups
    fit = fit_linear(X, Y, f, penalties=np.array([0.1]), groups=groups)
    folds = groups if n_groups == 4 else assign_groups(groups, Y[:, 0], GROUP_FOLDS)
    S = standardised(X, f)
    for i in range(60):
        rest = folds != folds[i]
        expected = refit(S[rest], Y[rest, 0], f[rest], 0.1 * f[rest].sum(), S[i])
        np.testing.assert_allclose(fit.left_out[i, 0], expected, rtol=0, atol=1e-8)
    alone = fit_linear(X, Y, f, penalties=np.array([0.1]))
    np.testing.assert_array_equal(fit.model.coef, alone.model.coef)
