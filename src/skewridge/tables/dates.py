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
from skewridge.tables.written_numbers import NEARLY_ALL, is_gap_word

PARTS = ("year", "month", "weekday", "hour", "days")
CYCLES = ("month", "weekday", "hour")  # whose last value is next to the first
WRITINGS = {
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
    """What becomes of a date.

    Attributes
    ----------
    parts : those of "year", "month", "weekday", "hour" and "days" that vary
    writing : how texts are read: "iso", "day first", "month first", "words" or "time"; "" for typed dates
    """

    parts: tuple[str, ...]
    writing: str = ""


def find_date_writing(counts: Mapping[str, int]) -> str | None:
    """Return how dates are written in a column of texts, or None where nearly all are something else.

    Examples
    --------
    >>> find_date_writing({"3/09/2016": 5, "28/02/2017": 1})
    'day first'
    >>> find_date_writing({"2016-09-03T10:00:00Z": 1}), find_date_writing({"3 rooms": 1})
    ('iso', None)
    """
    import pandas as pd

    told = {text.strip(): count for text, count in counts.items() if not is_gap_word(text)}
    least = NEARLY_ALL * sum(told.values())
    for pattern, name in ((_ISO, "iso"), (_NUMBERS, ""), (_WORDS, "words"), (_TIME, "time")):
        found = {text: match for text in told if (match := pattern.fullmatch(text))}
        if found and sum(told[text] for text in found) >= least:
            writing = name or _which_first(list(found.values()))
            days = as_days(pd.Series(list(found), dtype=object), writing)
            read = sum(told[text] for text, day in zip(found, days.tolist(), strict=True) if not np.isnan(day))
            if read >= least:  # 75:30 and 31.31.20 look like times, and are none
                return writing
    return None


def _which_first(found: list[re.Match[str]]) -> str:
    """Whether day or month stands first; in doubt the day before dots and dashes, and the month before slashes."""
    first, second = (max(int(match[name]) for match in found) for name in ("first", "second"))
    if (first > 12) != (second > 12):
        return "day first" if first > 12 else "month first"
    return "month first" if found[0][2] == "/" else "day first"


def is_ambiguous(counts: Mapping[str, int]) -> bool:
    """Whether day and month of every date could be exchanged."""
    found = [match for text in counts if (match := _NUMBERS.fullmatch(text.strip()))]
    return bool(found) and all(int(match[name]) <= 12 for match in found for name in ("first", "second"))


def as_days(values: Any, writing: str) -> FloatArray:
    """Return the days since the first of 1970 of a pandas series, with the time of day; nan where there is no date.

    Times with a zone are taken in UTC, times of day alone as those of one day.
    """
    import pandas as pd

    if values.dtype.kind == "M" or isinstance(values.dtype, pd.DatetimeTZDtype | pd.PeriodDtype):
        return _days(values.dt.to_timestamp() if isinstance(values.dtype, pd.PeriodDtype) else values)
    places, different = pd.factorize(values)
    times = pd.Series([_as_time(value, writing) for value in different], dtype=object)
    return np.append(_days(_parsed(times)), np.nan)[places]  # gaps are at place -1


def as_date(days: float) -> str:
    """A date for people, with its time unless that is midnight.

    Examples
    --------
    >>> as_date(17047.0), as_date(17047.25)
    ('2016-09-03', '2016-09-03 06:00')
    """
    text = str(np.datetime64(round(days * DAY / 60.0), "m")).replace("T", " ")
    return text.removesuffix(" 00:00")


def part_names(parts: tuple[str, ...]) -> list[str]:
    """The names of the numbers that parts become: two for each that runs in a circle."""
    return [f"{part}{end}" for part in parts for end in ((" sin", " cos") if part in CYCLES else ("",))]


def varying_parts(days: FloatArray) -> tuple[str, ...]:
    """The parts that differ among days without gaps, in more than one row of two hundred."""
    found = _values(days)
    return tuple(part for part in PARTS if _usual_share(found[part]) < 1.0 - RARELY)


def _usual_share(values: FloatArray) -> float:
    """The share of the most frequent value."""
    return float(np.unique(values, return_counts=True)[1].max() / len(values))


def date_features(days: FloatArray, dates: DateParts, shift: float, scale: float) -> FloatArray:
    """Return the numbers, (n, w): days and years as ``(days - shift) * scale``, the others as points of a circle."""
    found, columns = _values(days), []
    for part in dates.parts:
        if part not in CYCLES:
            start = found["year_start"] if part == "year" else days
            columns.append((start - shift) * scale)
            continue
        turns = {"month": (days - found["year_start"]) / 365.25, "weekday": found["weekday"] / 7.0}.get(part)
        angle = 2.0 * np.pi * (found["hour"] if turns is None else turns)
        columns += [np.sin(angle), np.cos(angle)]
    return np.column_stack(columns) if columns else np.empty((len(days), 0))


def _values(days: FloatArray) -> dict[str, FloatArray]:
    whole = np.floor(days)
    dates = whole.astype(np.int64).astype("M8[D]")
    start = dates.astype("M8[Y]").astype("M8[D]").astype(np.int64).astype(np.float64)
    return {
        "year": start,
        "month": (dates.astype("M8[M]").astype(np.int64) % 12).astype(np.float64),
        "weekday": (whole + 3.0) % 7.0,  # the first of 1970 was a Thursday
        "hour": days - whole,
        "days": days,
        "year_start": start,
    }


def _as_time(value: Any, writing: str) -> Any:
    """A value as pandas reads it in one way only, or None where its column does not write dates so.

    A time of day is one of the first of 1970. Days and months in numbers are put behind the year, in the order of the
    column: alone, pandas takes 2016-03-05 for the third of May where days are first, and 3/14 for a date anyhow.
    """
    if not isinstance(value, str):
        return f"1970-01-01 {value.isoformat()}" if isinstance(value, time) else None if _number(value) else value
    text = value.strip()
    if _TIME.fullmatch(text):
        return f"1970-01-01 {text}"
    found = _NUMBERS.fullmatch(text)
    if found is None:
        return text
    if writing not in ("day first", "month first"):
        return None
    day, month = (found["first"], found["second"])[:: 1 if writing == "day first" else -1]
    year = int(found["year"])
    year += 0 if len(found["year"]) > 2 else 1900 if year >= FIRST_OF_TWO_DIGITS else 2000
    return f"{year:04}-{int(month):02}-{int(day):02}{found['tail'] or ''}"


def _number(value: Any) -> bool:
    return isinstance(value, Number | np.bool_)


def _parsed(values: Any) -> Any:
    import pandas as pd

    found = pd.to_datetime(values, errors="coerce", utc=True, format="ISO8601")
    if found.isna().any():  # such as 2016/9/3, or months in words
        again = pd.to_datetime(values[found.isna()], errors="coerce", utc=True, format="mixed")
        found = found.where(found.notna(), again)
    return found


def _days(times: Any) -> FloatArray:
    plain = times.dt.tz_convert("UTC").dt.tz_localize(None) if times.dt.tz is not None else times
    seconds = plain.to_numpy(dtype="datetime64[ms]")
    days = seconds.astype(np.int64) / (DAY * 1e3)
    return np.where(np.isnat(seconds), np.nan, days)
