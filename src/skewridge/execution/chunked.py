"""Rows that are read in chunks, and that the path may index where it would index an array.

``X[ids]`` gathers rows by number, ``X.blocks(spans)`` reads them in order, and nothing more than a chunk is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray

Transform = Callable[[FloatArray], FloatArray]
Span = tuple[int, int]  # rows from the first to before the second


class Chunk(Protocol):
    """Some consecutive rows of a source, and how to get them."""

    @property
    def n_rows(self) -> int:
        """Rows in the chunk."""

    @property
    def handle(self) -> Any:
        """The reference a worker is sent: the chunk itself, or where its rows are already."""

    @property
    def identity(self) -> str:
        """A text that changes when the rows do."""

    def read(self) -> FloatArray:
        """The rows, (n, d)."""

    def where(self, row: int) -> str:
        """Where one of the rows stands, for people."""

    def stamped(self) -> Chunk:
        """The chunk with a digest of its rows; to read others later is an error."""


def digest(values: npt.ArrayLike) -> str:
    """A digest of an array's shape, type and bytes; objects are taken as numbers."""
    array = np.asarray(values)
    array = np.ascontiguousarray(array.astype(np.float64) if array.dtype.kind == "O" else array)
    found = blake2b(f"{array.shape}{array.dtype.str}".encode(), digest_size=16)
    found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


@dataclass(frozen=True)
class ArrayChunk:
    """Rows that are in memory already."""

    rows: FloatArray

    @property
    def n_rows(self) -> int:
        """Rows in the chunk."""
        return len(self.rows)

    @property
    def handle(self) -> ArrayChunk:
        """The chunk itself."""
        return self

    @property
    def identity(self) -> str:
        """A digest of the rows."""
        return digest(self.rows)

    def read(self) -> FloatArray:
        """The rows, (n, d)."""
        return self.rows

    def where(self, row: int) -> str:
        """Where one of the rows stands, for people."""
        return f"row {row:,} of an array"

    def stamped(self) -> ArrayChunk:
        """The chunk itself."""
        return self


Request = tuple[Any, IntArray]  # a chunk's handle, and which of its rows
Taker = Callable[[Sequence[Request]], Iterable[FloatArray]]


@dataclass(frozen=True)
class Table:
    """N rows of d numbers in chunks.

    Attributes
    ----------
    chunks : the rows, one chunk after the other; none is empty
    n_columns : d
    names : of the columns, or None
    precision : what the rows were given in; they are read in double precision
    transforms : what rows go through after they are read
    take : how to get some rows of some chunks; None reads the chunks here

    Examples
    --------
    >>> import numpy as np
    >>> table = Table((ArrayChunk(np.eye(2)), ArrayChunk(np.zeros((1, 2)))), 2)
    >>> table.shape, table[np.array([2, 0])]
    ((3, 2), array([[0., 0.],
           [1., 0.]]))
    """

    chunks: tuple[Chunk, ...]
    n_columns: int
    names: tuple[str, ...] | None = None
    precision: Any = np.float64
    transforms: tuple[Transform, ...] = ()
    take: Taker | None = None
    _near: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """(N, d)."""
        return len(self), self.n_columns

    @cached_property
    def starts(self) -> IntArray:
        """Where every chunk starts, and N."""
        return np.cumsum([0, *(chunk.n_rows for chunk in self.chunks)])

    def through(self, transform: Transform) -> Table:
        """The rows after a row-wise transform; prefetched rows are shared."""
        return replace(self, transforms=(*self.transforms, transform))

    def changed(self, rows: FloatArray) -> FloatArray:
        """Rows as they were read after all transforms."""
        for transform in self.transforms:
            rows = transform(rows)
        return rows

    def __getitem__(self, rows: IntArray) -> FloatArray:
        wanted, back = np.unique(rows, return_inverse=True)
        found = self._raw(wanted)
        return self.changed(found if len(wanted) == len(rows) and np.array_equal(wanted, rows) else found[back])

    def prefetch(self, rows: IntArray) -> None:
        """Gather rows once; until the next call, gathers of some of them read nothing."""
        wanted = np.unique(rows)
        self._near.update(ids=wanted, rows=self._raw(wanted))

    def _raw(self, wanted: IntArray) -> FloatArray:
        """Rows by ascending numbers, from memory where they were prefetched."""
        ids = self._near.get("ids", np.empty(0, dtype=np.int64))
        place = np.minimum(np.searchsorted(ids, wanted), max(0, len(ids) - 1))
        if len(ids) and np.array_equal(ids[place], wanted):
            near: FloatArray = self._near["rows"][place]
            return near
        ends, requests = np.searchsorted(wanted, self.starts), []
        for c in np.flatnonzero(np.diff(ends)).tolist():
            requests.append((self.chunks[c].handle, wanted[ends[c] : ends[c + 1]] - self.starts[c]))
        pieces = self.take(requests) if self.take else (chunk.read()[local] for chunk, local in requests)
        found, filled = np.empty((len(wanted), self.n_columns)), 0
        for piece in pieces:
            found[filled : filled + len(piece)] = piece
            filled += len(piece)
        return found

    def parts(self, span: Span) -> list[tuple[int, int, int]]:
        """The chunks that hold consecutive rows: (chunk, first, last) with places in the chunk."""
        start, stop = span
        first, last = np.searchsorted(self.starts, (start, stop - 1), side="right") - 1
        found = []
        for c in range(int(first), int(last) + 1):
            low = int(self.starts[c])
            found.append((c, max(start - low, 0), min(stop - low, self.chunks[c].n_rows)))
        return found

    def blocks(self, spans: Iterable[Span]) -> Iterator[FloatArray]:
        """Yield the rows of ascending spans; every chunk is read once, when its first row is needed."""
        held, rows = -1, np.empty((0, self.n_columns))
        for span in spans:
            found = []
            for c, low, high in self.parts(span):
                if c != held:
                    held, rows = c, self.chunks[c].read()
                found.append(rows[low:high])
            yield self.changed(found[0] if len(found) == 1 else np.concatenate(found))

    def where(self, row: int) -> str:
        """Where a row stands, for people."""
        c = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.chunks[c].where(row - int(self.starts[c]))

    def load(self) -> FloatArray:
        """All rows in one array."""
        rows = np.empty(self.shape)
        for chunk, start in zip(self.chunks, self.starts.tolist(), strict=False):
            rows[start : start + chunk.n_rows] = self.changed(chunk.read())
        return rows


RowData = npt.NDArray[Any] | Table


def through(transform: Transform, X: RowData) -> RowData:
    """Rows after something that looks at one row at a time: now for an array, when they are read for a table."""
    return X.through(transform) if isinstance(X, Table) else transform(X)


def prefetch(X: RowData, rows: IntArray) -> None:
    """Have some rows of a table at hand; those of an array are."""
    if isinstance(X, Table):
        X.prefetch(rows)


def held_numbers(X: RowData) -> int:
    """How many numbers the rows take in memory: those of an array, or of a table's largest chunk twice."""
    if isinstance(X, Table):
        return 2 * X.n_columns * max(chunk.n_rows for chunk in X.chunks)
    return int(X.size)


def kept_rows(X: RowData, kept: IntArray) -> RowData:
    """The rows that are kept; all of them where they come in chunks, which are not cut."""
    if len(kept) == len(X):
        return X
    if isinstance(X, Table):
        raise ValueError(
            f"{len(X) - len(kept):,} rows have a sample_weight of 0 and cannot be left out of chunks: filter them."
        )
    return X[kept]
