import os
import shutil

import numpy as np
import pytest

from skewridge.execution.chunked import Table
from skewridge.io import csv, files
from skewridge.io.files import FileChunk, list_files, open_files

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(100, 3))
NAMES = ("a", "b", "y")


def parquet(path, rows=ROWS, names=NAMES, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({name: rows[:, i] for i, name in enumerate(names)}), path, **more)
    return path


def comma_separated(path, rows=ROWS, names=NAMES, end="\n"):
    lines = [",".join(names), *(",".join(map(repr, row)) for row in rows.tolist())]
    path.write_text(end.join(lines) + end, newline="")
    return path


def loaded(source, columns=NAMES):
    opened = open_files(source)
    return Table(opened.chunks(columns), len(columns)).load()


def test_parquet_by_file_folder_glob_and_url(tmp_path):
    pytest.importorskip("fsspec")
    parquet(tmp_path / "part-0.parquet", ROWS[:30], row_group_size=7)
    parquet(tmp_path / "sub" / "part-1.parquet", ROWS[30:], row_group_size=50)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.parquet").touch()
    assert np.array_equal(loaded(tmp_path / "part-0.parquet"), ROWS[:30])
    for source in (tmp_path, f"{tmp_path}/**/*.parquet", f"file://{tmp_path}", f"file://{tmp_path}/**/*.parquet"):
        assert np.array_equal(loaded(source), ROWS), source
    assert len(open_files(tmp_path).parts) == 5 + 2


def test_files_in_the_memory_of_fsspec(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.pipe("/rows/part.parquet", parquet(tmp_path / "part.parquet").read_bytes())
    try:
        assert np.array_equal(loaded("memory://rows/part.parquet"), ROWS)
        assert np.array_equal(loaded("memory://rows"), ROWS)
        assert open_files("memory://rows").chunks(["a"])[0].identity
    finally:
        system.rm("/rows", recursive=True)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 50, 200, 10**6])
def test_csv_in_ranges_of_bytes(tmp_path, monkeypatch, size, end):
    monkeypatch.setattr(csv, "CSV_BYTES", size)
    file = comma_separated(tmp_path / "rows.csv", end=end)
    assert np.array_equal(loaded(file), ROWS)
    assert np.array_equal(loaded(file, ("y", "a")), ROWS[:, [2, 0]])


def test_csv_without_a_last_newline_with_blank_lines_quotes_and_a_mark(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "CSV_BYTES", 4)
    (tmp_path / "rows.csv").write_bytes(b'\xef\xbb\xbf"a","b c"\n1,2\n\n3,\n5,6')
    opened = open_files(tmp_path / "rows.csv")
    assert list(opened.types) == ["a", "b c"]
    np.testing.assert_array_equal(loaded(tmp_path / "rows.csv", ("a", "b c")), [[1, 2], [3, np.nan], [5, 6]])


