import json
import re
import subprocess
import sys
import warnings
from copy import deepcopy
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    DacRegressor,
    LocalKernelRidge,
    SkewRidge,
    SmoothingSpline,
    load_model,
    report,
    response_train_test_split,
    save_model,
)
from skewridge.datasets import make_peaks
from skewridge.metrics import balanced_mse, rare_mse, rare_region, sera, slice_mse
from skewridge.nodes.partition import make_plan
from skewridge.reporting import checksum, collect, render
from skewridge.reporting._charts import charts, linear_ticks, log_ticks
from skewridge.reporting._errors import MOST_POINTS
from skewridge.reporting._input import MOST_BARS
from skewridge.response.slices import slice_response
from skewridge.tables.encoder import TableEncoder
from skewridge.two_levels.planning import LevelSize, levels_bytes, levels_flops

X, y = make_peaks(700, 2, random_state=0)
TRAIN, TEST, Y_TRAIN, Y_TEST = response_train_test_split(X, y, test_size=0.3, random_state=0)
FIXED = {"bandwidth": 0.2, "penalty": 1e-4, "random_state": 0}

MODELS = {
    "levels": SkewRidge("laplacian", random_state=0),
    "cells": LocalKernelRidge(cell_size=100, random_state=0),
    "adaptive": AdaptiveKernelRidge(random_state=0),
    "adaptive, given": AdaptiveKernelRidge(n_centers=30, adapt=0.5, scale_features=None, **FIXED),
    "adaptive, aimed": AdaptiveKernelRidge(n_centers=30, scoring="balanced_mse", random_state=0),
    "nodes": DacKernelRidge(n_nodes=5, random_state=0),
    "nodes, classical": DacKernelRidge(n_nodes=3, slices=1, **FIXED),
    "nodes, pilot": DacKernelRidge(n_nodes=3, slice_on="pilot", **FIXED),
    "nodes, local penalties": DacKernelRidge(n_nodes=3, penalty="gcv", random_state=0),
    "nodes, edges": DacKernelRidge(n_nodes=3, slices=[-1.0, 0.1, 0.2, 2.0], **FIXED),
    "nodes, no bandwidth": DacKernelRidge(n_nodes=3, kernel="polynomial", random_state=0),
    "nodes, bandwidth alone": DacKernelRidge(n_nodes=3, penalty=1e-4, random_state=0),
    "spline": SmoothingSpline(random_state=0),
    "any regressor": DacRegressor(KNeighborsRegressor(), n_nodes=4, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), AdaptiveKernelRidge(n_centers=30, random_state=0)),
    "pipeline without names": make_pipeline(FunctionTransformer(np.square), DacKernelRidge(n_nodes=2, **FIXED)),
    "search": GridSearchCV(DacKernelRidge(n_nodes=2, **FIXED), {"kernel": ["gaussian", "matern32"]}, cv=2),
    "foreign": LinearRegression(),
}


@cache
def fitted(name):
    return MODELS[name].fit(TRAIN, Y_TRAIN)


@cache
def _collected(name):
    return collect(fitted(name), TEST, Y_TEST, y_ref=Y_TRAIN)


def told(name):
    return deepcopy(_collected(name))


class Oracle:
    """A regressor that predicts what it was told."""

    def __init__(self, predicted):
        self.predicted = predicted

    def predict(self, X):
        return np.resize(self.predicted, len(X))


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found, self.texts = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, tag):
        return [attrs for name, attrs in self.found if name == tag]


@pytest.mark.parametrize("name", list(MODELS))
def test_every_kind_of_model_is_told_of_as_json_and_as_a_page(name):
    data = told(name)
    again = json.loads(json.dumps(data, allow_nan=False))
    assert again == data
    page = Tags(render(again))
    assert len(page.named("html")) == len(page.named("main")) == 1
    ids = [attrs["id"] for _, attrs in page.found if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {"errors", "response", "method", "cost", "reproduce"} <= set(ids)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("levels", {"summary", "path", "tried", "scales"}),
        ("cells", {"summary", "scales"}),
        ("adaptive", {"summary", "support", "path", "tried", "importances"}),
        ("adaptive, given", {"summary", "support", "importances"}),
        ("nodes", {"summary", "slices", "nodes", "path"}),
        ("spline", {"summary", "support"}),
        ("any regressor", {"summary", "slices", "nodes"}),
        ("pipeline", {"summary", "support", "path", "tried", "importances"}),
        ("foreign", set()),
    ],
)
def test_what_a_model_does_not_have_is_left_out(name, parts):
    assert set(told(name)["method"]) - {"estimator", "settings"} == parts


