"""Sheets of Excel workbooks: the first row is the header, formulas are what they last gave."""

from __future__ import annotations

from typing import Any
from zipfile import ZipFile

from skewridge._validation import warn_user
from skewridge.io.cells import column_of
from skewridge.io.csv_files import check_names
from skewridge.io.dialects import NULLS
from skewridge.io.memory import require_table
from skewridge.io.opening import opened
from skewridge.io.parquet_files import in_one_line

_GAPS = frozenset(NULLS)


def read_sheet(url: str, sheet: str | None = None) -> tuple[Any, str]:
    """A sheet as a table of pyarrow, and which one it is where there are several and none was named."""
    names, rows = _cells(url, sheet)
    if not rows:
        raise ValueError(f"{url} cannot be read as Excel: No columns: the sheet is empty.")
    width = max(map(len, rows))
    header = ["" if name is None else str(name).strip() for name in rows[0]] + [""] * (width - len(rows[0]))
    columns = {i: [row[i] if i < len(row) else None for row in rows[1:]] for i in range(width)}
    nameless = [i for i in columns if not header[i] and any(value is not None for value in columns[i])]
    if nameless:
        warn_user(f"{url}: {len(nameless)} columns without a name are ignored.")
    return _table(url, header, columns), f"sheet {names[0]!r}, the first of {len(names)}" if len(names) > 1 else ""


def _table(url: str, header: list[str], columns: dict[int, list[Any]]) -> Any:
    import pyarrow as pa

    try:
        check_names([name for name in header if name])
    except ValueError as error:
        raise ValueError(f"{url}: {error}") from error
    return pa.table({header[i]: column_of(values) for i, values in columns.items() if header[i]})


def _cells(url: str, sheet: str | None) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of sheets, of which the first is read, and its rows that are not empty."""
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise ImportError(f"{url} is an Excel file, which needs openpyxl: pip install 'skewridge[excel]'.") from error
    with opened(url) as file:
        try:
            with ZipFile(file) as archive:
                n_bytes = sum(member.file_size for member in archive.infolist())
            require_table(url, n_bytes)
            book = load_workbook(file, read_only=True, data_only=True)
            names = list(book.sheetnames) if sheet is None else [sheet]
            known = {found.title: found for found in book.worksheets}
            if names[0] in known:
                known[names[0]].reset_dimensions()  # which some programs write wrongly
                rows = [tuple(map(_value, row)) for row in known[names[0]].iter_rows(values_only=True)]
                return names, [row for row in rows if any(value is not None for value in row)]
        except MemoryError:
            raise
        except Exception as error:  # a parser of XML, zip archives and openpyxl have no error in common
            raise OSError(f"{url} cannot be read as Excel: {in_one_line(error)} Is it a whole .xlsx file?") from error
    raise ValueError(f"{url} has no sheet {sheet!r}; it has {', '.join(map(repr, known))}.")


def _value(cell: Any) -> Any:
    return None if isinstance(cell, str) and cell.strip() in _GAPS else cell
