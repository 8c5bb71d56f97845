from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.centers.judging import Candidate, Judge, Verdict, fold_rows
from skewridge.centers.selection import (
    MARGIN,
    MOST_OCTAVES,
    SHARES,
    WIDEST_OCTAVES,
    Space,
    center_levels,
    given_levels,
    search,
)
from skewridge.datasets import make_peaks
from skewridge.engine.job import Job
from skewridge.features.scaling import standard_scaling, unit_responses
from skewridge.kernels.heuristics import median_bandwidth
from skewridge.response.sampling import make_pool

LEVELS = (50, 100, 200)
FOLDS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def searched(X, y, adapt, levels=LEVELS, seed=0):
    """(verdict, judge) of a search on standardised features and centred responses."""
    Y, w = y[:, None], np.ones(len(X))
    scaled, unit = standard_scaling(X, w)(X), unit_responses(Y, w, True)[0]
    judge = Judge(
        fold_rows(scaled, unit, None, {"response": make_pool(X, Y, w, "auto", seed)}, 10**6), 3, None, True, Job()
    )
    bandwidth = median_bandwidth(judge.rows.X, "matern32", seed)
    return search(Space(levels, adapt, ("matern32",), {"matern32": bandwidth}, True, ("response",)), judge), judge


def pure_noise(seed):
    rng = np.random.default_rng(seed)
    return rng.random((150, 2)), rng.normal(size=150)


def with_an_outlier(seed):
    X, noise = pure_noise(seed)
    y = np.sin(5 * X[:, 0]) + 0.1 * noise
    y[7] += 1e6 * y.std()
    return X, y


class Table:
    """A judge whose risks are those of a function; folds differ by a spread."""

    def __init__(self, risk, spread=0.0, path=((0.0,),)):
        self.risk, self.spread, self.path, self.asked = risk, spread, np.array(path), []

    def __call__(self, candidate):
        self.asked.append(candidate)
        errors = (self.risk(candidate) + self.spread * FOLDS)[:, None] + self.path
        return Verdict(candidate, np.arange(errors.shape[1]) + 1.0, errors, errors, errors)


def space(levels=LEVELS, adapt=None, kernels=("matern32",), climbs=False, slice_on=("response",)):
    return Space(levels, adapt, kernels, dict.fromkeys(kernels, 1.0), climbs, slice_on)


def test_adaptive_centres_win_where_the_response_is_skewed():
    X, y = make_peaks(1000, 2, weights=(1, 1), random_state=0)
    best, judge = searched(X, y, None)
    assert best.candidate.adapt in SHARES
    assert best.beats(judge(replace(best.candidate, adapt=0.0)), MARGIN)
    assert best.risk < 0.9 * searched(X, y, 0.0)[0].risk


@pytest.mark.parametrize("make", [pure_noise, with_an_outlier])
def test_where_adaptive_centres_are_not_taken_the_outcome_is_that_of_random_ones(make):
    taken = 0
    for seed in range(6):
        best, judge = searched(*make(seed), None, (50, 100), seed)
        if best.candidate.adapt == 0:
            random, _ = searched(*make(seed), 0.0, (50, 100), seed)
            assert best.candidate == random.candidate
            assert best.penalty == random.penalty
            np.testing.assert_array_equal(best.errors, random.errors)
        else:
            taken += 1
            assert best.beats(judge(replace(best.candidate, adapt=0.0)), 0.0)
    assert taken < 6


@given(st.floats(0.0, 0.2), st.integers(0, 1000))
def test_no_gain_from_adaptive_centres_is_no_change_at_all(loss, seed):
    rng = np.random.default_rng(seed)
    by_bandwidth = dict(zip(range(-20, 21), rng.random(41), strict=True))
    by_size = dict(zip(LEVELS, rng.random(3), strict=True))

    def risk(c):
        return 1 + by_size[c.n_centers] + by_bandwidth[round(np.log2(c.bandwidth))] + loss * (c.adapt > 0)

    best, random = search(space(climbs=True), Table(risk)), search(space(adapt=0.0, climbs=True), Table(risk))
    assert best.candidate == random.candidate
    np.testing.assert_array_equal(best.errors, random.errors)


def test_a_gain_smaller_than_its_margin_is_not_taken():
    """The folds' gains differ by far more than their mean, so they are no gain for certain."""
    gains = 0.01 + 0.5 * FOLDS

    class Unsure(Table):
        def __call__(self, candidate):
            errors = (1.0 - gains * (candidate.adapt > 0))[:, None]
            return Verdict(candidate, np.ones(1), errors, errors, errors)

    assert gains.mean() < MARGIN * gains.std(ddof=1) / np.sqrt(5)
    assert search(space(), Unsure(None)).candidate.adapt == 0.0


def test_the_better_share_is_taken():
    for better in SHARES:
        best = search(space(), Table(lambda c, better=better: 1.0 - 0.5 * (c.adapt == better) - 0.1 * (c.adapt > 0)))
        assert best.candidate.adapt == better


def test_a_share_that_is_given_is_the_only_one_tried():
    judge = Table(lambda c: 1.0 + c.adapt)
    assert search(space(adapt=0.7), judge).candidate.adapt == 0.7
    assert {candidate.adapt for candidate in judge.asked} == {0.7}


