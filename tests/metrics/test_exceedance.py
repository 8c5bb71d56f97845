import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from skewridge.metrics import exceedance_brier, exceedance_log_score, pit, reliability

LEVELS = np.arange(1, 100) / 100


@pytest.fixture
def stated():
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    return y, np.clip(1 / (1 + np.exp(1 - y - rng.normal(size=500))), 0.01, 0.99)


def test_scores_of_exceedance_are_scikit_learns(stated):
    y, p = stated
    weights = np.arange(500) % 3
    brier = exceedance_brier(y, p, 1.0, sample_weight=weights)
    assert brier == pytest.approx(brier_score_loss(y > 1, p, sample_weight=weights))
    log_score = exceedance_log_score(y, p, 1.0, sample_weight=weights)
    assert log_score == pytest.approx(log_loss(y > 1, p, sample_weight=weights))


@pytest.mark.parametrize("score", [exceedance_brier, exceedance_log_score])
def test_several_thresholds_are_scored_one_by_one(stated, score):
    y, p = stated
    both = score(y, np.c_[p, p / 2], [1.0, 2.0])
    assert both == pytest.approx([score(y, p, 1.0), score(y, p / 2, 2.0)])


def test_what_was_stated_impossible_scores_infinity():
    assert exceedance_log_score([2.0], [0.0], 1.0) == np.inf
    assert exceedance_log_score([2.0], [1.0], 1.0) == 0.0


def test_y_at_the_threshold_does_not_exceed_it():
    assert exceedance_brier([1.0], [0.0], 1.0) == 0.0


def test_reliability_in_bins_of_equal_width_is_scikit_learns(stated):
    y, p = stated
    found = reliability(y, p, 1.0, bins=7, by="width")
    observed, mean = calibration_curve(y > 1, p, n_bins=7)
    assert np.allclose(found.observed, observed)
    assert np.allclose(found.stated, mean)


def test_bins_of_rows_hold_about_as_many_and_keep_the_sums(stated):
    y, p = stated
    found = reliability(y, p, 1.0, bins=8)
    assert np.ptp(found.n_rows) <= 1
    assert np.all(np.diff(found.stated) > 0)
    assert np.dot(found.n_rows, found.stated) == pytest.approx(p.sum())
    assert np.dot(found.n_rows, found.observed) == pytest.approx((y > 1).sum())


def test_equal_probabilities_share_a_bin():
    found = reliability([0, 1, 2, 3], [0.2] * 4, 1.5, bins=3)
    assert [part.tolist() for part in found] == [[pytest.approx(0.2)], [0.5], [4.0]]


def test_honest_probabilities_are_reliable():
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 6, size=40_000)
    found = reliability((rng.random(40_000) < p).astype(float), p, 0.5)
    error = np.sqrt(found.stated * (1 - found.stated) / found.n_rows)
    assert np.all(np.abs(found.observed - found.stated) < 3.5 * error)


def test_a_weight_is_how_often_a_row_occurs(stated):
    y, p = stated
    times = np.arange(500) % 3
    weighted = reliability(y, p, 1.0, bins=5, by="width", sample_weight=times)
    repeated = reliability(np.repeat(y, times), np.repeat(p, times), 1.0, bins=5, by="width")
    for own, other in zip(weighted, repeated, strict=True):
        assert np.allclose(own, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [0.5, 1.2], 1.0), r"probability must lie in \[0, 1\]; got 1.2. Divide percentages"),
        (([1.0, 2.0], [-0.1, 0.2], 1.0), "got -0.1"),
        (([1.0, 2.0], [np.nan, 0.2], 1.0), "probability must hold finite numbers"),
        (([1.0, 2.0], [0.1, 0.2], np.nan), "thresholds must hold finite numbers"),
        (([1.0, 2.0], [0.1, 0.2, 0.3], 1.0), r"a column for every threshold: expected shape \(2, 1\)"),
    ],
)
@pytest.mark.parametrize("score", [exceedance_brier, exceedance_log_score, reliability])
def test_bad_statements_are_refused(score, arguments, message):
    with pytest.raises(ValueError, match=message):
        score(*arguments)


def test_reliability_refuses_other_bins():
    with pytest.raises(ValueError, match=r"threshold must be one number; got an array.*once a threshold"):
        reliability([1.0], [[0.5]], [1.0])
    with pytest.raises(ValueError, match="by must be one of 'rows', 'width'"):
        reliability([1.0], [0.5], 1.0, by="quantile")
    with pytest.raises(ValueError, match="bins must be an integer >= 1"):
        reliability([1.0], [0.5], 1.0, bins=0)


def test_pit_is_interpolated_between_quantiles():
    levels, q = [0.2, 0.5, 0.9], [[0.0, 1.0, 2.0]]
    assert pit([0.5], q, levels)[0] == pytest.approx(0.35)
    assert pit([1.75], q, levels)[0] == pytest.approx(0.8)
    assert pit([1.0], q, levels)[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("y", "low", "high"), [(-1.0, 0.0, 0.2), (0.0, 0.0, 0.2), (3.0, 0.4, 0.6), (7.0, 0.8, 1.0), (9.0, 0.8, 1.0)]
)
def test_pit_is_drawn_from_jumps_and_beyond_the_outermost_quantiles(y, low, high):
    q = np.tile([0.0, 3.0, 3.0, 7.0], (2000, 1))
    drawn = pit(np.full(2000, y), q, [0.2, 0.4, 0.6, 0.8])
    assert kstest(drawn, "uniform", args=(low, high - low)).pvalue > 0.01


@pytest.mark.parametrize("mass", [0.0, 0.4])
def test_pit_of_honest_quantiles_is_uniform(mass):
    """Zero with probability mass, exponential otherwise."""
    rng = np.random.default_rng(3)
    scale = rng.uniform(1, 5, size=5000)
    y = np.where(rng.random(5000) < mass, 0.0, scale * rng.exponential(size=5000))
    within = np.maximum(LEVELS - mass, 0.0) / (1 - mass)
    assert kstest(pit(y, -scale[:, None] * np.log1p(-within), LEVELS), "uniform").pvalue > 0.01


def test_pit_is_the_same_for_the_same_seed():
    y, q = np.zeros(9), np.zeros((9, 99))
    assert pit(y, q, LEVELS).tolist() == pit(y, q, LEVELS, random_state=0).tolist()
    assert pit(y, q, LEVELS).tolist() != pit(y, q, LEVELS, random_state=1).tolist()


def test_pit_refuses_quantiles_that_cross():
    with pytest.raises(ValueError, match="quantiles must not decrease along the levels; row 1 does"):
        pit([1.0, 1.0], [[0.0, 1.0], [1.0, 0.0]], [0.2, 0.8])
