"""Passes over rows: what every block of rows gives, in order, or added up.

Blocks are 2,048 rows by the rows' numbers, and sums are added up in a tree that depends on the number of blocks alone:
the same bits for arrays and for tables, for any chunks, threads, workers, and after an interruption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import LARGEST
from skewridge.execution.checkpoint import Pieces
from skewridge.execution.chunked import RowData, Span, Table
from skewridge.execution.context import current, on_threads, reported, run, where_it_pays
from skewridge.execution.progress import STAGE

BLOCK_ROWS = 2048  # rows at a time; never a function of n_jobs or memory_limit
FAN_IN = 4  # sums that are added up to one
MOST_PIECES = 64  # that a sum is put together from, and that a checkpoint keeps
MOST_SENT = 8  # that another engine sends, where none is kept

Result = TypeVar("Result")


def map_rows(
    task: Callable[..., Result], tables: Sequence[RowData], label: str = "", size: int | None = None
) -> Iterator[Result]:
    """Yield task(rows of the first table, rows of the second, ...) for every block of rows, in order.

    Examples
    --------
    >>> import numpy as np
    >>> list(map_rows(lambda X, y: len(X), [np.ones((3, 1)), np.arange(3.0)], size=2))
    [2, 1]
    """
    spans = blocks_of(0, len(tables[0]), size or BLOCK_ROWS)
    engine = current().engine
    if engine is not None:
        return reported(engine.map_rows(task, tables, spans), len(spans), label, STAGE.get())
    return run(lambda block: task(*block), read_blocks(tables, spans), label, len(spans))


def sum_rows(
    task: Callable[..., Result],
    tables: Sequence[RowData],
    label: str = "",
    ends: Sequence[int] | None = None,
) -> list[Result]:
    """Add up what blocks of rows give, for every run of rows: run f ends before row ends[f]; None is one run of all.

    With a checkpoint, pieces of the sum are kept as they are done, and not done again.

    Examples
    --------
    >>> import numpy as np
    >>> sum_rows(lambda X: X.sum(axis=0), [np.ones((5000, 2))], ends=[2000, 5000])
    [array([2000., 2000.]), array([3000., 3000.])]
    """
    ends, how = [len(tables[0])] if ends is None else ends, current()
    most = MOST_PIECES if how.engine is None or how.checkpoint is not None else max(1, MOST_SENT // len(ends))
    runs = [
        pieces_of(blocks_of(start, end, BLOCK_ROWS), most) for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    store = None if how.checkpoint is None else how.checkpoint.sums(label)
    if store is not None and store.total is not None:
        totals: list[Result] = store.total
        return totals
    pieces = [piece for run_ in runs for piece in run_]
    left = [piece for i, piece in enumerate(pieces) if store is None or i not in store]
    new: Iterator[Result]
    if how.engine is not None:
        new = results = reported(how.engine.sum_rows(task, tables, left), len(left), label, STAGE.get())
    else:
        spans = [span for piece in left for span in piece]
        results = run(lambda block: task(*block), read_blocks(tables, spans), label, len(spans))
        new = map(tree_sum, (islice(results, len(piece)) for piece in left))

    def kept_and_new(store: Pieces) -> Iterator[Result]:
        for i in range(len(pieces)):
            if i in store:
                yield store.kept(i)
                continue
            piece = next(new)
            store.keep(i, piece)
            yield piece

    sums = new if store is None else kept_and_new(store)
    found = list(map(tree_sum, (islice(sums, len(run_)) for run_ in runs)))
    next(results, None)  # let the pass end
    if store is not None:
        store.finish(found)
    return found


def predict_rows(
    predict: Callable[[FloatArray], FloatArray],
    X: RowData,
    label: str = "prediction",
    row_work: float = np.inf,
) -> FloatArray:
    """The predictions of any model, block by block: ``predict`` takes one block of rows and returns (n, p).

    Where a row costs ``row_work`` operations, few rows that are in memory are not sent to another engine.

    Examples
    --------
    >>> import numpy as np
    >>> predict_rows(lambda X: X @ np.ones((2, 1)), np.eye(2))
    array([[1.],
           [1.]])
    """
    with nullcontext() if isinstance(X, Table) else where_it_pays(row_work * len(X)):
        return np.concatenate(list(map_rows(predict, [X], label)))


def tree_sum(parts: Iterable[Any]) -> Any:
    """Add up in a fixed tree: four neighbours, then four of their sums, and so on; parts stay as they are.

    Examples
    --------
    >>> tree_sum([1, 2, 3, 4, 5])
    15
    """
    levels: list[list[Any]] = []  # at every level a sum and the number of its parts, while it has less than four
    for part in parts:
        carried = part
        for level in count():
            if level == len(levels):
                levels.append([])
            waiting = levels[level]
            if not waiting:
                waiting[:] = carried, 1
                break
            if waiting[1] == 1:
                waiting[0] = waiting[0] + carried  # a new sum, which may then be added to in place
            else:
                waiting[0] += carried
            waiting[1] += 1
            if waiting[1] < FAN_IN:
                break
            carried = waiting[0]
            waiting.clear()
        del carried  # a sum that was added to another is held no longer
    total = None
    for waiting, _ in (level for level in levels if level):
        total = waiting if total is None else waiting + total
    return total


def tree_depth(n_rows: int) -> int:
    """How many sums wait for others while so many rows are added up, beside the one that is added to."""
    depth, blocks = 0, n_rows / BLOCK_ROWS
    while blocks > FAN_IN:
        depth, blocks = depth + 1, blocks / FAN_IN
    return depth


def blocks_of(start: int, end: int, size: int) -> list[Span]:
    """Rows in blocks."""
    return [(first, min(first + size, end)) for first in range(start, end, size)]


def pieces_of(blocks: list[Span], most: int = MOST_PIECES) -> list[list[Span]]:
    """Blocks in so many pieces at most that are whole subtrees of the sum, at least four blocks each."""
    size = FAN_IN
    while len(blocks) > size * most:
        size *= FAN_IN
    return [blocks[first : first + size] for first in range(0, len(blocks), size)]


def read_blocks(tables: Sequence[RowData], spans: Sequence[Span]) -> Iterator[tuple[FloatArray, ...]]:
    """Yield the tables' rows block by block: views of arrays, and tables chunk by chunk."""
    cuts = [slice(first, last) for first, last in spans]
    blocks = [table.blocks(spans) if isinstance(table, Table) else map(table.__getitem__, cuts) for table in tables]
    return zip(*blocks, strict=True)


