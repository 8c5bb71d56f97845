"""The encoding of text files: found from their first bytes, and turned into UTF-8."""

from __future__ import annotations

import codecs
from functools import cache
from typing import Any

UTF8 = "utf-8"
LATIN = "cp1252"  # latin-1 as it is found in files: with the euro sign and quotes that cp1252 adds
SPOKEN = {LATIN: "latin-1", "utf-16-le": "utf-16", "utf-16-be": "utf-16"}
UTF8_MARK = codecs.BOM_UTF8
NAMED = "name the encoding by --encoding, in Python encoding=."
_ZEROS = 0.7  # of every other byte of a text in UTF-16 without a mark


def check_encoding(name: str) -> str:
    """Python's name of an encoding, or raise where there is none.

    Examples
    --------
    >>> check_encoding("UTF8"), check_encoding("Latin1")
    ('utf-8', 'iso8859-1')
    """
    try:
        found = codecs.lookup(name).name
        b"a".decode(found, "replace")
    except (LookupError, TypeError, ValueError):
        raise ValueError(f"encoding must be one that Python knows, as 'cp1252'; got {name!r}.") from None
    return UTF8 if found in ("utf-8-sig", "ascii") else found


def find_encoding(sample: bytes, cut: bool) -> str:
    """The encoding of a text by its first bytes, which may end within a character where they are ``cut``.

    Bytes that are not UTF-8 are taken for latin-1 where there is little sign of UTF-8, and refused otherwise: one
    damaged byte does not change how all others are read.
    """
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zeros = [sample[i::2].count(0) / max(len(sample) // 2, 1) for i in (0, 1)]
    if max(zeros) > _ZEROS and min(zeros) < 1 - _ZEROS:
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    try:
        codecs.getincrementaldecoder(UTF8)().decode(sample, not cut)
    except UnicodeDecodeError as error:
        read = sample.decode(UTF8, "replace")
        damaged = read.count("\ufffd")
        if b"\0" in sample or sum(ord(c) > 127 for c in read) - damaged > damaged:
            raise ValueError(damaged_byte(sample, error.start, UTF8)) from None
        decoded(sample, LATIN)
        return LATIN
    return UTF8


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
