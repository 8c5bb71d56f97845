"""Where rows come from: arrays, data frames, files, Dask collections.

Rows in memory stay what they are; any others become a :class:`~skewridge.execution.chunked.Table` of chunks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_plain
from skewridge.execution.chunked import Table, held_numbers
from skewridge.execution.dask import engine_at_hand
from skewridge.execution.job import Engine, Job, named_engine
from skewridge.execution.memory import require_on_worker
from skewridge.execution.passes import check_rows, map_rows, stamp_rows
from skewridge.io.column_roles import array_parts, frame_parts, pick
from skewridge.io.dask_collections import is_collection, n_outputs, open_collection
from skewridge.io.files import FileChunk, Files, open_files
from skewridge.io.options import FOUND, ReadOptions

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
    options: ReadOptions = FOUND,
    read_again: bool = False,
) -> tuple[Any, Any]:
    """Return the features, as a table where they are not in memory, and the response; no target, no response.

    ``check_size`` is asked before any row of a table, or of its response, is read; ``options`` tell how files are read.
    Where rows will be ``read_again``, a digest of each chunk is taken, which every pass is compared with.
    """
    if is_path(source):
        return _open_paths(open_files(source, options), target, features, engine, check_size, read_again)
    if is_collection(source):
        return open_collection(source, target, features, engine, check_size, read_again)
    if hasattr(source, "columns"):
        X, y = frame_parts(source, target, features)
        check_plain("X", X)
        return X, y
    return array_parts(np.asarray(source), target, features)


def _open_paths(
    files: Files,
    target: Any,
    features: Sequence[Any] | None,
    engine: Engine | None,
    check_size: SizeCheck | None,
    read_again: bool,
) -> tuple[Table, FloatArray | None]:
    columns, targets = pick(list(files.types), target, features, files.index)
    table = _table(files, columns, engine)
    if check_size is not None:
        check_size(*table.shape, len(targets) or n_outputs(target))
    if read_again:
        table = stamp_rows(table, Job(engine=engine))
    if not targets:
        return table, target
    response, job = _table(files, targets, engine), Job(engine=engine)
    Y = np.concatenate(list(map_rows(np.asarray, [response], job, "response", READ_ROWS)))
    check_rows(response, job, Y, "y")
    return table, Y if isinstance(target, list | tuple) else Y[:, 0]


def files_of(rows: Any) -> list[str]:
    """The files that rows are read from when they are asked for: chunks of files, or an array mapped into memory."""
    if isinstance(rows, Table):
        return [chunk.url for chunk in rows.chunks if isinstance(chunk, FileChunk)]
    found = []
    while isinstance(rows, np.ndarray):
        found += [str(rows.filename)] if isinstance(rows, np.memmap) and rows.filename else []
        rows = rows.base
    return found


def _table(files: Files, columns: list[str], engine: Engine | None) -> Table:
    words = [name for name in columns if files.types[name] is None]
    if words:
        raise ValueError(f"Columns {words} do not hold numbers. Encode them, or name others in features=.")
    take = None if engine is None else engine.take
    table = Table(files.chunks(columns), len(columns), tuple(columns), files.precision(columns), take=take)
    if engine is not None:
        what = f"The largest chunk of the files, with {len(columns)} columns, needs"
        require_on_worker(8.0 * held_numbers(table), engine.task_bytes, what, "or write smaller row groups")
    return table
