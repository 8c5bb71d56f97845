"""Stamps of files, by which a change between two passes over their rows is noticed."""

from __future__ import annotations

import os

from skewridge._typing import FloatArray
from skewridge.execution.chunked import digest


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


def check_stamp(place: str, url: str, stamp: str) -> None:
    """Refuse a file that has another size or time than when it was opened."""
    try:
        found = file_stamp(url)
    except FileNotFoundError as error:
        raise OSError(f"{place}: the file is gone since it was opened. Restore it and run again.") from error
    if found != stamp:
        raise OSError(
            f"{place} has another size or time than when it was opened ({found} and {stamp}: bytes and time). Do not "
            "change files while they are read; run again. Copies on several machines need the same times (cp -p)."
        )


def check_content(place: str, rows: FloatArray, content: str) -> None:
    """Refuse rows that are not those of the first pass."""
    if content and digest(rows) != content:
        raise OSError(
            f"{place} holds other rows than when it was opened. Do not change what is read during a fit; run again."
        )