@pytest.mark.parametrize("name", ["adaptive", "nodes", "nodes, classical"])
def test_errors_are_those_of_the_metrics(name):
    predicted, mean = fitted(name).predict(TEST), np.full(len(TEST), Y_TRAIN.mean())
    expected = {
        "mse": [np.mean((Y_TEST - p) ** 2) for p in (predicted, mean)],
        "rare_mse": [rare_mse(Y_TEST, p, y_ref=Y_TRAIN) for p in (predicted, mean)],
        "rare_mse_by_prediction": [rare_mse(Y_TEST, p, y_ref=Y_TRAIN, by=predicted) for p in (predicted, mean)],
        "balanced_mse": [balanced_mse(Y_TEST, p, y_ref=Y_TRAIN) for p in (predicted, mean)],
        "sera": [sera(Y_TEST, p, y_ref=Y_TRAIN) for p in (predicted, mean)],
    }
    scores = told(name)["errors"]["scores"]
    assert [s["name"] for s in scores] == list(expected)
    for score in scores:
        model, baseline = expected[score["name"]]
        assert score["model"] == pytest.approx(model, rel=1e-12)
        assert score["mean"] == pytest.approx(baseline, rel=1e-12)
        assert score["ratio"] == pytest.approx(model / baseline, rel=1e-12)
        assert score["root"] == (None if score["name"] == "sera" else pytest.approx(np.sqrt(model)))
    assert scores[1]["n_rows"] == rare_region(Y_TEST, Y_TRAIN).sum()
    assert scores[2]["n_rows"] == rare_region(predicted, Y_TRAIN).sum()


def test_slices_are_those_of_the_training_response():
    data, expected = told("nodes"), slice_response(Y_TRAIN)
    slices, errors = data["response"]["slices"], data["errors"]["slices"]
    predicted = fitted("nodes").predict(TEST)
    assert [s["low"] for s in slices] == expected.edges[:-1].tolist()
    assert [s["high"] for s in slices] == expected.edges[1:].tolist()
    assert [s["count"] for s in slices] == expected.counts.tolist()
    assert [s["copies"] for s in slices] == expected.copies.tolist()
    middles = (expected.edges[1:] + expected.edges[:-1]) / 2
    assert [s["rare"] for s in slices] == rare_region(middles, Y_TRAIN).tolist()
    mse = [np.nan if e["mse"] is None else e["mse"] for e in errors]
    assert mse == pytest.approx(slice_mse(Y_TEST, predicted, y_ref=Y_TRAIN).tolist(), nan_ok=True)
    for s, e in zip(slices[:-1], errors[:-1], strict=True):
        rows = (Y_TEST >= s["low"]) & (Y_TEST < s["high"])
        rows |= (Y_TEST < s["low"]) & (s is slices[0])
        assert e["n_rows"] == rows.sum()
        if rows.any():
            assert e["bias"] == pytest.approx(np.mean(predicted[rows] - Y_TEST[rows]))
            assert e["mean"] == pytest.approx(np.mean((Y_TEST[rows] - Y_TRAIN.mean()) ** 2))
    assert sum(e["share"] for e in errors) == pytest.approx(1)
    assert data["errors"]["n_beyond"] == np.sum((Y_TEST < Y_TRAIN.min()) | (Y_TEST > Y_TRAIN.max()))


def test_copies_are_those_that_the_model_dealt_whatever_it_sliced():
    model = fitted("nodes, pilot")
    data, dealt = told("nodes, pilot"), model.slices_.copies[model.slices_.labels]
    for s, copies in zip(data["response"]["slices"], data["method"]["slices"]["copies"], strict=True):
        rows = (Y_TRAIN >= s["low"]) & ((Y_TRAIN < s["high"]) | (s["high"] == Y_TRAIN.max()))
        assert copies == (pytest.approx(dealt[rows].mean()) if rows.any() else 0)
    assert told("nodes")["method"]["slices"]["copies"] == slice_response(Y_TRAIN).copies.tolist()
    assert "copies" not in collect(model, TEST, Y_TEST)["method"]["slices"]  # the training rows are not known


@pytest.mark.parametrize(
    ("name", "rows", "kind"),
    [
        ("adaptive", "center_rows_", "centres"),
        ("spline", "knot_rows_", "knots"),
    ],
)
def test_centres_and_knots_are_counted_where_their_response_lies(name, rows, kind):
    support, rows = told(name)["method"]["support"], getattr(fitted(name), rows)
    expected = np.histogram(Y_TRAIN[rows], slice_response(Y_TRAIN).edges)[0]
    assert support == {"kind": kind, "n_rows": len(rows), "per_slice": expected.tolist()}


