"""Outer folds around the whole fit: which rows each leaves out, and what fits to the others predict of them.

Distinct rows are assigned to five folds. Where x is discrete and rows with equal x are replicates that met by chance,
not copies, the replicates of one x are shared out as well: a new row is then likely to be at an x of the fit, and what
predicts it is evaluated by that. Groups go as a whole; rows that have an order are left out block by block, and
predicted by what lies before them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.context import on_threads, run
from skewridge.execution.progress import stage
from skewridge.features.forms import learn_forms
from skewridge.response.candidates import DistinctRows, member_sums
from skewridge.response.groups import RowGroups, apart, assign_groups
from skewridge.ridge.learn_scales import LearnedKernel, average_kernel
from skewridge.ridge.sample import Sample
from skewridge.two_levels.blend import blend, fit_blend, leave_own_out
from skewridge.two_levels.members import LevelSettings, companion_values, fit_companions, fit_members, has_levels
from skewridge.two_levels.planning import FEWEST_OUTSIDE, N_OUTER_FOLDS, OUTER_STEPS, is_small

TIED = 0.5  # of the distinct rows: where so many share their value, a column is discrete
MOST_REPLICATES = 1e6  # of the smallest weight in the largest: beyond, weights are no counts
WHOLE = 1e-3  # of the least unit: what rounding may leave of one


@dataclass(frozen=True)
class OuterFolds:
    """How often every row is left out by every outer fold: ``counts``, (N, F), sum to the rows' weights.

    ``replicate`` is the weight of one replicate where those of one x are shared out; 0: rows with equal x share a fold.
    ``blocks``, (n,), are places of distinct rows in an order, by the fold that leaves them out, below 0 where none
    does: a fold's fit then has what lies before it, and else all that it does not leave out.
    """

    counts: FloatArray
    distinct: DistinctRows
    replicate: float = 0.0
    whole_groups: bool = False
    blocks: IntArray | None = None

    @cached_property
    def left_out(self) -> FloatArray:
        """The weight of every distinct row that each fold leaves out, (n, F); k pairs have some, row after row."""
        found = np.column_stack([member_sums(self.distinct.member, column) for column in self.counts.T])
        return self.replicate * np.rint(found / self.replicate) if self.replicate else found

    def outside(self, sample: Sample, y: FloatArray, fold: int) -> Sample:
        """The distinct rows that a fold's fit has, with their weights and mean responses."""
        if self.blocks is not None:
            return sample.some(self.blocks < fold)
        if not self.replicate:
            return sample.some(self.left_out[:, fold] == 0.0)
        sums = member_sums(self.distinct.member, (self.distinct.weights - self.counts[:, fold]) * y)
        left = self.replicate * np.rint((sample.frequencies - self.left_out[:, fold]) / self.replicate)
        inside = left > 0.0
        rest, frequencies = sample.some(inside), left[inside]
        return replace(
            rest,
            Y=(sums[inside] / frequencies)[:, None],
            frequencies=frequencies,
            loss_weights=frequencies * (rest.loss_weights / rest.frequencies),
        )

    def by_row(self, values: FloatArray) -> FloatArray:
        """Every row's mean over the folds that leave it out, (N,), of one value a pair, (k,); nan where none does."""
        by_fold = np.zeros(self.left_out.shape)
        by_fold[self.left_out > 0.0] = values
        shares = self.counts / self.distinct.weights[:, None]
        found = np.sum(shares * by_fold[self.distinct.member], axis=1)
        return np.where(self.counts.any(axis=1), found, np.nan)


