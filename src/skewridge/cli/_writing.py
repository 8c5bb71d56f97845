"""Tables to files, and to stdout."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skewridge._atomic import atomic_file
from skewridge.cli._reading import check_output
from skewridge.cli._screen import Screen
from skewridge.io.formats import PARQUET

WRITTEN = (".csv", ".tsv", *PARQUET)
STDOUT = "-"
FORMULA = tuple("=+-@\t\r")  # starts what spreadsheets may run


@dataclass(frozen=True)
class Output:
    """Where predictions go, and whether texts that spreadsheets may run are escaped."""

    path: str
    escape: bool = False

    @property
    def suffix(self) -> str:
        """The file's ending; that of CSV for stdout."""
        return ".csv" if self.path == STDOUT else Path(self.path).suffix.lower()


def check_predictions(output: Output, models: Sequence[str], data: Sequence[str], screen: Screen) -> None:
    """Refuse, before any work, what cannot be written, or would replace what is read."""
    if output.path == STDOUT and screen.as_json:
        raise ValueError("--json and --output - cannot share stdout. Name a file for the output.")
    if output.suffix not in WRITTEN:
        raise ValueError(f"The output {output.path} must end in {', '.join(WRITTEN)}, or be - for stdout.")
    if output.escape and output.suffix in PARQUET:
        raise ValueError("--escape-formulas is for CSV, which spreadsheets open. Leave it out for Parquet.")
    if output.path != STDOUT:
        check_output(output.path, data, *models)


def write_table(frame: Any, output: Output) -> None:
    """Write a data frame, in one step."""
    if output.escape:
        frame = frame.rename(columns=_escaped).apply(lambda column: column.map(_escaped))
    if output.path == STDOUT:
        _to_stdout(frame)
        return
    with atomic_file(output.path) as file:
        if output.suffix in PARQUET:
            frame.to_parquet(file, index=False)
        else:
            frame.to_csv(file, index=False, sep="\t" if output.suffix == ".tsv" else ",")


def _to_stdout(frame: Any) -> None:
    """CSV is UTF-8, as in files, whatever a terminal of another locale shows."""
    text = io.StringIO()
    frame.to_csv(text, index=False)
    if not hasattr(sys.stdout, "buffer"):
        sys.stdout.write(text.getvalue())
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.getvalue().encode())
    sys.stdout.buffer.flush()


def _escaped(cell: Any) -> Any:
    """A text that a spreadsheet would run, with an apostrophe before it; any other cell as it is."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
