import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

import skewridge
from skewridge import SkewRidge, load_model, save_model
from skewridge.cli import main
from skewridge.cli._evaluate import errors_of
from skewridge.cli._tables import read_tables
from skewridge.persist import read_model
from skewridge.tables.encoder import TableEncoder
from tests.saved import dac

ROOT = Path(__file__).parents[2]
QUICK = ["-e", "dac", "-p", "n_nodes=1", "-p", "bandwidth=1", "-p", "penalty=0.01"]


def houses(n, seed):
    """A table with every kind of column, and a few dear houses."""
    rng = np.random.default_rng(seed)
    area, sea = rng.gamma(4, 25, n).round(1), rng.random(n) < 0.1
    return pd.DataFrame(
        {
            "id": [f"h{i}" for i in range(n)],
            "town": rng.choice(["Oslo", "Bergen", "Hamar"], n),
            "zip": rng.choice(["0150", "5003"], n),
            "area": area,
            "rooms": rng.integers(1, 7, n),
            "sea": sea,
            "condition": rng.choice(["poor", "fair", "good"], n),
            "price": 20 * area + 9000 * sea + rng.normal(0, 100, n),
        }
    )


TRAIN, NEW = houses(120, 0), houses(30, 1)
OPTIONS = ["-t", "price", "--exclude", "id", "--ordinal", "condition=poor,fair,good", "--categorical", "zip", *QUICK]
FEATURES = [name for name in TRAIN if name not in ("id", "price")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of its own with tables to fit to and to predict."""
    monkeypatch.chdir(tmp_path)
    TRAIN.to_csv("train.csv", index=False)
    NEW.to_csv("new.csv", index=False)
    return tmp_path


@cache
def fitted_file():
    assert main(["fit", "train.csv", *OPTIONS]) == 0
    return Path("model.skr").read_bytes()


@pytest.fixture
def model(folder):
    Path("model.skr").write_bytes(fitted_file())
    return "model.skr"


def expected(frame, **settings):
    """What the library predicts without a command line."""
    encoder = TableEncoder(["zip"], {"condition": ["poor", "fair", "good"]}, **settings)
    pipeline = Pipeline([("table", encoder), ("model", dac(n_nodes=1, bandwidth=1, penalty=0.01))])
    return pipeline.fit(TRAIN[FEATURES], TRAIN["price"]).predict(frame[FEATURES], return_std=True)


def answer(capsys, *arguments):
    """The JSON that a command answers with."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def predictions(path):
    """The numbers of a column prediction, exactly as they are written."""
    return pd.read_csv(path, dtype=str)["prediction"].map(float)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_from_a_table_to_predictions_in_three_commands(capsys):
    assert main(["fit", "train.csv", "--target", "price", "--exclude", "id"]) == 0
    assert main(["evaluate", "model.skr", "new.csv"]) == 0
    assert main(["predict", "model.skr", "new.csv"]) == 0
    out = capsys.readouterr().out
    assert "SkewRidge of 'price': 120 rows, 6 columns as" in out
    assert "stated by the fit for rows it has not seen: RMSE " in out
    assert " where the response is rare" in out
    assert "_mse" not in out  # squares cannot be compared with the errors beside them
    assert "e+0" not in out
    assert "predictions.csv: 30 rows" in out
    predicted = pd.read_csv("predictions.csv")
    assert predicted.columns.tolist() == ["prediction"]
    assert np.corrcoef(predicted["prediction"], NEW["price"])[0, 1] > 0.8


def test_predictions_are_those_of_the_library_to_the_last_bit_in_the_order_of_the_rows(model):
    prediction, std = expected(NEW)
    assert main(["predict", model, "new.csv", "--std", "--keep", "id,sea", "-o", "out.parquet"]) == 0
    out = pd.read_parquet("out.parquet")
    assert out.columns.tolist() == ["id", "sea", "prediction", "std"]
    assert out["id"].tolist() == NEW["id"].tolist()
    assert np.array_equal(out["prediction"], prediction)
    assert np.array_equal(out["std"], std)


@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.parquet", "out.pq", "-"])
def test_every_kind_of_output_holds_the_same_numbers(output, model, capsys):
    capsys.readouterr()
    assert main(["predict", model, "new.csv", "-o", output]) == 0
    where = io.StringIO(capsys.readouterr().out) if output == "-" else output
    found = pd.read_parquet(where)["prediction"] if ".p" in output else predictions(where)
    assert np.array_equal(found, expected(NEW)[0])


def test_tables_may_be_of_any_kind_and_in_pieces(model, folder):
    NEW[:10].to_parquet("part-1.parquet")
    NEW[10:20].to_parquet("part-2.parquet")
    NEW[20:][NEW.columns[::-1]].to_csv("rest.csv.gz", index=False)
    assert main(["predict", model, "part-*.parquet", "rest.csv.gz", "-o", "out.csv"]) == 0
    assert np.array_equal(predictions("out.csv"), expected(NEW)[0])
    NEW.to_csv("new.tsv", index=False, sep="\t")
    assert main(["predict", model, "new.tsv", "-o", "out.csv"]) == 0
    NEW.to_csv("semicolon.csv", index=False, sep=";")
    assert main(["predict", model, "semicolon.csv", "--delimiter", ";", "-o", "out2.csv"]) == 0
    assert Path("out.csv").read_bytes() == Path("out2.csv").read_bytes()


def test_the_same_seed_gives_the_same_file_for_any_number_of_threads(model):
    first = Path(model).read_bytes()
    assert main(["fit", "train.csv", *OPTIONS, "--jobs", "1"]) == 0
    loaded, other = load_model(model).set_params(model__n_jobs=-1), Path("all.skr")
    about = read_model(model).about
    save_model(loaded, other, about=about)
    assert list(about) == ["target", "missing", "response", "row_hashes"]
    assert np.array_equal(about["response"], TRAIN["price"])
    assert other.read_bytes() == first


def test_report_writes_one_page_and_tells_the_same_as_json(model, capsys):
    data = answer(capsys, "report", model, "new.csv", "-o", "page.html")
    prediction, _ = expected(NEW)
    assert data["output"] == "page.html"
    scores = {score["name"]: score["model"] for score in data["errors"]["scores"]}
    assert scores["mse"] == pytest.approx(np.mean((prediction - NEW["price"]) ** 2))
    page = Path("page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "price" in page
    assert main(["report", model, "new.csv", "-o", "new.csv"]) == 1
    assert "one of the files to be read" in capsys.readouterr().err


def test_evaluate_tells_overall_and_rare_errors_side_by_side(model, capsys):
    prediction, _ = expected(NEW)
    data = answer(capsys, "evaluate", model, "new.csv")
    assert data["overall"]["mse"] == pytest.approx(np.mean((prediction - NEW["price"]) ** 2))
    assert data["rare"]["mse"] == pytest.approx(
        skewridge.metrics.rare_mse(NEW["price"], prediction, y_ref=TRAIN["price"])
    )
    assert 0 < data["rare"]["rows"] < data["overall"]["rows"] == 30
    assert data["target"] == "price"
    assert main(["evaluate", model, "new.csv"]) == 0
    out = capsys.readouterr().out
    assert "overall  rare price  rare prediction" in out
    assert "Traceback" not in out


def test_names_are_not_markup(monkeypatch, capsys):
    TRAIN.rename(columns={"price": "[red]price"}).to_csv("train.csv", index=False)
    options = ["[red]price" if text == "price" else text for text in OPTIONS]
    assert main(["fit", "train.csv", *options]) == 0
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["evaluate", "model.skr", "train.csv"]) == 0
    assert "[red]price" in capsys.readouterr().out


def test_evaluate_of_a_response_without_outliers_has_no_sera():
    y = np.linspace(0.0, 1.0, 50)
    told = errors_of(y, y + 0.1, y)
    assert told["sera"] is None
    assert told["overall"]["mse"] == pytest.approx(0.01)


def test_evaluate_without_rare_rows_says_so(model, capsys):
    NEW.assign(price=TRAIN["price"].median()).to_csv("common.csv", index=False)
    assert answer(capsys, "evaluate", model, "common.csv")["rare"]["mse"] is None
    assert main(["evaluate", model, "common.csv"]) == 0
    assert " - " in capsys.readouterr().out


def test_info_tells_what_is_in_a_file(model, capsys):
    data = answer(capsys, "info", model)
    assert data["estimator"] == "DacKernelRidge"
    assert data["target"] == "price"
    assert data["n_rows"] == 120
    assert {c["name"]: c["kind"] for c in data["columns"]} == {
        "town": "category",
        "zip": "category",
        "area": "number",
        "rooms": "number",
        "sea": "boolean",
        "condition": "ordinal",
    }
    assert data["parameters"]["bandwidth"] == 1
    assert main(["info", model]) == 0
    assert "written by skewridge 0.1.0" in capsys.readouterr().out


@pytest.fixture(scope="module")
def two_levels():
    """The file of SkewRidge as it is fitted by default, and what the library fits to the same table."""
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder, "train.csv"), Path(folder, "levels.skr")
        TRAIN.to_csv(table, index=False)
        assert (
            main(["fit", str(table), "-t", "price", "--exclude", "id", "-o", str(model), "-p", "kernel=laplacian"]) == 0
        )
        pipeline = Pipeline([("table", TableEncoder()), ("model", SkewRidge("laplacian", random_state=0))])
        return model.read_bytes(), pipeline.fit(TRAIN[FEATURES].astype({"zip": int}), TRAIN["price"])


