"""The loops of ``_compiled`` that rows go through before a kernel sees them, without a compiler."""

from __future__ import annotations

import numpy as np

from skewridge._typing import AnyFloatArray as FloatArray
from skewridge._typing import IntArray


def interpolate(
    table: FloatArray, columns: IntArray, knots: FloatArray, scores: FloatArray, starts: IntArray, out: FloatArray
) -> None:
    """Piecewise linear functions of columns, flat beyond their first and last knot."""
    for j, column in enumerate(columns):
        own, values = knots[starts[j] : starts[j + 1]], scores[starts[j] : starts[j + 1]]
        x = np.clip(table[:, column], own[0], own[-1])
        left = np.clip(np.searchsorted(own, x, side="right") - 1, 0, len(own) - 2)
        share = (x - own[left]) / (own[left + 1] - own[left])
        out[:, j] = values[left] + share * (values[left + 1] - values[left])


def leaves_of(
    table: FloatArray, roots: IntArray, feature: IntArray, cut: FloatArray, child: IntArray, out: IntArray
) -> None:
    """The leaf of every row in every tree."""
    node = np.tile(roots, len(table))
    moving = np.flatnonzero(feature[node] >= 0)
    while moving.size:
        at = node[moving]
        right = ~(table[moving // len(roots), feature[at]] <= cut[at])
        node[moving] = child[at] + right
        moving = moving[feature[node[moving]] >= 0]
    out[:] = child[node].reshape(out.shape)
