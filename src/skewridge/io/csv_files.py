"""CSV files: one reader for every command and function, by ranges of bytes that hold whole rows.

A row ends with a line outside quotes. Ranges are found in one pass over a file; any machine then reads a range alone.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from itertools import chain
from typing import Any
from zipfile import BadZipFile
from zlib import error as ZlibError

from skewridge._validation import warn_user
from skewridge.io.dialects import (
    NAMELESS,
    NULLS,
    SPACE,
    Dialect,
    squeezed,
)
from skewridge.io.encodings import UTF8, UTF8_MARK, damaged_byte, decoded, is_stepwise
from skewridge.io.opening import unpacked
from skewridge.io.options import FOUND, ReadOptions
from skewridge.io.sniffing import NAMED_DELIMITER, find_dialect

CSV_BYTES = 8 << 20  # of a range
ROW_BYTES = 64 << 20  # a longer row is taken for a quote that was left open
_RAGGED = re.compile(r"(Row #(?P<row>\d+): )?Expected \d+ columns, got (?P<fields>\d+): (?P<text>.*)", re.DOTALL)
UNREADABLE = (ValueError, csv.Error, NotImplementedError)


@dataclass(frozen=True)
class Rows:
    """The bytes of whole rows, and how many rows of their file stand before them."""

    content: bytes
    first: int


@contextmanager
def reading(url: str, form: str = "CSV") -> Iterator[None]:
    """Put the file's name into the error of whatever cannot be read."""
    from lzma import LZMAError

    damaged = (OSError, EOFError, LZMAError, BadZipFile, ZlibError)
    try:
        yield
    except (*UNREADABLE, *damaged) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        kind = OSError if isinstance(error, damaged) else ValueError
        raise kind(f"{url} cannot be read as {form}: {error}") from error


def scan(url: str, options: ReadOptions = FOUND) -> tuple[Dialect, Iterator[tuple[int, bytes]]]:
    """The dialect of a file, and its rows: where a range of them starts, and its bytes."""
    lead = b""
    with reading(url):
        found, doubt = find_dialect(url, options)
        pieces = _whole_rows(url, found)
        for piece in pieces:
            lead += piece
            if lead[_beginning(lead) :]:
                break
        dialect, end = _header(lead, found)
    if doubt:
        warn_user(f"{url}: {doubt}")
    nameless = len(dialect.header) - len(dialect.names)
    if nameless:
        warn_user(f"{url}: {nameless} columns without a name are ignored.")
    return dialect, _ranges(url, lead[end:], pieces, end)


def count_rows(rows: Rows, dialect: Dialect, counted_from: int = 0) -> int:
    """How many rows there are; each has as many fields as the header."""
    import pyarrow as pa

    columns = dialect.names[:1] or list(dialect.header[:1])
    return int(parsed(rows, dialect, columns, pa.binary(), counted_from).num_rows)


def parsed(rows: Rows, dialect: Dialect, columns: Sequence[str], kind: Any, counted_from: int = 0) -> Any:
    """Some columns as a table of pyarrow; rows are counted from 0 or 1 where one is refused."""
    import pyarrow as pa

    try:
        return _parsed(rows.content, dialect, columns, kind, threads=True)
    except pa.ArrowInvalid as error:
        if _RAGGED.search(str(error)) is None:
            _check_utf8(rows, dialect, counted_from)
            raise
    try:
        return _parsed(rows.content, dialect, columns, kind, threads=False)  # which counts rows
    except pa.ArrowInvalid as error:
        found = _RAGGED.search(str(error))
        if found is None or found["row"] is None:
            raise
        row = rows.first + int(found["row"]) - 1 + counted_from
        raise ValueError(
            f"row {row:,} has {found['fields']} fields and the header {len(dialect.header)}: {found['text'][:60]!r}. "
            f"Correct it, or put quotes around fields that hold {dialect.delimiter!r}."
        ) from error


def _check_utf8(rows: Rows, dialect: Dialect, counted_from: int) -> None:
    """Refuse bytes that are not UTF-8, with their row."""
    import pyarrow as pa

    content = as_utf8(rows.content, dialect)
    try:
        content.decode(UTF8)
    except UnicodeDecodeError as error:
        before = content[: content.rfind(b"\n", 0, error.start) + 1]
        columns = list(dialect.header[:1])
        n_rows = _parsed(before, dialect, columns, pa.binary(), threads=True).num_rows if before else 0
        why = damaged_byte(content, error.start, UTF8)
        raise ValueError(f"row {rows.first + n_rows + counted_from:,}: {why}") from None


def read_bytes(url: str, start: int, stop: int, encoding: str = UTF8) -> bytes:
    """Read a range again; fewer bytes where the file has become shorter."""
    pieces, missing = [], stop - start
    with unpacked(url, start, encoding) as file:
        while missing and (piece := file.read(missing)):
            pieces.append(piece)
            missing -= len(piece)
    return b"".join(pieces)


