"""Checks of what users pass: each error says what was expected, what came, and what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from datetime import date, time, timedelta
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

TINIEST = 1e-303  # a smaller range is none: numbers so close to the least there are cannot be divided by
LARGEST = 1e150  # squares of larger numbers overflow
FEWEST_TIMES = 0.1  # that a row occurs on average; weights below it are no counts
BETWEEN = ("sklearn", "joblib")  # packages whose frames lie between a caller's line and ours

_TIMES = (np.datetime64, np.timedelta64, date, time, timedelta)

_PREFIXES = {
    "": 1.0,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "KI": 2.0**10,
    "MI": 2.0**20,
    "GI": 2.0**30,
    "TI": 2.0**40,
}


def check_integer(name: str, value: Any, low: int, high: int | None = None, *, also: str = "") -> int:
    """Return value as an int in [low, high], or raise."""
    expected = f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be {expected}{also}; got {value!r} of type {type(value).__name__}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be {expected}{also}; got {value!r}.")
    return number


def check_real(
    name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False, also: str = ""
) -> float:
    """Return value as a finite float in [low, high] (or ]low, high]), or raise."""
    bracket = "]" if open_low else "["
    top = f"{high:g}]" if np.isfinite(high) else "inf["
    expected = f"a number in {bracket}{low:g}, {top}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {expected}{also}; got {value!r} of type {type(value).__name__}.")
    number = float(value)
    if not np.isfinite(number) or number < low or number > high or (open_low and number == low):
        raise ValueError(f"{name} must be {expected}{also}; got {value!r}.")
    return number


def is_auto(value: Any) -> bool:
    """Whether a parameter is "auto"; an array is not, and is not compared with it."""
    return isinstance(value, str) and value == "auto"


def check_choice(name: str, value: Any, options: Sequence[str]) -> str:
    """Return value if it is one of the options, or raise."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}.")
    return value


def check_bytes(name: str, value: Any) -> float:
    """Return a number of bytes from an int or a text such as "2GB" or "500 MiB"."""
    if isinstance(value, str):
        text = value.strip().upper().replace(" ", "")
        digits = text.rstrip("KMGTIB")
        prefix = text[len(digits) :].removesuffix("B")
        try:
            return check_real(name, float(digits) * _PREFIXES[prefix], 0, open_low=True)
        except (KeyError, ValueError):
            raise ValueError(
                f"{name} must be a number of bytes or a text such as '2GB' or '500MiB'; got {value!r}."
            ) from None
    return check_real(name, value, 0, open_low=True, also=" (bytes) or a text such as '2GB'")


def check_magnitude(name: str, values: npt.NDArray[np.float64]) -> None:
    """Refuse numbers whose squares overflow."""
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"{name} must stay below {LARGEST:g} in magnitude, since larger squares overflow; "
            f"got {largest:g}. Rescale {name}."
        )


def check_plain(name: str, values: Any, *, may_hold_times: bool = False) -> None:
    """Refuse dates, times, durations, NaT and masked entries, which numpy would turn into numbers without a word.

    They may come in an array, a list, a series or a frame; lazy ones are refused by their types. Numbers below a mask
    would be taken as they are, by those as well that may turn times into numbers.

    Examples
    --------
    >>> import numpy as np
    >>> check_plain("y", np.array(["2020-01-01", "NaT"], dtype="M8[D]"))
    Traceback (most recent call last):
    TypeError: y must hold numbers; got dates, times or durations, which would become counts of nanoseconds and NaT
    -9.2e18. Turn them into numbers first, such as days: (t - t.min()) / np.timedelta64(1, 'D').
    """
    if isinstance(getattr(values, "_meta", None), np.ma.MaskedArray):
        raise ValueError(
            f"{name} must have a value everywhere; got a Dask array of masked arrays, whose masks would be lost. Fill "
            "the entries first, e.g. with dask.array.ma.filled."
        )
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        n_masked = int(np.ma.getmaskarray(values).sum())
        raise ValueError(
            f"{name} must have a value everywhere; got a masked array with {n_masked} masked entries. "
            "Drop those rows, or fill the entries, e.g. with filled()."
        )
    found = [] if may_hold_times else columns_with_times(values)
    if found:
        where = f" in {', '.join(found[:5])}" if hasattr(values, "columns") else ""
        raise TypeError(
            f"{name} must hold numbers; got dates, times or durations{where}, which would become counts of nanoseconds "
            "and NaT -9.2e18. Turn them into numbers first, such as days: (t - t.min()) / np.timedelta64(1, 'D')."
        )


