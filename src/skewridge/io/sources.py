"""Where rows come from: arrays, data frames, Parquet and CSV files, Dask collections.

Rows in memory stay what they are; any others become a :class:`~skewridge.engine.chunked.Table` of chunks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.engine.chunked import Table
from skewridge.engine.dask import engine_at_hand
from skewridge.engine.job import Engine, Job, named_engine
from skewridge.engine.passes import map_rows
from skewridge.io.column_roles import array_parts, frame_parts, pick
from skewridge.io.dask_collections import is_collection, n_outputs, open_collection
from skewridge.io.files import Files, open_files

READ_ROWS = 65_536  # of a response that are read at a time

SizeCheck = Callable[[int, int, int], None]  # rows, columns, outputs: raises where too many


def engine_for(source: Any) -> Engine | None:
    """The engine in use; a running Client is picked up for rows that are not in memory here."""
    return engine_at_hand() if is_path(source) or is_collection(source) else named_engine()


def is_path(source: Any) -> bool:
    """Whether a source is the name of files."""
    return isinstance(source, str | os.PathLike)


def open_source(
    source: Any,
    target: Any = None,
    features: Sequence[Any] | None = None,
    engine: Engine | None = None,
    check_size: SizeCheck | None = None,
) -> tuple[Any, Any]:
    """Return the features, as a table where they are not in memory, and the response; no target, no response.

    ``check_size`` is asked before any row of a table, or of its response, is read.
    """
    if is_path(source):
        return _open_paths(source, target, features, engine, check_size)
    if is_collection(source):
        return open_collection(source, target, features, engine, check_size)
    if hasattr(source, "columns"):
        return frame_parts(source, target, features)
    return array_parts(np.asarray(source), target, features)


def _open_paths(
    source: Any,
    target: Any,
    features: Sequence[Any] | None,
    engine: Engine | None,
    check_size: SizeCheck | None,
) -> tuple[Table, FloatArray | None]:
    files = open_files(source)
    columns, targets = pick(list(files.types), target, features)
    table = _table(files, columns, engine)
    if check_size is not None:
        check_size(*table.shape, len(targets) or n_outputs(target))
    if not targets:
        return table, target
    response = [_table(files, targets, engine)]
    Y = np.concatenate(list(map_rows(np.asarray, response, Job(engine=engine), "response", READ_ROWS)))
    return table, Y if isinstance(target, list | tuple) else Y[:, 0]


def _table(files: Files, columns: list[str], engine: Engine | None) -> Table:
    words = [name for name in columns if files.types[name] is None]
    if words:
        raise ValueError(f"Columns {words} do not hold numbers. Encode them, or name others in features=.")
    take = None if engine is None else engine.take
    return Table(files.chunks(columns), len(columns), tuple(columns), files.precision(columns), take=take)
