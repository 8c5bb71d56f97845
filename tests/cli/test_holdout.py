import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skewridge.cli import main
from skewridge.cli._fit import as_table, held_out

FAST = ["-e", "adaptive", "-p", "n_centers=50", "--jobs", "1"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A raw table of 1,200 rows with a skewed response."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    area = random.uniform(20, 200, 1200)
    town = random.choice(["Oslo", "Bergen", "Voss"], 1200)
    price = np.exp(area / 60 + (town == "Oslo")) + random.random(1200)
    town = town.astype(object)
    town[held_out(price, None, 0, {}).argmax()] = "Moss"  # not among the rows of the fit
    pd.DataFrame({"area": area, "town": town, "price": price}).to_csv("houses.csv", index=False)
    return "houses.csv"


def test_one_command_fits_judges_and_tells(table, capsys):
    assert main(["fit", table, "-t", "price", *FAST]) == 0
    out, err = capsys.readouterr()
    assert "held out" in out
    for word in ("RMSE", "MAE", "median error, %", "R2", "RMSE where rare", "ridge", "boosted trees"):
        assert word in out
    assert "Judged by 120 rows that were held out" in out
    assert "saved: model.skr" in out
    page = Path("model.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert all(f'<th scope="row">{name}</th>' in page for name in ("the mean", "ridge", "boosted trees"))
    assert err.count("'Moss'") == 1  # and not by every method that sees the row
    assert "Fitting AdaptiveKernelRidge to 1,080 rows" in err


def test_figures_are_written_in_full_and_a_missing_one_has_a_reason():
    figures = {"rmse": 273_323.4, "mae": 0.5, "median_percent": None, "r2": -2.386e-05, "rare_rmse": None}
    table, *lines = as_table({"n_rows": 2725, "n_rare": 0, "errors": {"mean": figures}}, {})
    assert table.rows == [["RMSE", "273,300"], ["MAE", "0.5"], ["R2", "0"], ["RMSE where rare", "-"]]
    assert lines[1] == "No errors in per cent are told: some of these rows have a response of 0."
    figures["median_percent"] = 9.688
    table, *lines = as_table({"n_rows": 2725, "n_rare": 0, "errors": {"mean": figures}}, {})
    assert ["median error, %", "9.688"] in table.rows
    assert len(lines) == 1


def test_errors_are_those_of_rows_that_were_not_fitted(table, capsys):
    assert main(["fit", table, "-t", "price", *FAST, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    frame = pd.read_csv(table)
    frame[held_out(frame["price"].to_numpy(), None, 0, {})].to_csv("judged.csv", index=False)
    assert main(["evaluate", "model.skr", "judged.csv", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    errors = found["held_out"]["errors"]
    assert found["n_rows"] == 1080
    assert errors["AdaptiveKernelRidge"]["rmse"] == pytest.approx(again["overall"]["rmse"])
    assert errors["AdaptiveKernelRidge"]["rare_rmse"] == pytest.approx(again["rare"]["rmse"])
    assert errors["mean"]["r2"] == pytest.approx(0.0, abs=0.01)
    assert errors["AdaptiveKernelRidge"]["rmse"] < errors["ridge"]["rmse"] < errors["mean"]["rmse"]


def test_nothing_is_held_out_of_few_rows_or_where_that_is_asked_for(table, capsys):
    assert main(["fit", table, "-t", "price", *FAST, "--holdout", "0", "--json"]) == 0
    assert "held_out" not in (found := json.loads(capsys.readouterr().out))
    assert found["n_rows"] == 1200
    assert not Path("model.html").exists()
    assert held_out(np.arange(999.0), None, 0, {}).sum() == 0
    assert held_out(np.arange(100.0), 0.25, 0, {}).sum() == 25


@pytest.mark.parametrize(("share", "message"), [("1", "must be below 1"), ("-0.1", "--holdout"), ("2", "--holdout")])
def test_shares_that_leave_nothing_are_refused_before_anything_is_read(share, message, table, capsys):
    assert main(["fit", table, "-t", "price", *FAST, "--holdout", share]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert "Reading" not in err
    assert not Path("model.skr").exists()


def test_the_page_may_not_replace_the_table(table, capsys):
    assert main(["fit", table, "-t", "price", *FAST, "--report", table]) == 1
    assert pd.read_csv(table).shape == (1200, 3)


def test_a_share_of_too_few_rows():
    with pytest.raises(ValueError, match=r"--holdout 0\.1 of 5 rows leaves none to fit or to judge by"):
        held_out(np.arange(5.0), 0.1, 0, {})


@pytest.mark.parametrize("places", [["-o", "model.html"], ["-o", "m.skr", "--report", "./m.skr"]])
def test_the_page_may_not_replace_the_model(table, places, capsys):
    assert main(["fit", table, "-t", "price", *FAST, *places]) == 1
    assert "would both be written to" in capsys.readouterr().err


def test_columns_are_named_as_numbers_were_written(table):
    assert main(["fit", table, "-t", "price", "-e", "local", "--jobs", "1", "--holdout", "0.5"]) == 0
    asked = ["--exceeds", "1500000,1500001", "--quantiles", "0.5, 0.90"]
    assert main(["predict", "model.skr", table, *asked, "-o", "out.csv"]) == 0
    wanted = ["prediction", "q0.5", "q0.90", "p_above_1500000", "p_above_1500001"]
    assert pd.read_csv("out.csv").columns.tolist() == wanted
    assert main(["predict", "model.skr", table, "--quantiles", "0.5,0.5"]) == 1
