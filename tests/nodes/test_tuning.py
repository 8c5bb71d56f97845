import warnings

import numpy as np
import pytest

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.kernels import KERNELS, median_bandwidth, penalty_rule
from skewridge.metrics import relevance, row_scores
from skewridge.nodes.partition import PartitionSettings, deal_rows
from skewridge.nodes.tuning import CRITERIA, LOCAL, KernelSettings, lowest_penalty, make_trials, sample_rows
from skewridge.response.slices import slice_response
from tests import naive

X, Y = make_peaks(300, 2, random_state=0)

pytestmark = pytest.mark.filterwarnings("ignore:The chosen")


def fitted(**settings):
    return DacKernelRidge(**{"n_nodes": 4, "random_state": 0, **settings}).fit(X, Y)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_chooses_bandwidth_and_penalty(criterion):
    model = fitted(penalty=criterion)
    tuning = model.tuning_
    assert tuning.criterion == criterion
    assert tuning.values.shape == tuning.margins.shape == (len(tuning.bandwidths), len(tuning.penalties))
    assert (np.diff(tuning.bandwidths) > 0).all()
    assert model.bandwidth_ == tuning.bandwidth in tuning.bandwidths
    assert tuning.penalties[0] <= tuning.penalty <= tuning.penalties[-1]
    assert model.score(X, Y) > 0.5


def test_auto_is_leave_one_out():
    assert np.array_equal(fitted().dual_coef_, fitted(penalty="loo").dual_coef_)


@pytest.mark.parametrize("criterion", ["gcv", "cp"])
def test_local_criteria_give_every_node_its_own_penalty(criterion):
    model = fitted(penalty=criterion, keep_nodes=True)
    assert model.penalty_.shape == (4,)
    assert len(np.unique(model.penalty_)) > 1
    assert model.tuning_.penalty == pytest.approx(np.exp(np.mean(np.log(model.penalty_))))
    alone = DacKernelRidge(
        n_nodes=4, bandwidth=model.bandwidth_, penalty=float(model.penalty_[2]), random_state=0, keep_nodes=True
    ).fit(X, Y)
    np.testing.assert_allclose(model.nodes_[2].coef, alone.nodes_[2].coef, rtol=1e-8)
    assert np.isfinite(model.predict(X[:3], return_std=True)[1]).all()


def test_the_choice_is_where_the_criterion_is_least_at_the_chosen_bandwidth():
    tuning = fitted().tuning_  # four nodes, all tried: no margin at the choice
    row = tuning.bandwidths.tolist().index(tuning.bandwidth)
    assert not tuning.margins[row].any()
    nearest = np.argmin(np.abs(np.log(tuning.penalties / tuning.penalty)))
    assert abs(nearest - np.argmin(tuning.values[row])) <= 1
    assert tuning.values[row].min() == tuning.values.min()


def test_a_given_penalty_leaves_the_bandwidth_to_choose_and_the_other_way_round():
    model = fitted(penalty=1e-3)
    assert model.penalty_ == 1e-3
    assert len(model.tuning_.bandwidths) > 3
    assert model.tuning_.penalties.tolist() == [1e-3]
    model = fitted(bandwidth=0.2)
    assert model.tuning_.bandwidths.tolist() == [0.2]
    assert len(model.tuning_.penalties) > 10
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    assert fitted(bandwidth="median").bandwidth_ == median_bandwidth(X, "gaussian", seed)


def test_the_rule_is_taken_and_the_bandwidth_searched_with_it():
    model = fitted(penalty="rule")
    assert model.penalty_ == penalty_rule("gaussian", 300, 2)
    assert len(model.tuning_.bandwidths) > 3


