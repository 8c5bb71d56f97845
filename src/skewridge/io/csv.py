"""CSV by ranges of bytes that hold whole rows, and its fields as numbers, truth values or texts.

A row ends with a line outside quotes. Ranges are found in one pass over a file; any machine then reads a range alone.
How a file is cut and its numbers are written is decided in :mod:`skewridge.io.csv_dialect`.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from itertools import chain, product
from typing import Any

from skewridge._validation import warn_user
from skewridge.io.csv_dialect import (
    FOUND,
    NAMED_DELIMITER,
    NAMELESS,
    NULLS,
    OTHER,
    SPACE,
    Dialect,
    ReadOptions,
    are_numbers,
    find_dialect,
    is_number,
    plain_numbers,
    squeezed,
)
from skewridge.io.streams import UTF8, UTF8_MARK, damaged_byte, decoded, is_stepwise, require_table, unpacked

CSV_BYTES = 8 << 20  # of a range
ROW_BYTES = 64 << 20  # a longer row is taken for a quote that was left open
PLAIN = Dialect((), ",")


def scan(url: str, options: ReadOptions = FOUND) -> tuple[Dialect, Iterator[tuple[int, bytes]]]:
    """The dialect of a file, and its rows: where a range of them starts, and its bytes."""
    found, lead = find_dialect(url, options), b""
    ranges = whole_rows(url, found)
    for _, piece in ranges:
        lead += piece
        begin = len(lead) - len(lead.removeprefix(UTF8_MARK).lstrip(b"\r\n"))
        named = NAMED_DELIMITER.match(lead[begin : begin + 9].decode("latin-1"))
        begin += named.end() if named else 0
        if lead[begin:]:
            break
    else:
        raise ValueError("No columns: the file is empty.")
    lines = lead[begin:].splitlines(keepends=True)
    rows = csv.reader((_as_utf8(line, found).decode(UTF8) for line in lines), delimiter=found.delimiter)
    header = next(rows)
    end = begin + sum(map(len, lines[: rows.line_num]))
    check_names([name for name in header if name])
    others = [sign for sign in (";", "\t", ",", "|") if sign != found.delimiter and sign in header[0]]
    if len(header) == 1 and others:
        raise ValueError(
            f"there is one column only, {header[0][:60]!r}. Is its delimiter {others[0]!r}? Use --delimiter, in Python "
            "delimiter=."
        )
    if found.doubt:
        warn_user(f"{url}: {found.doubt}")
    if "" in header:
        warn_user(f"{url}: {header.count('')} columns without a name are ignored.")
    dialect = replace(found, header=tuple(name or f"{NAMELESS}{i}" for i, name in enumerate(header)))
    return dialect, chain([(end, lead[end:])] if lead[end:] else [], ranges)


def whole_rows(url: str, dialect: Dialect | None = None) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file in pieces of whole rows, and where each starts; lines in quoted fields of CSV end none."""
    quoted, rest, start = None, b"", 0
    if dialect is not None:  # fields in quotes, found fast by these; the last one lacks group 1 where it is left open
        before = re.escape(dialect.delimiter.encode())
        quoted = re.compile(rb'"(?<![^\r\n' + before + rb']")[^"]*(?:""[^"]*)*(?:(")|\Z)')
    with unpacked(url, 0, UTF8 if dialect is None else dialect.encoding) as file:
        while more := file.read(CSV_BYTES):
            rest += more
            outside = rest
            if quoted is not None and b'"' in rest:
                outside = quoted.sub(lambda field: b" " * len(field[0]), rest)
            last = len(rest) - rest.endswith(b"\r")  # which a line feed may follow
            end = max(outside.rfind(b"\n", 0, last), outside.rfind(b"\r", 0, last)) + 1
            if end:
                yield start, rest[:end]
                rest, start = rest[end:], start + end
            elif len(rest) > ROW_BYTES:
                break
    if quoted is not None and any(field[1] is None for field in quoted.finditer(rest)):
        raise ValueError(
            f"a quote is left open in the row that starts at byte {start:,}, {rest[:40]!r}. Close it, or double it "
            "where it is part of the text."
        )
    if len(rest) > ROW_BYTES:
        raise ValueError(
            f"the row that starts at byte {start:,}, {rest[:40]!r}, has no end within "
            f"{ROW_BYTES >> 20} MB. Is it a table?"
        )
    if rest:
        yield start, rest


