"""Formats beside CSV and Parquet: what is read, and what is refused by name."""

import builtins
import datetime
import gzip
import io
import os
import zipfile

import numpy as np
import pytest

from skewridge.execution.chunked import Table
from skewridge.io import csv, streams
from skewridge.io.csv_dialect import ReadOptions
from skewridge.io.files import list_files, open_files, read_whole
from skewridge.io.streams import copied

pa, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")

COLUMNS = {"a": [1.5, None, 3.0], "b": [1, 2, 3], "c": ["x", "y", None], "d": [True, False, True]}


def whole(file, **said):
    table, how = read_whole(str(file), options=ReadOptions(**said))
    return table.to_pydict(), how


def numbers(file, columns=("a", "b", "d")):
    return Table(open_files(file).chunks(columns), len(columns)).load()


def workbook(path, **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "."), content)
    return path


@pytest.mark.parametrize("ending", ["arrow", "feather", "jsonl", "ndjson.gz", "xlsx"])
def test_columns_of_every_kind(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(csv, "CSV_BYTES", 40)
    file = tmp_path / f"rows.{ending}"
    if "json" in ending:
        lines = [{name: values[i] for name, values in COLUMNS.items()} for i in range(3)]
        text = "\n".join(str(line).replace("'", '"') for line in lines)
        text = text.replace("None", "null").replace("True", "true").replace("False", "false")
        file.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    elif ending == "xlsx":
        workbook(file, data=[list(COLUMNS), *zip(*COLUMNS.values(), strict=True)])
    else:
        feather.write_feather(pa.table(COLUMNS), file, chunksize=2)
    assert whole(file) == (COLUMNS, "")
    np.testing.assert_array_equal(numbers(file), [[1.5, 1, 1], [np.nan, 2, 0], [3, 3, 1]])
    opened = open_files(file)
    assert opened.types["c"] is None
    assert sum(part.n_rows for part in opened.parts) == 3
    assert "rows" in opened.chunks(["a"])[-1].where(0)


@pytest.mark.parametrize("ending", ["arrow", "jsonl", "xlsx", "zip"])
def test_files_that_change_are_noticed(tmp_path, ending):
    file = tmp_path / f"rows.{ending}"

    def write(last):
        if ending == "jsonl":
            file.write_text(f'{{"a": 1}}\n{{"a": {last}}}\n')
        elif ending == "xlsx":
            workbook(file, data=[["a"], [1], [last]])
        elif ending == "zip":
            archive(file, rows__csv=f"a\n1\n{last}\n")
        else:
            feather.write_feather(pa.table({"a": [1, last]}), file)

    write(2)
    chunk = open_files(file).chunks(["a"])[0]
    assert chunk.read().tolist() == [[1], [2]]
    write(300)
    with pytest.raises(OSError, match=rf"rows\.{ending}"):
        chunk.read()


# Packed files


def test_the_only_file_of_an_archive_is_read_whatever_its_folder(tmp_path):
    archive(tmp_path / "a.zip", **{"inside/rows.tsv": "a\tb\n1\t2\n", "__MACOSX/._rows.tsv": "x"})
    assert whole(tmp_path / "a.zip") == ({"a": [1], "b": [2]}, "tab")
    archive(tmp_path / "b.zip", rows__jsonl='{"a": 1}\n')
    assert whole(tmp_path / "b.zip") == ({"a": [1]}, "")
    archive(tmp_path / "c.csv.zip", rows="a,b\n1,2\n")
    assert whole(tmp_path / "c.csv.zip") == ({"a": [1], "b": [2]}, "")
    assert len(list_files(tmp_path)) == 3


def test_archives_that_cannot_be_read_are_refused_by_name(tmp_path):
    archive(tmp_path / "two.zip", a__csv="a\n1\n", b__csv="a\n2\n")
    with pytest.raises(ValueError, match=r"two\.zip holds 2 files \(a\.csv, b\.csv\); expected one\. Unpack it into a"):
        whole(tmp_path / "two.zip")
    archive(tmp_path / "none.zip")
    with pytest.raises(ValueError, match=r"none\.zip holds 0 files; expected one"):
        open_files(tmp_path / "none.zip")
    archive(tmp_path / "notes.zip", notes__md="hello")
    with pytest.raises(ValueError, match=r"notes\.zip holds a file that ends in '\.md'\. Expected one of \.csv"):
        whole(tmp_path / "notes.zip")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "two.zip").read_bytes()[:50])
    with pytest.raises(OSError, match=r"cut\.zip cannot be read as a zip archive.*Is it whole"):
        whole(tmp_path / "cut.zip")
    content = bytearray(archive(tmp_path / "locked.zip", rows__csv="a\n1\n").read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(content)
    with pytest.raises(OSError, match=r"locked\.zip is encrypted\. Unpack it first"):
        whole(tmp_path / "locked.zip")
    (tmp_path / "rows.parquet.gz").write_bytes(gzip.compress(b"PAR1"))
    with pytest.raises(ValueError, match=r"rows\.parquet\.gz: Parquet cannot be read from a packed file\. Unpack it"):
        whole(tmp_path / "rows.parquet.gz")


@pytest.mark.parametrize("packing", ["gz", "bz2", "zst", "xz", "zip"])
def test_a_packed_file_that_is_cut_short_is_named(tmp_path, packing):
    text = "\n".join(["a,b", *(f"{i},{i * i % 977}" for i in range(5000))]).encode()
    file = tmp_path / f"rows.csv.{packing}"
    if packing == "zip":
        content = archive(file, rows__csv=text).read_bytes()
        content = content[:3000] + bytes(2000) + content[5000:]
    elif packing == "zst":
        content = pa.Codec("zstd").compress(text, asbytes=True)[:-4000]
    else:
        content = __import__({"gz": "gzip", "xz": "lzma"}.get(packing, packing)).compress(text)[:-4000]
    file.write_bytes(content)
    for read in (whole, open_files):
        with pytest.raises(OSError, match=rf"rows\.csv\.{packing} cannot be read as CSV"):
            read(file)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_what_unpacks_to_more_than_memory_holds_is_refused_with_figures(tmp_path, kind, monkeypatch):
    rows = "a,b\n" + "1,2\n" * 50_000 if kind == "csv" else '{"a": 1}\n' * 50_000
    archive(tmp_path / "bomb.zip", **{f"rows.{kind}": rows})
    monkeypatch.setattr(streams, "MACHINE", type(streams.MACHINE)(1e5))
    with pytest.raises(
        MemoryError, match=r"bomb\.zip is read as a whole, which needs at least .* kB, and .*fit_source"
    ):
        whole(tmp_path / "bomb.zip")


def test_a_row_without_an_end_is_not_unpacked_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "ROW_BYTES", 1 << 20)
    monkeypatch.setattr(csv, "CSV_BYTES", 1 << 18)
    for kind, match in (("csv", "the row that starts at byte 0, .*has no end within"), ("jsonl", "has no end")):
        archive(tmp_path / f"{kind}.zip", **{f"rows.{kind}": bytes(1 << 22)})
        with pytest.raises(ValueError, match=match):
            whole(tmp_path / f"{kind}.zip")


