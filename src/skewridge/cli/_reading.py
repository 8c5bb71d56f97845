"""Tables from files and standard input, by name or by pattern, all with the same columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from skewridge._atomic import check_target
from skewridge.cli._screen import Reading
from skewridge.io.csv_dialect import Dialect, ReadOptions, find_dialect
from skewridge.io.files import list_files, read_whole
from skewridge.io.formats import reader_of
from skewridge.io.streams import copied
from skewridge.io.streams import reading as reading_of

STDIN = "-"
SPOKEN = "standard input"
FILES_SAID = 3  # whose dialects are told one by one


def find_files(patterns: Sequence[str]) -> list[str]:
    """Return the files that some names and patterns stand for, in the order given, those of a pattern sorted."""
    if list(patterns).count(STDIN) > 1:
        raise ValueError("Standard input can be read once; got '-' twice. Name files instead.")
    return [file for pattern in patterns for file in ([STDIN] if pattern == STDIN else list_files(pattern))]


def read_tables(
    files: Sequence[str],
    *,
    texts: Collection[str] = (),
    named: Collection[str] = (),
    reading: Reading | None = None,
    usual_decimal: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Any:
    """Return the rows of all files, one after the other, as a pandas data frame whose index counts them as they do.

    ``texts`` are columns that CSV must not take for numbers: codes keep their leading zeros. ``named`` are columns that
    are read though they are the index of a pandas frame, which is left out otherwise. Where no file tells
    its decimal sign, it is the usual one. How files were read is told to ``say`` where it was found and is not plain.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ImportError(f"Tables need {error.name}: pip install 'skewridge[cli]'.") from error

    options = _with_decimal(files, read_options(reading), shared_decimal(files, reading, usual_decimal))
    found = [_read(file, texts, named, own) for file, own in zip(files, options, strict=True)]
    csv = [_is_csv(file) for file in files]
    in_some = _texts_in_some([table for (table, _), own in zip(found, csv, strict=True) if own])
    if in_some:  # 007 is no 7 where another file has x07
        for place in (place for place, own in enumerate(csv) if own):
            found[place] = _read(files[place], texts, named, options[place], in_some)
    if say is not None:
        tell_dialects(dict(zip(files, (how for _, how in found), strict=True)), say)
    frames = [table.to_pandas(ignore_metadata=True) for table, _ in found]
    for frame in frames:
        frame.index = pd.RangeIndex(1, len(frame) + 1, name="row")
    for file, frame in zip(files[1:], frames[1:], strict=True):
        odd = sorted(set(frame.columns) ^ set(frames[0].columns))
        if odd:
            raise ValueError(
                f"{_spoken(file)} and {_spoken(files[0])} differ in the columns {', '.join(map(repr, odd))}. Make them "
                "alike."
            )
    if len(frames) == 1:
        return frames[0]
    return pd.concat([f[frames[0].columns] for f in frames], keys=map(_spoken, files), names=["file", "row"])


def shared_decimal(files: Sequence[str], reading: Reading | None, usual: str | None = None) -> str | None:
    """The decimal sign of CSV files: what was said, what those that tell have in common, or the usual one."""
    options = read_options(reading)
    if options.decimal is not None:
        return options.decimal
    found = [_dialect(file, options) for file in files if _is_csv(file)]
    signs = {dialect.decimal for dialect in found if dialect.settled}
    return signs.pop() if len(signs) == 1 else None if signs else usual


def _with_decimal(files: Sequence[str], options: ReadOptions, decimal: str | None) -> list[ReadOptions]:
    """Options of every file: a decimal comma for files that do not tell theirs, where the others have one."""
    if decimal != "," or options.decimal is not None:
        return [options] * len(files)
    comma = replace(options, decimal=",")
    return [comma if _is_csv(file) and not _dialect(file, options).settled else options for file in files]


def _is_csv(file: str) -> bool:
    return file != STDIN and reader_of(file).name == "CSV"


def _dialect(file: str, options: ReadOptions) -> Dialect:
    with reading_of(file, "CSV"):
        return find_dialect(file, options)


def _texts_in_some(tables: Sequence[Any]) -> set[str]:
    """Columns that are texts in some of the CSV files, and something else in others."""
    import pyarrow as pa

    kinds: dict[str, set[bool]] = {}
    for table in tables:
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count < len(column):
                kinds.setdefault(name, set()).add(
                    pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
                )
    return {name for name, found in kinds.items() if len(found) > 1}


def read_options(reading: Reading | None) -> ReadOptions:
    """What was said, for the reader; a tab may be written as shells hand it on."""
    said = reading or Reading()
    return ReadOptions(*said._replace(delimiter="\t" if said.delimiter == "\\t" else said.delimiter))


def _read(
    file: str, texts: Collection[str], named: Collection[str], options: ReadOptions, plain: Collection[str] = ()
) -> tuple[Any, str]:
    if file != STDIN:
        return read_whole(file, texts, named, options, plain)
    if sys.stdin.isatty():
        raise ValueError("Nothing is piped into standard input (-). Pipe a table into it, or name a file.")
    with copied(sys.stdin.buffer) as path, _called(path):
        return read_whole(path, texts, named, options)


@contextmanager
def _called(path: str) -> Iterator[None]:
    """Call a copy of standard input what it is, in errors."""
    try:
        yield
    except (ValueError, OSError, MemoryError, ImportError) as error:
        raise type(error)(str(error).replace(path, SPOKEN)) from error


def tell_dialects(found: dict[str, str], say: Callable[[str], None]) -> None:
    """Tell how files were read, once for all that were read alike."""
    for how in dict.fromkeys(filter(None, found.values())):
        alike = [_spoken(file) for file in found if found[file] == how]
        more = ", ..." if len(alike) > FILES_SAID else ""
        say(f"read as: {how}" + ("" if len(alike) == len(found) else f" ({', '.join(alike[:FILES_SAID])}{more})"))


def _spoken(file: str) -> str:
    return SPOKEN if file == STDIN else file


def check_output(output: str, data: Sequence[str], *others: str) -> None:
    """Refuse, before any work, a file that cannot be written or that is among those to be read."""
    check_target(output, [*others, *(file for file in find_files(data) if file != STDIN)])
