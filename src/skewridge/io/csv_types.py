"""Fields of CSV files as numbers, truth values or texts."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from itertools import product
from typing import Any

from skewridge.io.csv_files import Rows, parsed, reading, scan
from skewridge.io.dialects import NULLS, Dialect
from skewridge.io.memory import require_table
from skewridge.io.number_forms import OTHER, are_numbers, is_number, plain_numbers
from skewridge.io.options import FOUND, ReadOptions

PLAIN = Dialect((), ",")


def read_numbers(rows: Rows, dialect: Dialect, columns: Collection[str]) -> Any:
    """Columns of numbers as a table of pyarrow, or raise with the first field that is none."""
    import pyarrow as pa

    if dialect.decimal == "." and not dialect.thousands:
        with suppress(pa.ArrowInvalid):  # a plus, spaces alone, or no number
            return parsed(rows, dialect, list(columns), pa.float64())
    texts = parsed(rows, dialect, list(columns), pa.string())
    return pa.table({name: _numbers(name, texts.column(name), rows.first, dialect) for name in columns})


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
    with reading(url):
        for _, content in ranges:
            parts.append(parsed(Rows(content, first), dialect, dialect.names, pa.string(), 1))
            first, n_bytes = first + parts[-1].num_rows, n_bytes + len(content)
            require_table(url, n_bytes)
    schema = pa.schema([(name, pa.string()) for name in dialect.names])
    table = pa.concat_tables(parts) if parts else schema.empty_table()
    columns = {}
    for name in dialect.names:
        own = table.column(name)
        columns[name] = own if name in texts else (pointed if name in plain else typed)(own, dialect)
    return pa.table(columns), dialect


def pointed(texts: Any, dialect: Dialect) -> Any:
    """Texts whose numbers, in a file with decimal commas, are written with a point."""
    import pyarrow.compute as pc

    if dialect.decimal != "," or pc.any(_otherwise_written(_plain(texts), ",")).as_py():
        return texts
    return pc.if_else(are_numbers(texts, ","), plain_numbers(_plain(texts), ","), texts)


def typed(texts: Any, dialect: Dialect = PLAIN) -> Any:
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

    plain, as_text = _plain(texts), texts
    if dialect.decimal == ",":
        if pc.any(_otherwise_written(plain, dialect.decimal)).as_py():
            return texts  # its numbers have points
        plain = plain_numbers(plain, dialect.decimal)
        texts = as_text = pc.if_else(are_numbers(texts, dialect.decimal), plain, texts)
    elif dialect.thousands:
        plain = plain_numbers(plain, dialect.decimal)
    for values, kind in product((texts, plain), (pa.int64(), pa.float64())):
        with suppress(pa.ArrowInvalid):
            return pc.cast(values, kind)
    truths = pc.utf8_lower(plain)
    known = pc.is_in(truths, pa.array(["true", "false", None]))
    return pc.equal(truths, "true") if pc.all(known).as_py() else as_text


def _otherwise_written(texts: Any, decimal: str) -> Any:
    """Which texts are numbers with the other decimal sign only."""
    import pyarrow.compute as pc

    return pc.and_not(are_numbers(texts, OTHER[decimal]), are_numbers(texts, decimal))


def _plain(texts: Any) -> Any:
    """Texts without spaces around them or a plus before them; null where nothing is left, or what means nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+([0-9.])", r"\1")
    missing = pc.is_in(plain, pa.array(NULLS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), plain)


def _numbers(name: str, texts: Any, first: int, dialect: Dialect) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = _plain(texts)
    if dialect.decimal == ",":
        odd = pc.if_else(_otherwise_written(plain, ","), "odd", plain)  # a point is no decimal sign here
        plain = plain_numbers(odd, ",")
    elif dialect.thousands:
        plain = plain_numbers(plain, dialect.decimal)
    try:
        return pc.cast(plain, pa.float64())
    except pa.ArrowInvalid:
        place = next(i for i, text in enumerate(plain) if not _is_number(text))
        text, other = texts[place].as_py(), OTHER[dialect.decimal]
        more = f" Is its decimal sign {other!r}? Then add decimal={other!r}." if is_number(text.strip(), other) else ""
        raise ValueError(
            f"column {name!r} should hold numbers; row {first + place:,} holds {text[:40]!r}. Encode the column, "
            f"correct it, or name others in features=.{more}"
        ) from None


def _is_number(text: Any) -> bool:
    import pyarrow as pa

    try:
        text.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