def test_the_tuning_path_is_the_models():
    tuning, path = fitted("nodes").tuning_, told("nodes")["method"]["path"]
    assert (path["along"], path["choice"], path["criterion"]) == ("penalty", tuning.penalty, "loo")
    assert [curve["values"] for curve in path["curves"]] == tuning.values.tolist()
    assert told("adaptive")["method"]["path"]["x"] == fitted("adaptive").tuning_.penalties.tolist()
    tuning, path = fitted("nodes, bandwidth alone").tuning_, told("nodes, bandwidth alone")["method"]["path"]
    assert (path["along"], path["x"]) == ("bandwidth", tuning.bandwidths.tolist())


def test_what_is_no_number_is_not_drawn():
    data = told("nodes")
    curves = data["method"]["path"]["curves"]
    curves[0]["values"] = [None] * len(curves[0]["values"])
    curves[1]["values"][2] = None
    chart = charts(data)["path"]
    assert len(chart.views[0]["shapes"]) == len(curves) - 1
    assert len(chart.marks) == sum(v is not None for curve in curves for v in curve["values"])


def test_settings_say_what_was_asked_for_and_what_was_taken():
    settings = {s["name"]: s for s in told("nodes, local penalties")["method"]["settings"]}
    assert settings["bandwidth"]["asked"] == "auto"
    assert settings["bandwidth"]["taken"] == fitted("nodes, local penalties").bandwidth_
    assert re.fullmatch(r"\S+ to \S+ \(3 values\)", settings["penalty"]["taken"])
    assert settings["n_distinct_"]["taken"] == fitted("nodes, local penalties").n_distinct_
    assert settings["kernel"] == {"name": "kernel", "asked": "gaussian", "taken": None}
    knots = next(s for s in told("spline")["method"]["settings"] if s["name"] == "knots")
    assert knots["taken"] is None  # places, not a number
    knn = {s["name"]: s for s in told("any regressor")["method"]["settings"]}
    assert knn["estimator"]["asked"] == "KNeighborsRegressor()"


def test_importances_come_with_names_and_the_largest_first():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TRAIN, columns=["north", "east"])
    model = AdaptiveKernelRidge(n_centers=30, random_state=0).fit(frame, Y_TRAIN)
    data = collect(model, pd.DataFrame(TEST, columns=["north", "east"]), pd.Series(Y_TEST, name="height"))
    expected = sorted(zip(model.feature_importances_, ["north", "east"], strict=True), reverse=True)
    told = data["method"]["importances"]
    assert list(zip(told["values"], told["names"], strict=True)) == expected
    rare = dict(zip(["north", "east"], model.rare_importances_.tolist(), strict=True))
    assert told["rare"] == [rare[name] for name in told["names"]]
    assert data["response"]["name"] == "height"
    assert data["title"] == "AdaptiveKernelRidge for height"


def test_what_it_cost_is_planned_for_the_training_rows():
    model, cost = fitted("nodes"), told("nodes")["cost"]
    plan = make_plan(model.slices_, 5, 2)
    assert cost["fit"] == {"n_flops": plan.n_flops, "n_bytes": plan.n_bytes, "n_rows": len(TRAIN)}
    assert cost["prediction"] == {"n_values": len(TRAIN), "n_bytes": 8 * 3 * len(TRAIN)}
    assert cost["ways"][2]["fit"] == "DacKernelRidge(n_nodes=5)"
    assert cost["ways"][2]["n_flops"] == plan.n_flops
    adaptive, m = told("adaptive")["cost"], fitted("adaptive").n_centers_
    assert adaptive["n_fits"] == fitted("adaptive").tuning_.n_fits
    assert adaptive["fit"]["n_flops"] == len(TRAIN) * m * (2 * m + 30)
    assert "fit" not in collect(fitted("adaptive"), TEST, Y_TEST)["cost"]  # how many rows were fitted is not known
    assert "seconds" not in cost
    assert collect(fitted("nodes"), TEST, Y_TEST, seconds=2.5)["cost"]["seconds"] == 2.5


