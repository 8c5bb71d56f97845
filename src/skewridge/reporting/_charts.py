"""The charts of a report, from its data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from skewridge._messages import counted, number, percent, span
from skewridge.reporting._question_charts import question_charts
from skewridge.reporting._shapes import Axis, Chart, Mark, Scale, Shape, SliceScale, View, bar, dash, dot, line

Data = dict[str, Any]

FEWEST = 0.6  # rows at the foot of a logarithmic axis: one row must show
INSET = 3.0
CRITERIA = {
    "loo": "leave-one-out error",
    "cv": "cross-validated error",
    "gcv": "generalised cross-validation",
    "dgcv": "distributed generalised cross-validation",
    "cp": "Mallows' Cp",
}


def response_chart(data: Data) -> Chart:
    """Rows in every slice, and what the method made of them: rows after copying, or centres."""
    response = data["response"]
    slices, scale = response["slices"], slice_scale(data)
    after, meaning = _after(data)
    top = max([s["count"] for s in slices] + after)
    views = {"log": Scale(FEWEST, 1.3 * top, log=True), "linear": Scale(0.0, 1.05 * top)}
    marks = [Mark(_middle(scale, i), 0.0, _rows_text(data, i, after, meaning), i) for i in range(len(slices))]
    return Chart(
        name="response",
        title=f"Rows along {response['name']}",
        x=scale.axis(response["name"]),
        views=[
            View(n, v.axis("rows"), [*_bars(slices, scale, v), *_dashes(after, scale, v)]) for n, v in views.items()
        ],
        marks=marks,
        legend=[*_kinds("bar", slices), *([("dash", meaning)] if after else [])],
        behind=_bands(slices, scale),
    )


def error_chart(data: Data) -> Chart | None:
    """Mean squared error in every slice, beside that of predicting the mean."""
    name, slices, errors = data["response"]["name"], data["response"]["slices"], data["errors"]["slices"]
    scale, found = slice_scale(data), [e[key] for e in errors for key in ("mse", "mean") if e[key]]
    if not found:
        return None
    views = {"log": Scale(min(found) / 1.5, 1.5 * max(found), log=True), "linear": Scale(0.0, 1.05 * max(found))}
    means = [e["mean"] for e in errors]
    held = [i for i, e in enumerate(errors) if e["mse"] is not None]

    def shapes(view: Scale) -> Iterator[Shape]:
        yield from _dashes(means, scale, view)
        for i in held:
            yield Shape(dot(_middle(scale, i), view(errors[i]["mse"])), _kind("dot", slices[i]), i)

    return Chart(
        name="errors",
        title="Error along the response",
        x=scale.axis(f"observed {name}"),
        views=[View(n, view.axis("mean squared error"), list(shapes(view))) for n, view in views.items()],
        marks=[Mark(_middle(scale, i), 0.0, _error_text(slices[i], errors[i]), i) for i in held],
        legend=[*_kinds("dot", slices), ("dash", "predicting the mean")],
        behind=_bands(slices, scale),
    )


def scatter_chart(data: Data) -> Chart:
    """Prediction against observation, on axes along which slices are equally wide."""
    name, points, scale = data["response"]["name"], data["errors"]["points"], slice_scale(data, INSET)
    columns = (points[key] for key in ("observed", "predicted", "slice"))
    rows = list(zip(scale(points["observed"]), scale(points["predicted"]), *columns, strict=True))
    axis = scale.axis(name)
    return Chart(
        name="points",
        title="Predicted against observed",
        x=Axis(f"observed {name}", axis.ticks),
        views=[View("linear", Axis(f"predicted {name}", axis.ticks), _points(rows, data["response"]["slices"]))],
        marks=[Mark(x, y, f"observed {number(o, 4)}, predicted {number(p, 4)}", j) for x, y, o, p, j in rows],
        legend=[*_kinds("dot", data["response"]["slices"]), ("diagonal", "as observed")],
        behind=[Shape(line([(INSET, INSET), (100 - INSET, 100 - INSET)]), "diagonal")],
        near="xy",
    )


def path_chart(data: Data) -> Chart | None:
    """The criterion along the penalties (or the bandwidths), the chosen curve in front."""
    path = data["method"].get("path")
    if path is None:
        return None
    ordered = sorted(path["curves"], key=lambda one: bool(one["chosen"]))
    curves = [(one, _known(path["x"], one["values"])) for one in ordered]
    at = [x for _, points in curves for x, _ in points]
    x, y = Scale(min(at), max(at), log=True), _criterion_scale([[v for _, v in points] for _, points in curves])
    others = [("line", "other bandwidths")] if len(curves) > 1 else []
    lines = [Shape(line([(x(a), y(v)) for a, v in points]), _line_kind(one)) for one, points in curves if points]
    return Chart(
        name="path",
        title=f"How the {path['along']} was chosen",
        x=x.axis(path["along"], most=5),  # labels stand side by side
        views=[View("linear", y.axis(_criterion(path)), lines)],
        marks=[Mark(x(a), y(v), _path_text(path, one, a, v)) for one, points in curves for a, v in points],
        legend=[("line chosen", "chosen"), *others],
        behind=[Shape(line([(x(path["choice"]), 0.0), (x(path["choice"]), 100.0)]), "chosen-at")],
        near="xy",
    )


def charts(data: Data) -> dict[str, Chart]:
    """Return every chart that the data are enough for, by name."""
    makers: tuple[Callable[[Data], Chart | None], ...] = (response_chart, path_chart, error_chart, scatter_chart)
    constant = data["response"]["facts"]["min"] == data["response"]["facts"]["max"]
    made = [make(data) for make in makers if make is path_chart or not constant]
    return {chart.name: chart for chart in [*made, *question_charts(data)] if chart is not None}


def slice_scale(data: Data, inset: float = 0.0) -> SliceScale:
    """Return the scale along which every slice, or group of slices, has the same width."""
    slices = data["response"]["slices"]
    edges = [s["low"] for s in slices] + [slices[-1]["high"]]
    return SliceScale(edges, [100.0 * i / len(slices) for i in range(len(edges))], inset)


def _after(data: Data) -> tuple[list[float], str]:
    """The rows of every slice after the method, and their name."""
    method, slices = data["method"], data["response"]["slices"]
    copies = method.get("slices", {}).get("copies")
    if copies and method["slices"]["most_copies"] > 1:
        return [s["count"] * c for s, c in zip(slices, copies, strict=True)], "rows after copying"
    support = method.get("support", {"kind": ""})
    return support.get("per_slice", []), support["kind"]


def _bars(slices: list[Data], scale: SliceScale, view: Scale) -> Iterator[Shape]:
    for i, s in enumerate(slices):
        if s["count"]:
            yield Shape(bar(scale.places[i], scale.places[i + 1], view(s["count"])), _kind("bar", s), i)


def _dashes(values: Sequence[float | None], scale: SliceScale, view: Scale) -> Iterator[Shape]:
    for i, value in enumerate(values):
        if value:
            yield Shape(dash(scale.places[i], scale.places[i + 1], view(value)), "dash", i)


def _bands(slices: list[Data], scale: SliceScale) -> list[Shape]:
    """The rare region, behind everything."""
    runs = [list(run) for rare, run in groupby(range(len(slices)), lambda i: bool(slices[i]["rare"])) if rare]
    ends = [(scale.places[run[0]], scale.places[run[-1] + 1]) for run in runs]
    return [Shape(f"M{left:.2f} 0H{right:.2f}V100H{left:.2f}Z", "band") for left, right in ends]


def _points(rows: list[tuple[Any, ...]], slices: list[Data]) -> list[Shape]:
    """One path for the points of a slice; rare ones are drawn last."""
    paths: dict[int, list[str]] = {}
    for x, y, _, _, j in rows:
        paths.setdefault(j, []).append(dot(x, y))
    order = sorted(paths, key=lambda j: (bool(slices[j]["rare"]), j))
    return [Shape("".join(paths[j]), _kind("point", slices[j]), j) for j in order]


def _known(x: Sequence[float | None], values: Sequence[float | None]) -> list[tuple[float, float]]:
    """Points both of whose coordinates are numbers."""
    return [(a, v) for a, v in zip(x, values, strict=True) if a is not None and v is not None]


def _criterion_scale(curves: list[list[float]]) -> Scale:
    """Logarithmic where all values are positive; what rises far above where the curves end is cut off."""
    values, ends = [v for curve in curves for v in curve], [curve[-1] for curve in curves if curve]
    low, high = min(values), max(values)
    high = min(high, 1.3 * max(ends)) if max(ends) > low > 0 else high
    return Scale(low / 1.1, 1.1 * high, log=True) if low > 0 else Scale(low, high)


def _line_kind(one: Data) -> str:
    return "line chosen" if one["chosen"] else "line"


def _criterion(path: Data) -> str:
    name = str(CRITERIA.get(path["criterion"], path["criterion"]))
    return name if path["scoring"] == "mse" else f"{name} ({path['scoring']})"


def _path_text(path: Data, one: Data, at: float, value: float) -> str:
    fixed = f", bandwidth {one['name']}" if one["name"] else ""
    return f"{path['along']} {number(at)}{fixed}: {_criterion(path)} {number(value)}"


def _rows_text(data: Data, i: int, after: list[float], meaning: str) -> str:
    s = data["response"]["slices"][i]
    more = f", {meaning}: {number(after[i])}" if after and s["count"] else ""
    return f"{span(s['low'], s['high'])}: {counted(s['count'], 'row')} ({percent(s['share'])}){more}"


def _error_text(s: Data, e: Data) -> str:
    return (
        f"{span(s['low'], s['high'])}: {number(e['mse'])} on {counted(e['n_rows'], 'row')}, bias {number(e['bias'])}; "
        f"the mean has {number(e['mean'])}"
    )


def _middle(scale: SliceScale, i: int) -> float:
    return (scale.places[i] + scale.places[i + 1]) / 2


def _kind(name: str, s: Data) -> str:
    return f"{name} rare" if s["rare"] else name


def _kinds(name: str, slices: list[Data]) -> list[tuple[str, str]]:
    rare = [(f"{name} rare", "rare")] if any(s["rare"] for s in slices) else []
    return [(name, "common"), *rare]
