"""From files and standard input to features, a response, and columns that say how rows count and how new ones come."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._atomic import check_target
from skewridge._messages import listed
from skewridge._typing import BoolArray, FloatArray
from skewridge._validation import check_bytes, check_choice, format_bytes
from skewridge.cli._app import FitOptions, Reading
from skewridge.cli._screen import Screen
from skewridge.execution.memory import Budget
from skewridge.io import streams
from skewridge.io.csv_dialect import FOUND, ReadOptions, find_dialect
from skewridge.io.files import list_files, read_whole
from skewridge.io.formats import reader_of
from skewridge.io.streams import copied
from skewridge.io.streams import reading as reading_of
from skewridge.tables.columns import (
    LISTED,
    Column,
    as_frame,
    check_columns,
    codes_of,
    count_missing,
    level_counts,
    refuse_missing,
    refuse_values,
    row_label,
    texts_of,
)
from skewridge.tables.dates import as_days, find_date_format
from skewridge.tables.encoder import TableEncoder

STDIN = "-"
STDIN_NAME = "standard input"
MISSING = ("refuse", "impute", "drop")
REMEDY = "Add --missing impute or --missing drop, or correct the table."
TAKEN_AS = {"weight": "sample_weight", "groups": "groups", "time": "order"}  # by `fit` of an estimator


@dataclass(frozen=True)
class Rows:
    """Features as a data frame, the response, and weights, groups or times as `fit` of an estimator takes them."""

    features: Any
    response: FloatArray
    fit_params: Mapping[str, Any]  # (n,) arrays
    decimal: str | None  # the sign in the files

    def some(self, places: Any) -> Rows:
        """Some of the rows, by place or by a mask."""
        fit_params = {name: values[places] for name, values in self.fit_params.items()}
        return Rows(self.features.iloc[places], self.response[places], fit_params, self.decimal)


def find_files(patterns: Sequence[str]) -> list[str]:
    """Return the files that some names and patterns stand for, in the order given, those of a pattern sorted."""
    if list(patterns).count(STDIN) > 1:
        raise ValueError("Standard input can be read once; got '-' twice. Name files instead.")
    return [file for pattern in patterns for file in ([STDIN] if pattern == STDIN else list_files(pattern))]


def check_output(output: str, data: Sequence[str], *others: str) -> None:
    """Refuse, before any work, a file that cannot be written or that is among those to be read."""
    check_target(output, [*others, *(file for file in find_files(data) if file != STDIN)])


def in_pieces(data: Sequence[str], memory_limit: str | None = None) -> str:
    """What to say of the only file, folder or pattern of a command that memory does not hold; empty for others."""
    if len(data) != 1 or data[0] == STDIN or "://" in data[0]:
        return ""
    limit = None if memory_limit is None else check_bytes("memory_limit", memory_limit)
    n_bytes = sum(os.path.getsize(file) for file in find_files(data))
    return (
        ""
        if n_bytes <= Budget(limit, streams.TEXT).allowed
        else f"{data[0]} has {format_bytes(n_bytes)} and is read in pieces"
    )


def read_options(reading: Reading) -> ReadOptions:
    """What was said, for the reader; a tab may be written as shells hand it on."""
    delimiter = "\t" if reading.delimiter == "\\t" else reading.delimiter
    return ReadOptions(delimiter, reading.decimal, reading.encoding, reading.sheet)


def read_tables(
    files: Sequence[str],
    options: ReadOptions = FOUND,
    *,
    texts: Collection[str] = (),
    named: Collection[str] = (),
    usual_decimal: str | None = None,
    note: Callable[[str], None] | None = None,
) -> tuple[Any, str | None]:
    """Return the rows of all files as a pandas frame whose index counts them as they do, and the sign of decimals.

    ``texts`` are columns that CSV must not take for numbers: codes keep their leading zeros. ``named`` are columns that
    are read though they are the index of a pandas frame, which is left out otherwise. Where no CSV file tells its
    decimal sign, it is what the others have in common, or the usual one. How files were read is noted where it was
    found and is not plain.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ImportError(f"Tables need {error.name}: pip install 'skewridge[cli]'.") from error

    csv = [file for file in files if file != STDIN and reader_of(file).name == "CSV"]
    decimal, open_files = options.decimal, set[str]()
    if decimal is None:
        signs = set()
        for file in csv:
            with reading_of(file, "CSV"):
                dialect = find_dialect(file, options)
            if dialect.settled:
                signs.add(dialect.decimal)
            else:
                open_files.add(file)
        decimal = signs.pop() if len(signs) == 1 else None if signs else usual_decimal

    def read(file: str, plain: Collection[str] = ()) -> tuple[Any, str]:
        if file == STDIN:
            return _read_stdin(texts, named, options)
        own = replace(options, decimal=",") if decimal == "," and file in open_files else options
        return read_whole(file, texts, named, own, plain)

    found = {file: read(file) for file in files}
    in_some = _texts_in_some([found[file][0] for file in csv])
    if in_some:  # 007 is no 7 where another file has x07
        found |= {file: read(file, in_some) for file in csv}
    if note is not None:
        note_dialects({file: how for file, (_, how) in found.items()}, note)
    frames = [found[file][0].to_pandas(ignore_metadata=True) for file in files]
    names = [STDIN_NAME if file == STDIN else file for file in files]
    for name, frame in zip(names, frames, strict=True):
        frame.index = pd.RangeIndex(1, len(frame) + 1, name="row")
        odd = sorted(set(frame.columns) ^ set(frames[0].columns))
        if odd:
            differing = ", ".join(map(repr, odd))
            raise ValueError(f"{name} and {names[0]} differ in the columns {differing}. Make them alike.")
    if len(frames) == 1:
        return as_frame(frames[0]), decimal
    return as_frame(pd.concat([f[frames[0].columns] for f in frames], keys=names, names=["file", "row"])), decimal


