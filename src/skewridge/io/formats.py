"""One reader a format: what a file holds, some columns of one of its chunks, and a whole table.

pyarrow and pandas read, and CSV is :mod:`skewridge.io.csv`; here names and types of columns are checked.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np

from skewridge._validation import warn_user
from skewridge.io.csv import (
    ROW_BYTES,
    check_names,
    count_rows,
    read_columns,
    read_numbers,
    scan,
    whole_rows,
)
from skewridge.io.csv_dialect import GAPS, ReadOptions
from skewridge.io.streams import (
    TEXTS,
    UTF8,
    UTF8_MARK,
    ZIP,
    kind_of,
    member_name,
    opened,
    packing_of,
    read_bytes,
    require_table,
)

Types = dict[str, Any]  # numpy's type of every column; None where one does not hold numbers
Opened = tuple[Types, list[str], list[tuple[int, int, int]], Any]
Place = tuple[int, int, int]
Whole = tuple[Any, str]

_INDEX = re.compile(r"__index_level_\d+__")  # an index without a name, as pandas saves it


class Reader(ABC):
    """One format; tables are pyarrow's. Where nothing else is said, a file is one chunk that is read as a whole."""

    name: str
    endings: tuple[str, ...]
    group = ""  # what a chunk is called, where files have such

    def open(self, url: str, options: ReadOptions) -> Opened:
        """Types, columns that are an index, (start, stop, rows) of every chunk, and what ``read`` needs besides."""
        table, _ = self.whole(url, options, (), ())
        return _types(table), [], [(0, 1, table.num_rows)], options

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        """Some columns of a chunk: its start, its stop, and how many rows are before it."""
        return self.whole(url, how, (), ())[0].select(list(columns))

    @abstractmethod
    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        """All rows, and in words how they were read where that was found; CSV's ``texts`` and ``plain`` stay texts."""


class _Csv(Reader):
    """Ranges of bytes that hold whole rows."""

    name, endings = "CSV", (".csv", ".tsv", ".txt")

    def open(self, url: str, options: ReadOptions) -> Opened:
        dialect, ranges = scan(url, options)
        spans, first = [], 0
        for start, content in ranges:
            n_rows = count_rows(content, first, dialect)
            spans.append((start, start + len(content), n_rows))
            first += n_rows
        return dict.fromkeys(dialect.names, np.dtype(np.float64)), [], spans, dialect

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        start, stop, first = place
        return read_numbers(read_bytes(url, start, stop, how.encoding), first, how, columns)

    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        table, dialect = read_columns(url, texts, options, plain)
        return table, dialect.said


class _Grouped(Reader):
    """Files that are written in groups of rows, each of which can be read alone."""

    @abstractmethod
    def groups(self, file: Any) -> tuple[Any, list[int]]:
        """The schema, and how many rows each group has."""

    def open(self, url: str, options: ReadOptions) -> Opened:
        with opened(url, native=True) as file:
            schema, groups = self.groups(file)
        check_names(schema.names)
        types = {field.name: _numpy_type(field.type) for field in schema}
        return types, index_columns(schema), [(i, i + 1, n_rows) for i, n_rows in enumerate(groups)], None


