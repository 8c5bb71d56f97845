"""Fit to rows that are not in memory, and predict them: files, folders, Dask arrays and frames."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import blake2b
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from skewridge import __version__
from skewridge._atomic import atomic_file, check_target
from skewridge._typing import FloatArray
from skewridge._validation import check_one_column
from skewridge.execution.checkpoint import Checkpoint
from skewridge.execution.chunked import RowData, Table, digest
from skewridge.execution.context import current, using
from skewridge.execution.passes import check_rows, map_rows
from skewridge.execution.progress import followed
from skewridge.io.csv_dialect import ReadOptions
from skewridge.io.sources import engine_for, files_of, names_columns, open_source

Estimator = TypeVar("Estimator", bound=Any)

PREDICTED_ROWS = 65_536  # predicted and written at a time
IDLE = ("n_jobs", "verbose")  # parameters that change no result


def fit_source(
    estimator: Estimator,
    source: Any,
    target: Any,
    features: Sequence[Any] | None = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    order: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Estimator:
    """Fit an estimator to rows wherever they are; the same model, to the last bit, as from arrays in memory.

    SkewRidge and LocalKernelRidge keep all rows in memory: a source is read once, where
    ``memory_limit`` holds the fit, and refused before any row is read where it does not. For the
    others files are read in chunks, several times; what stays in memory has one number a row, and
    at most ``memory_limit`` of rows at a time; with a running ``distributed.Client``, or inside
    :func:`use_engine`, the work is done there.

    Parameters
    ----------
    estimator : SkewRidge, LocalKernelRidge, AdaptiveKernelRidge or DacKernelRidge
    source : what holds the rows
        An array; a pandas or polars frame; a Dask array or frame; or a file, a folder, a glob or a URL that fsspec
        knows: Parquet, Arrow (``.arrow``, ``.feather``), Excel (``.xlsx``), CSV (``.csv``, ``.tsv``, ``.txt``) and JSON
        lines (``.jsonl``, ``.ndjson``), the last two also packed (``.gz``, ``.bz2``, ``.xz``, ``.zst``, ``.zip``).
    target : column name, or place in an array; or the response itself
    features : column names or places, default all but the target and, in Parquet files, the index of a pandas frame
    sample_weight : (N,) array, optional, for estimators that take it
    groups, order : (N,) arrays, optional, for estimators that take them
        Labels of rows that are left out together, or times along which new rows come later; arrays, not names.
    checkpoint : folder, optional
        Where finished nodes and partial sums are kept; the same call after an interruption goes on from there.
        Delete it when the fit is done. SkewRidge and LocalKernelRidge keep nothing there.
    delimiter, decimal, encoding : str, optional
        Of CSV files: the character between columns, the decimal sign ("." or ","), Python's name of the encoding; by
        default found from the beginning of each file.
    sheet : str, optional
        Of an Excel workbook; by default the first.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from skewridge import SkewRidge, fit_source
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(200, 2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savetxt(file := Path(folder, "rows.csv"), np.c_[X, y], delimiter=",", header="a,b,y", comments="")
    ...     model = fit_source(SkewRidge(random_state=0), file, target="y")
    >>> model.feature_names_in_
    array(['a', 'b'], dtype=object)
    """
    several = isinstance(target, list | tuple) and names_columns(target)
    check_one_column(np.empty((0, len(target))) if several else target, estimator)
    engine = engine_for(source)
    check_size = getattr(estimator, "_check_size", None)  # of estimators that collect rows into memory and fit there
    options = ReadOptions(delimiter, decimal, encoding, sheet)
    X, y = open_source(source, target, features, check_size, options, read_again=check_size is None)
    if isinstance(X, Table) and not getattr(estimator, "_takes_tables", False):
        raise TypeError(
            f"{type(estimator).__name__} fits to arrays only. Read the source into memory, or use "
            "SkewRidge, or, for rows that do not fit in memory, AdaptiveKernelRidge or DacKernelRidge."
        )
    weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
    labels = {name: own for name, own in (("groups", groups), ("order", order)) if own is not None}
    identity = {} if checkpoint is None else fit_identity(estimator, X, y, weights.get("sample_weight"), labels)
    store = None if checkpoint is None else Checkpoint(checkpoint, identity)
    with using(engine=engine if check_size is None else current().engine, checkpoint=store):
        return estimator.fit(X, y, **weights, **labels)


def predict_source(
    estimator: Any,
    source: Any,
    out: str | os.PathLike[str],
    features: Sequence[Any] | None = None,
    *,
    return_std: bool = False,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Path:
    """Predict the rows of a source and write them to a Parquet file, chunk by chunk, in the order of the rows.

    Parameters
    ----------
    estimator : a fitted estimator
    source : as in :func:`fit_source`
    out : the file to write; it appears when it is whole, and is never one of those that are read
    features : columns, default those that the estimator was fitted to, or all where it was fitted to unnamed ones
    return_std : bool, default=False
        Whether to write standard deviations as well.
    delimiter, decimal, encoding, sheet : str, optional, as in :func:`fit_source`

    Returns
    -------
    Path
        The file, with a column ``prediction``, and ``std`` if asked for.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from pathlib import Path
    >>> from skewridge import AdaptiveKernelRidge, predict_source
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(500, 2, random_state=0)
    >>> model = AdaptiveKernelRidge(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = predict_source(model, X[:3], Path(folder, "predictions.parquet"))
    ...     print(pd.read_parquet(file).shape)
    (3, 1)
    """
    check_target(out)
    if return_std:
        check_std(estimator)
        if hasattr(estimator, "_left_out") and not hasattr(estimator, "calibration_"):
            estimator.calibrate()  # once, before blocks of rows ask for it side by side
    known = getattr(estimator, "feature_names_in_", None)
    wanted = list(known) if features is None and known is not None else features
    engine = engine_for(source)
    options = ReadOptions(delimiter, decimal, encoding, sheet)
    X, _ = open_source(source, None, wanted, options=options)
    check_target(out, [*files_of(X), *files_of(source), *files_read_by(estimator)])
    rows = X if isinstance(X, Table) else np.asarray(X)
    precision = rows.precision if isinstance(rows, Table) else rows.dtype
    task = partial(_predict_rows, estimator, return_std, precision)
    with followed(getattr(estimator, "verbose", 0)), using(engine=engine):
        try:
            return _write_parquet(map_rows(task, [rows], "prediction", PREDICTED_ROWS), Path(out))
        except ValueError:
            if isinstance(X, Table):
                check_rows(X)  # which names the row, if one is to blame
            raise


def files_read_by(estimator: Any) -> list[str]:
    """The files that an estimator was fitted to and may read again."""
    problem, seen = getattr(estimator, "_problem", None), getattr(estimator, "_fitted_rows", ())
    rows = seen[:1] if problem is None else [problem.X]
    return [name for part in rows for name in files_of(part)]


def check_std(estimator: Any) -> None:
    """Refuse an estimator that has no standard deviations, and say which has."""
    if "return_std" not in signature(estimator.predict).parameters:
        raise TypeError(
            f"{type(estimator).__name__} has no standard deviations. Use predict_interval, which is "
            "made of the errors of left-out rows, or AdaptiveKernelRidge or DacKernelRidge, which "
            "have them."
        )


def predict_collection(estimator: Any, X: Any) -> Any:
    """Predict a Dask array or frame partition by partition, where the partitions are, as lazily as it is."""
    if hasattr(X, "columns"):
        return X.map_partitions(_predicted_frame, estimator, meta=_predicted_frame(X._meta, estimator))
    return X.rechunk({1: -1}).map_blocks(estimator.predict, dtype=np.float64, drop_axis=1, meta=np.empty(0))


def _predicted_frame(rows: Any, estimator: Any) -> Any:
    """A partition's predictions with its index."""
    import pandas as pd

    found = estimator.predict(rows) if len(rows) else np.empty(0)
    return pd.Series(found, index=rows.index, name="prediction")


def _predict_rows(estimator: Any, return_std: bool, precision: Any, rows: FloatArray) -> dict[str, FloatArray]:
    """Columns of predictions; rows come in the order of the estimator's features, without their names.

    Tables are read in double precision: rows go back to the one they were given in, which is
    predicted in.
    """
    rows = rows.astype(precision, copy=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if return_std:
            return dict(zip(("prediction", "std"), estimator.predict(rows, return_std=True), strict=True))
        return {"prediction": estimator.predict(rows)}


def _write_parquet(blocks: Iterator[dict[str, FloatArray]], out: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = pa.table(next(blocks))
    with atomic_file(out) as file, pq.ParquetWriter(file, first.schema) as writer:
        writer.write_table(first)
        for block in blocks:
            writer.write_table(pa.table(block))
    return out


# What tells one fit from another, so that a checkpoint is not taken for that of another fit


def fit_identity(
    estimator: Any, X: RowData, y: Any, sample_weight: Any, labels: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Describe a fit by its rows, weights, labels (groups, order), settings and code; threads do not count."""
    chunks = [chunk.identity for chunk in X.chunks] if isinstance(X, Table) else digest(X)
    return {
        "version": __version__,
        "method": code_digest(),
        "estimator": type(estimator).__name__,
        "parameters": {k: _as_text(v, y) for k, v in estimator.get_params().items() if k not in IDLE},
        "columns": [str(name) for name in getattr(X, "names", None) or getattr(X, "columns", [])],
        "source": digest(chunks),
        "response": digest(y),
        "sample_weight": None if sample_weight is None else digest(np.asarray(sample_weight, dtype=np.float64)),
        **{name: digest(np.array([str(label) for label in own])) for name, own in (labels or {}).items()},
    }


@cache
def code_digest() -> str:
    """A digest of the library's own code: what another version has summed up is not added to."""
    found = blake2b(digest_size=16)
    folder = Path(__file__).parents[1]
    for file in sorted(folder.rglob("*.py")):
        found.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return found.hexdigest()


def _as_text(value: Any, y: Any) -> str:
    """A parameter as text that does not change from run to run; a callable scoring is known by what it gives."""
    if isinstance(value, np.random.RandomState):
        _, keys, *rest = value.get_state(legacy=True)
        return f"{digest(keys)} {rest}"
    if callable(value):
        return digest([value(column) for column in np.atleast_2d(np.asarray(y, dtype=np.float64).T)])
    return str(np.asarray(value).tolist())
