"""Two levels and their blend: held to the reference, to copies, and to honesty by simulation."""

from dataclasses import replace

import numpy as np
import pytest

from skewridge import reference
from skewridge.centers.cross_fit import cross_fit_folds
from skewridge.execution.context import using
from skewridge.response.groups import ordered_blocks, row_groups
from skewridge.ridge.sample import Sample
from skewridge.two_levels.fit import fit_blended
from skewridge.two_levels.members import FEWEST_ROWS, LevelSettings, fit_members
from skewridge.two_levels.outer_folds import fit_outer
from tests.two_levels.test_outer_folds import outer_rows

SETTINGS = LevelSettings(cell_size=60, seed=3)


def table(n, d, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    truth = np.sin(2 * X[:, 0]) + (X[:, 1] ** 2 if d > 1 else 0.0)
    return X, truth + noise * rng.normal(size=n), truth


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = table(200, 3, 0)
    return X, y, fit_blended(X, y, np.ones(200), settings=SETTINGS)


def as_rows(X, y, groups=None):
    return Sample(X, y[:, None], np.ones(len(y)), np.ones(len(y)), groups)


def test_the_engine_is_the_reference_with_what_was_learned(fitted):
    X, y, _ = fitted
    rows = as_rows(X, y)
    found = fit_members(rows, SETTINGS)
    levels = found.members.levels
    new = table(60, 3, 1)[0]
    forms, new_forms = levels.forms(X), levels.forms(new)
    trend = (found.left_out[:, :1] - levels.mean) / levels.spread
    first = levels.level_one.predict(new)
    new_trend = (first - levels.mean) / levels.spread
    left_out, predictions = [found.left_out[:, 0]], [first[:, 0]]
    for kernel, model, learned in zip(SETTINGS.kernels, levels.locals, found.learned[1:], strict=True):
        local = reference.Local(kernel, model.scales, learned.ridge, learned.trends)
        Z, Z_new = (
            np.column_stack([f[:, model.used], g]) * model.scales for f, g in ((forms, trend), (new_forms, new_trend))
        )
        own, predicted = reference.cells_fit(
            local,
            forms[:, model.used],
            (y - model.means) / model.units,
            trend,
            model.cells.partitions.cells_of(Z),
            new_forms=new_forms[:, model.used],
            new_guide=new_trend,
            new_cells=model.cells.partitions.cells_of(Z_new),
        )
        left_out.append(own * model.units[0] + model.means[0])
        predictions.append(predicted * model.units[0] + model.means[0])
    for ours, theirs in ((found.left_out, left_out), (found.members.predict(new), predictions)):
        np.testing.assert_allclose(ours[:, :3].T, theirs, atol=1e-8 * y.std())


def test_the_blend_is_the_references(fitted):
    X, y, fit = fitted
    rows, folds = outer_rows(X, y)
    left_out, _ = fit_outer(rows, y, folds, SETTINGS)
    ordered = rows.Y[:, 0]
    np.testing.assert_allclose(fit.model.weights, reference.blend_weights(left_out, ordered), atol=1e-7)
    new = table(40, 3, 1)[0]
    expected = reference.blend(left_out, ordered, fit.model.members.predict(new))
    np.testing.assert_allclose(fit.model.predict(new)[:, 0], expected, atol=1e-8 * y.std())


@pytest.mark.parametrize("n", [1, 2, 5, FEWEST_ROWS - 1])
def test_too_few_rows_are_fitted_by_ridge_regression_alone(n):
    X, y, _ = table(n, 2, 0)
    fit = fit_blended(X, y, np.ones(n), settings=SETTINGS)
    assert fit.model.members.levels is None
    assert np.isfinite(fit.model.predict(X)).all()
    assert fit.model.predict(X).shape == (n, 1)


def test_rows_at_one_point_are_predicted_by_their_mean():
    fit = fit_blended(np.zeros((30, 2)), np.arange(30.0), np.ones(30), settings=SETTINGS)
    np.testing.assert_allclose(fit.model.predict(np.ones((3, 2))), 14.5)
    assert fit.risk.mse == pytest.approx(np.var(np.arange(30.0)) * (30 / 29) ** 2)  # each by the mean of the others


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e140])
def test_units_of_the_response_change_nothing(scale):
    X, y, _ = table(150, 2, 0)
    one, other = (fit_blended(X, v, np.ones(150), settings=SETTINGS) for v in (y, y * scale))
    np.testing.assert_allclose(other.model.predict(X) / scale, one.model.predict(X), rtol=1e-6, atol=1e-8)


def test_threads_do_not_change_a_bit():
    X, y, _ = table(120, 3, 0)
    one, two = (using(n_jobs=n)(fit_blended)(X, y, np.ones(120), settings=SETTINGS) for n in (1, 2))
    assert np.array_equal(one.left_out, two.left_out)
    assert np.array_equal(one.model.predict(X), two.model.predict(X))


def test_scores_move_the_blend_to_the_rows_that_count():
    X, y, _ = table(150, 2, 0)
    rare = (y > np.quantile(y, 0.9)).astype(float) + 0.01
    plain = fit_blended(X, y, np.ones(150), settings=SETTINGS)
    aimed = fit_blended(X, y, np.ones(150), settings=SETTINGS, scores=rare)
    assert not np.array_equal(plain.left_out, aimed.left_out)
    errors = [np.average((fit.left_out - y) ** 2, weights=rare) for fit in (aimed, plain)]
    assert errors[0] < 1.1 * errors[1]


