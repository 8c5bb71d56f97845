"""The file: a zip of stored members, and a manifest that says what they are, how large, and what they hash to.

``manifest.json`` holds the format, its version, the library's version and every other member's size and sha256;
``model.json`` the model with its arrays left out; ``arrays/0.npy`` and so on the arrays. Nothing in the file is parsed
but JSON: an array's header is compared with the one that the manifest's dtype and shape make.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

FORMAT, VERSION = "skewridge model", 1
MANIFEST, DOCUMENT = "manifest.json", "model.json"
DTYPES = ("<f8", "<f4", "<i8", "<i4")
MOST_TEXT = 64 * 2**20  # bytes of JSON
MOST_MEMBERS = 300_000  # whose descriptions fit in a text
MOST_DIMENSIONS, MOST_LENGTH = 4, 2**48
CHUNK = 2**20

Array = npt.NDArray[Any]

_LIBRARY = re.compile(r"[0-9A-Za-z.+-]{1,40}")
_ARRAY_NAME = re.compile(r"arrays/(0|[1-9][0-9]{0,6})\.npy")
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same model is the same file
_UNREADABLE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, struct.error),
    *(ValueError, OverflowError, NotImplementedError, RuntimeError),
)


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that cannot be loaded as a model: what is wrong, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from skewridge import load_model
    >>> with tempfile.NamedTemporaryFile(suffix=".skr") as empty:
    ...     load_model(empty.name)
    Traceback (most recent call last):
    skewridge.persist._archive.ModelFileError: ....skr cannot be loaded as a model: it is no complete zip archive ...
    """


@dataclass(frozen=True)
class Contents:
    """The contents of a file: the document, the arrays it refers to, and the version of the library that wrote it."""

    document: Any
    arrays: Sequence[Array]
    library: str


def write_archive(file: BinaryIO, contents: Contents) -> None:
    """Write the members, then the manifest that seals them."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        document = _text(contents.document)
        if len(document) > MOST_TEXT or len(contents.arrays) >= MOST_MEMBERS - 2:
            raise ModelFileError("The model is too large for a file: it has too many parts or too much text.")
        members = {DOCUMENT: _add(archive, DOCUMENT, [document])}
        for i, array in enumerate(contents.arrays):
            layout = _layout(array)
            pieces = [npy_header(**layout), _buffer(array, layout)]
            members[_array_name(i)] = {**_add(archive, _array_name(i), pieces), **layout}
        manifest = {"format": FORMAT, "version": VERSION, "skewridge": contents.library, "members": members}
        _add(archive, MANIFEST, [_text(manifest)])


def read_archive(path: str | os.PathLike[str]) -> Contents:
    """Return what a file holds, or raise :class:`ModelFileError`."""
    with open(path, "rb") as file, _refusing(), zipfile.ZipFile(file) as archive:
        infos = _infos(archive, os.fstat(file.fileno()).st_size)
        manifest = _manifest(archive, infos)
        members = manifest["members"]
        if set(members) != set(infos) - {MANIFEST} or DOCUMENT not in members:
            raise ModelFileError("its members are not those that it lists")
        document = _parse(_checked_text(archive, infos[DOCUMENT], members[DOCUMENT]))
        names = [_array_name(i) for i in range(len(members) - 1)]
        if not set(names) < set(members):
            raise ModelFileError("it holds members of other names than arrays have")
        arrays = [_read_array(archive, infos[name], members[name]) for name in names]
    return Contents(document, arrays, manifest["skewridge"])


def npy_header(dtype: str, shape: Sequence[int], order: str) -> bytes:
    """The opening of numpy's npy format, so that any tool of the field reads the arrays.

    Examples
    --------
    >>> npy_header("<f8", [3], "C")[10:67]
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"
    """
    text = f"{{'descr': '{dtype}', 'fortran_order': {order == 'F'}, 'shape': {tuple(shape)}, }}"
    body = text + " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body.encode("ascii")


def _array_name(i: int) -> str:
    return f"arrays/{i}.npy"


def _text(document: Any) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")


def _layout(array: Array) -> dict[str, Any]:
    """An array's entry in the manifest; one that is contiguous in no order is written row by row."""
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "order": order}


def _buffer(array: Array, layout: dict[str, Any]) -> Any:
    """The numbers as they lie in the file."""
    ordered = array.T if layout["order"] == "F" else array
    return np.ascontiguousarray(ordered, dtype=layout["dtype"]).reshape(-1).view(np.uint8).data


def _add(archive: zipfile.ZipFile, name: str, pieces: Sequence[Any]) -> dict[str, Any]:
    """Write one member; return its size and hash."""
    info, digest = zipfile.ZipInfo(name, _LONG_AGO), hashlib.sha256()
    info.file_size = sum(len(piece) for piece in pieces)  # tells zipfile whether 32 bits hold it
    with archive.open(info, "w") as member:
        for piece in pieces:
            digest.update(piece)
            member.write(piece)
    return {"bytes": info.file_size, "sha256": digest.hexdigest()}


