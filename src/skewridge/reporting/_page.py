"""A page as a text that does not flood the screen of whoever made it."""

from __future__ import annotations

import os

from skewridge._validation import format_bytes


class Page(str):
    """HTML that shows itself by its title, size and place.

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
