"""The dialect of a CSV file, found from its beginning: the character between columns, and how numbers are written.

Decimal signs are a matter of the whole file: "1.234" alone may be either, and the other columns tell which it is. They
are settled here, where all columns are seen, and not where one column of texts is taken for numbers.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import zip_longest

from skewridge.io.encodings import SPOKEN, UTF8
from skewridge.io.number_forms import OTHER, SPACES, is_number, plain_number

NAMELESS = "\0"  # starts what no column is called
NULLS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
    *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
SPACE = " "
DELIMITERS = (",", "\t", ";", "|")
NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "pipe", " ": "spaces", ".": "point", "'": "apostrophe"}
SCORED_ROWS = 300  # by which delimiters that cut all rows alike are compared
MOSTLY = 0.8  # of the values of a column are numbers, or it says nothing about decimal signs
_GAPS = frozenset(NULLS)
_SQUEEZED = re.compile(rb'(?m)("[^"]*(?:""[^"]*)*")|^ +| +(?=[\r\n]|\Z)|( ) *')


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is cut into columns, and its numbers are written.

    Attributes
    ----------
    header : all columns in order; those without a name have one that no other can have
    delimiter : the character between columns; a space stands for any number of them
    decimal : "." or ","
    thousands : what was found between thousands; "" for nothing
    encoding : by Python's name
    settled : False where numbers such as "1.234", or none, leave the decimal sign open
    said : what was found and differs from a plain file, in words
    """

    header: tuple[str, ...]
    delimiter: str
    decimal: str = "."
    thousands: str = ""
    encoding: str = UTF8
    settled: bool = True
    said: str = ""

    @property
    def names(self) -> list[str]:
        """The columns that have a name."""
        return [name for name in self.header if not name.startswith(NAMELESS)]

    @property
    def quoted(self) -> re.Pattern[bytes]:
        """Fields in quotes, and the last one, without a group 1, where its quote is left open."""
        before = re.escape(self.delimiter.encode())
        return re.compile(rb'"(?<![^\r\n' + before + rb']")[^"]*(?:""[^"]*)*(?:(")|\Z)')  # the quote first: found fast


@dataclass(frozen=True)
class Numbers:
    """How the numbers of a file are written, and what is in doubt about it."""

    decimal: str = "."
    thousands: str = ""
    doubt: str = ""
    settled: bool = True


def in_words(delimiter: str, numbers: Numbers, encoding: str, usual: str) -> str:
    """What is not as in a plain file.

    Examples
    --------
    >>> in_words(";", Numbers(",", "."), "cp1252", ",")
    'semicolon, decimal comma, thousands point, latin-1'
    """
    parts = [] if delimiter == usual else [NAMES.get(delimiter, repr(delimiter))]
    parts += ["decimal comma"] if numbers.decimal == "," else []
    parts += [f"thousands {NAMES.get(numbers.thousands, 'space')}"] if numbers.thousands.strip("_") else []
    parts += [] if encoding == UTF8 else [SPOKEN.get(encoding, encoding)]
    return ", ".join(parts).replace("thousands spaces", "thousands space")


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
    tried = {d: cut_rows(text, d, cut) for d in (usual, *(d for d in DELIMITERS if d != usual))}
    splits = {d: rows for d, rows in tried.items() if rows and len(rows[0]) > 1}
    even = {d: rows for d, rows in splits.items() if _evenness(rows) == 1.0}
    if even:
        by_header = max(map(len, even.values())) == 1
        return max(even, key=lambda d: len(even[d][0]) if by_header else _share_of_numbers(even[d]))
    if usual in splits:
        return usual
    best = max(splits, key=lambda d: _evenness(splits[d]), default=usual)
    if best in splits:
        return best if _evenness(splits[best]) >= 0.5 else usual
    spaced = cut_rows(text, SPACE, cut)
    is_table = len(spaced) > 1 and len(spaced[0]) > 1 and _evenness(spaced) == 1.0
    return SPACE if is_table and _share_of_numbers(spaced) >= 0.5 else usual


