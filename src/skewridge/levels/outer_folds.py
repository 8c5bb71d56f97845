"""Outer folds around the whole fit, learning included: honest predictions where rows are few.

Distinct rows are dealt to five folds. Where x is discrete, so that rows with equal x are draws
that met by chance and not copies, the draws of one x are dealt out as well: a new row is then
likely to be at an x that was seen, and what predicts it is judged by that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.engine.following import under
from skewridge.engine.job import Job, run
from skewridge.engine.memory import MACHINE, Budget
from skewridge.features.rank_forms import learn_forms
from skewridge.levels.blend import Blend, fit_blend
from skewridge.levels.members import Learned, LevelSettings, Rows, average_learned, fit_beside, fit_members
from skewridge.levels.planning import N_OUTER_FOLDS
from skewridge.levels.stages import OUTER_FOLDS
from skewridge.response.sampling import member_sums
from skewridge.ridge.distinct import DistinctRows

TIED = 0.5  # of the distinct rows: where so many share their value in every column, x is discrete
WHOLE = 1e-9  # of the largest count: how far from a whole number one may be
UNSEEN = 1e-9  # of a row's weight: what rounding leaves where all of it is held out


@dataclass(frozen=True)
class Deal:
    """How often every row is held out by every outer fold.

    Attributes
    ----------
    counts : (N, F) array of the rows' weights, which are its sums over folds
    distinct : DistinctRows
    together : bool, True if rows with equal x share a fold
    """

    counts: FloatArray
    distinct: DistinctRows
    together: bool

    @property
    def held(self) -> FloatArray:
        """The weight of every distinct row that each fold holds out, (n, F)."""
        member = self.distinct.member
        return np.column_stack([member_sums(member, column) for column in self.counts.T])

    def means(self, y: FloatArray, held: FloatArray) -> FloatArray:
        """The mean responses of what folds hold out, (k, 1), distinct row after distinct row."""
        sums = [member_sums(self.distinct.member, column * y) for column in self.counts.T]
        places = held > 0.0
        own = np.column_stack(sums)[places] / held[places]
        return own[:, None]

    def outside(self, rows: Rows, y: FloatArray, held: FloatArray, fold: int) -> Rows:
        """The distinct rows that are left without a fold, with their weights and mean responses."""
        if self.together:
            return rows.some(held[:, fold] == 0.0)
        left = self.distinct.weights - self.counts[:, fold]
        weights, sums = (member_sums(self.distinct.member, left * own) for own in (np.ones(len(y)), y))
        seen = weights > UNSEEN * rows.frequencies
        some = rows.some(seen)
        return replace(some, y=(sums[seen] / weights[seen])[:, None], frequencies=weights[seen])

    def by_row(self, values: FloatArray, held: FloatArray) -> FloatArray:
        """Every row's mean over the folds that hold it out, (N,), of one value for each of them, (k,)."""
        by_fold = np.zeros(held.shape)
        by_fold[held > 0.0] = values
        shares = self.counts / self.distinct.weights[:, None]
        return np.asarray(np.sum(shares * by_fold[self.distinct.member], axis=1))


def deal_rows(X: FloatArray, y: FloatArray, distinct: DistinctRows) -> Deal:
    """Deal rows to five folds that share out the response evenly; rows with equal x together.

    Where x is discrete every x's rows are dealt out, in the order of their responses.
    """
    order = np.argsort(distinct.Y[:, 0], kind="stable")
    folds = np.empty(len(distinct), dtype=np.int64)
    folds[order] = np.arange(len(distinct)) % N_OUTER_FOLDS
    draw = weight_of_a_draw(distinct) if is_discrete(X[distinct.rows]) else None
    if draw is not None:
        return Deal(_dealt_draws(y, distinct, folds, draw), distinct, together=False)
    own = folds[distinct.member][:, None] == np.arange(N_OUTER_FOLDS)
    return Deal(own * distinct.weights[:, None], distinct, together=True)


def is_discrete(X: FloatArray) -> bool:
    """True if rows with equal x may have met by chance: in every column that varies, values are shared.

    At least half of the distinct rows X share their value with another one; a continuous column
    does not repeat, so that rows which are equal in it are copies.

    Examples
    --------
    >>> import numpy as np
    >>> is_discrete(np.array([[1.0, 5.0], [1.0, 7.0], [2.0, 7.0]]))
    True
    >>> is_discrete(np.array([[1.0, 5.1], [1.0, 7.2], [2.0, 7.3]]))
    False
    """
    return all(_tied_share(column) >= TIED for column in X.T if np.any(column != column[0]))


def weight_of_a_draw(distinct: DistinctRows) -> float | None:
    """The weight of which all frequencies are whole multiples; None if there is none, or nothing is repeated.

    A table of which all rows were copied equally often thus counts as the table itself.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.ridge.distinct import collapse_rows
    >>> X, Y = np.array([[0.0], [1.0], [1.0]]), np.zeros((3, 1))
    >>> weights = np.ones(3), np.full(3, 4.0), np.array([1.0, 0.5, 0.5]), np.array([1.0, 0.7, 1.0])
    >>> [weight_of_a_draw(collapse_rows(X, Y, own, seed=0)) for own in weights]
    [1.0, 4.0, None, None]
    """
    least = float(distinct.weights.min())
    counts = distinct.frequencies / least
    whole = np.round(counts)
    if np.abs(counts - whole).max() > WHOLE * whole.max():
        return None
    unit = int(np.gcd.reduce(whole.astype(np.int64)))
    return None if np.all(whole == unit) else least * unit


