"""Whole tables of any format, with columns of every kind: what the command line reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from skewridge.io.arrow_files import read_arrow
from skewridge.io.csv_files import check_names
from skewridge.io.csv_types import read_columns
from skewridge.io.excel_files import read_sheet
from skewridge.io.json_files import read_json
from skewridge.io.memory import require_table
from skewridge.io.opening import format_of, opened
from skewridge.io.options import FOUND, ReadOptions
from skewridge.io.parquet_files import index_columns


def read_whole(
    url: str,
    texts: Collection[str] = (),
    named: Collection[str] = (),
    options: ReadOptions = FOUND,
    plain: Collection[str] = (),
) -> tuple[Any, str]:
    """A file as a table of pyarrow, and in words how it was read where that was found and is not plain.

    ``texts`` are columns that CSV must not take for numbers: codes keep their leading zeros. ``named`` are columns that
    are read though they are the index of a pandas frame, which is left out otherwise. ``plain`` are texts as well,
    whose numbers have a decimal point.
    """
    form = format_of(url)
    if form == "CSV":
        table, dialect = read_columns(url, texts, options, plain)
        return table, dialect.said
    if form == "JSON lines":
        return read_json(url), ""
    if form == "Excel":
        return read_sheet(url, options.sheet)
    table = read_arrow(url) if form == "Arrow" else _read_parquet(url)
    index = [name for name in index_columns(table.schema) if name not in named]
    return table.drop_columns(index), ""


def _read_parquet(url: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with opened(url, native=True) as content:
            found = pq.ParquetFile(content)
            require_table(url, sum(found.metadata.row_group(i).total_byte_size for i in range(found.num_row_groups)))
            table = found.read()
        check_names(table.column_names)
    except (ValueError, OSError, NotImplementedError, OverflowError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise ValueError(f"{url} cannot be read as Parquet: {error}") from error
    return table