def check_names(names: Sequence[str]) -> None:
    """Refuse columns of the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"two columns are called {twice[0]!r}. Rename one of them.")


def count_rows(content: bytes, first: int, dialect: Dialect, counted_from: int = 0) -> int:
    """How many rows there are; each has as many fields as the header."""
    import pyarrow as pa

    columns = dialect.names[:1] or list(dialect.header[:1])
    return int(parsed(content, first, dialect, columns, pa.binary(), counted_from).num_rows)


def parsed(
    content: bytes, first: int, dialect: Dialect, columns: Sequence[str], kind: Any, counted_from: int = 0
) -> Any:
    """Some columns of rows as a table of pyarrow; ``first`` rows are before them, counted from 0 or 1 in errors."""
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    content = _as_utf8(content, dialect)
    lines_in_fields = b'"' in content
    block = {"block_size": max(len(content), 1 << 20)} if lines_in_fields else {}
    ragged: list[Any] = []

    def refuse(row: Any) -> str:
        ragged.append(row)
        return "error"

    def read(threads: bool) -> Any:
        return pa_csv.read_csv(
            BytesIO(content),
            pa_csv.ReadOptions(column_names=list(dialect.header), use_threads=threads, **block),
            pa_csv.ParseOptions(
                delimiter=dialect.delimiter,
                newlines_in_values=lines_in_fields,
                ignore_empty_lines=len(dialect.header) > 1,  # the only column may lack a value
                invalid_row_handler=refuse,
            ),
            pa_csv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(columns, kind),
                null_values=list(NULLS),
                strings_can_be_null=True,
            ),
        )

    try:
        return read(threads=True)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        if not ragged:
            try:
                content.decode(UTF8)
            except UnicodeDecodeError as damage:
                before = content[: content.rfind(b"\n", 0, damage.start) + 1]
                row = first + (count_rows(before, first, dialect) if before else 0) + counted_from
                raise ValueError(f"row {row:,}: {damaged_byte(content, damage.start, UTF8)}") from None
            raise
    with suppress(pa.ArrowInvalid):
        read(threads=False)  # which counts rows
    odd = ragged[-1]
    raise ValueError(
        f"row {first + odd.number - 1 + counted_from:,} has {odd.actual_columns} fields and the header "
        f"{len(dialect.header)}: {odd.text[:60]!r}. Correct it, or put quotes around fields that hold "
        f"{dialect.delimiter!r}."
    )


def _as_utf8(content: bytes, dialect: Dialect) -> bytes:
    """Bytes of whole rows as they are parsed: in UTF-8, one space between columns where spaces are."""
    if is_stepwise(dialect.encoding):
        content = decoded(content, dialect.encoding).encode(UTF8)
    return squeezed(content) if dialect.delimiter == SPACE else content


def read_numbers(content: bytes, first: int, dialect: Dialect, columns: Sequence[str]) -> Any:
    """Columns of numbers as a table of pyarrow, or raise with the first field that is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if dialect.decimal == "." and not dialect.thousands:
        with suppress(pa.ArrowInvalid):  # a plus, spaces alone, or no number
            return parsed(content, first, dialect, columns, pa.float64())
    texts = parsed(content, first, dialect, columns, pa.string())
    numbers = {}
    for name in columns:
        plain = _plain(texts.column(name))
        if dialect.decimal == ",":
            plain = pc.if_else(_with_point(plain), "odd", plain)  # a point is no decimal sign here
        if dialect.decimal == "," or dialect.thousands:
            plain = plain_numbers(plain, dialect.decimal)
        try:
            numbers[name] = pc.cast(plain, pa.float64())
        except pa.ArrowInvalid:
            place = 0
            with suppress(pa.ArrowInvalid):
                while True:
                    plain[place].cast(pa.float64())
                    place += 1
            text, other = texts.column(name)[place].as_py(), OTHER[dialect.decimal]
            signed = is_number(text.strip(), other)
            more = f" Is its decimal sign {other!r}? Then add decimal={other!r}." if signed else ""
            raise ValueError(
                f"column {name!r} should hold numbers; row {first + place:,} holds {text[:40]!r}. Encode the column, "
                f"correct it, or name others in features=.{more}"
            ) from None
    return pa.table(numbers)


