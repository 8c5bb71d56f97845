"""What drives a model, against models whose drivers are known."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge import AdaptiveKernelRidge, make_table_model
from skewridge.advice import explain as module
from skewridge.advice.explain import dependence_in_words, draw_rows, drivers


class Known:
    """A model that predicts a function of its rows, and remembers how many it was asked for."""

    def __init__(self, function):
        self.function, self.n_rows = function, 0

    def predict(self, X):
        self.n_rows += len(X)
        return self.function(X)


def rows(n=3000, d=4, seed=0):
    return np.random.default_rng(seed).random((n, d))


def by_name(told):
    return {column["name"]: column for column in told["columns"]}


def test_importances_of_a_linear_model_are_twice_its_squared_slopes():
    X = rows()
    model = Known(lambda X: X @ np.array([1.0, 3.0, 0.0, 2.0]))
    told = drivers(model, X, model.predict(X) + 0.0)
    assert [column["name"] for column in told["columns"]] == ["x1", "x3", "x0", "x2"]
    shares = [column["share"] for column in told["columns"]]
    assert shares == pytest.approx([9 / 14, 4 / 14, 1 / 14, 0.0], abs=0.04)
    assert [column["idle"] for column in told["columns"]] == [False, False, False, True]
    assert [column["sure"] for column in told["columns"]] == [True, True, True, False]
    assert by_name(told)["x1"]["rise"] == pytest.approx(np.sqrt(2 * 9 / 12), rel=0.1)  # there is no error but this one
    assert told["rmse"] == 0.0


def test_a_column_that_matters_where_y_is_rare_is_told_there():
    X = rows(4000, 3)
    model = Known(lambda X: X[:, 0] + np.where(X[:, 1] > 0.985, 30.0 * X[:, 2], 0.0))
    told = by_name(drivers(model, X, model.predict(X)))
    assert told["x2"]["rare_share"] > 3 * told["x0"]["rare_share"]
    assert told["x1"]["rare_share"] > told["x2"]["rare_share"]


def test_partial_dependence_of_a_sum_is_the_columns_own_part():
    X = rows()
    model = Known(lambda X: 5 * np.sin(3 * X[:, 0]) + X[:, 1] ** 2)
    told = drivers(model, X, model.predict(X))
    first, second = told["partial"][:2]
    assert (first["name"], first["kind"], second["name"]) == ("x0", "number", "x1")
    own = 5 * np.sin(3 * np.array(first["values"]))
    assert np.ptp(np.array(first["mean"]) - own) < 1e-12  # up to a constant
    assert np.diff(first["values"]).min() > 0
    assert first["values"][0] > 0.001
    assert first["deciles"] == pytest.approx(np.arange(1, 10) / 10, abs=0.03)
    assert len(told["partial"]) == 4


def test_the_first_pair_is_told_over_a_grid():
    X = rows()
    model = Known(lambda X: 4 * X[:, 2] + 3 * X[:, 2] * X[:, 0])
    pair = drivers(model, X, model.predict(X))["pair"]
    assert pair["names"] == ["x2", "x0"]
    across, down = (np.array(axis["values"]) for axis in pair["axes"])
    assert np.array(pair["mean"]) == pytest.approx(4 * across + 3 * across * down[:, None])


def homes(n=600, seed=0):
    """Prices by town, rooms and date of sale; lots with a few absurd sizes that say nothing; ids; gaps."""
    random = np.random.default_rng(seed)
    town = random.choice(["Oslo", "Bergen", "Moss", "Voss"], n, p=[0.4, 0.3, 0.2, 0.1])
    rooms = random.integers(1, 7, n).astype(float)
    lot = random.lognormal(6, 0.5, n)
    lot[:: n // 4] = random.lognormal(14, 1.0, len(lot[:: n // 4]))
    sold = pd.to_datetime("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n), unit="D")
    worth = pd.Series(town).map({"Oslo": 1.0, "Bergen": 0.6, "Moss": 0.3, "Voss": 0.1}).to_numpy()
    price = 1e5 * np.exp(worth + 0.3 * rooms) * random.lognormal(0, 0.1, n)
    table = pd.DataFrame({"lot": lot, "town": town, "sold": sold.strftime("%d/%m/%Y"), "rooms": rooms})
    table.loc[random.random(n) < 0.2, "rooms"] = np.nan
    table.insert(0, "id", [f"home {i}" for i in range(n)])
    return table, price


@pytest.fixture(scope="module")
def model():
    table, price = homes()
    return make_table_model(AdaptiveKernelRidge(n_centers=60, random_state=0, n_jobs=1)).fit(table, price)


def test_columns_of_a_raw_table_are_counted_as_they_came(model):
    table, price = homes(400, seed=1)
    told = drivers(model, table, price)
    named = by_name(told)
    assert set(named) == {"lot", "town", "sold", "rooms"}  # the id was left out
    assert [column["name"] for column in told["columns"]][:2] == ["rooms", "town"]
    assert named["lot"]["share"] < 0.1  # absurd sizes that say nothing do not make a driver
    curves = {curve["name"]: curve for curve in told["partial"]}
    town, rooms, sold = curves["town"], curves["rooms"], curves["sold"]
    assert town["labels"] == ["Oslo", "Bergen", "Moss", "Voss"]
    assert np.diff(town["mean"]).max() < 0
    assert town["shares"] == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.08)
    assert rooms["values"] == [1, 2, 3, 4, 5, 6]
    assert np.diff(rooms["mean"]).min() > 0
    assert rooms["gaps"]["share"] == pytest.approx(0.2, abs=0.05)
    assert rooms["mean"][0] < rooms["gaps"]["mean"] < rooms["mean"][-1]
    assert sold["kind"] == "date"
    assert sold["labels"] == sorted(sold["labels"])
    assert sold["labels"][0].startswith("2020-01-")
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_the_same_seed_gives_the_same_figures_and_frames_do_not_matter(model):
    table, price = homes(300, seed=2)
    told = drivers(model, table, price)
    assert drivers(model, table, price) == told
    assert drivers(model, table, price, seed=1) != told
    polars = pytest.importorskip("polars")
    assert drivers(model, polars.from_pandas(table), price) == told


@pytest.mark.parametrize(("n", "d"), [(20_000, 3), (20_000, 300)])
def test_the_work_is_bounded_whatever_the_table(n, d):
    X = rows(n, d)
    model = Known(lambda X: X[:, 0])
    y = model.predict(X)
    model.n_rows = 0
    told = drivers(model, X, y)
    assert model.n_rows <= module.MOST_PREDICTIONS + 20_000
    assert told["n_rows"] <= module.MOST_ROWS
    assert told["columns"][0]["name"] == "x0"


def test_a_constant_response_and_one_column_are_enough():
    X = rows(30, 1)
    told = drivers(Known(lambda X: np.ones(len(X))), X, np.ones(30))
    assert told["columns"][0] == {
        **dict.fromkeys(("rare_share", "rare_rise")),
        "name": "x0",
        "share": 0.0,
        "rise": 0.0,
        "sure": False,
        "idle": True,
    }
    assert told["pair"] is None


def test_rows_in_another_order_than_their_response_are_refused():
    frame = pd.DataFrame(rows(5, 2))
    with pytest.raises(ValueError, match="index"):
        drivers(Known(lambda X: np.ones(len(X))), frame, pd.Series(np.ones(5), index=[4, 3, 2, 1, 0]))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 20))
def test_drawn_rows_are_half_rare_where_there_are_enough(n_rare, n_common, most):
    rare = np.random.default_rng(1).permutation(np.r_[np.ones(n_rare, bool), np.zeros(n_common, bool)])
    drawn = draw_rows(rare, most, np.random.default_rng(0))
    rows = np.sort(np.concatenate(drawn))
    assert len(rows) == min(most, n_rare + n_common)
    assert (np.diff(rows) > 0).all()
    assert rare[rows].sum() >= min(n_rare, most // 2)
    assert rare[drawn[0]].all()
    assert not rare[drawn[1]].any()


def curve_of(means, kind="number", labels=None):
    values = list(range(len(means)))
    return {"name": "x", "kind": kind, "values": values, "labels": labels, "mean": means}


def test_curves_are_told_by_their_shape():
    assert dependence_in_words("y", curve_of([5, 3, 1])) == "y falls from 5 to 1 as x goes from 0 to 2"
    told = dependence_in_words("y", curve_of([1, 9, 2]))
    assert told == "y goes up and down along x: highest, 9, at 1, and lowest, 1, at 0"
    assert "y hardly changes along x" in dependence_in_words("y", curve_of([1.0, 1.01]), rmse=1.0)
    days = curve_of([1, 2], "date", ["2020-01-01", "2021-01-01"])
    assert dependence_in_words("y", days).endswith("as x goes from 2020-01-01 to 2021-01-01")
    towns = curve_of([1, 2], "level", ["Oslo", "Voss"])
    assert dependence_in_words("y", towns) == "y is highest for x 'Voss', 2, and lowest for 'Oslo', 1"