def _tied_share(column: FloatArray) -> float:
    """The share of values that occur more than once."""
    _, counts = np.unique(column, return_counts=True)
    return float(1.0 - np.sum(counts == 1) / len(column))


def _dealt_draws(y: FloatArray, distinct: DistinctRows, folds: IntArray, draw: float) -> FloatArray:
    """Deal the draws of every x round the folds in the order of y, beginning with the fold of the x, (N, F).

    Rows that are equal in x and y count as one, of their weight: whether it is many rows or one of
    many draws cannot matter.
    """
    order = np.lexsort((y, distinct.member))
    member, values = distinct.member[order], y[order]
    new = np.append(True, (member[1:] != member[:-1]) | (values[1:] != values[:-1]))
    group = np.cumsum(new) - 1
    weights = member_sums(group, distinct.weights[order])
    counts, owner = weights / draw, member[new]
    before = np.cumsum(counts) - counts
    first = np.searchsorted(owner, np.arange(len(distinct)))  # of every x
    start = np.round(before - before[first][owner], 6) + folds[owner]
    dealt = np.column_stack([_turns(start + counts, f) - _turns(start, f) for f in range(N_OUTER_FOLDS)])
    out = np.empty((len(y), N_OUTER_FOLDS))
    out[order] = (dealt / dealt.sum(axis=1, keepdims=True))[group] * distinct.weights[order, None]
    return out


def _turns(n: FloatArray, fold: int) -> FloatArray:
    """How many of the turns 0, ..., n - 1 are the fold's."""
    return np.asarray(np.ceil((np.round(n) - fold) / N_OUTER_FOLDS))


@dataclass(frozen=True)
class OuterFits:
    """What whole fits without each fold say.

    Attributes
    ----------
    deal : Deal
    predictions : (n, F, M) array, of distinct rows by every member of every fold's fit; NaN where
        the fold does not hold the row out
    learned : Learned, the mean over folds; None where no fold had levels
    """

    deal: Deal
    predictions: FloatArray
    learned: Learned | None

    def honest(self) -> list[FloatArray]:
        """Every member's predictions of what folds hold out, (k, 1) each, distinct row after distinct row."""
        held = self.deal.held > 0.0
        return [own[held][:, None] for own in np.moveaxis(self.predictions, 2, 0)]

    def blend(self, rows: Rows, y: FloatArray) -> tuple[Blend, FloatArray]:
        """The weights of the members, and the blend's prediction of every row, (N,)."""
        held = self.deal.held
        places = np.nonzero(held)[0]
        means = rows.y[places] if self.deal.together else self.deal.means(y, held)
        scores = 1.0 if rows.scores is None else rows.scores[places]
        found, values = fit_blend(self.honest(), means, held[held > 0.0] * scores)
        return found, self.deal.by_row(values[:, 0], held)


def fit_outer(
    rows: Rows,
    y: FloatArray,
    deal: Deal,
    settings: LevelSettings,
    job: Job,
    budget: Budget = MACHINE,
) -> OuterFits:
    """Fit all members to the rows outside every fold.

    Forms of columns, which know no response, are those of all rows, flat beyond the rows outside
    the fold: scales are then learned of the same forms in every fold.

    Parameters
    ----------
    rows : Rows, distinct
    y : (N,) array, the responses of all rows
    deal : Deal
    """
    inner, forms = replace(job.here, n_jobs=1, verbose=0), learn_forms(rows.X, rows.frequencies)
    held = deal.held
    outside = [deal.outside(rows, y, held, fold) for fold in range(int(held.any(axis=0).sum()))]
    beside = [fit_beside(rest, settings, inner) for rest in outside]  # here: they may not bear threads
    new = [fits.predict(rows.X[held[:, fold] > 0.0]) for fold, fits in enumerate(beside)]

    def fit(fold: int) -> tuple[FloatArray, Learned | None]:
        own = held[:, fold] > 0.0
        rest = outside[fold]
        seen = forms.within(rest.X)
        with under(OUTER_FOLDS):
            found = fit_members(rest, settings, inner, budget, beside[fold].honest, forms=seen)
        members = found.members.predict(rows.X[own], new[fold])
        missing = settings.n_members - len(members)
        out = np.full((len(rows), settings.n_members), np.nan)
        out[own] = np.hstack([members[-1]] * missing + members)  # a constant rest has no levels
        return out, found.learned

    fits = list(run(fit, range(len(outside)), job.here, "outer folds"))
    learned = [found for _, found in fits if found is not None]
    return OuterFits(
        deal=deal,
        predictions=np.stack([predictions for predictions, _ in fits], axis=1),
        learned=average_learned(learned) if learned else None,
    )
