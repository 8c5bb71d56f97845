"""Two levels and their blend: held to the reference, to copies, and to honesty by simulation."""

import numpy as np
import pytest

from skewridge import reference
from skewridge.engine.job import Job
from skewridge.levels.fit import fit_blended
from skewridge.levels.members import FEWEST_ROWS, LevelSettings, Rows, fit_members
from skewridge.levels.outer_folds import fit_outer
from tests.levels.test_outer_folds import outer_rows

SETTINGS = LevelSettings(cell_size=60, seed=3)


def table(n, d, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    truth = np.sin(2 * X[:, 0]) + (X[:, 1] ** 2 if d > 1 else 0.0)
    return X, truth + noise * rng.normal(size=n), truth


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = table(200, 3, 0)
    return X, y, fit_blended(X, y, np.ones(200), settings=SETTINGS, job=Job())


def as_rows(X, y):
    return Rows(X, y[:, None], np.ones(len(y)))


def test_the_engine_is_the_reference_with_what_was_learned(fitted):
    X, y, _ = fitted
    rows = as_rows(X, y)
    found = fit_members(rows, SETTINGS, Job())
    levels = found.members.levels
    new = table(60, 3, 1)[0]
    forms, new_forms = levels.forms(X), levels.forms(new)
    guide = (found.honest[0] - levels.mean) / levels.spread
    first = levels.level_one.predict(new)[:, 0]
    seen = levels.level_one.in_units(levels.guide.values(levels.level_one.transform(new)))
    new_guide = (seen - levels.mean) / levels.spread
    honest, predictions = [found.honest[0][:, 0]], [first]
    for kernel, model, learned in zip(SETTINGS.kernels, levels.locals, found.learned.locals, strict=True):
        local = reference.Local(kernel, model.scales, learned.ridge, learned.trends)
        Z, Z_new = (
            np.column_stack([f[:, model.used], g]) * model.scales for f, g in ((forms, guide), (new_forms, new_guide))
        )
        left_out, predicted = reference.cells_fit(
            local,
            forms[:, model.used],
            (y - model.means) / model.units,
            guide,
            model.cells.partitions.cells_of(Z),
            new_forms=new_forms[:, model.used],
            new_guide=new_guide,
            new_cells=model.cells.partitions.cells_of(Z_new),
        )
        honest.append(left_out * model.units[0] + model.means[0])
        predictions.append(predicted * model.units[0] + model.means[0])
    for ours, theirs in zip(found.honest, honest, strict=False):
        np.testing.assert_allclose(ours[:, 0], theirs, atol=1e-8 * y.std())
    for ours, theirs in zip(found.members.predict(new), predictions, strict=False):
        np.testing.assert_allclose(ours[:, 0], theirs, atol=1e-8 * y.std())


def test_the_blend_is_the_references(fitted):
    X, y, fit = fitted
    rows, deal = outer_rows(X, y)
    honest = np.column_stack(fit_outer(rows, y, deal, SETTINGS, Job()).honest())
    ordered = rows.y[:, 0]
    np.testing.assert_allclose(fit.model.blend.weights[:, 0], reference.blend_weights(honest, ordered), atol=1e-7)
    new = table(40, 3, 1)[0]
    members = np.hstack(fit.model.members.predict(new))
    expected = reference.blend(honest, ordered, members)
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
    assert fit.risk.mse == pytest.approx(np.var(np.arange(30.0)))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e140])
def test_units_of_the_response_change_nothing(scale):
    X, y, _ = table(150, 2, 0)
    one, other = (fit_blended(X, v, np.ones(150), settings=SETTINGS) for v in (y, y * scale))
    np.testing.assert_allclose(other.model.predict(X) / scale, one.model.predict(X), rtol=1e-6, atol=1e-8)


def test_threads_do_not_change_a_bit():
    X, y, _ = table(120, 3, 0)
    one, two = (fit_blended(X, y, np.ones(120), settings=SETTINGS, job=Job(n)) for n in (1, 2))
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


def test_new_rows_are_guided_by_the_half_fits_that_guided_the_training_rows(fitted):
    """A guide nearer to the responses than that of the training rows would mislead the cells at a peak."""
    X, y, fit = fitted
    levels = fit.model.members.levels
    Z = levels.level_one.transform(X)
    halves, whole = levels.guide.values(Z)[:, 0], levels.level_one.predict_transformed(Z)[:, 0]
    seen = levels.level_one.in_units(halves[:, None])[:, 0]
    assert np.mean((seen - y) ** 2) > 1.02 * np.mean((whole - y) ** 2)  # half of the rows, so further away
