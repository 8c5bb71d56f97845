"""Companions of level 1: never asked about rows that they were fitted to, and trends like level 1 itself."""

import threading
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from skewridge import reference
from skewridge.centers.cross_fit import cross_fit_folds
from skewridge.execution.context import using
from skewridge.ridge.learn_scales import LearnedKernel, average_kernel
from skewridge.ridge.sample import Sample
from skewridge.two_levels.fit import fit_blended
from skewridge.two_levels.members import LevelSettings, companion_values, fit_companions, fit_members
from skewridge.two_levels.outer_folds import fit_outer
from tests.two_levels.test_outer_folds import outer_rows


@dataclass(frozen=True)
class Line:
    """Least squares on the first column, weighted; remembers what it was fitted to and asked about."""

    name: str = "line"
    calls: list = field(default_factory=list)

    def fit(self, X, y, weights):
        slope, level = np.polyfit(X[:, 0], y, 1, w=np.sqrt(weights))
        return FittedLine(slope, level, X[:, 0], self.calls)


@dataclass(frozen=True)
class FittedLine:
    slope: float
    level: float
    seen: np.ndarray
    calls: list

    regressor = None

    def predict(self, X):
        self.calls.append((self.seen, X[:, 0].copy(), threading.current_thread()))
        return self.slope * X[:, 0] + self.level


@dataclass(frozen=True)
class Known:
    """Predicts what it is told, whatever it is fitted to."""

    function: object
    name: str = "known"
    regressor = None

    def fit(self, X, y, weights):
        return self

    def predict(self, X):
        return self.function(X)


def table(n, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = np.sign(np.sin(7 * X[:, 0])) + X[:, 1]
    return X, truth + noise * rng.normal(size=n)


def as_rows(X, y, companions=None):
    return Sample(X, y[:, None], np.ones(len(y)), np.ones(len(y)), trend=companions)


def settings(*companions, **more):
    return LevelSettings(cell_size=60, seed=3, companions=companions, **more)


def test_a_companion_never_predicts_rows_that_it_was_fitted_to():
    X, y = table(50, 0)
    line, rows = Line(), as_rows(X, y)
    fitted, left_out = fit_companions(rows, settings(line))
    assert len(line.calls) == 2
    for seen, asked, _ in line.calls:
        assert len(seen) == len(asked) == 25
        assert not np.isin(asked, seen).any()
    assert sorted(np.concatenate([asked for _, asked, _ in line.calls])) == sorted(X[:, 0])
    assert len(fitted[0].seen) == 50
    assert left_out.shape == (50, 1)


def test_the_folds_are_those_of_level_one():
    X, y = table(50, 0)
    line, how = Line(), settings()
    fit_companions(as_rows(X, y), settings(line))
    folds = cross_fit_folds(X, y[:, None], np.ones(50), how.centers, seed=how.seed)
    for fold, (_, asked, _) in enumerate(line.calls):
        assert np.array_equal(asked, X[folds == fold, 0])


def test_rows_with_equal_x_share_a_fold():
    X, y = table(40, 0)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2) + np.tile([0.0, 5.0], 40)
    folds = cross_fit_folds(X, y[:, None], np.ones(80), settings().centers, seed=0)
    assert np.array_equal(folds[::2], folds[1::2])
    assert set(folds) == {0, 1}


def test_outer_folds_go_around_companions_in_the_thread_that_fits():
    X, y = table(60, 1)
    line = Line()
    rows, outer = outer_rows(X, y)
    X, y, folds = rows.Z, rows.Y[:, 0], np.argmax(outer.left_out, axis=1)
    left_out, _ = using(n_jobs=2)(fit_outer)(rows, y, outer_rows(X, y)[1], settings(line))
    outside = [call for call in line.calls if len(call[0]) == 48]
    assert len(line.calls) == 5 * 3
    assert len(outside) == 5
    for seen, asked, thread in line.calls:
        assert not np.isin(asked, seen).any()
        assert thread is threading.main_thread()
    for fold, (_, asked, _) in enumerate(outside):
        assert np.array_equal(asked, X[folds == fold, 0])
    assert left_out.shape == (60, 5)
    expected = np.empty(60)
    for fold in range(5):
        rest = folds != fold
        expected[~rest] = Line().fit(X[rest], y[rest], np.ones(rest.sum())).predict(X[~rest])
    np.testing.assert_allclose(left_out[:, -1], expected, atol=1e-12)


