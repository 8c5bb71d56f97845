"""What tells one fit from another, so that a checkpoint is not taken for that of another fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from skewridge import __version__
from skewridge.execution.chunked import RowData, Table, digest

IDLE = ("n_jobs", "verbose")  # parameters that change no result


def fit_identity(
    estimator: Any, X: RowData, y: Any, sample_weight: Any, labels: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Describe a fit by its rows, weights, labels (groups, order), settings and code; threads do not count."""
    chunks = [chunk.identity for chunk in X.chunks] if isinstance(X, Table) else digest(X)
    return {
        "version": __version__,
        "method": code_digest(),
        "estimator": type(estimator).__name__,
        "parameters": {k: _as_text(v, y) for k, v in estimator.get_params().items() if k not in IDLE},
        "columns": [str(name) for name in getattr(X, "names", None) or getattr(X, "columns", [])],
        "source": digest(chunks),
        "response": digest(y),
        "sample_weight": None if sample_weight is None else digest(np.asarray(sample_weight, dtype=np.float64)),
        **{name: digest(np.array([str(label) for label in own])) for name, own in (labels or {}).items()},
    }


@cache
def code_digest() -> str:
    """A digest of the library's own code: what another version has summed up is not added to."""
    found = blake2b(digest_size=16)
    folder = Path(__file__).parents[1]
    for file in sorted(folder.rglob("*.py")):
        found.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return found.hexdigest()


def _as_text(value: Any, y: Any) -> str:
    """A parameter as text that does not change from run to run; a callable scoring is known by what it gives."""
    if isinstance(value, np.random.RandomState):
        _, keys, *rest = value.get_state(legacy=True)
        return f"{digest(keys)} {rest}"
    if callable(value):
        return digest([value(column) for column in np.atleast_2d(np.asarray(y, dtype=np.float64).T)])
    return str(np.asarray(value).tolist())
