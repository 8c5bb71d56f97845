"""The files that a name, a folder, a glob or a URL means; one that cannot be read is an error with its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import glob, has_magic
from pathlib import Path

CSV = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
FORMATS = {
    **dict.fromkeys(CSV, "CSV"),
    **dict.fromkeys(PARQUET, "Parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "Arrow"),
    **dict.fromkeys((".jsonl", ".ndjson"), "JSON lines"),
    **dict.fromkeys((".xlsx", ".xlsm"), "Excel"),
}
ZIP = ".zip"
PACKED = (".gz", ".bz2", ".xz", ".zst", ZIP)
TEXT = ".txt"  # a table where it is named, and notes for people where it stands in a folder


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


def list_files(source: str | os.PathLike[str]) -> list[str]:
    """The tables that a path, folder, glob or URL means, in the order of their names."""
    text = os.fspath(source).removeprefix("file://")
    found = _listed_there(text) if "://" in text else _listed_here(text)
    urls = sorted(url for url in found if _is_table(url))
    if not urls:
        wrong = f"{text} names no table" if found else f"There is no file {text}"
        raise FileNotFoundError(
            f"{wrong}. Pass a file ({', '.join(FORMATS)}; CSV and JSON lines also packed: {', '.join(PACKED)}), a "
            "folder, a glob or a URL."
        )
    return urls


def _is_table(name: str) -> bool:
    return (kind_of(name) in FORMATS or packing_of(name) == ZIP) and Path(name).name[0] not in "._"


def _listed_here(text: str) -> list[str]:
    matches = glob(text, recursive=True) if has_magic(text) and not os.path.lexists(text) else [text]
    found: dict[str, None] = {}
    for match in filter(os.path.lexists, matches):
        inside = _walked(match, ()) if os.path.isdir(match) else [_checked(match)]
        found.update(dict.fromkeys(map(os.path.normpath, inside)))
    return list(found)


def _walked(folder: str, above: tuple[str, ...]) -> Iterator[str]:
    """The tables in a folder and below, links followed."""
    real = os.path.realpath(folder)
    if real in above:
        raise OSError(f"{folder} is a link to a folder that it is in. Remove it, or name the files by a glob.")
    with os.scandir(folder) as entries:
        listed = [(entry.path, entry.is_dir()) for entry in entries]
    for path, is_folder in listed:
        if is_folder:
            yield from _walked(path, (*above, real))
        elif kind_of(path) != TEXT:
            yield _checked(path)


def _checked(path: str) -> str:
    """A file's path, or raise where a table, or what may be a folder of them, is not there."""
    matters = _is_table(path) or not Path(path).suffix
    if matters and not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} is a link to {os.path.realpath(path)}, which is not there. Restore it, or remove the link."
        )
    if _is_table(path) and not os.path.isfile(path):
        raise OSError(
            f"{path} is a device or a pipe, which cannot be read more than once: copy it to a file, or "
            "pipe it into the command line and name it -."
        )
    return path


def _listed_there(text: str) -> list[str]:
    from fsspec.core import url_to_fs

    system, path = url_to_fs(text)
    found = system.glob(path) if has_magic(path) else system.find(path)
    return [system.unstrip_protocol(name) for name in found]
