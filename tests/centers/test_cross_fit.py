from dataclasses import replace

import numpy as np
import pytest

from skewridge.centers.cross_fit import cross_fit
from skewridge.centers.fit import N_PARTS
from skewridge.centers.rows import CenterSettings
from skewridge.execution.chunked import ArrayChunk, Table
from skewridge.execution.context import using
from skewridge.response.candidates import candidate_rows
from tests import naive

HOW = {"seed": 3}
SETTINGS = CenterSettings(n_centers=25, adapt=0.5)


def data_of(n=150, copies=False):
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    if copies:
        X = X[rng.integers(0, n // 2, n)]
    Y = np.exp(2 * X[:, :1])
    return X, 5 + 10 * (Y + 0.1 * rng.normal(size=Y.shape)), rng.random(n) + 0.5


def brute_force(fit, X, Y, w):
    """Every row by the closed form on the rows of the other fold, at the settings of the whole fit."""
    pool = candidate_rows(X, Y, w, "auto", 3).in_folds(N_PARTS)
    folds, candidate, out = pool.folds[pool.member], fit.choice.candidate, np.empty(Y.shape)
    Z = fit.model.transform(X)
    for fold in range(N_PARTS):
        train, test = folds != fold, folds == fold
        C = Z[pool.rows[pool.draw(candidate.n_centers, candidate.adapt, fold)]]
        A, B, K = (naive.gram("matern32", part, C, bandwidth=candidate.bandwidth) for part in (Z[train], Z[test], C))
        mean = np.average(Y[train], axis=0, weights=w[train])
        left = A.T @ (w[train, None] * A) + w[train].sum() * fit.choice.penalty * K
        out[test] = mean + B @ np.linalg.solve(left, A.T @ (w[train, None] * (Y[train] - mean)))
    low, high = Y.min(axis=0), Y.max(axis=0)
    return np.clip(out, low - 0.1 * (high - low), high + 0.1 * (high - low))


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_values_are_those_of_refits_to_the_other_fold(copies, solver):
    X, Y, w = data_of(150, copies)
    settings = CenterSettings(n_centers=25, adapt=0.5, solver=solver)
    fit = cross_fit(X, Y, w, settings, **HOW)
    np.testing.assert_allclose(fit.values, brute_force(fit, X, Y, w), atol=1e-6 * Y.std())


def test_the_expansion_is_the_mean_of_the_refits():
    X, Y, w = data_of(150)
    settings = CenterSettings(n_centers=25, adapt=0.5, bounds=None)
    fit = cross_fit(X, Y, w, settings, **HOW)
    Z, new = fit.model.transform(X), fit.model.transform(np.random.default_rng(1).random((40, 2)))
    pool, candidate, total = candidate_rows(X, Y, w, "auto", 3).in_folds(N_PARTS), fit.choice.candidate, 0.0
    for fold in range(N_PARTS):
        train = pool.folds[pool.member] != fold
        C = Z[pool.rows[pool.draw(candidate.n_centers, candidate.adapt, fold)]]
        A, B, K = (naive.gram("matern32", part, C, bandwidth=candidate.bandwidth) for part in (Z[train], new, C))
        mean = np.average(Y[train], axis=0, weights=w[train])
        left = A.T @ (w[train, None] * A) + w[train].sum() * fit.choice.penalty * K
        total += mean + B @ np.linalg.solve(left, A.T @ (w[train, None] * (Y[train] - mean)))
    model = fit.model
    values = naive.gram("matern32", new, model.centers, bandwidth=candidate.bandwidth) @ model.coef.T + model.intercepts
    np.testing.assert_allclose(values * model.units + model.means, total / N_PARTS, atol=1e-6 * Y.std())


def test_a_rows_own_response_does_not_change_its_value_at_given_settings():
    X, Y, w = data_of()
    chosen = cross_fit(X, Y, w, SETTINGS, **HOW).choice
    pool = candidate_rows(X, Y, w, 1, 3).in_folds(N_PARTS)
    own = pool.folds[pool.member] == 0
    given = replace(SETTINGS, slices=1, bounds=None, penalty=chosen.penalty, learned=chosen.learned)
    moved = Y.copy()
    moved[own] += np.random.default_rng(1).normal(size=(own.sum(), 1))
    before, after = (cross_fit(X, responses, w, given, **HOW).values for responses in (Y, moved))
    np.testing.assert_allclose(after[own], before[own], atol=1e-9 * Y.std())
    assert np.abs(after[~own] - before[~own]).max() > 1e-2


def test_copies_share_a_value_and_equal_weights():
    X, Y, _ = data_of()
    times = np.random.default_rng(0).integers(1, 4, 150)
    which = np.repeat(np.arange(150), times)
    found = []
    for rows in ((X, Y, times.astype(float)), (X[which], Y[which], np.ones(len(which)))):
        found.append(cross_fit(*rows, SETTINGS, **HOW).values)
    np.testing.assert_allclose(found[1], found[0][which], atol=1e-8 * Y.std())


def test_chunks_and_threads_change_no_bit():
    X, Y, w = data_of(5000)
    expected = cross_fit(X, Y, w, SETTINGS, **HOW).values
    table = Table((ArrayChunk(X[:1100]), ArrayChunk(X[1100:])), 2)
    for rows, n_jobs in ((X, 2), (table, 1), (table, 2)):
        with using(n_jobs=n_jobs):
            np.testing.assert_array_equal(cross_fit(rows, Y, w, SETTINGS, **HOW).values, expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_have_finite_values(n):
    X, Y, w = data_of(n)
    assert np.isfinite(cross_fit(X, Y, w, CenterSettings(), **HOW).values).all()
