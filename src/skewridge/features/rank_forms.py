"""The forms in which kernels see the columns of a table.

Every column that varies enters twice: standardised, which keeps distances, and as normal scores of
its ranks, which spreads crowded values and tames far ones. Learned scales decide between the two.

Each form is a piecewise linear function of its column, flat beyond its first and last knot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from skewridge._typing import BoolArray, FloatArray, IntArray, PicklesFields
from skewridge._validation import TINIEST
from skewridge.features.scaling import CONSTANT, moments
from skewridge.features.tails import usual_range
from skewridge.kernels.kernel import loops_module

MOST_DEVIATIONS = 8.0  # standardised values are clipped here
MOST_SCORE = 3.0  # and normal scores here
MOST_KNOTS = 10_000  # of one form: 160 kB in a model file


@dataclass(frozen=True)
class FeatureForms(PicklesFields):
    """The forms of a table's columns, to be applied to any rows; see :func:`learn_forms`.

    Form j of a row is ``scores[j]`` interpolated at ``knots[j]`` for its value of column
    ``columns[j]``; values beyond the knots are taken for the first or last one.

    Attributes
    ----------
    n_columns : int, columns of the table
    columns : (D,) array, the column that each form came from
    ranked : (D,) array, True for normal scores of ranks, False for standardised values
    knots, scores : tuples of D arrays
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
        out = np.empty((len(X), len(self)))
        loops_module().interpolate(np.ascontiguousarray(X, dtype=np.float64), *self._packed, out)
        return out

    @cached_property
    def _packed(self) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
        """Columns, all knots and scores one after another, and where those of every form begin."""
        starts = np.cumsum([0, *(len(own) for own in self.knots)])
        knots, scores = (np.concatenate([np.empty(0), *own]) for own in (self.knots, self.scores))
        return np.asarray(self.columns, dtype=np.int64), knots, scores, starts

    def places_of(self, some: FeatureForms) -> IntArray | None:
        """Where some forms, of the same table, stand among these; None if any of them does not."""
        places = {(int(c), bool(r)): j for j, (c, r) in enumerate(zip(self.columns, self.ranked, strict=True))}
        wanted = zip(some.columns.tolist(), some.ranked.tolist(), strict=True)
        found = [places.get(own, -1) for own in wanted]
        same = all(
            j >= 0 and np.array_equal(self.knots[j], knots) and np.array_equal(self.scores[j], scores)
            for j, knots, scores in zip(found, some.knots, some.scores, strict=True)
        )
        return np.array(found, dtype=np.int64) if same else None

    def keep(self, forms: BoolArray | IntArray) -> FeatureForms:
        """Some of the forms, by a mask or by their places."""
        places = np.arange(len(self))[forms]
        return FeatureForms(
            n_columns=self.n_columns,
            columns=self.columns[places],
            ranked=self.ranked[places],
            knots=tuple(self.knots[j] for j in places),
            scores=tuple(self.scores[j] for j in places),
        )

    def within(self, X: FloatArray) -> FeatureForms:
        """The same forms, flat beyond the ranges of some rows' columns: as if these were all that is known.

        Examples
        --------
        >>> forms = learn_forms(np.arange(5.0)[:, None])
        >>> forms.within(np.array([[1.0], [3.0]]))(np.array([[0.0], [1.0], [9.0]])).round(2)[:, 0]
        array([-0.71, -0.71,  0.71])
        """
        low, high = X.min(axis=0), X.max(axis=0)
        ends = zip(low[self.columns], high[self.columns], self.knots, self.scores, strict=True)
        found = [_flat_beyond(*own) for own in ends]
        knots, scores = (tuple(own) for own in zip(*found, strict=True)) if found else ((), ())
        return replace(self, knots=knots, scores=scores)

    def by_column(self, values: FloatArray) -> FloatArray:
        """Sums over the forms of every column, (d,), of one value a form, (D,)."""
        totals = np.bincount(self.columns, values, minlength=self.n_columns)
        return totals.astype(np.float64)

    @property
    def unused_columns(self) -> IntArray:
        """Columns that no form comes from: constant ones, and those that were dropped."""
        return np.setdiff1d(np.arange(self.n_columns), self.columns)