def test_nothing_to_choose_is_said():
    tuning = fitted(penalty=1e-3, bandwidth=0.2).tuning_
    assert (tuning.criterion, tuning.bandwidth, tuning.penalty) == ("given", 0.2, 1e-3)
    assert tuning.values.size == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_is_tuned(kernel):
    model = fitted(kernel=kernel)
    free = kernel in ("polynomial", "sobolev")
    assert (model.bandwidth_ is None) == free
    assert len(model.tuning_.bandwidths) == 1 if free else len(model.tuning_.bandwidths) > 3
    assert model.score(X, Y) > 0.1


def naive_loo(model, bandwidth, penalty, rows):
    """Leave-one-out errors of the average by refits."""
    y, errors = Y - Y.mean(), []
    for i in rows:
        total = 0.0
        for node in model.allocation_:
            rest = node[node != i]
            K = naive.gram("gaussian", X[rest], X[rest], bandwidth=bandwidth)
            coef = np.linalg.solve(K + penalty * len(node) * np.eye(len(rest)), y[rest])
            total += naive.gram("gaussian", X[[i]], X[rest], bandwidth=bandwidth)[0] @ coef
        errors.append(y[i] - total / len(model.allocation_))
    return np.array(errors)


@pytest.mark.parametrize("slices", [1, pytest.param(5, marks=pytest.mark.full)])
def test_what_tuning_tells_is_the_criterion_itself(slices, monkeypatch):
    """From the estimator down: all nodes tried, few rows judged, against refits and against predictions."""
    judged = np.arange(0, 300, 30)
    monkeypatch.setattr("skewridge.nodes.tuning.sample_rows", lambda y, size, seed: (judged, np.ones(10)))
    model = fitted(n_nodes=3, slices=slices, bandwidth=0.2)
    for p in (8, 12):
        errors = naive_loo(model, 0.2, model.tuning_.penalties[p], judged)
        assert model.tuning_.values[0, p] == pytest.approx(np.mean(errors**2), rel=1e-8)
    aimed = fitted(n_nodes=3, slices=slices, bandwidth=0.2, scoring=lambda y: np.arange(300.0))
    errors = naive_loo(aimed, 0.2, aimed.tuning_.penalties[9], judged)
    assert aimed.tuning_.values[0, 9] == pytest.approx(np.average(errors**2, weights=judged), rel=1e-8)
    column = int(np.argmin(aimed.tuning_.values[0]))
    errors = naive_loo(aimed, 0.2, aimed.tuning_.penalties[column], judged)
    assert aimed.tuning_.cost["mse"] == pytest.approx(np.mean(errors**2), rel=1e-8)
    assert aimed.tuning_.cost["bias"] == pytest.approx(np.mean(errors), rel=1e-6)
    own = fitted(n_nodes=3, slices=slices, bandwidth=0.2, penalty="dgcv")
    given = fitted(n_nodes=3, slices=slices, bandwidth=0.2, penalty=float(own.tuning_.penalties[8]))
    traces = []
    for node in given.allocation_:
        K = naive.gram("gaussian", X[node], X[node], bandwidth=0.2)
        traces.append(np.trace(K @ np.linalg.inv(K + given.penalty_ * len(node) * np.eye(len(node)))))
    mean_square = np.mean((Y - given.predict(X))[judged] ** 2)
    assert own.tuning_.values[0, 8] == pytest.approx(mean_square / (1 - np.mean(traces) / 300) ** 2, rel=1e-8)


@pytest.mark.parametrize("criterion", ["dgcv", "cv", "cp"])
def test_tuned_fits_have_the_same_bits_for_any_number_of_threads(criterion):
    coefs = {fitted(n_nodes=12, penalty=criterion, n_jobs=n).dual_coef_.tobytes() for n in (1, 2, 4)}
    assert len(coefs) == 1


def test_folds_count_by_their_rows_scores():
    """Only three rows count: some folds hold none of them."""
    model = fitted(penalty="cv", scoring=lambda y: (y > np.sort(y)[-4]).astype(float))
    assert np.isfinite(model.tuning_.values).all()


