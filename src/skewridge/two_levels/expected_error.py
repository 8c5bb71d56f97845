"""The expected error of a fit at new rows: mean squared errors of left-out predictions, overall and where y is rare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.metrics import rare_region

DOMINANT_SHARE = 0.5  # of the squared error, in one row
EXACT = 1e-13  # of the range of y: errors up to this are rounding


@dataclass(frozen=True)
class ExpectedError:
    """The mean squared error of left-out predictions, overall and in the rare region of the training response.

    Attributes
    ----------
    mse, mse_se : float, and its standard error, rows (or groups, or blocks of an order) taken as independent; nan
        for one row alone, since nothing is left to fit without it
    rare_mse, rare_mse_se : float, the same in the rare region; nan where it has no row, and the
        standard error nan where it has one
    dominant_row : int or None, the row that holds over half of the squared error
    dominant_share : float, the largest share of the squared error in one row

    Examples
    --------
    >>> risk = ExpectedError(1.079e11, 2.05e10, 3.087e12, 1.09e12, None, 0.14)
    >>> print(risk)
    RMSE 328,500, and 1,757,000 where y is rare, stated for rows that the fit has not seen
    >>> round(risk.rmse)  # beside errors of your own, in units of y
    328481
    """

    mse: float
    mse_se: float
    rare_mse: float
    rare_mse_se: float
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


def expected_error(
    y: FloatArray,
    predictions: FloatArray,
    frequencies: FloatArray | None = None,
    *,
    member: IntArray | None = None,
    together: IntArray | None = None,
) -> ExpectedError:
    """State the risk of left-out predictions, (n,), nan where there are none; a row of frequency 2 is two rows.

    ``member``, (n,), says which distinct x every row is at: these are named as one; None: all rows differ. Rows with
    one label of ``together``, (n,), are one draw: they count in means and do not narrow their errors; None: those with
    equal x.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.append(np.linspace(0.0, 1.0, 99), 9.0)
    >>> risk = expected_error(y, np.append(y[:-1] + 0.1, 6.0))
    >>> round(risk.mse, 4), risk.rare_mse, risk.dominant_row, round(risk.dominant_share, 2)
    (0.0999, 9.0, 99, 0.9)
    """
    f = np.ones(len(y)) if frequencies is None else frequencies
    member = np.arange(len(y)) if member is None else member
    together = member if together is None else together
    errors, last_digit = y - predictions, float(np.spacing(np.abs(y).max()))
    errors[np.abs(errors) <= max(EXACT * float(np.ptp(y)), last_digit)] = 0.0
    rare, known = rare_region(y, y, weights=f), np.flatnonzero(~np.isnan(predictions))
    squares, f, member, together, rare = errors[known] ** 2, f[known], member[known], together[known], rare[known]
    mse, mse_se = _mean_and_error(squares, f, together)
    rare_mse, rare_mse_se = _mean_and_error(squares[rare], f[rare], together[rare])
    own = f * squares
    dominant, share, largest = None, 0.0, float(own.max(initial=0.0))
    if largest > 0.0:
        totals = np.bincount(member, own / largest)
        share = float(totals.max() / totals.sum())
        if share > DOMINANT_SHARE:  # the worst row of the x with the largest squared error
            dominant = int(known[np.argmax(np.where(member == np.argmax(totals), own, -1.0))])
    return ExpectedError(mse, mse_se, rare_mse, rare_mse_se, dominant, dominant_share=share)


def _mean_and_error(squares: FloatArray, f: FloatArray, together: IntArray) -> tuple[float, float]:
    """The mean of squared errors of rows that occur f times, and its standard error."""
    n = np.count_nonzero(np.bincount(together))
    if n == 0:
        return float("nan"), float("nan")
    mean = float(f @ squares / f.sum())
    if n == 1:
        return mean, float("nan")
    unit = float(squares.max()) or 1.0  # squares of squares must not overflow
    totals = np.bincount(together, f * ((squares - mean) / unit))
    spread = unit * np.linalg.norm(totals) / f.sum()
    return mean, float(spread * np.sqrt(n / (n - 1)))