def _read_stdin(texts: Collection[str], named: Collection[str], options: ReadOptions) -> tuple[Any, str]:
    """A copy of standard input, which errors call what it is."""
    if sys.stdin.isatty():
        raise ValueError("Nothing is piped into standard input (-). Pipe a table into it, or name a file.")
    with copied(sys.stdin.buffer) as path:
        try:
            return read_whole(path, texts, named, options)
        except (ValueError, OSError, MemoryError, ImportError) as error:
            raise type(error)(str(error).replace(path, STDIN_NAME)) from error


def _texts_in_some(tables: Sequence[Any]) -> set[str]:
    """Columns that are texts in some of the tables, and something else in others."""
    from pyarrow.types import is_large_string, is_string

    found = {
        (name, is_string(column.type) or is_large_string(column.type))
        for table in tables
        for name, column in zip(table.column_names, table.columns, strict=True)
        if column.null_count < len(column)
    }
    return {name for name, is_text in found if is_text and (name, False) in found}


def note_dialects(found: Mapping[str, str], note: Callable[[str], None]) -> None:
    """Note how files were read, once for all that were read alike."""
    for how in dict.fromkeys(filter(None, found.values())):
        alike = [STDIN_NAME if file == STDIN else file for file in found if found[file] == how]
        some = listed(alike, len(alike), ", ...", most=3)
        note(f"read as: {how}" + ("" if len(alike) == len(found) else f" ({some})"))


# Columns and rows to fit to


