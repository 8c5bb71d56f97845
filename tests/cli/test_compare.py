"""Models side by side on the same rows, and rows that a model was fitted to."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skewridge import load_model, save_model
from skewridge.cli import main
from skewridge.cli._evaluate import differences
from tests.cli.commands import answer

RNG = np.random.default_rng(0)
HOUSES = pd.DataFrame(
    {
        "area": RNG.gamma(4, 25, 400).round(1),
        "town": RNG.choice([f"town {i}" for i in range(40)], 400),
        "sold": (pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, 400), "D")).strftime("%d.%m.%Y"),
    }
)
HOUSES.loc[::9, "area"] = np.nan
HOUSES["price"] = (HOUSES["area"].fillna(90) ** 1.5 + RNG.normal(0, 20, 400)).round(3)
QUICK = ["-t", "price", "-e", "dac", "-p", "n_nodes=1", "-p", "bandwidth=1"]


@cache
def fitted_files():
    assert main(["fit", "train.csv", *QUICK, "-p", "penalty=0.0001", "-o", "good.skr"]) == 0
    assert main(["fit", "train.csv", *QUICK, "-p", "penalty=10", "-o", "flat.skr"]) == 0
    return {name: Path(name).read_bytes() for name in ("good.skr", "flat.skr")}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    HOUSES[:200].to_csv("train.csv", index=False)
    HOUSES[200:].to_csv("test.csv", index=False)
    for name, content in fitted_files().items():
        Path(name).write_bytes(content)
    return tmp_path


def test_errors_are_those_of_evaluate_and_the_better_model_is_named(capsys):
    told = answer(capsys, "compare", "flat.skr", "good.skr", "test.csv")
    assert [one["model"] for one in told["models"]] == ["flat.skr", "good.skr"]
    for one in told["models"]:
        alone = answer(capsys, "evaluate", one["model"], "test.csv")
        assert one["overall"] == alone["overall"]
        assert one["rare"] == alone["rare"]
    (found,) = told["differences"]
    assert found["overall"]["verdict"] == "better"
    rmse = [one["overall"]["rmse"] for one in told["models"]]
    assert found["overall"]["rmse"] == pytest.approx(rmse[1] - rmse[0])
    assert main(["compare", "flat.skr", "good.skr", "test.csv"]) == 0
    out = capsys.readouterr().out
    assert "RMSE where rare" in out
    assert "good.skr against flat.skr, overall: RMSE -" in out
    assert ": good.skr is better" in out


def test_a_model_does_not_differ_from_itself(capsys):
    Path("again.model").write_bytes(Path("good.skr").read_bytes())
    told = answer(capsys, "compare", "good.skr", "again.model", "test.csv")
    assert told["differences"][0]["overall"]["verdict"] == "no clear difference"
    assert told["differences"][0]["overall"]["rmse"] == 0.0


def test_standard_errors_are_those_of_repeated_draws():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(400):
        shared = rng.normal(size=300)
        first, second = shared + 0.3 * rng.normal(size=300), shared + 0.4 * rng.normal(size=300)
        found.append(differences(first, second, np.zeros(300, dtype=bool))["overall"])
    for name in ("rmse", "mae"):
        spread = np.std([one[name] for one in found])
        assert np.mean([one[f"{name}_se"] for one in found]) == pytest.approx(spread, rel=0.1)


def test_few_rows_and_rows_that_decide_alone_are_not_taken_for_a_difference():
    first, second = np.zeros(50), np.full(50, 0.1)
    assert differences(first, second, np.arange(50) < 5)["rare"]["why"] == "only 5 rows"
    assert differences(first, second, np.zeros(50, dtype=bool))["rare"]["why"] == "no rows"
    assert differences(first, second, np.arange(50) < 5)["overall"]["verdict"] == "worse"
    second[0] = 100.0
    assert differences(first, second, np.arange(50) < 5)["overall"]["why"] == "one row decides"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.skr", "test.csv"], "needs two or more model files and a table: .* got 1 model files and 1 others"),
        (["good.skr", "flat.skr"], "got 2 model files and 0 others"),
        (["good.skr", "flat.skr", "good.skr", "test.csv"], "good.skr is named twice"),
        (["good.skr", "other.skr", "test.csv"], "good.skr predicts 'price' and other.skr 'area'"),
        (["good.skr", "broken.skr", "test.csv"], "broken.skr cannot be loaded as a model"),
        (["good.skr", "flat.skr", "test.csv", "-t", "prices"], "Did you mean 'price'"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message, capsys):
    save_model(load_model("good.skr"), "other.skr", about={"target": "area"})
    Path("broken.skr").write_text("?")
    assert main(["compare", *arguments]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_rows_of_the_fit_are_counted_whatever_holds_them(capsys):
    note = "rows equal rows that good.skr was fitted to"
    assert answer(capsys, "evaluate", "good.skr", "test.csv")["n_fitted_rows"] == 0
    mixed = pd.concat([HOUSES[150:200], HOUSES[200:]]).sample(frac=1, random_state=0)
    mixed[["price", "sold", "town", "area"]].to_parquet("mixed.parquet")
    told = answer(capsys, "evaluate", "good.skr", "mixed.parquet")
    assert told["n_fitted_rows"] == 50
    assert f"50 of 250 {note}" in told["notes"][-1]
    told = answer(capsys, "evaluate", "good.skr", "train.csv")
    assert told["n_fitted_rows"] == 200
    changed = HOUSES[:200].assign(price=HOUSES["price"] + 1)
    changed.to_csv("changed.csv", index=False)
    assert answer(capsys, "evaluate", "good.skr", "changed.csv")["n_fitted_rows"] == 0
    told = answer(capsys, "predict", "good.skr", "mixed.parquet")
    assert told["n_fitted_rows"] == 50
    assert any(f"50 of 250 {note}" in line and "have seen their own response" in line for line in told["notes"])
    HOUSES[:200].drop(columns="price").to_csv("new.csv", index=False)
    assert answer(capsys, "predict", "good.skr", "new.csv")["n_fitted_rows"] is None
    assert main(["report", "good.skr", "train.csv"]) == 0
    assert f"200 of 200 {note}" in capsys.readouterr().err
    told = answer(capsys, "compare", "good.skr", "flat.skr", "train.csv")
    assert [one["n_fitted_rows"] for one in told["models"]] == [200, 200]


def test_models_that_do_not_know_their_rows_say_nothing(capsys):
    save_model(load_model("good.skr"), "plain.skr", about={"target": "price", "missing": "impute"})
    told = answer(capsys, "evaluate", "plain.skr", "train.csv")
    assert told["n_fitted_rows"] is None
    assert not any("was fitted to, in" in note for note in told["notes"])


def test_rows_that_some_model_does_not_predict_are_left_out(capsys):
    gaps = HOUSES[200:].assign(area=HOUSES["area"].where(HOUSES.index % 2 == 0))
    gaps.to_csv("gaps.csv", index=False)
    told = answer(capsys, "compare", "good.skr", "flat.skr", "gaps.csv", "--missing", "drop")
    assert told["n_rows"] == gaps["area"].notna().sum()
    gaps.assign(area=np.nan).to_csv("none.csv", index=False)
    assert main(["compare", "good.skr", "flat.skr", "none.csv", "--missing", "drop"]) == 1
    assert "Every row has missing values ('area': 200): --missing drop leaves none." in capsys.readouterr().err


def test_models_of_different_columns_are_compared_on_rows_that_both_predict(capsys):
    towns = ["--features", "town", "--missing", "drop", "-p", "penalty=0.01"]
    areas = ["--features", "area", "--missing", "drop", "-p", "penalty=0.01"]
    assert main(["fit", "train.csv", *QUICK, *towns, "-o", "towns.skr"]) == 0
    assert main(["fit", "train.csv", *QUICK, *areas, "-o", "areas.skr"]) == 0
    test = HOUSES[200:]
    told = answer(capsys, "compare", "towns.skr", "areas.skr", "test.csv")
    assert told["n_rows"] == test["area"].notna().sum() < len(test)
    assert f"{test['area'].isna().sum()} of 200 rows are left out: not every model predicts them." in told["notes"]
    test.assign(town=test["town"].where(test["area"].isna())).to_csv("apart.csv", index=False)
    assert main(["compare", "towns.skr", "areas.skr", "apart.csv"]) == 1
    assert "No row is predicted by all of the models." in capsys.readouterr().err
