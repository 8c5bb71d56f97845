"""Rows of any kind that a regressor may take: arrays, sparse matrices, data frames, with what comes by the row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import is_lazy


@dataclass(frozen=True)
class AnyRows:
    """Rows to fit: X, y, weights or None, and metadata, of which what comes by the row goes with the rows."""

    X: Any
    y: FloatArray
    weights: FloatArray | None
    metadata: dict[str, Any]

    def take(self, ids: IntArray) -> AnyRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[ids]
        metadata = {name: self._taken(value, ids) for name, value in self.metadata.items()}
        return AnyRows(take_rows(self.X, ids), self.y[ids], weights, metadata)

    def _taken(self, value: Any, ids: IntArray) -> Any:
        return take_rows(value, ids) if np.shape(value)[:1] == (len(self.y),) else value

    def weighted(self, more: FloatArray | None) -> AnyRows:
        """The rows with their weights multiplied by others, if any."""
        if more is None:
            return self
        return replace(self, weights=more if self.weights is None else self.weights * more)


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array, a sparse matrix or a data frame, by position."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return (X if hasattr(X, "shape") else np.asarray(X))[rows]


def own_rows(X: Any, given: Any) -> Any:
    """Rows that stay as they are when the caller changes the ones that were given."""
    if isinstance(X, np.ndarray) and X is not given:
        shared = hasattr(given, "__array__") and np.may_share_memory(X, np.asarray(given))
        return X.copy() if shared else X
    return X.copy() if hasattr(X, "copy") else X  # polars frames cannot be changed


def check_kind(X: Any) -> None:
    """Refuse tables whose rows cannot be taken by their numbers."""
    if is_lazy(X) or type(X).__module__.partition(".")[0] in ("pyarrow", "pyspark"):
        raise TypeError(
            "X must be an array, a sparse matrix, or a pandas or polars frame in memory; got "
            f"{type(X).__module__}.{type(X).__name__}. Convert it first (compute() or to_pandas())."
        )
