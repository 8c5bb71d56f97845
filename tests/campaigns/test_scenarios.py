"""Hard tables: no estimator is far behind ridge regression or the mean, whatever the table."""

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from skewridge import AdaptiveKernelRidge, LocalKernelRidge, SkewRidge
from tests.campaigns.scenarios import TABLES

OTHERS = {
    "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-6, 6, 25))),
    "trees": lambda: HistGradientBoostingRegressor(random_state=0),
    "mean": DummyRegressor,
}
SEEDS = range(5)
FITS = [(kind, seed) for kind in (SkewRidge, AdaptiveKernelRidge, LocalKernelRidge) for seed in SEEDS]
QUICK = [("line_of_12_rows", SkewRidge), ("noise_alone_of_40_rows", AdaptiveKernelRidge)]
QUICK += [("whole_numbers", LocalKernelRidge)]

# The limit is on fits without bounds where bounds="auto" clips at the range of y plus a tenth, and new rows lie beyond
BOUNDED = {
    "exact_line": "the noise is zero, so what is clipped of a few rows is all of the error",
    "exact_line_of_20_rows": "20 rows hold a fraction of the range of 1,000 new ones",
    "line_of_12_rows": "12 rows hold a fraction of the range of 1,000 new ones",
    "line_of_30_rows": "30 rows hold a fraction of the range of 1,000 new ones",
}
# No limit: what new rows are like, rows to fit do not tell
APART = {
    "line_beyond_the_range": "three of four new rows lie beyond the range of x, where a kernel knows no line",
    "groups": "new rows are of new groups, and folds at random take rows of one group for independent ones",
}
COVERAGE = 0.9
MOST_OVER_STATED = 2.0  # a real error over the stated one, where nothing is warned of
MOST_MISSED, FEW_MISSED = 0.1, 0.2  # of the coverage, on a single table; of fewer than 100 rows
FAR_BEYOND = {  # errors of these are decided by new rows of responses far beyond all that was fitted
    "counts": "rates are log-normal: 1,632 among new rows where 52 was the largest",
    "pareto_response": "the variance of the response is infinite",
}
# One level alone is up to so many times beyond the limit, over five seeds; two levels and ridge regression are not
ALONE = {
    SkewRidge: {},
    AdaptiveKernelRidge: {
        "line_of_30_rows": 7.2,
        "line_of_12_rows": 15,
        "exact_line_of_20_rows": 1270,
        "exact_line": 6.2,
        "difference_of_nearly_equal_columns": 1.8,
        "five_responses_of_millions": 4.5,
        "counts": 18,
    },
    LocalKernelRidge: {
        "line_of_200_columns": 1.4,
        "line_of_20_columns": 1.6,
        "line_of_30_rows": 32,
        "line_of_12_rows": 13,
        "exact_line_of_20_rows": 1270,
        "exact_line": 8.6,
        "response_of_a_million": 153,
        "response_of_a_thousand": 80,
        "five_responses_of_millions": 45,
        "cauchy_noise": 2.8,
        "counts": 1.6,
        "difference_of_nearly_equal_columns": 216,
    },
}


def error_of(estimator, name, seed):
    X, y, X_new, y_new = TABLES[name](np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.mean((estimator.fit(X, y).predict(X_new) - y_new) ** 2))


@cache
def other_error(which, name, seed):
    with threadpool_limits(1):  # threads of trees that wait for each other take minutes where others work
        return error_of(OTHERS[which](), name, seed)


@dataclass(frozen=True)
class Found:
    """What a fit of ours says of new rows, beside what is true."""

    error: float
    stated: float = np.nan
    covered: float = np.nan
    warned: bool = False


@cache
def own_fit(kind, name, seed):
    """One of ours, fitted once for all that ask."""
    X, y, X_new, y_new = TABLES[name](np.random.default_rng(seed))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = model_for(kind, name).fit(X, y)
        error = float(np.mean((model.predict(X_new) - y_new) ** 2))
        if kind is not SkewRidge:
            return Found(error)
        low, high = model.predict_interval(X_new, COVERAGE)
    covered = float(np.mean((low <= y_new) & (y_new <= high)))
    return Found(error, model.expected_error_.mse, covered, any(issubclass(one.category, UserWarning) for one in said))


