"""Tables from files: CSV and Parquet, by name or by pattern, all with the same columns."""

from __future__ import annotations

import glob
import lzma
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

CSV = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
PACKED = (".gz", ".bz2", ".xz", ".zst")
NAMELESS = "\0"  # what no column is called
Note = Callable[[str], None]


def find_files(patterns: Sequence[str]) -> list[Path]:
    """Return the files that some names and patterns stand for, in the order given, those of a pattern sorted."""
    found: list[Path] = []
    for pattern in patterns:
        path = Path(pattern)
        if path.is_dir():
            raise ValueError(f"{pattern} is a folder. Name files in it, such as '{path / '*.parquet'}'.")
        matches = [path] if path.exists() else sorted(Path(name) for name in glob.glob(pattern, recursive=True))
        if not matches:
            raise ValueError(
                f"There is no file {pattern}." if not glob.has_magic(pattern) else f"No file matches {pattern}."
            )
        found += [match for match in matches if not match.is_dir()]
    return found


def read_tables(
    files: Sequence[Path], *, texts: Collection[str] = (), delimiter: str | None = None, note: Note = lambda text: None
) -> Any:
    """Return the rows of all files, one after the other, as a pandas data frame.

    ``texts`` are columns that CSV must not take for numbers: codes keep their leading zeros.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"--delimiter must be one character; got {delimiter!r}.")
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ImportError(f"Tables need {error.name}: pip install 'skewridge[cli]'.") from error

    frames = [_read(file, texts, delimiter, note) for file in files]
    for file, frame in zip(files[1:], frames[1:], strict=True):
        odd = sorted(set(frame.columns) ^ set(frames[0].columns))
        if odd:
            raise ValueError(
                f"{file} and {files[0]} differ in the columns {', '.join(map(repr, odd))}. Make them alike."
            )
    return frames[0] if len(frames) == 1 else pd.concat([f[frames[0].columns] for f in frames], ignore_index=True)


def _read(file: Path, texts: Collection[str], delimiter: str | None, note: Note) -> Any:
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in PACKED]
    kind = suffixes[-1] if suffixes else ""
    if kind not in (*CSV, *PARQUET):
        raise ValueError(f"{file} is neither CSV ({', '.join(CSV)}) nor Parquet ({', '.join(PARQUET)}) by its name.")
    try:
        if kind in PARQUET:
            return _read_parquet(file)
        return _read_csv(file, texts, delimiter or ("\t" if kind == ".tsv" else ","), note)
    except (ValueError, EOFError, OSError, zlib.error, lzma.LZMAError, NotImplementedError, OverflowError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise ValueError(f"{file} cannot be read as {'Parquet' if kind in PARQUET else 'CSV'}: {error}") from error


def _read_parquet(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error
    _check_header(list(table.column_names))
    kept = [name for name in table.column_names if not name.startswith("__index_level_")]
    return table.select(kept).to_pandas(ignore_metadata=True)


def _read_csv(file: Path, texts: Collection[str], delimiter: str, note: Note) -> Any:
    import pandas as pd

    options: dict[str, Any] = {"sep": delimiter, "encoding": "utf-8-sig", "index_col": False}
    header = pd.read_csv(file, header=None, nrows=1, dtype=str, keep_default_na=False, **options).iloc[0].tolist()
    _check_header([name for name in header if name])
    _check_delimiter(header, delimiter)
    names = [name or f"{NAMELESS}{place}" for place, name in enumerate(header)]
    options |= {"header": 0, "names": names, "dtype": {name: str for name in texts if name in header}}
    options |= {"low_memory": False, "skip_blank_lines": len(header) > 1}
    if [int(part) for part in pd.__version__.split(".")[:2]] < [3, 1]:  # later ones are exact by themselves
        options["float_precision"] = "round_trip"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(file, **options)
    except pd.errors.ParserWarning as error:
        raise ValueError(f"rows have more fields than the {len(header)} of the header") from error
    nameless = [name for name in names if name.startswith(NAMELESS)]
    if nameless:
        note(f"{file}: {len(nameless)} columns without a name are ignored.")
    return frame.drop(columns=nameless)


def _check_header(names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"two columns are called {twice[0]!r}. Rename one of them.")


def _check_delimiter(header: Sequence[str], delimiter: str) -> None:
    """Refuse a table of one column that another delimiter would cut."""
    others = [other for other in (";", "\t", ",", "|") if other != delimiter and other in header[0]]
    if len(header) == 1 and others:
        raise ValueError(
            f"there is one column only, {header[0][:60]!r}. Is its delimiter {others[0]!r}? Use --delimiter."
        )
