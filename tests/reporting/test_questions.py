"""The four questions of a report: figures against those computed by hand, and words where they belong."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from skewridge import AdaptiveKernelRidge, DacKernelRidge, make_table_model
from skewridge.advice.explain import learning_curve
from skewridge.metrics import rare_region
from skewridge.reporting import collect, render
from tests import browser
from tests.advice.test_explain import homes


class Exponential:
    """The distribution of every row: P(y > t) = exp(-t)."""

    def __init__(self, n):
        self.n = n

    def sf(self, thresholds):
        return np.tile(np.exp(-np.maximum(0.0, thresholds)), (self.n, 1))


class Forecaster:
    """A model that predicts its first column, with intervals of one width and errors that it knows."""

    calibration_ = type("Calibration", (), {"distribution": type("Distribution", (), {"high": None})})()

    def __init__(self, half=1.645):
        self.half = half

    def predict(self, X):
        return X.iloc[:, 0].to_numpy()

    def predict_interval(self, X, coverage):
        return self.predict(X) - self.half, self.predict(X) + self.half

    def predict_distribution(self, X):
        return Exponential(len(X))


def noisy(n=4000, seed=0):
    """Rows whose noise is three times as large where the second column is above 0.8."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"mean": random.normal(size=n), "loud": random.random(n), "town": random.choice(["a", "b"], n)})
    return X, X["mean"] + random.normal(size=n) * np.where(X["loud"] > 0.8, 3.0, 1.0)


@pytest.fixture(scope="module")
def told():
    return collect(Forecaster(), *noisy())


