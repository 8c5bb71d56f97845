"""Shapes, marks and axes in per cent of a plot's width and height, so that a page of any width can draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skewridge._messages import amount, number, rounded

FEW_TICKS, ROOM = 3, 26  # labels, and characters that stand side by side on a narrow screen


@dataclass(frozen=True)
class Axis:
    """A title, and labels with their places from the left or the bottom."""

    title: str
    ticks: list[tuple[float, str]]


@dataclass(frozen=True)
class Shape:
    """An SVG path with a class, and the slice that it belongs to, if any."""

    path: str
    kind: str
    slice: int | None = None


@dataclass(frozen=True)
class Mark:
    """A place that can be pointed at, from the left and the bottom, what it says, and its slice, if any."""

    x: float
    y: float
    text: str
    slice: int | None = None


@dataclass(frozen=True)
class View:
    """One of the scales along which a chart can be drawn."""

    name: str
    axis: Axis
    shapes: list[Shape]


@dataclass(frozen=True)
class Chart:
    """A chart as a page draws it; ``near`` is how a pointer finds a mark, by "x" or by "xy"."""

    name: str
    title: str
    x: Axis
    views: list[View]
    marks: list[Mark]
    legend: list[tuple[str, str]] = field(default_factory=list)
    behind: list[Shape] = field(default_factory=list)
    near: str = "x"


@dataclass(frozen=True)
class Scale:
    """From a value to per cent of the axis, linear or logarithmic; what lies outside is drawn at the end.

    Examples
    --------
    >>> Scale(0, 4)(1), Scale(1, 100, log=True)(10), Scale(0, 4)(9)
    (25.0, 50.0, 100.0)
    """

    low: float
    high: float
    log: bool = False

    def __call__(self, value: float) -> float:
        bend = math.log if self.log else float
        low, high, at = (bend(v) for v in (self.low, self.high, min(max(value, self.low), self.high)))
        return 100.0 * (at - low) / ((high - low) or 1.0)

    def axis(self, title: str, most: int = 7) -> Axis:
        """Return the axis with labels at round numbers."""
        ticks = log_ticks(self.low, self.high, most) if self.log else linear_ticks(self.low, self.high, min(most, 5))
        return Axis(f"{title}, log scale" if self.log else title, [(self(at), tick(at)) for at in ticks])


@dataclass(frozen=True)
class SliceScale:
    """From the response to per cent of an axis along which all slices are equally wide.

    ``inset`` per cent at either end are for values beyond the edges.
    """

    edges: list[float]
    places: list[float]
    inset: float = 0.0

    def __call__(self, values: Any) -> Any:
        inside = self.inset + (1.0 - self.inset / 50.0) * np.interp(values, self.edges, self.places)
        below, above = np.less(values, self.edges[0]), np.greater(values, self.edges[-1])
        return np.select([below, above], [0.0, 100.0], inside).tolist()

    def axis(self, title: str, n_ticks: int = 5) -> Axis:
        """Return the axis with labels at round numbers, about evenly spread; fewer where they are long."""
        ticks: list[tuple[float, str]] = []
        for value in np.interp(np.linspace(0.0, 100.0, n_ticks), self.places, self.edges):
            label = next((v for v in (rounded(value, digits) for digits in (1, 2, 3)) if self._near(v, value)), value)
            place = self(label)
            if not ticks or place - ticks[-1][0] > 60.0 / n_ticks:
                ticks.append((place, tick(label)))
        long = n_ticks > FEW_TICKS and sum(len(text) for _, text in ticks) > ROOM
        return self.axis(title, FEW_TICKS) if long else Axis(title, ticks)

    def _near(self, candidate: float, value: float) -> bool:
        """Whether a rounder number lies within the edges and about where it is wanted."""
        inside = self.edges[0] <= candidate <= self.edges[-1]
        return bool(inside and abs(self(candidate) - self(value)) < 5.0)


def tick(value: float) -> str:
    """Write a label of an axis: in full where that is short."""
    return amount(value) if abs(value) < 1e7 else number(value)


def linear_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten in [low, high].

    Examples
    --------
    >>> linear_ticks(0, 9.3)
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    raw = (high - low) / most
    if not raw > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * (1 - 1e-9))
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return powers of ten in [low, high], every so many of them; also 2 and 5 times them, or any, where there are few.

    Examples
    --------
    >>> log_ticks(0.5, 2000), log_ticks(3, 30)
    ([1.0, 10.0, 100.0, 1000.0], [5.0, 10.0, 20.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, -(-(last - first) // most))
    tens = [10.0**p for p in range(first, last + 1) if p % every == 0 and low <= 10.0**p <= high]
    fine = [m * 10.0**p for p in range(first, last + 1) for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    few = [ticks for ticks in (fine, tens) if 2 < len(ticks) <= most + 1]
    return few[0] if few else linear_ticks(low, high, most)


def bar(left: float, right: float, height: float) -> str:
    """Return the path of a bar that stands on the axis, with a little room beside it."""
    room = min(0.15 * (right - left), 0.3)
    return f"M{_n(left + room)} 100V{_n(100 - height)}H{_n(right - room)}V100Z"


def dash(left: float, right: float, height: float) -> str:
    """Return the path of a level line."""
    return f"M{_n(left)} {_n(100 - height)}H{_n(right)}"


def dot(x: float, y: float) -> str:
    """Return the path of a point: a line without length, which round ends turn into a dot of any stretch."""
    return f"M{_n(x)} {_n(100 - y)}h0"


def line(points: Sequence[tuple[float, float]]) -> str:
    """Return the path through points."""
    return "M" + "L".join(f"{_n(x)} {_n(100 - y)}" for x, y in points)


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
