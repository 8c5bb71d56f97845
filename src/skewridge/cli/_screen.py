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
from typing import Any

import typer

OK, REFUSED, BUG, INTERRUPTED = 0, 1, 3, 130
LINE_EVERY = 10.0  # seconds between lines of progress
EXPECTED = (ValueError, TypeError, OSError, MemoryError, ImportError, OverflowError, EOFError, NotImplementedError)


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
    """Where one command writes."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._notes: list[str] = []

    def note(self, text: str) -> None:
        """Report something that is neither a result nor an error, once."""
        if text not in self._notes:
            self._notes.append(text)
            self.step(f"note: {text}")

    def step(self, text: str) -> None:
        """Report what is being done."""
        if not self.as_json:
            _write(sys.stderr, printable(text))

    def show(self, answer: Answer) -> None:
        """Print the result."""
        if self.as_json:
            self._write_json(answer.data)
            return
        for part in answer.parts:
            if isinstance(part, Table):
                _print_table(part)
            else:
                _write(sys.stdout, printable(part))

    def fail(self, text: str) -> None:
        """Print an error."""
        if self.as_json:
            self._write_json({"error": text})
        _write(sys.stderr, f"error: {printable(text)}")

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Show how far the work is: a bar where a person looks on, now and then a line where nobody does."""
        from skewridge.execution.progress import watched

        last = time.monotonic()

        def write_line(label: str, done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= LINE_EVERY:
                last = time.monotonic()
                self.step(f"{label}: {done}%" if total == 100 else f"{label}: {done} of {total}")

        if self.as_json:
            yield
        elif not sys.stderr.isatty():
            with watched(write_line):
                yield
        else:
            from rich.console import Console
            from rich.progress import Progress

            with Progress(console=Console(stderr=True), transient=True) as bars:
                task = bars.add_task("", total=None)
                with watched(lambda label, n, of: bars.update(task, description=label, completed=n, total=of)):
                    yield

    def _write_json(self, data: dict[str, Any]) -> None:
        _write(sys.stdout, json.dumps({**data, "notes": self._notes}, indent=2, allow_nan=False))


def run(work: Callable[[Screen], Answer], as_json: bool) -> None:
    """Do the work of a command and show what it found, warnings as notes; end with an exit code where it fails."""
    screen = Screen(as_json)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            warnings.showwarning = lambda message, *others, **more: screen.note(str(message))
            answer = work(screen)
        screen.show(answer)
    except KeyboardInterrupt:
        screen.fail("Interrupted. No file is half-written.")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(OK) from None
    except Exception as error:
        if os.environ.get("SKEWRIDGE_DEBUG"):
            raise
        if isinstance(error, EXPECTED):
            screen.fail(_message(error))
            raise typer.Exit(REFUSED) from None
        screen.fail(f"This is a bug in skewridge: {error!r}. SKEWRIDGE_DEBUG=1 shows where it is.")
        raise typer.Exit(BUG) from None


def _message(error: Exception) -> str:
    """The message of an error; an error of the system about a file comes with the file's name."""
    if isinstance(error, MemoryError) and not str(error):
        return "There is not enough memory. Use fewer rows or columns, or a machine with more."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def printable(text: str) -> str:
    """Return text without characters that would move a terminal's cursor or change its colours."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def _write(stream: Any, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()


def _print_table(table: Table) -> None:
    from skewridge._messages import aligned

    rows = [[printable(cell) for cell in row] for row in (table.headings, *table.rows)]
    if not sys.stdout.isatty():
        _write(sys.stdout, aligned(rows, numbers=table.numbers))
        return
    from rich.console import Console
    from rich.table import Table as Rich
    from rich.text import Text

    shown = Rich()
    for i, heading in enumerate(rows[0]):
        shown.add_column(Text(heading), justify="right" if i and table.numbers else "left")
    for row in rows[1:]:
        shown.add_row(*map(Text, row))
    Console().print(shown)
