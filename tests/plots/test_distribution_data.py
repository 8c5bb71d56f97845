import json

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from skewridge.metrics import pit, reliability
from skewridge.plots import (
    ExceedanceMapDisplay,
    PITDisplay,
    QuantileFanDisplay,
    ReliabilityDisplay,
    ReturnLevelDisplay,
    distributions,
)
from tests.forecaster import Forecaster

LEVELS = np.arange(1, 100) / 100


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).uniform(size=(3000, 3))
    return X, Forecaster().draw(X)


def test_everything_is_plain_data(rows):
    X, y = rows
    model = Forecaster()
    shown = [
        ReliabilityDisplay.from_estimator(model, X, y, threshold=3.0),
        PITDisplay.from_estimator(model, X, y),
        QuantileFanDisplay.from_estimator(model, X, 1, y=y),
        ExceedanceMapDisplay.from_estimator(model, X, threshold=3.0),
        ReturnLevelDisplay.from_estimator(model, X, y),
        ReturnLevelDisplay.from_estimator(model, X, thresholds=[1.0, 9.0], band=([0.5, 6.0], [2.0, 12.0])),
    ]
    for display in shown:
        assert json.loads(json.dumps(display.data, allow_nan=False)) == display.data


def test_reliability_is_that_of_the_metric(rows):
    X, y = rows
    stated = Forecaster().predict_exceedance(X, 3.0)
    points, found = ReliabilityDisplay.from_predictions(y, stated, threshold=3.0).data, reliability(y, stated, 3.0)
    assert points["observed"] == found.observed.tolist()
    assert points["expected"] == pytest.approx(stated.sum())
    assert points["counted"] == pytest.approx((y > 3.0).sum())
    inside = np.array([points["low"], points["observed"], points["high"]])
    assert np.mean((inside[0] <= inside[1]) & (inside[1] <= inside[2])) >= 0.8


def test_bars_of_pit_count_rows_as_often_as_they_weigh(rows):
    X, y = rows
    q, weights = Forecaster().predict_quantiles(X, LEVELS), np.arange(len(y)) % 3
    bars = PITDisplay.from_predictions(y, q, LEVELS, bins=10, sample_weight=weights).data
    expected = np.histogram(np.repeat(pit(y, q, LEVELS), weights), 10, (0, 1))[0]
    assert np.allclose(np.array(bars["heights"]) * weights.sum() / 10, expected)
    assert np.all(np.array(bars["heights"]) > bars["low"] - 0.1)
    assert np.all(np.array(bars["heights"]) < bars["high"] + 0.1)


def test_a_fan_has_the_models_quantiles_at_the_medians(rows):
    X, _ = rows
    fan = QuantileFanDisplay.from_estimator(Forecaster(), X, 1, levels=(0.9, 0.1)).data
    assert fan["levels"] == [0.1, 0.9]
    asked = np.tile(np.median(X, axis=0), (len(fan["x"]), 1))
    asked[:, 1] = fan["x"]
    assert np.allclose(np.array(fan["quantiles"]).T, Forecaster().predict_quantiles(asked, [0.1, 0.9]))
    assert (fan["x"][0], fan["x"][-1]) == (X[:, 1].min(), X[:, 1].max())


def test_frames_are_asked_by_name_and_categories_are_the_most_frequent(rows):
    X, _ = rows
    frame = pd.DataFrame(X[:, :2], columns=["east", "north"]).assign(kind=["flat", "house", "house"] * 1000)
    asked = []

    class Asked(Forecaster):
        def predict_quantiles(self, X, levels):
            asked.append(X)
            return super().predict_quantiles(X, levels)

    fan = QuantileFanDisplay.from_estimator(Asked(), frame, "north").data
    assert list(asked[0].columns) == ["east", "north", "kind"]
    assert set(asked[0]["kind"]) == {"house"}
    assert asked[0]["north"].tolist() == fan["x"]
    assert np.allclose(asked[0]["east"], frame["east"].median())
    by_name, by_place = (QuantileFanDisplay.from_estimator(Forecaster(), frame, which).data for which in ("north", 1))
    of_array = QuantileFanDisplay.from_estimator(Forecaster(), X[:, :2], 1).data
    assert by_name["quantiles"] == by_place["quantiles"] == of_array["quantiles"]
    assert by_name["feature"] == "north"
    shown = ExceedanceMapDisplay.from_estimator(Forecaster(), frame, ("north", "east"), threshold=2.0).data
    assert shown["features"] == ["north", "east"]


def test_a_map_has_the_second_feature_upwards(rows):
    X, _ = rows
    shown = ExceedanceMapDisplay.from_estimator(Forecaster(), X, (0, 1), threshold=3.0).data
    point = np.array([[shown["x"][1], shown["y"][2], np.median(X[:, 2])]])
    assert shown["probability"][2][1] == pytest.approx(Forecaster().predict_exceedance(point, 3.0)[0])


def test_return_periods_are_one_over_the_mean_exceedance(rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(distributions, "BLOCK", 700)
    shown = ReturnLevelDisplay.from_estimator(Forecaster(), X, y, thresholds=[1.0, 4.0], rows_per_period=12).data
    rate = Forecaster().predict_exceedance(X, np.array([1.0, 4.0])).mean(axis=0)
    assert shown["period"] == pytest.approx((1 / (12 * rate)).tolist())
    assert shown["rows"]["level"][0] == y.max()
    assert shown["rows"]["period"][0] == pytest.approx(3001 / 12)


def test_levels_that_are_never_exceeded_have_no_period(rows):
    X, _ = rows
    band = ([0.5, 1.0], [2.0, 1e301])
    shown = ReturnLevelDisplay.from_estimator(Forecaster(), X, thresholds=[1.0, 1e300], band=band).data
    assert shown["level"] == [1.0]
    assert shown["band"] == [[0.5], [2.0]]


def test_bad_input_is_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"feature must be a column of X, by name or place; got 7\. There are 0, 1, 2"):
        QuantileFanDisplay.from_estimator(Forecaster(), X, 7)
    with pytest.raises(ValueError, match="features must be two different columns"):
        ExceedanceMapDisplay.from_estimator(Forecaster(), X, (1, 1), threshold=2.0)
    with pytest.raises(ValueError, match="threshold must be a number"):
        ExceedanceMapDisplay.from_estimator(Forecaster(), X, threshold=np.nan)
    with pytest.raises(ValueError, match="band needs thresholds"):
        ReturnLevelDisplay.from_estimator(Forecaster(), X, band=([1.0], [2.0]))
    with pytest.raises(ValueError, match="rows_per_period must be a number"):
        ReturnLevelDisplay.from_estimator(Forecaster(), X, rows_per_period=0)
    with pytest.raises(ValueError, match="bins must be an integer >= 2"):
        PITDisplay.from_predictions(y, np.tile(LEVELS, (len(y), 1)), LEVELS, bins=1)


def test_a_tail_without_end_needs_thresholds(rows):
    class Endless(Forecaster):
        def predict_quantiles(self, X, levels):
            return np.where(np.asarray(levels) > 0.99, np.inf, super().predict_quantiles(X, levels))

    with pytest.raises(ValueError, match=r"0.999 quantile is not finite.*Pass thresholds"):
        ReturnLevelDisplay.from_estimator(Endless(), rows[0])
