"""Tables as people have them: what the command line reads, says of it, and refuses."""

import io
import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skewridge import load_model
from skewridge.cli import main
from skewridge.persist import read_model
from tests.cli.commands import answer, error

QUICK = ["-e", "dac", "-p", "n_nodes=1", "-p", "bandwidth=1", "-p", "penalty=0.01", "-j", "1"]
RNG = np.random.default_rng(0)
HOUSES = pd.DataFrame({"rooms": RNG.integers(1, 9, 60), "fläche": RNG.gamma(4, 25, 60).round(1)})
HOUSES["price"] = (2000 * HOUSES["fläche"] + 100 * HOUSES["rooms"]).round(2)
FIT = ["-t", "price", *QUICK]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    HOUSES.to_csv("plain.csv", index=False)
    return tmp_path


def fitted(capsys, *arguments):
    """The model that is fitted to a table, as bytes, and the notes."""
    notes = answer(capsys, "fit", *arguments, *FIT, "-o", "model.skr")["notes"]
    return Path("model.skr").read_bytes(), notes


def german(number):
    return f"{number:,}".replace(",", "T").replace(".", ",").replace("T", ".")


def piped(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_table_of_a_german_spreadsheet_gives_the_model_of_a_plain_one(capsys):
    plain, notes = fitted(capsys, "plain.csv")
    assert not [note for note in notes if "read as" in note]
    HOUSES.assign(price=HOUSES["price"].map(german)).to_csv(
        "german.csv", index=False, sep=";", decimal=",", encoding="latin-1"
    )
    Path("plain.skr").write_bytes(plain)
    _, notes = fitted(capsys, "german.csv")
    found, other = read_model("model.skr"), read_model("plain.skr")
    assert (found.about.pop("decimal"), other.about.get("decimal")) == (",", None)  # for files that do not tell
    assert pickle.dumps(found.about) == pickle.dumps(other.about)
    np.testing.assert_array_equal(found.model.predict(HOUSES), other.model.predict(HOUSES))
    assert "read as: semicolon, decimal comma, thousands point, latin-1" in notes
    assert main(["predict", "model.skr", "german.csv"]) == 0
    assert "note: read as: semicolon, decimal comma, thousands point, latin-1\n" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv.gz", "csv.bz2", "csv.zst", "zip", "xlsx", "feather"])
def test_packed_files_and_other_formats_give_the_same_model(capsys, ending):
    name = f"rows.{ending}"
    plain, _ = fitted(capsys, "plain.csv")
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
        HOUSES.to_excel(name, index=False)
    elif name.endswith("feather"):
        HOUSES.to_feather(name)
    elif name.endswith("zst"):
        pa = pytest.importorskip("pyarrow")
        with pa.CompressedOutputStream(name, "zstd") as file:
            file.write(Path("plain.csv").read_bytes())
    else:
        compression = {"method": "zip", "archive_name": "x.csv"} if ending == "zip" else "infer"
        HOUSES.to_csv(name, index=False, compression=compression)
    found, notes = fitted(capsys, name)
    assert found == plain
    assert not [note for note in notes if "read as" in note]


def test_standard_input_is_read_whatever_it_is(capsys, monkeypatch):
    plain, _ = fitted(capsys, "plain.csv")
    lines = HOUSES.to_json(orient="records", lines=True, double_precision=15).encode()
    for content in (Path("plain.csv").read_bytes(), lines):
        piped(monkeypatch, content)
        assert fitted(capsys, "-")[0] == plain
    piped(monkeypatch, Path("plain.csv").read_bytes())
    assert main(["predict", "model.skr", "-", "-o", "-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 61


def test_standard_input_that_cannot_be_read_is_called_that(capsys, monkeypatch):
    piped(monkeypatch, b"a,price\n1,2\n1,2,3\n")
    assert "error: standard input cannot be read as CSV: row 2 has 3 fields" in error(capsys, "fit", "-", *FIT)
    piped(monkeypatch, b"")
    assert "standard input cannot be read as CSV: No columns: the file is empty" in error(capsys, "fit", "-", *FIT)
    assert "Standard input can be read once; got '-' twice" in error(capsys, "fit", "-", "-", *FIT)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert "Nothing is piped into standard input" in error(capsys, "fit", "-", *FIT)


def test_standard_input_beside_a_file_keeps_its_name(capsys, monkeypatch):
    piped(monkeypatch, "rooms,fläche,price\n1,2,text\n".encode())
    assert "row 1 of standard input" in error(capsys, "fit", "plain.csv", "-", *FIT)


def test_dialects_of_several_files_are_told_apart(capsys):
    HOUSES.to_csv("b.csv", index=False, sep=";")
    HOUSES.to_csv("c.csv", index=False, sep=";")
    _, notes = fitted(capsys, "plain.csv", "b.csv", "c.csv")
    assert [note for note in notes if "read as" in note] == ["read as: semicolon (b.csv, c.csv)"]


def test_options_override_what_is_found(capsys):
    Path("rows.csv").write_text("x;price\n" + "".join(f"{i},234;{i}.500\n" for i in range(1, 40)))
    data = answer(capsys, "diagnose", "rows.csv", "-t", "price", "--decimal", ",")
    assert not [note for note in data["notes"] if "If that is wrong" in note]
    found = answer(capsys, "fit", "rows.csv", *FIT)
    assert any(
        "'x' holds '1,234', read as 1.234. If that is wrong, add --decimal '.'" in note for note in found["notes"]
    )
    assert "decimal must be one of '.', ','; got ';'" in error(capsys, "fit", "rows.csv", *FIT, "--decimal", ";")
    assert "encoding must be one that Python knows" in error(capsys, "fit", "rows.csv", *FIT, "--encoding", "x")
    HOUSES.to_csv("tabs.txt", index=False, sep="\t")
    assert fitted(capsys, "tabs.txt", "--delimiter", "\\t")[0] == fitted(capsys, "plain.csv")[0]


def test_one_unknown_among_numbers_is_a_gap_and_its_thousands_are_those_of_the_file(capsys):
    sizes = [german(1000 * (i + 1)) for i in range(59)] + ["unknown"]
    HOUSES.assign(size=sizes).to_csv("rows.csv", index=False, sep=";", decimal=",")
    data = answer(capsys, "fit", "rows.csv", *FIT)
    [told] = [column for column in data["columns"] if column["name"] == "size"]
    assert (told["kind"], told["n_gaps"]) == ("number", 1)
    assert "'unknown'" in told["note"]
    HOUSES.assign(size=[1000.0 * (i + 1) for i in range(59)] + [np.nan]).to_csv("other.csv", index=False)
    for name in ("rows", "other"):
        assert main(["predict", "model.skr", f"{name}.csv", "-o", f"{name}.out.csv"]) == 0
    assert Path("rows.out.csv").read_bytes() == Path("other.out.csv").read_bytes()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("rooms;price\n1;2\n1;2;3\n", "rows.csv cannot be read as CSV: row 2 has 3 fields and the header 2: '1;2;3'"),
        ("rooms;price;rooms\n1;2;3\n", "two columns are called 'rooms'. Rename one of them"),
        ("rooms;Price\n1;2\n", "has no column 'price'; it has 'rooms', 'Price'"),
        ("rooms;price\n" + "1;2,5\n" * 9 + "2;dear\n", "Column 'price' should hold numbers; 1 of 10 values are none"),
        ("rooms;price\n1;\n2;\n", "No row has a value of 'price'"),
        ("", "No columns: the file is empty"),
        ("rooms;price\n", "0 rows"),
    ],
)
def test_what_is_refused_in_a_dialect(capsys, content, match):
    Path("rows.csv").write_text(content)
    assert match in error(capsys, "fit", "rows.csv", *FIT)


def test_gaps_in_the_target_are_left_out_with_a_note(capsys):
    HOUSES.assign(price=HOUSES["price"].where(HOUSES.index > 2)).to_csv("rows.csv", index=False, sep=";", decimal=",")
    assert "3 of 60 rows without 'price' are left out." in fitted(capsys, "rows.csv")[1]


def test_sheets_are_named_and_the_first_is_said(capsys):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter("book.xlsx") as book:
        HOUSES.to_excel(book, sheet_name="houses", index=False)
        pd.DataFrame({"a": [1]}).to_excel(book, sheet_name="notes", index=False)
    found, notes = fitted(capsys, "book.xlsx")
    assert "read as: sheet 'houses', the first of 2" in notes
    again, notes = fitted(capsys, "book.xlsx", "--sheet", "houses")
    assert (again == found, notes) == (True, [])
    assert "book.xlsx cannot be read as Excel: no sheet 'x'; it has 'houses', 'notes'" in error(
        capsys, "fit", "book.xlsx", *FIT, "--sheet", "x"
    )


@pytest.fixture
def small_memory(monkeypatch):
    """A machine that holds fits, and not the text of a table."""
    monkeypatch.setattr("skewridge.io.streams.TEXT", 1e-9)


@pytest.mark.usefixtures("small_memory")
def test_a_table_that_memory_does_not_hold_is_fitted_and_predicted_in_pieces(capsys):
    HOUSES.to_csv("rows.csv", index=False, sep=";", decimal=",")
    data = answer(capsys, "fit", "rows.csv", *FIT, "--exclude", "rooms")
    assert (data["features"], data["n_rows"]) == (["fläche"], 60)
    assert any("is read in pieces: columns must be numbers without gaps" in note for note in data["notes"])
    assert "read as: semicolon, decimal comma" in data["notes"]
    refused = error(capsys, "predict", "model.skr", "rows.csv")
    assert "whose predictions go to Parquet. Name a .parquet file by --output; got predictions.csv" in refused
    assert answer(capsys, "predict", "model.skr", "rows.csv", "-o", "out.parquet")["output"] == "out.parquet"
    model = load_model("model.skr")
    assert np.array_equal(pd.read_parquet("out.parquet")["prediction"], model.predict(HOUSES[["fläche"]]))
    assert "rows.csv is read as a whole" in error(capsys, "predict", "model.skr", "rows.csv", "--keep", "price")
    refused = error(capsys, "fit", "rows.csv", *FIT, "--holdout", "0.1")
    assert "--holdout and --report need the table in memory, which does not hold it" in refused
    refused = error(capsys, "fit", "rows.csv", "-t", "price", "-e", "adaptive", "--groups", "rooms")
    assert "--groups: these need the table in memory, which does not hold it. Leave them out." in refused


@pytest.mark.usefixtures("small_memory")
def test_a_table_that_memory_does_not_hold_is_refused_with_figures(capsys):
    refused = error(capsys, "fit", "plain.csv", "-t", "price")
    assert "plain.csv is read as a whole, which needs at least 978 bytes, and the machine has" in refused
    assert "--estimator adaptive with columns of numbers only" in error(capsys, "diagnose", "plain.csv", "-t", "price")
    HOUSES.assign(town="Oslo").to_csv("rows.csv", index=False)
    refused = error(capsys, "fit", "rows.csv", *FIT)
    assert "column 'town' should hold numbers; row 0 holds 'Oslo'" in refused