def test_adaptive_centres_must_beat_random_ones_at_a_bandwidth_of_their_own():
    """Random centres lose at the adaptive ones' bandwidth, and win at twice it."""

    def risk(c):
        return 1.0 - 0.4 * (c.bandwidth == 1) if c.adapt else 1.0 - 0.1 * (c.bandwidth == 1) - 0.5 * (c.bandwidth == 2)

    class Spread(Table):
        def __call__(self, candidate):
            errors = (risk(candidate) + 0.3 * FOLDS * (candidate.adapt > 0))[:, None]
            return Verdict(candidate, np.ones(1), errors, errors, errors)

    best = search(space(levels=(50,), climbs=True), Spread(None))
    assert best.candidate == Candidate("matern32", 50, 0.0, 2.0)


@pytest.mark.parametrize(("wanted", "levels"), [(50, (50,)), (100, (50, 100)), (400, (50, 100, 200, 400, 800))])
def test_centres_are_doubled_while_that_lowers_the_risk(wanted, levels):
    judge = Table(lambda c: abs(np.log2(c.n_centers / wanted)))
    assert search(space(levels=levels, adapt=0.5), judge).candidate.n_centers == wanted


def test_growth_ends_at_the_first_level_of_many_centres_that_does_not_help():
    judge = Table(lambda c: 1.0 - 0.1 * (c.n_centers == 100))
    best = search(space(levels=(50, 100, 200, 400, 800), adapt=0.5), judge)
    assert best.candidate.n_centers == 100
    assert max(c.n_centers for c in judge.asked) == 200


def test_one_level_of_few_centres_that_does_not_help_ends_nothing():
    judge = Table(lambda c: 1.0 - 0.1 * (c.n_centers == 200))
    assert search(space(levels=LEVELS, adapt=0.5), judge).candidate.n_centers == 200


@pytest.mark.parametrize("octave", [-50, -3, 0, 2, 50])
def test_the_bandwidth_climbs_to_where_the_risk_is_least_within_bounds(octave):
    judge = Table(lambda c: abs(np.log2(c.bandwidth) - octave))
    best = search(space(levels=(50,), adapt=0.0, climbs=True), judge)
    assert np.log2(best.candidate.bandwidth) == np.clip(octave, -MOST_OCTAVES, WIDEST_OCTAVES)


def test_a_bandwidth_that_is_given_is_kept():
    judge = Table(lambda c: c.bandwidth)
    search(space(climbs=False), judge)
    assert {candidate.bandwidth for candidate in judge.asked} == {1.0}


def test_a_kernel_without_a_bandwidth_has_none_to_search():
    judge = Table(lambda c: 1.0)
    free = Space((50,), 0.0, ("sobolev",), {"sobolev": None}, True, ("response",))
    assert search(free, judge).candidate.bandwidth is None


def test_the_best_kernel_and_the_best_slices_are_taken():
    judge = Table(lambda c: 1.0 - 0.1 * (c.kernel == "gaussian") - 0.2 * (c.slice_on == "pilot") - 0.3 * (c.adapt > 0))
    best = search(space(kernels=("matern32", "gaussian"), slice_on=("response", "pilot")), judge)
    assert (best.candidate.kernel, best.candidate.slice_on) == ("gaussian", "pilot")


@pytest.mark.parametrize(
    ("random", "adapt", "eases", "penalty"),
    [(1.0, None, True, 2.0), (0.1, None, True, 4.0), (1.0, None, False, 4.0), (1.0, 0.5, True, 4.0)],
)
def test_penalties_that_the_folds_cannot_tell_apart_are_eased_where_adaptive_centres_are_clearly_better(
    random, adapt, eases, penalty
):
    alike = np.array([0.01, -0.01, 0.01, -0.01, 0.0002])
    path = np.column_stack([alike, alike, alike, np.zeros(5), np.ones(5)])
    judge = Table(lambda c: 0.1 if c.adapt else random, 0.02, path)
    assert search(replace(space(adapt=adapt), eases=eases), judge).penalty == penalty


@pytest.mark.parametrize(
    ("n_rows", "most", "levels"),
    [
        (1, 2000, (1,)),
        (5, 2000, (5,)),
        (49, 2000, (49,)),
        (50, 2000, (50,)),
        (51, 2000, (50, 51)),
        (150, 2000, (50, 100, 150)),
        (1000, 2000, (50, 100, 200, 400)),
        (10_000, 2000, (50, 100, 200, 400, 800)),
        (10**6, 2000, (50, 100, 200)),
        (10_000, 70, (50,)),
        (10_000, 30, (30,)),
        (10_000, 1, (1,)),
        (10_000, 0, (1,)),
    ],
)
def test_levels_double_up_to_what_rows_and_memory_allow(n_rows, most, levels):
    assert center_levels(n_rows, most) == levels


@given(st.integers(1, 10**6), st.integers(1, 5000))
def test_levels_increase_and_stay_within_bounds(n_rows, most):
    levels = center_levels(n_rows, most)
    assert levels
    assert list(levels) == sorted(set(levels))
    assert 1 <= levels[0] <= levels[-1] <= min(n_rows, most)


def test_centres_beyond_judging_are_spoken_for_by_fewer():
    assert given_levels(10_000, 1000) == (1000,)
    levels = given_levels(50_000, 10_000)
    assert levels[0] == 400
    assert 400 < levels[-1] < 10_000
    assert given_levels(10**9, 10_000) == (400,)
