"""The forms in which kernels see the columns of a table, and their learned scales.

Every column that varies enters twice: standardised, which keeps distances, and as normal scores of
its ranks, which spreads crowded values and tames far ones. Learned scales decide between the two.

Each form is a piecewise linear function of its column, flat beyond its first and last knot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from skewridge._typing import BoolArray, FloatArray, IntArray, PicklesFields
from skewridge._validation import TINIEST
from skewridge.features.scaling import CONSTANT, moments
from skewridge.kernels import loops

MOST_DEVIATIONS = 8.0  # standardised values are clipped here
MOST_SCORE = 3.0  # and normal scores here
MOST_KNOTS = 10_000  # of one form: 160 kB in a model file
NEGLIGIBLE = 1e-3  # of the largest scale: a millionth of its share of squared distances
FAR = 25.0  # times the usual distance from the median; an exponential column of a million rows reaches 17
NORMAL_IQR = 1.349  # the interquartile range of a standard normal column
FEWEST_VALUES = 8  # besides the most common one, that quartiles are estimated from


@dataclass(frozen=True)
class FeatureForms(PicklesFields):
    """Form j of a row, of D, is scores[j] interpolated at knots[j] for its value of column columns[j].

    ``ranked`` says which are normal scores of ranks; the others are standardised values.
    """

    n_columns: int
    columns: IntArray
    ranked: BoolArray
    knots: tuple[FloatArray, ...]
    scores: tuple[FloatArray, ...]

    def __len__(self) -> int:
        """The number of forms, D."""
        return len(self.columns)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the forms of rows, (n, D)."""
        if X.ndim != 2 or X.shape[1] != self.n_columns:
            raise ValueError(
                f"rows of {self.n_columns} columns are needed, as in the table that the forms were "
                f"learned from; got an array of shape {X.shape}"
            )
        out = np.empty((len(X), len(self.columns)))
        loops().interpolate(np.ascontiguousarray(X, dtype=np.float64), *self._packed, out)
        return out

    @cached_property
    def _packed(self) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
        """Columns, all knots and scores one after another, and where those of every form begin."""
        nothing = np.empty(0)
        return (
            np.asarray(self.columns, dtype=np.int64),
            np.concatenate([nothing, *self.knots]),
            np.concatenate([nothing, *self.scores]),
            np.cumsum([0, *(len(own) for own in self.knots)]),
        )

    def places_of(self, some: FeatureForms) -> IntArray | None:
        """Where some forms, of the same table, stand among these; None if any of them does not."""
        own, wanted = (zip(forms.columns.tolist(), forms.ranked.tolist(), strict=True) for forms in (self, some))
        places = {form: place for place, form in enumerate(own)}
        found = np.array([places.get(form, -1) for form in wanted], dtype=np.int64)
        if np.any(found < 0):
            return None
        return found if all(map(np.array_equal, self.keep(found)._packed, some._packed)) else None

    def keep(self, forms: BoolArray | IntArray) -> FeatureForms:
        """Some of the forms, by a mask or by their places."""
        places = np.arange(len(self.columns))[forms]
        return FeatureForms(
            n_columns=self.n_columns,
            columns=self.columns[places],
            ranked=self.ranked[places],
            knots=tuple(self.knots[j] for j in places),
            scores=tuple(self.scores[j] for j in places),
        )

    def within(self, X: FloatArray) -> FeatureForms:
        """The same forms, flat beyond the ranges of some rows' columns: as if these were all that is known."""
        lows, highs = X.min(axis=0), X.max(axis=0)
        all_knots, all_scores = list[FloatArray](), list[FloatArray]()
        for column, knots, scores in zip(self.columns, self.knots, self.scores, strict=True):
            low, high = lows[column], highs[column]
            inner = knots[(knots > low) & (knots < high)]
            ends = np.concatenate([[low], inner, [high]])
            all_knots.append(ends if low < high else knots[[0, -1]])
            all_scores.append(interpolate(ends, knots, scores))
        return replace(self, knots=tuple(all_knots), scores=tuple(all_scores))

    def column_scale(self, scales: FloatArray) -> FloatArray:
        """Every column's scale, (d,): root of the sum of squares over its forms, (D,); 0 if it has none."""
        return np.sqrt(np.bincount(self.columns, scales**2, minlength=self.n_columns))


def learn_forms(X: FloatArray, frequencies: FloatArray | None = None) -> FeatureForms:
    """Learn the forms of a table's columns, (n, d), each of mean 0 and standard deviation 1; standardised ones first.

    Standardised is (x - mean) / sd clipped at 8 and at the column's range, and before that at its usual range: one
    absurd cell must not make the others look alike. Ranked are normal scores of mid-ranks, clipped at 3. A column of
    two values needs one form, a constant one none. All is learned from distinct values and how often they occur: the
    order of rows, and copies of them, cannot matter.
    """
    f = np.ones(len(X)) if frequencies is None else frequencies
    used = f > 0.0
    found = [
        (ranked, column, knots, scores)
        for column, x in enumerate(X.T)
        for ranked, knots, scores in _column_forms(x[used], f[used])
    ]
    found.sort(key=lambda form: form[:2])
    return FeatureForms(
        n_columns=X.shape[1],
        columns=np.array([form[1] for form in found], dtype=np.int64),
        ranked=np.array([form[0] for form in found], dtype=np.bool_),
        knots=tuple(form[2] for form in found),
        scores=tuple(form[3] for form in found),
    )