def test_bands_tell_rows_errors_and_how_often_intervals_hold(told):
    X, y = noisy()
    predicted = X["mean"].to_numpy()
    order = np.argsort(predicted)
    for bands, values in ((told["where"]["by_prediction"], predicted), (told["where"]["by_response"], y.to_numpy())):
        assert len(bands) == 10
        assert sum(band["n_rows"] for band in bands) == len(y)
        for band in bands:
            rows = (values >= band["low"]) & (values <= band["high"])
            error = predicted[rows] - y[rows]
            assert band["n_rows"] == rows.sum()
            assert band["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
            assert band["bias"] == pytest.approx(error.mean())
            assert band["coverage"] == pytest.approx(np.mean(np.abs(error) <= 1.645))
            assert band["width"] == pytest.approx(3.29)
    assert told["where"]["by_prediction"][0]["low"] == predicted[order[0]]
    assert told["where"]["rare"]["n_rows"] == rare_region(y, y, slices=told["response"]["slicing"]["rule"]).sum()


def test_a_part_of_a_column_where_intervals_do_not_hold_is_warned_of(told):
    columns = {column["name"]: column["bands"] for column in told["where"]["columns"]}
    assert [band["off"] for band in columns["loud"]] == [False, False, False, False, True]
    assert columns["loud"][-1]["coverage"] == pytest.approx(0.42, abs=0.05)
    assert [band["level"] for band in columns["town"]] == ["b", "a"] or columns["town"][0]["level"] == "a"
    assert re.search(r"loud 0\.8\d* to 1: 4\d% of 800 rows", told["cautions"]["coverage"])
    page = render(told)
    assert "too narrow or too wide in places" in page
    assert "Do intervals hold in every part of every column? Off in " in page
    X, y = noisy()
    quiet = (X["loud"] < 0.8).to_numpy()
    calm = collect(Forecaster(), X[quiet], y[quiet])
    assert "coverage" not in calm["cautions"]
    assert "None is off by more than chance" in render(calm)


def test_the_worst_rows_come_with_their_columns(told):
    X, y = noisy()
    worst = told["where"]["worst"]
    error = (X["mean"] - y).to_numpy()
    assert [int(row["row"]) for row in worst["rows"]] == np.argsort(-np.abs(error))[:20].tolist()
    assert worst["columns"][0] == "mean"
    first = int(worst["rows"][0]["row"])
    values = dict(zip(worst["columns"], worst["rows"][0]["values"], strict=True))
    assert values == X.iloc[first].to_dict()


def test_return_levels_are_those_of_the_stated_distribution(told):
    levels = told["errors"]["likely"]["levels"]
    assert [level["period"] for level in levels] == [10, 100, 1000, 10000]
    assert [level["level"] for level in levels] == pytest.approx(np.log([10, 100, 1000, 10000]))
    assert [level["expected"] for level in levels] == [400, 40, 4, 0.4]
    assert levels[0]["counted"] == int((noisy()[1] > np.log(10)).sum())
    assert "one in" in render(told)


def test_baselines_stand_beside_the_model_and_chance_is_told_from_a_lead():
    X, y = noisy()
    shaken = X["mean"].to_numpy() + np.where(np.arange(len(y)) % 2, 0.01, -0.01)
    found = {"better": 0.5 * (X["mean"] + y), "boosted trees": shaken}
    told = collect(Forecaster(), X, y, baselines=found)
    assert [one["name"] for one in told["trust"]["methods"]] == ["Forecaster", "the mean", "better", "boosted trees"]
    for one, values in zip(told["trust"]["methods"][2:], found.values(), strict=True):
        error = np.asarray(values) - y
        assert one["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
        assert one["mae"] == pytest.approx(np.mean(np.abs(error)))
        assert one["median_percent"] == pytest.approx(100 * np.median(np.abs(error / y)))
    against = next(check for check in told["trust"]["checks"] if check["text"].startswith("RMSE"))
    assert not against["good"]
    assert re.search(r"better, best of the others, has .* \(50% less\)\.$", against["text"])
    assert told["next"]["trees"]["better"] == told["next"]["trees"]["worse"] == []
    even = collect(Forecaster(), X, y, baselines={"boosted trees": shaken})["trust"]["checks"]
    assert even[1]["good"]
    assert even[1]["text"].endswith("no more apart than by chance.")
    ahead = collect(Forecaster(), X, y, baselines={"boosted trees": found["better"]})
    assert ahead["next"]["trees"]["better"] == ["rmse", "rare_rmse"]
    assert "Take trees" in ahead["next"]["advice"][0]
    with pytest.raises(ValueError, match="baseline 'short' must have"):
        collect(Forecaster(), X, y, baselines={"short": shaken[:5]})


@pytest.fixture(scope="module")
def model():
    table, price = homes(500)
    how = {"n_centers": 60, "random_state": 0, "n_jobs": 1}
    return make_table_model(AdaptiveKernelRidge(**how)).fit(table, price).calibrate()


@pytest.fixture(scope="module")
def judged():
    table, price = homes(400, seed=3)
    table = table.assign(lot=table["lot"].where(table.index > 0, 1e12))
    return table, pd.Series(price, name="price")


@pytest.fixture(scope="module")
def page_of_homes(model, judged):
    return collect(model, *judged, y_ref=homes(500)[1], baselines={"boosted trees": np.full(400, 3e5)})


def test_what_next_names_rows_outside_gaps_and_columns_not_needed(page_of_homes, judged, model):
    told = page_of_homes["next"]
    assert {"column": "lot", "n_rows": 1}.items() <= told["outside"]["columns"][0].items()
    assert told["outside"]["columns"][0]["rows"][0]["row"] == "0"
    assert [column["name"] for column in told["left_out"]] == ["id"]
    assert told["left_out"][0]["note"]
    table, price = judged
    error = model.predict(table) - price
    gap = table["rooms"].isna()
    rooms = next(one for one in told["gaps"] if one["name"] == "rooms")
    assert rooms["share"] == gap.mean()
    assert rooms["rmse"] == pytest.approx(np.sqrt(np.mean(error[gap] ** 2)))
    assert rooms["others"] == pytest.approx(np.sqrt(np.mean(error[~gap] ** 2)))
    assert told["trees"]["worse"]
    assert any(text.startswith("Fill gaps in rooms") for text in told["advice"])
    assert any("outside the range" in text for text in told["advice"])


def test_the_page_leads_by_four_questions_in_units_of_the_response(page_of_homes):
    html = render(page_of_homes)
    places = [html.index(f'<section id="{name}"') for name in ("trust", "where", "drivers", "next", "errors")]
    assert places == sorted(places)
    lead = re.search(r'<p class="lead">(.*?)</p>', html, re.DOTALL)[1]
    assert f"{page_of_homes['trust']['methods'][0]['median_percent']:.3g}%" in lead
    assert "10⁶" not in html[: places[-1]]  # amounts are written in full
    assert json.loads(json.dumps(page_of_homes, allow_nan=False)) == page_of_homes


def test_more_rows_are_told_of_where_the_rows_of_the_fit_are():
    X = np.random.default_rng(0).random((900, 2))
    y = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1])
    model = DacKernelRidge(1, bandwidth=0.3, penalty=1e-7, random_state=0).fit(X[:400], y[:400])
    told = collect(model, X[400:], y[400:], train=(X[:400], y[:400]))
    found = told["next"]["more_rows"]
    assert found == learning_curve(model, X[:400], y[:400], X[400:], y[400:])
    assert found["n_rows"] == [100, 200, 400]
    assert found["rmse"][0] > found["rmse"][1] > found["rmse"][2] > found["twice"]
    assert found["rmse"][-1] == pytest.approx(np.sqrt(np.mean((model.predict(X[400:]) - y[400:]) ** 2)))
    assert found["helps"]
    assert "Would more rows help?" in render(told)
    assert told["next"]["advice"][0].startswith("Get more rows")
    assert "more_rows" not in collect(model, X[400:], y[400:])["next"]
    assert learning_curve(model, X[:100], y[:100], X[400:], y[400:]) is None


