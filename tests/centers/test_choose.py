from dataclasses import replace

import numpy as np
import pytest

from skewridge.centers.choose import (
    CANDIDATES,
    GUIDE_CANDIDATES,
    MOST_GIVEN_WORK,
    SHARES,
    candidates_to_try,
    choose,
    comparable_size,
    scale_kernel,
)
from skewridge.centers.cross_validation import cross_validator, cv_work
from skewridge.centers.rows import CenterSettings, training_rows
from skewridge.datasets import make_peaks
from skewridge.features.forms import NEGLIGIBLE, ScaledForms, learn_forms
from skewridge.features.scaling import Scaling, standard_scaling
from skewridge.kernels import Kernel, median_bandwidth, penalty_rule
from skewridge.ridge.learn_scales import LearnedKernel, learn_scales
from skewridge.ridge.sample import Sample

X, Y = make_peaks(500, 2, weights=(1, 1), random_state=0)


def rows_of(X=X, y=Y, scores=None, weights=None):
    w = np.ones(len(X)) if weights is None else weights
    return training_rows(X, y[:, None], w, CenterSettings(), seed=0, scores=scores)


def chosen(rows=None, most=10**6, **settings):
    return choose(rows or rows_of(), CenterSettings(**settings), most)


def steps_of(choice):
    return [(score.candidate.n_centers, score.candidate.adapt) for score in choice.scores]


