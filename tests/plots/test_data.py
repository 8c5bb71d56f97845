import json

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from skewridge import AdaptiveKernelRidge, DacKernelRidge, plan
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse, slice_mse
from skewridge.plots import (
    CostDisplay,
    ImportanceDisplay,
    NodesDisplay,
    PredictionDisplay,
    SearchDisplay,
    SliceErrorDisplay,
    SlicesDisplay,
    TuningDisplay,
)
from skewridge.plots.displays import MOST_FEATURES, MOST_POINTS, finite_edges, importance_bars


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


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
    shown = [
        SlicesDisplay.from_estimator(dac),
        NodesDisplay.from_estimator(nodes, line, truth=y, rows=(line, y)),
        TuningDisplay.from_estimator(dac),
        TuningDisplay.from_estimator(adaptive),
        SearchDisplay.from_estimator(adaptive),
        SliceErrorDisplay.from_estimator(dac, X, y),
        PredictionDisplay.from_estimator(dac, X, y),
        ImportanceDisplay.from_estimator(adaptive),
        CostDisplay.from_plan(plan(y, X)),
    ]
    for display in shown:
        assert json.loads(json.dumps(display.data, allow_nan=False)) == display.data


def test_slices_without_ends_are_drawn_in():
    assert finite_edges(np.array([-np.inf, 1.0, 3.0, np.inf])).tolist() == [-1.0, 1.0, 3.0, 5.0]
    assert finite_edges(np.array([-np.inf, 2.0, np.inf])).tolist() == [1.0, 2.0, 3.0]
    assert finite_edges(np.array([-np.inf, np.inf])).tolist() == [0.0, 1.0]
    assert finite_edges(np.array([0.0, 0.5])).tolist() == [0.0, 0.5]


def test_one_slice_is_not_rare():
    assert SlicesDisplay.from_response(np.ones(5)).data["rare"] == [False]
    assert SliceErrorDisplay.from_predictions(np.ones(5), np.zeros(5)).data["rare"] == [False]


def test_errors_are_those_of_the_metrics(rows, dac):
    X, y = rows
    prediction, y_ref = dac.predict(X), y[:300]
    data = SliceErrorDisplay.from_predictions(y, prediction, y_ref=y_ref).data
    expected = slice_mse(y, prediction, y_ref=y_ref)
    found = np.array([np.nan if e is None else e for e in data["rmse"]])
    assert np.allclose(found**2, expected, equal_nan=True)
    assert sum(data["rows"]) == 400
    assert data["overall"] ** 2 == pytest.approx(np.mean((y - prediction) ** 2))
    points = PredictionDisplay.from_predictions(y, prediction, y_ref=y_ref).data
    assert points["rare_rmse"] ** 2 == pytest.approx(rare_mse(y, prediction, y_ref=y_ref))
    assert points["observed"] == y.tolist()


def test_large_scatters_keep_every_rare_row():
    y = np.r_[np.random.default_rng(0).random(20_000), np.full(7, 50.0)]
    points = PredictionDisplay.from_predictions(y, y, slices=10).data
    assert sum(points["rare"]) == points["n_rare"] == 7
    assert 4000 <= len(points["rare"]) - 7 <= MOST_POINTS
    assert points["n_rows"] == 20_007


def test_no_rare_row_has_no_rare_error():
    points = PredictionDisplay.from_predictions([0.1, 0.2], [0.1, 0.2], y_ref=np.r_[np.zeros(99), 9.0], slices=3).data
    assert points["rare_rmse"] is None
    assert points["n_rare"] == 0


def test_tuning_of_centres_is_one_curve(adaptive):
    data = TuningDisplay.from_estimator(adaptive).data
    (curve,) = data["curves"]
    assert curve["chosen"]
    assert curve["values"] == adaptive.tuning_.values.tolist()
    assert (data["along"], data["choice"]) == ("penalty", adaptive.penalty_)


def test_tuning_marks_the_chosen_bandwidth(dac):
    data = TuningDisplay.from_estimator(dac).data
    chosen = [curve["name"] for curve in data["curves"] if curve["chosen"]]
    assert chosen == [f"{dac.bandwidth_:.3g}"]


def test_the_search_holds_its_choice(adaptive):
    data = SearchDisplay.from_estimator(adaptive).data
    assert len(data["risk"]) == len(adaptive.tuning_.tried)
    assert data["chosen"]["n_centers"] == adaptive.tuning_.chosen["n_centers"]


def test_importances_are_sorted_and_cut():
    values = np.arange(30.0)
    data = importance_bars(values)
    assert data["names"][0] == "x29"
    assert len(data["values"]) == MOST_FEATURES
    assert data["n_features"] == 30


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: SearchDisplay.from_estimator(d), "There is no search to draw"),
        (lambda d: importance_bars([0.5, 0.5], ["a"]), "one name a feature: expected 2, got 1"),
        (lambda d: NodesDisplay.from_estimator(d, np.zeros((3, 2))), r"X must have shape \(n, 1\); got \(3, 2\)"),
        (lambda d: SliceErrorDisplay.from_predictions([1.0, 2.0], [1.0]), "expected 2, got 1"),
        (lambda d: PredictionDisplay.from_predictions([1.0, np.nan], [1.0, 1.0]), "y_true must hold finite numbers"),
    ],
)
def test_what_cannot_be_shown_is_refused(dac, call, message):
    with pytest.raises(ValueError, match=message):
        call(dac)