def test_every_command_takes_a_model_of_two_levels(two_levels, capsys):
    Path("levels.skr").write_bytes(two_levels[0])
    library = two_levels[1]
    levels = library[-1]
    known = NEW[FEATURES].astype({"zip": int})
    assert main(["predict", "levels.skr", "new.csv", "-o", "out.parquet"]) == 0
    assert np.array_equal(pd.read_parquet("out.parquet")["prediction"], library.predict(known))
    errors = answer(capsys, "evaluate", "levels.skr", "new.csv")
    assert errors["overall"]["mse"] == pytest.approx(np.mean((library.predict(known) - NEW["price"]) ** 2))
    info = answer(capsys, "info", "levels.skr")
    assert info["estimator"] == "SkewRidge"
    assert info["chosen"]["stated_mse"] == pytest.approx(levels.expected_error_.mse, rel=1e-3)
    assert info["chosen"]["blend"].startswith(f"{levels.blend_weights_['global']:.2f} global + ")
    page = answer(capsys, "report", "levels.skr", "new.csv")
    assert page["errors"]["stated"]["mse"] == levels.expected_error_.mse
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    asked = ["--std", "--interval", "0.8", "--quantiles", "0.5,0.9", "--exceeds", "100,1e3", "-o", "all.csv"]
    assert main(["predict", "levels.skr", "new.csv", *asked]) == 0
    out = pd.read_csv("all.csv")
    wanted = ["prediction", "std", "low", "high", "q0.5", "q0.9", "p_above_100", "p_above_1e3"]
    assert out.columns.tolist() == wanted
    encoded = library[:-1].transform(known)
    assert np.array_equal(out[["q0.5", "q0.9"]], levels.predict_quantiles(encoded, [0.5, 0.9]))
    assert np.array_equal(out["p_above_100"], levels.predict_exceedance(encoded, 100.0))
    assert np.all(out["low"] <= out["high"])