def assign_folds(X: FloatArray, y: FloatArray, distinct: DistinctRows, groups: RowGroups | None) -> OuterFolds | None:
    """Assign rows to folds where they, or their groups, are few, or have an order; None: leaving out is enough.

    Rows without groups go to five folds that share out the response evenly, whole groups to up to five; the later
    blocks of an order are left out one by one.
    """
    n_groups = len(distinct) if distinct.groups is None else len(np.unique(distinct.groups))
    blocks = None
    if groups is not None and groups.first_ahead is not None:
        folds = blocks = groups.labels[distinct.rows] - groups.first_ahead
    elif not is_small(n_groups, X.shape[1]):
        return None
    elif groups is not None:
        folds = assign_groups(apart(groups.labels[distinct.rows]), distinct.Y[:, 0], N_OUTER_FOLDS)
    else:
        folds = np.empty(len(distinct), dtype=np.int64)
        folds[np.argsort(distinct.Y[:, 0], kind="stable")] = np.arange(len(distinct)) % N_OUTER_FOLDS
        shared = _share_replicates(X, y, distinct, folds)
        if shared is not None:
            return shared
    n_folds = N_OUTER_FOLDS if groups is None else int(folds.max()) + 1
    counts = (folds[distinct.member][:, None] == np.arange(n_folds)) * distinct.weights[:, None]
    return OuterFolds(counts, distinct, whole_groups=groups is not None, blocks=blocks)


def is_discrete(X: FloatArray) -> bool:
    """True if rows with equal x may have met by chance: in every column that varies, values are shared.

    At least half of the distinct rows X share their value with another one; a continuous column does not repeat, so
    that rows which are equal in it are copies, or were measured again on purpose.

    Examples
    --------
    >>> import numpy as np
    >>> is_discrete(np.array([[1.0, 5.0], [1.0, 7.0], [2.0, 7.0]]))
    True
    >>> is_discrete(np.array([[1.0, 5.1], [1.0, 7.2], [2.0, 7.3]]))
    False
    """
    return all(_tied_share(column) >= TIED for column in X.T if np.any(column != column[0]))


def common_unit(weights: FloatArray) -> float:
    """The largest weight of which all are whole multiples; 0 if some would be over a million times as much.

    A table of which all rows were copied equally often has their number as its unit, and counts as the table itself.

    Examples
    --------
    >>> import numpy as np
    >>> weights = [4.0, 6.0], [0.3, 0.1], [3.0], [1.0, np.pi]
    >>> [round(common_unit(np.array(own)), 6) for own in weights]
    [2.0, 0.1, 3.0, 0.0]
    """
    largest = float(weights.max())
    unit, least = 1.0, 1.0 / MOST_REPLICATES
    for share in np.unique(weights / largest):
        other = float(share)
        while other > least:  # Euclid's algorithm
            unit, other = other, float(np.fmod(unit, other))
            other = 0.0 if min(other, unit - other) < least * WHOLE else other
        if other > 0.0 or unit <= least:
            return 0.0
    return largest * unit


def fit_outer(
    sample: Sample, y: FloatArray, folds: OuterFolds, settings: LevelSettings
) -> tuple[FloatArray, tuple[LearnedKernel, ...]]:
    """Predictions of the k pairs by whole fits without the fold, (k, M), and the means of what these have learned.

    Forms of columns, which know no response, are those of all rows, flat beyond the rows outside the fold: scales are
    then learned of the same forms in every fold. y, (N,), are the responses of all rows.
    """
    X, levels, pairs = sample.Z, has_levels(sample, settings), folds.left_out > 0.0
    forms = learn_forms(X, sample.frequencies)
    if levels:
        centers = replace(settings.centers, n_steps=OUTER_STEPS)
        settings = replace(settings, fewest_rows=FEWEST_OUTSIDE, n_steps=OUTER_STEPS, centers=centers)
    n_members = len(settings.kernels) + 2 + len(settings.companions) if levels else 1
    outside, new_values = [], []
    with on_threads(1):
        for fold in range(pairs.shape[1]):  # companions are fitted here: they may not bear threads
            rest = folds.outside(sample, y, fold)
            fitted, values = fit_companions(rest, settings)
            outside.append(replace(rest, trend=values))
            new_values.append(companion_values(fitted, X[pairs[:, fold]]))

    def fit(fold: int) -> tuple[FloatArray, tuple[LearnedKernel, ...]]:
        rest = outside[fold]
        with on_threads(1):
            found = fit_members(rest, settings, forms.within(rest.Z))
        members = found.members.predict(X[pairs[:, fold]], new_values[fold])
        missing = n_members - members.shape[1]  # a constant rest has no levels
        return np.hstack([members[:, -1:]] * missing + [members]), found.learned

    with on_threads(), stage("outer folds", 0.8):
        fits = list(run(fit, range(len(outside))))
    predictions = np.empty((*pairs.shape, n_members))
    for fold, (members, _) in enumerate(fits):
        predictions[pairs[:, fold], fold] = members
    learned = zip(*(own for _, own in fits if own), strict=True)
    return predictions[pairs], tuple(average_kernel(own) for own in learned)


