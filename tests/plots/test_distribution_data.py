import json

import numpy as np
import pandas as pd
import pytest

from skewridge.metrics import pit, reliability
from skewridge.plots import distribution_data as f
from tests.forecaster import Forecaster

LEVELS = np.arange(1, 100) / 100


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).uniform(size=(3000, 3))
    return X, Forecaster().draw(X)


def test_everything_is_plain_data(rows):
    X, y = rows
    model = Forecaster()
    made = [
        f.reliability_points(y, model.predict_exceedance(X, 3.0), 3.0),
        f.pit_bars(y, model.predict_quantiles(X, LEVELS), LEVELS),
        f.quantile_fan(model, X, 1, y=y),
        f.exceedance_grid(model, X, threshold=3.0),
        f.return_levels(model, X, y),
        f.return_levels(model, X, thresholds=[1.0, 9.0], band=([0.5, 6.0], [2.0, 12.0])),
    ]
    for data in made:
        assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_reliability_is_that_of_the_metric(rows):
    X, y = rows
    stated = Forecaster().predict_exceedance(X, 3.0)
    points, found = f.reliability_points(y, stated, 3.0), reliability(y, stated, 3.0)
    assert points["observed"] == found.observed.tolist()
    assert points["expected"] == pytest.approx(stated.sum())
    assert points["counted"] == pytest.approx((y > 3.0).sum())
    inside = np.array([points["low"], points["observed"], points["high"]])
    assert np.mean((inside[0] <= inside[1]) & (inside[1] <= inside[2])) >= 0.8


def test_bars_of_pit_count_rows_as_often_as_they_weigh(rows):
    X, y = rows
    q, weights = Forecaster().predict_quantiles(X, LEVELS), np.arange(len(y)) % 3
    bars = f.pit_bars(y, q, LEVELS, bins=10, sample_weight=weights)
    expected = np.histogram(np.repeat(pit(y, q, LEVELS), weights), 10, (0, 1))[0]
    assert np.allclose(np.array(bars["heights"]) * weights.sum() / 10, expected)
    assert np.all(np.array(bars["heights"]) > bars["low"] - 0.1)
    assert np.all(np.array(bars["heights"]) < bars["high"] + 0.1)


def test_a_fan_has_the_models_quantiles_at_the_medians(rows):
    X, _ = rows
    fan = f.quantile_fan(Forecaster(), X, 1, levels=(0.9, 0.1), steps=5)
    assert fan["levels"] == [0.1, 0.9]
    asked = np.tile(np.median(X, axis=0), (5, 1))
    asked[:, 1] = fan["x"]
    assert np.allclose(np.array(fan["quantiles"]).T, Forecaster().predict_quantiles(asked, [0.1, 0.9]))
    assert (fan["x"][0], fan["x"][-1]) == (X[:, 1].min(), X[:, 1].max())


def test_frames_are_asked_by_name_and_categories_are_the_most_frequent(rows):
    X, _ = rows
    frame = pd.DataFrame(X[:, :2], columns=["east", "north"]).assign(kind=["flat", "house", "house"] * 1000)
    asked = f._typical_rows(frame, {"north": np.array([0.0, 1.0])})
    assert asked["kind"].tolist() == ["house", "house"]
    assert asked["north"].tolist() == [0.0, 1.0]
    assert np.allclose(asked["east"], frame["east"].median())
    by_name, by_place = (f.quantile_fan(Forecaster(), frame, which) for which in ("north", 1))
    assert by_name["quantiles"] == by_place["quantiles"] == f.quantile_fan(Forecaster(), X[:, :2], 1)["quantiles"]
    assert by_name["feature"] == "north"
    shown = f.exceedance_grid(Forecaster(), frame, ("north", "east"), threshold=2.0, steps=3)
    assert shown["features"] == ["north", "east"]


def test_a_map_has_the_second_feature_upwards(rows):
    X, _ = rows
    shown = f.exceedance_grid(Forecaster(), X, (0, 1), threshold=3.0, steps=4)
    point = np.array([[shown["x"][1], shown["y"][2], np.median(X[:, 2])]])
    assert shown["probability"][2][1] == pytest.approx(Forecaster().predict_exceedance(point, 3.0)[0])


def test_return_periods_are_one_over_the_mean_exceedance(rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(f, "BLOCK", 700)
    told = f.return_levels(Forecaster(), X, y, thresholds=[1.0, 4.0], rows_per_period=12)
    rate = Forecaster().predict_exceedance(X, np.array([1.0, 4.0])).mean(axis=0)
    assert told["period"] == pytest.approx((1 / (12 * rate)).tolist())
    assert told["rows"]["level"][0] == y.max()
    assert told["rows"]["period"][0] == pytest.approx(3001 / 12)


def test_levels_that_are_never_exceeded_have_no_period(rows):
    X, _ = rows
    told = f.return_levels(Forecaster(), X, thresholds=[1.0, 1e300], band=([0.5, 1.0], [2.0, 1e301]))
    assert told["level"] == [1.0]
    assert told["band"] == [[0.5], [2.0]]


def test_of_several_outputs_the_first_is_shown(rows):
    X, _ = rows
    one, two = Forecaster(), Forecaster(2)
    for make in (f.quantile_fan, lambda model, X: f.exceedance_grid(model, X, threshold=2.0), f.return_levels):
        assert make(one, X) == make(two, X)


def test_bad_input_is_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"feature must be a column of X, by name or place; got 7\. There are 0, 1, 2"):
        f.quantile_fan(Forecaster(), X, 7)
    with pytest.raises(ValueError, match="features must be two different columns"):
        f.exceedance_grid(Forecaster(), X, (1, 1), threshold=2.0)
    with pytest.raises(ValueError, match="threshold must be a number"):
        f.exceedance_grid(Forecaster(), X, threshold=np.nan)
    with pytest.raises(ValueError, match="band needs thresholds"):
        f.return_levels(Forecaster(), X, band=([1.0], [2.0]))
    with pytest.raises(ValueError, match="rows_per_period must be a number"):
        f.return_levels(Forecaster(), X, rows_per_period=0)
    with pytest.raises(ValueError, match="bins must be an integer >= 2"):
        f.pit_bars(y, np.tile(LEVELS, (len(y), 1)), LEVELS, bins=1)


def test_a_tail_without_end_needs_thresholds(rows):
    class Endless(Forecaster):
        def predict_quantiles(self, X, levels):
            return np.where(np.asarray(levels) > 0.99, np.inf, super().predict_quantiles(X, levels))

    with pytest.raises(ValueError, match=r"0.999 quantile is not finite.*Pass thresholds"):
        f.return_levels(Endless(), rows[0])