# JSON lines


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b'{"a": 1}\n[1]\n', "changed from object to array in row 1"),
        (b'{"a": 1}\n\n{"a": 1\n', "Missing a comma or '}' after an object member. in row 1"),
        (b'{"a": 1}\n{"a": "unknown"}\n', "a. changed from number to string in row 1"),
        (b'{"a": 1, "a": 2}\n', r"a. was specified twice in row 0"),
        (b"", "No columns: the file is empty"),
        (b'{"a": "\xe9"}\n', "can't decode byte 0xe9"),
        (b"[" * 100_000 + b"\n", "changed from object to array in row 0"),
    ],
)
def test_lines_that_are_no_objects_are_named(tmp_path, content, match):
    (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=rf"rows\.jsonl cannot be read as JSON lines: .*{match}"):
        whole(tmp_path / "rows.jsonl")


def test_objects_may_lack_names_and_hold_anything(tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(
        b'\xef\xbb\xbf{"a": 1, "b": "x"}\r\n{"c": [1], "a": 2.5}\n{"b": null, "d": 1' + b"0" * 30 + b', "e": NaN}\n'
    )
    found, _ = whole(tmp_path / "rows.jsonl")
    assert found["a"] == [1, 2.5, None]
    assert found["b"] == ["x", None, None]
    assert found["c"] == [None, "[1]", None]
    assert found["d"] == [None, None, 1e30]
    assert numbers(tmp_path / "rows.jsonl", ["d", "a"]).tolist()[2][0] == 1e30
    assert open_files(tmp_path / "rows.jsonl").types["b"] is None


def test_a_sheet_may_mix_kinds_in_a_column(tmp_path):
    file = workbook(
        tmp_path / "rows.xlsx", data=[["a", "b", "c"], [1, " NA ", True], ["unknown", 2, None], [2.5, 3, False]]
    )
    assert whole(file)[0] == {"a": ["1", "unknown", "2.5"], "b": [None, 2, 3], "c": [True, None, False]}


# Arrow and Excel


def test_the_index_of_a_pandas_frame_in_a_feather_file_is_no_column(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pa.Table.from_pandas(pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 7], name="when")))
    feather.write_feather(table, tmp_path / "rows.feather")
    assert whole(tmp_path / "rows.feather")[0] == {"a": [1, 2]}
    assert open_files(tmp_path / "rows.feather").index == {"when"}


