"""From a report's data to one HTML page that needs nothing else."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from skewridge._messages import amount, counted, labels, number, percent, span
from skewridge._typing import Data
from skewridge._validation import format_bytes
from skewridge.reporting._charts import Chart, charts

# Told apart by readers of any colour vision; contrasts are checked in tests.
LIGHT = {
    "page": "#f3f4f6",
    "card": "#ffffff",
    "text": "#1b1f24",
    "muted": "#57606a",
    "line": "#d8dce1",
    "control": "#7a828c",
    "common": "#3a6ea5",
    "rare": "#b93f0b",
    "band": "#fcefe6",
    "accent": "#1d5fa3",
    "on-accent": "#ffffff",
    "focus": "#6d28d9",
}
DARK = {
    "page": "#0f1217",
    "card": "#181c23",
    "text": "#e6e9ee",
    "muted": "#a3acb8",
    "line": "#2f3641",
    "control": "#76808d",
    "common": "#77a8dd",
    "rare": "#fb923c",
    "band": "#30231b",
    "accent": "#8bbcf0",
    "on-accent": "#10151c",
    "focus": "#c4a7ff",
}
SCORES = {
    "mse": ("Overall", "mean squared error over all rows"),
    "rare_mse": ("Rare (observed)", "rows whose response is rare; favours models that over-predict"),
    "rare_mse_by_prediction": ("Rare (predicted)", "rows whose prediction is rare"),
    "balanced_mse": ("Balanced", "every slice of the response counts alike"),
    "sera": ("Extremes (SERA)", "a sum of squared errors, the more extreme the response the more they count"),
}


def check_extra() -> None:
    """Refuse where what the page is made with is not installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "An HTML report needs jinja2: pip install 'skewridge[report]'. The data alone, "
            "skewridge.reporting.collect(...), need nothing more."
        ) from error


def render(data: Data) -> str:
    """Return the page that tells what :func:`collect` found; everything in it that came from data is escaped.

    Examples
    --------
    >>> from skewridge import DacKernelRidge
    >>> from skewridge.datasets import make_peaks
    >>> from skewridge.reporting import collect, render
    >>> X, y = make_peaks(200, 2, random_state=0)
    >>> told = collect(DacKernelRidge(n_nodes=2, random_state=0).fit(X, y), X, y, title="peaks & more")
    >>> "<h1>peaks &amp; more</h1>" in render(told)
    True
    """
    check_extra()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    page = Environment(
        loader=PackageLoader("skewridge.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page.filters.update(number=number, amount=amount, counted=counted, percent=percent, size=format_bytes, value=_value)
    amounts = partial(span, write=amount)
    page.globals.update(span=span, amounts=amounts, labels=labels, shades=shades, zip=zip)
    drawn = charts(data)
    return page.get_template("report.html").render(
        **data, charts=drawn, live=_live(data, drawn), palettes={"light": LIGHT, "dark": DARK}, names=SCORES
    )


def shades(rows: list[list[float]]) -> Data:
    """Return the cells of a heat map, each an amount and from 0 to 50 how dark it is, and their unit.

    Examples
    --------
    >>> shades([[0.0, 5.0], [10.0, 2.5]])
    {'unit': '', 'rows': [[('0', 0), ('5', 25)], [('10', 50), ('2.5', 12)]]}
    >>> shades([[2e6, 3e6]])["unit"]
    ' in thousands'
    """
    low, high = min(map(min, rows)), max(map(max, rows))
    many = 1e6 <= max(abs(low), abs(high)) < 1e9
    cells = [
        [(amount(v / 1000 if many else v), int(50 * (v - low) / ((high - low) or 1.0))) for v in row] for row in rows
    ]
    return {"unit": " in thousands" if many else "", "rows": cells}


def _value(given: Any) -> str:
    """A setting: numbers for people, texts as they are."""
    return number(given, 4) if isinstance(given, float) else str(given)


def _live(data: Data, drawn: dict[str, Chart]) -> Data:
    """Data for the page's script: the marks of every chart, and rows and squared errors of every slice."""
    slices = [
        {
            "rare": s["rare"],
            "held": bool(s["count"] or e["n_rows"]),
            "rows": e["n_rows"],
            "squares": e["n_rows"] * (e["mse"] or 0.0),
            "mean": e["n_rows"] * (e["mean"] or 0.0),
        }
        for s, e in zip(data["response"]["slices"], data["errors"]["slices"], strict=True)
    ]
    marks = {
        name: [[round(x, 2), round(y, 2), text, i] for x, y, text, i in chart.marks] for name, chart in drawn.items()
    }
    return {"marks": marks, "slices": slices}


class Page(str):
    """HTML that shows itself by its title, size and place: the text would flood a screen.

    Examples
    --------
    >>> Page("<p>hello</p>", "SkewRidge for price", "report.html")
    <report 'SkewRidge for price', 12 bytes of HTML, in report.html>
    >>> Page("<p>hello</p>", "SkewRidge for price") == "<p>hello</p>"
    True
    """

    heading: str
    path: str | None

    def __new__(cls, html: str, heading: str = "", path: str | os.PathLike[str] | None = None) -> Page:
        """Keep where the page was written beside it."""
        page = super().__new__(cls, html)
        page.heading, page.path = heading, None if path is None else os.fspath(path)
        return page

    def __repr__(self) -> str:
        """One line, where the text itself would be some hundred thousand characters."""
        where = "not written: pass a path" if self.path is None else f"in {self.path}"
        return f"<report {self.heading!r}, {format_bytes(len(self.encode()))} of HTML, {where}>"
