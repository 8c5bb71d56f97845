"""Records as plain data: what JSON can hold, so that a report, a command line and a person read the same numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import Any

import numpy as np


class PicklesFields:
    """A dataclass that is pickled and copied by its fields, without what it has prepared of them."""

    def __getstate__(self) -> dict[str, object]:
        return {own.name: getattr(self, own.name) for own in fields(self)}  # type: ignore[arg-type]


@singledispatch
def plain(value: Any) -> Any:
    """Return dataclasses as dicts, arrays as lists, numpy's numbers as Python's, and nan and infinity as None.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"counts": np.array([3, 1]), "share": np.float64(0.75), "risk": float("nan")})
    {'counts': [3, 1], 'share': 0.75, 'risk': None}
    """
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


@plain.register(list)
@plain.register(tuple)
def _(value: Any) -> list[Any]:
    return [plain(item) for item in value]


@plain.register(Mapping)
def _(value: Any) -> dict[str, Any]:
    return {str(name): plain(item) for name, item in value.items()}


@plain.register(np.ndarray)
@plain.register(np.generic)
def _(value: Any) -> Any:
    return plain(value.tolist())


@plain.register(float)
def _(value: float) -> float | None:
    return value if math.isfinite(value) else None