def test_damaged_arrow_and_excel_files_are_named(tmp_path):
    feather.write_feather(pa.table(COLUMNS), tmp_path / "rows.arrow")
    (tmp_path / "rows.arrow").write_bytes((tmp_path / "rows.arrow").read_bytes()[:-20])
    workbook(tmp_path / "rows.xlsx", data=[["a"], [1]])
    (tmp_path / "rows.xlsx").write_bytes((tmp_path / "rows.xlsx").read_bytes()[:-20])
    archive(tmp_path / "other.xlsx", rows__csv="a\n1\n")
    for name, form in (("rows.arrow", "Arrow"), ("rows.xlsx", "Excel"), ("other.xlsx", "Excel")):
        for read in (whole, open_files):
            with pytest.raises(OSError, match=rf"{name} cannot be read as {form}: .*Is it whole"):
                read(tmp_path / name)


def test_sheets_by_name_and_the_first_of_several_is_said(tmp_path):
    day = datetime.datetime(2020, 1, 2)
    rows = [["a", "when", None], [1, day, None], [None, None, None], ["#N/A", day, None]]
    file = workbook(tmp_path / "rows.xlsx", first=rows, second=[["b"], [5]], empty=[])
    assert whole(file) == ({"a": [1, None], "when": [day, day]}, "sheet 'first', the first of 3")
    assert whole(file, sheet="second") == ({"b": [5]}, "")
    assert numbers(file, ["a"]).shape == (2, 1)
    assert Table(open_files(file, ReadOptions(sheet="second")).chunks(["b"]), 1).load().tolist() == [[5]]
    with pytest.raises(
        ValueError, match=r"rows\.xlsx cannot be read as Excel: no sheet 'third'; it has 'first', 'second', 'em"
    ):
        whole(file, sheet="third")
    with pytest.raises(ValueError, match=r"rows\.xlsx cannot be read as Excel: No columns: the sheet is empty"):
        whole(file, sheet="empty")


def test_sheets_with_names_twice_or_none(tmp_path):
    file = workbook(tmp_path / "rows.xlsx", data=[["a", "a"], [1, 2]])
    with pytest.raises(ValueError, match=r"rows\.xlsx cannot be read as Excel: two columns are called 'a'"):
        whole(file)
    file = workbook(tmp_path / "rows.xlsx", data=[["a", None], [1, 2]])
    with pytest.warns(UserWarning, match=r"rows\.xlsx: 1 columns without a name are ignored"):
        assert whole(file)[0] == {"a": [1]}


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    file = workbook(tmp_path / "rows.xlsx", data=[["a"], [1]])
    found = builtins.__import__

    def without(name, *more, **others):
        if name == "openpyxl":
            raise ModuleNotFoundError("No module named 'openpyxl'", name="openpyxl")
        return found(name, *more, **others)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"rows\.xlsx is an Excel file, .*: pip install 'skewridge\[excel\]'"):
        whole(file)


def test_a_folder_of_several_formats_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ValueError, match=r"holds CSV and JSON lines files\. Name those of one kind"):
        open_files(tmp_path)
    assert np.array_equal(numbers(f"{tmp_path}/*.jsonl", ["a"]), [[1]])


# Standard input


@pytest.mark.parametrize(
    "form", ["csv", "csv.gz", "jsonl", "jsonl.gz", "parquet", "arrow", "xlsx", "zip", "csv.bz2", "csv.zst"]
)
def test_the_format_of_a_stream_is_told_from_its_first_bytes(tmp_path, form):
    text = b'{"a": 1}\n' if "json" in form else b"a,b\n1,2\n"
    file = tmp_path / f"x.{form}"
    if form == "xlsx":
        workbook(file, data=[["a"], [1]])
    elif form == "zip":
        archive(file, rows__csv=text)
    elif form == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"a": [1]}), file)
    elif form == "arrow":
        feather.write_feather(pa.table({"a": [1]}), file)
    elif "." in form:
        with pa.CompressedOutputStream(str(file), streams.CODECS["." + form.partition(".")[2]]) as out:
            out.write(text)
    else:
        file.write_bytes(text)
    with copied(io.BytesIO(file.read_bytes())) as path:
        assert whole(path)[0]["a"] == [1]
        folder = path.rpartition("/")[0]
    assert not os.path.exists(folder)
