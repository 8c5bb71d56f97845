"""The dialect of a CSV file, found from its beginning: delimiter, decimal sign, thousands and encoding.

Decimal signs are a matter of the whole file: "1.234" alone may be either, and the other columns tell which it is. They
are decided here, in :func:`find_numbers`, where all columns are seen, and in two other places: ``cli/_tables.py`` gives
a file that does not tell what the others of a command have in common, and ``tables/written_numbers.py`` decides for
columns that stay text, such as prices with their currency.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import zip_longest
from typing import Any

from skewridge._validation import check_choice
from skewridge.io.streams import LATIN, SPOKEN, UTF8, damaged_byte, decoded, kind_of, read_bytes

SAMPLE_BYTES = 1 << 18  # of a file's beginning
NAMED_DELIMITER = re.compile(r"sep=([^\w\"\r\n])\r?\n", re.IGNORECASE)  # a line that spreadsheets write
NAMELESS = "\0"  # starts what no column is called
NULLS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
    *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
GAPS = frozenset(NULLS)
SPACE = " "
DELIMITERS = (",", "\t", ";", "|")
NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "pipe", " ": "spaces", ".": "point", "'": "apostrophe"}
SCORED_ROWS = 300  # by which delimiters that cut all rows alike are compared
MOSTLY = 0.8  # of the values of a column are numbers, or it says nothing about decimal signs
_ZEROS = 0.7  # of every other byte of a text in UTF-16 without a mark
_SQUEEZED = re.compile(rb'(?m)("[^"]*(?:""[^"]*)*")|^ +| +(?=[\r\n]|\Z)|( ) *')

SPACES = " '\u00a0\u202f_"  # between thousands, whatever the decimal sign
DECIMALS = (".", ",")
SIGNS = frozenset((*DECIMALS, *SPACES))  # in numbers, besides digits
OTHER = {".": ",", ",": "."}  # the sign that may stand between thousands
OTHERWISE = "If that is wrong, add --decimal {0!r}, in Python decimal={0!r}."
FORMS = {
    decimal: rf"[+-]?(([1-9]\d{{0,2}}([{other}{SPACES}]\d{{3}})+|\d+)(\{decimal}\d*)?|\{decimal}\d+)([eE][+-]?\d+)?"
    for decimal, other in OTHER.items()
}
_PATTERNS = {decimal: re.compile(form, re.ASCII) for decimal, form in FORMS.items()}


@dataclass(frozen=True)
class ReadOptions:
    """What is said about files: delimiter, decimal sign and encoding of CSV, sheet of Excel; None is found.

    Examples
    --------
    >>> ReadOptions(decimal=";")
    Traceback (most recent call last):
    ValueError: decimal must be one of '.', ','; got ';'.
    >>> ReadOptions(encoding="Latin1").encoding
    'iso8859-1'
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        sign = self.delimiter
        if sign is not None and (not isinstance(sign, str) or len(sign.encode()) != 1 or sign in '"\r\n'):
            raise ValueError(f"delimiter must be one character, as in ';'; got {sign!r}.")
        if self.decimal is not None:
            check_choice("decimal", self.decimal, DECIMALS)
            if self.decimal == self.delimiter:
                raise ValueError(f"delimiter and decimal must differ; both are {self.decimal!r}.")
        if self.encoding is not None:
            try:
                found = codecs.lookup(self.encoding).name
                b"a".decode(found, "replace")
            except (LookupError, TypeError, ValueError):
                raise ValueError(
                    f"encoding must be one that Python knows, as 'cp1252'; got {self.encoding!r}."
                ) from None
            object.__setattr__(self, "encoding", UTF8 if found in ("utf-8-sig", "ascii") else found)


