"""Rows that dominate a least-squares fit, and neighbours in the file that depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.chunked import RowData
from skewridge.kernels import Kernel
from skewridge.ridge.leave_one_out import errors_by_group, projected_inverse

CANDIDATES = 20  # rows of the largest residuals, and of the most extreme responses, that are looked at
MOST_NAMED = 10
NEGLIGIBLE = 0.1  # residuals below this share of the response's spread are alike
THRESHOLD = 30.0  # a row dominates when it moves the fitted values by so many typical residuals in all
LEAST_FREE = 1e-3  # 1 - h below which a row is interpolated

MOST_ROWS, N_BLOCKS = 600, 10  # of neighbours in the file
FEWEST_ROWS = 40
N_RANDOM = 99
FEWEST_RANDOM = 9  # of these, where blocks are like them
MOST_RISE = 3.0  # of the squared error, when blocks are left out instead of random rows
LEAST_SHARE = 0.05  # of the variance: smaller errors of blocks left out are not worth a warning
MOST_CORRELATION = 0.3
DEVIATIONS = 4.0  # by which a correlation must exceed what chance makes


# Rows that dominate


def influence_candidates(y: FloatArray, residual: FloatArray) -> IntArray:
    """Rows that may dominate: a row that the fit follows has a small residual but an extreme response."""
    n = min(CANDIDATES, len(y))
    extreme = np.argpartition(-np.abs(y - np.median(y)), n - 1)[:n]
    missed = np.argpartition(-np.abs(residual), n - 1)[:n]
    return np.union1d(extreme, missed)


def typical_size(residual: FloatArray) -> float:
    """The residuals' spread about their median, which a few rows cannot change even by shifting the intercept."""
    deviation = residual - np.median(residual)
    return 1.4826 * float(np.median(np.abs(deviation))) or float(np.sqrt(np.mean(deviation**2)))


def dominating_rows(
    residual: FloatArray, response: FloatArray, hat: FloatArray, spread: float, threshold: float = THRESHOLD
) -> tuple[IntArray, FloatArray]:
    """Return which of some rows dominate the fit, the culprit first, and by how many typical residuals they move it.

    Without row i, whose left-out error is e_i = r_i / (1 - h_ii), the fitted values would change by h_ji e_i, which is
    at most e_i sqrt(h_ii) in all (the root of the sum of squares). A row that the fit interpolates (h_ii = 1) is left
    out to the level of the others: its error is its response, centred at the median. Of the rows that dominate, the one
    whose absence makes the others predictable is named, and is left out before the next is looked for (r_j + h_ji e_i,
    h_jl + h_ji h_il / (1 - h_ii)): rows near it are not blamed for what it did.

    Examples
    --------
    >>> import numpy as np
    >>> hat = np.array([[0.25, 0.1], [0.1, 0.2]])
    >>> dominating_rows(np.array([50.0, 0.1]), np.array([60.0, 5.0]), hat, 1.0)
    (array([0]), array([33.33333333]))
    """
    r, h, left = residual, hat, np.ones(len(residual), dtype=bool)
    rows, influence = list[int](), list[float]()
    while len(rows) < MOST_NAMED:
        own, errors = _left_out(r, response, h)
        moved = np.where(left, np.abs(errors) * np.sqrt(own), 0.0)
        least, found = np.inf, -1
        for i in np.flatnonzero(moved > threshold * spread).tolist():
            free = 1.0 - float(own[i])
            without = r + h[:, i] * errors[i], h + np.outer(h[:, i], h[i]) / free if free > LEAST_FREE else h
            others = left & (np.arange(len(r)) != i)
            squares = float(np.sum(_left_out(without[0], response, without[1])[1][others] ** 2))
            if squares < least or found < 0:
                least, found, best = squares, i, without
        if found < 0:
            break
        rows.append(found)
        influence.append(float(moved[found]))
        left[found] = False
        r, h = best
    sizes = np.array(influence)
    return np.array(rows, dtype=np.int64), sizes / spread if spread > 0 else np.full(len(sizes), np.inf)


