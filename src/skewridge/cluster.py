"""Dask distributed as the engine: work goes to where the rows live, and sums are added up there.

A function travels as bytes inside a task, a recipe that the scheduler can run again; nothing is scattered, so that a
worker that dies takes nothing with it. Which worker does what changes no bit of the result.
"""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from operator import getitem
from typing import Any

import numpy as np

from .checks import check_choice
from .engine import Engine, engine_is_named, named_engine, one_blas_thread, running_on
from .passes import FAN_IN, read_blocks, tree_sum
from .slices import FloatArray, IntArray
from .tables import RowData, Span, Table

RETRIES = 2  # of a task that fails
SMALL_BYTES = 1 << 17  # of a function that travels with every task; a larger one is a task's result
AHEAD = 4  # tasks under way or waiting for each thread of the cluster
MOST_BLOCKS = 64  # of one task
GATHERED = 0.3  # of the cluster's memory, for rows on their way to nodes


@contextmanager
def use_engine(name: str = "threads", address: Any = None) -> Iterator[None]:
    """Run what is fitted and predicted inside on another engine; results are the same to the last bit.

    Parameters
    ----------
    name : {"threads", "dask"}
        "threads": the threads of this process, ``n_jobs`` of them, which is what happens without this. "dask": the
        workers of a Dask cluster; the driver keeps what has one number a row.
    address : str or cluster, optional
        Of the scheduler, as ``distributed.Client`` takes it. None: the Client that is running.

    Examples
    --------
    >>> from skewridge import DacKernelRidge, use_engine
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(300, 2, random_state=0)
    >>> with use_engine("threads"):  # or "dask", address="tcp://scheduler:8786"
    ...     model = DacKernelRidge(n_nodes=3, random_state=0).fit(X, y)
    """
    if check_choice("name", name, ["threads", "dask"]) == "threads":
        if address is not None:
            raise ValueError(f"engine 'threads' takes no address; got {address!r}. Did you mean 'dask'?")
        with running_on(None):
            yield
        return
    client, is_mine = _client(address)
    try:
        with running_on(DaskEngine(client)):
            yield
    finally:
        if is_mine:
            client.close()


def engine_at_hand() -> Engine | None:
    """The engine that was named, or that of a running Client; none in a worker's task, which would wait for itself."""
    if engine_is_named() or "distributed" not in sys.modules:
        return named_engine()
    from distributed import default_client, get_worker

    try:
        get_worker()
    except ValueError:
        pass
    else:
        return None
    try:
        return DaskEngine(default_client())
    except ValueError:
        return None


def _client(address: Any) -> tuple[Any, bool]:
    """A Client, and whether it was made here."""
    try:
        from distributed import Client, default_client
    except ImportError as error:
        raise ImportError("use_engine('dask') needs Dask: pip install 'skewridge[dask]'.") from error
    if address is not None:
        return Client(address, set_as_default=False), True
    try:
        return default_client(), False
    except ValueError as error:
        raise ValueError(
            "use_engine('dask') found no running distributed.Client. Start one, or pass the scheduler's address."
        ) from error


