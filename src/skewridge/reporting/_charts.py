"""The charts of a report, from its data: in per cent of a plot's width and height, so that any page can draw them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from skewridge._messages import amount, counted, labels, number, percent, rounded, span
from skewridge._typing import Data

Axis = Data  # title; ticks, pairs of a place from the left or the bottom and a label
Shape = Data  # path, of SVG; kind, its class; slice that it belongs to, or None

FEWEST = 0.6  # rows at the foot of a logarithmic axis: one row must show
INSET = 3.0  # per cent at either end of an axis for values beyond the slices
ROOM = 0.06  # above and below curves
PATH_MARGIN, PATH_TOP = 1.1, 1.3  # of a criterion, about its values, and times the highest end of a curve
FEW_TICKS, FEW_CHARACTERS = 3, 26  # labels, and characters that stand side by side on a narrow screen
CRITERIA = {
    "loo": "leave-one-out error",
    "cv": "cross-validated error",
    "gcv": "generalised cross-validation",
    "dgcv": "distributed generalised cross-validation",
    "cp": "Mallows' Cp",
}


class Mark(NamedTuple):
    """A place that can be pointed at, in per cent, what it says, and its slice."""

    x: float
    y: float
    text: str
    slice: int | None = None


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
        places = [(self(value), _tick(value)) for value in ticks]
        return {"title": f"{title}, log scale" if self.log else title, "ticks": places}

    def panel(self, title: str, shapes: Sequence[Shape], most: int = 7) -> Data:
        """Shapes above this scale."""
        return {"name": "log" if self.log else "linear", "axis": self.axis(title, most), "shapes": shapes}


class SliceScale:
    """From the response to per cent of an axis along which all slices are equally wide, but for insets at the ends."""

    def __init__(self, slices: list[Data], inset: float = 0.0) -> None:
        self.slices = slices
        self.edges = [*(s["low"] for s in slices), slices[-1]["high"]]
        self.places = np.linspace(inset, 100.0 - inset, len(self.edges)).tolist()

    def __call__(self, values: Any) -> Any:
        return np.interp(values, self.edges, self.places, left=0.0, right=100.0).tolist()

    def middle(self, i: int) -> float:
        """The middle of a slice."""
        return float(self.places[i] + self.places[i + 1]) / 2

    def axis(self, title: str, n_ticks: int = 5) -> Axis:
        """The axis with labels at round numbers, about evenly spread; fewer where they are long."""
        ticks: list[tuple[float, str]] = []
        wanted = np.linspace(self.places[0], self.places[-1], n_ticks)
        for value in np.interp(wanted, self.places, self.edges).tolist():
            round_ones = (rounded(value, digits) for digits in (1, 2, 3))
            inside = (near for near in round_ones if self.edges[0] <= near <= self.edges[-1])
            # the roundest number that lies about where it is wanted
            label = next((near for near in inside if abs(self(near) - self(value)) < 5.0), value)
            place = self(label)
            if not ticks or place - ticks[-1][0] > 60.0 / n_ticks:
                ticks.append((place, _tick(label)))
        if n_ticks > FEW_TICKS and sum(len(text) for _, text in ticks) > FEW_CHARACTERS:
            return self.axis(title, FEW_TICKS)
        return {"title": title, "ticks": ticks}

    def shape(self, path: str, kind: str, i: int) -> Shape:
        """What is drawn of a slice, rare or not."""
        return _shape(path, f"{kind} rare" if self.slices[i]["rare"] else kind, i)

    def dashes(self, values: Sequence[float | None], y: Scale) -> list[Shape]:
        """Level lines, one a slice."""
        ends = [_short(place) for place in self.places]
        # 0 has no place on a log axis
        found = [(i, _short(100 - y(value))) for i, value in enumerate(values) if value]
        return [_shape(f"M{ends[i]} {height}H{ends[i + 1]}", "dash", i) for i, height in found]

    def bands(self) -> list[Shape]:
        """The rare region, behind everything."""
        rare = np.array([False, *(s["rare"] for s in self.slices), False])
        ends = np.array(self.places)[np.flatnonzero(np.diff(rare))].reshape(-1, 2)  # where rare begins or ends
        return [_shape(f"M{left:.2f} 0H{right:.2f}V100H{left:.2f}Z", "band") for left, right in ends]

    def legend(self, kind: str) -> list[tuple[str, str]]:
        """What colours mean."""
        legend = [(kind, "common"), (f"{kind} rare", "rare")]
        return legend if any(s["rare"] for s in self.slices) else legend[:1]


def charts(data: Data) -> dict[str, Chart]:
    """Every chart that the data are enough for, by name."""
    facts, errors = data["response"]["facts"], data["errors"]
    made = []
    if "path" in data["method"]:
        made.append(path_chart(data["method"]["path"]))
    if facts["min"] < facts["max"]:
        made += [response_chart(data), scatter_chart(data), *partial_charts(data["drivers"]["partial"])]
        if any(e["mse"] or e["mean"] for e in errors["slices"]):
            made.append(error_chart(data))
        if "more_rows" in data["next"]:
            made.append(learning_chart(data))
        if "likely" in errors and len(errors["likely"]["levels"]) > 1:
            made.append(level_chart(data))
    return {chart.name: chart for chart in made}


def response_chart(data: Data) -> Chart:
    """Rows in every slice, and what the method made of them: rows after copying, or centres."""
    method, name = data["method"], data["response"]["name"]
    scale = SliceScale(data["response"]["slices"])
    counts = [s["count"] for s in scale.slices]
    support, cut = method.get("support", {}), method.get("slices", {})
    after, meaning = support.get("per_slice", []), support.get("kind", "")
    if "copies" in cut and cut["most_copies"] > 1:
        after = [count * copies for count, copies in zip(counts, cut["copies"], strict=True)]
        meaning = "rows after copying"
    top = max(counts + after)
    views, marks = [], []
    for y in (Scale(FEWEST, 1.3 * top, log=True), Scale(0.0, 1.05 * top)):
        bars = []
        for i, count in enumerate(counts):
            left, right = scale.places[i : i + 2]
            gap = min(0.15 * (right - left), 0.3)  # beside the bar
            path = f"M{_short(left + gap)} 100V{_short(100 - y(count))}H{_short(right - gap)}V100Z"
            bars += [scale.shape(path, "bar", i)] if count else []
        views.append(y.panel("rows", bars + scale.dashes(after, y)))
    for i, s in enumerate(scale.slices):
        more = f", {meaning}: {number(after[i])}" if after and s["count"] else ""
        between, rows = span(s["low"], s["high"]), counted(s["count"], "row")
        marks.append(Mark(scale.middle(i), 0.0, f"{between}: {rows} ({percent(s['share'])}){more}", i))
    return Chart(
        name="response",
        title=f"Rows along {name}",
        x=scale.axis(name),
        views=views,
        marks=marks,
        legend=scale.legend("bar") + ([("dash", meaning)] if after else []),
        behind=scale.bands(),
    )


def error_chart(data: Data) -> Chart:
    """Mean squared error in every slice, beside that of predicting the mean."""
    errors, scale = data["errors"]["slices"], SliceScale(data["response"]["slices"])
    found = [e[key] for e in errors for key in ("mse", "mean") if e[key]]  # 0 has no place on a log axis
    with_rows = [(i, e) for i, e in enumerate(errors) if e["mse"] is not None]
    views, marks = [], []
    for y in (Scale(min(found) / 1.5, 1.5 * max(found), log=True), Scale(0.0, 1.05 * max(found))):
        dots = [scale.shape(_dot(scale.middle(i), y(e["mse"])), "dot", i) for i, e in with_rows]
        views.append(y.panel("mean squared error", scale.dashes([e["mean"] for e in errors], y) + dots))
    for i, e in with_rows:
        between = span(scale.edges[i], scale.edges[i + 1])
        own = f"{number(e['mse'])} on {counted(e['n_rows'], 'row')}, bias {number(e['bias'])}"
        marks.append(Mark(scale.middle(i), 0.0, f"{between}: {own}; the mean has {number(e['mean'])}", i))
    return Chart(
        name="errors",
        title="Error along the response",
        x=scale.axis(f"observed {data['response']['name']}"),
        views=views,
        marks=marks,
        legend=[*scale.legend("dot"), ("dash", "predicting the mean")],
        behind=scale.bands(),
    )


def scatter_chart(data: Data) -> Chart:
    """Prediction against observation, on axes along which slices are equally wide; rare points are drawn last."""
    name, points = data["response"]["name"], data["errors"]["points"]
    scale = SliceScale(data["response"]["slices"], INSET)
    columns = [points[key] for key in ("observed", "predicted", "slice")]
    marks, paths = [], dict[int, str]()
    for x, y, observed, predicted, i in zip(scale(columns[0]), scale(columns[1]), *columns, strict=True):
        marks.append(Mark(x, y, f"observed {number(observed, 4)}, predicted {number(predicted, 4)}", i))
        paths[i] = paths.get(i, "") + _dot(x, y)
    last = sorted(paths, key=lambda i: (scale.slices[i]["rare"], i))
    axis = scale.axis(f"predicted {name}")
    return Chart(
        name="points",
        title="Predicted against observed",
        x={**axis, "title": f"observed {name}"},
        views=[{"name": "linear", "axis": axis, "shapes": [scale.shape(paths[i], "point", i) for i in last]}],
        marks=marks,
        legend=[*scale.legend("dot"), ("diagonal", "as observed")],
        behind=[_line([(INSET, INSET), (100 - INSET, 100 - INSET)], "diagonal")],
        near="xy",
    )


def path_chart(path: Data) -> Chart:
    """The criterion along the penalties (or the bandwidths), the chosen curve in front; high starts are cut off."""
    criterion = str(CRITERIA.get(path["criterion"], path["criterion"]))
    criterion += "" if path["scoring"] == "mse" else f" ({path['scoring']})"
    curves = sorted(path["curves"], key=lambda curve: curve["chosen"])
    lines = []
    for curve in curves:
        pairs = zip(path["x"], curve["values"], strict=True)
        lines.append([(penalty, value) for penalty, value in pairs if penalty is not None and value is not None])
    penalties, values = zip(*(point for line in lines for point in line), strict=True)
    x = Scale(min(penalties), max(penalties), log=True)

    low, high, end = min(values), max(values), max(line[-1][1] for line in lines if line)
    y = Scale(low, high)
    if low > 0:
        top = min(high, PATH_TOP * end) if end > low else high  # high starts are cut off
        y = Scale(low / PATH_MARGIN, PATH_MARGIN * top, log=True)

    shapes, marks = [], []
    for curve, line in zip(curves, lines, strict=True):
        bandwidth = f", bandwidth {curve['name']}" if curve["name"] else ""
        points = []
        for penalty, value in line:
            text = f"{path['along']} {number(penalty)}{bandwidth}: {criterion} {number(value)}"
            points.append(Mark(x(penalty), y(value), text))
        marks += points
        shapes += [_line(points, "line chosen" if curve["chosen"] else "line")] if points else []
    choice = x(path["choice"])
    return Chart(
        name="path",
        title=f"How the {path['along']} was chosen",
        x=x.axis(path["along"], most=5),  # labels stand side by side
        views=[{"name": "linear", "axis": y.axis(criterion), "shapes": shapes}],
        marks=marks,
        legend=[("line chosen", "chosen"), *([("line", "other bandwidths")] if len(curves) > 1 else [])],
        behind=[_line([(choice, 0.0), (choice, 100.0)], "chosen-at")],
        near="xy",
    )


def partial_charts(curves: list[Data]) -> Iterator[Chart]:
    """The mean prediction along one column each, on one scale; ticks at the foot are deciles of the column."""
    every = [value for curve in curves for value in curve["mean"]]
    if not every:
        return
    room = ROOM * (max(every) - min(every) or 1.0)
    y = Scale(min(every) - room, max(every) + room)
    for place, curve in enumerate(curves):
        if curve["kind"] == "level":
            continue
        x = Scale(curve["values"][0], curve["values"][-1])
        named = curve["labels"] or labels(curve["values"])
        texts = [f"{name}: {amount(mean)}" for name, mean in zip(named, curve["mean"], strict=True)]
        marks = _marks(x, y, curve["values"], curve["mean"], texts)
        axis = x.axis(curve["name"], most=3)
        if curve["kind"] != "number" or len(axis["ticks"]) < 2:  # dates, or no round numbers: the values themselves
            taken = sorted({0, (len(named) - 1) // 2, len(named) - 1})
            axis["ticks"] = [(marks[i].x, named[i]) for i in taken]
        yield Chart(
            name=f"partial-{place}",
            title=curve["name"],
            x=axis,
            views=[y.panel("mean prediction", [_line(marks, "curve")], most=4)],
            marks=marks,
            behind=[_shape(f"M{x(at):.2f} 100V94", "rug") for at in curve["deciles"]],
        )


def learning_chart(data: Data) -> Chart:
    """The error of fits to fewer rows, and what twice the rows would make of it."""
    found = data["next"]["more_rows"]
    n_rows = [*found["n_rows"], 2 * found["n_rows"][-1]]
    errors = [*found["rmse"], found["twice"]]
    x = Scale(n_rows[0] / 1.3, 1.3 * n_rows[-1], log=True)
    y = Scale(0.0, 1.1 * max(found["rmse"]))
    texts = [f"{counted(n, 'row')}: RMSE {amount(error)}" for n, error in zip(n_rows, errors, strict=True)]
    texts[-1] = f"{counted(n_rows[-1], 'row')}: about {amount(found['twice'])}"
    marks = _marks(x, y, n_rows, errors, texts)
    shapes = [_line(marks[:-1], "curve"), _line(marks[-2:], "diagonal")]
    shapes += [_shape(_dot(mark.x, mark.y), "dot") for mark in marks[:-1]]
    shapes.append(_shape(_dot(marks[-1].x, marks[-1].y), "dot ahead"))
    return Chart(
        name="learning",
        title="Would more rows help?",
        x={"title": "rows of the fit, log scale", "ticks": [(x(n), number(n)) for n in n_rows[:-1]]},
        views=[y.panel(f"RMSE of {data['response']['name']}", shapes)],
        marks=marks,
        legend=[("dot", "fits"), ("diagonal", "twice the rows, by the last slope")],
    )


def level_chart(data: Data) -> Chart:
    """Levels that one in so many rows exceeds, as stated, and as counted among the rows of the report."""
    found, n_rows = data["errors"]["likely"]["levels"], data["errors"]["n_rows"]
    periods, levels = [one["period"] for one in found], [one["level"] for one in found]
    low, high = min(levels), max(levels)
    low = 0.0 if 0 <= low < 0.5 * high else low
    x = Scale(periods[0] / 1.3, 1.3 * periods[-1], log=True)
    y = Scale(low, high + ROOM * (high - low or 1.0))
    texts = [f"one in {number(one['period'])} rows: more than {amount(one['level'])}" for one in found]
    marks = _marks(x, y, periods, levels, texts)
    dots = [_dot(x(n_rows / one["counted"]), y(one["level"])) for one in found if one["counted"]]
    return Chart(
        name="levels",
        title="What one in so many rows exceeds",
        x=x.axis("one in so many rows", most=5),
        views=[y.panel(data["response"]["name"], [_line(marks, "curve"), *(_shape(dot, "dot rare") for dot in dots)])],
        marks=marks,
        legend=[("curve", "stated"), ("dot rare", "counted")],
    )


def _shape(path: str, kind: str, i: int | None = None) -> Shape:
    return {"path": path, "kind": kind, "slice": i}


def _marks(x: Scale, y: Scale, xs: list[float], ys: list[float], texts: list[str]) -> list[Mark]:
    return [Mark(x(across), y(up), text) for across, up, text in zip(xs, ys, texts, strict=True)]


def _dot(x: float, y: float) -> str:
    """The path of a point: a line without length, which round ends turn into a dot of any stretch."""
    return f"M{_short(x)} {_short(100 - y)}h0"


def _line(points: Sequence[Any], kind: str) -> Shape:
    """A line through points, or marks."""
    return _shape("M" + "L".join(f"{_short(x)} {_short(100 - y)}" for x, y, *_ in points), kind)


def _short(value: float) -> str:
    return f"{round(value, 2):g}"


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
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = max(1, -(-(len(powers) - 1) // most))
    fine = [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    tens = [10.0**p for p in powers if p % every == 0 and low <= 10.0**p <= high]
    few = [ticks for ticks in (fine, tens) if 2 < len(ticks) <= most + 1]
    return few[0] if few else linear_ticks(low, high, most)
