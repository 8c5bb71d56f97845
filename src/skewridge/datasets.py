"""Skewed data: the paper's simulated peaks, and its housing data."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_integer, check_real

N_TEST = 10_000
CENTERS = (0.4, 0.7)
WEIGHTS = (1.0, 0.4)

_MELBOURNE_FEATURES = ("Lattitude", "Longtitude", "Distance")
_MISSING = {"", "NA", "#N/A"}


def make_peaks(
    n_samples: int,
    n_features: int,
    peaks: int = 2,
    weights: Sequence[float] | None = None,
    noise: float | None = None,
    random_state: Any = None,
    return_test: bool = False,
) -> tuple[FloatArray, ...]:
    """Return the paper's simulated data: a flat function on [0, 1]^d with one or two narrow peaks, plus noise.

    ``y = sum_p w_p g(x, c_p) + noise * N(0, 1)`` with
    ``g(x, c) = 0.1 / (r + 0.05) * sin(0.01 pi / (r + 0.05))``, ``r = ||x - c||``, centres 0.4 and 0.7 in every
    feature.

    Parameters
    ----------
    n_samples, n_features : int
    peaks : {0, 1, 2}
        0 is a smooth function whose response is not skewed.
    weights : sequence of float, optional
        One a peak; 1 and 0.4 as in the paper. (1, 1) is what the authors' code has.
    noise : float, optional
        Standard deviation of the noise; 0.06 for one feature and 0.02 for more, as in the authors' code.
    random_state : int, Generator or None
    return_test : bool
        Whether to return 10,000 test points (an even grid for one feature, Sobol points for more) and the
        noise-free truth there.

    Returns
    -------
    X, y : (N, d) and (N,) arrays; with ``return_test`` also X_test and truth

    Examples
    --------
    >>> X, y, X_test, truth = make_peaks(100, 2, random_state=0, return_test=True)
    >>> X.shape, X_test.shape
    ((100, 2), (10000, 2))
    """
    n, d = check_integer("n_samples", n_samples, 1), check_integer("n_features", n_features, 1)
    sd = (0.06 if d == 1 else 0.02) if noise is None else check_real("noise", noise, 0)
    weights = _check_peaks(peaks, weights)
    legacy = isinstance(random_state, np.random.RandomState)  # which seeds a generator
    rng = np.random.default_rng(random_state.randint(2**31 - 1) if legacy else random_state)
    X = rng.random((n, d))
    y = peaks_truth(X, peaks, weights) + sd * rng.standard_normal(n)
    if not return_test:
        return X, y
    from scipy.stats import qmc

    X_test = np.linspace(0, 1, N_TEST)[:, None] if d == 1 else qmc.Sobol(d, scramble=False).random_base2(14)[:N_TEST]
    return X, y, X_test, peaks_truth(X_test, peaks, weights)


def peaks_truth(X: FloatArray, peaks: int = 2, weights: Sequence[float] | None = None) -> FloatArray:
    """Return the noise-free function of :func:`make_peaks` at the rows of X."""
    weights = _check_peaks(peaks, weights)
    X = np.asarray(X, dtype=np.float64)
    if peaks == 0:
        return np.sin(2 * np.pi * X).sum(axis=1) * (0.5 / np.sqrt(X.shape[1]))
    total = np.zeros(len(X))
    for weight, center in zip(weights, CENTERS, strict=False):
        distance = np.sqrt(((X - center) ** 2).sum(axis=1)) + 0.05
        total += weight * (0.1 / distance * np.sin(0.01 * np.pi / distance))
    return total


def load_melbourne(path: str | PathLike[str]) -> tuple[FloatArray, FloatArray]:
    """Return the paper's real data from the original file of house sales in Melbourne.

    Houses only (Type h), rows complete in every column except YearBuilt, Landsize > 0: 6,784 rows. The
    response is Price / Landsize; the features are latitude, longitude and distance, standardised.

    Parameters
    ----------
    path : path of Melbourne_housing_FULL.csv, plain or gzipped

    Returns
    -------
    X, y : (6784, 3) and (6784,) arrays
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"No file at {path}. The data are not part of skewridge: download Melbourne_housing_FULL.csv of the "
            "data set anthonypino/melbourne-housing-market from Kaggle and pass the file's path."
        )
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        needed = {*_MELBOURNE_FEATURES, "Type", "Price", "Landsize", "YearBuilt"}
        if not needed <= set(reader.fieldnames or []):
            raise ValueError(
                f"{path} is not Melbourne_housing_FULL.csv: expected the columns {sorted(needed)}, got "
                f"{reader.fieldnames}."
            )
        rows = [
            [float(row[name]) for name in (*_MELBOURNE_FEATURES, "Price", "Landsize")]
            for row in reader
            if row["Type"] == "h"
            and all(value not in _MISSING for name, value in row.items() if name != "YearBuilt")
            and float(row["Landsize"]) > 0
        ]
    if not rows:
        raise ValueError(f"{path} holds no complete row of a house with land; is it the whole file?")
    table = np.array(rows)
    X = table[:, :3]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), table[:, 3] / table[:, 4]


def _check_peaks(peaks: int, weights: Sequence[float] | None) -> Sequence[float]:
    check_integer("peaks", peaks, 0, 2)
    if weights is None:
        return WEIGHTS[:peaks]
    if len(weights) != peaks:
        raise ValueError(f"weights must hold one number a peak: expected {peaks}, got {len(weights)}.")
    return weights