class DaskEngine:
    """Runs tasks on the workers of a Dask cluster; see :class:`~skewridge.engine.Engine`."""

    def __init__(self, client: Any) -> None:
        self.client = client
        workers = client.run_on_scheduler(_worker_sizes)
        if not workers:
            client.wait_for_workers(1, timeout=60)
            workers = client.run_on_scheduler(_worker_sizes)
        self.n_threads = sum(threads for threads, _ in workers)
        self.task_bytes = min(memory / threads for threads, memory in workers)
        self._all_bytes = sum(memory for _, memory in workers)

    def run(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """task(item) for every item."""
        recipe = self._recipe(task)
        return self._in_order(self._submit(_call, recipe, _packed(item)) for item in items)

    def map_rows(self, task: Callable[..., Any], tables: Sequence[RowData], spans: Sequence[Span]) -> Iterator[Any]:
        """task(rows, ...) for every span of rows."""
        recipe, size = self._recipe(task), int(np.clip(len(spans) // (AHEAD * self.n_threads), 1, MOST_BLOCKS))
        groups = [spans[first : first + size] for first in range(0, len(spans), size)]
        for results in self._in_order(self._pass(_map_blocks, recipe, tables, group) for group in groups):
            yield from results

    def sum_rows(
        self, task: Callable[..., Any], tables: Sequence[RowData], pieces: Sequence[Sequence[Span]]
    ) -> Iterator[Any]:
        """For every piece, what its spans give, added up."""
        recipe, size = self._recipe(task), self._sum_size(pieces)

        def total(piece: Sequence[Span]) -> Any:
            groups = [piece[first : first + size] for first in range(0, len(piece), size)]
            parts = [self._pass(_sum_blocks, recipe, tables, group) for group in groups]
            return parts[0] if len(parts) == 1 else self._submit(tree_sum, parts)

        return self._in_order(total(piece) for piece in pieces)

    def _sum_size(self, pieces: Sequence[Sequence[Span]]) -> int:
        """Blocks of a task: whole subtrees, and tasks enough for all threads."""
        n_blocks, size = sum(len(piece) for piece in pieces), FAN_IN
        while size * FAN_IN <= MOST_BLOCKS and n_blocks >= size * FAN_IN * AHEAD * self.n_threads:
            size *= FAN_IN
        return size

    def map_gathers(
        self, task: Callable[..., Any], X: RowData, wanted: Iterable[tuple[IntArray, tuple[Any, ...]]]
    ) -> Iterator[Any]:
        """task(X[ids], *more) for every (ids, more): chunks are split where they are, once for many of them."""
        recipe = self._recipe(task)
        if not isinstance(X, Table):
            yield from self._in_order(self._submit(_call_all, recipe, [X[ids]], _packed(more)) for ids, more in wanted)
            return
        wanted = iter(wanted)
        while batch := list(self._within(wanted, X.n_columns)):
            pieces = deque(self._split(X, [ids for ids, _ in batch]))
            yield from self._in_order(
                self._submit(_call_all, recipe, pieces.popleft(), _packed(more)) for _, more in batch
            )

    def _within(self, wanted: Iterator[Any], n_columns: int) -> Iterator[Any]:
        """Requests whose rows the cluster's memory holds at once, at least one for every thread."""
        n_bytes = 0.0
        for number, (ids, more) in enumerate(wanted, 1):
            yield ids, more
            n_bytes += 8.0 * n_columns * len(ids)
            if n_bytes > GATHERED * self._all_bytes and number >= self.n_threads:
                return

    def _split(self, X: Table, requests: list[IntArray]) -> list[list[Any]]:
        """For every request, the futures of its rows, chunk after chunk."""
        found: list[list[Any]] = [[] for _ in requests]
        by_chunk: dict[int, list[tuple[int, IntArray]]] = {}
        for number, ids in enumerate(requests):
            for c, local in X.by_chunk(ids):
                by_chunk.setdefault(c, []).append((number, local))
        for c in sorted(by_chunk):
            numbers, places = zip(*by_chunk[c], strict=True)
            split = self._submit(_split_rows, X.chunks[c].handle, _packed((places, X.transforms)))
            for place, number in enumerate(numbers):
                found[number].append(self._submit(getitem, split, place))
        return found

    def take(self, requests: Sequence[tuple[Any, IntArray]]) -> Iterator[FloatArray]:
        """Some rows of some chunks, chunk after chunk; no chunk leaves its worker."""
        return self._in_order(self._submit(_take_rows, handle, _packed(local)) for handle, local in requests)

    def keep(self, values: Sequence[Any]) -> list[Any]:
        """Have delayed values made, and kept where they are made."""
        futures: list[Any] = self.client.compute(list(values), retries=RETRIES)
        return futures

    def _pass(self, function: Callable[..., Any], recipe: Any, tables: Sequence[RowData], spans: Sequence[Span]) -> Any:
        """Submit one task on consecutive spans of rows."""
        whole = spans[0][0], spans[-1][1]
        handles: list[list[Any]] = []
        rest: list[Any] = []
        for table in tables:
            if isinstance(table, Table):
                parts = table.parts(whole)
                handles.append([table.chunks[c].handle for c, _, _ in parts])
                rest.append(([(low, high) for _, low, high in parts], table.transforms))
            else:
                handles.append([])
                rest.append(table[slice(*whole)])
        local = [(first - whole[0], last - whole[0]) for first, last in spans]
        return self._submit(function, recipe, handles, _packed((rest, local)))

    def _recipe(self, task: Callable[..., Any]) -> Any:
        packed = _packed(task)
        return packed if len(packed) <= SMALL_BYTES else self._submit(pickle.loads, packed)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.client.submit(function, *arguments, pure=False, retries=RETRIES)

    def _in_order(self, futures: Iterator[Any]) -> Iterator[Any]:
        """Results in the order of the futures, which are made as others are done; an error cancels the others."""
        waiting = deque(islice(futures, AHEAD * self.n_threads))
        try:
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(islice(futures, 1))
                yield result
        finally:
            self.client.cancel(list(waiting))


def _worker_sizes(dask_scheduler: Any) -> list[tuple[int, float]]:
    """Threads and memory of every worker; no limit is infinite."""
    workers = dask_scheduler.workers.values()
    return [(max(1, w.nthreads), float(w.memory_limit or np.inf)) for w in workers]


def _packed(value: Any) -> bytes:
    import cloudpickle

    packed: bytes = cloudpickle.dumps(value)
    return packed


@lru_cache(maxsize=8)
def _unpacked(packed: bytes) -> Any:
    return pickle.loads(packed)


def _function(recipe: Any) -> Callable[..., Any]:
    """A function that came with the task, or that another task has made."""
    function: Callable[..., Any] = _unpacked(recipe) if isinstance(recipe, bytes) else recipe
    return function


def _call(recipe: Any, item: bytes) -> Any:
    with one_blas_thread():
        return _function(recipe)(pickle.loads(item))


def _call_all(recipe: Any, pieces: list[FloatArray], more: bytes) -> Any:
    with one_blas_thread():
        return _function(recipe)(pieces[0] if len(pieces) == 1 else np.concatenate(pieces), *pickle.loads(more))


def _blocks(handles: list[list[Any]], packed: bytes) -> Iterator[tuple[FloatArray, ...]]:
    """The tables' rows block by block, from chunks that are read or were sent."""
    rest, spans = pickle.loads(packed)
    return read_blocks([_rows(own, kind) if own else kind for own, kind in zip(handles, rest, strict=True)], spans)


def _rows(handles: list[Any], kind: Any) -> FloatArray:
    cuts, transforms = kind
    parts = [_whole(handle)[low:high] for handle, (low, high) in zip(handles, cuts, strict=True)]
    rows = np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))
    for transform in transforms:
        rows = transform(rows)
    return rows


def _whole(handle: Any) -> FloatArray:
    """A chunk's rows: sent as they are, or read here."""
    rows: FloatArray = handle if isinstance(handle, np.ndarray) else handle.read()
    return rows


def _map_blocks(recipe: Any, handles: list[list[Any]], packed: bytes) -> list[Any]:
    with one_blas_thread():
        return [_function(recipe)(*block) for block in _blocks(handles, packed)]


def _sum_blocks(recipe: Any, handles: list[list[Any]], packed: bytes) -> Any:
    with one_blas_thread():
        return tree_sum(_function(recipe)(*block) for block in _blocks(handles, packed))


def _split_rows(handle: Any, packed: bytes) -> list[FloatArray]:
    places, transforms = pickle.loads(packed)
    rows = _whole(handle)
    found = [rows[place] for place in places]
    for transform in transforms:
        found = [transform(part) for part in found]
    return found


def _take_rows(handle: Any, packed: bytes) -> FloatArray:
    return _whole(handle)[pickle.loads(packed)]
