"""Dask arrays and frames as tables: partitions stay where they are, and blocks are cut without moving them here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_plain, check_same_order, is_lazy
from skewridge.execution.chunked import Table, digest
from skewridge.execution.dask import DaskEngine
from skewridge.execution.passes import BLOCK_ROWS, FAN_IN, stamp_rows
from skewridge.io.files import check_content

CHUNK_BLOCKS = (FAN_IN, 512)  # fewest and most blocks of a chunk


@dataclass(frozen=True)
class LazyChunk:
    """Rows that Dask holds or can make: a future, or a delayed value."""

    value: Any
    n_rows: int
    content: str = ""  # digest of the rows, where they are made anew in every pass

    @property
    def handle(self) -> Any:
        """The future itself, which Dask hands to a task as what it holds; a delayed value is made here."""
        return self.value if self._is_future else self

    @property
    def _is_future(self) -> bool:
        return hasattr(type(self.value), "result")  # a delayed value has any attribute, its type has not

    @property
    def identity(self) -> str:
        """Dask names values by what they are made of."""
        return f"{self.value.key}:{self.content}"

    def where(self, row: int) -> str:
        """Where one of the rows stands, for people."""
        return f"row {row:,} of Dask's {self.value.key}"

    def read(self) -> FloatArray:
        """The rows, here."""
        found = self.value.result() if self._is_future else self.value.compute()
        rows = np.ascontiguousarray(found, dtype=np.float64)
        check_content(str(self), rows, self.content)
        return rows

    def stamped(self) -> LazyChunk:
        """The chunk with the digest of its rows; a future, which holds them, as it is."""
        return self if self._is_future else replace(self, content=digest(self.read()))


def open_collection(
    X: Any,
    y: Any,
    from_one: bool,
    engine: DaskEngine | None,
    check_size: Callable[[int, int], None] | None = None,
    read_again: bool = False,
) -> tuple[Table, FloatArray | None]:
    """The features as a table, of a size that was checked, and the response, which comes here."""
    named = hasattr(X, "columns")
    names = tuple(str(name) for name in X.columns) if named else None
    array = X.to_dask_array(lengths=True) if named else X
    if np.isnan(array.shape[0]):
        array = array.compute_chunk_sizes()
    if check_size is not None:
        check_size(*array.shape)
    check_plain("y", y, may_hold_times=True)
    response = y.compute() if is_lazy(y) else y
    if named and not from_one:
        check_same_order(X, response)
    precision = np.float32 if array.dtype == np.float32 else np.float64
    array = array.astype(np.float64)
    blocks = np.clip(array.shape[0] / max(1, array.numblocks[0]) / BLOCK_ROWS, *CHUNK_BLOCKS)
    size = FAN_IN ** int(np.log(blocks) / np.log(FAN_IN)) * BLOCK_ROWS
    array = array.rechunk({0: size, 1: -1})  # whole blocks, chunks about as large as they were
    parts = array.to_delayed().ravel().tolist()
    values = parts if engine is None else engine.keep(parts)
    chunks = tuple(LazyChunk(value, int(n)) for value, n in zip(values, array.chunks[0], strict=True))
    table = Table(chunks, array.shape[1], names, precision, take=None if engine is None else engine.take)
    if read_again and engine is None:  # which would hold what it has made
        table = stamp_rows(table)
    if is_lazy(y) and not np.array_equal(np.asarray(response), np.asarray(y.compute()), equal_nan=True):
        raise ValueError(
            "The Dask collection gives other rows, or rows in another order, whenever it is computed, so that X and y "
            "do not belong together. Make it repeatable, e.g. by an ORDER BY or a seed, or hold it: df = df.persist()."
        )
    return table, None if response is None else np.asarray(response)
