"""Tasks of Dask workers: functions and rows come as bytes, as results of other tasks, or as chunks to read."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.heap import keep_freed
from skewridge.execution.passes import read_blocks, tree_sum


def packed(value: Any) -> bytes:
    """A value as bytes; functions with what they close over."""
    import cloudpickle

    found: bytes = cloudpickle.dumps(value)
    return found


def call(recipe: Any, item: bytes) -> Any:
    """task(item)."""
    with _at_work():
        return _function(recipe)(pickle.loads(item))


def map_blocks(recipe: Any, handles: list[list[Any]], rest: bytes) -> list[Any]:
    """task(rows, ...) for every block."""
    with _at_work():
        return [_function(recipe)(*block) for block in _blocks(handles, rest)]


def sum_blocks(recipe: Any, handles: list[list[Any]], rest: bytes) -> Any:
    """Add up the results of blocks."""
    with _at_work():
        return tree_sum(_function(recipe)(*block) for block in _blocks(handles, rest))


def split_block(recipe: Any, handles: list[list[Any]], rest: bytes, numbers: Sequence[int]) -> list[Any]:
    """split(numbers, rows, ...) of one block."""
    with _at_work():
        pieces: list[Any] = _function(recipe)(numbers, *next(_blocks(handles, rest)))
        return pieces


def join_pieces(join: bytes, pieces: list[Any]) -> Any:
    """join(pieces)."""
    with _at_work():
        return pickle.loads(join)(pieces)


def take_rows(handle: Any, places: bytes) -> FloatArray:
    """Some rows of a chunk."""
    return _whole(handle)[pickle.loads(places)]


@contextmanager
def _at_work() -> Iterator[None]:
    """A thread of a worker does a task with one BLAS thread, and uses again what others have freed."""
    keep_freed()
    with one_blas_thread():
        yield


@lru_cache(maxsize=8)
def _unpacked(recipe: bytes) -> Any:
    return pickle.loads(recipe)


def _function(recipe: Any) -> Callable[..., Any]:
    """A function that came with the task, or that another task has made."""
    function: Callable[..., Any] = _unpacked(recipe) if isinstance(recipe, bytes) else recipe
    return function


def _blocks(handles: list[list[Any]], rest: bytes) -> Iterator[tuple[FloatArray, ...]]:
    """The tables' rows block by block: chunks that are read here or were sent, and arrays that came along."""
    known, spans = pickle.loads(rest)
    return read_blocks([_rows(own, *what) if own else what for own, what in zip(handles, known, strict=True)], spans)


def _rows(handles: list[Any], cuts: list[tuple[int, int]], transforms: Sequence[Callable[..., Any]]) -> FloatArray:
    parts = [_whole(handle)[low:high] for handle, (low, high) in zip(handles, cuts, strict=True)]
    rows = np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))
    for transform in transforms:
        rows = transform(rows)
    return rows


def _whole(handle: Any) -> FloatArray:
    """A chunk's rows: sent as they are, or read here."""
    rows: FloatArray = handle if isinstance(handle, np.ndarray) else handle.read()
    return rows
