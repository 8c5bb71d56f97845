"""The report: a fitted model and rows -> a plain dict -> one HTML page (the ``report`` extra)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from skewridge._atomic import atomic_file, check_target
from skewridge._messages import plain
from skewridge._typing import Data
from skewridge._validation import check_real
from skewridge.estimators.sources import files_read_by
from skewridge.io.sources import files_of
from skewridge.reporting._errors import errors, next_steps, trust, where
from skewridge.reporting._input import ReportInput
from skewridge.reporting._render import Page, check_extra, render
from skewridge.reporting._sections import cautions, checksum, cost, method, reproduce, response

__all__ = ["checksum", "collect", "render", "report"]

FORMAT = 2

SECTIONS: dict[str, Callable[[ReportInput], Data]] = {
    "cautions": cautions,
    "trust": trust,
    "where": where,
    "drivers": lambda case: case.drivers,
    "next": next_steps,
    "response": response,
    "method": method,
    "errors": errors,
    "cost": cost,
    "reproduce": reproduce,
}


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    y_ref: Any = None,
    slices: Any = "auto",
    output: int | None = None,
    seconds: float | None = None,
    title: str | None = None,
    baselines: Mapping[str, Any] | None = None,
    train: tuple[Any, Any] | None = None,
) -> str:
    """Return one self-contained HTML page about a fitted model, and write it to a file where a path is given.

    It answers four questions in the units of the response: can I trust it, how wrong is it and where, what drives it,
    what next. Below them it tells how likely large values are, what the response looks like, what was done, what it
    cost, and how to reproduce it.

    Parameters
    ----------
    model : fitted regressor
        Of this package, or a pipeline or search around one. Others are told of with what they have.
    X : (n, d) array or data frame
        Rows to judge the model by, preferably rows that it has not seen.
    y : (n,) array or series
        Their response.
    path : path, optional
        Where to write the page. The file is there in full or not at all.
    y_ref : (N,) array or series, optional
        The training response, which decides what is rare; y unless given.
    slices : {"auto", "scott", "sturges", "fd", "log"}, int or array of edges, default="auto"
        How y_ref is cut. "auto" is the model's own rule; Scott's, or "log" for heavy tails, where it has none.
    output : int, optional
        Which column of y, where there are several.
    seconds : float, optional
        How long the fit took, where that is known.
    title : str, optional
    baselines : dict of (n,) arrays, optional
        What other methods predict of the same rows, by name; ``{"boosted trees": ...}`` also tells when trees would do
        better. Predicting the mean is always there.
    train : (X, y), optional
        The rows that the model was fitted to. Copies of the model are then fitted to at most 1,000 and 4,000 of them,
        and the report tells whether more rows would help; this takes as long as those fits.

    Returns
    -------
    html : str
        At a prompt and in a notebook it shows as one line that says where the page is; ``print(html)`` shows it all.

    Examples
    --------
    >>> from skewridge import AdaptiveKernelRidge, report, response_train_test_split
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(500, 2, random_state=0)
    >>> X_train, X_test, y_train, y_test = response_train_test_split(X, y, random_state=0)
    >>> model = AdaptiveKernelRidge(random_state=0).fit(X_train, y_train)
    >>> html = report(model, X_test, y_test, y_ref=y_train)  # or with path="report.html"
    >>> html.startswith("<!doctype html>")
    True
    >>> html  # doctest: +ELLIPSIS
    <report 'AdaptiveKernelRidge for y', ... kB of HTML, not written: pass a path>
    """
    check_extra()
    if path is not None:
        check_target(path, [*files_of(X), *files_of(y), *files_read_by(model)])
    how = {"slices": slices, "output": output, "seconds": seconds, "baselines": baselines, "train": train}
    told = collect(model, X, y, y_ref=y_ref, title=title, **how)
    html = render(told)
    if path is not None:
        with atomic_file(path) as file:
            file.write(html.encode())
    return Page(html, told["title"], path)


def collect(
    model: Any,
    X: Any,
    y: Any,
    *,
    y_ref: Any = None,
    slices: Any = "auto",
    output: int | None = None,
    seconds: float | None = None,
    title: str | None = None,
    baselines: Mapping[str, Any] | None = None,
    train: tuple[Any, Any] | None = None,
) -> Data:
    """Return what a report tells as plain data that JSON holds; the parameters are those of :func:`report`.

    Examples
    --------
    >>> from skewridge import DacKernelRidge
    >>> from skewridge.datasets import make_peaks
    >>> from skewridge.reporting import collect
    >>> X, y = make_peaks(500, 2, random_state=0)
    >>> told = collect(DacKernelRidge(n_nodes=5, random_state=0).fit(X, y), X, y)
    >>> list(told)
    ['format', 'title', 'cautions', 'trust', 'where', 'drivers', 'next', 'response', 'method', 'errors', 'cost',
     'reproduce']
    >>> told["method"]["nodes"]["n_nodes"], told["errors"]["rows"]
    (5, 'fitted')
    """
    case = ReportInput(model, X, y, y_ref, slices, output, baselines, train)
    took = {} if seconds is None else {"seconds": check_real("seconds", seconds, 0)}
    told = {name: plain(section(case)) for name, section in SECTIONS.items()}
    told["cost"] = {**took, **told["cost"]}
    title = f"{type(case.fitted).__name__} for {case.target}" if title is None else str(title)
    return {"format": FORMAT, "title": title, **told}