def _left_out(r: FloatArray, response: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Every row's leverage, and its error when it is left out, (n,) both."""
    own = np.clip(h.diagonal(), 0.0, 1.0)
    free = 1.0 - own
    return own, np.where(free > LEAST_FREE, r / np.maximum(free, LEAST_FREE), response)


# Neighbours in the file


@dataclass(frozen=True)
class SerialDependence:
    """How far rows near each other in the file depend on each other: a check without knowing groups or order.

    Left-out errors say nothing about new groups, or later rows, where a row's neighbours in the file give its response
    away: rows of one group, or of one hour, with features as alike as their responses. Two signs, on blocks of
    neighbouring rows and with a kernel that was learned before:

    - whole blocks left out are predicted far worse than as many random rows left out together (squared errors over the
      variance of y: of blocks, of random rows, their mean over draws and the largest of them);
    - errors of rows left out one by one are like those of the rows next to them (a correlation of so many pairs).

    Rows in random order show the first at most once in a hundred times, whatever their distribution: blocks are then
    like the 99 random draws that they are compared with (9, where these show it already).
    """

    block_error: float
    random_error: float
    most_random: float
    correlation: float
    n_pairs: int

    @property
    def warning(self) -> str | None:
        """What a user should know; None where rows may well be independent."""
        if _stands_out(self.block_error, self.most_random):
            return (
                "Rows that stand near each other in the file tell on each other: left out together their squared "
                f"error is {self.block_error:.2g} of the variance of y, and {self.random_error:.2g} for as many random "
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


def neighbour_blocks(places: IntArray) -> tuple[IntArray, IntArray] | None:
    """Draw ten blocks of up to 60 neighbouring rows, evenly over the file; None where rows are too few.

    From where in the file every row stands, (n,): the rows drawn, (m,), in the order of the file, and their blocks.

    Examples
    --------
    >>> import numpy as np
    >>> rows, blocks = neighbour_blocks(np.arange(1000)[::-1])
    >>> len(rows), rows[:3].tolist(), np.bincount(blocks).tolist()
    (600, [999, 998, 997], [60, 60, 60, 60, 60, 60, 60, 60, 60, 60])
    """
    n, order = len(places), np.argsort(places, kind="stable")
    if n < FEWEST_ROWS:
        return None
    if n <= MOST_ROWS:
        return order, np.arange(n) * N_BLOCKS // n
    length = MOST_ROWS // N_BLOCKS
    starts = np.arange(N_BLOCKS) * (n - length) // (N_BLOCKS - 1)
    return order[(starts[:, None] + np.arange(length)).ravel()], np.repeat(np.arange(N_BLOCKS), length)


def serial_dependence(
    kernel: Kernel,
    X: RowData,
    transform: Callable[[FloatArray], FloatArray],
    places: IntArray,
    y: FloatArray,
    ridge: float,
    *,
    frequencies: FloatArray,
) -> SerialDependence | None:
    """Measure the dependence of rows at some places of a file X, (n,), with responses (n, 1) and frequencies.

    They go through ``transform`` before the kernel. None where rows are too few, or nothing varies or can be solved.
    """
    found = neighbour_blocks(places)
    if found is None:
        return None
    own, blocks = found
    Z, y, frequencies = transform(np.asarray(X[places[own]])), y[own], frequencies[own]
    variance = float(np.average((y[:, 0] - np.average(y[:, 0], weights=frequencies)) ** 2, weights=frequencies))
    if variance == 0.0:
        return None
    y = y / np.sqrt(variance)
    try:
        with one_blas_thread():
            P, _ = projected_inverse(kernel, Z, ridge / frequencies, np.empty((len(Z), 0)), np.empty(0))
            A = P @ (y - y.mean(axis=0))
            losses = list[float]()  # of the blocks, then of random rows
            while len(losses) <= FEWEST_RANDOM or (len(losses) <= N_RANDOM and _stands_out(losses[0], max(losses[1:]))):
                groups = blocks[shuffle(np.arange(len(A)), len(A), 0, len(losses))] if losses else blocks
                squares = errors_by_group(P, A, groups)[:, 0] ** 2
                losses.append(float(np.average(squares, weights=frequencies)))
    except np.linalg.LinAlgError:  # a kernel that the fit itself could only use with a larger ridge
        return None
    orders = (np.argsort(values, kind="stable") for values in (A[:, 0] / P.diagonal(), y[:, 0]))
    rank, place = (np.argsort(order) / len(A) for order in orders)  # of errors and of responses
    part = (place * 20.0).astype(np.int64)
    rank -= (np.bincount(part, rank) / np.maximum(np.bincount(part), 1))[part]  # errors of like responses are alike
    near = blocks[1:] == blocks[:-1]
    return SerialDependence(
        block_error=losses[0],
        random_error=float(np.mean(losses[1:])),
        most_random=max(losses[1:]),
        correlation=float(np.sum((rank[1:] * rank[:-1])[near]) / np.sum((rank[1:] ** 2)[near])),
        n_pairs=int(near.sum()),
    )


def _stands_out(together: float, most_random: float) -> bool:
    return together > max(MOST_RISE * most_random, LEAST_SHARE)