@pytest.mark.parametrize("name", ["levels", "cells"])
def test_two_levels_tell_what_they_state_learned_and_cost(name):
    model, data = fitted(name), told(name)
    stated = data["errors"]["stated"]
    assert (stated["mse"], stated["rare_mse"]) == (model.expected_error_.mse, model.expected_error_.rare_mse)
    assert f"{model.expected_error_.mse:.3g}" in render(data)
    scales = data["method"]["scales"]
    assert scales["values"] == sorted(model.feature_scale_.tolist(), reverse=True)
    n_partitions, cell_size = (3, 1000) if name == "levels" else (4, 100)
    size = LevelSize(len(TRAIN), 2, 1, n_partitions, cell_size, outer_folds=name == "levels")
    expected = {"n_flops": levels_flops(size), "n_bytes": levels_bytes(size), "n_rows": len(TRAIN)}
    assert data["cost"]["fit"] == expected
    assert data["cost"]["ways"][0]["fit"].startswith("SkewRidge()")


def test_a_prediction_takes_the_rows_of_its_cells_and_the_centres():
    cells, n = fitted("cells"), len(TRAIN)
    groups = cells._model.cells.rows
    sizes = [len(groups.order[a:b]) for a, b in pairwise(groups.starts)]
    assert sum(sizes) == 4 * n
    assert told("cells")["cost"]["prediction"]["n_values"] == round(sum(size**2 for size in sizes) / n)
    level_one = fitted("levels").tuning_.level_one
    assert told("levels")["cost"]["prediction"]["n_values"] == 2 * level_one.chosen["n_centers"] + n  # one cell, halves


def test_the_search_of_two_levels_is_that_of_level_one():
    level_one, method = fitted("levels").tuning_.level_one, told("levels")["method"]
    assert [one["n_centers"] for one in method["tried"]] == [one["n_centers"] for one in level_one.tried]
    assert method["path"]["x"] == level_one.penalties.tolist()


def test_columns_that_no_fit_sees_are_named():
    wide, y = np.c_[TRAIN, np.ones(len(TRAIN))][:150], Y_TRAIN[:150]
    model = SkewRidge("laplacian", random_state=0).fit(wide, y)
    data = collect(model, wide, y)
    assert data["method"]["scales"]["dropped"] == ["x2"]
    assert data["errors"]["stated"]["mse"] == model.expected_error_.mse
    assert data["errors"]["rows"] == "fitted"
    assert data["cost"]["prediction"]["n_values"] > 150
    assert "Not used by any fit: x2." in render(data)


def test_one_row_that_decides_the_stated_error_is_named():
    y_bad = Y_TRAIN[:150].copy()
    y_bad[17] += 50.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LocalKernelRidge(random_state=0).fit(TRAIN[:150], y_bad)
    caution = collect(model, TEST, Y_TEST, y_ref=y_bad)["cautions"]["dominant_row"]
    assert caution.startswith("Training row 17 holds ")
    assert "dominant_row" not in told("cells")["cautions"]


def test_intervals_of_a_calibrated_model_are_counted():
    pipeline = make_pipeline(StandardScaler(), AdaptiveKernelRidge(n_centers=30, adapt=0.5, **FIXED))
    model = pipeline.fit(TRAIN, Y_TRAIN)[-1]
    assert "intervals" not in collect(pipeline, TEST, Y_TEST)["errors"]
    model.calibrate()
    low, high = model.predict_interval(pipeline[:-1].transform(TEST))
    held, rare = (low <= Y_TEST) & (high >= Y_TEST), rare_region(Y_TEST, Y_TRAIN)
    data = collect(pipeline, TEST, Y_TEST, y_ref=Y_TRAIN)
    told = data["errors"]["intervals"]
    assert (told["held"], told["held_rare"]) == (held.mean(), held[rare].mean())
    assert told["width"] == np.median(high - low)
    assert "which is told and not promised" in render(data)
    model.calibrate(TEST[:5], Y_TEST[:5])
    data = collect(pipeline, TEST, Y_TEST)
    assert data["errors"]["intervals"]["n_infinite"] == len(TEST)
    assert data["errors"]["intervals"]["width"] is None
    assert "they are infinite" in render(data)


def test_how_to_reproduce_it():
    data = told("adaptive, given")["reproduce"]
    assert eval(data["code"]).get_params() == MODELS["adaptive, given"].get_params()
    assert data["parameters"]["n_centers"] == 30
    assert data["seed"] == {"value": 0, "fixed": True}
    assert data["data"] == {"n_rows": len(TEST), "n_features": 2, "checksum": checksum(TEST, Y_TEST)}
    assert data["versions"]["numpy"] == np.__version__


RECOGNISED = ["levels", "cells", "adaptive", "nodes", "spline", "pipeline", "search"]


