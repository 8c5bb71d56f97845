"""Output of commands: results on stdout, the rest on stderr; bars for people, lines for pipes, JSON for machines."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import typer

OK, REFUSED, BUG, INTERRUPTED = 0, 1, 3, 130
LINE_EVERY = 10.0  # seconds between lines of progress
EXPECTED = (ValueError, TypeError, OSError, MemoryError, ImportError, OverflowError, EOFError, NotImplementedError)


class Reading(NamedTuple):
    """What was said about how to read files; None is found from each."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; but for the first column, numbers are aligned at the right."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: bool = True


@dataclass(frozen=True)
class Answer:
    """The result of a command: as data for machines, and as text and tables for people."""

    data: dict[str, Any]
    parts: Sequence[str | Table] = ()


class Screen:
    """Where one command speaks."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._notes: list[str] = []

    def note(self, text: str) -> None:
        """Tell something that is neither a result nor an error, once."""
        if text in self._notes:
            return
        self._notes.append(text)
        if not self.as_json:
            _write(sys.stderr, f"note: {printable(text)}")

    def step(self, text: str) -> None:
        """Tell what is being done."""
        if not self.as_json:
            _write(sys.stderr, printable(text))

    def show(self, answer: Answer) -> None:
        """Print the result."""
        if self.as_json:
            _write(sys.stdout, json.dumps({**answer.data, "notes": self._notes}, indent=2, allow_nan=False))
            return
        for part in answer.parts:
            if isinstance(part, Table):
                _print_table(part)
            else:
                _write(sys.stdout, printable(part))

    def fail(self, text: str) -> None:
        """Print an error."""
        if self.as_json:
            _write(sys.stdout, json.dumps({"error": text, "notes": self._notes}, indent=2))
        _write(sys.stderr, f"error: {printable(text)}")

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Turn the library's warnings into notes."""
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            warnings.showwarning = lambda message, *others, **more: self.note(str(message))
            yield

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Show how far the work is: a bar where a person looks on, now and then a line where nobody does."""
        from skewridge.execution.following import watched

        if self.as_json:
            yield
        elif not sys.stderr.isatty():
            with watched(self._line()):
                yield
        else:
            from rich.console import Console
            from rich.progress import Progress

            with Progress(console=Console(stderr=True), transient=True) as bars:
                task = bars.add_task("", total=None)
                with watched(lambda label, n, of: bars.update(task, description=label, completed=n, total=of)):
                    yield

    def _line(self) -> Callable[[str, int, int], None]:
        told = [time.monotonic()]

        def tell(label: str, done: int, total: int) -> None:
            if time.monotonic() - told[0] >= LINE_EVERY:
                told[0] = time.monotonic()
                self.step(f"{label}: {done}%" if total == 100 else f"{label}: {done} of {total}")

        return tell


def run(work: Callable[[Screen], Answer], as_json: bool) -> None:
    """Do the work of a command and show what it found; end with an exit code where it fails."""
    screen = Screen(as_json)
    try:
        with screen.hearing():
            answer = work(screen)
        screen.show(answer)
    except KeyboardInterrupt:
        screen.fail("Interrupted. No file is half-written.")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(OK) from None
    except EXPECTED as error:
        if os.environ.get("SKEWRIDGE_DEBUG"):
            raise
        screen.fail(_message(error))
        raise typer.Exit(REFUSED) from None
    except Exception as error:
        if os.environ.get("SKEWRIDGE_DEBUG"):
            raise
        screen.fail(f"This is a bug in skewridge: {error!r}. SKEWRIDGE_DEBUG=1 shows where it is.")
        raise typer.Exit(BUG) from None


def printable(text: str) -> str:
    """Return text without characters that would move a terminal's cursor or change its colours."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def _message(error: BaseException) -> str:
    """The message of an error; an error of the system about a file comes with the file's name."""
    if isinstance(error, MemoryError) and not str(error):
        return "There is not enough memory. Use fewer rows or columns, or a machine with more."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _write(stream: Any, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()


def _print_table(table: Table) -> None:
    if sys.stdout.isatty():
        _print_rich(table)
        return
    lines = [[printable(cell) for cell in row] for row in (table.headings, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = ["<", *(">" if table.numbers else "<") * (len(widths) - 1)]
    for line in lines:
        cells = (f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True))
        _write(sys.stdout, "  ".join(cells).rstrip())


def _print_rich(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as Rich
    from rich.text import Text

    shown = Rich()
    for i, heading in enumerate(table.headings):
        shown.add_column(Text(printable(heading)), justify="right" if i and table.numbers else "left")
    for row in table.rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(shown)
