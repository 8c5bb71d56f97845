"""Layouts of objects in a file: their fields, and the conditions checked when they are written and read.

A length is named by a letter, and the same letter is the same length all over an estimator: an estimator whose arrays
do not fit each other is refused and never evaluated.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge.persist._archive import ModelFileError
from skewridge.persist._values import Reader, Writer, decode, encode

LARGEST = float(np.finfo(np.float64).max)
MAY_BE_NONE = (
    "B",
    "D",
    "R",
    "P",
    "n",
    "q",
    "t",
    "b",
    "u",
    "w",
)  # tried values, forms, a node's rows, dominating rows, terms


class Sizes:
    """Lengths by letter; numbers that are to be below a length wait, in the outermost ones, until all are known."""

    def __init__(self, outer: Sizes | None = None) -> None:
        self._lengths: dict[str, int] = {}
        self._below: list[tuple[Sizes, str, int, str]] = [] if outer is None else outer._below

    def match(self, dimension: str, length: int, place: str) -> None:
        """Take "k" or "k+1" for a length, or raise where the letter has another already; "*" is any length."""
        if dimension == "*":
            return
        letter, _, more = dimension.partition("+")
        found = self._lengths.setdefault(letter, length - int(more or 0))
        if found + int(more or 0) != length or found < (letter not in MAY_BE_NONE):
            raise ModelFileError(f"{place} has length {length}, which does not fit the model's other arrays")

    def expect_below(self, letter: str, largest: int, place: str) -> None:
        """Have a number compared with a length."""
        self._below.append((self, letter, largest, place))

    def settle(self) -> None:
        """Compare what waits with the lengths around it, or with the outermost where these lack the letter."""
        for own, letter, largest, place in self._below:
            if largest >= own._lengths.get(letter, self._lengths.get(letter, 0)):
                raise ModelFileError(f"{place} refers to number {largest}, which the model does not have")


class Field:
    """Any plain value; what others may be they say in ``check``."""

    def check(self, value: Any, sizes: Sizes, place: str) -> None:
        """Raise for a value that this field cannot have."""

    def encode(self, value: Any, writer: Writer, sizes: Sizes, place: str) -> Any:
        """Return the value as JSON."""
        self.check(value, sizes, place)
        return encode(value, writer, place)

    def decode(self, node: Any, reader: Reader, sizes: Sizes, place: str) -> Any:
        """Return the value."""
        value = decode(node, reader, place)
        self.check(value, sizes, place)
        return value


class Arrays(Field):
    """An array of some dtypes with lengths by letter; several of them where it may have several shapes."""

    dtypes: Collection[str] = ()

    def __init__(self, *shapes: str, finite: bool = True, below: str | None = None) -> None:
        self._shapes = {len(shape.split()): shape.split() for shape in shapes}
        self._finite, self._below = finite, below

    def check(self, value: Any, sizes: Sizes, place: str) -> None:
        """Compare dtype, shape and range."""
        if not isinstance(value, np.ndarray) or value.dtype.name not in self.dtypes or value.ndim not in self._shapes:
            raise ModelFileError(f"{place} is not an array of {' or '.join(self.dtypes)} of the expected dimensions")
        for dimension, length in zip(self._shapes[value.ndim], value.shape, strict=True):
            sizes.match(dimension, length, place)
        if self._finite and not np.isfinite(value).all():
            raise ModelFileError(f"{place} holds numbers that are not finite")
        if self._below is not None and value.size:
            if value.min() < 0:
                raise ModelFileError(f"{place} holds negative numbers")
            sizes.expect_below(self._below, int(value.max()), place)


class Floats(Arrays):
    """Floating-point numbers."""

    dtypes = ("float64",)


class Ints(Arrays):
    """Whole numbers."""

    dtypes = ("int64", "int32")


class Bools(Ints):
    """Truth values, which files hold as the whole numbers 0 and 1."""

    def encode(self, value: Any, writer: Writer, sizes: Sizes, place: str) -> Any:
        """Return the numbers as JSON."""
        if not isinstance(value, np.ndarray) or value.dtype != np.bool_:
            raise ModelFileError(f"{place} is not an array of truth values")
        return super().encode(value.astype(np.int32), writer, sizes, place)

    def decode(self, node: Any, reader: Reader, sizes: Sizes, place: str) -> Any:
        """Return the truth values."""
        value = super().decode(node, reader, sizes, place)
        if not np.isin(value, (0, 1)).all():
            raise ModelFileError(f"{place} holds other numbers than 0 and 1")
        return value.astype(np.bool_)


class Number(Field):
    """A finite number in a range; a loose one may be anything that a float can be."""

    def __init__(self, low: float = -LARGEST, high: float = LARGEST, whole: bool = False, loose: bool = False) -> None:
        self._low, self._high, self._whole, self._loose = low, high, whole, loose

    def check(self, value: Any, sizes: Sizes, place: str) -> None:
        """Compare type and range."""
        wanted = (int, np.integer) if self._whole else (int, float, np.integer, np.floating)
        typed = isinstance(value, wanted) and not isinstance(value, bool)
        if not typed or not (self._loose or self._low <= value <= self._high):
            range_ = f"from {self._low:g} to {self._high:g}"
            raise ModelFileError(f"{place} is not a {'whole ' * self._whole}number {range_}")


class Texts(Field):
    """An array of texts of a length by letter, as scikit-learn keeps the features' names."""

    def __init__(self, letter: str) -> None:
        self._letter = letter

    def check(self, value: Any, sizes: Sizes, place: str) -> None:
        """Compare dtype and length; texts are the only objects that arrays may hold in files."""
        if not isinstance(value, np.ndarray) or value.dtype != object or value.ndim != 1:
            raise ModelFileError(f"{place} is not an array of text")
        sizes.match(self._letter, len(value), place)


class Numbers(Field):
    """A tuple of finite numbers of a length by letter, or an empty one."""

    def __init__(self, letter: str) -> None:
        self._letter = letter

    def check(self, value: Any, sizes: Sizes, place: str) -> None:
        """Compare."""
        if type(value) is not tuple:
            raise ModelFileError(f"{place} is not a tuple")
        for item in value:
            Number().check(item, sizes, place)
        if value:
            sizes.match(self._letter, len(value), place)


@dataclass(frozen=True)
class Length(Field):
    """A whole number that is the length of arrays."""

    letter: str

    def check(self, value: Any, sizes: Sizes, place: str) -> None:
        """Compare."""
        Number(0, whole=True).check(value, sizes, place)
        sizes.match(self.letter, int(value), place)


@dataclass(frozen=True)
class Kind(Field):
    """A value of one type, and one of some where they are listed."""

    cls: type
    options: Collection[Any] = ()

    def check(self, value: Any, sizes: Sizes, place: str) -> None:
        """Compare."""
        if type(value) is not self.cls or (self.options and value not in self.options):
            raise ModelFileError(f"{place} is not {' or '.join(map(repr, self.options)) or self.cls.__name__}")
