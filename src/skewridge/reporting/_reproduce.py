"""How to get the same model and the same numbers again."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from typing import Any

import numpy as np

from skewridge._version import __version__
from skewridge.reporting._case import Case, Part
from skewridge.reporting._method import shown

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def checksum(X: Any, y: Any = None) -> str:
    """Return the SHA-256 of a table and a response: the same for an array and a frame of the same numbers.

    Columns are hashed one after the other, numbers as little-endian float64 and anything else as text, so that neither
    precision, memory order nor column names count; the order of rows and columns does.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.reporting import checksum
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> checksum(X) == checksum(np.asfortranarray(X, dtype=np.float32))
    True
    >>> checksum(X) == checksum(X[::-1])
    False
    """
    digest = hashlib.sha256(repr(np.shape(X)).encode())
    for column in [*_columns(X), *([] if y is None else _columns(y))]:
        digest.update(_bytes(column))
    return digest.hexdigest()


def _columns(X: Any) -> Iterator[Any]:
    """The columns of a frame, a sparse matrix or an array, one at a time."""
    if hasattr(X, "columns"):
        yield from (X[name] for name in X.columns)
    elif hasattr(X, "tocsc"):
        by_column = X.tocsc()
        yield from (by_column[:, [f]].toarray() for f in range(X.shape[1]))
    else:
        yield from np.atleast_2d(np.asarray(X).T)


def _bytes(column: Any) -> bytes:
    try:
        return np.ascontiguousarray(column, dtype="<f8").tobytes()
    except (TypeError, ValueError):
        return "\x1f".join(str(value) for value in column).encode()


def _data(case: Case) -> dict[str, Any]:
    shape = np.shape(case.X)
    return {"n_rows": shape[0], "n_features": shape[1], "checksum": checksum(case.X, case.y)}


def _versions(case: Case) -> dict[str, str]:
    own = {"skewridge": __version__, "python": platform.python_version()}
    return {**own, **{name: _version(name) for name in PACKAGES}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _parameters(case: Case) -> dict[str, Any]:
    return {name: shown(value) for name, value in case.model.get_params(deep=True).items()}


def _seed(case: Case) -> dict[str, Any]:
    """The seed, and whether it gives the same fit again."""
    given = case.fitted.random_state
    return {"value": shown(given), "fixed": isinstance(given, Integral)}


PARTS = (
    Part("code", (), lambda case: repr(case.model)),
    Part("parameters", ("get_params",), _parameters),
    Part("seed", ("random_state",), _seed),
    Part("data", (), _data),
    Part("versions", (), _versions),
)
