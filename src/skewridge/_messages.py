"""What people and JSON read: names of rows, records as plain data, and numbers in few digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

import numpy as np

MINUS, TIMES, NONE = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
UNITS = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))  # from what size on, divisor, letter
SHOWN = 5  # items that a message lists
LARGEST = 1e9  # in a terminal: from here on a power of ten is shorter

_NAMING: ContextVar[Callable[[int], str]] = ContextVar("_NAMING", default=str)


@contextmanager
def rows_named(name: Callable[[int], str]) -> Iterator[None]:
    """Have messages name rows so, by their places in the rows of a fit.

    Examples
    --------
    >>> with rows_named(lambda place: f"{place + 1} of rows.csv"):
    ...     row_name(6)
    '7 of rows.csv'
    >>> row_name(6)
    '6'
    """
    before = _NAMING.set(name)
    try:
        yield
    finally:
        _NAMING.reset(before)


def row_name(place: int) -> str:
    """The name of a row for people: its place, unless whoever has the rows knows a better one."""
    return _NAMING.get()(int(place))


def plain(value: Any) -> Any:
    """Return dataclasses as dicts, arrays as lists, numpy's numbers as Python's, and nan and infinity as None.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"counts": np.array([3, 1]), "share": np.float64(0.75), "risk": float("nan")})
    {'counts': [3, 1], 'share': 0.75, 'risk': None}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list() | tuple():
            return [plain(item) for item in value]
        case Mapping():
            return {str(name): plain(item) for name, item in value.items()}
    return {own.name: plain(getattr(value, own.name)) for own in fields(value)} if is_dataclass(value) else value


