"""Tables in every dialect are read back as they were written, and doubts are told."""

import bz2
import gzip
import io
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skewridge.execution.chunked import Table
from skewridge.io import csv
from skewridge.io.csv_dialect import ReadOptions, find_delimiter, find_encoding, find_numbers
from skewridge.io.files import open_files, read_whole

pa = pytest.importorskip("pyarrow")

FAST = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
WORDS = st.text(alphabet='aé ,;|"\n\t5.', max_size=8).map(lambda text: f"x{text}x")
NUMBERS = st.floats(-1e7, 1e7).map(lambda x: round(x, 4))
NAMES = ("size", "count, all", "note | more", "price; net")


def grouped(number, decimal, thousands):
    """A number with decimals or without as people write it."""
    text = f"{number:,}" if thousands else repr(number)
    return text.replace(",", "T").replace(".", decimal).replace("T", thousands)


def field(text, delimiter):
    return '"' + text.replace('"', '""') + '"' if set(text) & set(f'{delimiter}"\n\r') else text


@st.composite
def dialects(draw):
    decimal = draw(st.sampled_from(".,"))
    return {
        "delimiter": draw(st.sampled_from(",;\t|")),
        "decimal": decimal,
        "thousands": draw(st.sampled_from(["", "," if decimal == "." else ".", " ", "'"])),
        "encoding": draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])),
        "end": draw(st.sampled_from(["\n", "\r\n"])),
        "packing": draw(st.sampled_from(["", ".gz", ".bz2", ".zst", ".zip"])),
    }


def packed(content, packing):
    if packing == ".zip":
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inside/rows.csv", content)
        return file.getvalue()
    if packing == ".zst":
        return pa.Codec("zstd").compress(content, asbytes=True)
    return {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[packing](content)


@FAST
@given(
    rows=st.lists(st.tuples(NUMBERS, st.integers(-(10**9), 10**9), WORDS, NUMBERS | st.none()), min_size=2, max_size=9),
    how=dialects(),
    size=st.sampled_from([7, 100, 10**6]),
)
def test_tables_in_any_dialect_are_read_as_they_were_written(rows, how, size, tmp_path, monkeypatch):
    rows = [*rows, (0.5, 1234, "xéx", -1234.25)]  # what tells decimal sign and encoding
    monkeypatch.setattr(csv, "CSV_BYTES", size)
    texts = [
        [x if isinstance(x, str) else "" if x is None else grouped(x, how["decimal"], how["thousands"]) for x in row]
        for row in rows
    ]
    lines = [how["delimiter"].join(field(text, how["delimiter"]) for text in row) for row in [NAMES, *texts]]
    content = (how["end"].join(lines) + how["end"]).encode(how["encoding"])
    file = tmp_path / f"rows.csv{how['packing']}"
    file.write_bytes(packed(content, how["packing"]))
    table, said = read_whole(str(file))
    assert table.column_names == list(NAMES)
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == rows
    assert ("decimal comma" in said) is (how["decimal"] == ",")
    assert ("semicolon" in said) is (how["delimiter"] == ";")
    assert ("latin-1" in said) is (how["encoding"] == "cp1252")
    assert ("utf-16" in said) is (how["encoding"] == "utf-16")
    numbers = Table(open_files(file).chunks(["size", "count, all"]), 2).load()
    assert [tuple(row) for row in numbers.tolist()] == [(row[0], float(row[1])) for row in rows]


def read(tmp_path, content, name="rows.csv", **said):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    table, how = read_whole(str(tmp_path / name), options=ReadOptions(**said))
    return table.to_pydict(), how


@pytest.mark.parametrize(
    ("content", "columns", "said"),
    [
        ("a,b\n1,2.5\n", {"a": [1], "b": [2.5]}, ""),
        ("\ufeffa,b\r\n1,2.5\r\n", {"a": [1], "b": [2.5]}, ""),
        ("a;b\n1;2,5\n", {"a": [1], "b": [2.5]}, "semicolon, decimal comma"),
        ("a;b\n1.234;2,5\n", {"a": [1234], "b": [2.5]}, "semicolon, decimal comma, thousands point"),
        ("a|b\n1|2\n", {"a": [1], "b": [2]}, "pipe"),
        ("a\tb\n1\t2\n", {"a": [1], "b": [2]}, "tab"),
        ("a   b\n 1.5  2\n12.5  3\n", {"a": [1.5, 12.5], "b": [2, 3]}, "spaces"),
        ("full name\nAda L\nAlan T\n", {"full name": ["Ada L", "Alan T"]}, ""),
        ('a,b\n"1,234",0.5\n', {"a": [1234], "b": [0.5]}, "thousands comma"),
        ('a,b\n"x, y","z\nz"\n', {"a": ["x, y"], "b": ["z\nz"]}, ""),
        ('a;b\n"x;y";1,5\n', {"a": ["x;y"], "b": [1.5]}, "semicolon, decimal comma"),
        ("Size, m2;Price, EUR\n10,5;20,3\n", {"Size, m2": [10.5], "Price, EUR": [20.3]}, "semicolon, decimal comma"),
        ("a;b\n1.234;0,5\nunknown;0,5\n", {"a": ["1234", "unknown"], "b": [0.5] * 2}, "semicolon, decimal comma"),
        ("a,b\n1.5,x\nunknown,y\n", {"a": ["1.5", "unknown"], "b": ["x", "y"]}, ""),
        ("sep=|\r\na|b\r\n1|2\r\n", {"a": [1], "b": [2]}, "pipe"),
        ("a;b\n1 234,5;12'500\n", {"a": [1234.5], "b": [12500]}, "semicolon, decimal comma, thousands space"),
        ("a;b\n03.09.2016;0,5\n", {"a": ["03.09.2016"], "b": [0.5]}, "semicolon, decimal comma"),
        ("a;b;c\n", {"a": [], "b": [], "c": []}, "semicolon"),
    ],
)
def test_what_is_found_is_said(tmp_path, content, columns, said):
    assert read(tmp_path, content) == (columns, said)


def test_nothing_is_said_of_tabs_in_tsv_and_of_what_was_said(tmp_path):
    assert read(tmp_path, "a\tb\n1\t2\n", "rows.tsv")[1] == ""
    found, how = read(tmp_path, "a;b\n1.234;é\n".encode("cp1252"), delimiter=";", decimal=",", encoding="latin1")
    assert (found, how) == ({"a": [1234], "b": ["é"]}, "thousands point")


@pytest.mark.parametrize(
    ("content", "values", "doubt"),
    [
        ('a,b\n"1,234",x\n', [1234], r"'a' holds '1,234', read as 1234\. If that is wrong, add --decimal ','"),
        ("a;b\n1,234;x\n", [1.234], r"'a' holds '1,234', read as 1\.234\. If that is wrong, add --decimal '\.'"),
        ("a;b\n1.234;x\n", [1.234], r"'a' holds '1\.234', read as 1\.234\. If that is wrong, add --decimal ','"),
        ("a;b\n1,5;0.5\n", ["1,5"], "'a' holds '1,5' and 'b' holds '0.5': the decimal sign is taken for a point"),
    ],
)
def test_what_may_be_read_in_two_ways_is_told(tmp_path, content, values, doubt):
    with pytest.warns(UserWarning, match=rf"rows\.csv: {doubt}"):
        found, _ = read(tmp_path, content)
    assert found["a"] == values


def test_numbers_with_points_stay_what_they_are_where_a_comma_is_said(tmp_path):
    found, _ = read(tmp_path, "a;b\n1.5;2,5\n1.500;2,5\n", decimal=",")
    assert found == {"a": ["1.5", "1.500"], "b": [2.5, 2.5]}
    with pytest.raises(ValueError, match=r"column 'a' should hold numbers; row 0 holds '1\.5'.*add decimal='\.'"):
        Table(open_files(tmp_path / "rows.csv", ReadOptions(decimal=",")).chunks(["a"]), 1).load()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"caf\xe9", "cp1252"),
        (b"5 \x80", "cp1252"),
        ("café".encode(), "utf-8"),
        ("café".encode("utf-16"), "utf-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "utf-16-le"),
        ("a,b\n1,2\n".encode("utf-16-be"), "utf-16-be"),
        (b"plain", "utf-8"),
    ],
)
def test_encodings_by_first_bytes(content, name):
    assert find_encoding(content, cut=False) == name
    assert find_encoding(b"plain \xc3", cut=True) == "utf-8"