def test_columns_of_other_numbers_become_doubles_and_nulls_nan(tmp_path):
    table = pa.table(
        {
            "small": pa.array([1, 2, None], pa.int8()),
            "half": pa.array([0.5, 1.5, 2.5], pa.float32()),
            "flag": pa.array([True, False, True]),
            "word": pa.array(["a", "b", "c"]),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    opened = open_files(tmp_path / "t.parquet")
    rows = Table(opened.chunks(["small", "half", "flag"]), 3).load()
    np.testing.assert_array_equal(rows, [[1, 0.5, 1], [2, 1.5, 0], [np.nan, 2.5, 1]])
    assert opened.types["word"] is None
    assert opened.precision(["half", "small"]) == np.float32
    assert opened.precision(["half", "flag", "small"]) == np.float32
    assert opened.precision(["small"]) == np.float64


def test_precision_is_that_of_all_files(tmp_path):
    parquet(tmp_path / "a.parquet", ROWS.astype(np.float32))
    assert open_files(tmp_path).precision(["a"]) == np.float32
    parquet(tmp_path / "b.parquet", ROWS)
    assert open_files(tmp_path).precision(["a"]) == np.float64


def test_what_is_no_source_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere"):
        list_files(tmp_path / "nowhere")
    (tmp_path / "notes.md").touch()
    with pytest.raises(FileNotFoundError, match=r"names no table\. Pass a file \(\.csv, \.tsv"):
        list_files(tmp_path)
    parquet(tmp_path / "empty.parquet", ROWS[:0])
    with pytest.raises(ValueError, match="holds no rows"):
        open_files(tmp_path)
    comma_separated(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match="CSV and Parquet"):
        open_files(tmp_path)


def test_files_with_other_columns_are_refused_by_name(tmp_path):
    parquet(tmp_path / "a.parquet")
    parquet(tmp_path / "b.parquet", names=("a", "c", "y"))
    with pytest.raises(ValueError, match=r"b\.parquet and .*a\.parquet have different columns: \['b', 'c'\]"):
        open_files(tmp_path)


def test_no_parquet_file_is_refused_by_name(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(OSError, match=r"a\.parquet cannot be read as Parquet: .*Is it whole"):
        open_files(tmp_path)


def test_a_damaged_or_vanished_file_is_named_with_its_row_group(tmp_path):
    file = parquet(tmp_path / "a.parquet", row_group_size=40, compression="none", use_dictionary=False)
    meta = pq.ParquetFile(file).metadata.row_group(1).column(1)
    content = bytearray(file.read_bytes())
    content[meta.data_page_offset : meta.data_page_offset + 20] = b"\xff" * 20
    file.write_bytes(bytes(content))
    chunks = open_files(file).chunks(NAMES)
    assert np.array_equal(chunks[0].read(), ROWS[:40])
    with pytest.raises(OSError, match=r"row group 1 of .*a\.parquet.*checkpoint"):
        chunks[1].read()
    file.unlink()
    with pytest.raises(OSError, match=r"row group 2 of .*a\.parquet cannot be read as Parquet: FileNotFoundError"):
        chunks[2].read()
    with pytest.raises(OSError, match=r"row group 0 of .*a\.parquet: the file is gone since it was opened"):
        chunks[0].read()  # which is in memory


def test_a_file_that_has_changed_is_refused(tmp_path):
    file = parquet(tmp_path / "a.parquet", row_group_size=40)
    chunk = open_files(file).chunks(NAMES)[1]
    parquet(file, row_group_size=30)
    with pytest.raises(OSError, match=r"row group 1 of .* holds 30 rows and held 40"):
        chunk.read()


def test_a_file_of_another_time_or_content_is_refused(tmp_path):
    file = parquet(tmp_path / "a.parquet", row_group_size=40)
    chunk = open_files(file).chunks(NAMES)[1].stamped()
    chunk.read()
    before = file.stat()
    os.utime(file, ns=(1, 1))
    with pytest.raises(OSError, match=r"row group 1 of .* another size or time than when it was opened"):
        chunk.read()
    parquet(file, ROWS[::-1], row_group_size=40)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    files._NEAR.clear()
    with pytest.raises(OSError, match=r"row group 1 of .* holds other rows than when it was opened"):
        chunk.read()


def test_a_word_in_a_csv_file_is_told_with_its_place(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,many\n")
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read as CSV: column 'b' .*row 1 holds 'many'"):
        loaded(tmp_path / "rows.csv", ("b",))


def test_chunks_are_near_once_they_were_read_but_not_many(tmp_path, monkeypatch):
    file = parquet(tmp_path / "a.parquet", row_group_size=10)
    first, second, *_ = open_files(file).chunks(NAMES)
    first.read()
    decoded = []
    original = FileChunk._decoded
    monkeypatch.setattr(FileChunk, "_decoded", lambda self: decoded.append(self) or original(self))
    first.read()
    assert not decoded
    monkeypatch.setattr(files, "NEAR_BYTES", 0)
    second.read()
    first.read()
    assert decoded == [second, first]


def test_a_chunk_changes_its_identity_with_its_file(tmp_path):
    file = parquet(tmp_path / "a.parquet")
    before = open_files(file).chunks(NAMES)[0].identity
    shutil.copy(file, tmp_path / "b.parquet")
    os.utime(file, ns=(1, 1))
    assert open_files(file).chunks(NAMES)[0].identity != before
