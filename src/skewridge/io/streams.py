"""Files as streams of bytes: opened here or where fsspec finds them, unpacked, text as UTF-8; standard input."""

from __future__ import annotations

import codecs
import csv
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from skewridge._messages import listed
from skewridge.execution.memory import MACHINE

UTF8, UTF8_MARK = "utf-8", codecs.BOM_UTF8
LATIN = "cp1252"  # latin-1 as it is found in files: with the euro sign and quotes that cp1252 adds
SPOKEN = {LATIN: "latin-1", "utf-16-le": "utf-16", "utf-16-be": "utf-16"}
NAMED = "name the encoding by --encoding, in Python encoding=."

ZIP = ".zip"
PACKED = (".gz", ".bz2", ".xz", ".zst", ZIP)
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # pyarrow's names
SKIPPED_BYTES = 1 << 20  # read at a time where a file cannot be entered in the middle
TEXTS = ("CSV", "JSON lines")  # formats that are read from packed files, and whose errors are of values
MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ZIP,
}
WORKBOOK = "xl/workbook.xml"  # in the archive that an Excel file is
TEXT = 0.5  # of the memory, for the text of a table; the rest is for what becomes of it


# Names and errors


def kind_of(name: str) -> str:
    """The ending that tells what a file holds, such as ".csv" of rows.csv.gz.

    Examples
    --------
    >>> kind_of("rows.CSV.gz"), kind_of("rows.pq"), kind_of("rows")
    ('.csv', '.pq', '')
    """
    path = Path(name)
    return Path(path.stem if packing_of(name) else path.name).suffix.lower()


def packing_of(name: str) -> str:
    """The ending of a packed file; empty for others."""
    suffix = Path(name).suffix.lower()
    return suffix if suffix in PACKED else ""


@contextmanager
def reading(place: str, form: str, remedy: str = "Is it whole?") -> Iterator[None]:
    """Put a file, or a place in it, into the error of whatever cannot be read: ValueError for texts, else OSError."""
    import pyarrow as pa

    try:
        yield
    except (ImportError, MemoryError, Warning):
        raise
    except Exception as error:  # archives, XML, pyarrow and openpyxl have no error in common
        if isinstance(error, OSError) and error.filename == place:
            raise
        if isinstance(error, ValueError | csv.Error) and (form in TEXTS or not isinstance(error, pa.ArrowException)):
            raise ValueError(f"{place} cannot be read as {form}: {error}") from error
        what = f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}."
        raise OSError(f"{place} cannot be read as {form}: {what} {remedy}") from error


def require_table(url: str, n_bytes: float) -> None:
    """Refuse a table that is read as a whole and has more bytes than there is memory."""
    replace(MACHINE, share=TEXT).require(
        n_bytes,
        f"{url} is read as a whole, which needs at least {{need}},",
        "Take fewer rows, or --estimator adaptive with columns of numbers only, in Python AdaptiveKernelRidge and "
        "fit_source, which read files in pieces.",
    )


# Opening and unpacking


def opened(url: str, native: bool = False) -> Any:
    """The file as it is, for reading; as pyarrow reads it fastest, or as Python does."""
    if "://" not in url:
        import pyarrow as pa

        return pa.OSFile(url, "rb") if native else open(url, "rb")
    import fsspec

    return fsspec.open(url, "rb").open()


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


def read_bytes(url: str, start: int, stop: int, encoding: str = UTF8) -> bytes:
    """The bytes of a range; fewer where the file is shorter."""
    found = b""
    with unpacked(url, start, encoding) as file:
        while more := file.read(stop - start - len(found)):
            found += more
    return found


@contextmanager
def unpacking(url: str, file: Any, packing: str) -> Iterator[Any]:
    """The content of an open file that is packed in some way, or in none."""
    if not packing:
        yield file
    elif packing == ZIP:
        with ZipFile(file) as archive, archive.open(_only_member(url, archive)) as content:
            yield content
    elif packing == ".xz":
        from lzma import LZMAFile

        with LZMAFile(file) as content:
            yield content
    else:
        import pyarrow as pa

        with pa.CompressedInputStream(file, CODECS[packing]) as content:
            yield content


