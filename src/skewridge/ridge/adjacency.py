"""Neighbours in the file that tell on each other: a check without knowing groups or order.

Left-out errors say nothing about new groups, or later rows, where a row's neighbours in the file
tell its response: rows of one group, or of one hour, with features as alike as their responses. Two
signs, on runs of neighbouring rows and with a kernel that was learned before:

- whole runs left out are predicted far worse than as many random rows left out together;
- errors of rows left out one by one are like those of the rows next to them.

Rows in random order show the first at most once in a hundred times, whatever their distribution:
runs are then like the 99 random draws that they are compared with (9, where these show it already).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge.execution.blas import one_blas_thread
from skewridge.kernels import Kernel
from skewridge.ridge.leave_one_out import errors_by_group, projected_inverse

MOST_ROWS, N_RUNS = 600, 10
FEWEST_ROWS = 40
N_RANDOM = 99
FEWEST_RANDOM = 9  # of these, where runs are like them
MOST_RISE = 3.0  # of the squared error, when runs are left out instead of random rows
LEAST_SHARE = 0.05  # of the variance: smaller errors of runs left out are not worth a warning
MOST_CORRELATION = 0.3
DEVIATIONS = 4.0  # by which a correlation must exceed what chance makes


@dataclass(frozen=True)
class Adjacency:
    """How far rows near each other in the file tell on each other.

    Attributes
    ----------
    run_error, random_error, most_random : float, squared errors over the variance of y, of runs left out as a
        whole, of as many random rows left out together (their mean over draws), and the largest of these
    correlation : float, between left-out errors of rows and of the rows after them
    n_pairs : int, of such rows
    """

    run_error: float
    random_error: float
    most_random: float
    correlation: float
    n_pairs: int

    @property
    def concern(self) -> str | None:
        """What a user should know; None where rows may well be independent."""
        if _stands_out(self.run_error, self.most_random):
            return (
                "Rows that stand near each other in the file tell on each other: left out together their squared "
                f"error is {self.run_error:.2g} of the variance of y, and {self.random_error:.2g} for as many random "
                "rows. Stated errors and intervals hold for new rows that stand among these, not for new groups or "
                "later rows. Say how new rows come, by fit(..., groups=...) or fit(..., order=...); if they come from "
                "all over the file, which was sorted, shuffle its rows: the fit is the same, and this check passes."
            )
        if self.correlation > max(MOST_CORRELATION, DEVIATIONS / np.sqrt(self.n_pairs)):
            return (
                "Errors of rows that stand next to each other in the file are alike (a rank correlation of "
                f"{self.correlation:.2f}, given their responses): rows are no independent draws, and standard errors "
                "of stated risks are too small. If rows come in groups or in the order of time, say so by "
                "fit(..., groups=...) or fit(..., order=...)."
            )
        return None


@dataclass(frozen=True)
class Runs:
    """Some distinct rows in the order of the file, (m,), and the run that each belongs to, (m,)."""

    rows: IntArray
    labels: IntArray


def draw_runs(places: IntArray) -> Runs | None:
    """Draw ten runs of up to 60 neighbouring rows, evenly over the file; None where rows are too few.

    Parameters
    ----------
    places : (n,) array, where in the file every row stands

    Examples
    --------
    >>> import numpy as np
    >>> runs = draw_runs(np.arange(1000)[::-1])
    >>> len(runs.rows), runs.rows[:3].tolist(), np.bincount(runs.labels).tolist()
    (600, [999, 998, 997], [60, 60, 60, 60, 60, 60, 60, 60, 60, 60])
    """
    n, order = len(places), np.argsort(places, kind="stable")
    if n < FEWEST_ROWS:
        return None
    if n <= MOST_ROWS:
        return Runs(order, np.arange(n) * N_RUNS // n)
    length = MOST_ROWS // N_RUNS
    starts = np.arange(N_RUNS) * (n - length) // (N_RUNS - 1)
    return Runs(order[(starts[:, None] + np.arange(length)).ravel()], np.repeat(np.arange(N_RUNS), length))


def adjacency(
    kernel: Kernel,
    Z: FloatArray,
    Y: FloatArray,
    ridge: float,
    *,
    frequencies: FloatArray,
    runs: IntArray,
) -> Adjacency | None:
    """Measure how far neighbouring rows tell on each other; None where nothing varies or can be solved.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, D) array of scaled rows, in the order of the file
    Y : (m, p) array
    ridge : float
    frequencies : (m,) array, how often every row occurs
    runs : (m,) array, the run of every row
    """
    spread = np.average((Y - np.average(Y, axis=0, weights=frequencies)) ** 2, axis=0, weights=frequencies)
    Y = Y[:, spread > 0.0] / np.sqrt(spread[spread > 0.0])
    if not Y.shape[1]:
        return None
    try:
        with one_blas_thread():
            P = projected_inverse(kernel, Z, ridge / frequencies)
            A = P @ (Y - Y.mean(axis=0))
            together, random = _compare(P, A, runs, frequencies)
    except np.linalg.LinAlgError:  # a kernel that the fit itself could only use with a larger ridge
        return None
    near = runs[1:] == runs[:-1]
    errors = A / P.diagonal()[:, None]
    return Adjacency(
        run_error=together,
        random_error=float(np.mean(random)),
        most_random=max(random),
        correlation=_correlation(errors, Y, near),
        n_pairs=int(near.sum()),
    )


def _compare(P: FloatArray, A: FloatArray, runs: IntArray, frequencies: FloatArray) -> tuple[float, list[float]]:
    """Squared errors of runs left out, and of as many random rows, drawn until they show that runs are like them."""
    n, together = len(A), _error(P, A, runs, frequencies)
    random = list[float]()
    while len(random) < FEWEST_RANDOM or (len(random) < N_RANDOM and _stands_out(together, max(random))):
        order = shuffle(np.arange(n), n, 0, len(random) + 1)
        random.append(_error(P, A, runs[order], frequencies))
    return together, random


def _stands_out(together: float, most_random: float) -> bool:
    return together > max(MOST_RISE * most_random, LEAST_SHARE)


def _error(P: FloatArray, A: FloatArray, groups: IntArray, frequencies: FloatArray) -> float:
    """The mean squared error of groups left out."""
    squares = np.mean(errors_by_group(P, A, groups) ** 2, axis=1)
    return float(np.average(squares, weights=frequencies))


def _correlation(errors: FloatArray, Y: FloatArray, near: FloatArray) -> float:
    """The mean over outputs of the rank correlation of a row's error and the next one's.

    What errors share because responses are alike is taken out first, by twentieths of the response:
    a file that is sorted by y is no group of rows.
    """
    found = []
    for error, y in zip(errors.T, Y.T, strict=True):
        rank = _ranks(error)
        part = (_ranks(y) * 20.0).astype(np.int64)
        centred = rank - (np.bincount(part, rank) / np.maximum(np.bincount(part), 1))[part]
        found.append(float(np.sum((centred[1:] * centred[:-1])[near]) / np.sum((centred[1:] ** 2)[near])))
    return float(np.mean(found))


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks in [0, 1), (n,)."""
    rank = np.empty(len(values))
    rank[np.argsort(values, kind="stable")] = np.arange(len(values)) / len(values)
    return rank
