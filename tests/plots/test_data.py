import json

import numpy as np
import pytest

from skewridge import AdaptiveKernelRidge, DacKernelRidge, plan
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse, slice_mse
from skewridge.plots import data as f
from skewridge.response.slices import slice_response


@pytest.fixture(scope="module")
def rows():
    return make_peaks(400, 2, random_state=0)


@pytest.fixture(scope="module")
def dac(rows):
    return DacKernelRidge(12, random_state=0).fit(*rows)


@pytest.fixture(scope="module")
def adaptive(rows):
    return AdaptiveKernelRidge(random_state=0).fit(*rows)


def test_everything_is_plain_data(rows, dac, adaptive):
    X, y = rows
    line = X[:, :1]
    nodes = DacKernelRidge(3, bandwidth=0.1, penalty=1e-3, keep_nodes=True).fit(line, y)
    made = [
        f.slice_bars(dac.slices_),
        f.node_curves(nodes, line, truth=y),
        f.tuning_curves(dac.tuning_),
        f.tuning_curves(adaptive.tuning_),
        f.search_points(adaptive.tuning_),
        f.slice_errors(y, dac.predict(X)),
        f.prediction_points(y, dac.predict(X)),
        f.importance_bars(adaptive.feature_importances_),
        f.cost_bars(plan(y, X)),
    ]
    for data in made:
        assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_slices_without_ends_are_drawn_in():
    assert f.finite_edges(np.array([-np.inf, 1.0, 3.0, np.inf])).tolist() == [-1.0, 1.0, 3.0, 5.0]
    assert f.finite_edges(np.array([-np.inf, 2.0, np.inf])).tolist() == [1.0, 2.0, 3.0]
    assert f.finite_edges(np.array([-np.inf, np.inf])).tolist() == [0.0, 1.0]
    assert f.finite_edges(np.array([0.0, 0.5])).tolist() == [0.0, 0.5]


def test_one_slice_is_not_rare():
    assert f.slice_bars(slice_response(np.ones(5)))["rare"] == [False]
    assert f.slice_errors(np.ones(5), np.zeros(5))["rare"] == [False]


def test_errors_are_those_of_the_metrics(rows, dac):
    X, y = rows
    prediction, y_ref = dac.predict(X), y[:300]
    data = f.slice_errors(y, prediction, y_ref)
    expected = slice_mse(y, prediction, y_ref=y_ref)
    found = np.array([np.nan if e is None else e for e in data["rmse"]])
    assert np.allclose(found**2, expected, equal_nan=True)
    assert sum(data["rows"]) == 400
    assert data["overall"] ** 2 == pytest.approx(np.mean((y - prediction) ** 2))
    points = f.prediction_points(y, prediction, y_ref)
    assert points["rare_rmse"] ** 2 == pytest.approx(rare_mse(y, prediction, y_ref=y_ref))
    assert points["observed"] == y.tolist()


def test_large_scatters_keep_every_rare_row():
    y = np.r_[np.random.default_rng(0).random(20_000), np.full(7, 50.0)]
    points = f.prediction_points(y, y, slices=10)
    assert sum(points["rare"]) == points["n_rare"] == 7
    assert 4000 <= len(points["rare"]) - 7 <= f.MOST_POINTS
    assert points["n_rows"] == 20_007


def test_no_rare_row_has_no_rare_error():
    points = f.prediction_points([0.1, 0.2], [0.1, 0.2], y_ref=np.r_[np.zeros(99), 9.0], slices=3)
    assert points["rare_rmse"] is None
    assert points["n_rare"] == 0


def test_tuning_of_centres_is_one_curve(adaptive):
    data = f.tuning_curves(adaptive.tuning_)
    (curve,) = data["curves"]
    assert curve["chosen"]
    assert curve["values"] == adaptive.tuning_.values.tolist()
    assert (data["along"], data["choice"]) == ("penalty", adaptive.penalty_)


def test_tuning_marks_the_chosen_bandwidth(dac):
    data = f.tuning_curves(dac.tuning_)
    chosen = [curve["name"] for curve in data["curves"] if curve["chosen"]]
    assert chosen == [f"{dac.bandwidth_:.3g}"]


def test_the_search_holds_its_choice(adaptive):
    data = f.search_points(adaptive.tuning_)
    assert len(data["risk"]) == len(adaptive.tuning_.tried)
    assert data["chosen"]["n_centers"] == adaptive.tuning_.chosen["n_centers"]


def test_importances_are_sorted_and_cut():
    values = np.arange(30.0)
    data = f.importance_bars(values)
    assert data["names"][0] == "x29"
    assert len(data["values"]) == f.MOST_FEATURES
    assert data["n_features"] == 30


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: f.search_points(d.tuning_), "There is no search to draw"),
        (lambda d: f.importance_bars([0.5, 0.5], ["a"]), "one name a feature: expected 2, got 1"),
        (lambda d: f.node_curves(d, np.zeros((3, 2))), r"X must have shape \(n, 1\); got \(3, 2\)"),
        (lambda d: f.slice_errors([1.0, 2.0], [1.0]), "expected 2, got 1"),
        (lambda d: f.prediction_points([1.0, np.nan], [1.0, 1.0]), "y_true must hold finite numbers"),
    ],
)
def test_what_cannot_be_shown_is_refused(dac, call, message):
    with pytest.raises(ValueError, match=message):
        call(dac)
