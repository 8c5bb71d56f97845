"""Parquet files by row groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from skewridge.io.csv_files import check_names
from skewridge.io.opening import opened

_INDEX = re.compile(r"__index_level_\d+__")  # an index without a name, as pandas saves it


def open_parquet(url: str) -> tuple[Any, list[int]]:
    """The schema of a file, and how many rows each of its row groups has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with opened(url, native=True) as file:
            found = pq.ParquetFile(file)
            schema, meta = found.schema_arrow, found.metadata
            groups = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
    except (OSError, pa.ArrowException) as error:
        raise OSError(f"Cannot read the footer of {url}: {in_one_line(error)} Is it a whole Parquet file?") from error
    try:
        check_names(schema.names)
    except ValueError as error:
        raise ValueError(f"{url}: {error}") from error
    return schema, groups


def index_columns(schema: Any) -> list[str]:
    """The columns that hold the index of the pandas frame that was saved, which are no features."""
    saved = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name in saved or _INDEX.fullmatch(name)]


def read_row_group(url: str, number: int, columns: Sequence[str]) -> Any:
    """Some columns of one row group as a table of pyarrow."""
    import pyarrow.parquet as pq

    with opened(url, native=True) as file:
        return pq.ParquetFile(file).read_row_group(number, columns=list(columns))


def in_one_line(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}."