def blend_outer(
    members: FloatArray, sample: Sample, y: FloatArray, folds: OuterFolds
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """Weights and intercept of a blend of outer predictions, (k, M), its values at all rows, (N,), and left-out ones.

    Left-out values have the intercept of other rows. Groups, and blocks of an order, may be so few that weights fit
    them: theirs have the weights of the other folds, or the members' means where no other row counts.
    """
    places, fold_of = np.nonzero(folds.left_out)
    means, left_out_weights = sample.Y[places, 0], folds.left_out[places, fold_of]
    if folds.replicate:  # of the replicates that each fold leaves out
        sums = np.column_stack([member_sums(folds.distinct.member, column * y) for column in folds.counts.T])
        means = sums[places, fold_of] / left_out_weights
    row_weights = left_out_weights * (sample.loss_weights / sample.frequencies)[places]
    weights, intercept, values = fit_blend(members, means, row_weights)
    left_out = leave_own_out(values, means, row_weights)
    if folds.whole_groups:
        left_out = np.mean(members, axis=1)
        for fold in np.unique(fold_of):
            own, rest = fold_of == fold, fold_of != fold
            if row_weights[rest].any():
                others = fit_blend(members[rest], means[rest], row_weights[rest])
                left_out[own] = blend(members[own], others[0], others[1])
    return weights, intercept, folds.by_row(values), folds.by_row(left_out)


def _share_replicates(X: FloatArray, y: FloatArray, distinct: DistinctRows, folds: IntArray) -> OuterFolds | None:
    """Replicates of every x go round the folds in the order of y, beginning with the fold of the x.

    Rows that are equal in x and y count as one: whether they are many or one of that weight cannot matter. None where
    rows with equal x did not meet by chance.
    """
    order = np.lexsort((y, distinct.member))
    owner, values = distinct.member[order], y[order]
    new = np.append(True, (owner[1:] != owner[:-1]) | (values[1:] != values[:-1]))
    pair, owner, values = np.cumsum(new) - 1, owner[new], values[new]
    weights = member_sums(pair, distinct.weights[order])
    replicate = common_unit(weights)
    if not replicate or not np.any(distinct.frequencies > 1.5 * replicate) or not is_discrete(X[distinct.rows]):
        return None
    counts = np.rint(weights / replicate)
    several = np.bincount(owner, counts)[owner] > 1.5
    differ = np.bincount(owner)[owner] > 1
    if np.mean(differ[several]) < TIED and _tied_share(values) < TIED:  # one response where they are continuous: copies
        return None
    before = np.cumsum(counts) - counts
    first = np.searchsorted(owner, np.arange(len(distinct)))  # of every x
    start = (before - before[first][owner] + folds[owner])[:, None] - np.arange(N_OUTER_FOLDS)
    turns = np.ceil((start + counts[:, None]) / N_OUTER_FOLDS) - np.ceil(start / N_OUTER_FOLDS)
    out = np.empty((len(order), N_OUTER_FOLDS))
    out[order] = (turns / counts[:, None])[pair] * distinct.weights[order, None]
    return OuterFolds(out, distinct, replicate)


def _tied_share(column: FloatArray) -> float:
    """The share of values that occur more than once."""
    _, counts = np.unique(column, return_counts=True)
    return float(1.0 - np.sum(counts == 1) / len(column))
