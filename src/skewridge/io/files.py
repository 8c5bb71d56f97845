"""Rows of files in chunks: Parquet by row groups, CSV by ranges of bytes.

A chunk is a recipe, a few words long: any machine that sees the file can read it.
"""

from __future__ import annotations

import csv
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from skewridge._typing import FloatArray

CSV_BYTES = 8 << 20  # of a chunk
NEAR_BYTES = 64e6  # of chunks that stay in memory once they were read; the last one always does
SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}


@dataclass(frozen=True)
class FileChunk:
    """Some columns of some rows of a file, which was as its stamp says when it was opened.

    Attributes
    ----------
    url : path, or URL that fsspec knows
    start, stop : row group and the next one (Parquet), or first and last byte (CSV)
    n_rows : rows in the chunk
    columns : what is read, in order
    header : all columns of a CSV file
    stamp : size and time of the file
    """

    url: str
    start: int
    stop: int
    n_rows: int
    columns: tuple[str, ...]
    header: tuple[str, ...] = ()
    stamp: str = ""

    @property
    def handle(self) -> FileChunk:
        """The chunk itself: a worker reads the file."""
        return self

    @property
    def identity(self) -> str:
        """File, place and stamp."""
        return f"{self.url}:{self.start}:{self.stop}:{self.stamp}"

    def __str__(self) -> str:
        place = f"bytes {self.start:,} to {self.stop:,}" if self.header else f"row group {self.start}"
        return f"{place} of {self.url}"

    def read(self) -> FloatArray:
        """The rows, (n, d); nulls are nan."""
        with _LOCK:
            if self in _NEAR:
                _NEAR.move_to_end(self)
                return _NEAR[self]
        rows = self._decoded()
        rows.flags.writeable = False  # others may be given the same rows
        with _LOCK:
            _NEAR[self] = rows
            while len(_NEAR) > 1 and sum(near.nbytes for near in _NEAR.values()) > NEAR_BYTES:
                _NEAR.popitem(last=False)
        return rows

    def _decoded(self) -> FloatArray:
        import pyarrow as pa

        try:
            table = _csv_table(self) if self.header else _row_group(self)
            rows = _numbers(table, self.columns)
        except (OSError, KeyError, IndexError, pa.ArrowException) as error:
            raise OSError(
                f"Cannot read {self}: {_words(error)} The file is damaged, or was changed or removed after it was "
                "opened. Restore it and run again; with checkpoint=, finished work is not redone."
            ) from error
        if len(rows) != self.n_rows:
            raise OSError(
                f"{self} holds {len(rows):,} rows and held {self.n_rows:,} when it was opened. Do not change files "
                "while they are read; run again."
            )
        return rows


_LOCK = threading.Lock()
_NEAR: OrderedDict[FileChunk, FloatArray] = OrderedDict()


@dataclass(frozen=True)
class Files:
    """Opened files: numpy's types of all columns (None: no numbers), and (url, start, stop, rows, stamp) of chunks."""

    types: dict[str, Any]
    places: tuple[tuple[str, int, int, int, str], ...]
    is_csv: bool

    def chunks(self, columns: Sequence[str]) -> tuple[FileChunk, ...]:
        """The chunks with some of the columns."""
        wanted, header = tuple(columns), tuple(self.types) if self.is_csv else ()
        return tuple(FileChunk(*place[:4], wanted, header, place[4]) for place in self.places)

    def precision(self, columns: Sequence[str]) -> Any:
        """The dtype of an array of these columns: float32 where all fit in it, else float64."""
        common = np.result_type(*(self.types[name] for name in columns))
        return np.float32 if common == np.float32 else np.float64


def open_files(source: str | os.PathLike[str]) -> Files:
    """Look at a file, a folder, a glob or a URL; nothing is read but footers, and CSV files to count their rows."""
    urls = list_files(source)
    kinds = {SUFFIXES[Path(url).suffix.lower()] for url in urls}
    if len(kinds) > 1:
        raise ValueError(f"{os.fspath(source)!r} holds Parquet and CSV files. Name those of one kind, as with a glob.")
    is_csv = kinds == {"csv"}
    opened = [_open_csv(url) if is_csv else _open_parquet(url) for url in urls]
    types = opened[0][0]
    for url, (others, _) in zip(urls, opened, strict=True):
        if set(others) != set(types) or (is_csv and list(others) != list(types)):
            differing = sorted(set(others) ^ set(types)) or "their order"
            raise ValueError(f"{url} and {urls[0]} have different columns: {differing}. Files of a source share them.")
    places = tuple(place for _, found in opened for place in found if place[3])
    if not places:
        raise ValueError(f"{os.fspath(source)!r} holds no rows.")
    return Files(_common_types([found for found, _ in opened]), places, is_csv)


def list_files(source: str | os.PathLike[str]) -> list[str]:
    """The Parquet or CSV files that a path, folder, glob or URL means, in the order of their names."""
    text = os.fspath(source)
    found = _listed_there(text) if "://" in text else _listed_here(text)
    urls = sorted(url for url in found if Path(url).suffix.lower() in SUFFIXES and Path(url).name[0] not in "._")
    if not urls:
        raise FileNotFoundError(
            f"{text!r} names no Parquet or CSV file ({', '.join(SUFFIXES)}); pass a file, a folder, a glob or a URL."
        )
    return urls