def test_how_many_rows_exceed_a_value_and_which_is_told(two_levels, capsys):
    Path("levels.skr").write_bytes(two_levels[0])
    data = answer(capsys, "predict", "levels.skr", "new.csv", "--exceeds", "100,2e3")
    likely = pd.read_csv("predictions.csv")["p_above_2e3"]
    told = data["exceeds"][1]
    assert [one["above"] for one in data["exceeds"]] == [100.0, 2000.0]
    assert told["n_rows"] == 30
    assert told["expected"] == pytest.approx(likely.sum())
    assert told["n_likely"] == (likely > 0.5).sum()
    assert told["likeliest"][0] == {"row": str(likely.argmax() + 1), "probability": pytest.approx(likely.max())}
    assert len(told["likeliest"]) == 5


def test_rows_without_a_response_are_those_that_are_asked_about(two_levels, capsys):
    Path("levels.skr").write_bytes(two_levels[0])
    NEW.assign(price=NEW["price"].where(np.arange(30) >= 10)).to_csv("some.csv", index=False)
    assert main(["predict", "levels.skr", "some.csv", "--exceeds", "2e3"]) == 0
    likely = pd.read_csv("predictions.csv")["p_above_2e3"]
    assert len(likely) == 30
    out = capsys.readouterr().out
    assert f"more than 2000: {likely[:10].sum():.1f} of 10 rows without a response expected, " in out
    assert f"; likeliest: row {likely[:10].argmax() + 1} (" in out
    NEW.assign(price="sold").to_csv("words.csv", index=False)  # of which nothing is needed
    assert main(["predict", "levels.skr", "words.csv", "--exceeds", "2e3"]) == 0
    assert "of 30 rows expected" in capsys.readouterr().out


def test_levels_and_thresholds_that_cannot_be_read_are_refused(model, capsys):
    assert main(["predict", model, "new.csv", "--quantiles", "half"]) == 1
    assert "--quantiles must be numbers with commas between them, such as 0.5,0.9,0.99; got 'half'." in (
        capsys.readouterr().err
    )
    assert main(["predict", model, "new.csv", "--quantiles", "1.5"]) == 1
    assert "levels must lie above 0 and below 1; got 1.5" in capsys.readouterr().err
    assert main(["predict", model, "new.csv", "--interval", "90"]) == 1
    assert "--interval must be a share above 0 and at most 1, such as 0.9 for 90%; got 90." in capsys.readouterr().err


def test_plan_and_diagnose_lead_with_two_levels(capsys):
    assert answer(capsys, "plan", "train.csv", "-t", "price")["costs"][0]["fit"].startswith("SkewRidge()")
    assert answer(capsys, "diagnose", "train.csv", "-t", "price")["recommendation"]["estimator"] == "SkewRidge()"


