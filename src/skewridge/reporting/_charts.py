"""The charts of a report, from its data: in per cent of a plot's width and height, so that any page can draw them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from skewridge._messages import amount, counted, labels, number, percent, rounded, span

Data = dict[str, Any]
Axis = dict[str, Any]  # title; ticks, pairs of a place from the left or the bottom and a label
Shape = dict[str, Any]  # path, of SVG; kind, its class; slice that it belongs to, or None
Mark = tuple[float, float, str, int | None]  # a place that can be pointed at, what it says, and its slice
Point = tuple[float, float]

FEWEST = 0.6  # rows at the foot of a logarithmic axis: one row must show
INSET = 3.0  # per cent at either end of an axis for values beyond the slices
ROOM = 0.06  # above and below curves
FEW_TICKS, FEW_CHARACTERS = 3, 26  # labels, and characters that stand side by side on a narrow screen
CRITERIA = {
    "loo": "leave-one-out error",
    "cv": "cross-validated error",
    "gcv": "generalised cross-validation",
    "dgcv": "distributed generalised cross-validation",
    "cp": "Mallows' Cp",
}


@dataclass(frozen=True)
class Chart:
    """A chart as a page draws it, along each of its views; ``near`` is how a pointer finds a mark, by "x" or "xy"."""

    name: str
    title: str
    x: Axis
    views: list[Data]
    marks: Sequence[Mark]
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
        """The axis with labels at round numbers."""
        ticks = log_ticks(self.low, self.high, most) if self.log else linear_ticks(self.low, self.high, min(most, 5))
        return _axis(f"{title}, log scale" if self.log else title, [(self(at), _tick(at)) for at in ticks])

    def view(self, title: str, shapes: Sequence[Shape], most: int = 7) -> Data:
        """Shapes above this scale."""
        return _view(self.axis(title, most), shapes, "log" if self.log else "linear")


@dataclass(frozen=True)
class SliceScale:
    """From the response to per cent of an axis along which all slices are equally wide, but for insets at the ends."""

    edges: list[float]
    places: list[float]
    inset: float = 0.0

    def __call__(self, values: Any) -> Any:
        inside = self.inset + (1.0 - self.inset / 50.0) * np.interp(values, self.edges, self.places)
        below, above = np.less(values, self.edges[0]), np.greater(values, self.edges[-1])
        return np.select([below, above], [0.0, 100.0], inside).tolist()

    def middle(self, i: int) -> float:
        """The middle of a slice."""
        return (self.places[i] + self.places[i + 1]) / 2

    def axis(self, title: str, n_ticks: int = 5) -> Axis:
        """The axis with labels at round numbers, about evenly spread; fewer where they are long."""
        ticks: list[tuple[float, str]] = []
        for value in np.interp(np.linspace(0.0, 100.0, n_ticks), self.places, self.edges):
            round_ones = (rounded(value, digits) for digits in (1, 2, 3))
            label = next((v for v in round_ones if self._replaces(v, value)), value)
            place = self(label)
            if not ticks or place - ticks[-1][0] > 60.0 / n_ticks:
                ticks.append((place, _tick(label)))
        long = n_ticks > FEW_TICKS and sum(len(text) for _, text in ticks) > FEW_CHARACTERS
        return self.axis(title, FEW_TICKS) if long else _axis(title, ticks)

    def _replaces(self, candidate: float, value: float) -> bool:
        """Whether a rounder number lies within the edges and about where it is wanted."""
        inside = self.edges[0] <= candidate <= self.edges[-1]
        return bool(inside and abs(self(candidate) - self(value)) < 5.0)


def charts(data: Data) -> dict[str, Chart]:
    """Every chart that the data are enough for, by name."""
    facts, likely = data["response"]["facts"], data["errors"].get("likely")
    path = [path_chart(data["method"]["path"])] if "path" in data["method"] else []
    if facts["min"] == facts["max"]:
        made = path
    else:
        made = [response_chart(data), *path]
        made += [error_chart(data)] if any(e["mse"] or e["mean"] for e in data["errors"]["slices"]) else []
        made += [scatter_chart(data), *partial_charts(data["drivers"]["partial"])]
        made += [learning_chart(data)] if data["next"].get("more_rows") else []
        made += [level_chart(data)] if likely and len(likely["levels"]) > 1 else []
    return {chart.name: chart for chart in made}


def response_chart(data: Data) -> Chart:
    """Rows in every slice, and what the method made of them: rows after copying, or centres."""
    method, name, slices = data["method"], data["response"]["name"], data["response"]["slices"]
    scale = _slice_scale(slices)
    support = method.get("support", {"kind": ""})
    after, meaning = support.get("per_slice", []), support["kind"]
    if method.get("slices", {}).get("copies") and method["slices"]["most_copies"] > 1:
        after = [s["count"] * c for s, c in zip(slices, method["slices"]["copies"], strict=True)]
        meaning = "rows after copying"
    top = max([s["count"] for s in slices] + after)
    views, marks = [], []
    for view in (Scale(FEWEST, 1.3 * top, log=True), Scale(0.0, 1.05 * top)):
        bars = [_bar(scale, i, view(s["count"]), s) for i, s in enumerate(slices) if s["count"]]
        views.append(view.view("rows", [*bars, *_dashes(after, scale, view)]))
    for i, s in enumerate(slices):
        more = f", {meaning}: {number(after[i])}" if after and s["count"] else ""
        text = f"{span(s['low'], s['high'])}: {counted(s['count'], 'row')} ({percent(s['share'])}){more}"
        marks.append((scale.middle(i), 0.0, text, i))
    return Chart(
        name="response",
        title=f"Rows along {name}",
        x=scale.axis(name),
        views=views,
        marks=marks,
        legend=[*_legend("bar", slices), *([("dash", meaning)] if after else [])],
        behind=_rare_bands(slices, scale),
    )


def error_chart(data: Data) -> Chart:
    """Mean squared error in every slice, beside that of predicting the mean."""
    slices, errors = data["response"]["slices"], data["errors"]["slices"]
    scale, found = _slice_scale(slices), [e[key] for e in errors for key in ("mse", "mean") if e[key]]
    with_rows = [(i, s, e) for i, (s, e) in enumerate(zip(slices, errors, strict=True)) if e["mse"] is not None]
    views, marks = [], []
    for view in (Scale(min(found) / 1.5, 1.5 * max(found), log=True), Scale(0.0, 1.05 * max(found))):
        dots = [_shape(_dot(scale.middle(i), view(e["mse"])), _kind("dot", s), i) for i, s, e in with_rows]
        views.append(view.view("mean squared error", [*_dashes([e["mean"] for e in errors], scale, view), *dots]))
    for i, s, e in with_rows:
        text = (
            f"{span(s['low'], s['high'])}: {number(e['mse'])} on {counted(e['n_rows'], 'row')}, bias "
            f"{number(e['bias'])}; the mean has {number(e['mean'])}"
        )
        marks.append((scale.middle(i), 0.0, text, i))
    return Chart(
        name="errors",
        title="Error along the response",
        x=scale.axis(f"observed {data['response']['name']}"),
        views=views,
        marks=marks,
        legend=[*_legend("dot", slices), ("dash", "predicting the mean")],
        behind=_rare_bands(slices, scale),
    )


def scatter_chart(data: Data) -> Chart:
    """Prediction against observation, on axes along which slices are equally wide; rare points are drawn last."""
    name, slices, points = data["response"]["name"], data["response"]["slices"], data["errors"]["points"]
    scale = _slice_scale(slices, INSET)
    marks, paths = [], dict[int, list[str]]()
    columns = [points[key] for key in ("observed", "predicted", "slice")]
    for x, y, observed, predicted, i in zip(scale(columns[0]), scale(columns[1]), *columns, strict=True):
        marks.append((x, y, f"observed {number(observed, 4)}, predicted {number(predicted, 4)}", i))
        paths.setdefault(i, []).append(_dot(x, y))
    order = sorted(paths, key=lambda i: (bool(slices[i]["rare"]), i))
    ticks = scale.axis(name)["ticks"]
    shapes = [_shape("".join(paths[i]), _kind("point", slices[i]), i) for i in order]
    return Chart(
        name="points",
        title="Predicted against observed",
        x=_axis(f"observed {name}", ticks),
        views=[_view(_axis(f"predicted {name}", ticks), shapes)],
        marks=marks,
        legend=[*_legend("dot", slices), ("diagonal", "as observed")],
        behind=[_shape(_line([(INSET, INSET), (100 - INSET, 100 - INSET)]), "diagonal")],
        near="xy",
    )


def path_chart(path: Data) -> Chart:
    """The criterion along the penalties (or the bandwidths), the chosen curve in front."""
    criterion = str(CRITERIA.get(path["criterion"], path["criterion"]))
    criterion += "" if path["scoring"] == "mse" else f" ({path['scoring']})"
    curves = []
    for one in sorted(path["curves"], key=lambda one: bool(one["chosen"])):
        pairs = zip(path["x"], one["values"], strict=True)
        curves.append((one, [(at, v) for at, v in pairs if at is not None and v is not None]))
    along = [at for _, points in curves for at, _ in points]
    x, y = Scale(min(along), max(along), log=True), _criterion_scale([[v for _, v in points] for _, points in curves])
    shapes, marks = [], []
    for one, points in curves:
        bandwidth = f", bandwidth {one['name']}" if one["name"] else ""
        for at, v in points:
            marks.append((x(at), y(v), f"{path['along']} {number(at)}{bandwidth}: {criterion} {number(v)}", None))
        if points:
            kind = "line chosen" if one["chosen"] else "line"
            shapes.append(_shape(_line([(x(at), y(v)) for at, v in points]), kind))
    choice = x(path["choice"])
    return Chart(
        name="path",
        title=f"How the {path['along']} was chosen",
        x=x.axis(path["along"], most=5),  # labels stand side by side
        views=[_view(y.axis(criterion), shapes)],
        marks=marks,
        legend=[("line chosen", "chosen"), *([("line", "other bandwidths")] if len(curves) > 1 else [])],
        behind=[_shape(_line([(choice, 0.0), (choice, 100.0)]), "chosen-at")],
        near="xy",
    )


def _criterion_scale(curves: list[list[float]]) -> Scale:
    """Logarithmic where all values are positive; what rises far above where the curves end is cut off."""
    values, ends = [v for curve in curves for v in curve], [curve[-1] for curve in curves if curve]
    low, high = min(values), max(values)
    high = min(high, 1.3 * max(ends)) if max(ends) > low > 0 else high
    return Scale(low / 1.1, 1.1 * high, log=True) if low > 0 else Scale(low, high)


def partial_charts(curves: list[Data]) -> Iterator[Chart]:
    """The mean prediction along one column each, on one scale; ticks at the foot are deciles of the column."""
    every = [value for one in curves for value in one["mean"]]
    if not every:
        return
    room = ROOM * (max(every) - min(every) or 1.0)
    y = Scale(min(every) - room, max(every) + room)
    for place, curve in enumerate(curves):
        if curve["kind"] == "level":
            continue
        x = Scale(curve["values"][0], curve["values"][-1])
        named = curve["labels"] or labels(curve["values"])
        points = [(x(value), y(mean)) for value, mean in zip(curve["values"], curve["mean"], strict=True)]
        axis = x.axis(curve["name"], most=3)
        if curve["kind"] != "number" or len(axis["ticks"]) < 2:  # dates, or no round numbers: the values themselves
            taken = sorted({0, (len(named) - 1) // 2, len(named) - 1})
            axis = _axis(curve["name"], [(points[i][0], named[i]) for i in taken])
        texts = [f"{name}: {amount(mean)}" for name, mean in zip(named, curve["mean"], strict=True)]
        yield Chart(
            name=f"partial-{place}",
            title=curve["name"],
            x=axis,
            views=[y.view("mean prediction", [_shape(_line(points), "curve")], most=4)],
            marks=_marks(points, texts),
            behind=[_shape(f"M{x(at):.2f} 100V94", "rug") for at in curve["deciles"]],
        )


def learning_chart(data: Data) -> Chart:
    """The error of fits to fewer rows, and what twice the rows would make of it."""
    found = data["next"]["more_rows"]
    n_rows, errors, twice = found["n_rows"], found["rmse"], 2 * found["n_rows"][-1]
    x, y = Scale(n_rows[0] / 1.3, 1.3 * twice, log=True), Scale(0.0, 1.1 * max(errors))
    points = [(x(n), y(error)) for n, error in zip(n_rows, errors, strict=True)]
    ahead = (x(twice), y(found["twice"]))
    texts = [f"{counted(n, 'row')}: RMSE {amount(error)}" for n, error in zip(n_rows, errors, strict=True)]
    shapes = [
        _shape(_line(points), "curve"),
        _shape(_line([points[-1], ahead]), "diagonal"),
        *(_shape(_dot(*point), "dot") for point in points),
        _shape(_dot(*ahead), "dot ahead"),
    ]
    return Chart(
        name="learning",
        title="Would more rows help?",
        x=_axis("rows of the fit, log scale", [(x(n), number(n)) for n in n_rows]),
        views=[y.view(f"RMSE of {data['response']['name']}", shapes)],
        marks=_marks([*points, ahead], [*texts, f"{counted(twice, 'row')}: about {amount(found['twice'])}"]),
        legend=[("dot", "fits"), ("diagonal", "twice the rows, by the last slope")],
    )


def level_chart(data: Data) -> Chart:
    """Levels that one in so many rows exceeds, as stated, and as counted among the rows of the report."""
    levels, n_rows = data["errors"]["likely"]["levels"], data["errors"]["n_rows"]
    x = Scale(levels[0]["period"] / 1.3, 1.3 * levels[-1]["period"], log=True)
    low, high = min(one["level"] for one in levels), max(one["level"] for one in levels)
    low = 0.0 if 0 <= low < 0.5 * high else low
    y = Scale(low, high + ROOM * (high - low or 1.0))
    points = [(x(one["period"]), y(one["level"])) for one in levels]
    counts = [(x(n_rows / one["counted"]), y(one["level"])) for one in levels if one["counted"]]
    shapes = [_shape(_line(points), "curve"), *(_shape(_dot(*point), "dot rare") for point in counts)]
    texts = [f"one in {number(one['period'])} rows: more than {amount(one['level'])}" for one in levels]
    return Chart(
        name="levels",
        title="What one in so many rows exceeds",
        x=x.axis("one in so many rows", most=5),
        views=[y.view(data["response"]["name"], shapes)],
        marks=_marks(points, texts),
        legend=[("curve", "stated"), ("dot rare", "counted")],
    )


def _slice_scale(slices: list[Data], inset: float = 0.0) -> SliceScale:
    """The scale along which every slice, or group of slices, has the same width."""
    edges = [s["low"] for s in slices] + [slices[-1]["high"]]
    return SliceScale(edges, [100.0 * i / len(slices) for i in range(len(edges))], inset)


def _axis(title: str, ticks: list[tuple[float, str]]) -> Axis:
    return {"title": title, "ticks": ticks}


def _view(axis: Axis, shapes: Sequence[Shape], name: str = "linear") -> Data:
    return {"name": name, "axis": axis, "shapes": shapes}


def _shape(path: str, kind: str, i: int | None = None) -> Shape:
    return {"path": path, "kind": kind, "slice": i}


def _marks(points: Sequence[Point], texts: Sequence[str]) -> list[Mark]:
    return [(x, y, text, None) for (x, y), text in zip(points, texts, strict=True)]


def _bar(scale: SliceScale, i: int, height: float, s: Data) -> Shape:
    """A bar that stands on the axis, with a little room beside it."""
    left, right = scale.places[i], scale.places[i + 1]
    room = min(0.15 * (right - left), 0.3)
    path = f"M{_short(left + room)} 100V{_short(100 - height)}H{_short(right - room)}V100Z"
    return _shape(path, _kind("bar", s), i)


def _dashes(values: Sequence[float | None], scale: SliceScale, view: Scale) -> list[Shape]:
    """Level lines, one a slice."""
    ends = [(_short(left), _short(right)) for left, right in zip(scale.places[:-1], scale.places[1:], strict=True)]
    paths = [(i, f"M{ends[i][0]} {_short(100 - view(v))}H{ends[i][1]}") for i, v in enumerate(values) if v]
    return [_shape(path, "dash", i) for i, path in paths]


def _rare_bands(slices: list[Data], scale: SliceScale) -> list[Shape]:
    """The rare region, behind everything."""
    runs = [list(run) for rare, run in groupby(range(len(slices)), lambda i: bool(slices[i]["rare"])) if rare]
    ends = [(scale.places[run[0]], scale.places[run[-1] + 1]) for run in runs]
    return [_shape(f"M{left:.2f} 0H{right:.2f}V100H{left:.2f}Z", "band") for left, right in ends]


def _dot(x: float, y: float) -> str:
    """The path of a point: a line without length, which round ends turn into a dot of any stretch."""
    return f"M{_short(x)} {_short(100 - y)}h0"


def _line(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{_short(x)} {_short(100 - y)}" for x, y in points)


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _kind(name: str, s: Data) -> str:
    return f"{name} rare" if s["rare"] else name


def _legend(name: str, slices: list[Data]) -> list[tuple[str, str]]:
    return [(name, "common"), *([(f"{name} rare", "rare")] if any(s["rare"] for s in slices) else [])]


def _tick(value: float) -> str:
    """A label of an axis: in full where that is short."""
    return amount(value) if abs(value) < 1e7 else number(value)


def linear_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten in [low, high].

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
    """Powers of ten in [low, high], every so many of them; also 2 and 5 times them, or any, where there are few.

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
