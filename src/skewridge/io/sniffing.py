"""The dialect of a CSV file from its first bytes; what was said about it is not looked for."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from dataclasses import replace
from typing import Any

from skewridge.io.dialects import Dialect, cut_rows, find_delimiter, find_numbers, in_words
from skewridge.io.encodings import UTF8, find_encoding
from skewridge.io.listing import kind_of
from skewridge.io.opening import unpacked
from skewridge.io.options import FOUND, ReadOptions

SAMPLE_BYTES = 1 << 18  # of a file's beginning
NAMED_DELIMITER = re.compile(r"sep=([^\w\"\r\n])\r?\n", re.IGNORECASE)  # a line that spreadsheets write


def find_dialect(url: str, options: ReadOptions = FOUND) -> tuple[Dialect, str]:
    """What is found from the beginning of a file, its header aside, and what is in doubt about it."""
    with unpacked(url) as file:
        sample = _first_bytes(file)
    cut = len(sample) == SAMPLE_BYTES
    encoding = options.encoding or find_encoding(sample, cut)
    usual = "\t" if kind_of(url) == ".tsv" else ","
    text = getincrementaldecoder(encoding)("replace").decode(sample).removeprefix("\ufeff")
    named = NAMED_DELIMITER.match(text)
    text = text[named.end() :] if named else text
    delimiter = options.delimiter or (named[1] if named else find_delimiter(text, usual, cut))
    numbers = find_numbers(cut_rows(text, delimiter, cut), delimiter, options.decimal)
    said = in_words(
        usual if options.delimiter else delimiter,
        replace(numbers, decimal=".") if options.decimal else numbers,
        UTF8 if options.encoding else encoding,
        usual,
    )
    return Dialect((), delimiter, numbers.decimal, numbers.thousands, encoding, numbers.settled, said), numbers.doubt


def _first_bytes(file: Any) -> bytes:
    sample = b""
    while len(sample) < SAMPLE_BYTES and (more := file.read(SAMPLE_BYTES - len(sample))):
        sample += more
    return sample
