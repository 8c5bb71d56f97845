"""Fields of CSV files as numbers, truth values or texts."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from itertools import product
from typing import Any

from skewridge.io.csv_files import NULLS, Dialect, Rows, parsed, reading, scan


def read_numbers(rows: Rows, dialect: Dialect, columns: Collection[str]) -> Any:
    """Columns of numbers as a table of pyarrow, or raise with the first field that is none."""
    import pyarrow as pa

    try:
        return parsed(rows, dialect, list(columns), pa.float64())
    except pa.ArrowInvalid:  # a plus, spaces alone, or no number
        texts = parsed(rows, dialect, list(columns), pa.string())
        return pa.table({name: _numbers(name, texts.column(name), rows.first) for name in columns})


def read_columns(url: str, texts: Collection[str] = (), delimiter: str | None = None) -> Any:
    """All columns of a file as a table of pyarrow; each is of numbers or truth values where every field is one.

    ``texts`` are columns that must not be taken for numbers: codes keep their leading zeros. Rows are counted from 1
    where one is refused.
    """
    import pyarrow as pa

    dialect, ranges = scan(url, delimiter)
    parts, first = [], 0
    with reading(url):
        for _, content in ranges:
            parts.append(parsed(Rows(content, first), dialect, dialect.names, pa.string(), 1))
            first += parts[-1].num_rows
    schema = pa.schema([(name, pa.string()) for name in dialect.names])
    table = pa.concat_tables(parts) if parts else schema.empty_table()
    columns = [table.column(name) for name in dialect.names]
    named = zip(dialect.names, columns, strict=True)
    return pa.table({name: column if name in texts else typed(column) for name, column in named})


def typed(texts: Any) -> Any:
    """A column of texts as whole numbers, numbers or truth values, whichever all of them are; else as it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> typed(pa.chunked_array([["1", "+2.5"]])).to_pylist(), typed(pa.chunked_array([["1", "x"]])).to_pylist()
    ([1.0, 2.5], ['1', 'x'])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for values, kind in product((lambda: texts, lambda: _plain(texts)), (pa.int64(), pa.float64())):
        with suppress(pa.ArrowInvalid):
            return pc.cast(values(), kind)
    truths = pc.utf8_lower(_plain(texts))
    known = pc.is_in(truths, pa.array(["true", "false", None]))
    return pc.equal(truths, "true") if pc.all(known).as_py() else texts


def _plain(texts: Any) -> Any:
    """Texts without spaces around them or a plus before them; null where nothing is left, or what means nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+([0-9.])", r"\1")
    missing = pc.is_in(plain, pa.array(NULLS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), plain)


def _numbers(name: str, texts: Any, first: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = _plain(texts)
    try:
        return pc.cast(plain, pa.float64())
    except pa.ArrowInvalid:
        place = next(i for i, text in enumerate(plain) if not _is_number(text))
        raise ValueError(
            f"column {name!r} should hold numbers; row {first + place:,} holds {texts[place].as_py()[:40]!r}. Encode "
            "the column, correct it, or name others in features=."
        ) from None


def _is_number(text: Any) -> bool:
    import pyarrow as pa

    try:
        text.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