def _column_forms(x: FloatArray, frequencies: FloatArray) -> Iterator[tuple[bool, FloatArray, FloatArray]]:
    """Yield the forms of a column, (n,): whether it is ranked, knots and scores; none if it is constant to rounding."""
    values, which = np.unique(x + 0.0, return_inverse=True)  # -0.0 and 0.0 are one number
    if len(values) < 2:
        return
    totals = np.bincount(which, frequencies, minlength=len(values)).astype(np.float64)
    _, deviation = moments(values, totals)
    size = float(np.abs(values).max())
    if deviation <= max(CONSTANT * size, TINIEST):
        return
    low, high = usual_range(values, totals)
    near = np.clip(values, low, high)
    mean, deviation = moments(near, totals)
    ends = (near[[0, -1]] - mean) / deviation
    ends = np.clip(ends, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    knots = mean + ends * deviation
    found = [(False, knots, ends, near)]
    if len(values) > 2:
        scores = np.clip(ndtri(_mid_ranks(totals)), -MOST_SCORE, MOST_SCORE)
        some = np.arange(len(scores))
        if len(scores) > MOST_KNOTS:  # knots at some of the values, evenly over their scores
            some = np.searchsorted(scores, np.linspace(scores[0], scores[-1], MOST_KNOTS), side="right") - 1
            some[-1] = np.searchsorted(scores, scores[-1])  # from the last lowest to the first highest
            some = np.unique(some)
        found.append((True, values[some], scores[some], values))
    for ranked, knots, scores, points in found:  # every form has mean 0 and standard deviation 1
        mean, deviation = moments(interpolate(points, knots, scores), totals)
        yield ranked, knots, (scores - mean) / deviation


def _mid_ranks(totals: FloatArray) -> FloatArray:
    """The share of rows below every value and half of its own, (k,)."""
    return (np.cumsum(totals) - 0.5 * totals) / totals.sum()


def interpolate(x: FloatArray, knots: FloatArray, scores: FloatArray) -> FloatArray:
    """Piecewise linear, flat beyond the ends, (n,); by shares of an interval, which cannot overflow."""
    out = np.empty((len(x), 1))
    column, starts = np.zeros(1, dtype=np.int64), np.array([0, len(knots)])
    loops().interpolate(x[:, None], column, knots, scores, starts, out)
    return out[:, 0]


def usual_range(values: FloatArray, totals: FloatArray) -> tuple[float, float]:
    """The range beyond which values are far: the median and 25 times IQR / 1.349 on either side.

    Values come distinct and ascending, and occur ``totals`` times. Where half of them are one, only the others are
    looked at; where too few values differ, none is far.
    """
    common = totals > 0.5 * totals.sum()
    if common.any():
        values, totals = values[~common], totals[~common]
        if len(values) < FEWEST_VALUES or totals.max() > 0.5 * totals.sum():
            return -np.inf, np.inf
    low, middle, high = np.interp((0.25, 0.5, 0.75), _mid_ranks(totals), values)
    far = FAR * (high - low) / NORMAL_IQR
    if far > 0.0:
        return middle - far, middle + far
    return -np.inf, np.inf


def reach(x: FloatArray) -> float:
    """The largest distance of a column's values from the median over that which is usual, IQR / 1.349; nan are none."""
    values, totals = np.unique(x[np.isfinite(x)], return_counts=True)
    if not len(values):
        return 0.0
    low, high = usual_range(values, totals.astype(np.float64))
    if not np.isfinite(high - low):
        return 0.0
    middle = (low + high) / 2
    largest = np.abs(values - middle).max()
    return float(largest / (high - low) * 2 * FAR)


@dataclass(frozen=True)
class ScaledForms:
    """Rows -> their forms, each times its scale, (D,), of root mean square 1: what kernels of distances see."""

    forms: FeatureForms
    scales: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the scaled forms of rows, (n, D)."""
        out = self.forms(X)
        out *= self.scales
        return out


def scale_forms(forms: FeatureForms, scales: FloatArray) -> tuple[ScaledForms, float]:
    """Drop forms of negligible scale and normalise the others; the bandwidth is one over their root mean square."""
    kept = scales >= NEGLIGIBLE * scales.max()
    size = float(np.sqrt(np.mean(scales[kept] ** 2)))
    return ScaledForms(forms.keep(kept), scales[kept] / size), 1.0 / size