def own_error(kind, name, seed):
    return own_fit(kind, name, seed).error


def share_of_limit(error, name, seed):
    """An error over twice the better of ridge regression and the mean, or over 1e-4 of the variance."""
    y_new = TABLES[name](np.random.default_rng(seed))[3]
    better = min(other_error("ridge", name, seed), other_error("mean", name, seed))
    return float(error / max(2 * better, 1e-4 * y_new.var()))


def model_for(estimator, name):
    return estimator(random_state=0, **({"bounds": None} if name in BOUNDED else {}))


@pytest.mark.parametrize(("name", "estimator"), QUICK)
def test_some_hard_tables_are_no_worse_than_twice_ridge_or_the_mean(name, estimator):
    assert share_of_limit(own_error(estimator, name, 0), name, 0) <= 1


CASES = [(name, *fit) for fit in FITS for name in TABLES if name not in APART.keys() | ALONE[fit[0]].keys()]


@pytest.mark.full
@pytest.mark.parametrize(("name", "estimator", "seed"), CASES)
def test_no_hard_table_is_worse_than_twice_ridge_or_the_mean(name, estimator, seed, record_property):
    share = share_of_limit(own_error(estimator, name, seed), name, seed)
    label = f"fits of {estimator.__name__} to hard tables, error over its limit"
    record_property(label, {"count": 1, "figure": share})
    assert share <= 1


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in TABLES if name not in APART])
def test_what_is_stated_of_hard_tables_holds_or_is_warned_of(name, seed, record_property):
    found, variance = own_fit(SkewRidge, name, seed), TABLES[name](np.random.default_rng(seed))[3].var()
    missed = COVERAGE - found.covered
    real = 0.0 if name in FAR_BEYOND or found.error <= 1e-4 * variance else found.error
    if not found.warned:
        record_property("stated errors of hard tables, real over stated", {"count": 1, "figure": real / found.stated})
        record_property("intervals for hard tables, coverage that is missing", {"count": 1, "figure": missed})
    assert found.warned or real <= MOST_OVER_STATED * found.stated
    assert found.warned or missed <= (
        MOST_MISSED if len(TABLES[name](np.random.default_rng(seed))[0]) >= 100 else FEW_MISSED
    )


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in TABLES if name not in APART])
def test_two_levels_beside_trees_on_hard_tables(name, record_property):
    """A record, not a promise: trees see steps and order alone, which some of these tables are made of."""
    ratio = own_error(SkewRidge, name, 0) / max(other_error("trees", name, 0), 1e-300)
    record_property("fits of SkewRidge beside trees, error over theirs", {"count": 1, "figure": ratio})
    assert np.isfinite(ratio)


@pytest.mark.full
def test_two_levels_without_bounds_follow_a_line_beyond_the_range():
    """Nearly: level 1, which is flat beyond the rows, may keep a few per cent of the weight where a line is as good."""
    name = "line_beyond_the_range"
    error, bounded = (error_of(SkewRidge(bounds=own, random_state=0), name, 0) for own in (None, "auto"))
    assert share_of_limit(error, name, 0) <= 1.5
    assert error < 0.1 * bounded


@pytest.mark.full
@pytest.mark.parametrize("name", [*BOUNDED, *APART])
def test_tables_apart_are_fitted_and_stay_within_bounds(name):
    X, y, X_new, _ = TABLES[name](np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = SkewRidge(random_state=0).fit(X, y).predict(X_new)
    assert np.all(np.abs(found - (y.min() + y.max()) / 2) <= 0.6 * np.ptp(y) * (1 + 1e-9))


def test_there_are_46_tables_and_those_apart_are_among_them():
    assert len(TABLES) == 46
    assert TABLES.keys() >= BOUNDED.keys() | APART.keys() | ALONE[LocalKernelRidge].keys()
