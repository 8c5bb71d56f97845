"""Rows of files in chunks: Parquet by row groups, Arrow by record batches, CSV and JSON lines by ranges of bytes.

An Excel sheet is one chunk.

A chunk is a recipe, a few words long: any machine that sees the file can read it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.execution.chunked import digest
from skewridge.io.arrow_files import open_arrow, read_batch
from skewridge.io.cells import as_numbers, is_numeric
from skewridge.io.csv_files import Rows, count_rows, read_bytes, reading, scan
from skewridge.io.csv_types import read_numbers
from skewridge.io.dialects import Dialect
from skewridge.io.encodings import UTF8
from skewridge.io.excel_files import read_sheet
from skewridge.io.json_files import numeric_names, parse_lines, read_json_numbers, scan_lines
from skewridge.io.listing import list_files
from skewridge.io.opening import format_of
from skewridge.io.options import FOUND, ReadOptions
from skewridge.io.parquet_files import in_one_line, index_columns, open_parquet, read_row_group
from skewridge.io.stamps import check_content, check_stamp, file_stamp

NEAR_BYTES = 64e6  # of chunks that stay in memory once they were read; the last one always does
GROUPS = {"Parquet": "row group", "Arrow": "record batch"}  # what files of other formats do not have


@dataclass(frozen=True)
class FileChunk:
    """Some columns of some rows of a file, which was as its stamp says when it was opened.

    Attributes
    ----------
    url : path, or URL that fsspec knows
    start, stop : row group or record batch and the next one (Parquet, Arrow), first and last byte (CSV, JSON lines), or
        nothing (Excel)
    n_rows : rows in the chunk
    first : rows of the file before the chunk
    stamp : size and time of the file
    dialect : of a CSV file
    columns : what is read, in order
    content : digest of the rows, where they are read more than once
    form : the file's format
    sheet : of an Excel file, where it is not the first
    """

    url: str
    start: int
    stop: int
    n_rows: int
    first: int
    stamp: str = ""
    dialect: Dialect | None = None
    columns: tuple[str, ...] = ()
    content: str = ""
    form: str = "Parquet"
    sheet: str | None = None

    @property
    def handle(self) -> FileChunk:
        """The chunk itself: a worker reads the file."""
        return self

    @property
    def identity(self) -> str:
        """File, place and stamps."""
        return f"{self.url}:{self.start}:{self.stop}:{self.stamp}:{self.content}"

    def __str__(self) -> str:
        if self.form == "Excel":
            return self.url
        group = GROUPS.get(self.form)
        place = f"{group} {self.start}" if group else f"bytes {self.start:,} to {self.stop:,}"
        return f"{place} of {self.url}"

    def where(self, row: int) -> str:
        """Where one of the rows stands, for people: in its group where there are such, else from the header."""
        return f"row {row:,} of {self}" if self.form in GROUPS else f"row {self.first + row:,} of {self.url}"

    def stamped(self) -> FileChunk:
        """The chunk with the digest of its rows, which every further reading is compared with."""
        return replace(self, content=digest(self._decoded()))

    def read(self) -> FloatArray:
        """The rows, (n, d), of a file that has not changed; nulls are nan."""
        with _LOCK:
            near = _NEAR.get(self)
            if near is not None:
                _NEAR.move_to_end(self)
        if near is not None:
            check_stamp(str(self), self.url, self.stamp)
            return near
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
            rows = _numbers(self._table(), self.columns)
        except (OSError, KeyError, IndexError, pa.ArrowException) as error:
            raise OSError(
                f"Cannot read {self}: {in_one_line(error)} The file is damaged, or was changed or removed after it was "
                "opened. Restore it and run again; with checkpoint=, finished work is not redone."
            ) from error
        if len(rows) != self.n_rows:
            raise OSError(
                f"{self} holds {len(rows):,} rows and held {self.n_rows:,} when it was opened. Do not change files "
                "while they are read; run again."
            )
        check_stamp(str(self), self.url, self.stamp)
        check_content(str(self), rows, self.content)
        return rows

    def _table(self) -> Any:
        if self.form == "Parquet":
            return read_row_group(self.url, self.start, self.columns)
        if self.form == "Arrow":
            return read_batch(self.url, self.start, self.columns)
        if self.form == "Excel":
            return read_sheet(self.url, self.sheet)[0].select(list(self.columns))
        encoding = self.dialect.encoding if self.dialect else UTF8
        content = read_bytes(self.url, self.start, self.stop, encoding)
        with reading(self.url, self.form):
            if self.dialect is None:
                return read_json_numbers(parse_lines(content, self.first), self.columns)
            return read_numbers(Rows(content, self.first), self.dialect, self.columns)


_LOCK = threading.Lock()
_NEAR: OrderedDict[FileChunk, FloatArray] = OrderedDict()


@dataclass(frozen=True)
class Files:
    """Opened files.

    Attributes
    ----------
    types : numpy's types of all columns; None where one does not hold numbers
    index : columns that hold the index of a pandas frame
    parts : all chunks, without columns
    """

    types: dict[str, Any]
    index: frozenset[str]
    parts: tuple[FileChunk, ...]

    def chunks(self, columns: Sequence[str]) -> tuple[FileChunk, ...]:
        """The chunks with some of the columns."""
        return tuple(replace(part, columns=tuple(columns)) for part in self.parts)

    def precision(self, columns: Sequence[str]) -> Any:
        """The dtype of an array of these columns: float32 where all fit in it, else float64."""
        common = np.result_type(*(self.types[name] for name in columns))
        return np.float32 if common == np.float32 else np.float64


def open_files(source: str | os.PathLike[str], options: ReadOptions = FOUND) -> Files:
    """Look at a file, a folder, a glob or a URL; nothing is read but footers, and files of text to count their rows."""
    urls = list_files(source)
    forms = [format_of(url) for url in urls]
    if len(set(forms)) > 1:
        raise ValueError(
            f"{os.fspath(source)!r} holds {' and '.join(sorted(set(forms)))} files. Name those of one kind, as with a "
            "glob."
        )
    opened = [OPENERS[form](url, options) for form, url in zip(forms, urls, strict=True)]
    types = opened[0].types
    for url, other in zip(urls, opened, strict=True):
        if set(other.types) != set(types):
            differing = sorted(set(other.types) ^ set(types))
            raise ValueError(f"{url} and {urls[0]} have different columns: {differing}. Files of a source share them.")
    parts = tuple(part for found in opened for part in found.parts if part.n_rows)
    if not parts:
        raise ValueError(f"{os.fspath(source)!r} holds no rows.")
    index = frozenset[str]().union(*(found.index for found in opened))
    return Files(_common_types([found.types for found in opened]), index, parts)


def _open_parquet(url: str, options: ReadOptions) -> Files:
    return _grouped(url, "Parquet", *open_parquet(url))


def _open_arrow(url: str, options: ReadOptions) -> Files:
    return _grouped(url, "Arrow", *open_arrow(url))


def _grouped(url: str, form: str, schema: Any, groups: list[int]) -> Files:
    stamp, before = file_stamp(url), np.cumsum([0, *groups]).tolist()
    types = {field.name: _numpy_type(field.type) for field in schema}
    parts = tuple(FileChunk(url, i, i + 1, n, before[i], stamp, form=form) for i, n in enumerate(groups))
    return Files(types, frozenset(index_columns(schema)), parts)


def _open_csv(url: str, options: ReadOptions) -> Files:
    stamp = file_stamp(url)
    dialect, ranges = scan(url, options)
    parts, first = list[FileChunk](), 0
    with reading(url):
        for start, content in ranges:
            n_rows = count_rows(Rows(content, first), dialect)
            parts.append(FileChunk(url, start, start + len(content), n_rows, first, stamp, dialect, form="CSV"))
            first += n_rows
    return Files(dict.fromkeys(dialect.names, np.dtype(np.float64)), frozenset(), tuple(parts))


def _open_json(url: str, options: ReadOptions) -> Files:
    stamp, form = file_stamp(url), "JSON lines"
    parts, first, numeric = list[FileChunk](), 0, dict[str, bool]()
    for start, content in scan_lines(url):
        with reading(url, form):
            records = parse_lines(content, first)
        numeric |= {name: own and numeric.get(name, True) for name, own in numeric_names(records).items()}
        parts.append(FileChunk(url, start, start + len(content), len(records), first, stamp, form=form))
        first += len(records)
    types = {name: np.dtype(np.float64) if own else None for name, own in numeric.items()}
    return Files(types, frozenset(), tuple(parts))


def _open_excel(url: str, options: ReadOptions) -> Files:
    stamp, (table, _) = file_stamp(url), read_sheet(url, options.sheet)
    types = {name: np.dtype(np.float64) if is_numeric(table.column(name)) else None for name in table.column_names}
    chunk = FileChunk(url, 0, 1, table.num_rows, 0, stamp, form="Excel", sheet=options.sheet)
    return Files(types, frozenset(), (chunk,))


OPENERS = {
    "Parquet": _open_parquet,
    "Arrow": _open_arrow,
    "CSV": _open_csv,
    "JSON lines": _open_json,
    "Excel": _open_excel,
}


def _numbers(table: Any, columns: Sequence[str]) -> FloatArray:
    """Columns side by side in double precision."""
    rows = np.empty((table.num_rows, len(columns)))
    for i, name in enumerate(columns):
        rows[:, i] = as_numbers(table.column(name)).to_numpy()
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
