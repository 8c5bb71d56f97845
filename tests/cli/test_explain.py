"""What drives a model and one prediction, in words."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skewridge.cli import main
from tests.cli.commands import answer, error

RNG = np.random.default_rng(0)
N = 160


def make(n, rng):
    frame = pd.DataFrame(
        {
            "id": [f"h{i}" for i in range(n)],
            "area": rng.uniform(20, 200, n).round(1),
            "town": rng.choice(["Oslo", "Voss"], n),
            "noise": rng.normal(size=n).round(3),
        }
    )
    return frame.assign(price=1e4 * frame["area"] + 5e5 * (frame["town"] == "Oslo") + rng.normal(0, 1e3, n))


TRAIN, TEST = make(N, RNG), make(60, RNG)
SAVED = {}


def fit(name, *options):
    """Fit once for all tests of the module."""
    if name not in SAVED:
        assert main(["fit", "train.csv", "-t", "price", "-j", "1", "-o", name, *options]) == 0
        SAVED[name] = Path(name).read_bytes()
    Path(name).write_bytes(SAVED[name])
    return name


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TRAIN.to_csv("train.csv", index=False)
    TEST.to_csv("test.csv", index=False)
    TEST.drop(columns="price").to_csv("new.csv", index=False)
    return tmp_path


@pytest.fixture
def local():
    return fit("local.skr", "-e", "local")


@pytest.fixture
def dac():
    return fit("dac.skr", "-e", "dac", "-p", "n_nodes=1", "-p", "bandwidth=2", "-p", "penalty=0.0001")


def test_a_model_is_explained_by_columns_of_the_table_with_directions(dac, capsys):
    told = answer(capsys, "explain", dac, "test.csv")
    assert [one["name"] for one in told["columns"]][:2] == ["area", "town"]
    assert told["columns"][2]["share"] < 0.01
    assert told["words"][0].startswith("price rises from ")
    assert " as area goes from 2" in told["words"][0]
    assert told["words"][1].startswith("price is highest for town 'Oslo', 1.")
    assert main(["explain", dac, "test.csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("column")
    assert told["words"][0] in out
    assert "no causes" in out


def test_rows_of_the_fit_are_noted(dac, capsys):
    assert "160 of 160 rows equal rows that dac.skr was fitted to" in str(answer(capsys, "explain", dac, "train.csv"))


def test_one_row_is_told_with_what_pushes_it(local, capsys):
    told = answer(capsys, "explain", local, "test.csv", "--row", "3")
    assert main(["predict", local, "test.csv", "-o", "out.csv", "--interval", "0.9"]) == 0
    predicted = pd.read_csv("out.csv")
    assert told["prediction"] == pytest.approx(predicted["prediction"][2])
    assert told["interval"]["low"] == pytest.approx(predicted["low"][2])
    assert told["truth"] == pytest.approx(TEST["price"][2])
    effects = {one["name"]: one["effect"] for one in told["columns"]}
    others = TEST.drop(index=2)
    assert effects["area"] == pytest.approx(1e4 * (TEST["area"][2] - others["area"].mean()), abs=3e4)
    in_oslo = (TEST["town"][2] == "Oslo") - (others["town"] == "Oslo").mean()
    assert effects["town"] == pytest.approx(5e5 * in_oslo, abs=3e4)
    assert abs(effects["noise"]) < 3e4
    assert 0 <= told["nearness"]["further_than"] <= 1
    capsys.readouterr()
    assert main(["explain", local, "test.csv", "--row", "3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("row 3: price ")
    assert "90% interval" in out
    assert f"town {TEST['town'][2]} (" in out
    assert "nearest row of the fit: " in out


def test_a_row_needs_no_truth_and_says_what_is_outside(local, capsys):
    far = pd.read_csv("new.csv").assign(area=lambda t: t["area"].where(t.index != 4, 900.0))
    far.to_csv("new.csv", index=False)
    told = answer(capsys, "explain", local, "new.csv", "--row", "5")
    assert told["truth"] is None
    assert told["outside"][0]["column"] == "area"
    assert main(["explain", local, "new.csv", "--row", "5"]) == 0
    assert "outside the range of the fit: 'area'" in capsys.readouterr().out


def test_a_row_of_the_fit_has_itself_for_a_neighbour(local, capsys):
    assert main(["explain", local, "train.csv", "--row", "1"]) == 0
    assert "nearest row of the fit: the same in every column that matters" in capsys.readouterr().out


def test_a_model_that_holds_no_rows_says_nothing_of_them(dac, capsys):
    told = answer(capsys, "explain", dac, "test.csv", "--row", "1")
    assert told["nearness"] is None
    assert told["interval"] is None


def test_rows_keep_their_numbers_where_others_are_dropped(dac, capsys):
    holes = TEST.assign(area=TEST["area"].where(TEST.index % 3 != 0))
    holes.to_csv("holes.csv", index=False)
    told = answer(capsys, "explain", dac, "holes.csv", "--row", "5", "--missing", "drop")
    assert told["row"] == "5"
    assert told["prediction"] == pytest.approx(answer(capsys, "explain", dac, "test.csv", "--row", "5")["prediction"])
    assert "1 of 1 rows have missing values" in error(
        capsys, "explain", dac, "holes.csv", "--row", "4", "--missing", "drop"
    )


def test_without_a_table_the_fit_tells_what_it_has_measured(dac, capsys):
    adaptive = fit("adaptive.skr", "-e", "adaptive", "-p", "n_centers=30")
    told = answer(capsys, "explain", adaptive)
    assert told["columns"][0]["name"] == "area"
    assert sum(one["share"] for one in told["columns"]) == pytest.approx(1)
    assert "dac.skr holds no importances: name a table" in error(capsys, "explain", dac)


def test_what_cannot_be_explained_is_refused(dac, capsys):
    assert "--row must be a row of the table, 1 to 60; got 61" in error(
        capsys, "explain", dac, "test.csv", "--row", "61"
    )
    assert "--row is a row of a table: skewridge explain MODEL DATA --row 7" in error(
        capsys, "explain", dac, "--row", "1"
    )
    assert "has no column 'price'" in error(capsys, "explain", dac, "new.csv")
    TEST[:1].to_csv("one.csv", index=False)
    assert "compar" in error(capsys, "explain", dac, "one.csv", "--row", "1")
