"""What an encoder did with every column, as one table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skewridge.tables.columns import Column

HEADINGS = ("column", "taken for", "becomes", "gaps", "note")
WIDTH, FEWEST_LEVELS = 36, 3  # characters of listed levels, about, and levels that are listed in any case
_NAMES = {"means": "category", "drop": "left out"}


@dataclass(frozen=True)
class TableSummary:
    """The columns of an encoder; ``str`` is one aligned table.

    Examples
    --------
    >>> print(TableSummary((Column("town", "category", ("Oslo", "Bergen")), Column("id", "drop", note="ids"))))
    column  taken for  becomes                     gaps  note
    town    category   2 columns of 0 and 1: Oslo, Bergen  0
    id      left out   -                           0     ids
    """

    columns: tuple[Column, ...]

    @property
    def rows(self) -> list[list[str]]:
        """The cells of the table, a row for each column."""
        return [[c.name, _NAMES.get(c.kind, c.kind), becomes(c) or "-", f"{c.n_gaps:,}", c.note] for c in self.columns]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        return {
            "columns": [
                {
                    "name": c.name,
                    "kind": c.kind,
                    "becomes": becomes(c),
                    "features": c.features,
                    "n_levels": len(c.levels),
                    "n_gaps": c.n_gaps,
                    "note": c.note,
                }
                for c in self.columns
            ]
        }

    def __str__(self) -> str:
        lines = [list(HEADINGS), *self.rows]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        return "\n".join(line.rstrip() for line in padded)


def becomes(column: Column) -> str:
    """What a column becomes, in a few words; nothing for one that is left out."""
    if column.kind == "drop":
        return ""
    gaps = ", a column for gaps" if column.gap_flag else ""
    return f"{_own(column)}{gaps}"


def _own(column: Column) -> str:
    levels = column.levels
    if column.kind == "category":
        return f"{len(levels)} columns of 0 and 1: {_listed(levels)}"
    if column.kind == "means":
        return f"mean response and count of {len(levels):,} levels"
    if column.kind == "ordinal":
        return f"place in {_listed(levels)}"
    if column.dates is not None:
        return ", ".join(column.dates.parts)
    return {"number": "number", "boolean": "0 and 1", "duration": "days"}[column.kind]


def _listed(levels: Sequence[str]) -> str:
    """As many levels as fit into a cell, three at least of those that there are."""
    n = 0
    while n < len(levels) and (n < FEWEST_LEVELS or len(", ".join(levels[: n + 1])) <= WIDTH):
        n += 1
    return ", ".join(level[: WIDTH // FEWEST_LEVELS] for level in levels[:n]) + (", ..." if n < len(levels) else "")