@pytest.mark.parametrize("n_rows", [3, 100_000])
def test_a_damaged_byte_in_utf_8_is_no_other_encoding(tmp_path, n_rows):
    content = "a,b\n1,é\n2,é\n".encode() + b"1,x\n" * (n_rows - 2) + b"4,\xe9\n"
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read as CSV: .*byte 0xe9 in .* is not utf-8"):
        read(tmp_path, content)
    if n_rows > 3:
        with pytest.raises(ValueError, match=rf"row {n_rows + 1:,}: byte 0xe9"):
            read(tmp_path, content)


@pytest.mark.parametrize("content", [b"a,b\n1,\x81\n", bytes(range(256))])
def test_what_is_no_text_is_refused(tmp_path, content):
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read as CSV: byte 0x8\d in .*name the encoding"):
        read(tmp_path, content)


def test_encodings_of_several_bytes_are_read_when_they_are_named(tmp_path):
    assert read(tmp_path, "a,b\n1,表|\n".encode("shift_jis"), encoding="shift-jis") == ({"a": [1], "b": ["表|"]}, "")
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read as CSV: the file is damaged, or not utf-16"):
        read(tmp_path, "a,b\n1,é\n".encode("utf-16")[:-1])


def test_options_are_checked():
    with pytest.raises(ValueError, match=r"decimal must be one of '\.', ','; got 'x'"):
        ReadOptions(decimal="x")
    for odd in ("nonsense", "hex"):
        with pytest.raises(ValueError, match=f"encoding must be one that Python knows, as 'cp1252'; got '{odd}'"):
            ReadOptions(encoding=odd)
    with pytest.raises(ValueError, match="delimiter and decimal must differ; both are ','"):
        ReadOptions(",", ",")


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_ragged_rows_are_refused_with_file_row_expected_and_got(tmp_path, delimiter):
    content = "a,b\n1,2\n3,4\n5,6,7\n".replace(",", delimiter)
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read as CSV: row 3 has 3 fields and the header 2"):
        read(tmp_path, content)


def test_delimiters_that_cut_alike_are_told_apart_by_numbers():
    assert find_delimiter("a;b,c;d\nx;y,z;w\n", ",") == ","
    assert find_delimiter("a|b,c\nx|2,3\ny|5,6\n", ",") == ","
    assert find_delimiter("a b\nx y\n", ",") == ","
    assert find_delimiter("", ",") == ","
    assert find_numbers([], ",").decimal == "."