def _whole_rows(url: str, dialect: Dialect) -> Iterator[bytes]:
    """The bytes of a file in pieces of whole rows."""
    rest, start, quoted = b"", 0, dialect.quoted
    with unpacked(url, 0, dialect.encoding) as file:
        while more := file.read(CSV_BYTES):
            rest += more
            end, _ = _last_end(rest, quoted)
            if end:
                yield rest[:end]
                rest, start = rest[end:], start + end
            elif len(rest) > ROW_BYTES:
                break
    is_open = bool(rest) and _last_end(rest, quoted)[1]
    if len(rest) > ROW_BYTES and not is_open:
        raise ValueError(
            f"the row that starts at byte {start:,}, {rest[:40]!r}, has no end within "
            f"{ROW_BYTES >> 20} MB. Is it a table?"
        )
    if is_open:
        raise ValueError(
            f"a quote is left open in the row that starts at byte {start:,}, {rest[:40]!r}. Close it, or double it "
            "where it is part of the text."
        )
    if rest:
        yield rest


def _last_end(content: bytes, quoted: re.Pattern[bytes]) -> tuple[int, bool]:
    """Where the last whole row ends, 0 for nowhere, and whether a quote is open at the end of the bytes."""
    found = list(quoted.finditer(content)) if b'"' in content else []
    starts, end = [match.start() for match in found], len(content)
    is_open = bool(found) and found[-1].group(1) is None
    while True:
        line = max(content.rfind(b"\n", 0, end), content.rfind(b"\r", 0, end))
        if line < 0:
            return 0, is_open
        around = bisect_left(starts, line) - 1
        if around >= 0 and line < found[around].end():
            end = found[around].start()
        elif content[line : line + 1] == b"\r" and line + 1 == len(content):
            end = line  # a line feed may follow
        else:
            return line + 1, is_open


def _header(lead: bytes, found: Dialect) -> tuple[Dialect, int]:
    """The dialect, and where the header ends."""
    begin = _beginning(lead)
    if begin == len(lead):
        raise ValueError("No columns: the file is empty.")
    end = begin + _first_end(lead[begin:], found.quoted)
    text = as_utf8(lead[begin:end], found).decode(UTF8).rstrip("\r\n")
    cells = next(csv.reader(StringIO(text, newline=""), delimiter=found.delimiter))
    check_names([name for name in cells if name])
    _check_delimiter(cells, found.delimiter)
    return replace(found, header=tuple(name or f"{NAMELESS}{i}" for i, name in enumerate(cells))), end


def _beginning(lead: bytes) -> int:
    """Where the header begins: after a mark, empty lines, and a line that names the delimiter for spreadsheets."""
    begin = len(lead) - len(lead.removeprefix(UTF8_MARK).lstrip(b"\r\n"))
    named = NAMED_DELIMITER.match(lead[begin : begin + 9].decode("latin-1"))
    return begin + (named.end() if named else 0)


def as_utf8(content: bytes, dialect: Dialect) -> bytes:
    """Bytes of whole rows as they are parsed: in UTF-8, one space between columns where spaces are."""
    if is_stepwise(dialect.encoding):
        content = decoded(content, dialect.encoding).encode(UTF8)
    return squeezed(content) if dialect.delimiter == SPACE else content


def _first_end(content: bytes, quoted: re.Pattern[bytes]) -> int:
    """Where the first row ends."""
    place = 0
    for match in re.finditer(rb"\r\n?|\n", content):
        while (field := quoted.search(content, place)) and field.end() <= match.start():
            place = field.end()
        if field is None or not field.start() <= match.start() < field.end():
            return match.end()
    return len(content)


def _ranges(url: str, rest: bytes, pieces: Iterator[bytes], start: int) -> Iterator[tuple[int, bytes]]:
    with reading(url):
        for content in chain([rest] if rest else [], pieces):
            yield start, content
            start += len(content)


def check_names(names: Sequence[str]) -> None:
    """Refuse columns of the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"two columns are called {twice[0]!r}. Rename one of them.")


def _check_delimiter(header: Sequence[str], delimiter: str) -> None:
    """Refuse a table of one column that another delimiter would cut."""
    others = [other for other in (";", "\t", ",", "|") if other != delimiter and other in header[0]]
    if len(header) == 1 and others:
        raise ValueError(
            f"there is one column only, {header[0][:60]!r}. Is its delimiter {others[0]!r}? Use --delimiter, in Python "
            "delimiter=."
        )


def _parsed(content: bytes, dialect: Dialect, columns: Sequence[str], kind: Any, threads: bool) -> Any:
    from pyarrow import csv as pa_csv

    content = as_utf8(content, dialect)
    lines_in_fields = b'"' in content
    block = {"block_size": max(len(content), 1 << 20)} if lines_in_fields else {}
    return pa_csv.read_csv(
        BytesIO(content),
        pa_csv.ReadOptions(column_names=list(dialect.header), use_threads=threads, **block),
        pa_csv.ParseOptions(
            delimiter=dialect.delimiter,
            newlines_in_values=lines_in_fields,
            ignore_empty_lines=len(dialect.header) > 1,  # the only column may lack a value
        ),
        pa_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=dict.fromkeys(columns, kind),
            null_values=list(NULLS),
            strings_can_be_null=True,
        ),
    )