@pytest.mark.parametrize("name", ["local", "adaptive"])
def test_estimators_are_chosen_by_name(name, capsys):
    data = answer(capsys, "fit", "train.csv", "-t", "price", "--features", "area,sea", "-e", name)
    assert data["estimator"] == {"local": "LocalKernelRidge", "adaptive": "AdaptiveKernelRidge"}[name]
    assert {"local": "n_cells", "adaptive": "n_centers"}[name] in data["chosen"]


@pytest.mark.parametrize(("text", "bounds"), [("null", None), ("[0, null]", [0, None]), ("auto", "auto")])
def test_bounds_are_given_as_any_parameter(text, bounds, capsys):
    answer(capsys, "fit", "train.csv", "-t", "price", "--features", "area,sea", "-e", "local", "-p", f"bounds={text}")
    assert load_model("model.skr").named_steps["model"].bounds == bounds


def test_fit_answers_in_json(capsys):
    data = answer(capsys, "fit", "train.csv", *OPTIONS)
    assert data["n_rows"] == 120
    assert data["n_features"] == 9
    assert data["chosen"]["n_nodes"] == 1
    assert data["notes"] == []


# Columns that are not as they were


def test_unseen_categories_are_noted_and_counted(model, capsys):
    NEW.assign(town="Rome").to_csv("rome.csv", index=False)
    data = answer(capsys, "predict", model, "rome.csv")
    assert "30 rows have values of 'town' that the model has not seen ('Rome': 30)" in " ".join(data["notes"])
    with pytest.warns(UserWarning, match="30 rows"):
        assert np.array_equal(predictions("predictions.csv"), expected(NEW.assign(town="Rome"))[0])


def test_codes_keep_their_leading_zeros(model, capsys):
    """A file whose codes all look like numbers must not turn 0150 into 150."""
    NEW.assign(zip="0150").to_csv("codes.csv", index=False)
    assert not any("has not seen" in note for note in answer(capsys, "predict", model, "codes.csv")["notes"])
    assert np.array_equal(predictions("predictions.csv"), expected(NEW.assign(zip="0150"))[0])


def test_missing_columns_are_named_and_others_noted(model, capsys):
    NEW.drop(columns=["town", "sea"]).to_csv("less.csv", index=False)
    assert main(["predict", model, "less.csv"]) == 1
    assert "The table has no column 'town', 'sea'; it has 'id', 'zip'" in capsys.readouterr().err
    assert not Path("predictions.csv").exists()
    notes = answer(capsys, "predict", model, "new.csv")["notes"]
    assert notes[0] == "Columns that the model does not use: 'id'."
    for kept in ("id", "*"):  # what is asked for is no surprise
        notes = answer(capsys, "predict", model, "new.csv", "--keep", kept)["notes"]
        assert not any("does not use" in note for note in notes)


def test_texts_where_numbers_belong_are_named(model, capsys):
    NEW.assign(area=["big"] + [1.0] * 29).to_csv("big.csv", index=False)
    assert main(["predict", model, "big.csv"]) == 1
    assert "Column 'area' should hold numbers; 1 of 30 values are none, the first of them 'big' in row 1" in (
        capsys.readouterr().err
    )


# Missing values


def with_holes(frame):
    return frame.assign(
        area=frame["area"].where(frame.index % 10 != 3), town=frame["town"].where(frame.index % 10 != 4)
    )


def test_missing_values_are_refused_with_a_count(model, capsys, folder):
    with_holes(TRAIN).to_csv("holes.csv", index=False)
    before = files(folder)
    for command in (["fit", "holes.csv", *OPTIONS, "-o", "m.skr"], ["predict", model, "holes.csv"]):
        assert main([*command, "--missing", "refuse"]) == 1
        assert "24 of 120 rows have missing values ('town': 12, 'area': 12). Add --missing" in capsys.readouterr().err
    assert files(folder) == before


def test_a_raw_table_needs_no_other_option_than_the_target(folder, capsys):
    rng = np.random.default_rng(0)
    n = 200
    day = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    agent = rng.integers(0, 40, n)
    area = rng.uniform(20, 2000, n)
    raw = pd.DataFrame(
        {
            "listing": [f"house {i} by the sea" for i in range(n)],
            "sold": day.strftime("%d/%m/%Y"),
            "agent": [f"agent {code}" for code in agent],
            "area": [f"{value:,.1f} m2" for value in area],
            "rooms": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 6, n)),
            "country": "NO",
            "price": area * (1 + agent / 20),
        }
    )
    raw.loc[3, "area"] = "unknown"
    raw.to_csv("raw.csv", index=False)
    assert main(["fit", "raw.csv", "--target", "price", "-p", "kernel=laplacian"]) == 0
    out = capsys.readouterr().out
    lines = {line.split()[0]: " ".join(line.split()) for line in out.splitlines() if line}
    assert lines["listing"].startswith("listing left out - 0 200 of 200 texts differ")
    assert lines["sold"] == "sold date year, month, weekday, days 0 read as day first"
    assert lines["agent"] == "agent category mean response and count of 40 levels 0"
    assert lines["area"] == "area number number, a column for gaps 1 written as text, unit 'm2', gaps: 'unknown' (1)"
    assert lines["rooms"].startswith("rooms number number, a column for gaps")
    assert lines["country"] == "country left out - 0 constant: NO"
    raw.drop(columns=["listing", "country"]).to_csv("new.csv", index=False)
    assert main(["predict", "model.skr", "new.csv"]) == 0
    loaded = load_model("model.skr")
    assert np.array_equal(predictions("predictions.csv"), loaded.predict(raw))
    assert main(["evaluate", "model.skr", "raw.csv"]) == 0
    capsys.readouterr()
    assert main(["info", "model.skr"]) == 0
    assert "read as day first" in capsys.readouterr().out


