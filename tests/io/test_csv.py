import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skewridge.io import csv
from skewridge.io.csv import read_columns, scan, typed
from skewridge.io.csv_dialect import NULLS, Dialect, ReadOptions
from skewridge.io.files import open_files
from skewridge.io.formats import reader_of
from skewridge.io.streams import kind_of, packing_of

pa = pytest.importorskip("pyarrow")

CELLS = st.text(alphabet='ab,;"\n\r \t5', max_size=6).filter(lambda text: text not in NULLS)
FAST = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def written(text):
    """A field as RFC 4180 has it."""
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',;"\n\r\t') else text


@FAST
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8),
    size=st.sampled_from([1, 2, 7, 30, 10**6]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    delimiter=st.sampled_from([",", ";", "\t"]),
)
def test_any_texts_are_read_as_they_were_written(rows, size, end, delimiter, tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "CSV_BYTES", size)
    lines = [delimiter.join(map(written, row)) for row in [("p", 'q "r"\nz', "s"), *rows]]
    file = tmp_path / "rows.csv"
    file.write_bytes((end.join(lines) + end).encode())
    table = read_columns(str(file), ["p", 'q "r"\nz', "s"], ReadOptions(delimiter))[0]
    assert table.column_names == ["p", 'q "r"\nz', "s"]
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == rows
    parts = open_files(file, ReadOptions(delimiter)).parts
    assert sum(part.n_rows for part in parts) == len(rows)
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]


def test_a_quote_inside_a_field_is_a_character(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "CSV_BYTES", 4)
    (tmp_path / "rows.csv").write_text('a,b\n5" pipe,1\n6" pipe,2\n"x"y,3\n')
    assert read_columns(str(tmp_path / "rows.csv"))[0].to_pylist() == [
        {"a": '5" pipe', "b": 1},
        {"a": '6" pipe', "b": 2},
        {"a": "xy", "b": 3},
    ]


@pytest.mark.parametrize("size", [3, 10**6])
def test_a_quote_that_is_left_open_is_told_with_its_place(tmp_path, monkeypatch, size):
    monkeypatch.setattr(csv, "CSV_BYTES", size)
    (tmp_path / "rows.csv").write_text('a,b\n1,2\n3,"4\n5,6\n')
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read as CSV: a quote is left open .* byte \d+"):
        open_files(tmp_path / "rows.csv")
    monkeypatch.setattr(csv, "ROW_BYTES", 5)
    (tmp_path / "rows.csv").write_text('a,b\n1,2\n3,"4' + "\n5,6" * 50 + '"\n')
    if size == 3:
        with pytest.raises(ValueError, match="a quote is left open in the row that starts at byte 8"):
            open_files(tmp_path / "rows.csv")


def test_a_single_column_may_lack_values_and_several_skip_empty_lines(tmp_path):
    (tmp_path / "one.csv").write_text("a\n1\n\n3\n")
    assert read_columns(str(tmp_path / "one.csv"))[0]["a"].to_pylist() == [1, None, 3]
    assert [part.n_rows for part in open_files(tmp_path / "one.csv").parts] == [3]
    (tmp_path / "two.csv").write_text("\n\na,b\n1,2\n\n3,4\n")
    assert read_columns(str(tmp_path / "two.csv"))[0]["b"].to_pylist() == [2, 4]


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2", None], [1, -2, None]),
        (["1", " +2.5 ", "  "], [1.0, 2.5, None]),
        (["True", "FALSE", None], [True, False, None]),
        (["True", "1"], ["True", "1"]),
        (["2020-01-01", "2020-01-02"], ["2020-01-01", "2020-01-02"]),
        (["+", "1"], ["+", "1"]),
        ([None, None], [None, None]),
    ],
)
def test_columns_are_what_all_their_fields_are(texts, values):
    assert typed(pa.chunked_array([pa.array(texts, pa.string())])).to_pylist() == values


def test_delimiters_are_one_character(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    for odd in ("::", "", '"', "\n", "é"):
        with pytest.raises(ValueError, match="delimiter must be one character"):
            scan(str(tmp_path / "rows.csv"), ReadOptions(odd))


def test_names_tell_kinds():
    assert [kind_of(name) for name in ("a.b.CSV", "a.tsv.GZ", "a.gz", "a")] == [".csv", ".tsv", "", ""]
    assert packing_of("a.csv.Xz") == ".xz"
    assert reader_of("rows.txt.zst").name == "CSV"
    assert Dialect(("a", "\0001"), ",").names == ["a"]


def test_folders_take_notes_for_notes(tmp_path):
    (tmp_path / "README.txt").write_text("not,a\ntable\n")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    assert len(open_files(tmp_path).parts) == 1
    with pytest.raises(ValueError, match="row 0 has 1 fields and the header 2: 'table'"):
        open_files(tmp_path / "README.txt")