def test_impossible_predictions_are_named():
    X, y = np.linspace(0, 1, 60)[:, None], np.maximum(0.0, np.linspace(-3, 1, 60))
    model = DacKernelRidge(1, bandwidth=0.1, penalty=1e-6, random_state=0).fit(X, y)
    n = int((model.predict(X) < 0).sum())
    assert n
    checks = collect(model, X, y, y_ref=y)["trust"]["checks"]
    assert any(not check["good"] and f"{n} predictions below 0, the least" in check["text"] for check in checks)
    assert not any("below 0" in check["text"] for check in collect(model, X, y - 1, y_ref=y - 1)["trust"]["checks"])


@pytest.fixture(scope="module")
def opened(page_of_homes, tmp_path_factory):
    if browser.BINARY is None:
        pytest.skip("no chromium on the PATH (apt install chromium); `make test-full` needs it")
    path = tmp_path_factory.mktemp("report") / "homes.html"
    path.write_text(render(page_of_homes), encoding="utf-8")
    with browser.Page(path.as_uri(), tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_a_raw_table_fits_the_screen_and_nothing_overlaps(opened, width, theme):
    opened.prefer(theme)
    opened.resize(width, 900)
    assert opened.run("document.documentElement.scrollWidth") == width
    overlapping = opened.run(
        "[...document.querySelectorAll('.x-labels, .y-labels')]"
        ".filter((box) => getComputedStyle(box).display !== 'none')"
        ".flatMap((box) => { const r = [...box.children].map((s) => s.getBoundingClientRect());"
        " return r.flatMap((a, i) => r.slice(i + 1).filter((b) => a.left < b.right && b.left < a.right"
        " && a.top < b.bottom && b.top < a.bottom)).map(() => box.closest('figure').id + ': ' + box.innerText); })"
    )
    assert overlapping == []
    assert opened.complaints == []


def test_on_paper_nothing_is_folded_or_cut_off(opened):
    opened.resize(1400, 900)
    opened.run("document.querySelectorAll('details').forEach((part) => { part.open = false; })")
    opened.call("Page.printToPDF", printBackground=True)
    assert opened.run("[...document.querySelectorAll('details')].every((part) => part.open)")
    opened.call("Emulation.setEmulatedMedia", media="print")
    opened.resize(720, 1000)  # about A4
    cut = opened.run(
        "[...document.querySelectorAll('#trust .scroll, #where .banded .scroll, #drivers .scroll, #likely .scroll')]"
        ".filter((box) => box.firstElementChild.getBoundingClientRect().width > box.clientWidth + 2).length"
    )
    assert cut == 0
    assert opened.run("document.documentElement.scrollWidth") == 720
    opened.call("Emulation.setEmulatedMedia", media="")
