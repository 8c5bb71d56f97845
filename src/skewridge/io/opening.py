"""Files opened for reading, here or wherever fsspec finds them, unpacked where they are packed, text as UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from skewridge.io.encodings import UTF8, Transcoded, is_stepwise
from skewridge.io.listing import FORMATS, ZIP, kind_of, packing_of

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
SKIPPED_BYTES = 1 << 20  # read at a time where a file cannot be entered in the middle
TEXTS = ("CSV", "JSON lines")  # formats that are read from packed files
LISTED = 3  # files of an archive that are named


def opened(url: str, native: bool = False) -> Any:
    """The file as it is, for reading; as pyarrow reads it fastest, or as Python does."""
    if "://" not in url:
        import pyarrow as pa

        return pa.OSFile(url, "rb") if native else open(url, "rb")
    import fsspec

    return fsspec.open(url, "rb").open()


def format_of(url: str) -> str:
    """What a file holds, by its ending or by that of the only file in a zip archive: "CSV", "Parquet", ..."""
    kind, packing = kind_of(url), packing_of(url)
    if packing == ZIP:
        kind = kind_of(_member_name(url)) or kind
    found = FORMATS.get(kind, "")
    if not found:
        raise ValueError(f"{url} holds a file that ends in {kind!r}. Expected one of {', '.join(FORMATS)}.")
    if packing and found not in TEXTS:
        raise ValueError(f"{url}: {found} cannot be read from a packed file. Unpack it first.")
    return found


@contextmanager
def unpacked(url: str, start: int = 0, encoding: str = UTF8) -> Iterator[Any]:
    """The content of a file from one of its bytes on.

    A packed file is unpacked up to there. Bytes are those of the file where the encoding can be cut anywhere, and those
    of its text in UTF-8 where it cannot.
    """
    packing, whole = packing_of(url), encoding == UTF8 or is_stepwise(encoding)
    with opened(url) as file:
        if not packing and whole:
            file.seek(start)
            yield file
            return
        with unpacking(url, file, packing) as raw:
            content = raw if whole else Transcoded(raw, encoding)
            while start:
                start -= len(content.read(min(start, SKIPPED_BYTES))) or start
            yield content


@contextmanager
def unpacking(url: str, file: Any, packing: str) -> Iterator[Any]:
    """The content of an open file that is packed in some way, or in none."""
    if not packing:
        yield file
    elif packing == ZIP:
        with ZipFile(file) as archive, archive.open(_member(url, archive)) as content:
            yield content
    elif packing == ".xz":
        from lzma import LZMAFile

        with LZMAFile(file) as content:
            yield content
    else:
        import pyarrow as pa

        with pa.CompressedInputStream(file, CODECS[packing]) as content:
            yield content


def _member_name(url: str) -> str:
    with opened(url) as file:
        try:
            with ZipFile(file) as archive:
                return _member(url, archive).filename
        except BadZipFile as error:
            raise OSError(f"{url} cannot be read as a zip archive: {error}. Is it whole?") from error


def _member(url: str, archive: ZipFile) -> ZipInfo:
    """The only file of an archive, apart from what systems leave there for themselves."""
    found = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not any(part[0] in "._" for part in Path(member.filename).parts)
    ]
    if len(found) != 1:
        names = ", ".join(member.filename for member in found[:LISTED]) + (", ..." if len(found) > LISTED else "")
        listed = f" ({names})" if found else ""
        raise ValueError(
            f"{url} holds {len(found)} files{listed}; expected one. Unpack it into a folder and name the folder."
        )
    if found[0].flag_bits & 1:
        raise OSError(f"{url} is encrypted. Unpack it first.")
    return found[0]