def learn_forms(X: FloatArray, frequencies: FloatArray | None = None) -> FeatureForms:
    """Learn the forms of a table's columns, each of mean 0 and standard deviation 1.

    A column that varies is standardised, (x - mean) / sd clipped at 8 and at its range (and before that at 25
    robust deviations, IQR / 1.349, from its median), and turned into normal scores of its mid-ranks, clipped at 3.
    A column of two values needs one form, a constant one none. Standardised forms come first.

    Parameters
    ----------
    X : (n, d) array
    frequencies : (n,) array, how often every row occurs; None: once

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 2.0], [0.0, 5.0, 3.0], [1.0, 5.0, 99.0]])
    >>> forms = learn_forms(X)
    >>> forms.columns.tolist(), forms.ranked.tolist(), forms.unused_columns.tolist()
    ([0, 2, 2], [False, False, True], [1])
    >>> forms(X).round(2)
    array([[-1.  , -0.6 , -1.36],
           [ 1.  , -0.58, -0.38],
           [-1.  , -0.55,  0.38],
           [ 1.  ,  1.73,  1.36]])
    """
    f = np.ones(len(X)) if frequencies is None else frequencies
    columns = [_distinct(x, f) for x in X.T]
    varying = [j for j, (values, totals) in enumerate(columns) if _varies(values, totals)]
    many = [j for j in varying if len(columns[j][0]) > 2]
    found = [_standardised(*columns[j]) for j in varying] + [_ranked(*columns[j]) for j in many]
    return FeatureForms(
        n_columns=X.shape[1],
        columns=np.array(varying + many, dtype=np.int64),
        ranked=np.arange(len(found)) >= len(varying),
        knots=tuple(knots for knots, _ in found),
        scores=tuple(scores for _, scores in found),
    )


def _distinct(x: FloatArray, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distinct values of a column, ascending, and how often each occurs.

    All that is learned is learned from these: the order of rows, and copies of them, cannot matter.
    """
    counted = frequencies > 0.0
    values, which = np.unique(x[counted] + 0.0, return_inverse=True)  # -0.0 and 0.0 are one number
    totals = np.bincount(which, frequencies[counted], minlength=len(values))
    return values, totals.astype(np.float64)


def _varies(values: FloatArray, totals: FloatArray) -> bool:
    """True unless a column is constant up to rounding."""
    if len(values) < 2:
        return False
    _, deviation = moments(values, totals)
    return deviation > max(CONSTANT * float(np.abs(values).max()), TINIEST)


def _standardised(values: FloatArray, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Knots at the ends of the column's range, at most 8 standard deviations either side of the mean.

    Values far from all others are moved nearer first: one absurd cell must not make the others look alike.
    """
    values = np.clip(values, *usual_range(values, totals))
    mean, deviation = moments(values, totals)
    ends = (values[[0, -1]] - mean) / deviation
    reach = np.clip(ends, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    return _unit_spread(mean + reach * deviation, reach, values, totals)


def _ranked(values: FloatArray, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Knots at the distinct values, or at some of them where they are very many."""
    ranks = (np.cumsum(totals) - 0.5 * totals) / totals.sum()
    scores = np.clip(ndtri(ranks), -MOST_SCORE, MOST_SCORE)
    places = _spread_over(scores, MOST_KNOTS) if len(scores) > MOST_KNOTS else slice(None)
    return _unit_spread(values[places], scores[places], values, totals)


def _spread_over(scores: FloatArray, n_knots: int) -> IntArray:
    """Places evenly over ascending scores, from the last lowest to the first highest."""
    grid = np.linspace(scores[0], scores[-1], n_knots)
    places = np.searchsorted(scores, grid, side="right") - 1
    places[-1] = np.searchsorted(scores, scores[-1])
    return np.unique(places)


def _unit_spread(
    knots: FloatArray, scores: FloatArray, values: FloatArray, totals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rescale scores so that the column has mean 0 and standard deviation 1."""
    mean, deviation = moments(_interpolate(values, knots, scores), totals)
    return knots, (scores - mean) / deviation


def _flat_beyond(low: float, high: float, knots: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Knots and scores of a form between two values; constant where these are one."""
    if not low < high:
        return knots[[0, -1]], np.repeat(_interpolate(np.array([low]), knots, scores), 2)
    inside = (knots > low) & (knots < high)
    kept = np.concatenate([[low], knots[inside], [high]])
    return kept, _interpolate(kept, knots, scores)


def _interpolate(x: FloatArray, knots: FloatArray, scores: FloatArray) -> FloatArray:
    """Piecewise linear, flat beyond the ends; by shares of an interval, which cannot overflow."""
    out, first = np.empty((len(x), 1)), np.zeros(1, dtype=np.int64)
    loops_module().interpolate(x[:, None], first, knots, scores, np.array([0, len(knots)]), out)
    return out[:, 0]