FOUND = ReadOptions()  # everything is found


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is cut into columns, and its numbers are written."""

    header: tuple[str, ...]  # all columns in order; those without a name have one that no other can have
    delimiter: str  # a space stands for any number of them
    decimal: str = "."
    thousands: str = ""  # what was found between thousands; "" for nothing
    encoding: str = UTF8
    settled: bool = True  # False where numbers such as "1.234", or none, leave the decimal sign open
    said: str = ""  # what was found and differs from a plain file, in words
    doubt: str = ""  # what may be wrong, and what to do then

    @property
    def names(self) -> list[str]:
        """The columns that have a name."""
        return [name for name in self.header if not name.startswith(NAMELESS)]


def find_dialect(url: str, options: ReadOptions = FOUND) -> Dialect:
    """What is found from the beginning of a file, its header aside; what was said is not looked for."""
    sample = read_bytes(url, 0, SAMPLE_BYTES)
    cut = len(sample) == SAMPLE_BYTES
    encoding = options.encoding or find_encoding(sample, cut)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(sample).removeprefix("\ufeff")
    usual = "\t" if kind_of(url) == ".tsv" else ","
    named = NAMED_DELIMITER.match(text)
    text = text[named.end() :] if named else text
    delimiter = options.delimiter or (named[1] if named else find_delimiter(text, usual, cut))
    found = find_numbers(cut_rows(text, delimiter, cut), delimiter, options.decimal)
    said = []
    if delimiter != usual and options.delimiter is None:
        said.append(NAMES.get(delimiter, repr(delimiter)))
    if found.decimal == "," and options.decimal is None:
        said.append("decimal comma")
    if found.thousands not in ("", "_"):
        said.append(f"thousands {NAMES.get(found.thousands, 'space').removesuffix('s')}")
    if encoding != UTF8 and options.encoding is None:
        said.append(SPOKEN.get(encoding, encoding))
    return replace(found, encoding=encoding, said=", ".join(said))


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


def squeezed(content: bytes) -> bytes:
    """Bytes with one space between columns, and none around rows."""
    return _SQUEEZED.sub(rb"\1\2", content)


def cut_rows(text: str, delimiter: str, cut: bool = False) -> list[list[str]]:
    """The rows of a text, without empty ones; the last is left out where the text is ``cut`` there."""
    if delimiter == SPACE:
        text = squeezed(text.encode(UTF8, "surrogatepass")).decode(UTF8, "surrogatepass")
    try:
        rows = [row for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error:
        return []
    return rows[:-1] if cut and len(rows) > 1 else rows


def find_delimiter(text: str, usual: str, cut: bool = False) -> str:
    r"""The delimiter by which all rows have as many fields as the header, and most of them are numbers.

    The usual one is taken where it does as well as others, and where none does; spaces where nothing else is there.

    Examples
    --------
    >>> find_delimiter("a;b, c\n1,5;2\n3,5;4\n", ",")
    ';'
    """
    tried = {d: cut_rows(text, d, cut) for d in dict.fromkeys((usual, *DELIMITERS))}
    splits = {d: rows for d, rows in tried.items() if rows and len(rows[0]) > 1}
    even = {d: rows for d, rows in splits.items() if _evenness(rows) == 1.0}
    if even:
        by_header = max(map(len, even.values())) == 1
        return max(even, key=lambda d: len(even[d][0]) if by_header else _share_of_numbers(even[d]))
    if usual in splits:
        return usual
    if splits:
        best = max(splits, key=lambda d: _evenness(splits[d]))
        return best if _evenness(splits[best]) >= 0.5 else usual
    spaced = cut_rows(text, SPACE, cut)
    is_table = len(spaced) > 1 and len(spaced[0]) > 1 and _evenness(spaced) == 1.0
    return SPACE if is_table and _share_of_numbers(spaced) >= 0.5 else usual


def _evenness(rows: Sequence[Sequence[str]]) -> float:
    """The share of rows that have as many fields as the header."""
    return sum(len(row) == len(rows[0]) for row in rows[1:]) / (len(rows) - 1) if len(rows) > 1 else 1.0


def _share_of_numbers(rows: Sequence[Sequence[str]]) -> float:
    cells = [cell.strip() for row in rows[1 : SCORED_ROWS + 1] for cell in row if cell.strip() not in GAPS]
    return sum(is_number(cell, ".") or is_number(cell, ",") for cell in cells) / max(len(cells), 1)


def find_numbers(rows: Sequence[Sequence[str]], delimiter: str, decimal: str | None = None) -> Dialect:
    """How the numbers under a header are written; a decimal point where columns do not tell, or contradict each other.

    Examples
    --------
    >>> found = find_numbers([["a", "b"], ["1.234", "0,5"]], ";")
    >>> found.decimal, found.thousands, found.settled
    (',', '.', True)
    """
    signed = []  # a column's name, and each of its numbers that have a sign in them
    for name, cells in zip(rows[0] if rows else (), zip_longest(*rows[1:], fillvalue=""), strict=False):
        texts = Counter(cell.strip() for cell in cells if cell.strip() not in GAPS)
        numbers = [text for text in texts if is_number(text, ".") or is_number(text, ",")]
        if sum(texts[text] for text in numbers) >= MOSTLY * sum(texts.values()):
            signed += [(name, text) for text in numbers if not SIGNS.isdisjoint(text)]
    doubt, settled = "", True
    if decimal is None:
        only = {
            sign: [(name, text) for name, text in signed if is_number(text, sign) and not is_number(text, OTHER[sign])]
            for sign in DECIMALS
        }
        if only["."] and only[","]:
            both = " and ".join(f"{name!r} holds {text!r}" for name, text in (only[","][0], only["."][0]))
            doubt = f"{both}: the decimal sign is taken for a point. {OTHERWISE.format(',')}"
            return Dialect((), delimiter, doubt=doubt)
        decimal = "," if only[","] else "."
        settled = bool(only["."] or only[","])
    if not settled:  # "1,234" alone is a decimal between semicolons, else a thousand
        commas = [(name, text) for name, text in signed if "," in text]
        points = [(name, text) for name, text in signed if "." in text]
        european = delimiter == ";"
        decimal = "," if commas and european else "."
        if commas or (points and european):
            name, text = (commas or points)[0]
            value = float(plain_number(text, decimal))
            doubt = f"{name!r} holds {text!r}, read as {value:.12g}. {OTHERWISE.format(OTHER[decimal])}"
    signs = OTHER[decimal] + SPACES
    between = (sign for _, text in signed if is_number(text, decimal) for sign in text if sign in signs)
    return Dialect((), delimiter, decimal, next(between, ""), settled=settled, doubt=doubt)


def is_number(text: str, decimal: str) -> bool:
    """Whether a text is a number under a decimal sign.

    Examples
    --------
    >>> [is_number(text, ",") for text in ("1.234,5", "1,5", "1.5", "0,123", "12 500", "x")]
    [True, True, False, True, True, False]
    """
    return _PATTERNS[decimal].fullmatch(text) is not None


def plain_number(text: str, decimal: str) -> str:
    """A number as computers write it.

    Examples
    --------
    >>> plain_number("1.234,5", ",")
    '1234.5'
    """
    return re.sub(rf"[{SPACES}{OTHER[decimal]}]", "", text).replace(",", ".")


def plain_numbers(texts: Any, decimal: str) -> Any:
    """The same of all texts of a column of pyarrow that are numbers; others stay as they are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_numbers(pa.array(["1.234,5", "unknown", "0,5"]), ",").to_pylist()
    ['1234.5', 'unknown', '0.5']
    """
    import pyarrow.compute as pc

    plain = pc.replace_substring_regex(texts, f"[{SPACES}{OTHER[decimal]}]", "")
    return pc.if_else(are_numbers(texts, decimal), pc.replace_substring(plain, ",", "."), texts)


def are_numbers(texts: Any, decimal: str) -> Any:
    """Which texts of a column of pyarrow are numbers under a decimal sign."""
    import pyarrow.compute as pc

    return pc.match_substring_regex(texts, f"^({FORMS[decimal]})$")