def test_the_trend_of_new_rows_is_the_mean_of_the_half_fits_that_made_that_of_the_training_rows(fitted):
    """A fit to all rows would be nearer to the responses than what cells have learned from."""
    X, y, fit = fitted
    first, own = fit.fit.level_one.model, fit.model.members.levels.level_one
    Z = first.transform(X)
    estimates = first.kernel.cross(Z, first.centers) @ first.coef.T + first.intercepts
    expected = np.clip(estimates, first.low, first.high) * first.units + first.means
    np.testing.assert_allclose(own.predict(X), expected, atol=1e-10 * y.std())
    assert np.mean((own.predict(X)[:, 0] - y) ** 2) < np.mean(
        (fit.fit.left_out[:, 0] - y) ** 2
    )  # half was fitted to a row


def grouped(n_groups, size, seed):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), size)
    X = rng.normal(size=(n_groups, 2))[group] + 0.05 * rng.normal(size=(len(group), 2))
    return X, np.sin(X[:, 0]) + rng.normal(size=n_groups)[group] + 0.1 * rng.normal(size=len(group)), group


def test_groups_are_left_out_of_cells_where_they_are_too_many_for_outer_folds(monkeypatch):
    monkeypatch.setattr("skewridge.two_levels.outer_folds.is_small", lambda n_groups, n_columns: False)
    X, y, group = grouped(60, 4, 0)
    found = fit_blended(X, y, np.ones(240), settings=SETTINGS, groups=row_groups(group))
    assert found.left_out_by == "leave-one-group-out"
    X_new, y_new, _ = grouped(500, 1, 1)
    real = np.mean((found.model.predict(X_new)[:, 0] - y_new) ** 2)
    assert 0.6 < found.risk.mse / real < 1.7  # 0.02 without groups


@pytest.mark.parametrize("by", ["groups", "order"])
def test_fits_of_groups_depend_on_no_order_of_rows_and_no_thread(by):
    X, y, group = grouped(12, 4, 0)
    group[40:] = np.arange(40, 48)  # some rows on their own
    mixed = np.random.default_rng(0).permutation(48)

    def fit(rows, n_jobs):
        groups = row_groups(group[rows]) if by == "groups" else ordered_blocks(rows)
        return using(n_jobs=n_jobs)(fit_blended)(X[rows], y[rows], np.ones(48), settings=SETTINGS, groups=groups)

    one, two, other = fit(np.arange(48), 1), fit(np.arange(48), 2), fit(mixed, 1)
    np.testing.assert_array_equal(one.left_out, two.left_out)
    np.testing.assert_allclose(one.left_out[mixed], other.left_out, rtol=1e-8)


def test_level_one_has_no_group_in_two_folds():
    X, y, group = grouped(12, 4, 0)
    rows = as_rows(X, y, group)
    folds = cross_fit_folds(X, rows.Y, rows.frequencies, SETTINGS.centers, groups=group, seed=0)
    assert all(len(set(folds[group == own])) == 1 for own in range(12))
    assert rows.some(group > 0).groups is not None
    assert rows.some(group == 0).groups is None  # one group is left: its rows are left out one by one


def test_level_one_of_very_many_rows_is_fitted_to_some_and_the_trend_of_others_is_that_of_new_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    rows = as_rows(X, np.sin(2 * X[:, 0]) + X[:, 1])
    monkeypatch.setattr("skewridge.two_levels.members.GUIDING_ROWS", 200)
    fit = fit_members(rows, SETTINGS)
    levels = fit.members.levels
    some = fit_members(rows.some(np.arange(200)), SETTINGS, forms=levels.forms)
    assert np.array_equal(levels.level_one.coef, some.members.levels.level_one.coef)
    assert np.array_equal(fit.left_out[:200, 0], some.left_out[:, 0])
    np.testing.assert_allclose(fit.left_out[200:, :1], levels.level_one.predict(X[200:]), rtol=1e-12)
    assert fit.left_out.shape == (300, 4)


def test_rows_that_count_may_all_be_outside_the_sample_for_level_one(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    counted = (np.arange(300) >= 200).astype(float)
    rows = replace(as_rows(X, np.sin(2 * X[:, 0]) + X[:, 1]), loss_weights=counted)
    monkeypatch.setattr("skewridge.two_levels.members.GUIDING_ROWS", 200)
    monkeypatch.setattr("skewridge.cells.local.LEARNING_ROWS", 150)
    fit = fit_members(rows, SETTINGS)
    assert np.average((fit.left_out[:, 1] - rows.Y[:, 0]) ** 2, weights=counted) < 0.2 * rows.Y.var()


def test_groups_are_never_split_by_a_sample_for_level_one(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    rows = as_rows(X, np.sin(2 * X[:, 0]) + X[:, 1], np.arange(300) // 3)
    whole = fit_members(rows, SETTINGS).left_out[:, 0]
    monkeypatch.setattr("skewridge.two_levels.members.GUIDING_ROWS", 200)
    assert np.array_equal(fit_members(rows, SETTINGS).left_out[:, 0], whole)
