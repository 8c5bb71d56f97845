"""Allocation: which rows each node gets (Algorithm 2, steps 2 and 3), and with what probability.

Only row ids move, one slice at a time, and where a row goes is a pure function of the seed, the slices' counts, the
row's slice and its rank in it: chunks and machines that know the counts agree without talking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, ndtr

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge.response.slices import Slices, ranks_within

_STIRLING_FROM = 50  # from here on two terms of Stirling's series are exact to 1e-11
_EXACT_STEPS = 1e8  # up to so many chain steps a capped slice's expectation is exact


@dataclass(frozen=True)
class Allocation:
    """The rows of k nodes: ``allocation[i]`` are the ascending, distinct row ids of node i.

    rows (N~,), the row ids of all nodes, one node after the other; starts (k + 1,), where each node's rows start.
    """

    rows: IntArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, node: int) -> IntArray:
        if not -len(self) <= node < len(self):
            raise IndexError(f"node {node} of an allocation to {len(self)} nodes")
        node %= len(self)
        return self.rows[self.starts[node] : self.starts[node + 1]]

    def __iter__(self) -> Iterator[IntArray]:
        return (self[node] for node in range(len(self)))

    @property
    def sizes(self) -> IntArray:
        """Rows in every node."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class Assignment:
    """Where any row goes: by the slices' counts and copies, (l,), the nodes, the seed, and the most rows of a slice."""

    counts: IntArray
    copies: IntArray
    n_nodes: int
    seed: int
    max_per_slice: int | None = None

    @cached_property
    def _seats(self) -> IntArray:
        return shuffle(np.arange(self.n_nodes), self.n_nodes, self.seed, stream=0)

    @cached_property
    def _before(self) -> IntArray:
        """How many copies are assigned before those of every slice, (l,)."""
        return np.cumsum(self.counts * self.copies) - self.counts * self.copies

    def nodes_of(self, j: int, ranks: IntArray) -> tuple[IntArray, IntArray]:
        """The node of every copy of the rows of some ranks in slice j, and its place in the slice's order, both (n c,).

        Copy ``rank * c + i`` is assigned at a place of the slice's keyed permutation; places go round a table of nodes.
        """
        c = int(self.copies[j])
        slots = (ranks.astype(np.int64)[:, None] * c + np.arange(c)).ravel()
        places = shuffle(slots, int(self.counts[j]) * c, self.seed, stream=j + 1)
        return self._seats[(places + self._before[j]) % self.n_nodes], places

    def pairs(self, labels: IntArray, ranks: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Which nodes some rows are assigned to, from their slices and their ranks in them, before any cap.

        Returns distinct pairs (place among these rows, node) in ascending order, and the first place in the slice's
        order that each pair has.
        """
        codes, places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        order = np.argsort(labels, kind="stable")
        occupied, starts = np.unique(labels[order], return_index=True)
        for j, rows in zip(occupied.tolist(), np.split(order, starts[1:]), strict=True):
            nodes, found = self.nodes_of(j, ranks[rows])
            codes.append(np.repeat(rows, self.copies[j]) * self.n_nodes + nodes)
            places.append(found)
        code, first = _first_places(np.concatenate(codes), np.concatenate(places))
        return *np.divmod(code, self.n_nodes), first


def allocate(slices: Slices, n_nodes: int, seed: int, max_per_slice: int | None = None) -> Allocation:
    """Assign every slice's copies evenly to the nodes in random order, then de-duplicate each node.

    Slices go one after the other round the same table of nodes, in an order of nodes drawn once, so a
    slice's counts differ by at most one between nodes, and so do the totals. With ``max_per_slice`` a node
    keeps the first rows of a slice that it was assigned and refuses the others.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.response.slices import slice_response
    >>> slices = slice_response(np.array([0., 0., 0., 0., 9.]), 2)
    >>> [node.tolist()[-1] for node in allocate(slices, 2, seed=0)]  # the rare row is in both nodes
    [4, 4]
    """
    assignment = Assignment(slices.counts, slices.copies, n_nodes, seed, max_per_slice)
    n_rows, members, filled = slices.n_rows, slices.rows_by_slice(), 0
    keys = np.empty(int(np.dot(slices.counts, np.minimum(slices.copies, n_nodes))), dtype=np.int64)
    for j in slices.occupied.tolist():
        ranks = np.arange(len(members[j]))
        nodes, places = assignment.nodes_of(j, ranks)
        codes = nodes * len(ranks) + np.repeat(ranks, slices.copies[j])
        if max_per_slice is not None:
            codes, first = _first_places(codes, places)
            codes = codes[ranks_within(codes // len(ranks), first) < max_per_slice]
        elif slices.copies[j] > 1:
            codes = np.unique(codes)
        nodes, ranks = np.divmod(codes, len(ranks))
        keys[filled : filled + len(codes)] = nodes * n_rows + members[j][ranks]
        filled += len(codes)
    keys = keys[:filled]
    keys.sort()
    starts = np.searchsorted(keys, np.arange(n_nodes + 1) * n_rows)
    small = np.int32 if n_rows <= np.iinfo(np.int32).max else np.int64
    return Allocation(np.remainder(keys, n_rows, out=keys).astype(small), starts)


def _first_places(codes: IntArray, places: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct codes, ascending, and the first place of each."""
    order = np.lexsort((places, codes))
    found, first = np.unique(codes[order], return_index=True)
    return found, places[order][first]


def inclusion_probability(
    counts: IntArray, copies: IntArray, n_nodes: int, max_per_slice: int | None = None
) -> FloatArray:
    """Return pi_j, the exact probability that a given row of slice j is in a given node.

    With M = c n, q, r = divmod(M, k): r nodes draw q + 1 of the M slots without replacement, the others q, so
    pi = 1 - [(k-r) C(M-c,q)/C(M,q) + r C(M-c,q+1)/C(M,q+1)] / k. Where ``max_per_slice`` binds, pi is the
    expected number of distinct rows kept, over n.

    Examples
    --------
    >>> import numpy as np
    >>> inclusion_probability(np.array([100, 1]), np.array([1, 100]), 100)
    array([0.01, 1.  ])
    """
    pi = np.zeros(len(counts))
    occupied = np.flatnonzero(counts)
    n, c = counts[occupied], copies[occupied]
    q, r = np.divmod(n * c, n_nodes)
    present, present_odd = (-np.expm1(log_absence(n * c, c, drawn)) for drawn in (q, q + 1))
    pi[occupied] = np.where(c == 1, 1.0 / n_nodes, ((n_nodes - r) * present + r * present_odd) / n_nodes)
    if max_per_slice is not None:
        bound = np.minimum(n, q + (r > 0)) > max_per_slice
        n, c, q, r = (values[bound] for values in (n, c, q, r))
        if float(q.max(initial=0)) * (max_per_slice + 1) * len(n) <= _EXACT_STEPS:
            kept, kept_odd = _expected_kept(n, c, q, max_per_slice)
        else:
            kept, kept_odd = (_normal_kept(n, c, drawn, max_per_slice) for drawn in (q, q + 1))
        pi[occupied[bound]] = ((n_nodes - r) * kept + r * kept_odd) / (n_nodes * n)
    return pi


def expected_node_size(slices: Slices, n_nodes: int, max_per_slice: int | None = None) -> float:
    """Return the expected number of distinct rows in a node, N~/k."""
    pi = inclusion_probability(slices.counts, slices.copies, n_nodes, max_per_slice)
    return float(np.dot(slices.counts, pi))


def log_absence(total: IntArray, copies: IntArray, drawn: IntArray) -> FloatArray:
    """log C(M - c, q) / C(M, q): the chance that none of c slots is among q drawn of M; -inf where it is none.

    With L(x) = log x! it is L(M-c) + L(M-q) - L(M) - L(M-c-q). Where all four are large, Stirling's series is used
    with log M taken out of every term, so that numbers of the size of c + q cancel and not of the size of M log M.
    """
    left = total - copies - drawn
    M, c, q, rest = (np.asarray(v, dtype=np.float64) for v in (total, copies, drawn, np.maximum(left, 0)))
    small = gammaln(M - c + 1) + gammaln(M - np.minimum(q, M) + 1) - gammaln(M + 1) - gammaln(rest + 1)
    large = np.zeros_like(M)
    for size, sign in ((M - c, 1.0), (M - q, 1.0), (M, -1.0), (rest, -1.0)):
        x = np.maximum(size, 1.0)
        large += sign * ((x + 0.5) * np.log1p((x - M) / M) + 1 / (12 * x) - 1 / (360 * x**3))
    log = np.where(rest >= _STIRLING_FROM, large, small)
    return np.where(left >= 0, np.minimum(log, 0.0), -np.inf)


def _normal_kept(n: IntArray, c: IntArray, q: IntArray, cap: int) -> FloatArray:
    """E[min(D, cap)] with D taken as normal with its exact mean and variance; for slices too large to step through."""
    absent = np.exp(log_absence(n * c, c, q))
    both = np.where(n > 1, np.exp(log_absence(n * c, 2 * c, q)), 0.0)
    mean = n * (1.0 - absent)
    sd = np.sqrt(np.maximum(n * absent * (1.0 - absent) + n * (n - 1.0) * (both - absent**2), 1e-12))
    t = (cap - mean) / sd
    density = np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)
    return cap - sd * (t * ndtr(t) + density)


def _expected_kept(n: IntArray, c: IntArray, q: IntArray, cap: int) -> tuple[FloatArray, FloatArray]:
    """Return E[min(D, cap)] after q and after q + 1 draws, D the number of distinct rows drawn.

    D is a Markov chain: after t draws with s distinct rows, the next slot is a new row's with probability
    (n - s) c / (M - t). The states are 0..cap, the last one absorbing.
    """
    state = np.arange(cap + 1)
    chance = np.zeros((len(n), cap + 1))
    chance[:, 0] = 1.0
    after_q, after_odd = np.zeros(len(n)), np.zeros(len(n))
    for t in range(int(q.max(initial=0)) + 2):
        mean = chance @ state
        after_q[q == t], after_odd[q + 1 == t] = mean[q == t], mean[q + 1 == t]
        remaining = np.maximum(n * c - t, 1)[:, None]
        new = np.clip((n[:, None] - state) * c[:, None] / remaining, 0.0, 1.0) * (state < cap)
        moved = chance * new
        chance -= moved
        chance[:, 1:] += moved[:, :-1]
    return after_q, after_odd
