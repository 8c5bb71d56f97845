"""The charts of the four questions: partial dependence, more rows, levels that few rows exceed."""

from __future__ import annotations

from typing import Any

from skewridge._messages import amount, counted, labels, number
from skewridge.reporting._shapes import Axis, Chart, Mark, Scale, Shape, View, dot, line

Data = dict[str, Any]
ROOM = 0.06  # above and below the curves


def question_charts(data: Data) -> list[Chart]:
    """Return every chart that the data are enough for."""
    facts = data["response"]["facts"]
    if facts["min"] == facts["max"]:
        return []
    curves = [one for one in data["drivers"]["partial"] if one["kind"] != "level"]
    drawn = [partial_chart(data, one) for one in curves]
    found = data["next"].get("more_rows")
    likely = data["errors"].get("likely")
    drawn += [learning_chart(data, found)] if found else []
    return drawn + ([level_chart(data, likely["levels"])] if likely and len(likely["levels"]) > 1 else [])


def partial_chart(data: Data, curve: Data) -> Chart:
    """The mean prediction along one column; ticks at the foot are its deciles, and the scale is that of all curves."""
    x = Scale(curve["values"][0], curve["values"][-1])
    every = [value for one in data["drivers"]["partial"] for value in one["mean"]]
    low, high = min(every), max(every)
    y = Scale(low - ROOM * (high - low or 1.0), high + ROOM * (high - low or 1.0))
    points = list(zip(curve["values"], curve["mean"], strict=True))
    named = curve["labels"] or labels(curve["values"])
    rug = [Shape(f"M{x(at):.2f} 100V94", "rug") for at in curve["deciles"]]
    place = next(i for i, one in enumerate(data["drivers"]["partial"]) if one is curve)
    return Chart(
        name=f"partial-{place}",
        title=curve["name"],
        x=_axis(curve, x, named),
        views=[
            View("linear", y.axis("mean prediction", most=4), [Shape(line([(x(a), y(m)) for a, m in points]), "curve")])
        ],
        marks=[Mark(x(a), y(m), f"{named[i]}: {amount(m)}") for i, (a, m) in enumerate(points)],
        behind=rug,
    )


def _axis(curve: Data, x: Scale, named: list[str]) -> Axis:
    """Round numbers; the first, middle and last value of dates, and where there are no round numbers."""
    made = x.axis(curve["name"], most=3)
    if curve["kind"] == "number" and len(made.ticks) > 1:
        return made
    last = len(named) - 1
    taken = sorted({0, last // 2, last})
    return Axis(curve["name"], [(x(curve["values"][i]), named[i]) for i in taken])


def learning_chart(data: Data, found: Data) -> Chart:
    """The error of fits to fewer rows, and what twice the rows would make of it."""
    twice = 2 * found["n_rows"][-1]
    x = Scale(found["n_rows"][0] / 1.3, 1.3 * twice, log=True)
    y = Scale(0.0, 1.1 * max(found["rmse"]))
    points = [(x(n), y(error)) for n, error in zip(found["n_rows"], found["rmse"], strict=True)]
    ahead = (x(twice), y(found["twice"]))
    told = [f"{counted(n, 'row')}: RMSE {amount(e)}" for n, e in zip(found["n_rows"], found["rmse"], strict=True)]
    return Chart(
        name="learning",
        title="Would more rows help?",
        x=Axis("rows of the fit, log scale", [(x(n), number(n)) for n in found["n_rows"]]),
        views=[
            View(
                "linear",
                y.axis(f"RMSE of {data['response']['name']}"),
                [
                    Shape(line(points), "curve"),
                    Shape(line([points[-1], ahead]), "diagonal"),
                    *(Shape(dot(*point), "dot") for point in points),
                    Shape(dot(*ahead), "dot ahead"),
                ],
            )
        ],
        marks=[
            *(Mark(*point, text) for point, text in zip(points, told, strict=True)),
            Mark(*ahead, f"{counted(twice, 'row')}: about {amount(found['twice'])}"),
        ],
        legend=[("dot", "fits"), ("diagonal", "twice the rows, by the last slope")],
    )


def level_chart(data: Data, levels: list[Data]) -> Chart:
    """Levels that one in so many rows exceeds, as stated, and as counted among the rows judged."""
    name, n_rows = data["response"]["name"], data["errors"]["n_rows"]
    x = Scale(levels[0]["period"] / 1.3, 1.3 * levels[-1]["period"], log=True)
    low, high = min(one["level"] for one in levels), max(one["level"] for one in levels)
    low = 0.0 if 0 <= low < 0.5 * high else low
    y = Scale(low, high + ROOM * (high - low or 1.0))
    seen = [one for one in levels if one["counted"]]
    found = [(x(n_rows / one["counted"]), y(one["level"])) for one in seen]
    return Chart(
        name="levels",
        title="What one in so many rows exceeds",
        x=x.axis("one in so many rows", most=5),
        views=[
            View(
                "linear",
                y.axis(name),
                [
                    Shape(line([(x(one["period"]), y(one["level"])) for one in levels]), "curve"),
                    *(Shape(dot(*point), "dot rare") for point in found),
                ],
            )
        ],
        marks=[
            Mark(
                x(one["period"]),
                y(one["level"]),
                f"one in {number(one['period'])} rows: more than {amount(one['level'])}",
            )
            for one in levels
        ],
        legend=[("curve", "stated"), ("dot rare", "counted")],
    )
