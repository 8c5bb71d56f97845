"""JSON lines: one object a line, by ranges of bytes that hold whole lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from skewridge.io import csv_files
from skewridge.io.cells import as_numbers, column_of, is_numeric
from skewridge.io.csv_files import check_names, reading
from skewridge.io.encodings import UTF8_MARK
from skewridge.io.memory import require_table
from skewridge.io.opening import unpacked

Record = dict[str, Any]
FORM = "JSON lines"


def scan_lines(url: str) -> Iterator[tuple[int, bytes]]:
    """Where a range of whole lines starts, and its bytes."""
    rest, start = b"", 0
    with reading(url, FORM), unpacked(url) as file:
        while more := file.read(csv_files.CSV_BYTES):
            rest += more
            end = rest.rfind(b"\n") + 1
            if end:
                yield start, rest[:end]
                rest, start = rest[end:], start + end
            elif len(rest) > csv_files.ROW_BYTES:
                raise ValueError(f"the line that starts at byte {start:,}, {rest[:40]!r}, has no end.")
    if rest:
        yield start, rest


def parse_lines(content: bytes, first: int) -> list[Record]:
    """The objects of some lines; empty lines are left out, and ``first`` is the number of the first row."""
    lines = [line for line in content.removeprefix(UTF8_MARK).splitlines() if line.strip()]
    found = []
    for row, line in enumerate(lines, first):
        try:
            record = json.loads(line, object_pairs_hook=_record)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"row {row:,}, {line[:60]!r}: {error}") from error
        if not isinstance(record, dict):
            raise ValueError(f'row {row:,} must be an object, as in {{"a": 1}}; got {line[:60]!r}.')
        found.append(record)
    return found


def read_json(url: str) -> Any:
    """All columns of a file as a table of pyarrow; rows are counted from 1 where one is refused."""
    records, n_bytes = list[Record](), 0
    for _, content in scan_lines(url):
        with reading(url, FORM):
            records += parse_lines(content, len(records) + 1)
        n_bytes += len(content)
        require_table(url, n_bytes)
    return _table(url, records, names_of(records))


def read_json_numbers(records: Sequence[Record], columns: Sequence[str]) -> Any:
    """Some columns of numbers as a table of pyarrow."""
    import pyarrow as pa

    return pa.table({name: as_numbers(column_of([r.get(name) for r in records])) for name in columns})


def names_of(records: Sequence[Record]) -> list[str]:
    """All names in some objects, in the order in which they come up."""
    return list(dict.fromkeys(name for record in records for name in record))


def numeric_names(records: Sequence[Record]) -> dict[str, bool]:
    """All names, and whether what they name are numbers."""
    return {name: is_numeric(column_of([r.get(name) for r in records])) for name in names_of(records)}


def _table(url: str, records: Sequence[Record], names: Sequence[str]) -> Any:
    import pyarrow as pa

    if not names:
        raise ValueError(f"{url} cannot be read as {FORM}: No columns: the file is empty.")
    return pa.table({name: column_of([record.get(name) for record in records]) for name in names})


def _record(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        check_names([name for name, _ in pairs])
    return record
