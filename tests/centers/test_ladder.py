import numpy as np
import pytest

from skewridge.centers.cross_validation import CrossValidator, cv_work, fold_rows
from skewridge.centers.ladder import (
    GUIDES_LADDER,
    LADDER,
    MOST_GIVEN_WORK,
    SHARES,
    choose,
    ladder,
    ladder_steps,
    most_tried,
    spoken_for,
)
from skewridge.centers.rows import training_rows
from skewridge.centers.settings import CenterSettings
from skewridge.datasets import make_peaks
from skewridge.features.forms import ScaledForms
from skewridge.kernels import penalty_rule

X, Y = make_peaks(500, 2, weights=(1, 1), random_state=0)


def rows_of(X=X, y=Y, scores=None, weights=None):
    w = np.ones(len(X)) if weights is None else weights
    return training_rows(X, y.reshape(len(X), -1), w, slices="auto", fit_intercept=True, seed=0, scores=scores)


def chosen(rows=None, most=10**6, **settings):
    return choose(rows or rows_of(), CenterSettings(**settings), most)


def steps_of(choice):
    return [(score.candidate.n_centers, score.candidate.adapt) for _, score in choice.scores]


@pytest.mark.parametrize("m", [1, 50, 1000])
def test_centres_that_are_given_are_tried_with_every_share(m):
    assert ladder(m, None, 10**6, 10**6) == tuple((m, share) for share in SHARES)


@pytest.mark.parametrize("adapt", [0.0, 0.3, 1.0])
def test_a_share_that_is_given_is_tried_with_the_ladders_centres(adapt):
    assert ladder(None, adapt, 10**6, 10**6) == ((150, adapt), (300, adapt), (600, adapt))
    assert ladder(70, adapt, 10**6, 10**6) == ((70, adapt),)


def test_no_more_centres_than_the_memory_holds_and_equal_candidates_once():
    assert ladder(None, None, 10**6, 10**6) == LADDER
    assert ladder(None, None, 10**6, 10**6, GUIDES_LADDER) == GUIDES_LADDER
    assert ladder(None, None, 200, 10**6) == ((150, 0.8), (200, 0.8), (200, 0.5), (200, 0.0))
    assert ladder(None, None, 50, 10**6) == ((50, 0.8), (50, 0.5), (50, 0.0))


@pytest.mark.parametrize(
    ("n_outside", "steps"),
    [(100, ((150, 0.5),)), (512, ((256, 0.5),)), (600, ((300, 0.5), (300, 0.8), (150, 0.8))), (2000, GUIDES_LADDER)],
)
def test_a_guide_of_few_rows_has_one_rung_with_half_as_many_centres_as_rows(n_outside, steps):
    assert ladder_steps(CenterSettings(guides=True), n_outside * 5 // 4, n_outside, 10**6) == steps


@pytest.mark.parametrize(
    ("n_outside", "steps"),
    [(8, ((10, 0.8),)), (160, ((150, 0.8), (200, 0.8))), (400, ((150, 0.8), (300, 0.8), (300, 0.5), (500, 0.5)))],
)
def test_candidates_that_draw_all_rows_outside_a_fold_are_one(n_outside, steps):
    assert ladder(None, None, n_outside * 5 // 4, n_outside) == steps


def test_many_centres_are_spoken_for_by_fewer():
    assert spoken_for(10_000, 600) == 600
    fewer = spoken_for(50_000, 20_000)
    assert 400 <= fewer < 20_000
    assert cv_work(50_000, 1.25 * fewer) <= MOST_GIVEN_WORK < cv_work(50_000, 2.5 * fewer)
    assert spoken_for(10**9, 5000) == 400


def test_the_most_that_is_tried():
    assert (most_tried(10**6, 10**6), most_tried(40, 10**6), most_tried(10**6, 70)) == (600, 40, 70)


def test_the_least_cross_validated_risk_wins():
    choice = chosen(most=500)
    assert choice.criterion == "cv"
    assert steps_of(choice) == [(150, 0.8), (300, 0.8), (300, 0.5), (500, 0.5)]
    risks = [score.risk for _, score in choice.scores]
    assert choice.best.risk == min(risks)
    assert choice.candidate == choice.best.candidate
    assert choice.penalty == choice.best.penalties[np.argmin(choice.best.curve)]


def test_scores_are_those_of_the_transformed_rows():
    choice = chosen()
    folded = fold_rows(rows_of(), 10**6)
    scaled = type(folded)(**{**vars(folded), "X": choice.transform(folded.X)})
    again = CrossValidator(scaled, 3, None, True)(choice.candidate)
    np.testing.assert_array_equal(again.errors, choice.best.errors)


def test_what_is_given_is_respected():
    choice = chosen(n_centers=60, adapt=0.3, penalty=1e-3, bandwidth=0.7)
    assert (choice.criterion, choice.scores) == ("given", ())
    assert (choice.candidate.n_centers, choice.candidate.adapt) == (60, 0.3)
    assert (choice.penalty, choice.candidate.bandwidth) == (1e-3, 0.7)
    assert isinstance(choice.transform, ScaledForms)
    np.testing.assert_allclose(np.mean(choice.transform.scales**2), 1.0)
    assert steps_of(chosen(n_centers=60)) == [(60, share) for share in SHARES]
    assert {score.penalty for _, score in chosen(n_centers=60, penalty=1e-3).scores} == {1e-3}
    rule = chosen(n_centers=60, adapt=0.5, penalty="rule").penalty
    assert rule == penalty_rule("matern32", 500, 2)


def test_kernels_are_each_learned_and_the_best_is_taken():
    choice = chosen(kernels=("sobolev", "matern32"), n_centers=60, adapt=0.5)
    assert choice.candidate.kernel == "matern32"
    assert [(f, s.candidate.kernel) for f, s in choice.scores] == [("standard", "sobolev"), ("learned", "matern32")]
    alone = chosen(kernels=("matern32",), n_centers=60, adapt=0.5)
    np.testing.assert_array_equal(alone.best.errors, choice.best.errors)


def test_scores_weigh_errors_in_learning_and_in_the_folds():
    scores = np.where(Y > np.quantile(Y, 0.9), 20.0, 0.1)
    plain, aimed = chosen(), chosen(rows_of(scores=scores))
    assert not np.allclose(plain.transform.scales, aimed.transform.scales)
    assert not np.array_equal(aimed.best.errors, aimed.best.plain)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_too_few_rows_leave_nothing_to_choose_by(n):
    choice = chosen(rows_of(X[:n], Y[:n]), most=n)
    assert (choice.criterion, choice.scores, choice.unlearned) == ("none", (), False)
    assert choice.candidate.n_centers == n


def test_a_constant_response_leaves_nothing_to_choose_by():
    choice = chosen(rows_of(y=np.full(500, 3.0)))
    assert (choice.criterion, choice.unlearned) == ("none", False)


def test_centres_beyond_cross_validation_are_chosen_for_by_fewer(monkeypatch):
    monkeypatch.setattr("skewridge.centers.ladder.MOST_GIVEN_WORK", 1.0)
    monkeypatch.setattr("skewridge.centers.ladder.FEWEST_SPOKEN_FOR", 40)
    choice = chosen(n_centers=300)
    assert choice.candidate.n_centers == 300
    assert {m for m, _ in steps_of(choice)} == {40}
