"""Rows of files: which files a name means, their rows in chunks that are refused once they changed, whole tables.

A chunk is a recipe, a few words long: any machine that sees the file can read it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.execution.chunked import digest
from skewridge.io.csv import check_names
from skewridge.io.csv_dialect import FOUND, ReadOptions
from skewridge.io.formats import READERS, Types, index_columns, reader_of
from skewridge.io.streams import PACKED, TEXTS, ZIP, kind_of, packing_of, reading

NEAR_BYTES = 64e6  # of chunks that stay in memory once they were read; the last one always does
NOTES = ".txt"  # a table where it is named, and notes for people where it stands in a folder


# Which files


def list_files(source: str | os.PathLike[str]) -> list[str]:
    """The tables that a path, folder, glob or URL means, in the order of their names."""
    text = os.fspath(source).removeprefix("file://")
    if "://" in text:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(text)
        names = system.glob(path) if has_magic(path) else system.find(path)
        found = [system.unstrip_protocol(name) for name in names]
    else:
        found = []
        for match in glob(text, recursive=True) if has_magic(text) and not os.path.lexists(text) else [text]:
            if os.path.isdir(match):
                found += _walked(match, ())
            elif os.path.lexists(match):
                found.append(_checked(match))
        found = list(dict.fromkeys(map(os.path.normpath, found)))
    urls = sorted(url for url in found if _is_table(url))
    if not urls:
        wrong = f"{text} names no table" if found else f"There is no file {text}"
        raise FileNotFoundError(
            f"{wrong}. Pass a file ({', '.join(READERS)}; CSV and JSON lines also packed: {', '.join(PACKED)}), a "
            "folder, a glob or a URL."
        )
    return urls


def _is_table(name: str) -> bool:
    return (kind_of(name) in READERS or packing_of(name) == ZIP) and Path(name).name[0] not in "._"


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
        elif kind_of(path) != NOTES:
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


# Stamps, by which a change between two passes over rows is noticed


def file_stamp(url: str) -> str:
    """Size and time of a file, or the tag of what a URL names."""
    if "://" not in url:
        found = os.stat(url)
        return f"{found.st_size}-{found.st_mtime_ns}"
    from fsspec.core import url_to_fs

    system, path = url_to_fs(url)
    info = system.info(path)
    times = [str(info[key]) for key in ("ETag", "LastModified", "mtime", "created") if key in info]
    return "-".join([str(info.get("size")), *times[:1]])


def check_content(place: str, rows: FloatArray, content: str) -> None:
    """Refuse rows that are not those of the first pass."""
    if content and digest(rows) != content:
        raise OSError(
            f"{place} holds other rows than when it was opened. Do not change what is read during a fit; run again."
        )


# Chunks


@dataclass(frozen=True)
class FileChunk:
    """Some columns of some rows of a file, which was as its stamp says when it was opened."""

    url: str  # or path
    kind: str  # the ending that tells its reader
    start: int  # row group or record batch and the next one (Parquet, Arrow), or first and last byte (CSV, JSON lines)
    stop: int
    n_rows: int
    first: int  # rows of the file before the chunk
    stamp: str  # size and time of the file
    how: Any = None  # what the reader needs besides: the dialect of CSV, the sheet of Excel
    columns: tuple[str, ...] = ()  # what is read, in order
    content: str = ""  # digest of the rows, where they are read more than once

    @property
    def handle(self) -> FileChunk:
        """The chunk itself: a worker reads the file."""
        return self

    @property
    def identity(self) -> str:
        """File, place and stamps."""
        return f"{self.url}:{self.start}:{self.stop}:{self.stamp}:{self.content}"

    def __str__(self) -> str:
        reader = READERS[self.kind]
        if reader.group:
            return f"{reader.group} {self.start} of {self.url}"
        return f"bytes {self.start:,} to {self.stop:,} of {self.url}" if reader.name in TEXTS else self.url

    def where(self, row: int) -> str:
        """Where one of the rows stands, for people: in its group where there are such, else from the header."""
        in_group = bool(READERS[self.kind].group)
        return f"row {row:,} of {self}" if in_group else f"row {self.first + row:,} of {self.url}"

    def stamped(self) -> FileChunk:
        """The chunk with the digest of its rows, which every further reading is compared with."""
        return replace(self, content=digest(self._decoded()))

    def read(self) -> FloatArray:
        """The rows, (n, d), of a file that has not changed; nulls are nan."""
        with _LOCK:
            near = _NEAR.get(self)
            if near is not None:
                _NEAR.move_to_end(self)
        if near is not None:
            self._check_stamp()
            return near
        rows = self._decoded()
        rows.flags.writeable = False  # others may be given the same rows
        with _LOCK:
            _NEAR[self] = rows
            while len(_NEAR) > 1 and sum(near.nbytes for near in _NEAR.values()) > NEAR_BYTES:
                _NEAR.popitem(last=False)
        return rows

    def _decoded(self) -> FloatArray:
        import pyarrow as pa

        reader = READERS[self.kind]
        remedy = (
            "The file is damaged, or was changed or removed after it was opened. Restore it and run again; with "
            "checkpoint=, finished work is not redone."
        )
        with reading(str(self), reader.name, remedy):
            table = reader.read(self.url, (self.start, self.stop, self.first), self.how, self.columns)
            rows = np.empty((table.num_rows, len(self.columns)))
            for i, name in enumerate(self.columns):
                rows[:, i] = table.column(name).cast(pa.float64(), safe=False).to_numpy()
        if len(rows) != self.n_rows:
            raise OSError(
                f"{self} holds {len(rows):,} rows and held {self.n_rows:,} when it was opened. Do not change files "
                "while they are read; run again."
            )
        self._check_stamp()
        check_content(str(self), rows, self.content)
        return rows

    def _check_stamp(self) -> None:
        """Refuse a file that has another size or time than when it was opened."""
        try:
            found = file_stamp(self.url)
        except FileNotFoundError as error:
            raise OSError(f"{self}: the file is gone since it was opened. Restore it and run again.") from error
        if found != self.stamp:
            raise OSError(
                f"{self} has another size or time than when it was opened ({found} and {self.stamp}: bytes and time). "
                "Do not change files while they are read; run again. Copies on several machines need the same times "
                "(cp -p)."
            )


_LOCK = threading.Lock()
_NEAR: OrderedDict[FileChunk, FloatArray] = OrderedDict()


# Opening and reading


@dataclass(frozen=True)
class Files:
    """Opened files."""

    types: Types  # numpy's types of all columns; None where one does not hold numbers
    index: frozenset[str]  # columns that hold the index of a pandas frame
    parts: tuple[FileChunk, ...]  # all chunks, without columns

    def chunks(self, columns: Sequence[str]) -> tuple[FileChunk, ...]:
        """The chunks with some of the columns."""
        return tuple(replace(part, columns=tuple(columns)) for part in self.parts)

    def precision(self, columns: Sequence[str]) -> Any:
        """The dtype of an array of these columns: float32 where all fit in it, else float64."""
        common = np.result_type(*(self.types[name] for name in columns))
        return np.float32 if common == np.float32 else np.float64


def open_files(source: str | os.PathLike[str], options: ReadOptions = FOUND) -> Files:
    """Look at a file, a folder, a glob or a URL; nothing is read but footers, and files of text to count their rows."""
    urls = list_files(source)
    readers = [reader_of(url) for url in urls]
    forms = sorted({reader.name for reader in readers})
    if len(forms) > 1:
        raise ValueError(
            f"{os.fspath(source)!r} holds {' and '.join(forms)} files. Name those of one kind, as with a glob."
        )
    common, index, parts = Types(), set[str](), list[FileChunk]()
    for url, reader in zip(urls, readers, strict=True):
        stamp, first = file_stamp(url), 0
        with reading(url, reader.name):
            types, own_index, spans, how = reader.open(url, options)
        differing = sorted(set(types) ^ set(common or types))
        if differing:
            raise ValueError(f"{url} and {urls[0]} have different columns: {differing}. Files of a source share them.")
        for name, kind in types.items():
            known = common.get(name, kind)
            common[name] = None if kind is None or known is None else np.result_type(known, kind)
        for start, stop, n_rows in spans:
            if n_rows:
                parts.append(FileChunk(url, reader.endings[0], start, stop, n_rows, first, stamp, how))
            first += n_rows
        index |= set(own_index)
    if not parts:
        raise ValueError(f"{os.fspath(source)!r} holds no rows.")
    return Files(common, frozenset(index), tuple(parts))


def read_whole(
    url: str,
    texts: Collection[str] = (),
    named: Collection[str] = (),
    options: ReadOptions = FOUND,
    plain: Collection[str] = (),
) -> tuple[Any, str]:
    """A file as a table of pyarrow, and in words how it was read where that was found and is not plain.

    ``texts`` are columns that CSV must not take for numbers: codes keep their leading zeros. ``named`` are columns that
    are read though they are the index of a pandas frame, which is left out otherwise. ``plain`` are texts as well,
    whose numbers have a decimal point.
    """
    reader = reader_of(url)
    with reading(url, reader.name):
        table, said = reader.whole(url, options, texts, plain)
        check_names(table.column_names)
    index = index_columns(table.schema) if reader.group else []
    return table.drop_columns([name for name in index if name not in named]), said
