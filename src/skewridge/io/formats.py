"""One reader a format: what a file holds, some columns of one of its chunks, and a whole table.

The libraries read (pyarrow, openpyxl, json; CSV is :mod:`skewridge.io.csv`); here columns get names and types.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from datetime import time
from itertools import zip_longest
from typing import Any
from zipfile import ZipFile

import numpy as np

from skewridge._validation import warn_user
from skewridge.io.csv import check_names, count_rows, read_bytes, read_columns, read_numbers, scan, whole_rows
from skewridge.io.csv_dialect import GAPS, ReadOptions
from skewridge.io.streams import UTF8_MARK, ZIP, kind_of, member_name, opened, packing_of, require_table

Types = dict[str, Any]  # numpy's type of every column; None where one does not hold numbers
Opened = tuple[Types, list[str], list[tuple[int, int, int]], Any]
Place = tuple[int, int, int]
Whole = tuple[Any, str]

_INDEX = re.compile(r"__index_level_\d+__")  # an index without a name, as pandas saves it
_LARGEST = 1 << 63  # whole numbers beyond become numbers in double precision


class Reader(ABC):
    """One format; tables are pyarrow's."""

    name: str
    endings: tuple[str, ...]
    group = ""  # what a chunk is called, where files have such
    packed = False  # whether packed files are read

    @abstractmethod
    def open(self, url: str, options: ReadOptions) -> Opened:
        """Types, columns that are an index, (start, stop, rows) of every chunk, and what ``read`` needs besides."""

    @abstractmethod
    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        """Some columns of a chunk: its start, its stop, and how many rows are before it."""

    @abstractmethod
    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        """All rows, and in words how they were read where that was found; CSV's ``texts`` and ``plain`` stay texts."""


class Csv(Reader):
    """Ranges of bytes that hold whole rows."""

    name, endings, packed = "CSV", (".csv", ".tsv", ".txt"), True

    def open(self, url: str, options: ReadOptions) -> Opened:
        """Every column may hold numbers: which do is known when they are read."""
        dialect, ranges = scan(url, options)
        spans, first = [], 0
        for start, content in ranges:
            n_rows = count_rows(content, first, dialect)
            spans.append((start, start + len(content), n_rows))
            first += n_rows
        return dict.fromkeys(dialect.names, np.dtype(np.float64)), [], spans, dialect

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        """Numbers, by the dialect of the file."""
        start, stop, first = place
        return read_numbers(read_bytes(url, start, stop, how.encoding), first, how, columns)

    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        """The dialect is said."""
        table, dialect = read_columns(url, texts, options, plain)
        return table, dialect.said


class Grouped(Reader):
    """Files that are written in groups of rows, each of which can be read alone."""

    @abstractmethod
    def groups(self, file: Any) -> tuple[Any, list[int]]:
        """The schema, and how many rows each group has."""

    def open(self, url: str, options: ReadOptions) -> Opened:
        """Nothing is read but the footer."""
        with opened(url, native=True) as file:
            schema, groups = self.groups(file)
        check_names(schema.names)
        types = {field.name: _numpy_type(field.type) for field in schema}
        return types, index_columns(schema), [(i, i + 1, n_rows) for i, n_rows in enumerate(groups)], None


