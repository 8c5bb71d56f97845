"""Tables from files: CSV and Parquet, by name or by pattern, all with the same columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from skewridge._atomic import check_target
from skewridge.io.csv_files import check_names
from skewridge.io.csv_types import read_columns
from skewridge.io.listing import is_csv, list_files
from skewridge.io.opening import opened
from skewridge.io.parquet_files import index_columns


def find_files(patterns: Sequence[str]) -> list[str]:
    """Return the files that some names and patterns stand for, in the order given, those of a pattern sorted."""
    return [file for pattern in patterns for file in list_files(pattern)]


def read_tables(
    files: Sequence[str], *, texts: Collection[str] = (), named: Collection[str] = (), delimiter: str | None = None
) -> Any:
    """Return the rows of all files, one after the other, as a pandas data frame whose index counts them as they do.

    ``texts`` are columns that CSV must not take for numbers: codes keep their leading zeros. ``named`` are columns that
    are read though they are the index of a pandas frame, which is left out otherwise.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ImportError(f"Tables need {error.name}: pip install 'skewridge[cli]'.") from error

    frames = [_read(file, texts, named, delimiter) for file in files]
    in_some = _texts_in_some(files, frames)
    if in_some:  # 1.250 is 1250 where another file has 1.250,5, and 007 is no 7 where another has x07
        frames = [_read(file, {*texts, *in_some}, named, delimiter) for file in files]
    for frame in frames:
        frame.index = pd.RangeIndex(1, len(frame) + 1, name="row")
    for file, frame in zip(files[1:], frames[1:], strict=True):
        odd = sorted(set(frame.columns) ^ set(frames[0].columns))
        if odd:
            raise ValueError(
                f"{file} and {files[0]} differ in the columns {', '.join(map(repr, odd))}. Make them alike."
            )
    if len(frames) == 1:
        return frames[0]
    return pd.concat([f[frames[0].columns] for f in frames], keys=files, names=["file", "row"])


def _texts_in_some(files: Sequence[str], frames: Sequence[Any]) -> set[str]:
    """Columns that are texts in some of the CSV files, and something else in others."""
    kinds: dict[str, set[bool]] = {}
    for file, frame in zip(files, frames, strict=True):
        for name in frame.columns if is_csv(file) else ():
            if frame[name].notna().any():
                kinds.setdefault(name, set()).add(frame[name].dtype.kind in "biuf")
    return {name for name, found in kinds.items() if len(found) > 1}


def _read(file: str, texts: Collection[str], named: Collection[str], delimiter: str | None) -> Any:
    if is_csv(file):
        return read_columns(file, texts, delimiter).to_pandas()
    try:
        table = _read_parquet(file)
        check_names(table.column_names)
    except (ValueError, OSError, NotImplementedError, OverflowError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise ValueError(f"{file} cannot be read as Parquet: {error}") from error
    index = [name for name in index_columns(table.schema) if name not in named]
    return table.drop_columns(index).to_pandas(ignore_metadata=True)


def _read_parquet(file: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if "://" not in file:
            return pq.read_table(file)
        with opened(file) as content:
            return pq.read_table(content)
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error


def check_output(output: str, data: Sequence[str], *others: str) -> None:
    """Refuse, before any work, a file that cannot be written or that is among those to be read."""
    check_target(output, [*others, *find_files(data)])
