"""The stated risk of honest predictions: mean squared errors overall and where the response is rare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.metrics import rare_region

DOMINANT_SHARE = 0.5  # of the squared error, in one row
EXACT = 1e-13  # of the range of y: errors up to this are rounding


@dataclass(frozen=True)
class StatedRisk:
    """The mean squared honest error, overall and in the rare region of the training response.

    Attributes
    ----------
    mse, mse_error : float, and its standard error, rows (or groups, or blocks of an order) taken as independent; nan
        for one row alone, since nothing is left to fit without it
    rare_mse, rare_error : float, the same in the rare region; nan where it has no row, and the
        standard error nan where it has one
    dominant_row : int or None, the row that holds over half of the squared error
    dominant_share : float, the largest share of the squared error in one row

    Examples
    --------
    >>> risk = StatedRisk(1.079e11, 2.05e10, 3.087e12, 1.09e12, None, 0.14)
    >>> print(risk)
    RMSE 328,500, and 1,757,000 where y is rare, stated for rows that the fit has not seen
    >>> round(risk.rmse)  # beside errors of your own, in units of y
    328481
    """

    mse: float
    mse_error: float
    rare_mse: float
    rare_error: float
    dominant_row: int | None
    dominant_share: float

    @property
    def rmse(self) -> float:
        """The root of ``mse``, in units of y."""
        return float(np.sqrt(self.mse))

    @property
    def rare_rmse(self) -> float:
        """The root of ``rare_mse``, in units of y."""
        return float(np.sqrt(self.rare_mse))

    def __str__(self) -> str:
        """One line in units of y; ``repr`` has all the numbers."""
        overall, rare = (f"{float(f'{root:.4g}'):,.9g}" for root in (self.rmse, self.rare_rmse))
        where = "" if np.isnan(self.rare_mse) else f", and {rare} where y is rare,"
        return f"RMSE {overall}{where} stated for rows that the fit has not seen"


def stated_risk(
    y: FloatArray,
    predictions: FloatArray,
    frequencies: FloatArray | None = None,
    *,
    member: IntArray | None = None,
    draws: IntArray | None = None,
) -> StatedRisk:
    """State the risk of honest predictions of one output; a row of frequency 2 is two rows.

    Parameters
    ----------
    y, predictions : (n,) arrays; rows whose prediction is nan are not counted
    frequencies : (n,) array, how often each row occurs; None is 1
    member : (n,) array, which distinct x every row is at: these are named as one; None: all rows differ
    draws : (n,) array, which draw every row belongs to; None: rows with equal x are one

    Examples
    --------
    >>> import numpy as np
    >>> y = np.append(np.linspace(0.0, 1.0, 99), 9.0)
    >>> risk = stated_risk(y, np.append(y[:-1] + 0.1, 6.0))
    >>> round(risk.mse, 4), risk.rare_mse, risk.dominant_row, round(risk.dominant_share, 2)
    (0.0999, 9.0, 99, 0.9)
    """
    f = np.ones(len(y)) if frequencies is None else frequencies
    member = np.arange(len(y)) if member is None else member
    draws = member if draws is None else draws
    errors = y - predictions
    errors[np.abs(errors) <= _rounding(y)] = 0.0
    rare, known = rare_region(y, y, weights=f), np.flatnonzero(~np.isnan(predictions))
    squares, f, member, draws, rare = errors[known] ** 2, f[known], member[known], draws[known], rare[known]
    mse, mse_error = _mean_and_error(squares, f, draws)
    rare_mse, rare_error = _mean_and_error(squares[rare], f[rare], draws[rare])
    row, share = _dominant(f * squares, member)
    return StatedRisk(
        mse=mse,
        mse_error=mse_error,
        rare_mse=rare_mse,
        rare_error=rare_error,
        dominant_row=int(known[row]) if share > DOMINANT_SHARE else None,
        dominant_share=share,
    )


def _rounding(y: FloatArray) -> float:
    """Errors up to this are rounding: next to nothing of the range of y, or the last digit of its largest value."""
    return max(EXACT * float(np.ptp(y)), float(np.spacing(np.abs(y).max())))


def _dominant(errors: FloatArray, member: IntArray) -> tuple[int, float]:
    """The worst row of the distinct x with the largest squared error, and that x's share of it all."""
    largest = float(errors.max(initial=0.0))
    if not largest > 0.0:
        return 0, 0.0
    totals = np.bincount(member, errors / largest)
    own = member == np.argmax(totals)
    return int(np.flatnonzero(own)[np.argmax(errors[own])]), float(totals.max() / totals.sum())


def _mean_and_error(squares: FloatArray, f: FloatArray, member: IntArray) -> tuple[float, float]:
    """The mean of squared errors of rows that occur f times, and its standard error.

    Rows with equal x are one draw: they count in the mean and do not narrow the error.
    """
    n = np.count_nonzero(np.bincount(member))
    if n == 0:
        return float("nan"), float("nan")
    mean = float(f @ squares / f.sum())
    if n == 1:
        return mean, float("nan")
    unit = float(squares.max()) or 1.0  # squares of squares must not overflow
    totals = np.bincount(member, f * ((squares - mean) / unit))
    spread = unit * np.linalg.norm(totals) / f.sum()
    return mean, float(spread * np.sqrt(n / (n - 1)))