@pytest.mark.parametrize("name", RECOGNISED)
def test_rows_that_were_fitted_are_recognised(name):
    seen = collect(fitted(name), TRAIN, Y_TRAIN)
    assert seen["errors"]["rows"] == seen["response"]["rows"] == "fitted"
    assert "too small" in seen["cautions"]["seen"]
    assert told(name)["errors"]["rows"] == "new"
    assert "seen" not in told(name)["cautions"]
    assert collect(fitted(name), TEST, Y_TEST)["response"]["rows"] == "judged"


def test_a_model_that_remembers_no_rows_leaves_it_open():
    assert collect(fitted("any regressor"), TRAIN, Y_TRAIN)["errors"]["rows"] == "unknown"


def test_a_reference_that_was_not_fitted_is_not_taken_for_the_training_response():
    data = collect(fitted("nodes"), TEST, Y_TEST, y_ref=Y_TRAIN[:100])
    assert data["response"]["rows"] == "judged"
    assert "ways" not in data["cost"]
    assert collect(fitted("adaptive"), TEST, Y_TEST, y_ref=Y_TRAIN[:5])["response"]["rows"] == "judged"


@pytest.mark.parametrize(
    ("name", "changes", "rule"),
    [
        ("nodes, classical", {}, "scott"),
        ("nodes, edges", {}, "edges given"),
        ("nodes", {"slices": 7}, "equal widths"),
        ("adaptive", {"slices": "log"}, "log"),
    ],
)
def test_how_the_response_is_cut(name, changes, rule):
    slicing = collect(fitted(name), TEST, Y_TEST, **changes)["response"]["slicing"]
    assert slicing["rule"] == rule
    assert slicing["n_slices"] == {"edges given": 3, "equal widths": 7}.get(rule, slicing["n_slices"])


def test_edges_of_the_model_need_not_cover_the_rows_judged():
    data = collect(fitted("nodes, edges"), TEST, Y_TEST + 5)
    assert data["response"]["slices"][-1]["high"] == (Y_TEST + 5).max()


def test_many_slices_are_shown_in_groups_that_add_up():
    random = np.random.default_rng(0)
    y = random.standard_t(2, size=5000)
    data = collect(Oracle(0 * y), np.zeros((5000, 1)), y, slices=1000)
    slices, errors = data["response"]["slices"], data["errors"]["slices"]
    assert data["response"]["slicing"]["n_bars"] == len(slices) == len(errors) <= MOST_BARS
    assert all(a["high"] == b["low"] for a, b in pairwise(slices))
    assert sum(s["n_slices"] for s in slices) == 1000
    assert sum(s["count"] for s in slices) == sum(e["n_rows"] for e in errors) == 5000
    squares = sum(e["n_rows"] * e["mse"] for e in errors if e["n_rows"])
    assert squares == pytest.approx(np.sum(y**2))
    assert {s["rare"] for s in slices} == {True, False}
    cut = slice_response(y, 1000)
    assert sum(s["count"] * s["copies"] for s in slices) == pytest.approx(cut.n_oversampled)


def test_a_page_on_much_data_stays_small():
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    n, d = 60_000, 300
    y = pd.Series(random.lognormal(sigma=2, size=n), name="y" * 300)
    model = Oracle(y.to_numpy() * random.normal(1, 0.3, size=n))
    model.feature_importances_, model.n_features_in_ = random.random(d), d
    model.feature_names_in_ = np.array([f"{'feature' * 20}{i}" for i in range(d)], dtype=object)
    data = collect(model, pd.DataFrame(np.zeros((n, d), dtype=np.float32)), y, slices="scott")
    points = data["errors"]["points"]
    assert len(points["observed"]) == len(points["predicted"]) == MOST_POINTS
    assert points["n_rows"] == n
    assert len(render(data)) < 3e6


@pytest.mark.parametrize("name", ["levels", "cells", "adaptive", "nodes"])
def test_a_model_from_a_file_is_told_of_alike(name, tmp_path):
    save_model(fitted(name), tmp_path / "model")
    assert collect(load_model(tmp_path / "model"), TEST, Y_TEST, y_ref=Y_TRAIN) == told(name)


def test_a_table_of_mixed_columns_is_told_of_by_its_columns():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"place": X[:, 0], "town": np.where(X[:, 1] > 0.5, "<b>Oslo", "Bergen")})
    model = make_pipeline(TableEncoder(), AdaptiveKernelRidge(n_centers=20, random_state=0)).fit(table, y)
    data = collect(model, table, y)
    assert set(data["method"]["importances"]["names"]) == {"place", "town=Bergen", "town=<b>Oslo"}
    assert data["errors"]["rows"] == "fitted"
    assert data["reproduce"]["data"]["n_features"] == 2
    assert "<b>Oslo" not in render(data)


