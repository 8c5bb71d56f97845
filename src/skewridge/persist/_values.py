"""Plain values as JSON: what JSON has no word for is an object of one entry, named after what it is.

None, truth values, integers, finite numbers, text and lists are themselves; tuples, dicts, numpy's numbers, arrays,
other floating-point numbers and estimators that have a layout are tagged. Nothing else can be written or read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from skewridge.persist._archive import DTYPES, MOST_DIMENSIONS, Array, ModelFileError

_SCALARS = (*DTYPES, "|b1")
_SPECIAL = ("nan", "inf", "-inf")


class Layout(Protocol):
    """How an object of one class is written and read."""

    def encode(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the object as JSON."""

    def decode(self, node: Any, reader: Reader, place: str) -> Any:
        """Return the object."""


@dataclass
class Writer:
    """Collects arrays, each once however often it occurs; knows the estimators by their class."""

    estimators: Mapping[type, tuple[str, Layout]]
    arrays: list[Array] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)

    def put(self, array: Array) -> int:
        """Return the array's number."""
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self.arrays.append(array)  # which keeps its id its own
        return self._places[id(array)]


@dataclass
class Reader:
    """Hands out arrays; knows the estimators by the names they have in files."""

    estimators: Mapping[str, Layout]
    arrays: Sequence[Array]
    used: set[int] = field(default_factory=set)

    def take(self, number: Any, place: str) -> Array:
        """Return the array of a number."""
        if type(number) is not int or not 0 <= number < len(self.arrays):
            raise ModelFileError(f"{place} refers to an array that the file does not hold")
        self.used.add(number)
        return self.arrays[number]

    def check_all_used(self) -> None:
        """Refuse arrays that belong to nothing."""
        if len(self.used) < len(self.arrays):
            raise ModelFileError("it holds arrays that belong to nothing")


def encode(value: Any, writer: Writer, place: str) -> Any:
    """Return a plain value as JSON, or raise with what and where it is."""
    if type(value) in writer.estimators:
        name, layout = writer.estimators[type(value)]
        return {"estimator": {"class": name, **layout.encode(value, writer, place)}}
    encoder = _ENCODERS.get(np.generic if isinstance(value, np.generic) else type(value))
    if encoder is None:
        raise ModelFileError(_refusal(value, place))
    return encoder(value, writer, place)


def decode(node: Any, reader: Reader, place: str) -> Any:
    """Return the value that JSON stands for."""
    if isinstance(node, dict):
        tag, inner = next(iter(node.items())) if len(node) == 1 else ("", None)
        if tag not in _DECODERS:
            raise ModelFileError(f"{place} is of an unknown kind {tag[:20]!r}")
        return _DECODERS[tag](inner, reader, place)
    if isinstance(node, list):
        return [decode(item, reader, f"{place}[{i}]") for i, item in enumerate(node)]
    return check_text(node, place) if isinstance(node, str) else node


