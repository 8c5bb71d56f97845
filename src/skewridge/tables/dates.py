"""Dates and times as numbers: year, month, weekday, hour and days since the first of 1970."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time
from numbers import Number
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.tables.written_numbers import NEARLY_ALL, is_gap

PARTS = ("year", "month", "weekday", "hour", "days")
CYCLES = ("month", "weekday", "hour")  # whose last value is next to the first
DATE_FORMATS = {
    "": "dates or times (as 2016-09-03 where they are text)",
    "iso": "dates as 2016-09-03",
    "day first": "dates with the day first (3/09/2016) or as 2016-09-03",
    "month first": "dates with the month first (9/03/2016) or as 2016-09-03",
    "words": "dates as 3 Sep 2016 or 2016-09-03",
    "time": "times as 10:30",
}  # how dates may be written, and that in words
DAY = 86400.0  # seconds
FIRST_OF_TWO_DIGITS = 69  # years 69 to 99 are of the last century, as everywhere
RARELY = 0.005  # of the rows: a part that differs in fewer says nothing

_CLOCK = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
_TAIL = rf"([ T,]+{_CLOCK}.*)?"
_ISO = re.compile(rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}{_TAIL}")
_NUMBERS = re.compile(rf"(?P<first>\d{{1,2}})([./-])(?P<second>\d{{1,2}})\2(?P<year>\d{{4}}|\d{{2}})(?P<tail>{_TAIL})")
_WORDS = re.compile(
    rf"\d{{1,2}}[ -.]+[A-Za-z]{{3,9}}[ -.,]+\d{{2,4}}{_TAIL}|[A-Za-z]{{3,9}}\.? \d{{1,2}},? \d{{4}}{_TAIL}"
)
_TIME = re.compile(_CLOCK)


@dataclass(frozen=True)
class DateParts:
    """What becomes of a date: those of its parts that vary, and how texts are read; "" for typed dates."""

    parts: tuple[str, ...] = ()
    writing: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the numbers that parts become: two for each that runs in a circle."""
        return [f"{part}{end}" for part in self.parts for end in ((" sin", " cos") if part in CYCLES else ("",))]


def find_date_format(counts: Mapping[str, int]) -> str | None:
    """How dates are written in a column of texts, by how many rows have each; None where nearly all are no dates."""
    import pandas as pd

    texts = {text.strip(): count for text, count in counts.items() if not is_gap(text)}
    least = NEARLY_ALL * sum(texts.values())
    for pattern, name in ((_ISO, "iso"), (_NUMBERS, ""), (_WORDS, "words"), (_TIME, "time")):
        found = {text: match for text in texts if (match := pattern.fullmatch(text))}
        if found and sum(texts[text] for text in found) >= least:
            written = name
            if not name:  # day or month first; in doubt the day before dots and dashes, and the month before slashes
                first, second = (max(int(match[part]) for match in found.values()) for part in ("first", "second"))
                slashed = next(iter(found.values()))[2] == "/"
                month_first = first <= 12 if (first > 12) != (second > 12) else slashed
                written = "month first" if month_first else "day first"
            are_dates = ~np.isnan(as_days(pd.Series(list(found), dtype=object), written))
            if are_dates @ [texts[text] for text in found] >= least:  # 75:30 and 31.31.20 look like times, and are none
                return written
    return None


def is_ambiguous(counts: Mapping[str, int]) -> bool:
    """Whether day and month of every date could be exchanged."""
    found = [match for text in counts if (match := _NUMBERS.fullmatch(text.strip()))]
    return bool(found) and all(int(match[name]) <= 12 for match in found for name in ("first", "second"))


def as_days(values: Any, written: str) -> FloatArray:
    """The days since the first of 1970 of a pandas series, (n,), with the time of day; nan where there is no date.

    Times with a zone are taken in UTC, times of day alone as those of one day.
    """
    import pandas as pd

    if isinstance(values.dtype, pd.PeriodDtype):
        return _days(values.dt.to_timestamp())
    if values.dtype.kind == "M":
        return _days(values)
    places, different = pd.factorize(values)
    texts = pd.Series([_as_time(value, written) for value in different], dtype=object)
    times = pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")
    if times.isna().any():  # such as 2016/9/3, or months in words
        again = pd.to_datetime(texts[times.isna()], errors="coerce", utc=True, format="mixed")
        times = times.where(times.notna(), again)
    return np.append(_days(times), np.nan)[places]  # gaps are at place -1


def as_date(days: float) -> str:
    """A date for people, with its time unless that is midnight."""
    text = str(np.datetime64(round(days * DAY / 60.0), "m")).replace("T", " ")
    return text.removesuffix(" 00:00")


def varying_parts(days: FloatArray) -> tuple[str, ...]:
    """The parts that differ among days without gaps, in more than one row of two hundred."""
    usual = {part: np.unique(values, return_counts=True)[1].max() for part, values in _values(days).items()}
    return tuple(part for part in PARTS if usual[part] / len(days) < 1.0 - RARELY)


def date_features(days: FloatArray, dates: DateParts, shift: float, scale: float) -> FloatArray:
    """The numbers, (n, w): days and years as ``(days - shift) * scale``, the others as points of a circle."""
    found = _values(days)
    turns = {"month": (days - found["year"]) / 365.25, "weekday": found["weekday"] / 7.0, "hour": found["hour"]}
    columns = []
    for part in dates.parts:
        if part in CYCLES:
            angle = 2.0 * np.pi * turns[part]
            columns += [np.sin(angle), np.cos(angle)]
        else:
            columns.append((found[part] - shift) * scale)
    return np.column_stack([np.empty((len(days), 0)), *columns])


def _values(days: FloatArray) -> dict[str, FloatArray]:
    """Every part of days, (n,) each; the year is its first day."""
    whole = np.floor(days)
    dates = whole.astype(np.int64).astype("M8[D]")
    return {
        "year": dates.astype("M8[Y]").astype("M8[D]").astype(np.int64).astype(np.float64),
        "month": (dates.astype("M8[M]").astype(np.int64) % 12).astype(np.float64),
        "weekday": (whole + 3.0) % 7.0,  # the first of 1970 was a Thursday
        "hour": days - whole,
        "days": days,
    }


def _as_time(value: Any, written: str) -> Any:
    """A value as pandas reads it in one way only, or None where its column does not write dates so.

    A time of day is one of the first of 1970. Days and months in numbers are put behind the year, in the order of the
    column: alone, pandas takes 2016-03-05 for the third of May where days are first, and 3/14 for a date anyhow.
    """
    if isinstance(value, time):
        return f"1970-01-01 {value.isoformat()}"
    if not isinstance(value, str):
        return None if isinstance(value, Number | np.bool_) else value
    text = value.strip()
    if _TIME.fullmatch(text):
        return f"1970-01-01 {text}"
    found = _NUMBERS.fullmatch(text)
    if found is None:
        return text
    if written not in ("day first", "month first"):
        return None
    day, month = ("first", "second") if written == "day first" else ("second", "first")
    year = int(found["year"])
    if len(found["year"]) == 2:
        year += 1900 if year >= FIRST_OF_TWO_DIGITS else 2000
    return f"{year:04}-{int(found[month]):02}-{int(found[day]):02}{found['tail'] or ''}"


def _days(times: Any) -> FloatArray:
    """Days of a series of times, (n,); nan where there is none."""
    plain = times.dt.tz_convert("UTC").dt.tz_localize(None) if times.dt.tz is not None else times
    seconds = plain.to_numpy(dtype="datetime64[ms]")
    return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) / (DAY * 1e3))