def tried(most=10**6, n_outside=8000, **settings):
    return candidates_to_try(CenterSettings(**settings), n_outside * 5 // 4, n_outside, most)


@pytest.mark.parametrize("m", [1, 50, 1000])
def test_centres_that_are_given_are_tried_with_every_share(m):
    assert tried(n_centers=m) == tuple((m, share) for share in SHARES)


@pytest.mark.parametrize("adapt", [0.0, 0.3, 1.0])
def test_a_share_that_is_given_is_tried_with_the_usual_centres(adapt):
    assert tried(adapt=adapt) == ((150, adapt), (300, adapt), (600, adapt))
    assert tried(n_centers=70, adapt=adapt) == ((70, adapt),)


def test_no_more_centres_than_the_memory_holds_and_equal_candidates_once():
    assert tried() == CANDIDATES
    assert tried(guides=True) == GUIDE_CANDIDATES
    assert tried(most=200) == ((150, 0.8), (200, 0.8), (200, 0.5), (200, 0.0))
    assert tried(most=50) == ((50, 0.8), (50, 0.5), (50, 0.0))


@pytest.mark.parametrize(
    ("n_outside", "steps"),
    [(100, ((150, 0.5),)), (512, ((256, 0.5),)), (600, ((300, 0.5), (300, 0.8), (150, 0.8))), (2000, GUIDE_CANDIDATES)],
)
def test_a_guide_of_few_rows_has_one_candidate_with_half_as_many_centres_as_rows(n_outside, steps):
    assert tried(10**6, n_outside, guides=True) == steps


@pytest.mark.parametrize(
    ("n_outside", "steps"),
    [(8, ((10, 0.8),)), (160, ((150, 0.8), (200, 0.8))), (400, ((150, 0.8), (300, 0.8), (300, 0.5), (500, 0.5)))],
)
def test_candidates_that_draw_all_rows_outside_a_fold_are_one(n_outside, steps):
    assert tried(n_outside * 5 // 4, n_outside) == steps


def test_many_centres_are_chosen_for_by_fewer():
    assert comparable_size(10_000, 600) == 600
    fewer = comparable_size(50_000, 20_000)
    assert 400 <= fewer < 20_000
    assert cv_work(50_000, 1.25 * fewer) <= MOST_GIVEN_WORK < cv_work(50_000, 2.5 * fewer)
    assert comparable_size(10**9, 5000) == 400


def test_the_least_cross_validated_risk_wins():
    choice = chosen(most=500)
    assert choice.criterion == "cv"
    assert steps_of(choice) == [(150, 0.8), (300, 0.8), (300, 0.5), (500, 0.5)]
    risks = [score.risk for score in choice.scores]
    assert choice.best.risk == min(risks)
    assert choice.candidate == choice.best.candidate
    assert choice.penalty == choice.best.penalties[np.argmin(choice.best.risks)]


def test_scores_are_those_of_the_transformed_rows():
    choice = chosen()
    raw = cross_validator(rows_of(), 10**6, CenterSettings())
    again = replace(raw, X=choice.transform(raw.X))(choice.candidate)
    np.testing.assert_array_equal(again.errors, choice.best.errors)


def test_what_is_given_is_respected():
    choice = chosen(n_centers=60, adapt=0.3, penalty=1e-3, bandwidth=0.7)
    assert (choice.criterion, choice.scores) == ("given", ())
    assert (choice.candidate.n_centers, choice.candidate.adapt) == (60, 0.3)
    assert (choice.penalty, choice.candidate.bandwidth) == (1e-3, 0.7)
    assert isinstance(choice.transform, ScaledForms)
    np.testing.assert_allclose(np.mean(choice.transform.scales**2), 1.0)
    assert steps_of(chosen(n_centers=60)) == [(60, share) for share in SHARES]
    assert {score.penalty for score in chosen(n_centers=60, penalty=1e-3).scores} == {1e-3}
    rule = chosen(n_centers=60, adapt=0.5, penalty="rule").penalty
    assert rule == penalty_rule("matern32", 500, 2)


def test_kernels_are_each_learned_and_the_best_is_taken():
    choice = chosen(kernels=("sobolev", "matern32"), n_centers=60, adapt=0.5)
    assert choice.candidate.kernel == "matern32"
    assert [(s.candidate.features, s.candidate.kernel) for s in choice.scores] == [
        ("standard", "sobolev"),
        ("learned", "matern32"),
    ]
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
    monkeypatch.setattr("skewridge.centers.choose.MOST_GIVEN_WORK", 1.0)
    monkeypatch.setattr("skewridge.centers.choose.FEWEST_COMPARABLE", 40)
    choice = chosen(n_centers=300)
    assert choice.candidate.n_centers == 300
    assert {m for m, _ in steps_of(choice)} == {40}


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [10.0, 0.1, 1.0]
    Y = np.sin(X[:, :1] / 5) + 0.05 * rng.normal(size=(n, 1))
    return Sample(X, Y, np.ones(n), np.ones(n))


def scaled(rows, name="matern32", standard=None, **settings):
    base = standard or standard_scaling(rows.Z, rows.frequencies)
    return scale_kernel(name, rows, CenterSettings(**settings), 0, base)


def test_learned_scales_over_the_bandwidth_are_the_learners():
    rows = sample()
    found = scaled(rows)
    forms = learn_forms(rows.Z)
    learned = learn_scales(Kernel("matern32", bandwidth=1.0), replace(rows, Z=forms(rows.Z)), seed=0)
    kept = learned.scales >= NEGLIGIBLE * learned.scales.max()
    np.testing.assert_allclose(found[0].scales / found[1], learned.scales[kept], rtol=1e-12)
    np.testing.assert_allclose(found[0](rows.Z), (forms(rows.Z) * learned.scales)[:, kept] * found[1])
    np.testing.assert_array_equal(found[2].scales, learned.scales)
    scale = found[0].forms.column_scale(found[0].scales)
    assert scale[0] > 3 * scale[1:].max()


@pytest.mark.parametrize("bandwidth", [0.3, "median"])
def test_a_bandwidth_that_is_given_leaves_the_learned_scales(bandwidth):
    rows = sample()
    found, free = scaled(rows, bandwidth=bandwidth), scaled(rows)
    np.testing.assert_array_equal(found[0].scales, free[0].scales)
    expected = bandwidth if bandwidth == 0.3 else median_bandwidth(free[0](rows.Z), "matern32", 0)
    assert found[1] == expected


@pytest.mark.parametrize("name", ["matern32", "laplacian", "gaussian"])
@pytest.mark.parametrize("mode", ["standard", None])
def test_otherwise_one_common_scale_is_learned_the_bandwidth(name, mode):
    rows = sample()
    base = Scaling(np.zeros(3), np.ones(3)) if mode is None else standard_scaling(rows.Z, np.ones(300))
    found = scaled(rows, name, base, scale_features=mode)
    kernel = Kernel(name, bandwidth=1.0)
    learned = learn_scales(kernel, replace(rows, Z=base(rows.Z)), seed=0, common_scale=True)
    assert found[0] is base
    assert found[1] == pytest.approx(1 / learned.scales[0])
    assert scaled(rows, name, base, scale_features=mode, bandwidth=2.0)[1] == 2.0


@pytest.mark.parametrize("name", ["polynomial", "sobolev"])
def test_kernels_without_a_bandwidth_see_standardised_columns(name):
    rows = sample()
    base = standard_scaling(rows.Z, np.ones(300))
    assert scaled(rows, name, base) == (base, None, None)


def test_few_rows_start_at_the_median_distance():
    rows = sample(9)
    found = scaled(rows)
    assert isinstance(found[0], ScaledForms)
    np.testing.assert_allclose(found[0].scales, 1.0)
    assert not len(found[2].losses)


def test_constant_columns_alone_are_ignored():
    rows = Sample(np.ones((20, 2)), np.arange(20.0)[:, None], np.ones(20), np.ones(20))
    found = scaled(rows)
    np.testing.assert_array_equal(found[0](np.array([[1.0, 1.0], [1.0, 1.0]])), np.zeros((2, 2)))


def test_learning_without_a_usable_step_is_reported(monkeypatch):
    assert not chosen().unlearned
    unlearned = LearnedKernel(np.ones(4), 1.0, 0.0, losses=np.full(5, np.nan))
    monkeypatch.setattr("skewridge.centers.choose.learn_scales", lambda *_, **__: unlearned)
    assert chosen().unlearned
    assert not chosen(rows_of(y=np.full(500, 3.0))).unlearned
