"""Tables that people have: names with spaces, numbers as they are written elsewhere, files that differ in a column."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

from skewridge.cli import main
from skewridge.cli._fit import held_out
from skewridge.cli._tables import read_tables
from tests.cli.commands import error

QUICK = ["-e", "dac", "-p", "n_nodes=1", "-p", "bandwidth=1", "-p", "penalty=0.01", "-j", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_numbers_with_a_decimal_comma_are_read_so_in_a_file_that_has_none(folder):
    """1.250 is 1250 for a model whose column was written 1.250,5."""
    pd.DataFrame({"x": [f"{i}.{i}50,5" for i in range(1, 9)], "y": range(8)}).to_csv("german.csv", index=False)
    pd.DataFrame({"x": ["1.250", "7.250"]}).to_csv("whole.csv", index=False)
    pd.DataFrame({"x": ["1.250,0", "7.250,0"]}).to_csv("same.csv", index=False)
    assert main(["fit", "german.csv", "-t", "y", *QUICK]) == 0
    found = []
    for name in ("whole", "same"):
        assert main(["predict", "model.skr", f"{name}.csv", "-o", f"of_{name}.csv"]) == 0
        found.append(pd.read_csv(f"of_{name}.csv"))
    assert found[0].equals(found[1])


def test_a_column_of_texts_is_one_in_every_file_of_a_command(folder):
    pd.DataFrame({"x": ["1.250,5", "7,5"], "zip": ["x1", "007"], "n": [1, 2]}).to_csv("a.csv", index=False)
    pd.DataFrame({"x": ["1.250", "7.000"], "zip": ["007", "008"], "n": [3, 2]}).to_csv("b.csv", index=False)
    pd.DataFrame({"x": [None, None], "zip": ["true", "false"], "n": pd.array([1, None], "Int64")}).to_csv(
        "c.csv", index=False
    )
    found, decimal = read_tables(["a.csv", "b.csv", "c.csv"])
    assert found["x"].tolist()[:4] == [1250.5, 7.5, 1250.0, 7000.0]  # the first file tells the sign of the second
    assert found["x"].isna().tolist() == [False] * 4 + [True] * 2
    assert decimal == ","
    assert found["zip"].tolist() == ["x1", "007", "007", "008", "true", "false"]
    assert found["n"].dtype == float


def fitted_with(names, *more):
    values = np.random.default_rng(0).normal(size=(20, len(names)))
    pd.DataFrame(values, columns=names).to_csv("table.csv", index=False)
    return main(["fit", "table.csv", "-t", "y", *QUICK, *more])


@pytest.mark.parametrize("option", ["--exclude", "--features", "--categorical"])
def test_a_name_that_spaces_make_that_of_another_column_is_refused(option, capsys):
    assert fitted_with(["a", " a", "y"], option, " a") == 1
    assert "The columns 'a' and ' a' differ by spaces alone" in capsys.readouterr().err


def test_columns_to_keep_are_found_exactly_and_once(capsys):
    assert fitted_with(["a", "b ", "b", "y"]) == 0
    message = error(capsys, "predict", "model.skr", "table.csv", "--keep", "a,b ")
    assert "The columns 'b' and 'b ' differ by spaces alone" in message
    assert main(["predict", "model.skr", "table.csv", "--keep", "y,y"]) == 0
    assert pd.read_csv("predictions.csv").columns.tolist() == ["y", "prediction"]


def houses(n=1000):
    """A table with lengths and dates as text, and truth values."""
    rng = np.random.default_rng(0)
    far, day = rng.uniform(1, 9, n), pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    frame = pd.DataFrame({"far": [f"{x:.1f} km" for x in far], "sold": day.strftime("%Y-%m-%d"), "new": far > 5})
    return frame.astype(str).assign(y=far)


@pytest.mark.parametrize("column", ["far", "sold", "new"])
def test_texts_that_only_rows_held_out_have_do_not_end_a_fit(column, monkeypatch, capsys):
    monkeypatch.setattr("skewridge.cli._fit.baselines", lambda *given: {})  # trees take their time
    table = houses()
    table.loc[_held_out(table), column] = "no idea"
    table.to_csv("table.csv", index=False)
    assert main(["fit", "table.csv", "-t", "y", *QUICK]) == 0
    out, err = capsys.readouterr()
    assert f"note: 2 of them are not judged: the rows that were fitted do not explain '{column}' ('no idea')." in err
    assert "Judged by 98 rows" in out


def _held_out(table):
    return np.flatnonzero(held_out(table["y"].to_numpy(), None, 0, {}))[:2]


def test_a_fit_that_cannot_be_judged_changes_no_file(folder, monkeypatch, capsys):
    monkeypatch.setattr("skewridge.cli._fit.figures", lambda *given: 1 / 0)
    houses().to_csv("table.csv", index=False)
    assert main(["fit", "table.csv", "-t", "y", *QUICK]) == 3
    assert [path.name for path in folder.iterdir()] == ["table.csv"]


def test_predictions_on_stdout_are_utf8_in_any_locale(monkeypatch, capsysbinary):
    pd.DataFrame({"größe": [1.0, 2.0, 4.0], "y": [1, 2, 3]}).to_csv("table.csv", index=False)
    assert main(["fit", "table.csv", "-t", "y", *QUICK]) == 0
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    assert main(["predict", "model.skr", "table.csv", "--keep", "größe", "-o", "-"]) == 0
    assert out.getvalue().decode().startswith("größe,prediction\n1.0,")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_stream_that_is_closed_is_no_error(stream, monkeypatch):
    assert fitted_with(["a", "y"]) == 0
    monkeypatch.setattr(sys, stream, None)
    for arguments in (["info", "model.skr"], ["predict", "model.skr", "table.csv", "-o", "-"]):
        assert main(arguments) == 0
    assert main(["info", "nothing.skr"]) == 1
