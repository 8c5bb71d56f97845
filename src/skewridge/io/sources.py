"""Where rows come from: arrays, data frames, files, Dask collections.

Rows in memory stay what they are; any others become a :class:`~skewridge.execution.chunked.Table` of chunks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_plain, is_lazy
from skewridge.execution.chunked import Table, held_numbers
from skewridge.execution.dask import engine_at_hand
from skewridge.execution.job import Engine, Job, named_engine
from skewridge.execution.memory import require_on_worker
from skewridge.execution.passes import check_rows, map_rows, stamp_rows
from skewridge.io.csv_dialect import FOUND, ReadOptions
from skewridge.io.dask_collections import n_outputs, open_collection
from skewridge.io.files import FileChunk, Files, open_files

READ_ROWS = 65_536  # of a response that are read at a time

SizeCheck = Callable[[int, int, int], None]  # rows, columns, outputs: raises where too many


def engine_for(source: Any) -> Engine | None:
    """The engine in use; a running Client is picked up for rows that are not in memory here."""
    return engine_at_hand() if isinstance(source, str | os.PathLike) or is_lazy(source) else named_engine()


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
    if isinstance(source, str | os.PathLike):
        return _open_paths(open_files(source, options), target, features, engine, check_size, read_again)
    if not is_lazy(source) and not hasattr(source, "columns"):
        return array_parts(np.asarray(source), target, features)
    X, y = (frame_parts if hasattr(source, "columns") else array_parts)(source, target, features)
    check_plain("X", X)
    if is_lazy(source):
        return open_collection(X, y, names_columns(target), engine, check_size, read_again)
    return X, y


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


# Which columns are the features, and which the response


def names_columns(target: Any) -> bool:
    """Whether a target names columns; otherwise it is the response itself, or there is none."""
    first = target[0] if isinstance(target, list | tuple) and len(target) else target
    return isinstance(first, str | Integral)


def pick(
    known: Sequence[Any], target: Any, features: Sequence[Any] | None, index: Collection[Any] = ()
) -> tuple[list[Any], list[Any]]:
    """The columns of the features, all but targets and index where none are named, and those of the response.

    Examples
    --------
    >>> pick(["a", "b", "y"], "y", None)
    (['a', 'b'], ['y'])
    """
    targets = [] if not names_columns(target) else list(target) if isinstance(target, list | tuple) else [target]
    columns = [name for name in known if name not in (*targets, *index)] if features is None else list(features)
    missing = [name for name in [*targets, *columns] if name not in known]
    if missing or not columns:
        raise ValueError(f"The source has the columns {list(known)}; got {missing or 'none for features'}.")
    return columns, targets


def frame_parts(frame: Any, target: Any, features: Sequence[Any] | None) -> tuple[Any, Any]:
    """Features and response of a frame, be it lazy."""
    columns, targets = pick(list(frame.columns), target, features)
    if not targets:
        return frame[columns], target
    return frame[columns], frame[targets if isinstance(target, list | tuple) else target]


def array_parts(rows: Any, target: Any, features: Sequence[Any] | None) -> tuple[Any, Any]:
    """Features and response of an array, be it lazy, by the places of columns; -1 is the last."""
    if rows.ndim != 2:
        raise ValueError(
            "source must be a table: an array of two dimensions, a data frame, a Dask collection, or the name of "
            f"files; got {type(rows).__name__} of {rows.ndim} dimensions."
        )
    d = rows.shape[1]
    if names_columns(target):
        target = [_place(i, d) for i in target] if isinstance(target, list | tuple) else _place(target, d)
    columns, targets = pick(range(d), target, None if features is None else [_place(i, d) for i in features])
    if not targets:
        return rows if len(columns) == d else rows[:, columns], target
    return rows[:, columns], rows[:, targets if isinstance(target, list) else target]


def _place(column: Any, n_columns: int) -> Any:
    """A column counted from the end counted from the start; what is no place is refused later, by name."""
    place = int(column) if isinstance(column, Integral) else n_columns
    return place % n_columns if -n_columns <= place < n_columns else column
