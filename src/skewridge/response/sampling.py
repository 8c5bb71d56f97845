"""Which rows become centres: a share of them drawn evenly over the slices of the response, the rest uniformly.

Rows are ordered by a keyed hash of what they hold, never by their place: the same rows give the same centres in
whatever order, with whatever repeats, and a row repeated w times counts as one row of weight w. Of a value its rank
among the distinct ones of its column is hashed: columns in other units give the same centres.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData
from skewridge.response.distinct import distinct_rows
from skewridge.response.groups import apart, assign_groups
from skewridge.response.slices import CROWDED, check_slice_rule, slice_edges, slice_labels

N_FOLDS = 5


@dataclass(frozen=True)
class CandidateRows:
    """Distinct rows (by x) in their canonical order, and what centres are drawn by.

    Rows with equal x are one candidate: copies in different folds would tell each other's response.

    Attributes
    ----------
    rows : (n,) array, where in the data each distinct row is first found
    weights : (n,) array, how often each occurs
    labels : (n, p) array, the slice of every row's mean response, for every output
    folds : (n,) array
    member : (N,) array, which distinct row every row of the data is
    groups : (n,) array, rows that share a fold; None: none do
    """

    rows: IntArray
    weights: FloatArray
    labels: IntArray
    folds: npt.NDArray[np.int8]
    member: IntArray
    groups: IntArray | None = None
    _turns: dict[int, IntArray] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_folds(self) -> int:
        """Folds that hold rows."""
        return int(self.folds.max(initial=0)) + 1

    def first(self, most: int) -> CandidateRows:
        """The first rows in the canonical order: a random sample that depends on the rows alone."""
        if len(self) <= most:
            return self
        return CandidateRows(
            rows=self.rows[:most],
            weights=self.weights[:most],
            labels=self.labels[:most],
            folds=self.folds[:most],
            member=np.empty(0, dtype=np.int64),  # which of them a row is makes no sense of some
            groups=None if self.groups is None else self.groups[:most],
        )

    def in_folds(self, n_folds: int) -> CandidateRows:
        """The rows and slices in another number of folds."""
        return replace(self, folds=_share_out(self.labels, n_folds, self.groups))

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums of the data's values, (N,), over the copies of every distinct row, (n,)."""
        return member_sums(self.member, values)

    def means(self, Y: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted means of the data's responses, (N, p), over every distinct row's copies, (n, p)."""
        return member_means(self.rows, self.member, Y, weights)

    def _evenly(self, fold: int) -> IntArray:
        """The rows outside a fold, evenly over the slices; made on first use."""
        if fold not in self._turns:
            inside = np.flatnonzero(self.folds != fold)
            turns = np.array([inside[_round_robin(labels[inside])] for labels in self.labels.T])
            merged = turns.T.ravel()  # outputs take turns; a row is drawn once
            if len(turns) > 1:
                merged = merged[np.sort(np.unique(merged, return_index=True)[1])]
            self._turns[fold] = merged
        return self._turns[fold]

    def draw(self, n_centers: int, adapt: float, fold: int = -1) -> IntArray:
        """Return n_centers places among the distinct rows outside a fold (-1: among all), ascending.

        Draws are nested: more centres, or another share, change as few of them as they can.
        """
        wanted = round(adapt * n_centers)
        drawn = self._evenly(fold)[:wanted] if wanted else np.empty(0, dtype=np.int64)
        left = self.folds != fold
        left[drawn] = False
        rest = np.flatnonzero(left)[: max(0, n_centers - len(drawn))]
        return np.sort(np.concatenate([drawn, rest]))

    def center_weights(self, drawn: IntArray) -> FloatArray:
        """How many rows each of some centres stands for, (m,): a slice's rows are shared by its centres.

        Averaged over outputs.
        """
        shares = np.zeros(len(drawn))
        for labels in self.labels.T:
            mass = np.bincount(labels, self.weights)
            many = np.bincount(labels[drawn], minlength=labels.max() + 1)
            shares += (mass / np.maximum(many, 1))[labels[drawn]]
        return shares * (self.weights.sum() / shares.sum())


def candidate_rows(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    rule: object,
    seed: int,
    *,
    groups: IntArray | None = None,
) -> CandidateRows:
    """Return the distinct rows of X, with slices of their mean responses and folds that share the slices out.

    Parameters
    ----------
    X : (N, d) rows
    Y : (N, p) array
    weights : (N,) array, how often every row occurs
    rule : how the response is cut into slices
    seed : int, the key of the canonical order
    groups : (N,) array of labels (:class:`~skewridge.response.groups.RowGroups`); rows with equal x are one
        candidate within their group only, and groups share folds

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[1.0], [2.0], [1.0]]), np.array([[3.0], [4.0], [5.0]])
    >>> found = candidate_rows(X, Y, np.ones(3), "scott", seed=0)
    >>> sorted(X[found.rows, 0].tolist()), sorted(found.weights.tolist())
    ([1.0, 2.0], [1.0, 2.0])
    """
    rows, _, member = distinct_rows([X], weights, seed, groups=groups)
    totals = member_sums(member, weights) if len(rows) < len(member) else weights[rows]
    labels = _labels(member_means(rows, member, Y, weights), totals, rule)
    own = None if groups is None else apart(groups[rows])
    return CandidateRows(
        rows=rows,
        weights=totals,
        labels=labels,
        folds=_share_out(labels, N_FOLDS, own),
        member=member,
        groups=own,
    )


def _share_out(labels: IntArray, n_folds: int, groups: IntArray | None = None) -> npt.NDArray[np.int8]:
    """Folds of equal size that share every slice of the first output out, or whole groups."""
    if groups is not None:
        return assign_groups(groups, labels[:, 0], n_folds).astype(np.int8)
    folds = np.empty(len(labels), dtype=np.int8)
    folds[np.argsort(labels[:, 0], kind="stable")] = np.arange(len(labels)) % n_folds
    return folds


def member_sums(member: IntArray, values: FloatArray) -> FloatArray:
    """Sums over the copies of every distinct row, added up by size: their order cannot matter."""
    order = np.lexsort((values, member))
    counts = np.bincount(member)
    return np.asarray(np.add.reduceat(values[order], np.cumsum(counts) - counts))


def member_means(rows: IntArray, member: IntArray, Y: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted means over the copies of every distinct row, (n, p); a row of its own keeps its bits."""
    if len(rows) == len(member):
        return Y[rows]
    sums = np.column_stack([member_sums(member, weights * y) for y in Y.T])
    first, totals = Y[rows], member_sums(member, weights)[:, None]
    others = np.bincount(member, np.any(Y != first[member], axis=1))[:, None]
    differ = (others > 0) & (totals > 0)  # else w y / w may not be y
    return np.divide(sums, totals, out=first, where=differ)


def choose_rule(y: FloatArray, rule: object, weights: FloatArray) -> object:
    """Return the rule that "auto" stands for: Scott's, or "log" where that leaves one slice with over 90% of rows."""
    if not isinstance(rule, str) or rule != "auto":
        return check_slice_rule(rule)
    counts = np.bincount(slice_labels(y, slice_edges(y, "scott", weights)), weights)
    return "log" if len(counts) > 1 and counts.max() > CROWDED * counts.sum() else "scott"


def _labels(Y: FloatArray, weights: FloatArray, rule: object) -> IntArray:
    """The slice of every row, for every output, (n, p)."""
    edges = [slice_edges(y, choose_rule(y, rule, weights), weights) for y in Y.T]
    labels = [slice_labels(y, e).astype(np.int32) for y, e in zip(Y.T, edges, strict=True)]
    return np.column_stack(labels)


def _round_robin(labels: IntArray) -> IntArray:
    """Return places in an order that takes one row of every slice, then a second one, and so on."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.argsort(rank, kind="stable")
