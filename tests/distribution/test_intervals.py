import importlib.util
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.distribution.intervals import FEWEST_ROWS, calibration_of, check_tail, join_slices
from skewridge.response.slices import slice_labels

SCRIPT = Path(__file__).parents[2] / "experiments" / "intervals" / "study.py"


def naive_ends(errors, coverage):
    """The k-th smallest and the k-th largest error, k the largest whole number up to (n + 1) (1 - coverage) / 2."""
    errors, tail = sorted(errors), (1 - Fraction(str(coverage))) / 2
    k = int((len(errors) + 1) * tail)
    return (errors[k - 1], errors[-k]) if k else (-np.inf, np.inf)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("n", [0, 1, 18, 19, 20, 50, 137])
def test_one_slice_is_split_conformal(n, coverage):
    rng = np.random.default_rng(n)
    prediction, y = rng.random(n), rng.normal(size=n)
    bands = calibration_of(prediction, y, np.array([0.0, 1.0]), np.ones(n), "fresh").bands(coverage)
    assert (bands.low[0], bands.high[0]) == naive_ends(y - prediction, coverage)
    assert bands.n_rows.tolist() == [n]


def test_every_slice_has_its_own_errors():
    rng = np.random.default_rng(0)
    edges = np.array([0.0, 1.0, 2.0, 3.0])
    prediction = rng.random(600) * 3
    y = prediction + rng.normal(size=600) * (1 + slice_labels(prediction, edges))
    bands = calibration_of(prediction, y, edges, np.ones(600), "fresh").bands(0.9)
    assert np.array_equal(bands.edges, edges)
    for j in range(3):
        here = slice_labels(prediction, edges) == j
        assert (bands.low[j], bands.high[j]) == naive_ends((y - prediction)[here], 0.9)
    low, high = bands.around(np.array([-5.0, 1.5, 7.0]))  # beyond the edges: the outer slices
    assert np.allclose(low - [-5.0, 1.5, 7.0], bands.low)
    assert np.allclose(high - [-5.0, 1.5, 7.0], bands.high)


def test_weights_are_frequencies():
    rng = np.random.default_rng(0)
    edges, prediction, y = np.array([0.0, 0.5, 1.0]), rng.random(80), rng.normal(size=80)
    weights = rng.integers(1, 5, 80)
    repeated = calibration_of(*(np.repeat(v, weights) for v in (prediction, y)), edges, np.ones(weights.sum()), "fresh")
    weighted = calibration_of(prediction, y, edges, weights.astype(float), "fresh")
    assert weighted.n_rows == repeated.n_rows
    for name in ("edges", "low", "high", "n_rows"):
        assert np.array_equal(getattr(weighted.bands(0.8), name), getattr(repeated.bands(0.8), name))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.integers(1, 100))
def test_joined_slices_hold_enough_rows_wherever_there_are_enough(counts, needed):
    counts = np.array(counts)
    first = join_slices(counts, needed)
    held = np.add.reduceat(counts, first)
    assert first[0] == 0
    assert first == sorted(set(first))
    assert held.sum() == counts.sum()
    assert (held >= needed).all() or len(first) == 1


def test_the_outermost_rows_stay_by_themselves():
    counts = np.array([3, 60, 1000, 200, 40, 30, 0, 20, 30, 1])
    assert join_slices(counts, 50) == [0, 2, 3, 4, 7]  # 3+60 | 1000 | 200 | 40+30+0 | 20+30+1


def test_more_coverage_joins_more_slices():
    rng = np.random.default_rng(0)
    prediction = rng.random(1000) * 10
    calibration = calibration_of(prediction, rng.normal(size=1000), np.arange(11.0), np.ones(1000), "fresh")
    assert len(calibration.bands(0.9).low) == 10
    assert (calibration.bands(0.99).n_rows >= 199).all()
    assert np.isfinite(calibration.bands(0.99).low).all()
    assert np.isinf(calibration.bands(0.999).low).all()


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_rows_needed_are_the_fewest_with_a_finite_interval(coverage):
    none = np.array([])
    n = calibration_of(none, none, np.array([0.0, 1.0]), none, "fresh").rows_needed(coverage)
    assert np.isfinite(naive_ends(range(n), coverage)).all()
    assert not np.isfinite(naive_ends(range(n - 1), coverage)).any()


def test_coverage_given_the_slice_is_what_is_promised():
    """The theorem by simulation: skewed errors that grow with the prediction, 2,000 calibrations."""
    rng = np.random.default_rng(0)
    edges, covered = np.array([0.0, 0.5, 0.8, 1.0]), []
    for _ in range(2000):
        prediction, new = rng.random(300), rng.random(100)
        y, y_new = (f + (rng.exponential(size=len(f)) - 1) * (0.1 + f) ** 2 for f in (prediction, new))
        low, high = calibration_of(prediction, y, edges, np.ones(300), "fresh").bands(0.9).around(new)
        covered.append([np.mean(((y_new >= low) & (y_new <= high))[slice_labels(new, edges) == j]) for j in range(3)])
    mean, error = np.nanmean(covered, axis=0), np.nanstd(covered, axis=0) / np.sqrt(2000)
    assert (mean >= 0.9 - 3 * error).all()
    assert (mean <= 0.9 + 2 / (FEWEST_ROWS + 1) + 3 * error).all()


@pytest.mark.parametrize(
    ("coverage", "error", "message"),
    [
        (1.0, ValueError, "coverage must be below 1"),
        (0.0, ValueError, "coverage must be a number in"),
        (1.5, ValueError, "coverage must be a number in"),
        (np.nan, ValueError, "coverage must be a number in"),
        ("0.9", TypeError, "coverage must be a number in"),
    ],
)
def test_impossible_coverage_is_refused(coverage, error, message):
    with pytest.raises(error, match=message):
        check_tail(coverage)


def test_tails_are_exact_fractions():
    assert check_tail(0.9) == Fraction(1, 20)
    assert check_tail(np.float32(0.9)) == Fraction(1, 20)


@pytest.fixture(scope="module")
def experiment():
    spec = importlib.util.spec_from_file_location("coverage_experiment", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("calibration", ["cross-fitted", "fresh"])
@pytest.mark.parametrize(
    ("estimator", "settings"),
    [
        ("adaptive", {"n_centers": 100, "scale_features": "standard"}),
        ("dac", {"n_nodes": 4, "bandwidth": 1.0, "penalty": 1e-4}),
    ],
)
def test_coverage_of_the_estimators(experiment, estimator, settings, calibration):
    """The experiment at reduced size: growing noise, 800 rows, 3 seeds."""
    made = partial(experiment.ESTIMATORS[estimator], **settings)
    runs = [list(experiment.measure(experiment.growing_noise, made, calibration, s, 800, 2000)) for s in range(3)]
    records = [record for run in runs for record in run]
    overall = [record for record in records if record[0] == "overall"]
    assert 0.87 <= sum(r[3] for r in overall) / sum(r[2] for r in overall) <= 0.95
    assert all(r[1] >= FEWEST_ROWS for r in records if r[0].startswith("slice"))
    assert {"rare y", "rare prediction", "slice 0"} <= {r[0] for r in records}