def test_the_same_rows_give_the_same_page():
    assert report(fitted("nodes"), TEST, Y_TEST) == report(fitted("nodes"), TEST, Y_TEST)


def test_bars_dots_and_lines_are_the_data():
    data = told("nodes")
    drawn = charts(data)
    assert set(drawn) == {"response", "errors", "points", "path", "partial-0", "partial-1"}
    held = [i for i, s in enumerate(data["response"]["slices"]) if s["count"]]
    for view in drawn["response"].views:
        bars = [shape for shape in view["shapes"] if shape["kind"].startswith("bar")]
        assert [bar["slice"] for bar in bars] == held
        heights = [100 - float(re.search(r"V([\d.]+)H", bar["path"])[1]) for bar in bars]
        counts = [data["response"]["slices"][i]["count"] for i in held]
        assert np.argsort(heights, kind="stable").tolist() == np.argsort(counts, kind="stable").tolist()
    assert sum(shape["path"].count("M") for shape in drawn["points"].views[0]["shapes"]) == len(TEST)
    assert len(drawn["points"].marks) == len(TEST)
    assert len(drawn["path"].views[0]["shapes"]) == len(data["method"]["path"]["curves"])
    assert drawn["path"].views[0]["shapes"][-1]["kind"] == "line chosen"


def test_a_perfect_prediction_lies_on_the_diagonal_and_one_beyond_the_range_at_the_edge():
    y = np.r_[np.linspace(0, 1, 50), 5.0]
    marks = charts(collect(Oracle(np.r_[y[:-1], 50.0]), np.zeros((51, 1)), y))["points"].marks
    assert all(x == pytest.approx(y) for x, y, *_ in marks[:-1])
    assert marks[-1][1] == 100
    assert "predicted 50" in marks[-1][2]


HOSTILE = ['<script>alert("1")</script>', "</script><img src=x onerror=alert(1)>", '" onload="alert(1)', "{{ 7 * 7 }}"]


def test_whatever_comes_from_data_is_escaped():
    pd = pytest.importorskip("pandas")
    names = HOSTILE[:2]
    train, test = (pd.DataFrame(rows, columns=names) for rows in (TRAIN, TEST))
    model = AdaptiveKernelRidge(n_centers=20, random_state=0).fit(train, Y_TRAIN)
    data = collect(model, test, pd.Series(Y_TEST, name=HOSTILE[2]), title=HOSTILE[3])
    data["cautions"]["hostile"], data["reproduce"]["code"] = HOSTILE[1], HOSTILE[0]
    data["method"]["settings"].append({"name": HOSTILE[1], "asked": HOSTILE[2], "taken": HOSTILE[0]})
    data["method"]["tried"][0]["kernel"] = HOSTILE[2]
    page = Tags(render(data))
    clean = Tags(render(collect(model, test, Y_TEST)))
    assert {tag for tag, _ in page.found} == {tag for tag, _ in clean.found}
    assert len(page.named("script")) == 2
    assert not page.named("img")
    assert not [attrs for _, attrs in page.found if any(name.startswith("on") for name in attrs)]
    assert {*names, HOSTILE[3]} <= set(page.texts)
    live = next(text for text in page.texts if text.startswith('{"marks"'))
    assert "<" not in live
    assert json.loads(live)["marks"]["points"]