def find_numbers(rows: Sequence[Sequence[str]], delimiter: str, decimal: str | None = None) -> Numbers:
    """How the numbers under a header are written; a decimal point where columns do not tell, or contradict each other.

    Examples
    --------
    >>> find_numbers([["a", "b"], ["1.234", "0,5"]], ";")
    Numbers(decimal=',', thousands='.', doubt='', settled=True)
    """
    columns = zip_longest(*rows[1:], fillvalue="")
    telling = [(name, _telling(cells)) for name, cells in zip(rows[0] if rows else (), columns, strict=False)]
    if decimal is not None:
        return Numbers(decimal, _thousands(telling, decimal))
    votes = {sign: [(name, text) for name, texts in telling for text in texts if _only(text, sign)] for sign in OTHER}
    if votes[","] and votes["."]:
        both = " and ".join(f"{name!r} holds {text!r}" for name, text in (votes[","][0], votes["."][0]))
        return Numbers(doubt=f"{both}: the decimal sign is taken for a point. {_otherwise(',')}")
    if votes[","]:
        return Numbers(",", _thousands(telling, ","))
    if votes["."]:
        return Numbers(".", _thousands(telling, "."))
    return _in_doubt(telling, delimiter)


def _evenness(rows: Sequence[Sequence[str]]) -> float:
    """The share of rows that have as many fields as the header."""
    return sum(len(row) == len(rows[0]) for row in rows[1:]) / max(len(rows) - 1, 1) if len(rows) > 1 else 1.0


def _share_of_numbers(rows: Sequence[Sequence[str]]) -> float:
    cells = [cell.strip() for row in rows[1 : SCORED_ROWS + 1] for cell in row if cell.strip() not in _GAPS]
    return sum(is_number(cell, ".") or is_number(cell, ",") for cell in cells) / max(len(cells), 1)


def _telling(cells: Sequence[str]) -> list[str]:
    """The numbers of a column that have a sign in them; none where it is no column of numbers."""
    texts = Counter(cell.strip() for cell in cells if cell.strip() not in _GAPS)
    signs = set(OTHER) | set(SPACES)
    if not any(signs & set(text) for text in texts):
        return []
    numbers = [text for text in texts if is_number(text, ".") or is_number(text, ",")]
    n_rows = sum(texts[text] for text in numbers)
    return [text for text in numbers if signs & set(text)] if n_rows >= MOSTLY * sum(texts.values()) else []


def _only(text: str, sign: str) -> bool:
    """Whether a text is a number with one decimal sign and none with the other."""
    return is_number(text, sign) and not is_number(text, OTHER[sign])


def _thousands(telling: Sequence[tuple[str, list[str]]], decimal: str) -> str:
    """What stands between thousands in the first number that has such a sign."""
    signs = OTHER[decimal] + SPACES
    found = (c for _, texts in telling for text in texts if is_number(text, decimal) for c in text if c in signs)
    return next(found, "")


def _in_doubt(telling: Sequence[tuple[str, list[str]]], delimiter: str) -> Numbers:
    """What is made of numbers such as "1,234" alone: a decimal comma between semicolons, else thousands."""
    found = {sign: [(name, t) for name, texts in telling for t in texts if sign in t] for sign in OTHER}
    european = delimiter == ";"
    if found[","]:
        decimal = "," if european else "."
    elif found["."]:
        decimal = "."
    else:
        return Numbers(thousands=_thousands(telling, "."), settled=False)
    told = found[","] or found["."]
    doubt = _doubt(*told[0], decimal) if found[","] or european else ""
    return Numbers(decimal, _thousands(telling, decimal), doubt, settled=False)


def _doubt(name: str, text: str, decimal: str) -> str:
    return f"{name!r} holds {text!r}, read as {float(plain_number(text, decimal)):.12g}. {_otherwise(OTHER[decimal])}"


def _otherwise(decimal: str) -> str:
    return f"If that is wrong, add --decimal {decimal!r}, in Python decimal={decimal!r}."