def test_a_scoring_that_no_judged_row_has_is_refused(monkeypatch):
    monkeypatch.setattr("skewridge.nodes.tuning.sample_rows", lambda y, size, seed: (np.arange(10), np.ones(10)))
    with pytest.raises(ValueError, match="scoring gives no weight to any of the rows"):
        fitted(scoring=lambda y: (np.arange(300) > 200).astype(float))


def test_a_choice_at_the_edge_is_told():
    """A response without noise or structure in x at a tiny scale: the flattest or the roughest fit is best."""
    x = np.linspace(0, 1, 60)[:, None]
    with pytest.warns(UserWarning, match=r"The chosen penalty .* lies at the edge"):
        model = DacKernelRidge(n_nodes=1, bandwidth=0.3).fit(x, np.exp(x[:, 0]))
    assert model.tuning_.at_edge == ("penalty",)


@pytest.mark.parametrize("scoring", ["balanced_mse", "sera", np.square])
def test_scoring_aims_the_criterion_and_its_cost_is_told(scoring):
    plain, aimed = fitted(), fitted(scoring=scoring)
    assert plain.tuning_.cost is None
    cost = aimed.tuning_.cost
    assert set(cost) == {"mse", "best_mse", "ratio", "bias"}
    assert cost["ratio"] == pytest.approx(cost["mse"] / cost["best_mse"])
    assert cost["ratio"] >= 1
    assert aimed.tuning_.scoring == (scoring if isinstance(scoring, str) else "square")
    assert not np.array_equal(plain.tuning_.values, aimed.tuning_.values)


def test_row_scores_are_the_metrics_weights():
    slices = slice_response(Y, "scott")
    np.testing.assert_allclose(row_scores("balanced_mse", Y), 1 / slices.counts[slices.labels])
    np.testing.assert_allclose(row_scores("sera", Y), relevance(Y, Y))
    assert row_scores("mse", Y).tolist() == [1.0] * 300
    assert row_scores(np.abs, Y).tolist() == np.abs(Y).tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "mae"}, "scoring must be one of 'mse', 'balanced_mse', 'sera'; got 'mae'"),
        ({"scoring": "sera", "penalty": 1.0, "bandwidth": 1.0}, "scoring='sera' has nothing to choose"),
        ({"scoring": "sera", "penalty": "rule", "bandwidth": "median"}, "scoring='sera' has nothing to choose"),
        ({"scoring": "sera", "penalty": "gcv"}, "cannot aim at scoring='sera'.*Use penalty 'loo' or 'cv'"),
        ({"scoring": "sera", "penalty": "dgcv"}, "cannot aim at scoring='sera'"),
        ({"scoring": lambda y: y[:3]}, r"got an array of shape \(3,\) for 300 rows"),
        ({"scoring": lambda y: -np.ones_like(y)}, "got values from -1 to -1"),
        ({"scoring": lambda y: np.zeros_like(y)}, "one finite, nonnegative weight a row"),
        ({"penalty": "bic"}, "penalty must be one of 'auto', 'rule', 'loo', 'dgcv', 'cv', 'gcv', 'cp'; got 'bic'"),
    ],
)
def test_unsupported_combinations_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        fitted(**settings)


def test_a_scoring_that_counts_all_rows_alike_costs_nothing():
    assert fitted(scoring=np.ones_like).tuning_.cost["ratio"] == pytest.approx(1.0)


def test_a_metric_is_not_a_scoring():
    from skewridge.metrics import sera

    with pytest.raises(TypeError, match=r"takes y and returns one finite.*Metrics and scorers are not taken"):
        fitted(scoring=sera)


def test_sera_without_extremes_is_refused_before_work(monkeypatch):
    monkeypatch.setattr("skewridge.estimators.dac.plan_fit", None)
    with pytest.raises(ValueError, match="no y_ref lies beyond"):
        DacKernelRidge(scoring="sera").fit(X, np.linspace(0, 1, 300))