def columns_with_times(values: Any) -> list[str]:
    """The columns that hold dates, times or durations, by type or, among objects, by a value; an array is one of ""."""
    columns: Iterable[tuple[Any, Any]] = [("", values)]
    if hasattr(values, "columns"):
        by_place = hasattr(values, "iloc")  # names may occur twice
        columns = ((name, values.iloc[:, i] if by_place else values[name]) for i, name in enumerate(values.columns))
    found = []
    for name, column in columns:
        dtype: Any = getattr(column, "dtype", None)
        kind = "O" if isinstance(column, list | tuple) else getattr(dtype, "kind", "")
        if hasattr(dtype, "is_temporal"):  # polars
            holds = bool(dtype.is_temporal())
        elif kind == "O" and not is_lazy(column):  # whose values are checked when read
            holds = any(isinstance(value, _TIMES) for value in np.array(column, dtype=object).ravel())
        else:
            holds = kind in ("m", "M")
        if holds:
            found.append(str(name))
    return found


def is_lazy(values: Any) -> bool:
    """Whether something is a collection of Dask, which need not be there."""
    return type(values).__module__.partition(".")[0] in ("dask", "dask_expr")


def check_same_order(first: Any, second: Any, names: tuple[str, str] = ("X", "y")) -> None:
    """Refuse two objects of pandas or Dask that hold the same row labels in another order.

    Rows are paired by position, as everywhere in scikit-learn; equal labels in another order mean that the
    caller expected pairing by label.
    """
    left: Any = getattr(first, "index", None)
    right: Any = getattr(second, "index", None)
    if left is not None and right is not None:
        left, right = (labels.compute() if is_lazy(labels) else labels for labels in (left, right))
    if not (hasattr(left, "equals") and hasattr(right, "equals")) or left.equals(right):
        return
    try:
        reordered = len(left) == len(right) and left.sort_values().equals(right.sort_values())
    except TypeError:  # labels of mixed types have no order
        reordered = set(left) == set(right)
    if reordered:
        raise ValueError(
            f"{names[0]} and {names[1]} have the same index labels in a different order, and rows are paired "
            f"by position. Align them first, e.g. {names[1]} = {names[1]}.loc[{names[0]}.index], or drop the "
            "labels with reset_index(drop=True)."
        )


def check_vector(name: str, values: Any, length: int | None = None) -> npt.NDArray[np.float64]:
    """Return finite numbers as a one-dimensional array, a single column as a vector, or raise."""
    check_plain(name, values)
    array = np.asarray(values, dtype=np.float64)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be one-dimensional with at least one value; got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers; got nan or inf. Drop or repair those rows.")
    if length is not None and len(array) != length:
        raise ValueError(f"{name} must have one value a row: expected {length}, got {len(array)}.")
    return array


def check_one_column(y: Any, estimator: Any) -> None:
    """Refuse a response of several columns, and say what fits an estimator to each."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y must have one column; got {shape[1]}. Wrap the estimator: "
            f"sklearn.multioutput.MultiOutputRegressor({type(estimator).__name__}())."
        )


def check_weights(
    weights: Any, n_rows: int, X: Any = None, *, are_counts: bool = True
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the positive weights and the rows that have them; None weighs every row 1, a number every row alike.

    Parameters
    ----------
    weights : (n_rows,) array, series, list, a number, or None
    X : the rows as they were given, whose index labels must not contradict
    are_counts : bool, whether a weight is how often a row occurs; sums far below the number of rows are then warned of
    """
    check_plain("sample_weight", weights)
    check_same_order(X, weights, ("X", "sample_weight"))
    try:
        values = np.array(1.0 if weights is None else weights, dtype=np.float64)  # aligned: sums round by memory order
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}") from error
    values = np.full(n_rows, values) if values.ndim == 0 else values
    if values.shape != (n_rows,):
        if values.ndim != 1:
            raise ValueError(f"Sample weights must be 1D array or scalar; got an array of shape {values.shape}.")
        raise ValueError(f"sample_weight must hold one number a row: expected {n_rows}, got {len(values)}.")
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise ValueError(
            "sample_weight must be finite, nonnegative and not all zero, since a weight is how often a row occurs; "
            f"got values from {values.min():g} to {values.max():g}."
        )
    kept = np.flatnonzero(values)
    if are_counts and values.sum() < FEWEST_TIMES * len(kept):
        warn_user(
            f"sample_weight is how often a row occurs, and {len(kept):,} rows occur {values.sum():.3g} times together: "
            "so few are smoothed towards the mean. Weights that were made to sum to 1 want to be multiplied by the "
            "number of rows."
        )
    return values if len(kept) == n_rows else values[kept], kept


def check_flag(name: str, value: Any) -> bool:
    """Return a bool, or raise."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def warn_user(message: str) -> None:
    """Warn at the line of the caller's own code that led here, through scikit-learn's wrappers and searches too."""
    package = str(Path(__file__).parent)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None:
        between = str(frame.f_globals.get("__name__", "")).partition(".")[0] in BETWEEN
        if not between and not frame.f_code.co_filename.startswith(package):
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def format_bytes(n_bytes: float) -> str:
    """Bytes for people."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"
