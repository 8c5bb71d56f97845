"""From a report's data to one HTML page that needs nothing else."""

from __future__ import annotations

import os
from functools import partial

from skewridge._messages import amount, counted, labels, number, percent, span
from skewridge._typing import Data
from skewridge._validation import format_bytes
from skewridge.reporting._charts import charts


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
    page.filters.update(number=number, amount=amount, counted=counted, percent=percent, size=format_bytes)
    amounts = partial(span, write=amount)
    page.globals.update(span=span, amounts=amounts, labels=labels, shades=shades, zip=zip)
    drawn = charts(data)
    marks = {
        name: [[round(x, 2), round(y, 2), text, i] for x, y, text, i in chart.marks] for name, chart in drawn.items()
    }
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
    live = {"marks": marks, "slices": slices}  # what the page's script works on
    return page.get_template("report.html").render(**data, charts=drawn, live=live)


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