def extremes(X: RowData) -> FloatArray:
    """The least and the largest of every feature, (2, d)."""
    found = np.array(list(map_rows(lambda rows: np.array([rows.min(axis=0), rows.max(axis=0)]), [X], "ranges")))
    return np.array([found[:, 0].min(axis=0), found[:, 1].max(axis=0)])


def stamp_rows(X: Table) -> Table:
    """The table with a digest of every chunk, which what is read of it later is compared with."""
    chunks = run(lambda chunk: chunk.stamped(), X.chunks, "stamps")
    return replace(X, chunks=tuple(chunks))


def check_rows(X: Table, collected: FloatArray | None = None, what: str = "X") -> tuple[FloatArray, FloatArray]:
    """Return every column's range, or refuse rows that are not finite, or too large, and say where.

    ``collected``: all rows, in memory; ``what``: the rows' name in messages.
    """

    def block(rows: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        return np.argwhere(~(np.abs(rows) <= LARGEST))[:1], rows.min(axis=0), rows.max(axis=0)

    least, largest = np.full(X.n_columns, np.inf), np.full(X.n_columns, -np.inf)
    with nullcontext() if collected is None else on_threads():
        found = map_rows(block, [X if collected is None else collected], "checking")
    for number, (bad, low, high) in enumerate(found):
        if len(bad):
            row, column = int(bad[0, 0]) + number * BLOCK_ROWS, int(bad[0, 1])
            name = column if X.names is None else repr(X.names[column])
            raise ValueError(
                f"{what} must hold finite numbers below {LARGEST:g} in magnitude; row {row:,}, column {name} holds "
                f"{X[np.array([row])][0, column]} ({X.where(row)}). Fill, drop or rescale such rows first."
            )
        least, largest = np.minimum(least, low), np.maximum(largest, high)
    return least, largest