def test_text_in_the_response_is_refused_with_its_first_rows(capsys):
    odd = TRAIN.assign(price=TRAIN["price"].astype(object).where(~TRAIN.index.isin([4, 9]), "on request"))
    odd.to_csv("odd.csv", index=False)
    assert main(["fit", "odd.csv", "-t", "price"]) == 1
    expected_text = "2 of 120 values are none, the first of them 'on request' in row 5, 'on request' in row 10."
    assert expected_text in capsys.readouterr().err


def test_missing_values_are_dropped_or_imputed_on_demand(capsys):
    holes = with_holes(TRAIN)
    holes.to_csv("holes.csv", index=False)
    data = answer(capsys, "fit", "holes.csv", *OPTIONS, "--missing", "drop")
    assert data["n_rows"] == 96
    assert "24 of 120 rows have missing values and are left out ('town': 12, 'area': 12)." in data["notes"]
    data = answer(capsys, "predict", "model.skr", "holes.csv")
    assert (data["n_rows"], data["n_predicted"]) == (120, 96)
    empty = pd.read_csv("predictions.csv", skip_blank_lines=False)["prediction"].isna()
    assert empty.tolist() == holes.isna().any(axis=1).tolist()
    data = answer(capsys, "predict", "model.skr", "holes.csv", "--missing", "impute")
    assert data["n_predicted"] == 120
    data = answer(capsys, "fit", "holes.csv", *OPTIONS, "--missing", "impute")
    assert data["n_rows"] == 120
    assert answer(capsys, "predict", "model.skr", "holes.csv")["n_predicted"] == 120


def test_rows_without_a_response_are_refused_or_left_out(model, capsys):
    TRAIN.assign(price=TRAIN["price"].where(TRAIN.index > 5)).to_csv("y.csv", index=False)
    assert main(["fit", "y.csv", *OPTIONS, "--missing", "refuse"]) == 1
    assert "6 of 120 rows have missing values ('price': 6)" in capsys.readouterr().err
    data = answer(capsys, "fit", "y.csv", *OPTIONS)
    assert (data["n_rows"], data["notes"]) == (114, ["6 of 120 rows without 'price' are left out."])
    assert answer(capsys, "evaluate", model, "y.csv", "--missing", "drop")["overall"]["rows"] == 114


# Models of the library


def test_a_model_of_the_library_takes_columns_by_name(capsys):
    numbers = TRAIN[["area", "rooms"]]
    save_model(dac(n_nodes=1).fit(numbers, TRAIN["price"]), "library.skr")
    data = answer(capsys, "evaluate", "library.skr", "new.csv", "--target", "price")
    assert "does not hold the training response" in " ".join(data["notes"])
    assert main(["predict", "library.skr", "new.csv"]) == 0
    loaded = load_model("library.skr")
    assert np.array_equal(predictions("predictions.csv"), loaded.predict(NEW[["area", "rooms"]]))
    assert main(["info", "library.skr"]) == 0
    assert main(["evaluate", "library.skr", "new.csv"]) == 1
    assert "does not say what it predicts: name the column by --target" in capsys.readouterr().err


