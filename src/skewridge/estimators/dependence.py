"""Labels of groups and places in an order, as users give them, to rows that are left out together."""

from __future__ import annotations

from typing import Any

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import warn_user
from skewridge.response.grouping import RowGroups, ordered_blocks, row_groups
from skewridge.response.labels import coded_labels
from skewridge.ridge.adjacency import Adjacency


def dependence_of(
    X: Any, groups: Any, order: Any, kept: IntArray, n_rows: int, weights: FloatArray | None = None
) -> RowGroups | None:
    """Rows that are left out together, of those that are kept; None where every row is on its own.

    Parameters
    ----------
    X : the rows as they were given, whose index labels must not contradict
    groups, order : one label, or one place, for every row of X; at most one of them is given
    kept : (k,) array, rows of positive weight
    weights : (k,) array, how often each of them occurs; None: once
    """
    if groups is None and order is None:
        return None
    if groups is not None and order is not None:
        raise ValueError(
            "groups and order cannot both be given: rows are left out with their group, or predicted by "
            "earlier ones. Give the one that tells how new rows come: in new groups, or later."
        )
    if groups is not None:
        return row_groups(coded_labels("groups", X, groups, n_rows)[kept], weights)
    codes = coded_labels("order", X, order, n_rows, sortable=True)
    return ordered_blocks(codes[kept], weights)


def warn_of_neighbours(adjacent: Adjacency | None) -> None:
    """Warn where rows near each other in the file tell on each other."""
    if adjacent is not None and adjacent.concern is not None:
        warn_user(adjacent.concern)
