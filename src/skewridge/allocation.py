"""Allocation: which rows each node gets (Algorithm 2, steps 2 and 3), and with what probability.

Only row ids move, one slice at a time, and where a row goes is a pure function of (seed, slice, rank of the
row within its slice): chunks and machines agree without talking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from .shuffle import shuffle
from .slices import FloatArray, IntArray, Slices


@dataclass(frozen=True)
class Allocation:
    """The rows of k nodes: ``allocation[i]`` are the ascending, distinct row ids of node i.

    Attributes
    ----------
    rows : (N~,) array, the row ids of all nodes, one node after the other
    starts : (k + 1,) array, where each node's rows start
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


def allocate(slices: Slices, n_nodes: int, seed: int, max_per_slice: int | None = None) -> Allocation:
    """Deal every slice's copies evenly to the nodes in random order, then de-duplicate each node.

    Slices are dealt one after the other round the same table of nodes, in an order of nodes drawn once, so a
    slice's counts differ by at most one between nodes, and so do the totals. With ``max_per_slice`` a node
    keeps the first rows of a slice that it was dealt and refuses the others.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.slices import slice_response
    >>> slices = slice_response(np.array([0., 0., 0., 0., 9.]), 2)
    >>> [node.tolist()[-1] for node in allocate(slices, 2, seed=0)]  # the rare row is in both nodes
    [4, 4]
    """
    n_rows = slices.n_rows
    seats = shuffle(np.arange(n_nodes), n_nodes, seed, stream=0)
    keys = np.empty(int(np.dot(slices.counts, np.minimum(slices.copies, n_nodes))), dtype=np.int64)
    members, filled, dealt = slices.rows_by_slice(), 0, 0
    for j in slices.occupied:
        count, copies = int(slices.counts[j]), int(slices.copies[j])
        slots = np.arange(count * copies)
        places = shuffle(slots, slots.size, seed, stream=int(j) + 1)
        nodes, ranks = _distinct(seats[(places + dealt) % n_nodes], slots // copies, places, max_per_slice)
        keys[filled : filled + nodes.size] = nodes * n_rows + members[j][ranks]
        filled, dealt = filled + nodes.size, (dealt + slots.size) % n_nodes
    return _from_keys(keys[:filled], n_rows, n_nodes)


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
    held = np.flatnonzero(counts)
    n, c = counts[held], copies[held]
    q, r = np.divmod(n * c, n_nodes)
    absent = ((n_nodes - r) * _absence(n * c, c, q) + r * _absence(n * c, c, q + 1)) / n_nodes
    pi[held] = np.where(c == 1, 1.0 / n_nodes, 1.0 - absent)
    if max_per_slice is not None:
        bound = np.minimum(n, q + (r > 0)) > max_per_slice
        pi[held[bound]] = _capped_probability(n[bound], c[bound], n_nodes, max_per_slice)
    return pi


def expected_node_size(slices: Slices, n_nodes: int, max_per_slice: int | None = None) -> float:
    """Return the expected number of distinct rows in a node, N~/k."""
    pi = inclusion_probability(slices.counts, slices.copies, n_nodes, max_per_slice)
    return float(np.dot(slices.counts, pi))


def _distinct(nodes: IntArray, ranks: IntArray, places: IntArray, cap: int | None) -> tuple[IntArray, IntArray]:
    """Return the distinct (node, rank) pairs of one slice; with a cap, the first of each node in dealing order."""
    width = int(ranks[-1]) + 1
    if cap is None:
        codes = nodes * width + ranks
        if width < len(ranks):  # with one copy a row there is nothing to de-duplicate
            codes = np.unique(codes)
    else:
        order = np.lexsort((places, nodes))
        codes, first = np.unique((nodes * width + ranks)[order], return_index=True)
        codes = codes[np.argsort(first)]
        owner = codes // width
        codes = codes[np.arange(codes.size) - np.searchsorted(owner, owner) < cap]
    return np.divmod(codes, width)


def _from_keys(keys: IntArray, n_rows: int, n_nodes: int) -> Allocation:
    """Sort keys node * N + row in place and cut them into nodes."""
    keys.sort()
    bounds = np.arange(n_nodes + 1) * n_rows
    starts = np.searchsorted(keys, bounds)
    small = np.int32 if n_rows <= np.iinfo(np.int32).max else np.int64
    return Allocation(np.remainder(keys, n_rows, out=keys).astype(small), starts)


def _absence(total: IntArray, copies: IntArray, drawn: IntArray) -> FloatArray:
    """C(M - c, q) / C(M, q): the chance that none of c slots is among q drawn of M."""
    possible = drawn <= total - copies
    left = np.where(possible, total - copies - drawn, 0)
    log = gammaln(total - copies + 1.0) - gammaln(left + 1.0) - gammaln(total + 1.0) + gammaln(total - drawn + 1.0)
    return np.where(possible, np.exp(np.minimum(log, 0.0)), 0.0)


def _capped_probability(n: IntArray, c: IntArray, n_nodes: int, cap: int) -> FloatArray:
    """E[min(distinct rows among the slots drawn, cap)] / n, averaged over the nodes."""
    q, r = np.divmod(n * c, n_nodes)
    kept, kept_odd = _expected_kept(n, c, q, cap)
    return ((n_nodes - r) * kept + r * kept_odd) / (n_nodes * n)


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
