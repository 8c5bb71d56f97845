"""Types of arrays, and of parameters that several estimators share, in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyFloatArray: TypeAlias = npt.NDArray[np.floating]  # single or double precision

Data: TypeAlias = dict[str, Any]  # plain data, as JSON holds it
Auto: TypeAlias = Literal["auto"]
Bandwidth: TypeAlias = float | Literal["median", "auto"]
Bounds: TypeAlias = Literal["auto"] | Sequence[float | None] | None  # "auto", none, or (low, high)
Bytes: TypeAlias = int | float | str  # a number, or a text such as "2GB"
KernelName: TypeAlias = Literal[
    "gaussian", "rbf", "matern12", "matern32", "matern52", "laplacian", "polynomial", "poly", "sobolev"
]
Prediction: TypeAlias = FloatArray | tuple[FloatArray, FloatArray]  # with or without standard deviations
RandomState: TypeAlias = int | np.random.RandomState | None
Scoring: TypeAlias = Literal["mse", "balanced_mse", "sera"] | Callable[[FloatArray], npt.ArrayLike]
SliceRule: TypeAlias = Literal["scott", "sturges", "fd", "log"] | int | Sequence[float] | FloatArray


class PicklesFields:
    """A dataclass that is pickled and copied by its fields, without what it has prepared of them."""

    def __getstate__(self) -> dict[str, object]:
        return {own.name: getattr(self, own.name) for own in fields(self)}  # type: ignore[arg-type]
