"""Where rows come from: arrays, data frames, files, Dask collections.

Rows in memory stay what they are; any others become a :class:`~skewridge.execution.chunked.Table` of chunks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from skewridge._validation import check_plain, is_lazy
from skewridge.execution.chunked import Table, held_numbers
from skewridge.execution.context import current
from skewridge.execution.dask import DaskEngine, engine_at_hand
from skewridge.execution.memory import require_on_worker
from skewridge.execution.passes import check_rows, map_rows, stamp_rows
from skewridge.io.csv_dialect import FOUND, ReadOptions
from skewridge.io.dask_collections import open_collection
from skewridge.io.files import FileChunk, Files, open_files

READ_ROWS = 65_536  # of a response that are read at a time

SizeCheck = Callable[[int, int], None]  # rows, columns: raises where too many


def engine_for(source: Any) -> DaskEngine | None:
    """The engine in use; a running Client is picked up for rows that are not in memory here."""
    return engine_at_hand() if isinstance(source, str | os.PathLike) or is_lazy(source) else current().engine


def open_source(
    source: Any,
    target: Any = None,
    features: Sequence[Any] | None = None,
    check_size: SizeCheck | None = None,
    options: ReadOptions = FOUND,
    read_again: bool = False,
) -> tuple[Any, Any]:
    """Return the features, as a table where they are not in memory, and the response; no target, no response.

    ``check_size`` is asked before any row of a table, or of its response, is read; ``options`` tell how files are read.
    Where rows will be ``read_again``, a digest of each chunk is taken, which every pass is compared with.
    """
    if isinstance(source, str | os.PathLike):
        files = open_files(source, options)
        columns, targets = pick(list(files.types), target, features, files.index)
        engine = engine_for(source)
        table = _table(files, columns, engine)
        if check_size is not None:
            check_size(*table.shape)
        if read_again:
            table = stamp_rows(table)
        if not targets:
            return table, target
        response = _table(files, targets, engine)
        Y = np.concatenate(list(map_rows(np.asarray, [response], "response", READ_ROWS)))
        check_rows(response, Y, "y")
        return table, Y if isinstance(target, list | tuple) else Y[:, 0]
    named, lazy = hasattr(source, "columns"), is_lazy(source)
    X, y = _split_columns(source if named or lazy else np.asarray(source), target, features)
    if named or lazy:
        check_plain("X", X)
    if not lazy:
        return X, y
    return open_collection(X, y, names_columns(target), engine_for(source), check_size, read_again)


def files_of(rows: Any) -> list[str]:
    """The files that rows are read from when they are asked for: chunks of files, or an array mapped into memory."""
    if isinstance(rows, Table):
        return [chunk.url for chunk in rows.chunks if isinstance(chunk, FileChunk)]
    found = []
    while isinstance(rows, np.ndarray):
        found += [str(rows.filename)] if isinstance(rows, np.memmap) and rows.filename else []
        rows = rows.base
    return found


def _table(files: Files, columns: list[str], engine: DaskEngine | None) -> Table:
    words = [name for name in columns if files.types[name] is None]
    if words:
        raise ValueError(f"Columns {words} do not hold numbers. Encode them, or name others in features=.")
    take = None if engine is None else engine.take
    table = Table(files.chunks(columns), len(columns), tuple(columns), files.precision(columns), take=take)
    if engine is not None:
        what = f"The largest chunk of the files, with {len(columns)} columns, needs"
        require_on_worker(8.0 * held_numbers(table), engine.task_bytes, what, "or write smaller row groups")
    return table


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


def _split_columns(source: Any, target: Any, features: Sequence[Any] | None) -> tuple[Any, Any]:
    """Features and response of a frame, by names, or of an array, by the places of columns; -1 is the last."""
    named = hasattr(source, "columns")
    if not named and source.ndim != 2:
        raise ValueError(
            "source must be a table: an array of two dimensions, a data frame, a Dask collection, or the name of "
            f"files; got {type(source).__name__} of {source.ndim} dimensions."
        )
    known = list(source.columns if named else range(source.shape[1]))

    def find(column: Any) -> Any:
        """A column, counted from the start; what is no place is refused by name."""
        return known[column] if not named and column in range(-len(known), len(known)) else column

    several = isinstance(target, list | tuple)
    if names_columns(target):
        target = [find(column) for column in target] if several else find(target)
    columns, targets = pick(known, target, None if features is None else [find(column) for column in features])
    everything = not named and not targets and columns == known
    X = source if everything else source[columns] if named else source[:, columns]
    if not targets:
        return X, target
    response = targets if several else targets[0]
    return X, source[response] if named else source[:, response]
