"""Files opened for reading, here or wherever fsspec finds them, and unpacked where they are packed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from skewridge.io.listing import packing_of

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
SKIPPED_BYTES = 1 << 20  # read at a time where a file cannot be entered in the middle


def opened(url: str, native: bool = False) -> Any:
    """The file as it is, for reading; as pyarrow reads it fastest, or as Python does."""
    if "://" not in url:
        import pyarrow as pa

        return pa.OSFile(url, "rb") if native else open(url, "rb")
    import fsspec

    return fsspec.open(url, "rb").open()


@contextmanager
def unpacked(url: str, start: int = 0) -> Iterator[Any]:
    """The content of a file from one of its bytes on; a packed file is unpacked up to there."""
    packing = packing_of(url)
    with opened(url) as file:
        if not packing:
            file.seek(start)
            yield file
            return
        with _unpacking(file, packing) as content:
            while start:
                start -= len(content.read(min(start, SKIPPED_BYTES))) or start
            yield content


def _unpacking(file: Any, packing: str) -> Any:
    if packing == ".xz":
        from lzma import LZMAFile

        return LZMAFile(file)
    import pyarrow as pa

    return pa.CompressedInputStream(file, CODECS[packing])
