"""A table from standard input: copied to a file that is gone when it has been read, so that it can be read twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO
from zipfile import BadZipFile, ZipFile

from skewridge.io.opening import unpacking

MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ".zip",
}
WORKBOOK = "xl/workbook.xml"


@contextmanager
def copied(stream: IO[bytes]) -> Iterator[str]:
    """Copy what comes to a file whose ending tells what it is by its first bytes; it is removed at the end."""
    with TemporaryDirectory(prefix="skewridge-") as folder:
        path = Path(folder, "input")
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        yield str(path.rename(f"{path}{_ending(path)}"))


def _ending(path: Path) -> str:
    """The ending that a file should have, by its content."""
    with path.open("rb") as file:
        outer = _by_magic(file.read(8))
    if outer == ".zip":
        with suppress(BadZipFile), ZipFile(path) as archive:
            return ".xlsx" if WORKBOOK in archive.namelist() else ".csv.zip"
    if outer in (".gz", ".bz2", ".xz", ".zst"):
        with suppress(OSError, EOFError), path.open("rb") as file, unpacking("", file, outer) as content:
            return _text_ending(content.read(64)) + outer
        return f".csv{outer}"  # damaged, which is told when it is read
    if outer:
        return outer
    with path.open("rb") as file:
        return _text_ending(file.read(64))


def _by_magic(first: bytes) -> str:
    return next((ending for magic, ending in MAGIC.items() if first.startswith(magic)), "")


def _text_ending(first: bytes) -> str:
    """JSON lines begin with an object; anything else is CSV."""
    return ".jsonl" if first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else ".csv"