@contextmanager
def _refusing() -> Iterator[None]:
    """Say of whatever zipfile stumbles over that the file is damaged."""
    try:
        yield
    except ModelFileError:
        raise
    except _UNREADABLE as error:
        raise ModelFileError(f"it is no complete zip archive ({error})") from error


def _infos(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name, once none can be larger than the file is."""
    infos = archive.infolist()
    if len(infos) > MOST_MEMBERS:
        raise ModelFileError(f"it holds {len(infos)} members, more than {MOST_MEMBERS}")
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
            raise ModelFileError("a member is compressed or encrypted, which model files never are")
    if sum(info.file_size for info in infos) > size:
        raise ModelFileError("its members claim to be larger than the file")
    named = {info.filename: info for info in infos}
    if len(named) < len(infos):
        raise ModelFileError("two of its members have the same name")
    return named


def _manifest(archive: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
    """The manifest, once its format and version are ours and every member is described."""
    if MANIFEST not in infos:
        raise ModelFileError("it is a zip archive but not one of skewridge.save_model")
    manifest = _parse(_member_text(archive, infos[MANIFEST]))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError("its manifest is not one of skewridge.save_model")
    version, library = manifest.get("version"), str(manifest.get("skewridge"))
    if type(version) is not int or version != VERSION or not _LIBRARY.fullmatch(library):
        raise ModelFileError(
            f"it has version {str(version)[:20]} of the format, written by skewridge {library[:40]!r}, and this one "
            f"reads version {VERSION}; load it with the skewridge that saved it or a newer one"
        )
    if set(manifest) != {"format", "version", "skewridge", "members"} or not isinstance(manifest["members"], dict):
        raise ModelFileError("its manifest has other entries than it should")
    for name, entry in manifest["members"].items():
        _check_entry(name, entry, infos)
    return {**manifest, "skewridge": library}


def _check_entry(name: str, entry: Any, infos: dict[str, zipfile.ZipInfo]) -> None:
    """Refuse a description of a member that is not one, or not of a member that is there."""
    wanted = {"bytes", "sha256"} if name == DOCUMENT else {"bytes", "sha256", "dtype", "shape", "order"}
    if name != DOCUMENT and not _ARRAY_NAME.fullmatch(name):
        raise ModelFileError(f"it holds an unknown member {name[:40]!r}")
    if not isinstance(entry, dict) or set(entry) != wanted:
        raise ModelFileError(f"its manifest does not describe {name}")
    if name not in infos or infos[name].file_size != entry["bytes"]:
        raise ModelFileError(f"{name} is not as large as its manifest says")


def _member_text(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.file_size > MOST_TEXT:
        raise ModelFileError(f"{info.filename} claims {info.file_size} bytes, more than {MOST_TEXT}")
    return archive.read(info)


def _checked_text(archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: dict[str, Any]) -> bytes:
    text = _member_text(archive, info)
    _check_hash(hashlib.sha256(text).hexdigest(), info, entry)
    return text


def _check_hash(found: str, info: zipfile.ZipInfo, entry: dict[str, Any]) -> None:
    if found != entry["sha256"]:
        raise ModelFileError(f"the checksum of {info.filename} is not the one in its manifest")


def _parse(text: bytes) -> Any:
    """Parse JSON without its liberties: no NaN, no infinities, no key twice."""
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_number, parse_float=_number, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its JSON is not valid ({error})") from error


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a finite number")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: dict[str, Any]) -> Array:
    """Return one array, once its dtype is one of ours and its shape just fills the member."""
    dtype, shape, order = entry["dtype"], entry["shape"], entry["order"]
    if dtype not in DTYPES or order not in ("C", "F"):
        raise ModelFileError(f"{info.filename} is of dtype {str(dtype)[:20]!r}, and only {', '.join(DTYPES)} are read")
    if not isinstance(shape, list) or len(shape) > MOST_DIMENSIONS or not all(map(_is_length, shape)):
        raise ModelFileError(f"{info.filename} has the impossible shape {str(shape)[:40]}")
    header, kind = npy_header(dtype, shape, order), np.dtype(dtype)
    if len(header) + math.prod(shape) * kind.itemsize != info.file_size:
        raise ModelFileError(f"{info.filename} is not as large as its shape {tuple(shape)} says")
    flat, digest = np.empty(math.prod(shape), dtype=kind), hashlib.sha256(header)
    with archive.open(info) as member:
        if member.read(len(header)) != header:
            raise ModelFileError(f"the header of {info.filename} is not the one that its manifest describes")
        _fill(member, flat, digest)
    _check_hash(digest.hexdigest(), info, entry)
    return flat.astype(kind.newbyteorder("="), copy=False).reshape(shape, order=order)


def _is_length(n: Any) -> bool:
    return type(n) is int and 0 <= n < MOST_LENGTH


def _fill(member: Any, flat: Array, digest: Any) -> None:
    """Read a member to its end, where zipfile compares its check sum, into an array."""
    view, filled = flat.view(np.uint8).data, 0
    while chunk := member.read(CHUNK):
        view[filled : filled + len(chunk)] = chunk
        digest.update(chunk)
        filled += len(chunk)
