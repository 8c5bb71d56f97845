"""How files are to be read, where that is said and not found."""

from __future__ import annotations

from dataclasses import dataclass

from skewridge._validation import check_choice
from skewridge.io.encodings import check_encoding
from skewridge.io.number_forms import DECIMALS


@dataclass(frozen=True)
class ReadOptions:
    """What is said about files; None is found from the beginning of each.

    Attributes
    ----------
    delimiter : between the columns of CSV
    decimal : "." or ",", the decimal sign of CSV
    encoding : of CSV, by Python's name
    sheet : of an Excel workbook; the first where none is named

    Examples
    --------
    >>> ReadOptions(decimal=";")
    Traceback (most recent call last):
    ValueError: decimal must be one of '.', ','; got ';'.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            check_delimiter(self.delimiter)
        if self.decimal is not None:
            check_choice("decimal", self.decimal, DECIMALS)
        if self.encoding is not None:
            object.__setattr__(self, "encoding", check_encoding(self.encoding))
        if self.decimal is not None and self.decimal == self.delimiter:
            raise ValueError(f"delimiter and decimal must differ; both are {self.decimal!r}.")


FOUND = ReadOptions()  # everything is found


def check_delimiter(delimiter: str) -> str:
    """Refuse what cannot stand between columns."""
    if not isinstance(delimiter, str) or len(delimiter.encode()) != 1 or delimiter in '"\r\n':
        raise ValueError(f"delimiter must be one character, as in ';'; got {delimiter!r}.")
    return delimiter