class _Parquet(_Grouped):
    """Row groups."""

    name, endings, group = "Parquet", (".parquet", ".pq"), "row group"

    def groups(self, file: Any) -> tuple[Any, list[int]]:
        import pyarrow.parquet as pq

        found = pq.ParquetFile(file)
        meta = found.metadata
        return found.schema_arrow, [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        import pyarrow.parquet as pq

        with opened(url, native=True) as file:
            return pq.ParquetFile(file).read_row_group(place[0], columns=list(columns))

    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        import pyarrow.parquet as pq

        with opened(url, native=True) as file:
            found = pq.ParquetFile(file)
            require_table(url, sum(found.metadata.row_group(i).total_byte_size for i in range(found.num_row_groups)))
            return found.read(), ""


class _Arrow(_Grouped):
    """Record batches."""

    name, endings, group = "Arrow", (".arrow", ".feather", ".ipc"), "record batch"

    def groups(self, file: Any) -> tuple[Any, list[int]]:
        import pyarrow as pa

        found = pa.ipc.open_file(file)
        return found.schema, [found.get_batch(i).num_rows for i in range(found.num_record_batches)]

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        import pyarrow as pa

        with opened(url, native=True) as file:
            return pa.Table.from_batches([pa.ipc.open_file(file).get_batch(place[0])]).select(list(columns))

    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        import pyarrow as pa

        with opened(url, native=True) as file:
            return pa.ipc.open_file(file).read_all(), ""


class _JsonLines(Reader):
    """One object a line, by ranges of bytes that hold whole lines."""

    name, endings = "JSON lines", (".jsonl", ".ndjson")

    def open(self, url: str, options: ReadOptions) -> Opened:
        types, spans = Types(), []
        for start, content in whole_rows(url):
            table = _objects(content)
            for name, kind in _types(table).items():  # numbers in every range
                types[name] = None if kind is None else types.get(name, np.dtype(np.float64))
            spans.append((start, start + len(content), table.num_rows))
        return types, [], spans, None

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        import pyarrow as pa

        table = _objects(read_bytes(url, *place[:2]))
        gaps = pa.nulls(table.num_rows)
        return pa.table({name: table.column(name) if name in table.column_names else gaps for name in columns})

    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        import pyarrow as pa

        lines = b""
        for _, content in whole_rows(url):
            lines += content
            require_table(url, len(lines))
        table = _objects(lines)
        if not table.column_names:
            raise ValueError("No columns: the file is empty.")
        for i, field in enumerate(table.schema):
            if pa.types.is_nested(field.type):
                cells = [None if cell is None else json.dumps(cell, default=str) for cell in table[i].to_pylist()]
                table = table.set_column(i, field.name, pa.array(cells, pa.string()))
        return table, ""


class _Excel(Reader):
    """A sheet, read as a whole: the first row is the header, formulas are what they last gave."""

    name, endings = "Excel", (".xlsx", ".xlsm")

    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        import pandas as pd
        import pyarrow as pa

        with opened(url) as file, ZipFile(file) as archive:
            require_table(url, sum(member.file_size for member in archive.infolist()))
            try:
                book = pd.ExcelFile(file, engine="openpyxl")
            except ImportError as error:
                need = "is an Excel file, which needs openpyxl: pip install 'skewridge[excel]'."
                raise ImportError(f"{url} {need}") from error
            sheets = book.sheet_names
            sheet = sheets[0] if options.sheet is None else options.sheet
            if sheet not in sheets:
                raise ValueError(f"no sheet {sheet!r}; it has {', '.join(map(repr, sheets))}.")
            rows = pd.read_excel(book, sheet_name=sheet, header=None, dtype=object)
        rows = rows.mask(rows.map(lambda cell: isinstance(cell, str) and cell.strip() in GAPS))
        rows = rows.dropna(how="all").dropna(how="all", axis="columns")
        if rows.empty:
            raise ValueError("No columns: the sheet is empty.")
        header = rows.iloc[0].dropna().astype(str).str.strip()
        check_names(list(header))
        nameless = rows.shape[1] - len(header)
        if nameless:
            warn_user(f"{url}: {nameless} columns without a name are ignored.")
        table = pa.table({name: _column(rows[place].iloc[1:]) for place, name in header.items()})
        first_of_several = options.sheet is None and len(sheets) > 1
        return table, f"sheet {sheet!r}, the first of {len(sheets)}" if first_of_several else ""


PARQUET = _Parquet.endings
FORMATS = (_Csv(), _Parquet(), _Arrow(), _JsonLines(), _Excel())
READERS: dict[str, Reader] = {ending: reader for reader in FORMATS for ending in reader.endings}


def reader_of(url: str) -> Reader:
    """The reader of a file, by its ending or by that of the only file in a zip archive."""
    kind, packing = kind_of(url), packing_of(url)
    if packing == ZIP:
        kind = kind_of(member_name(url)) or kind
    if kind not in READERS:
        raise ValueError(f"{url} holds a file that ends in {kind!r}. Expected one of {', '.join(READERS)}.")
    if packing and READERS[kind].name not in TEXTS:
        raise ValueError(f"{url}: {READERS[kind].name} cannot be read from a packed file. Unpack it first.")
    return READERS[kind]


def index_columns(schema: Any) -> list[str]:
    """The columns that hold the index of the pandas frame that was saved, which are no features."""
    saved = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name in saved or _INDEX.fullmatch(name)]


def _numpy_type(arrow: Any) -> Any:
    """numpy's type of a column of numbers; None where there is none."""
    import pyarrow.types as kinds

    if kinds.is_decimal(arrow):
        return np.dtype(np.float64)
    if kinds.is_integer(arrow) or kinds.is_floating(arrow) or kinds.is_boolean(arrow):
        return np.dtype(arrow.to_pandas_dtype())
    return None


def _types(table: Any) -> Types:
    """The types of columns; one of gaps alone may hold numbers."""
    empty = np.dtype(np.float64)
    return {
        name: empty if column.null_count == len(column) else _numpy_type(column.type)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _objects(content: bytes) -> Any:
    """The objects of some lines, their names as columns."""
    import pyarrow as pa
    from pyarrow import json as pa_json

    content = content.removeprefix(UTF8_MARK)
    content.decode(UTF8)  # which pyarrow does not check
    if not content.strip():
        return pa.table({})
    return pa_json.read_json(BytesIO(content), pa_json.ReadOptions(block_size=min(len(content), ROW_BYTES)))


def _column(cells: Any) -> Any:
    """A series of cells as a column of pyarrow: of one type where all have it, else of texts."""
    import pyarrow as pa

    try:
        return pa.array(cells.infer_objects(), from_pandas=True)
    except pa.ArrowException:
        return pa.array(cells.map(str, na_action="ignore"), pa.string(), from_pandas=True)
