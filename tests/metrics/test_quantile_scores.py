import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import mean_pinball_loss

from skewridge.metrics import crps, interval_score, pinball_loss, rare_crps, rare_region, upper_crps
from skewridge.metrics.distributions import level_weights

LEVELS = np.arange(1, 100) / 100


@pytest.fixture
def forecast():
    rng = np.random.default_rng(0)
    return rng.lognormal(size=60), np.sort(rng.lognormal(size=(60, 99)), axis=1)


def numbers(*shape):
    return arrays(np.float64, shape, elements=st.floats(-1e3, 1e3))


def ensemble_crps(y, members):
    """E|X - y| - E|X - X'| / 2 for the distribution of the members."""
    apart = np.abs(members[:, None] - members[None, :]).mean()
    return np.abs(members - y).mean() - apart / 2


@given(numbers(3), numbers(3, 7))
def test_crps_at_the_middles_of_m_parts_is_that_of_the_ensemble(y, members):
    members = np.sort(members, axis=1)
    exact = np.mean([ensemble_crps(own, some) for own, some in zip(y, members, strict=True)])
    assert crps(y, members, (np.arange(7) + 0.5) / 7) == pytest.approx(exact, abs=1e-9)


def test_crps_of_normal_quantiles_approaches_the_formula():
    y, levels = np.array([-1.0, 0.3, 2.0]), (np.arange(2000) + 0.5) / 2000
    formula = y * (2 * norm.cdf(y) - 1) + 2 * norm.pdf(y) - 1 / np.sqrt(np.pi)
    assert crps(y, np.tile(norm.ppf(levels), (3, 1)), levels) == pytest.approx(formula.mean(), rel=1e-3)


def test_uneven_levels_are_integrated_and_not_averaged():
    levels = np.sort(np.r_[(np.arange(100) + 0.5) / 100, 0.9 + np.arange(1, 400) / 4000.3])
    found = crps([0.4], norm.ppf(levels)[None], levels)
    even = (np.arange(4000) + 0.5) / 4000
    assert found == pytest.approx(crps([0.4], norm.ppf(even)[None], even), rel=0.02)


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=20, unique=True))
def test_level_weights_are_positive_and_sum_to_one(levels):
    weights = level_weights(np.sort(levels))
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0).all()


def test_the_crps_of_a_certain_prediction_is_its_absolute_error(forecast):
    y, _ = forecast
    assert crps(y, np.full((60, 99), 1.5), LEVELS) == pytest.approx(np.abs(y - 1.5).mean())


def test_pinball_loss_is_scikit_learns(forecast):
    y, q = forecast
    weights = np.arange(60) % 4
    found = pinball_loss(y, q, LEVELS, sample_weight=weights)
    for j in (0, 49, 98):
        expected = mean_pinball_loss(y, q[:, j], alpha=LEVELS[j], sample_weight=weights)
        assert found[j] == pytest.approx(expected)


def test_one_level_may_be_a_vector(forecast):
    y, q = forecast
    assert pinball_loss(y, q[:, 49], 0.5).tolist() == pinball_loss(y, q[:, [49]], [0.5]).tolist()


def test_the_upper_part_is_the_integral_above_the_threshold():
    """Of a step function F with steps at the quantiles, by quadrature."""
    y, t, steps = 2.2, 1.5, np.array([0.3, 1.0, 1.9, 2.5, 4.0])

    def squared(z):
        return (np.mean(steps <= z) - (y <= z)) ** 2

    whole = quad(squared, t, 5.0, points=[1.9, 2.2, 2.5, 4.0])[0]
    assert upper_crps([y], steps[None], (np.arange(5) + 0.5) / 5, threshold=t) == pytest.approx(whole)


@given(numbers(4), numbers(4, 9), st.floats(-1e3, 1e3))
def test_what_lies_above_and_what_lies_below_make_the_whole(y, q, threshold):
    q, levels = np.sort(q, axis=1), np.arange(1, 10) / 10
    above = upper_crps(y, q, levels, threshold=threshold)
    below = upper_crps(-y, -q[:, ::-1], levels, threshold=-threshold)
    assert above + below == pytest.approx(crps(y, q, levels), abs=1e-9)


def test_the_rare_part_is_the_integral_over_the_rare_region():
    rng = np.random.default_rng(1)
    y_ref = np.r_[rng.lognormal(size=500), -3.0]
    steps = np.sort(rng.lognormal(1.0, 1.0, size=25))
    levels, grid = (np.arange(25) + 0.5) / 25, np.linspace(-8, 60, 400_001)
    middle = (grid[1:] + grid[:-1]) / 2
    rare = rare_region(middle, y_ref)
    for y in (-5.0, 1.0, y_ref.max() + 9.0):
        share = np.searchsorted(steps, middle, side="right") / 25
        whole = np.sum((share - (y <= middle)) ** 2 * rare) * (grid[1] - grid[0])
        found = rare_crps([y], steps[None], levels, y_ref=y_ref)
        assert found == pytest.approx(whole, rel=1e-3, abs=1e-3)


