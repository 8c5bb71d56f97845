"""Layouts made of other layouts: lists, records of our classes, one of several.

Letters of lengths are those of the layout that they stand in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from skewridge.persist._archive import ModelFileError
from skewridge.persist._layouts import Arrays, Field, Number, Sizes
from skewridge.persist._values import Reader, Writer, decode, encode


@dataclass(frozen=True)
class Maybe(Field):
    """None, or another field."""

    field: Field

    def encode(self, value: Any, writer: Writer, sizes: Sizes, place: str) -> Any:
        """Return None or the field's JSON."""
        return None if value is None else self.field.encode(value, writer, sizes, place)

    def decode(self, node: Any, reader: Reader, sizes: Sizes, place: str) -> Any:
        """Return None or the field's value."""
        return None if node is None else self.field.decode(node, reader, sizes, place)


@dataclass(frozen=True)
class NumberOr(Field):
    """A number, or else an array."""

    array: Arrays

    def check(self, value: Any, sizes: Sizes, place: str) -> None:
        """Ask the one that it is."""
        chosen = self.array if isinstance(value, np.ndarray) else Number()
        chosen.check(value, sizes, place)


@dataclass(frozen=True)
class OneOf(Field):
    """An object of one of several records, which files tell apart by their fields."""

    records: tuple[Record, ...]

    def encode(self, value: Any, writer: Writer, sizes: Sizes, place: str) -> Any:
        """Return the JSON of the record that the object is of."""
        for record in self.records:
            if type(value) is record.cls:
                return record.encode(value, writer, sizes, place)
        raise ModelFileError(f"{place} is not {self._names}")

    def decode(self, node: Any, reader: Reader, sizes: Sizes, place: str) -> Any:
        """Return the object of the record that has these fields."""
        for record in self.records:
            if isinstance(node, dict) and set(node) == {*record.fields, *record.cached}:
                return record.decode(node, reader, sizes, place)
        raise ModelFileError(f"{place} has other fields than {self._names} has")

    @property
    def _names(self) -> str:
        return " or ".join(f"a {record.cls.__name__}" for record in self.records)


@dataclass(frozen=True)
class Items(Field):
    """A list, or a tuple, of which every item is the same field."""

    item: Field
    cls: type = list

    def encode(self, value: Any, writer: Writer, sizes: Sizes, place: str) -> Any:
        """Return a list of JSON."""
        items: Any = value
        if type(value) is not self.cls:
            raise ModelFileError(f"{place} is not a {self.cls.__name__}")
        return [self.item.encode(item, writer, sizes, f"{place}[{i}]") for i, item in enumerate(items)]

    def decode(self, node: Any, reader: Reader, sizes: Sizes, place: str) -> Any:
        """Return the list or tuple."""
        if not isinstance(node, list):
            raise ModelFileError(f"{place} is not a list")
        found: Any = self.cls(self.item.decode(item, reader, sizes, f"{place}[{i}]") for i, item in enumerate(node))
        return found


@dataclass(frozen=True)
class Record(Field):
    """An object of one of our dataclasses.

    ``cached`` are properties that are kept rather than computed again, where another machine would round differently;
    ``holds`` says of an object whose fields are right one by one whether it is right as a whole; ``alone`` gives it
    lengths of its own; ``later`` are fields that files of earlier versions lack, which then have their defaults.
    """

    cls: type
    fields: Mapping[str, Field]
    cached: Mapping[str, Field] = field(default_factory=dict)
    holds: Callable[[Any], bool] = lambda value: True
    alone: bool = False
    later: Collection[str] = ()

    def __post_init__(self) -> None:
        """Refuse to forget a field that the class has."""
        if set(self.fields) != {f.name for f in fields(self.cls)}:
            raise TypeError(f"the layout of {self.cls.__name__} must name its fields, all of them and no others")

    def encode(self, value: Any, writer: Writer, sizes: Sizes, place: str) -> Any:
        """Return the fields as JSON."""
        if type(value) is not self.cls:
            raise ModelFileError(f"{place} is not a {self.cls.__name__}")
        sizes = Sizes(sizes) if self.alone else sizes
        return {
            name: f.encode(getattr(value, name), writer, sizes, f"{place}.{name}")
            for name, f in {**self.fields, **self.cached}.items()
        }

    def decode(self, node: Any, reader: Reader, sizes: Sizes, place: str) -> Any:
        """Return the object."""
        wanted = {**self.fields, **self.cached}
        if not isinstance(node, dict) or not set(wanted) - set(self.later) <= set(node) <= set(wanted):
            raise ModelFileError(f"{place} has other fields than a {self.cls.__name__} has")
        sizes = Sizes(sizes) if self.alone else sizes
        there = {name: f for name, f in wanted.items() if name in node}
        found = {name: f.decode(node[name], reader, sizes, f"{place}.{name}") for name, f in there.items()}
        value = self.cls(**{name: found[name] for name in self.fields if name in found})
        value.__dict__.update({name: found[name] for name in self.cached})
        if not self.holds(value):
            raise ModelFileError(f"{place} is not a valid {self.cls.__name__}: its fields contradict each other")
        return value


class Packed(Field):
    """A model that packs itself into plain arrays, and checks them when it is made of them again."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def encode(self, value: Any, writer: Writer, sizes: Sizes, place: str) -> Any:
        """Return the arrays as JSON."""
        if type(value) is not self._cls:
            raise ModelFileError(f"{place} is not a {self._cls.__name__}")
        return encode(value.to_arrays(), writer, place)

    def decode(self, node: Any, reader: Reader, sizes: Sizes, place: str) -> Any:
        """Return the model."""
        arrays = decode(node, reader, place)
        try:
            finite = all(np.isfinite(part).all() for part in arrays.values() if isinstance(part, np.ndarray))
            if not finite:
                raise ValueError("it holds numbers that are not finite")
            return self._cls.from_arrays(arrays)
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ModelFileError(f"{place} is not a valid {self._cls.__name__}: {error}") from error


class OneOrTuple(Field):
    """A field of the one output, or a tuple with one for each of several."""

    def __init__(self, item: Field) -> None:
        self._one, self._all = item, Items(item, tuple)

    def encode(self, value: Any, writer: Writer, sizes: Sizes, place: str) -> Any:
        """Return JSON that tells which of the two it is."""
        if type(value) is tuple:
            return {"each": self._all.encode(value, writer, sizes, place)}
        return {"one": self._one.encode(value, writer, sizes, place)}

    def decode(self, node: Any, reader: Reader, sizes: Sizes, place: str) -> Any:
        """Return the one or the tuple."""
        if not isinstance(node, dict) or set(node) not in ({"one"}, {"each"}):
            raise ModelFileError(f"{place} is neither one nor several")
        name, inner = next(iter(node.items()))
        return (self._one if name == "one" else self._all).decode(inner, reader, sizes, place)