def test_few_rows_and_constant_responses_fall_back_to_the_rule():
    few = DacKernelRidge().fit(X[:9], Y[:9])
    assert few.tuning_.criterion == "none"
    assert few.penalty_ == penalty_rule("gaussian", 9, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for settings in ({}, {"penalty": "gcv"}, {"scoring": np.abs}, {"scoring": "balanced_mse", "penalty": "cv"}):
            constant = DacKernelRidge(n_nodes=2, **settings).fit(X, np.full(300, 5.0))
            assert np.array_equal(constant.predict(X), np.full(300, 5.0))


def test_judged_rows_stand_for_all_and_favour_rare_ones():
    y = make_peaks(20_000, 2, random_state=0)[1]
    rows, weights = sample_rows(y, 1000, 0)
    assert len(np.unique(rows)) == len(rows)
    assert 700 < len(rows) <= 1000
    assert weights.sum() == pytest.approx(20_000)
    slices = slice_response(y)
    held = np.bincount(slices.labels[rows], minlength=len(slices))
    for j in slices.occupied:
        assert held[j] >= 1
        assert weights[slices.labels[rows] == j].sum() == pytest.approx(slices.counts[j])
    few, many = np.argmin(np.where(slices.counts, slices.counts, 10**9)), np.argmax(slices.counts)
    assert held[few] / slices.counts[few] > held[many] / slices.counts[many]
    assert sample_rows(y[:500], 1000, 0)[0].tolist() == list(range(500))


def test_folds_judge_rows_that_their_nodes_do_not_hold():
    settings = PartitionSettings(4, focus=0.5)
    trials = make_trials("cv", Y, deal_rows(slice_response(Y), 4, 0, settings), settings, 0)
    labels = slice_response(Y).labels
    for j in np.unique(labels):
        held = [int((labels[trial.rows] == j).sum()) for trial in trials]
        assert max(held) - min(held) <= 1
    judged = np.concatenate([trial.rows for trial in trials])
    assert sorted(judged.tolist()) == list(range(300))
    for trial in trials:
        held = np.concatenate([rows for rows, _ in trial.nodes])
        assert not set(held.tolist()) & set(trial.rows.tolist())
        assert len(set(held.tolist())) == 300 - len(trial.rows)
        assert trial.nodes[0][1] is not None


def test_parabola_finds_the_lowest_penalty_between_grid_points():
    penalties = np.logspace(-4, 0, 9)
    penalty, edge = lowest_penalty(penalties, (np.log10(penalties) + 2.2) ** 2, 1.0)
    assert penalty == pytest.approx(10**-2.2)
    assert not edge
    assert lowest_penalty(penalties, penalties, 1.0) == (1e-4, True)
    assert lowest_penalty(penalties, np.ones(9), 0.5) == (0.5, False)


def test_request_says_what_is_to_be_chosen():
    request = KernelSettings("gaussian", "auto", 3, "gcv", "mse")
    assert request.searches_bandwidth
    assert request.criterion in LOCAL
    assert not KernelSettings("sobolev", "auto", 3, 0.1, "mse").searches_bandwidth


@pytest.mark.parametrize("slices", [1, "scott"])
def test_automatic_choice_has_little_regret(slices):
    """Against the best of a grid of bandwidths and penalties chosen on the truth; docs/tuning.md has the full study."""
    regrets = []
    for seed in range(3):
        X, y, X_test, truth = make_peaks(1200, 2, random_state=seed, return_test=True)
        X_test, truth = X_test[::10], truth[::10]

        def error(X=X, y=y, X_test=X_test, truth=truth, seed=seed, **settings):
            model = DacKernelRidge(n_nodes=12, slices=slices, random_state=seed, n_jobs=-1, **settings).fit(X, y)
            return np.mean((model.predict(X_test) - truth) ** 2)

        grid = [error(bandwidth=b, penalty=p) for b in 0.5 * 2.0 ** np.arange(-4, 1) for p in np.logspace(-6, -1, 11)]
        regrets.append(error() / min(grid))
    assert np.median(regrets) < 1.3
    assert max(regrets) < 2