def test_without_a_reference_the_response_decides_what_is_rare(forecast):
    y, q = forecast
    assert rare_crps(y, q, LEVELS) == rare_crps(y, q, LEVELS, y_ref=y)


@pytest.mark.parametrize("score", [crps, upper_crps, rare_crps])
def test_the_truth_scores_best(score):
    """Propriety by simulation: shifted, narrower and wider distributions score worse."""
    rng = np.random.default_rng(2)
    y, q = rng.lognormal(size=4000), np.exp(norm.ppf(LEVELS))
    options = {upper_crps: {"threshold": 3.0}, rare_crps: {"y_ref": rng.lognormal(size=3000)}}.get(score, {})
    others = (q * 1.3, q / 1.3, q**0.7, q**1.3)
    best, *worse = (score(y, np.tile(own, (4000, 1)), LEVELS, **options) for own in (q, *others))
    assert best < min(worse)


def scores(y, q, weights):
    return [
        crps(y, q, LEVELS, sample_weight=weights),
        upper_crps(y, q, LEVELS, threshold=1.0, sample_weight=weights),
        rare_crps(y, q, LEVELS, y_ref=np.linspace(0, 2, 50) ** 4, sample_weight=weights),
        interval_score(y, q[:, 4], q[:, 94], sample_weight=weights),
    ]


def test_a_weight_is_how_often_a_row_occurs(forecast):
    y, q = forecast
    times = np.arange(60) % 3
    assert scores(y, q, times) == pytest.approx(scores(np.repeat(y, times), np.repeat(q, times, axis=0), None))


def test_interval_score_by_hand():
    by_hand = (4 + 2 / 0.2 * 0) + (4 + 2 / 0.2 * 3) + (4 + 2 / 0.2 * 1)
    assert interval_score([1, 7, -1], [0, 0, 0], [4, 4, 4], coverage=0.8) == pytest.approx(by_hand / 3)


def test_the_interval_score_is_the_pinball_losses_of_its_ends(forecast):
    y, q = forecast
    loss = pinball_loss(y, q[:, [4, 94]], [0.05, 0.95]).sum()
    assert interval_score(y, q[:, 4], q[:, 94], coverage=0.9) == pytest.approx(loss * 2 / 0.1)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([0.0, 0.5], "levels must lie strictly between 0 and 1; got 0"),
        ([50.0, 90.0], "levels must lie strictly between 0 and 1; got 50.*The median is 0.5"),
        ([0.9, 0.5], "levels must increase; got 0.9 before 0.5. Sort them"),
        ([0.5, 0.5], "levels must increase"),
        ([0.5, np.nan], "levels must hold finite numbers"),
        ([0.1, 0.5, 0.9], r"a column for every level: expected shape \(2, 3\), got \(2, 2\)"),
    ],
)
def test_bad_levels_are_refused(levels, message):
    with pytest.raises(ValueError, match=message):
        crps([1.0, 2.0], np.ones((2, 2)), levels)


def test_bad_quantiles_are_refused():
    with pytest.raises(ValueError, match=r"quantiles must hold finite numbers.*Leave out each level"):
        crps([1.0, 2.0], [[1.0, np.inf], [1.0, 2.0]], [0.5, 0.999])
    with pytest.raises(ValueError, match="Of several outputs pass one at a time"):
        crps([1.0, 2.0], np.ones((2, 2, 1)), [0.5])
    with pytest.raises(ValueError, match="y_true must hold finite numbers"):
        pinball_loss([1.0, np.nan], np.ones((2, 1)), [0.5])


def test_other_bad_input_is_refused():
    with pytest.raises(ValueError, match="threshold must be a number"):
        upper_crps([1.0], [[1.0]], [0.5], threshold=np.nan)
    with pytest.raises(ValueError, match=r"share must be a number in \[0, 1\]"):
        rare_crps([1.0], [[1.0]], [0.5], share=2)
    with pytest.raises(ValueError, match="low must not exceed high: row 1 has low 3 and high 2"):
        interval_score([1.0, 2.0], [0.0, 3.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="coverage must be below 1"):
        interval_score([1.0], [0.0], [1.0], coverage=1.0)
    with pytest.raises(ValueError, match="sample_weight must be finite, nonnegative"):
        crps([1.0], [[1.0]], [0.5], sample_weight=[-1.0])
