"""Arrow files (IPC, Feather) by record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from skewridge.io.csv_files import check_names
from skewridge.io.opening import opened
from skewridge.io.parquet_files import in_one_line


def open_arrow(url: str) -> tuple[Any, list[int]]:
    """The schema of a file, and how many rows each of its record batches has."""
    with _opened(url) as found:
        schema = found.schema
        batches = [found.get_batch(i).num_rows for i in range(found.num_record_batches)]
    try:
        check_names(schema.names)
    except ValueError as error:
        raise ValueError(f"{url}: {error}") from error
    return schema, batches


def read_batch(url: str, number: int, columns: Sequence[str]) -> Any:
    """Some columns of one record batch as a table of pyarrow."""
    import pyarrow as pa

    with opened(url, native=True) as file:
        return pa.Table.from_batches([pa.ipc.open_file(file).get_batch(number)]).select(list(columns))


def read_arrow(url: str) -> Any:
    """All columns of a file as a table of pyarrow."""
    with _opened(url) as found:
        table = found.read_all()
    try:
        check_names(table.column_names)
    except ValueError as error:
        raise ValueError(f"{url}: {error}") from error
    return table


@contextmanager
def _opened(url: str) -> Iterator[Any]:
    import pyarrow as pa

    try:
        with opened(url, native=True) as file:
            yield pa.ipc.open_file(file)
    except (OSError, pa.ArrowException) as error:
        raise OSError(f"{url} cannot be read as Arrow: {in_one_line(error)} Is it a whole Arrow file?") from error