def as_records(**columns: Any) -> list[dict[str, Any]]:
    """Return columns of as many values each as a list of rows.

    Examples
    --------
    >>> as_records(period=[10, 100], level=[0.5, 2.5])
    [{'period': 10, 'level': 0.5}, {'period': 100, 'level': 2.5}]
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def in_full(value: float | None, *, sign: bool = False) -> str:
    """Four digits in a terminal, without a power of ten below a billion; counts as they are, a dash for none.

    Examples
    --------
    >>> [in_full(value) for value in (None, 24_522, 273_323.4, 2291.3, 0.81994, -4.269, 7.302e10)]
    ['-', '24,522', '273,300', '2291', '0.8199', '-4.269', '7.302e+10']
    >>> in_full(13_360.2, sign=True)
    '+13,360'
    """
    if value is None:
        return "-"
    plus = "+" if sign else ""
    if isinstance(value, int):
        return f"{value:{plus},}"
    near = float(f"{value:.4g}")
    return f"{near:{plus},.0f}" if 1e4 <= abs(near) < LARGEST else f"{near:{plus}.4g}"


def compact(value: float, *, sign: bool = False, digits: int = 3) -> str:
    """A few digits and a letter for thousands or more; whole numbers of four digits stay as they are.

    Examples
    --------
    >>> compact(1_234_567.0), compact(45_000.0), compact(1234.5), compact(0.01234), compact(350.0, sign=True)
    ('1.23M', '45k', '1234', '0.0123', '+350')
    """
    plus = "+" if sign else ""
    for least, divisor, letter in UNITS:
        if abs(value) >= least * (1.0 - 0.5 * 10.0**-digits):  # what is rounded to it counts
            return f"{value / divisor:{plus}.{digits}g}{letter}"
    return f"{value:{plus}.0f}" if abs(value) >= 999.5 and digits <= 4 else f"{value:{plus}.{digits}g}"


def number(value: float | None, digits: int = 3) -> str:
    """So many significant digits on a page, whole numbers in full; a dash for none.

    Examples
    --------
    >>> [number(v) for v in (None, 0, 12, 6784, 0.0312345, -2.5, 1.234e-7, 3.21e12)]
    ['–', '0', '12', '6,784', '0.0312', '−2.5', '1.23×10⁻⁷', '3.21×10¹²']
    >>> number(1_234_567), number(1_234_567.0), number(1e-5)  # whole numbers are counts
    ('1,234,567', '1.23×10⁶', '10⁻⁵')
    """
    if value is None or not math.isfinite(value):
        return NONE
    power = math.floor(math.log10(abs(value))) if value else 0
    if not -4 <= power < (9 if isinstance(value, int) else 6):
        head, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        head = f"{_trimmed(head)}{TIMES}".removeprefix(f"1{TIMES}")
        return f"{head}10{str(int(exponent)).translate(RAISED)}".replace("-", MINUS)
    places = 0 if value == int(value) else max(0, digits - 1 - power)
    return _trimmed(f"{value:,.{places}f}").replace("-", MINUS)


def amount(value: float | None, digits: int = 3) -> str:
    """An amount of the response on a page: so many digits, in full up to a billion.

    Examples
    --------
    >>> [amount(v) for v in (None, 274213.4, 1_168_556.2, 0.031234, -0.0, 3.2e12)]
    ['–', '274,000', '1,170,000', '0.0312', '0', '3.2×10¹²']
    """
    if value is None or not math.isfinite(value):
        return NONE
    near = rounded(value, digits)
    return number(int(near) if near == int(near) and abs(near) < LARGEST else near, digits)


def percent(share: float | None) -> str:
    """A share in per cent, with three digits at most.

    Examples
    --------
    >>> [percent(v) for v in (None, 0.5, 0.01934, 1e-6, 2.5)]
    ['–', '50%', '1.93%', '0.0001%', '250%']
    """
    return NONE if share is None else f"{number(100 * share)}%"


def span(low: float, high: float, write: Callable[[float, int], str] = number) -> str:
    """An interval with enough digits to tell its ends apart.

    Examples
    --------
    >>> span(0.0, 0.25), span(27000.2, 27111.3), span(-1.0, 2.0)
    ('0 to 0.25', '27,000 to 27,111', '−1 to 2')
    >>> span(1_234_567.0, 2_345_678.0, amount)
    '1,230,000 to 2,350,000'
    """
    if low == high:
        return write(low, 3)
    digits = min(15, max(3, 2 + math.ceil(math.log10(max(abs(low), abs(high)) / (high - low)))))
    return f"{write(low, digits)} to {write(high, digits)}"


def labels(values: list[float]) -> list[str]:
    """Amounts with the fewest digits that tell them apart.

    Examples
    --------
    >>> labels([144.62336, 144.80403]), labels([1.0, 25.0])
    (['144.6', '144.8'], ['1', '25'])
    """
    made = [[amount(value, digits) for value in values] for digits in range(3, 10)]
    return next((texts for texts in made if len(set(texts)) == len(values)), made[-1])


def listed(
    texts: Iterable[str], n: int, more: str = " and {} more", *, most: int = SHOWN, separator: str = ", "
) -> str:
    """The first few of n texts, and how many more there are.

    Examples
    --------
    >>> listed("abcdefg", 7), listed("ab", 2)
    ('a, b, c, d, e and 2 more', 'a, b')
    """
    return separator.join(islice(texts, most)) + (more.format(n - most) if n > most else "")


def counted(n: int, what: str) -> str:
    """How many there are.

    Examples
    --------
    >>> counted(1, "row"), counted(2500, "row")
    ('1 row', '2,500 rows')
    """
    return f"{number(n)} {what}{'' if n == 1 else 's'}"


def aligned(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    """Rows of cells in columns; all but the first are aligned at the right where they hold numbers.

    Examples
    --------
    >>> print(aligned([["", "rows"], ["rare", "7"]], numbers=True))
          rows
    rare     7
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<", *(">" if numbers else "<") * (len(widths) - 1)]
    lines = [[f"{cell:{side}{n}}" for cell, side, n in zip(row, sides, widths, strict=True)] for row in rows]
    return "\n".join("  ".join(cells).rstrip() for cells in lines)


def rounded(value: float, digits: int = 1) -> float:
    """The nearest number with so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