def test_the_page_needs_nothing_else():
    html = render(told("adaptive"))
    page = Tags(html)
    assert not [a for _, a in page.found if a.get("src")]
    assert all(a["href"].startswith(("#", "data:")) for _, a in page.found if "href" in a)
    assert not re.search(r"https?://|@import|url\(", html)
    policy = next(a["content"] for a in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_the_file_is_the_page(tmp_path):
    path = tmp_path / "report.html"
    html = report(fitted("nodes"), TEST, Y_TEST, path, y_ref=Y_TRAIN, title="Grüße")
    assert path.read_text(encoding="utf-8") == html
    assert "Grüße" in html
    assert repr(html).startswith("<report 'Grüße', ")  # and no page of HTML at a prompt
    assert repr(html).endswith(f" of HTML, in {path}>")
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    with pytest.raises(IsADirectoryError, match="name a file"):
        report(None, TEST, Y_TEST, tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        report(None, TEST, Y_TEST, tmp_path / "none" / "report.html")


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"skewridge\[report\]"):
        report(fitted("nodes"), TEST, Y_TEST)
    with pytest.raises(ImportError, match=r"skewridge\[report\]"):
        render({})
    assert collect(fitted("nodes"), TEST, Y_TEST)["format"] == 2


def test_nothing_is_imported_before_it_is_needed():
    script = "import skewridge, sys; skewridge.report; assert 'jinja2' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_several_outputs_are_told_of_one_by_one():
    Y = np.column_stack([Y_TRAIN, -(Y_TRAIN**2)])
    model = MultiOutputRegressor(AdaptiveKernelRidge(n_centers=20, random_state=0)).fit(TRAIN, Y)
    with pytest.raises(ValueError, match=r"y has 2 columns\. Pass output=0"):
        collect(model, TRAIN, Y)
    data = collect(model, TRAIN, Y, output=1)
    mse = np.mean((model.predict(TRAIN)[:, 1] - Y[:, 1]) ** 2)
    assert data["errors"]["scores"][0]["model"] == pytest.approx(mse)
    with pytest.raises(ValueError, match=r"output must be an integer in \[0, 1\]"):
        collect(model, TRAIN, Y, output=2)
    render(data)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_are_enough(n):
    model = DacKernelRidge(n_nodes=1, bandwidth=0.2, penalty=1e-3).fit(TRAIN, Y_TRAIN)
    data = collect(model, TEST[:n], Y_TEST[:n], y_ref=Y_TRAIN)
    assert data["errors"]["n_rows"] == n
    assert re.match(r"(None|Only \d) of the rows", data["cautions"]["few_rare_rows"])
    assert "<main" in render(data)
    assert "<main" in report(model, TEST[:n], Y_TEST[:n])


def test_a_constant_response_has_nothing_rare():
    ones = np.ones(len(TRAIN))
    model = DacKernelRidge(n_nodes=2, **FIXED).fit(TRAIN, ones)
    data = collect(model, TRAIN, ones)
    assert [s["name"] for s in data["errors"]["scores"]] == ["mse"]
    assert data["errors"]["scores"][0]["ratio"] is None
    assert data["response"]["facts"]["verdict"] == "constant"
    assert set(charts(data)) <= {"path"}
    assert "constant" in render(data)


def test_precision_memory_and_containers_do_not_matter():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    model = DacKernelRidge(n_nodes=2, **FIXED).fit(TRAIN, Y_TRAIN)
    frozen = TEST.copy(), Y_TEST.copy()
    for array in frozen:
        array.flags.writeable = False
    expected = collect(model, TEST, Y_TEST)
    assert collect(model, *frozen) == expected
    assert collect(model, TEST.tolist(), Y_TEST.tolist()) == expected
    assert collect(model, np.asfortranarray(TEST), Y_TEST[:, None]) == expected
    single = collect(model, TEST.astype(np.float32), Y_TEST.astype(np.float32))
    mse = [data["errors"]["scores"][0]["model"] for data in (single, expected)]
    assert mse[0] == pytest.approx(mse[1], rel=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model was fitted without names
        frames = [collect(model, kind(TEST, ["a", "b"]), Y_TEST) for kind in (_pandas(pd), _polars(pl))]
    assert all(frame["errors"] == expected["errors"] for frame in frames)
    assert all(frame["reproduce"]["data"] == expected["reproduce"]["data"] for frame in frames)


def _pandas(pd):
    return lambda rows, names: pd.DataFrame(rows, columns=names)


def _polars(pl):
    return lambda rows, names: pl.DataFrame(rows, schema=names)


@pytest.mark.parametrize(
    ("X", "y", "error", "match"),
    [
        (TEST, Y_TEST[:-1], ValueError, "X and y must have as many rows; got"),
        (TEST, np.r_[np.nan, Y_TEST[1:]], ValueError, "y must hold finite numbers"),
        (TEST, np.empty(0), ValueError, "y must be one-dimensional with at least one value"),
        (TEST[:, :1], Y_TEST, ValueError, "features"),
    ],
)
def test_rows_that_cannot_be_judged_by_are_refused(X, y, error, match):
    with pytest.raises(error, match=match):
        collect(fitted("nodes"), X, y)


def test_other_refusals():
    with pytest.raises(NotFittedError):
        collect(DacKernelRidge(), TEST, Y_TEST)
    with pytest.raises(ValueError, match="slices must be"):
        collect(fitted("nodes"), TEST, Y_TEST, slices="none")
    with pytest.raises(ValueError, match="seconds must be a number"):
        collect(fitted("nodes"), TEST, Y_TEST, seconds=-1.0)
    pd = pytest.importorskip("pandas")
    frame, response = pd.DataFrame(TEST), pd.Series(Y_TEST)
    with pytest.raises(ValueError, match="same index labels in a different order"):
        collect(fitted("nodes"), frame, response[::-1])


def caution(name, **attributes):
    """What a model with these attributes is said to have."""
    y = np.r_[np.linspace(0, 1, 200), np.full(12, 9.0)]
    model = Oracle(attributes.pop("predicted", y))
    vars(model).update(attributes)
    return collect(model, np.zeros((212, 1)), y)["cautions"].get(name)


def tuning(**changes):
    none = {"at_edge": (), "dominant": np.empty(0, int), "influence": np.empty(0), "cost": None, "scoring": "mse"}
    return SimpleNamespace(**{**none, **changes})


def test_cautions_are_given_where_they_apply_and_nowhere_else():
    flat = np.full(212, 0.5)
    assert "flattens" in caution("flat", predicted=flat)
    assert caution("flat") is None
    assert "no better" in caution("worse_than_the_mean", predicted=np.full(212, -20.0))
    assert caution("worse_than_the_mean") is None
    assert "chosen penalty is at the edge" in caution("at_edge", tuning_=tuning(at_edge=("penalty",)))
    assert caution("at_edge", tuning_=tuning()) is None
    many = tuning(dominant=np.arange(12), influence=np.full(12, 31.0))
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more dominate" in caution("dominant_rows", tuning_=many)
    assert caution("dominant_rows", tuning_=tuning()) is None
    aimed = tuning(cost={"ratio": 1.25, "bias": 0.5}, scoring="sera")
    assert "aimed at sera" in caution("aim", tuning_=aimed)
    assert "1.25 times" in caution("aim", tuning_=aimed)
    assert "somewhat different" in caution("no_seed", random_state=None)
    assert caution("no_seed", random_state=3) is None
    assert caution("few_rare_rows") is None


def test_checksums_see_numbers_and_their_order_alone():
    pd = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    table = np.arange(12.0).reshape(4, 3)
    same = [np.asfortranarray(table), table.astype(np.float32), table.tolist(), pd.DataFrame(table)]
    assert {checksum(X) for X in [*same, sparse.csr_array(table)]} == {checksum(table)}
    other = [table[::-1], table[:, ::-1], table.T, table.reshape(3, 4), table + 1e-12, table[:-1]]
    assert len({checksum(X) for X in [table, *other]}) == 7
    assert checksum(table, [1, 2, 3, 4]) != checksum(table)
    texts = pd.DataFrame({"town": ["Oslo", "Bergen"], "rooms": [1, 2]})
    assert checksum(texts) != checksum(texts.replace("Oslo", "Moss"))


positive = st.floats(1e-12, 1e12)


@given(positive, st.floats(1.01, 1e9))
def test_ticks_are_few_ascending_and_within(low, times):
    high = low * times
    for ticks in (linear_ticks(low, high), log_ticks(low, high)):
        assert len(ticks) <= 8
        assert ticks
        assert all(a < b for a, b in pairwise(ticks))
        assert low * (1 - 1e-6) <= ticks[0] <= ticks[-1] <= high * (1 + 1e-6)


def test_other_rows_with_the_same_responses_are_not_taken_for_those_of_the_fit():
    X, y = TRAIN[:120], np.round(3 * Y_TRAIN[:120])
    model = SkewRidge("laplacian", random_state=0).fit(X, y)
    turned = np.roll(y, 7)
    for own, caution in ((y, True), (turned, False)):
        assert ("seen" in collect(model, X, own)["cautions"]) == caution


def test_rows_outside_the_fit_and_impossible_predictions_are_cautioned_against():
    X, y = np.linspace(0, 1, 60)[:, None], np.maximum(0.0, np.linspace(-3, 1, 60))
    model = DacKernelRidge(1, bandwidth=0.1, penalty=1e-6, random_state=0).fit(X, y)
    assert (model.predict(X) < 0).any()
    cautions = collect(model, np.vstack([X, [[3.0]]]), np.r_[y, 1.0], y_ref=y)["cautions"]
    assert "1 of 61 rows lie outside the range" in cautions["outside_the_fit"]
    assert "'x0' (0 to 1): 3 in row 60, up to 2 times that range beyond" in cautions["outside_the_fit"]
    assert (
        "below 0, and no response that was fitted is. If none can be, fit with bounds=(0, None)"
        in (cautions["negative"])
    )
    assert not {"outside_the_fit", "negative"} & set(collect(model, X, y - 1, y_ref=y - 1)["cautions"])
