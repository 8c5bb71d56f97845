"""Commands name rows as the file has them, tell of rows outside the fit, and never write over what they read."""

import os
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skewridge import DacKernelRidge, save_model
from skewridge.cli import main
from tests.cli.commands import answer, error

QUICK = ["-e", "dac", "-p", "n_nodes=1", "-p", "bandwidth=1", "-p", "penalty=0.01"]
RNG = np.random.default_rng(0)
HOUSES = pd.DataFrame({"bedrooms": RNG.integers(1, 9, 200), "area": RNG.gamma(4, 25, 200).round(1)})
HOUSES["price"] = 20 * HOUSES["area"] + 100 * HOUSES["bedrooms"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    HOUSES.to_csv("train.csv", index=False)
    return tmp_path


@cache
def fitted_file():
    assert main(["fit", "train.csv", "-t", "price", *QUICK]) == 0
    return Path("model.skr").read_bytes()


@pytest.fixture
def model(folder):
    Path("model.skr").write_bytes(fitted_file())
    return "model.skr"


# Rows have the numbers that they have in the file


def with_an_outlier(at, frame=HOUSES):
    """A table with rows that lack something before one whose price is absurd."""
    broken = frame.assign(price=frame["price"].where(frame.index != at, 1e9))
    return broken.assign(area=broken["area"].where(broken.index % 10 != 3))


@pytest.mark.parametrize("estimator", ["skew", "adaptive"])
def test_rows_that_decide_a_fit_have_the_numbers_of_the_file(estimator, capsys):
    with_an_outlier(at=100).to_csv("train.csv", index=False)
    options = [] if estimator == "skew" else ["-p", "n_centers=50", "-p", "bandwidth=1", "-p", "penalty=0.001"]
    data = answer(capsys, "fit", "train.csv", "-t", "price", "-e", estimator, "--missing", "drop", *options)
    notes = " ".join(data["notes"])
    assert "Row 101 holds" in notes if estimator == "skew" else "Rows 101 dominate the fit: row 101 alone" in notes
    told = answer(capsys, "report", "model.skr", "train.csv", "--missing", "drop")["cautions"]
    caution = told["dominant_row" if estimator == "skew" else "dominant_rows"]
    assert caution.startswith("Training row 101 " if estimator == "skew" else "Training rows 101 ")


def test_rows_of_several_files_are_named_with_their_file(capsys):
    with_an_outlier(at=160)[:120].to_csv("part-1.csv", index=False)
    with_an_outlier(at=160)[120:].to_csv("part-2.csv", index=False)
    options = ["-p", "n_centers=50", "-p", "bandwidth=1", "-p", "penalty=0.001"]
    data = answer(capsys, "fit", "part-*.csv", "-t", "price", "-e", "adaptive", "--missing", "drop", *options)
    notes = " ".join(data["notes"])
    assert "Rows 41 of part-2.csv" in notes
    assert "dominate the fit: row 41 of part-2.csv alone" in notes


@pytest.mark.parametrize("column", ["area", "price"])
def test_a_word_among_numbers_has_the_row_of_the_file(column, capsys, model):
    odd = HOUSES.astype({column: object}).assign(bedrooms=HOUSES["bedrooms"].where(HOUSES.index > 20))
    odd.loc[50, column] = "big"
    odd.to_csv("odd.csv", index=False)
    commands = [["fit", "odd.csv", "-t", "price", *QUICK], ["evaluate", model, "odd.csv"]]
    commands += [["predict", model, "odd.csv"]] if column == "area" else []
    for command in commands:
        told = error(capsys, *command, "--missing", "drop")
        assert f"Column '{column}'" in told
        if column == "price" or command[0] != "fit":  # a column of words is one of categories at fit
            assert "'big' in row 51" in told
    odd[:30].to_csv("part-1.csv", index=False)
    odd[30:].to_csv("part-2.csv", index=False)
    told = error(capsys, "evaluate", model, "part-1.csv", "part-2.csv", "--missing", "drop")
    assert "'big' in row 21 of part-2.csv" in told


# Rows outside the fit


def test_rows_outside_the_range_of_the_fit_are_named_with_column_and_distance(model, capsys):
    new = HOUSES[:40].copy()
    new.loc[[16, 30], "bedrooms"] = [20, -1]
    new.loc[5, "area"] = 1e4
    new.to_csv("new.csv", index=False)
    data = answer(capsys, "predict", model, "new.csv")
    low, high = HOUSES["area"].min(), HOUSES["area"].max()
    note = next(note for note in data["notes"] if "outside" in note)
    assert note.startswith("3 of 40 rows lie outside the range that the model was fitted to")
    assert "'bedrooms' (1 to 8): 20 in row 17, -1 in row 31" in note
    assert f"'area' ({low:g} to {high:g}): 10000 in row 6" in note
    told = {found["column"]: found for found in data["outside"]}
    assert (told["bedrooms"]["low"], told["bedrooms"]["high"]) == pytest.approx((1, 8))
    assert [far["row"] for far in told["bedrooms"]["rows"]] == ["17", "31"]
    assert told["bedrooms"]["rows"][0]["value"] == pytest.approx(20)
    assert told["bedrooms"]["rows"][0]["beyond"] == pytest.approx(12 / 7)
    cautions = answer(capsys, "report", model, "new.csv")["cautions"]
    assert "'bedrooms' (1 to 8): 20 in row 17" in cautions["outside_the_fit"]
    assert "outside" not in " ".join(answer(capsys, "predict", model, "train.csv")["notes"])
    assert answer(capsys, "predict", model, "train.csv")["outside"] == []


def test_rows_outside_are_counted_without_those_that_are_left_out(model, capsys):
    new = HOUSES[:40].astype({"bedrooms": float})
    new.loc[3, "area"] = np.nan
    new.loc[16, "bedrooms"] = 20
    new.to_csv("new.csv", index=False)
    for policy in ("drop", "impute"):
        notes = " ".join(answer(capsys, "predict", model, "new.csv", "--missing", policy)["notes"])
        assert "20 in row 17" in notes


def test_a_model_of_the_library_knows_its_range(capsys):
    known = DacKernelRidge(1, bandwidth=1.0, penalty=0.01).fit(HOUSES[["bedrooms", "area"]], HOUSES["price"])
    save_model(known, "library.skr")
    HOUSES[:30].assign(bedrooms=9).to_csv("new.csv", index=False)
    notes = " ".join(answer(capsys, "predict", "library.skr", "new.csv")["notes"])
    assert "30 of 30 rows lie outside" in notes
    assert "'bedrooms' (1 to 8): 9 in row 1, 9 in row 2, 9 in row 3, 9 in row 4, 9 in row 5 and 25 more" in notes


def test_predictions_below_every_response_are_noted_with_the_cure(capsys):
    falling = HOUSES.assign(price=np.maximum(0.0, 5000 - 50 * HOUSES["area"]))
    falling.to_csv("train.csv", index=False)
    assert main(["fit", "train.csv", "-t", "price", *QUICK]) == 0
    data = answer(capsys, "predict", "model.skr", "train.csv")
    assert data["least"] < 0
    negative = (pd.read_csv("predictions.csv")["prediction"] < 0).sum()
    note = next(note for note in data["notes"] if "below 0" in note)
    assert note.startswith(f"{negative} predictions are below 0, and no response that was fitted is")
    assert "-p 'bounds=[0, null]'" in note
    assert "bounds=(0, None)" in answer(capsys, "report", "model.skr", "train.csv")["cautions"]["negative"]
    assert main(["fit", "train.csv", "-t", "price", *QUICK, "-p", "bounds=[0, null]"]) == 0
    data = answer(capsys, "predict", "model.skr", "train.csv")
    assert data["least"] == 0
    assert not any("below 0" in note for note in data["notes"])


# What is read is never written over


def spellings(file):
    os.symlink(file, "link" + Path(file).suffix)
    os.link(file, "hard" + Path(file).suffix)
    return [file, "link" + Path(file).suffix, "hard" + Path(file).suffix, f"../{Path.cwd().name}/{file}"]


def test_no_output_is_one_of_the_inputs(model, folder, capsys):
    shutil.copy(model, "model.csv")  # whose name predict would write to
    outputs = {kind: [*spellings(kind)] for kind in ("model.skr", "train.csv")}
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for out in (*outputs["model.skr"], *outputs["train.csv"]):
        assert "is one of the files to be read" in error(capsys, "report", model, "train.csv", "-o", out)
    for out in outputs["train.csv"]:
        assert "is one of the files to be read" in error(capsys, "predict", model, "train.csv", "-o", out)
        assert "is one of the files to be read" in error(capsys, "fit", "train.csv", "-t", "price", *QUICK, "-o", out)
    assert "is one of the files to be read" in error(capsys, "predict", "model.csv", "train.csv", "-o", "model.csv")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert main(["fit", "train.csv", "-t", "price", *QUICK, "-o", model]) == 0  # the old model is no input


# Tables of any dialect


def test_a_folder_is_read_with_all_its_files(capsys, folder):
    (folder / "rows").mkdir()
    HOUSES[:50].to_csv("rows/1.csv", index=False)
    HOUSES[50:].to_csv("rows/2.tsv.gz", index=False, sep="\t")
    assert answer(capsys, "fit", "rows", "-t", "price", *QUICK)["n_rows"] == 200
    os.symlink("gone.csv", "rows/3.csv")
    assert "rows/3.csv is a link to" in error(capsys, "fit", "rows", "-t", "price", *QUICK)


def test_the_index_of_pandas_is_no_feature_unless_it_is_named(capsys):
    HOUSES.sort_values("price").rename_axis("number").to_parquet("train.parquet")
    assert answer(capsys, "fit", "train.parquet", "-t", "price", *QUICK)["features"] == ["bedrooms", "area"]
    named = answer(capsys, "fit", "train.parquet", "-t", "price", "--features", "area,number", *QUICK, "-o", "n.skr")
    assert named["features"] == ["area", "number"]
    assert answer(capsys, "predict", "n.skr", "train.parquet")["n_rows"] == 200
    assert main(["predict", "model.skr", "train.parquet", "--keep", "number"]) == 0
    assert list(pd.read_csv("predictions.csv")) == ["number", "prediction"]
    assert main(["predict", "model.skr", "train.parquet", "--keep", "*"]) == 0
    assert list(pd.read_csv("predictions.csv")) == ["bedrooms", "area", "price", "prediction"]


def test_numbers_and_texts_are_what_they_look_like(capsys):
    text = 'id,a,b,c,d,e,price\n"x\ny",+1.5, 2 ,True,2020-01-01,,1\n"z, ""q""",-2,NA,FALSE,12:30,None,2\n'
    Path("odd.csv").write_text(text)
    from skewridge.cli._tables import find_files, read_tables

    frame, _ = read_tables(find_files(["odd.csv"]))
    assert frame["id"].tolist() == ["x\ny", 'z, "q"']
    assert frame["a"].tolist() == [1.5, -2.0]
    assert frame["b"].tolist() == [2.0, pytest.approx(np.nan, nan_ok=True)]
    assert frame["c"].tolist() == [True, False]
    assert frame["d"].tolist() == ["2020-01-01", "12:30"]
    assert frame["e"].isna().all()
    assert frame["price"].dtype == np.int64


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a,b\n1,2\n3\n", "row 2 has 1 fields and the header 2"),
        ("a,b\n1,2\n3,4\n5,6,7\n", "row 3 has 3 fields and the header 2"),
        ('a,b\n1,"2\n3,4\n', "a quote is left open"),
        ("", "No columns"),
    ],
)
def test_rows_that_do_not_fit_the_header_are_named(text, match, capsys):
    Path("odd.csv").write_text(text)
    told = error(capsys, "fit", "odd.csv", "-t", "b", *QUICK)
    assert "odd.csv cannot be read as CSV: " in told
    assert match in told


# Cells that spreadsheets would run


def test_formulas_are_escaped_on_request(model, capsys):
    texts = ["=1+1", "+cmd", "-cmd", "@sum", "\ttab", "plain", "a=b", "'quoted"] * 25
    HOUSES.assign(**{"=name": texts}).to_csv("new.csv", index=False)
    assert main(["predict", model, "new.csv", "--keep", "=name,price"]) == 0
    assert pd.read_csv("predictions.csv")["=name"].tolist() == texts
    assert main(["predict", model, "new.csv", "--keep", "=name,price", "--escape-formulas"]) == 0
    found = pd.read_csv("predictions.csv")
    assert list(found) == ["'=name", "price", "prediction"]
    assert found["'=name"].tolist()[:8] == ["'=1+1", "'+cmd", "'-cmd", "'@sum", "'\ttab", "plain", "a=b", "'quoted"]
    assert np.array_equal(found["price"], HOUSES["price"])
    assert "--escape-formulas is for CSV" in error(
        capsys, "predict", model, "new.csv", "-o", "out.parquet", "--escape-formulas"
    )
