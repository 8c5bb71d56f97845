"""The line of a fit's progress: rewritten in a terminal, one line a tenth of the work elsewhere."""

from __future__ import annotations

import shutil
from typing import TextIO

SILENT = 2.0  # seconds before anything is shown
REWRITE_EVERY = 0.2  # seconds between two states of the line in a terminal


class ProgressLine:
    """Writes how far a fit is to a stream.

    Parameters
    ----------
    stream : where to write
    terminal : bool, whether the line can be rewritten; None asks the stream

    Examples
    --------
    >>> import sys
    >>> line = ProgressLine(sys.stdout, terminal=False)
    >>> line.show("cells", 0.05, 1.0, 19.0)
    >>> line.show("cells", 0.25, 5.0, 15.0)
    [skewridge] cells: 25%, 5 s, 15 s left
    >>> line.end(20.0)
    [skewridge] done: 100%, 20 s
    """

    def __init__(self, stream: TextIO, terminal: bool | None = None) -> None:
        self._stream = stream
        self._terminal = stream.isatty() if terminal is None else terminal
        self._tenth, self._shown, self._width = 0, -REWRITE_EVERY, 0

    def show(self, label: str, share: float, elapsed: float, left: float | None) -> None:
        """Show the state of a fit, if it is time to."""
        if elapsed < SILENT:
            return
        if not self._terminal:
            tenth = min(9, int(10 * share))  # the last is told at the end
            if tenth > self._tenth:
                self._tenth = tenth
                self._write(_text(label, share, elapsed, left) + "\n")
        elif elapsed - self._shown >= REWRITE_EVERY:
            self._shown = elapsed
            text = _text(label, share, elapsed, left)[: shutil.get_terminal_size().columns - 1]
            before, self._width = self._width, len(text)  # known even if writing is interrupted
            self._write("\r" + text.ljust(before))

    def end(self, elapsed: float, failed: bool = False) -> None:
        """Clear a terminal's line, or end it after a failure; elsewhere say that it is done."""
        if self._terminal:
            if self._width:
                self._write("\n" if failed else "\r" + " " * self._width + "\r")
        elif elapsed >= SILENT and not failed and self._tenth < 10:
            self._write(f"[skewridge] done: 100%, {duration(elapsed)}\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # a closed stream must not end a fit
            self._tenth, self._shown = 10, float("inf")


def duration(seconds: float) -> str:
    """Seconds for people.

    Examples
    --------
    >>> duration(3.21), duration(75), duration(7300)
    ('3 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _text(label: str, share: float, elapsed: float, left: float | None) -> str:
    rest = "" if left is None else f", {duration(left)} left"
    return f"[skewridge] {label}: {int(100 * share)}%, {duration(elapsed)}{rest}"