def split_names(text: str | None) -> list[str]:
    """Return the names between commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def encoder_of(options: FitOptions) -> Any:
    """The encoder that the options of a fit describe."""
    orders, kinds = {}, {}
    for text in options.ordinal or ():
        name, _, levels = text.partition("=")
        orders[name.strip()] = split_names(levels) or None
    for text in options.kind or ():
        name, _, kind = text.rpartition("=")
        if not name.strip():
            raise ValueError(f"--kind must be COLUMN=KIND, as in 'zip=category'; got {text!r}.")
        kinds[name.strip()] = kind.strip()
    return TableEncoder(
        split_names(options.categorical),
        orders,
        missing="impute" if options.missing == "impute" else "refuse",
        max_categories=options.max_categories,
        kinds=kinds or None,
    )


def read_rows(options: FitOptions, encoder: Any, reading: ReadOptions, screen: Screen) -> Rows:
    """Read what a model is to be fitted to."""
    check_choice("--missing", options.missing, MISSING)
    files = find_files(options.data)
    wanted, excluded, roles = split_names(options.features), split_names(options.exclude), options.roles
    kinds = encoder.kinds or {}
    texts = {*encoder.categorical, *encoder.ordinal, *(name for name, kind in kinds.items() if kind in LISTED)}
    if "groups" in roles and roles["groups"] not in wanted:
        texts.add(roles["groups"])
    screen.step("Reading " + (files[0] if len(files) == 1 else f"{len(files)} files, {files[0]} to {files[-1]}"))
    described = [*encoder.categorical, *encoder.ordinal, *kinds]
    named = [*wanted, *excluded, *described, *roles.values()]
    frame, decimal = read_tables(files, reading, texts=texts, named=[options.target, *named], note=screen.note)
    check_columns([options.target, *named], frame.columns)
    check_spaces(named, frame.columns)
    names = wanted or [name for name in frame.columns if name not in roles.values()]
    names = [name for name in names if name != options.target and name not in excluded]
    if not names:
        raise ValueError(f"There is no column to predict {options.target!r} from.")
    odd = [name for name in described if name not in names]
    if odd:
        raise ValueError(
            f"{odd[0]!r} is not among the columns to predict from. Leave it out of --categorical, --ordinal and --kind."
        )
    frame, y = with_target(frame, options.target, options.missing, screen)
    if options.missing == "refuse":
        refuse_missing(frame[names], REMEDY)
    known = {TAKEN_AS[option]: _role_values(option, name, frame) for option, name in roles.items()}
    rows = Rows(frame[names], y, known, decimal)
    weights = known.get("sample_weight")
    if weights is not None and not weights.all():
        screen.note(f"{(weights == 0).sum()} of {len(y)} rows of weight 0 are left out.")
        rows = rows.some(weights > 0)
    return rows.some(complete_rows(rows.features, options.missing, screen))


def check_spaces(names: Sequence[str], columns: Any) -> None:
    """Refuse names of a list that spaces around them would make those of another column."""
    for name in names:
        for other in columns:
            if other != name and other.strip() == name:
                raise ValueError(
                    f"The columns {name!r} and {other!r} differ by spaces alone, which lists of names leave out. "
                    "Rename one."
                )


def with_target(frame: Any, target: str, missing: str, screen: Screen) -> tuple[Any, FloatArray]:
    """Return the rows that have a response, and the response."""
    check_columns([target], frame.columns)
    y = codes_of(Column(target, "number"), frame[target])
    if missing == "refuse":
        refuse_missing(frame[[target]], REMEDY)
    absent = np.isnan(y)
    if absent.all():
        raise ValueError(f"No row has a value of {target!r}.")
    if absent.any():
        screen.note(f"{absent.sum()} of {len(y)} rows without {target!r} are left out.")
    return frame[~absent], y[~absent]


def response_of(data: Sequence[str], target: str, reading: Reading, screen: Screen) -> tuple[Any, FloatArray]:
    """The other columns, of which only the number matters here, and the response where it is known."""
    frame, _ = read_tables(find_files(data), read_options(reading), named=[target], note=screen.note)
    frame, y = with_target(frame, target, "drop", screen)
    return frame.drop(columns=target), y


def complete_rows(features: Any, missing: str, screen: Screen) -> BoolArray:
    """Return which rows are to be used, (n,), all but with "drop", and note what becomes of the others."""
    if check_choice("--missing", missing, MISSING) == "refuse":
        refuse_missing(features, REMEDY)
    n_rows, summary, each = count_missing(features)
    if n_rows and missing == "impute":
        screen.note(f"{summary}, which are imputed ({each}).")
    if not n_rows or missing == "impute":
        return np.ones(len(features), dtype=bool)
    if n_rows == len(features):
        raise ValueError(f"Every row has missing values ({each}): --missing drop leaves none.")
    screen.note(f"{summary} and are left out ({each}).")
    return ~features.isna().any(axis=1).to_numpy()


def _role_values(option: str, name: str, frame: Any) -> Any:
    """What a column of weights, groups or times says of every row, (n,), or raise where it says nothing."""
    column = frame[name]
    absent = column.isna().to_numpy()
    if option == "groups":
        _, values = texts_of(column)
    elif option == "weight" or column.dtype.kind in "iufb":
        values = codes_of(Column(name, "number"), column)
    else:
        values = as_days(column, find_date_format(level_counts(column)) or "words")
        refuse_values(name, "numbers, dates or times", column, np.flatnonzero(np.isnan(values) & ~absent))
    if absent.any():
        raise ValueError(
            f"--{option} needs a value of {name!r} in every row; {absent.sum()} of {len(frame)} have none, the first "
            f"of them row {row_label(frame, int(np.argmax(absent)))}. Fill them, or leave these rows out of the table."
        )
    if option == "weight" and ((values < 0).any() or not values.any()):
        row = int(np.argmin(values))
        raise ValueError(
            f"--weight is how often a row occurs, 0 or more, and not 0 everywhere; {name!r} is {values[row]:g} in row "
            f"{row_label(frame, row)}. Correct it, or name another column."
        )
    return values