def test_models_that_no_table_fits_are_refused(capsys):
    numbers = TRAIN[["area", "rooms"]].to_numpy()
    save_model(dac(n_nodes=1).fit(numbers, TRAIN["price"]), "nameless.skr")
    assert main(["predict", "nameless.skr", "new.csv"]) == 1
    assert "was fitted to columns without names" in capsys.readouterr().err


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["fit", "none.csv", "-t", "price"], "There is no file none.csv"),
        (["fit", "none-*.csv", "-t", "price"], "There is no file none-*.csv"),
        (["fit", "train.csv", "-t", "prize"], "has no column 'prize'; it has 'id', 'town'"),
        (
            ["fit", "train.csv", "-t", "town"],
            "Column 'town' should hold numbers; 120 of 120 values are none, the first",
        ),
        (
            ["fit", "train.csv", "-t", "price", "--features", "id"],
            "No column is left to predict from ('id': 120 of 120",
        ),
        (["fit", "train.csv", "-t", "price", "--kind", "id"], "--kind must be COLUMN=KIND, as in 'zip=category'; got"),
        (["fit", "train.csv", "-t", "price", "--kind", "id=key"], "kinds['id'] must be one of 'number', 'boolean'"),
        (["fit", "train.csv", "-t", "price", "--features", "price"], "no column to predict 'price' from"),
        (["fit", "train.csv", *OPTIONS, "--features", "area"], "'zip' is not among the columns to predict from"),
        (["fit", "train.csv", *OPTIONS, "--missing", "hide"], "--missing must be one of 'refuse', 'impute', 'drop'"),
        (
            ["fit", "train.csv", "-t", "price", "-e", "forest"],
            "--estimator must be one of 'skew', 'local', 'adaptive', 'dac'",
        ),
        (["fit", "train.csv", *OPTIONS, "-p", "depth=3"], "has no parameter 'depth'; it has "),
        (["fit", "train.csv", "-t", "price", "-p", "n_centers=5"], "--estimator adaptive has it."),
        (["fit", "train.csv", "-t", "price", "-p", "penalty=1"], "--estimator adaptive and --estimator dac have it."),
        (
            ["fit", "train.csv", "-t", "price", "--exclude", "id", "--memory-limit", "2k"],
            "Here that is --estimator ada",
        ),
        (["fit", "train.csv", *OPTIONS, "-p", "depth"], "--param must be name=value; got 'depth'"),
        (["fit", "train.csv", *OPTIONS, "-p", "penalty=-1"], "penalty must be a number in ]0, inf["),
        (["fit", "train.csv", *OPTIONS, "-o", "no/model.skr"], "make "),
        (["fit", "train.csv", *OPTIONS, "-o", "."], "is a folder: name a file in it"),
        (["fit", "train.csv", *OPTIONS, "-o", "train.csv"], "is one of the files to be read"),
        (["fit", "train.csv", *OPTIONS, "--memory-limit", "2k"], "The fit needs"),
        (["fit", "train.csv", *OPTIONS, "--delimiter", ";"], "Is its delimiter ','? Use --delimiter"),
        (["fit", "train.csv", *OPTIONS, "--delimiter", "::"], "delimiter must be one character, as in ';'; got '::'"),
        (["fit", "long.csv", *OPTIONS], "long.csv cannot be read as CSV: row 1 has 3 fields and the header 2: '1,2,3'"),
        (["predict", "model.skr", "new.csv", "-o", "new.csv"], "is one of the files to be read"),
        (["predict", "model.skr", "new.csv", "-o", "out.xls"], "must end in .csv, .tsv, .parquet, .pq"),
        (["predict", "model.skr", "new.csv", "-o", "-", "--json"], "cannot share stdout"),
        (["predict", "model.skr", "new.csv", "--keep", "name"], "has no column 'name'"),
        (["predict", "model.skr", "clash.csv", "--keep", "*"], "has a column 'prediction' already"),
        (["predict", "none.skr", "new.csv"], "No such file or directory"),
        (["predict", "new.csv", "new.csv"], "cannot be loaded as a model"),
        (["evaluate", "model.skr", "new.csv", "-t", "prize"], "has no column 'prize'"),
        (["info", "train.csv"], "cannot be loaded as a model"),
        (["fit", "model.skr", *OPTIONS, "-o", "other.skr"], "model.skr names no table"),
        (["fit", "empty.csv", *OPTIONS], "cannot be read as CSV: No columns"),
        (["fit", "header.csv", *OPTIONS], "has 0 rows"),
        (["fit", "binary.csv", *OPTIONS], "cannot be read as CSV"),
        (["fit", "binary.parquet", *OPTIONS], "cannot be read as Parquet"),
        (["fit", "binary.csv.gz", *OPTIONS], "cannot be read as CSV"),
        (["fit", "ragged.csv", *OPTIONS], "cannot be read as CSV: "),
        (["fit", "twice.csv", *OPTIONS], "two columns are called 'a'"),
        (["fit", "train.csv", "new.csv", "ragged.csv", *OPTIONS], "ragged.csv"),
        (["fit", "train.csv", "other.csv", *OPTIONS], "differ in the columns 'area', 'b', 'condition'"),
        (["fit", "nothing.csv", *OPTIONS], "No row has a value of 'price'"),
    ],
)
def test_mistakes_get_a_message_and_change_no_file(arguments, match, model, folder, capsys):
    Path("empty.csv").write_text("")
    Path("header.csv").write_text("a,zip,condition,id,price\n")
    Path("binary.csv").write_bytes(bytes(range(256)))
    Path("binary.parquet").write_bytes(b"PAR1" + bytes(99))
    Path("binary.csv.gz").write_bytes(b"\x1f\x8b\x08" + bytes(range(99)))
    Path("ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    Path("long.csv").write_text("a,b\n1,2,3\n1,2,3\n")
    Path("twice.csv").write_text("a,a\n1,2\n")
    Path("other.csv").write_text("b,price\n1,2\n")
    Path("nothing.csv").write_text("id,zip,condition,price\n1,2,poor,\n1,2,good,\n")
    NEW.assign(prediction=1).to_csv("clash.csv", index=False)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    arguments = [*arguments, "--missing", "drop"] if "nothing.csv" in arguments else arguments
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert match in captured.err
    assert captured.err.startswith(("error: ", "Reading ", "note: "))
    assert "Traceback" not in captured.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_errors_are_json_for_machines(capsys):
    assert main(["info", "none.skr", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"error": "none.skr: No such file or directory", "notes": []}


@pytest.mark.parametrize("arguments", [["fit"], ["fit", "train.csv"], ["nonsense"], ["fit", "--nonsense"]])
def test_a_command_that_is_not_understood_exits_with_2(arguments, capsys):
    assert main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_bug_is_called_one(monkeypatch, capsys):
    monkeypatch.setattr("skewridge.cli._predict.read_model", lambda path: 1 / 0)
    assert main(["info", "model.skr"]) == 3
    assert "This is a bug in skewridge: ZeroDivisionError" in capsys.readouterr().err
    monkeypatch.setenv("SKEWRIDGE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["info", "model.skr"])


def test_a_file_cannot_move_the_cursor(model, capsys):
    NEW.rename(columns={"id": "\x1b[2Jid"}).to_csv("escape.csv", index=False)
    assert main(["predict", model, "escape.csv"]) == 0
    assert "\x1b" not in capsys.readouterr().err


def test_columns_that_count_rows_and_columns_without_names_are_noted(capsys):
    TRAIN.assign(number=range(120)).drop(columns="id").to_csv("train.csv")
    data = answer(capsys, "fit", "train.csv", "-t", "price", *QUICK)
    assert "train.csv: 1 columns without a name are ignored." in data["notes"]
    told = {column["name"]: column for column in data["columns"]}
    assert (told["number"]["kind"], told["number"]["note"]) == ("drop", "numbers the rows")
    assert "number" not in answer(capsys, "predict", "model.skr", "new.csv")["notes"]
    data = answer(capsys, "fit", "train.csv", "-t", "price", "--kind", "number=number", *QUICK)
    assert data["columns"][-1]["kind"] == "number"


# In a terminal, in a pipe, without this and that


def test_bars_in_a_terminal(model, monkeypatch, capsys):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["fit", "train.csv", *OPTIONS]) == 0
    assert main(["evaluate", "model.skr", "new.csv"]) == 0
    assert "local fits" in sys.stderr.getvalue()
    assert "┃" in sys.stdout.getvalue()


def test_lines_in_a_pipe(monkeypatch, capsys):
    monkeypatch.setattr("skewridge.cli._screen.LINE_EVERY", 0.0)
    assert main(["fit", "train.csv", *OPTIONS]) == 0
    assert "local fits: 1 of 1\n" in capsys.readouterr().err


def test_lines_in_a_pipe_tell_the_share_of_the_whole_fit(monkeypatch, capsys):
    monkeypatch.setattr("skewridge.cli._screen.LINE_EVERY", 0.0)
    assert main(["fit", "train.csv", "-t", "price", "--exclude", "id", "-o", "whole.skr"]) == 0
    told = re.findall(r"^([a-z -]+): (\d+)%$", capsys.readouterr().err, flags=re.MULTILINE)
    assert told[0][0] == "outer folds"
    shares = [int(share) for _, share in told]
    assert shares == sorted(shares)
    assert shares[-1] >= 99


def run(*arguments, **options):
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", **options.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, *arguments], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def test_ctrl_c_leaves_nothing_half_written(folder):
    before = files(folder)
    process = run("-m", "skewridge", "fit", "train.csv", "-t", "price", "--exclude", "id")
    lines = [process.stderr.readline(), process.stderr.readline()]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert lines[1].startswith("Fitting")
    assert process.returncode == 130, err
    assert "Interrupted. No file is half-written." in err
    assert files(folder) == before


def test_ctrl_c_before_or_after_a_command_ends_without_a_traceback(monkeypatch):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr("skewridge.cli._app.app", interrupted)
    assert main(["--help"]) == 130


def test_help_is_quick_and_a_reader_may_leave(model):
    code = (
        "import sys; from skewridge.cli import main; assert main(['--help']) == 0; "
        "assert not {'numpy', 'sklearn', 'pandas', 'numba', 'rich'} & set(sys.modules), sys.modules"
    )
    process = run("-c", code)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 0
    pd.concat([NEW] * 200).to_csv("many.csv", index=False)
    process = run("-m", "skewridge", "predict", model, "many.csv", "-o", "-")
    process.stdout.readline()
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    assert process.wait(timeout=60) == 0


def test_without_typer_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in ("skewridge.cli._app", "skewridge.cli._screen"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert main(["--help"]) == 1
    assert "pip install 'skewridge[cli]'" in capsys.readouterr().err


def test_without_pandas_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert main(["fit", "train.csv", "-t", "price"]) == 1
    assert "pip install 'skewridge[cli]'" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell, capsys, monkeypatch):
    monkeypatch.setenv("_SKEWRIDGE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "skewridge pre")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "skewridge pre")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    main([])
    assert "predict" in capsys.readouterr().out


def test_shells_complete_what_an_option_takes(capsys, monkeypatch):
    monkeypatch.setenv("_SKEWRIDGE_COMPLETE", "complete_bash")
    for words, found in (("skewridge fit t.csv -e ", "adaptive"), ("skewridge fit t.csv --missing i", "impute")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
        main([])
        assert found in capsys.readouterr().out.split()


def test_completion_can_be_shown(capsys, monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda *given: ("bash", "/bin/bash"))  # whatever runs the tests
    assert main(["--show-completion"]) == 0
    assert "_skewridge_completion" in capsys.readouterr().out


def test_the_version_is_told(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == skewridge.__version__


# What others do


class Told:
    def __init__(self, *given, **named):
        self.given, self.named = given, named

    def to_dict(self):
        return {"rows": len(self.given[0]), "columns": self.given[1].shape[1], **self.named}

    def __str__(self):
        return "a picture in words"


@pytest.mark.parametrize("command", ["diagnose", "plan"])
def test_advice_is_asked_for_with_response_and_columns(command, monkeypatch, capsys):
    monkeypatch.setattr(skewridge, command, Told, raising=False)
    data = answer(capsys, command, "train.csv", "-t", "price")
    assert (data["rows"], data["columns"]) == (120, 7)
    assert main([command, "train.csv", "-t", "price"]) == 0
    assert "a picture in words" in capsys.readouterr().out


def test_plan_passes_its_options_on(monkeypatch, capsys):
    monkeypatch.setattr(skewridge, "plan", Told, raising=False)
    data = answer(capsys, "plan", "train.csv", "-t", "price", "--nodes", "5", "--memory-limit", "2GB", "-j", "2")
    assert (data["n_nodes"], data["memory_limit"], data["n_jobs"]) == (5, "2GB", 2)


def test_demo_runs_the_demonstration(monkeypatch):
    asked = []
    monkeypatch.setattr("skewridge.demo.main", asked.append)
    assert main(["demo", "pictures"]) == 0
    assert asked == ["pictures"]


def test_demo_answers_in_json(monkeypatch, capsys):
    monkeypatch.setattr("skewridge.demo.recommend", lambda: iter([("SkewRidge()", 0.1, 0.2, 3.0)]))
    monkeypatch.setattr("skewridge.demo.compare", lambda penalty: iter(()))
    monkeypatch.setattr("skewridge.demo.draw", lambda path: None)
    told = answer(capsys, "demo", "pictures")
    assert told["results"] == [{"name": "SkewRidge()", "mse": 0.1, "rare_mse": 0.2, "seconds": 3.0}]
    assert told["picture"] == os.path.join("pictures", "figure1.png")


def test_every_command_answers_in_json(capsys):
    from typer.main import get_command

    from skewridge.cli._app import app

    commands = get_command(app).commands
    assert {"fit", "predict", "evaluate", "compare", "explain", "report", "info", "diagnose", "plan"} <= set(commands)
    for name, command in commands.items():
        assert "--json" in [option for one in command.params for option in one.opts], name


# Enemies by the hundred


@pytest.mark.parametrize("n_files", [100, pytest.param(500, marks=pytest.mark.full)])
def test_damaged_tables_get_an_error_or_predictions_and_never_run_code(n_files, folder):
    (folder / "fuzz").mkdir()
    TRAIN[:40].drop(columns="id").to_csv("table.csv", index=False)
    process = run("-m", "tests.fuzz_tables", folder / "table.csv", folder / "fuzz", str(n_files), cwd=ROOT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert f"{n_files} tables" in out


def test_numbers_are_read_to_the_last_digit(folder):
    numbers = np.random.default_rng(0).lognormal(0, 30, 500)
    pd.DataFrame({"x": numbers, "y": -numbers}).to_csv("numbers.csv", index=False)
    frame, _ = read_tables(["numbers.csv"])
    assert np.array_equal(frame["x"], numbers)
    assert np.array_equal(frame["y"], -numbers)
