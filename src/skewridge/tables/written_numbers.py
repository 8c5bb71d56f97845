"""Numbers that were stored as text: thousand separators, decimal commas, units, and words for a gap."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray
from skewridge.io.number_forms import DECIMALS, SPACES, is_number, plain_number
from skewridge.tables.texts import SHOWN

NEARLY_ALL = 0.95  # of the values that are no word for a gap
AT_LEAST = 0.5  # of all values
GAP_WORDS = frozenset(
    ("", "?", "-", "--", ".", "#n/a", "n/a", "n.a.", "na", "nan", "nil", "none", "null")
    + ("missing", "not available", "not known", "tbd", "unavailable", "unknown")
)
_CURRENCY = "$€£¥₹"
_PARTS = re.compile(
    rf"(?P<before>[{_CURRENCY}]|[A-Z]{{3}}\s)?\s*"
    rf"(?P<number>[+-]?[\d.,][\d.,{SPACES}]*(?:[eE][+-]?\d+)?)\s*"
    rf"(?P<after>[%‰°{_CURRENCY}A-Za-zµ][^\s\d]{{0,11}}[23²³]?)?"
)
_CODE = re.compile(r"0\d+")  # leading zeros are those of a code


@dataclass(frozen=True)
class Writing:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : "." or ","
    unit : what stands before or after numbers and is left out, such as "km"; "" for none
    gaps : texts that are no numbers and stand for a gap, besides the usual words such as "unknown"
    """

    decimal: str = "."
    unit: str = ""
    gaps: tuple[str, ...] = ()


def find_writing(counts: Mapping[str, int]) -> Writing | None:
    """Return how numbers are written in a column of texts, or None where it holds something else.

    Parameters
    ----------
    counts : how many rows have each text

    Examples
    --------
    >>> find_writing({"1.250,5 km": 9, "7 km": 9, "unknown": 2})
    Writing(decimal=',', unit='km', gaps=())
    >>> find_writing({"007": 1, "12": 1}) is None
    True
    """
    told = {text: count for text, count in counts.items() if not is_gap_word(text)}
    split = {text: _split(text) for text in told}
    if any(_CODE.fullmatch(number) for number, _ in split.values()):
        return None
    units: Counter[str] = Counter()
    for text, (_, unit) in split.items():
        units[unit] += told[text] if unit else 0
    unit = units.most_common(1)[0][0] if units else ""
    found = [Writing(decimal, unit) for decimal in DECIMALS]
    weights = [sum(n for text, n in told.items() if _number(text, writing) is not None) for writing in found]
    best = int(np.argmax(weights))  # the decimal point where both are as good
    if weights[best] < max(NEARLY_ALL * sum(told.values()), AT_LEAST * sum(counts.values())) or not weights[best]:
        return None
    odd = tuple(text for text in told if _number(text, found[best]) is None)
    return Writing(found[best].decimal, unit, odd)


def read_numbers(texts: Sequence[str], writing: Writing) -> tuple[FloatArray, list[bool]]:
    """Return the number of every text, nan for a gap, and which texts are neither.

    Examples
    --------
    >>> read_numbers(["1,5", "?", "x"], Writing(","))
    (array([1.5, nan, nan]), [False, False, True])
    """
    numbers = [None if text in writing.gaps else _number(text, writing) for text in texts]
    odd = [
        number is None and text not in writing.gaps and not is_gap_word(text)
        for text, number in zip(texts, numbers, strict=True)
    ]
    return np.array([np.nan if number is None else number for number in numbers]), odd


def is_gap_word(text: str) -> bool:
    """Whether a text is one of the usual words for a value that is not known."""
    return text.strip().casefold() in GAP_WORDS


def in_words(writing: Writing, counts: Mapping[str, int]) -> str:
    """What is special about a column's writing, for people.

    Examples
    --------
    >>> in_words(Writing(",", "km"), {"1,5 km": 20, "unknown": 2})
    "written as text, decimal comma, unit 'km', gaps: 'unknown' (2)"
    """
    gaps = [text for text in counts if text in writing.gaps or is_gap_word(text)]
    listed = ", ".join(f"{text[:20]!r} ({counts[text]})" for text in gaps[:SHOWN])
    more = f" and {len(gaps) - SHOWN} more" if len(gaps) > SHOWN else ""
    parts = ["written as text"]
    parts += ["decimal comma"] if writing.decimal == "," else []
    parts += [f"unit {writing.unit!r}"] if writing.unit else []
    parts += [f"gaps: {listed}{more}"] if gaps else []
    return ", ".join(parts)


def _split(text: str) -> tuple[str, str]:
    """The number in a text and its unit; two empty texts where there is none."""
    found = _PARTS.fullmatch(text.strip().replace("\u2212", "-"))
    if found is None:
        return "", ""
    return found["number"].strip(), f"{found['before'] or ''} {found['after'] or ''}".strip()


def _number(text: str, writing: Writing) -> float | None:
    """The number that a text is, without unit or with the column's, or None."""
    number, unit = _split(text)
    if unit not in ("", writing.unit) or not is_number(number, writing.decimal):
        return None
    value = float(plain_number(number, writing.decimal))
    return value if np.isfinite(value) else None
