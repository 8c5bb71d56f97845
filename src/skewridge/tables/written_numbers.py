"""Numbers that were stored as text: thousand separators, decimal commas, units, and words for a gap."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from skewridge._messages import listed
from skewridge.io.csv_dialect import DECIMALS, SPACES, is_number, plain_number

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
class NumberFormat:
    """How the numbers of a column are written."""

    decimal: str = "."  # or ","
    unit: str = ""  # what stands before or after numbers and is left out, such as "km"
    gaps: tuple[str, ...] = ()  # texts that stand for a gap, besides the usual words such as "unknown"

    def describe(self, counts: Mapping[str, int]) -> str:
        """What is special about it, for people; ``counts`` are how many rows have each text."""
        gaps = [f"{text[:20]!r} ({n})" for text, n in counts.items() if is_gap(text, self.gaps)]
        parts = ["written as text"]
        parts += ["decimal comma"] if self.decimal == "," else []
        parts += [f"unit {self.unit!r}"] if self.unit else []
        parts += [f"gaps: {listed(gaps, len(gaps))}"] if gaps else []
        return ", ".join(parts)


def find_number_format(counts: Mapping[str, int]) -> NumberFormat | None:
    """How numbers are written in a column of texts, by how many rows have each; None where it holds something else."""
    texts = {text: n for text, n in counts.items() if not is_gap(text)}
    units: Counter[str] = Counter()
    for text, n in texts.items():
        number, unit = _split(text)
        if _CODE.fullmatch(number):
            return None
        units[unit] += n if unit else 0
    unit = max(units, key=units.__getitem__, default="")
    written = [NumberFormat(sign, unit) for sign in DECIMALS]
    odd = {own.decimal: tuple(text for text in texts if read_number(text, own) is None) for own in written}
    n_odd = {sign: sum(texts[text] for text in own) for sign, own in odd.items()}
    decimal = min(DECIMALS, key=n_odd.__getitem__)  # the point where both are as good
    n_texts = sum(texts.values())
    n_read = n_texts - n_odd[decimal]
    if n_read < max(NEARLY_ALL * n_texts, AT_LEAST * sum(counts.values())) or not n_read:
        return None
    return NumberFormat(decimal, unit, odd[decimal])


def read_number(value: Any, written: NumberFormat) -> float | None:
    """The number that a text is, without unit or with the column's: nan for a gap, None for what is neither.

    Numbers are not read by their text: 1.5 is no 1,5.
    """
    if isinstance(value, Number):
        return float(value)  # type: ignore[arg-type]
    if is_gap(str(value), written.gaps):
        return float("nan")
    number, own = _split(str(value))
    if own not in ("", written.unit) or not is_number(number, written.decimal):
        return None
    value = float(plain_number(number, written.decimal))
    return value if np.isfinite(value) else None


def is_gap(value: Any, known: Sequence[str] = ()) -> bool:
    """Whether a value is a text that stands for a gap: one of those known, or a usual word for it."""
    return isinstance(value, str) and (value in known or value.strip().casefold() in GAP_WORDS)


def _split(text: str) -> tuple[str, str]:
    """The number in a text and its unit; two empty texts where there is none."""
    found = _PARTS.fullmatch(text.strip().replace("\u2212", "-"))
    if found is None:
        return "", ""
    return found["number"].strip(), f"{found['before'] or ''} {found['after'] or ''}".strip()