def test_the_engine_is_the_reference_with_two_trends():
    X, y = table(150, 0)
    new = table(40, 1)[0]
    how = settings(Known(lambda X: np.sin(7 * X[:, 0])))
    rows = as_rows(X, y)
    fitted, values = fit_companions(rows, how)
    found = fit_members(replace(rows, trend=values), how)
    levels, new_values = found.members.levels, companion_values(fitted, new)
    trend = (np.hstack([found.left_out[:, :1], values]) - levels.mean) / levels.spread
    new_trend = (np.hstack([levels.level_one.predict(new), new_values]) - levels.mean) / levels.spread
    forms, new_forms = levels.forms(X), levels.forms(new)
    predictions = found.members.predict(new, new_values)
    assert predictions.shape[1] == found.left_out.shape[1] == 5
    for place, (kernel, model, learned) in enumerate(
        zip(how.kernels, levels.locals, found.learned[1:], strict=True), 1
    ):
        assert learned.trends.shape == (2,)
        Z = np.column_stack([forms[:, model.used], trend]) * model.scales
        Z_new = np.column_stack([new_forms[:, model.used], new_trend]) * model.scales
        left_out, predicted = reference.cells_fit(
            reference.Local(kernel, model.scales, learned.ridge, learned.trends),
            forms[:, model.used],
            (y - model.means) / model.units,
            trend,
            model.cells.partitions.cells_of(Z),
            new_forms=new_forms[:, model.used],
            new_guide=new_trend,
            new_cells=model.cells.partitions.cells_of(Z_new),
        )
        for ours, theirs in ((found.left_out, left_out), (predictions, predicted)):
            inside = np.clip(theirs * model.units + model.means, found.members.low, found.members.high)
            np.testing.assert_allclose(ours[:, place], inside, atol=1e-8 * y.std())
    np.testing.assert_array_equal(predictions[:, -1:], new_values)


def test_a_companion_that_knows_the_truth_gets_most_of_the_weight():
    X, y = table(120, 0)
    knows = Known(lambda X: np.sign(np.sin(7 * X[:, 0])) + X[:, 1])
    fit = fit_blended(X, y, np.ones(120), settings=settings(knows))
    assert fit.model.weights[-1] > 0.5
    plain = fit_blended(X, y, np.ones(120), settings=settings())
    assert fit.risk.mse < 0.5 * plain.risk.mse
    new, _ = table(200, 5)
    values = companion_values(fit.companions, new)
    truth = values[:, 0]
    errors = [np.mean((p[:, 0] - truth) ** 2) for p in (fit.model.predict(new, values), plain.model.predict(new))]
    assert errors[0] < 0.1 * errors[1]


def test_a_companion_that_says_nothing_does_no_harm():
    X, y = table(120, 0)
    flat = fit_blended(X, y, np.ones(120), settings=settings(Known(lambda X: np.zeros(len(X)))))
    plain = fit_blended(X, y, np.ones(120), settings=settings())
    assert flat.model.weights[-1] == 0.0
    assert flat.risk.mse < 1.1 * plain.risk.mse


def test_what_a_companion_predicts_stays_within_the_bounds():
    X, y = table(60, 0)
    how = settings(Known(lambda X: 1e6 * X[:, 0]))
    rows = as_rows(X, y)
    found = fit_members(replace(rows, trend=fit_companions(rows, how)[1]), how)
    values = found.members.predict(X, 1e6 * X[:, :1])
    for own in (found.left_out[:, -1], values[:, -1]):
        assert own.min() == found.members.low
        assert own.max() == found.members.high


@pytest.mark.parametrize(("n", "y"), [(9, np.arange(9.0)), (40, np.ones(40))])
def test_where_there_are_no_levels_companions_are_not_fitted(n, y):
    line = Line()
    fit = fit_blended(table(n, 0)[0], y, np.ones(n), settings=settings(line))
    assert line.calls == []
    assert fit.companions == ()
    assert len(fit.model.weights) == 1
    assert fit.model.predict(np.zeros((3, 2)), np.empty((3, 0))).shape == (3, 1)


def test_no_companions_have_values_of_no_columns():
    X, y = table(20, 0)
    fitted, left_out = fit_companions(as_rows(X, y), LevelSettings())
    assert left_out.shape == (20, 0)
    assert companion_values(fitted, X[:3]).shape == (3, 0)


def test_a_companion_far_worse_than_level_one_joins_the_blend_and_is_no_trend():
    X, y = table(120, 5)
    new = table(30, 6)[0]
    poor = 100.0 * X[:, 1:], 7.0 * X[:, :1] ** 3
    fits = [fit_members(as_rows(X, y, values), settings(Line())) for values in poor]
    for fit in fits:
        for model in fit.members.levels.locals:
            assert model.scales[-1] == 0.0
            assert np.all(model.cells.slopes[:, -1] == 0.0)
        assert fit.left_out.shape[1] == 5  # level 1, two kernels, ridge regression, the companion
    members = [fit.members.predict(new, value * np.ones((30, 1))) for fit, value in zip(fits, (0.1, -0.1), strict=True)]
    assert np.array_equal(members[0][:, :-1], members[1][:, :-1])  # whatever it predicted, or predicts of new rows


def test_a_trend_that_some_folds_ignore_has_the_mean_of_the_others():
    own, other = (
        LearnedKernel(np.array([1.0, s]), 0.1, np.array([t]), np.zeros(1)) for s, t in ((4.0, 9.0), (1.0, 1.0))
    )
    silent = replace(own, scales=np.array([1.0, 0.0]), trends=np.zeros(1))  # it ignores the trend
    some, none = average_kernel([own, silent, other]), average_kernel([silent, silent])
    np.testing.assert_allclose([some.scales[1], some.trends[0]], [2.0, 3.0])
    np.testing.assert_allclose([none.scales[0], none.scales[1], none.trends[0]], [1.0, 0.0, 0.0])


def test_a_companion_as_good_as_level_one_is_a_trend():
    X, y = table(120, 5)
    fit = fit_members(as_rows(X, y, y[:, None]), settings(Line()))
    assert all(model.scales[-1] > 0.0 for model in fit.members.levels.locals)
