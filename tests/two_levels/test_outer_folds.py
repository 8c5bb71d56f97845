import numpy as np
import pytest

from skewridge.response.candidates import collapse_rows
from skewridge.ridge.learn_scales import LearnedKernel, average_kernel
from skewridge.ridge.sample import Sample
from skewridge.two_levels.fit import fit_blended
from skewridge.two_levels.members import LevelSettings
from skewridge.two_levels.outer_folds import assign_folds, blend_outer, common_unit, fit_outer, is_discrete
from skewridge.two_levels.planning import is_small

SETTINGS = LevelSettings(kernels=("laplacian",), seed=3)


def outer_rows(X, y, weights=None, seed=SETTINGS.seed):
    """Distinct rows in the order that a fit puts them in, and the folds that they are assigned to."""
    weights = np.ones(len(y)) if weights is None else weights
    distinct = collapse_rows(X, y[:, None], weights, seed)
    rows = Sample(X[distinct.rows], distinct.Y, distinct.frequencies, distinct.frequencies)
    return rows, assign_folds(X, y, distinct, None)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)


def discrete_table(n=150, seed=0):
    """Few values a column, so that rows meet by chance."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (n, 2)).astype(float)
    return X, X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.normal(size=n)


def test_small_tables_are_those_with_few_rows_or_few_rows_a_column():
    assert is_small(2999, 2)
    assert not is_small(3000, 2)
    assert is_small(4999, 100)
    assert not is_small(5000, 100)


def test_folds_share_the_response_out():
    X, y = table(103)
    rows, folds = outer_rows(X, y)
    assert not folds.replicate
    assert folds.left_out.sum(axis=0).tolist() == [21, 21, 21, 20, 20]
    means = [np.average(rows.Y[:, 0], weights=column) for column in folds.left_out.T]
    assert np.ptp(means) < 0.3 * y.std()


def test_a_row_is_not_predicted_by_a_fit_that_saw_it():
    X, y = table(80)
    rows, folds = outer_rows(X, y)
    changed = y.copy()
    changed[7] += 1e-3  # keeps the order of the responses, and so the folds
    again, same = outer_rows(X, changed)
    assert np.array_equal(folds.counts, same.counts)
    own = folds.left_out[:, np.argmax(folds.counts[7])] > 0
    predictions = [fit_outer(rows, y, folds, SETTINGS)[0] for rows, y in ((rows, y), (again, changed))]
    for before, after in zip(*(found.T for found in predictions), strict=True):
        assert np.array_equal(before[own], after[own])
        assert not np.array_equal(before[~own], after[~own])


def test_the_whole_fit_takes_the_mean_of_what_folds_learned():
    X, y = table(90)
    rows, folds = outer_rows(X, y)
    _, learned = fit_outer(rows, y, folds, SETTINGS)
    fit = fit_blended(X, y, np.ones(len(y)), settings=SETTINGS)
    for own, mean in zip(fit.fit.learned, learned, strict=True):
        np.testing.assert_array_equal(own.scales, mean.scales)
        assert own.ridge == mean.ridge


def test_means_of_what_was_learned_are_geometric():
    kernels = [LearnedKernel(np.array([s, 1.0]), s, np.array([s**2]), np.full(2, s)) for s in (0.5, 2.0, 8.0)]
    found = average_kernel(kernels)
    np.testing.assert_allclose(found.scales, [2.0, 1.0])
    np.testing.assert_allclose([found.ridge, found.trends[0]], [2.0, 4.0])
    assert found.losses.tolist() == [0.5, 0.5, 2.0, 2.0, 8.0, 8.0]


def test_a_discrete_table_has_no_column_that_never_repeats():
    X, _ = discrete_table()
    assert is_discrete(np.unique(X, axis=0))
    assert not is_discrete(np.unique(np.column_stack([X, np.arange(len(X))]), axis=0))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1, 1, 1], 1.0),
        ([4, 6, 10], 2.0),
        ([0.3, 0.2], 0.1),
        ([1e300, 3e300], 1e300),
        ([1e-300, 2e-300], 1e-300),
        ([1, np.pi, 2], 0.0),
        ([1, 1e10], 0.0),
        ([5], 5.0),
    ],
)
def test_weights_have_a_common_unit_if_they_are_counts(weights, expected):
    assert common_unit(np.array(weights, float)) == pytest.approx(expected, rel=1e-9)


def test_copies_of_a_whole_table_are_not_replicates():
    X, y = discrete_table(40)
    first = np.unique(X, axis=0, return_index=True)[1]
    X, y = np.repeat(X[first], 3, axis=0), np.repeat(y[first], 3)
    assert not outer_rows(X, y)[1].replicate


def test_copies_with_one_continuous_response_are_not_replicates():
    X, y = discrete_table(60)
    first = np.unique(X, axis=0, return_index=True)[1]
    X, y = X[first], y[first]
    times = np.where(np.arange(len(y)) % 3, 1, 5)
    assert not outer_rows(np.repeat(X, times, axis=0), np.repeat(y, times))[1].replicate
    assert not outer_rows(X, y, times.astype(float))[1].replicate
    assert outer_rows(np.repeat(X, times, axis=0), np.repeat(np.round(y), times))[1].replicate == 1.0


@pytest.mark.parametrize("equal", [False, True])
def test_even_replicates_are_shared_out(equal):
    grid = np.array([(a, b) for a in range(6) for b in range(6)], float)
    X = np.repeat(grid, np.where(np.arange(36) % 3, 2, 4), axis=0)
    y = X.sum(axis=1) + 0.1 * np.random.default_rng(0).normal(size=len(X))
    if equal:  # all but one response at every x are equal, and responses are discrete
        y = np.round(X.sum(axis=1))
        y[5] += 1.0
    fit = fit_blended(X, y, np.ones(len(y)), settings=SETTINGS)
    assert np.isfinite(fit.left_out).all()
    assert np.isfinite(fit.risk.mse)
    assert fit.risk.mse < 0.2 * y.var()


def test_replicates_of_one_x_are_assigned_to_different_folds():
    X, y = discrete_table()
    rows, folds = outer_rows(X, y)
    assert folds.replicate
    np.testing.assert_array_equal(folds.counts.sum(axis=1), 1.0)
    assert set(np.unique(folds.counts)) == {0.0, 1.0}
    assert np.ptp(folds.left_out, axis=1).max() <= 1.0  # evenly, x by x
    assert np.ptp(folds.left_out.sum(axis=0)) < 0.2 * len(y) / 5
    rest = folds.outside(rows, y, 2)
    inside = folds.counts[:, 2] > 0
    for x, mean, f in zip(rest.Z, rest.Y[:, 0], rest.frequencies, strict=True):
        own = ~inside & np.all(x == X, axis=1)
        assert f == own.sum()
        assert mean == pytest.approx(y[own].mean())
    gone = [x for x in rows.Z if not np.any(np.all(x == rest.Z, axis=1))]
    assert all(np.all(inside[np.all(x == X, axis=1)]) for x in gone)


def test_replicates_are_predicted_by_fits_without_them_and_every_row_gets_their_mean():
    X, y = discrete_table()
    rows, folds = outer_rows(X, y)
    pairs = folds.left_out > 0
    values = np.arange(float(pairs.sum()))
    by_fold = np.full(pairs.shape, np.nan)
    by_fold[pairs] = values
    fold = np.argmax(folds.counts, axis=1)
    expected = by_fold[folds.distinct.member, fold]
    np.testing.assert_array_equal(folds.by_row(values), expected)
    member = folds.distinct.member
    places = zip(*np.nonzero(pairs), strict=True)
    means = np.array([y[(member == place) & (fold == f)].mean() for place, f in places])
    weights, _, level, _ = blend_outer(means[:, None], rows, y, folds)  # a member that is what it shall be
    np.testing.assert_allclose(weights, 1.0)
    np.testing.assert_allclose(level, folds.by_row(means))


@pytest.mark.parametrize("low", [1, 2])
def test_weights_equal_copies_where_replicates_are_shared_out(low):
    X, y = discrete_table(120)
    counts = np.random.default_rng(1).integers(low, low + 3, len(y)).astype(float)
    repeated = np.repeat(np.arange(len(y)), counts.astype(int))
    weighted = fit_blended(X, y, counts, settings=SETTINGS)
    copied = fit_blended(X[repeated], y[repeated], np.ones(len(repeated)), settings=SETTINGS)
    new = discrete_table(50, 1)[0] + 0.25
    np.testing.assert_allclose(copied.model.predict(new), weighted.model.predict(new), atol=1e-8)
    assert copied.risk.mse == pytest.approx(weighted.risk.mse, rel=1e-8)


def test_the_stated_risk_of_a_discrete_table_is_that_of_new_draws():
    ratios = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        effects = rng.normal(size=(20, 20))  # nothing smooth: an x that is not in the fit cannot be known
        draw = lambda n: rng.integers(0, 20, (n, 2))  # noqa: B023, E731
        X, new = draw(800), draw(4000)
        y, truth = (effects[tuple(own.T)] + 0.2 * rng.normal(size=len(own)) for own in (X, new))
        fit = fit_blended(X.astype(float), y, np.ones(800), settings=SETTINGS)
        real = np.mean((fit.model.predict(new.astype(float))[:, 0] - truth) ** 2)
        ratios.append(fit.risk.mse / real)
    assert 0.85 < np.mean(ratios) < 1.3


def test_where_outer_folds_have_too_few_rows_ridge_regression_is_alone():
    for n, levels in ((12, False), (13, True)):
        X, y = table(n)
        fit = fit_blended(X, y, np.ones(n), settings=SETTINGS)
        assert (fit.model.members.levels is not None) == levels
        assert fit.left_out_by == ("outer folds" if levels else "leave-one-out")