def check_text(text: str, place: str) -> str:
    """Return text, or raise for half characters, which no terminal or file can take."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ModelFileError(f"{place} holds text that is not valid Unicode: {text[:40]!a}") from None
    return text


def _refusal(value: Any, place: str) -> str:
    kind = "the function " + getattr(value, "__name__", "given") if callable(value) else f"a {type(value).__name__}"
    return (
        f"{place} is {kind}, and model files hold numbers, text, arrays of numbers and skewridge's own estimators, "
        f"since anything else would have to be run to be loaded. Set {place} to something plain before saving"
    )


def _encode_float(value: float, writer: Writer, place: str) -> Any:
    return value if np.isfinite(value) else {"float": repr(value)}


def _encode_items(value: Sequence[Any], writer: Writer, place: str) -> list[Any]:
    return [encode(item, writer, f"{place}[{i}]") for i, item in enumerate(value)]


def _encode_dict(value: dict[Any, Any], writer: Writer, place: str) -> Any:
    odd = [key for key in value if type(key) is not str]
    if odd:
        raise ModelFileError(f"{place} has the key {odd[0]!r}: keys must be text to be saved")
    return {"dict": {check_text(k, place): encode(v, writer, f"{place}[{k!r}]") for k, v in value.items()}}


def _encode_array(value: Array, writer: Writer, place: str) -> Any:
    if value.dtype.newbyteorder("<").str in DTYPES and value.ndim <= MOST_DIMENSIONS:
        return {"array": writer.put(value)}
    if value.dtype == object and value.ndim == 1 and all(type(item) is str for item in value):
        return {"strings": [check_text(item, place) for item in value]}
    what = f"an array of dtype {value.dtype} with {value.ndim} dimensions"
    raise ModelFileError(f"{place} is {what}; only numbers and text can be saved. Convert it")


def _encode_scalar(value: np.generic, writer: Writer, place: str) -> Any:
    if isinstance(value, np.str_):
        return check_text(str(value), place)
    dtype = value.dtype.newbyteorder("<").str
    if dtype not in _SCALARS:
        raise ModelFileError(f"{place} is a number of dtype {value.dtype}, which cannot be saved. Convert it")
    return {"scalar": [dtype, encode(value.item(), writer, place)]}


def _decode_float(node: Any, reader: Reader, place: str) -> float:
    if node not in _SPECIAL:
        raise ModelFileError(f"{place} is no number")
    return float(node)


def _decode_dict(node: Any, reader: Reader, place: str) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise ModelFileError(f"{place} is no dict")
    return {check_text(key, place): decode(item, reader, f"{place}[{key[:40]!r}]") for key, item in node.items()}


def _decode_tuple(node: Any, reader: Reader, place: str) -> tuple[Any, ...]:
    if not isinstance(node, list):
        raise ModelFileError(f"{place} is no tuple")
    return tuple(decode(node, reader, place))


def _decode_strings(node: Any, reader: Reader, place: str) -> Array:
    if not isinstance(node, list) or not all(isinstance(item, str) for item in node):
        raise ModelFileError(f"{place} holds other things than text")
    return np.array([check_text(item, place) for item in node], dtype=object)


def _decode_scalar(node: Any, reader: Reader, place: str) -> Any:
    if not isinstance(node, list) or len(node) != 2 or node[0] not in _SCALARS:
        raise ModelFileError(f"{place} is no number")
    value = decode(node[1], reader, place)
    if not isinstance(value, int | float):
        raise ModelFileError(f"{place} is no number")
    try:
        with np.errstate(all="ignore"):
            number = np.array(value).astype(node[0])[()]
    except (OverflowError, TypeError) as error:
        raise ModelFileError(f"{place} does not fit its type ({error})") from error
    if number.item() != value and not (number != number and value != value):
        raise ModelFileError(f"{place} does not fit its type")
    return number


def _decode_estimator(node: Any, reader: Reader, place: str) -> Any:
    name = node.get("class") if isinstance(node, dict) else None
    if not isinstance(name, str) or name not in reader.estimators:
        known = ", ".join(sorted(reader.estimators))
        raise ModelFileError(f"{place} is of the unknown class {str(name)[:40]!r}; this skewridge knows {known}")
    return reader.estimators[name].decode({k: v for k, v in node.items() if k != "class"}, reader, place)


_ENCODERS: dict[type, Callable[[Any, Writer, str], Any]] = {
    type(None): lambda value, writer, place: value,
    bool: lambda value, writer, place: value,
    int: lambda value, writer, place: value,
    float: _encode_float,
    str: lambda value, writer, place: check_text(value, place),
    list: _encode_items,
    tuple: lambda value, writer, place: {"tuple": _encode_items(value, writer, place)},
    dict: _encode_dict,
    np.ndarray: _encode_array,
    np.generic: _encode_scalar,
}
_DECODERS: dict[str, Callable[[Any, Reader, str], Any]] = {
    "float": _decode_float,
    "tuple": _decode_tuple,
    "dict": _decode_dict,
    "array": lambda node, reader, place: reader.take(node, place),
    "strings": _decode_strings,
    "scalar": _decode_scalar,
    "estimator": _decode_estimator,
}