def member_name(url: str) -> str:
    """The name of the only file in a zip archive."""
    with opened(url) as file, reading(url, "a zip archive"):
        archive = ZipFile(file)
    return _only_member(url, archive).filename


def _only_member(url: str, archive: ZipFile) -> ZipInfo:
    """The only file of an archive, apart from what systems leave there for themselves."""
    found = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not any(part[0] in "._" for part in Path(member.filename).parts)
    ]
    if len(found) != 1:
        names = f" ({listed((own.filename for own in found), len(found), ', ...', most=3)})" if found else ""
        raise ValueError(
            f"{url} holds {len(found)} files{names}; expected one. Unpack it into a folder and name the folder."
        )
    if found[0].flag_bits & 1:
        raise OSError(f"{url} is encrypted. Unpack it first.")
    return found[0]


@contextmanager
def copied(stream: IO[bytes]) -> Iterator[str]:
    """Copy what comes to a file whose ending tells what it is by its first bytes; it is removed at the end."""
    with TemporaryDirectory(prefix="skewridge-") as folder:
        path = Path(folder, "input")
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        yield str(path.rename(f"{path}{_ending(path)}"))


def _ending(path: Path) -> str:
    """The ending that a file should have, by its content; a damaged one is refused when it is read."""
    with path.open("rb") as file:
        first = file.read(64)
        outer = next((ending for magic, ending in MAGIC.items() if first.startswith(magic)), "")
        if outer and outer not in PACKED:
            return outer
        if outer == ZIP:
            with suppress(BadZipFile), ZipFile(file) as archive:
                return ".xlsx" if WORKBOOK in archive.namelist() else ".csv.zip"
        elif outer:
            file.seek(0)
            with suppress(OSError, EOFError), unpacking("", file, outer) as content:
                first = content.read(64)
    has_object = first.removeprefix(UTF8_MARK).lstrip().startswith(b"{")
    return (".jsonl" if has_object else ".csv") + outer


# Decoding


def decoded(content: bytes, encoding: str) -> str:
    """The text that bytes of whole characters stand for."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(damaged_byte(content, error.start, encoding)) from None


def damaged_byte(content: bytes, place: int, encoding: str) -> str:
    """Which byte is none of an encoding, and what to do."""
    around = content[max(place - 20, 0) : place + 10]
    spoken = SPOKEN.get(encoding, encoding)
    return f"byte 0x{content[place]:02x} in {around!r} is not {spoken}. Correct it, or {NAMED}"


@cache
def is_stepwise(encoding: str) -> bool:
    """Whether every byte is a character of its own and ASCII as ever: such files can be cut anywhere.

    Examples
    --------
    >>> is_stepwise("cp1252"), is_stepwise("utf-8"), is_stepwise("utf-16"), is_stepwise("shift_jis")
    (True, False, False, False)
    """
    decoder = codecs.getincrementaldecoder(encoding)
    found = [decoder("replace").decode(bytes([byte])) for byte in range(256)]  # nothing where more bytes must follow
    return all(found) and "".join(found[:128]) == bytes(range(128)).decode("ascii")


class Transcoded:
    """A stream of bytes in UTF-8, made from one in another encoding."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream, self._encoding = stream, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._ended = False

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        while len(self._ready) < size and not self._ended:
            raw = self._stream.read(size)
            self._ended = not raw
            try:
                self._ready += self._decoder.decode(raw, self._ended).encode(UTF8, "surrogatepass")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"the file is damaged, or not {self._encoding}: {error.reason}. Restore it, or {NAMED}"
                ) from None
        given, self._ready = self._ready[:size], self._ready[size:]
        return given