class Parquet(Grouped):
    """Row groups."""

    name, endings, group = "Parquet", (".parquet", ".pq"), "row group"

    def groups(self, file: Any) -> tuple[Any, list[int]]:
        """The schema, and how many rows each group has."""
        import pyarrow.parquet as pq

        found = pq.ParquetFile(file)
        meta = found.metadata
        return found.schema_arrow, [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        """A row group."""
        import pyarrow.parquet as pq

        with opened(url, native=True) as file:
            return pq.ParquetFile(file).read_row_group(place[0], columns=list(columns))

    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        """All row groups, where memory holds them."""
        import pyarrow.parquet as pq

        with opened(url, native=True) as file:
            found = pq.ParquetFile(file)
            require_table(url, sum(found.metadata.row_group(i).total_byte_size for i in range(found.num_row_groups)))
            return found.read(), ""


class Arrow(Grouped):
    """Record batches."""

    name, endings, group = "Arrow", (".arrow", ".feather", ".ipc"), "record batch"

    def groups(self, file: Any) -> tuple[Any, list[int]]:
        """The schema, and how many rows each batch has."""
        import pyarrow as pa

        found = pa.ipc.open_file(file)
        return found.schema, [found.get_batch(i).num_rows for i in range(found.num_record_batches)]

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        """A record batch."""
        import pyarrow as pa

        with opened(url, native=True) as file:
            return pa.Table.from_batches([pa.ipc.open_file(file).get_batch(place[0])]).select(list(columns))

    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        """All record batches."""
        import pyarrow as pa

        with opened(url, native=True) as file:
            return pa.ipc.open_file(file).read_all(), ""


class JsonLines(Reader):
    """One object a line, by ranges of bytes that hold whole lines."""

    name, endings, packed = "JSON lines", (".jsonl", ".ndjson"), True

    def open(self, url: str, options: ReadOptions) -> Opened:
        """A column is of numbers where it is in every range."""
        types, spans, first = Types(), [], 0
        for start, content in whole_rows(url):
            records = _records(content, first)
            for name, kind in _types(_table(records)).items():
                types[name] = None if kind is None else types.get(name, np.dtype(np.float64))
            spans.append((start, start + len(content), len(records)))
            first += len(records)
        return types, [], spans, None

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        """A range of lines."""
        start, stop, first = place
        return _table(_records(read_bytes(url, start, stop), first), columns)

    def whole(self, url: str, options: ReadOptions, texts: Collection[str], plain: Collection[str]) -> Whole:
        """All lines; rows are counted from 1 where one is refused."""
        records = list[dict[str, Any]]()
        for start, content in whole_rows(url):
            records += _records(content, len(records) + 1)
            require_table(url, start + len(content))
        if not any(records):
            raise ValueError("No columns: the file is empty.")
        return _table(records), ""


class Excel(Reader):
    """A sheet, read as a whole: the first row is the header, formulas are what they last gave."""

    name, endings = "Excel", (".xlsx", ".xlsm")

    def open(self, url: str, options: ReadOptions) -> Opened:
        """One chunk."""
        table, _ = self.whole(url, options)
        return _types(table), [], [(0, 1, table.num_rows)], options

    def read(self, url: str, place: Place, how: Any, columns: Sequence[str]) -> Any:
        """Some columns of the sheet."""
        return self.whole(url, how)[0].select(list(columns))

    def whole(self, url: str, options: ReadOptions, texts: Collection[str] = (), plain: Collection[str] = ()) -> Whole:
        """The sheet that was named, or the first."""
        import pyarrow as pa

        sheets, rows = _sheet(url, options.sheet)
        columns = list(zip_longest(*(row for row in rows if any(cell is not None for cell in row))))
        if not columns:
            raise ValueError("No columns: the sheet is empty.")
        names = ["" if cells[0] is None else str(cells[0]).strip() for cells in columns]
        check_names([name for name in names if name])
        nameless = sum(cells[0] is None and any(cell is not None for cell in cells[1:]) for cells in columns)
        if nameless:
            warn_user(f"{url}: {nameless} columns without a name are ignored.")
        table = pa.table({name: _column(cells[1:]) for name, cells in zip(names, columns, strict=True) if name})
        first_of_several = options.sheet is None and len(sheets) > 1
        return table, f"sheet {sheets[0]!r}, the first of {len(sheets)}" if first_of_several else ""


PARQUET = Parquet.endings
READERS = {ending: reader for reader in (Csv(), Parquet(), Arrow(), JsonLines(), Excel()) for ending in reader.endings}


def reader_of(url: str) -> Reader:
    """The reader of a file, by its ending or by that of the only file in a zip archive."""
    kind, packing = kind_of(url), packing_of(url)
    if packing == ZIP:
        kind = kind_of(member_name(url)) or kind
    if kind not in READERS:
        raise ValueError(f"{url} holds a file that ends in {kind!r}. Expected one of {', '.join(READERS)}.")
    if packing and not READERS[kind].packed:
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


# Cells that have types of their own, as JSON and Excel have them


def _types(table: Any) -> Types:
    """The types of columns; one of gaps alone may hold numbers."""
    empty = np.dtype(np.float64)
    return {
        name: empty if column.null_count == len(column) else _numpy_type(column.type)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _column(cells: Sequence[Any]) -> Any:
    """A column of pyarrow: numbers, truth values or times where all cells are such, else texts; None is a gap.

    Examples
    --------
    >>> _column([1, None, 2.5]).to_pylist(), _column([1, "unknown"]).to_pylist()
    ([1.0, None, 2.5], ['1', 'unknown'])
    """
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int, float}:
        cells = [cell if cell is None else float(cell) for cell in cells]
    elif len(kinds) > 1 or kinds & {dict, list, time}:
        cells = [c if c is None or isinstance(c, str) else json.dumps(c, default=str) for c in cells]
    return pa.array(cells, None if kinds else pa.string(), from_pandas=True)


def _records(content: bytes, first: int) -> list[dict[str, Any]]:
    """The objects of some lines; empty lines are left out, and ``first`` is the number of the first row."""
    lines = [line for line in content.removeprefix(UTF8_MARK).splitlines() if line.strip()]
    found = []
    for row, line in enumerate(lines, first):
        try:
            record = json.loads(line, object_pairs_hook=_record, parse_int=_whole_number)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"row {row:,}, {line[:60]!r}: {error}") from error
        if not isinstance(record, dict):
            raise ValueError(f'row {row:,} must be an object, as in {{"a": 1}}; got {line[:60]!r}.')
        found.append(record)
    return found


def _record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        check_names([name for name, _ in pairs])
    return record


def _whole_number(text: str) -> float:
    value = int(text)
    return value if abs(value) < _LARGEST else float(text)


def _table(records: Sequence[dict[str, Any]], columns: Iterable[str] = ()) -> Any:
    """Some names of objects, or all in the order in which they come up, as columns."""
    import pyarrow as pa

    names = columns or dict.fromkeys(name for record in records for name in record)
    return pa.table({name: _column([record.get(name) for record in records]) for name in names})


def _sheet(url: str, sheet: str | None) -> tuple[list[str], list[list[Any]]]:
    """The names of the sheets of a workbook, and the cells of one."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError(f"{url} is an Excel file, which needs openpyxl: pip install 'skewridge[excel]'.") from error
    with opened(url) as file:
        try:
            with ZipFile(file) as archive:
                require_table(url, sum(member.file_size for member in archive.infolist()))
            sheets = {found.title: found for found in load_workbook(file, read_only=True, data_only=True).worksheets}
            chosen = sheets.get(next(iter(sheets)) if sheet is None else sheet)
            rows = []
            if chosen is not None:
                chosen.reset_dimensions()  # which some programs write wrongly
                for row in chosen.iter_rows(values_only=True):
                    rows.append([None if isinstance(c, str) and c.strip() in GAPS else c for c in row])
        except MemoryError:
            raise
        except Exception as error:  # a parser of XML, zip archives and openpyxl have no error in common
            raise OSError(f"{type(error).__name__}: {error}") from error
    if chosen is None:
        raise ValueError(f"no sheet {sheet!r}; it has {', '.join(map(repr, sheets))}.")
    return list(sheets), rows