def read_columns(
    url: str, texts: Collection[str] = (), options: ReadOptions = FOUND, plain: Collection[str] = ()
) -> tuple[Any, Dialect]:
    """All columns of a file as a table of pyarrow, and the file's dialect.

    A column is of numbers or truth values where every field is one. ``texts`` are columns that must not be taken for
    numbers: codes keep their leading zeros; in those of ``plain`` numbers are written with a point all the same. Rows
    are counted from 1 where one is refused.
    """
    import pyarrow as pa

    dialect, ranges = scan(url, options)
    parts, first, n_bytes = [], 0, 0
    for _, content in ranges:
        parts.append(parsed(content, first, dialect, dialect.names, pa.string(), 1))
        first, n_bytes = first + parts[-1].num_rows, n_bytes + len(content)
        require_table(url, n_bytes)
    schema = pa.schema([(name, pa.string()) for name in dialect.names])
    table = pa.concat_tables(parts) if parts else schema.empty_table()
    columns = {
        name: table.column(name) if name in texts else typed(table.column(name), dialect, name in plain)
        for name in dialect.names
    }
    return pa.table(columns), dialect


def typed(texts: Any, dialect: Dialect = PLAIN, as_text: bool = False) -> Any:
    """A column of texts as whole numbers, numbers or truth values, whichever all of them are; else as it is.

    In a file with decimal commas, numbers among other texts are written with a point, whatever the others are: whoever
    takes the column for numbers later ("unknown" is a gap) does not see the other columns, which tell what "1.234" is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> typed(pa.chunked_array([["1", "+2.5"]])).to_pylist(), typed(pa.chunked_array([["1", "x"]])).to_pylist()
    ([1.0, 2.5], ['1', 'x'])
    >>> typed(pa.chunked_array([["1.234", "?"]]), Dialect((), ";", ",")).to_pylist()
    ['1234', '?']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = _plain(texts)
    if dialect.decimal == ",":
        if pc.any(_with_point(plain)).as_py():
            return texts  # its numbers have points
        plain = plain_numbers(plain, ",")
        texts = pc.if_else(are_numbers(texts, ","), plain, texts)
    elif dialect.thousands:
        plain = plain_numbers(plain, ".")
    if as_text:
        return texts
    for values, kind in product((texts, plain), (pa.int64(), pa.float64())):
        with suppress(pa.ArrowInvalid):
            return pc.cast(values, kind)
    truths = pc.utf8_lower(plain)
    known = pc.is_in(truths, pa.array(["true", "false", None]))
    return pc.equal(truths, "true") if pc.all(known).as_py() else texts


def _plain(texts: Any) -> Any:
    """Texts without spaces around them or a plus before them; null where nothing is left, or what means nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+([0-9.])", r"\1")
    missing = pc.is_in(plain, pa.array(NULLS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), plain)


def _with_point(texts: Any) -> Any:
    """Which texts are numbers with a decimal point, and none with a decimal comma."""
    import pyarrow.compute as pc

    return pc.and_not(are_numbers(texts, "."), are_numbers(texts, ","))