def _listed_here(text: str) -> list[str]:
    if has_magic(text) and not Path(text).exists():
        return [path for path in glob(text, recursive=True) if Path(path).is_file()]
    path = Path(text)
    return [str(p) for p in path.rglob("*") if p.is_file()] if path.is_dir() else [text] if path.is_file() else []


def _listed_there(text: str) -> list[str]:
    from fsspec.core import url_to_fs

    system, path = url_to_fs(text)
    found = system.glob(path) if has_magic(path) else system.find(path)
    return [system.unstrip_protocol(name) for name in found]


def _opened(url: str, native: bool = False) -> Any:
    """The file, for reading; as pyarrow reads it fastest, or as Python does."""
    if "://" not in url:
        import pyarrow as pa

        return pa.OSFile(url, "rb") if native else open(url, "rb")
    import fsspec

    return fsspec.open(url, "rb").open()


def _stamp(url: str) -> str:
    if "://" not in url:
        found = os.stat(url)
        return f"{found.st_size}-{found.st_mtime_ns}"
    from fsspec.core import url_to_fs

    system, path = url_to_fs(url)
    info = system.info(path)
    times = [str(info[key]) for key in ("ETag", "LastModified", "mtime", "created") if key in info]
    return "-".join([str(info.get("size")), *times[:1]])


def _open_parquet(url: str) -> tuple[dict[str, Any], list[tuple[str, int, int, int, str]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with _opened(url, native=True) as file:
            opened = pq.ParquetFile(file)
            schema, meta = opened.schema_arrow, opened.metadata
            groups = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
    except (OSError, pa.ArrowException) as error:
        raise OSError(f"Cannot read the footer of {url}: {_words(error)} Is it a whole Parquet file?") from error
    stamp = _stamp(url)
    types = {field.name: _numpy_type(field.type) for field in schema}
    return types, [(url, i, i + 1, n, stamp) for i, n in enumerate(groups)]


def _open_csv(url: str) -> tuple[dict[str, Any], list[tuple[str, int, int, int, str]]]:
    stamp = _stamp(url)
    with _opened(url) as file:
        first = file.readline()
        header = tuple(next(csv.reader([first.decode("utf-8-sig")]), []))
        ranges = list(_line_ranges(file, len(first)))
    chunks = [FileChunk(url, start, stop, 0, header[:1], header, stamp) for start, stop in ranges]
    return dict.fromkeys(header, np.float64), [(url, c.start, c.stop, _count_lines(c), stamp) for c in chunks]


def _line_ranges(file: Any, start: int) -> Iterator[tuple[int, int]]:
    """Cut what is left of a file into ranges of bytes that end with a line."""
    while True:
        file.seek(start + CSV_BYTES - 1)
        line = file.readline()  # the rest of the line that the range would cut
        stop = start + CSV_BYTES - 1 + len(line)
        if not line:
            stop = file.seek(0, os.SEEK_END)
            if stop > start:
                yield start, stop
            return
        yield start, stop
        start = stop


def _count_lines(chunk: FileChunk) -> int:
    with _opened(chunk.url) as file:
        file.seek(chunk.start)
        lines = file.read(chunk.stop - chunk.start).split(b"\n")
    return sum(1 for line in lines if line.strip(b"\r"))


def _csv_table(chunk: FileChunk) -> Any:
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    with _opened(chunk.url) as file:
        file.seek(chunk.start)
        content = file.read(chunk.stop - chunk.start)
    return pa_csv.read_csv(
        BytesIO(content),
        pa_csv.ReadOptions(column_names=list(chunk.header)),
        convert_options=pa_csv.ConvertOptions(
            include_columns=list(chunk.columns), column_types=dict.fromkeys(chunk.columns, pa.float64())
        ),
    )


def _words(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}."


def _row_group(chunk: FileChunk) -> Any:
    import pyarrow.parquet as pq

    with _opened(chunk.url, native=True) as file:
        return pq.ParquetFile(file).read_row_group(chunk.start, columns=list(chunk.columns))


def _numbers(table: Any, columns: Sequence[str]) -> FloatArray:
    """Columns side by side in double precision."""
    import pyarrow as pa

    rows = np.empty((table.num_rows, len(columns)))
    for i, name in enumerate(columns):
        values = table.column(name)
        rows[:, i] = values.cast(pa.float64(), safe=False).to_numpy()
    return rows


def _numpy_type(arrow: Any) -> Any:
    """numpy's type of a column of numbers; None where there is none."""
    import pyarrow.types as kinds

    if kinds.is_decimal(arrow):
        return np.dtype(np.float64)
    if kinds.is_integer(arrow) or kinds.is_floating(arrow) or kinds.is_boolean(arrow):
        return np.dtype(arrow.to_pandas_dtype())
    return None


def _common_types(found: list[dict[str, Any]]) -> dict[str, Any]:
    """A column's type over all files; None where it is not of numbers in one of them."""
    return {
        name: None if any(types[name] is None for types in found) else np.result_type(*(types[name] for types in found))
        for name in found[0]
    }
