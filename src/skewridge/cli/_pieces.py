"""Tables that memory does not hold: fitted to and predicted in pieces, where every column holds numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from skewridge._typing import FloatArray
from skewridge._validation import check_bytes, format_bytes
from skewridge.cli._reading import STDIN, find_files, read_options, tell_dialects
from skewridge.cli._screen import Reading, Screen
from skewridge.cli._table import TableRequest, split_names
from skewridge.estimators.sources import fit_source, predict_source
from skewridge.execution.chunked import Table
from skewridge.io.csv_dialect import Dialect
from skewridge.io.files import FileChunk, open_files
from skewridge.io.sources import open_source
from skewridge.io.streams import holds_table


def exceeds_memory(data: Sequence[str], memory_limit: str | None = None) -> bool:
    """Whether the only file, folder or pattern of a command has more bytes than may be read as a whole."""
    if len(data) != 1 or data[0] == STDIN or "://" in data[0]:
        return False
    limit = None if memory_limit is None else check_bytes("memory_limit", memory_limit)
    return not holds_table(_bytes_of(data[0]), limit)


def fit_in_pieces(model: Any, request: TableRequest, screen: Screen) -> FloatArray:
    """Fit an estimator without an encoder before it; return the response."""
    [source] = request.data
    screen.note(
        f"{source} has {format_bytes(_bytes_of(source))} and is read in pieces: columns must be numbers without gaps, "
        "and no rows are held out."
    )
    options = read_options(request.reading)
    names = split_names(request.features) or _others(request)
    X, y = open_source(source, request.target, names, options=options)
    _tell(X, screen)
    fit_source(model, source, y, list(X.names or ()), **asdict(options))
    return y


def predict_in_pieces(model: Any, source: str, output: str, std: bool, reading: Reading | None, screen: Screen) -> None:
    """Predict with an estimator that was fitted without an encoder, and write a Parquet file."""
    screen.note(f"{source} has {format_bytes(_bytes_of(source))} and is read in pieces.")
    predict_source(model, source, output, return_std=std, **asdict(read_options(reading)))


def _bytes_of(source: str) -> int:
    return sum(os.path.getsize(file) for file in find_files([source]))


def _others(request: TableRequest) -> list[str] | None:
    """All columns but the target and those to leave out; None where none is left out."""
    excluded = {request.target, *split_names(request.exclude)}
    if len(excluded) == 1:
        return None
    return [name for name in open_files(request.data[0], read_options(request.reading)).types if name not in excluded]


def _tell(X: Table, screen: Screen) -> None:
    chunks = [chunk for chunk in X.chunks if isinstance(chunk, FileChunk)]
    found = {chunk.url: chunk.how.said for chunk in chunks if isinstance(chunk.how, Dialect)}
    tell_dialects(found, screen.note)
