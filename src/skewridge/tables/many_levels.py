"""Columns of many levels in a table: their means, of responses that a row may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_plain, check_same_order, check_weights
from skewridge.response.grouping import ordered_blocks
from skewridge.response.labels import coded_labels
from skewridge.tables.columns import Column
from skewridge.tables.level_means import FoldPlan, cross_fitted, deal_folds, learn_means


@dataclass(frozen=True)
class ByRow:
    """What is known of rows besides their columns and their response, each an (n,) array or None.

    Attributes
    ----------
    groups : rows of one label see no mean that another row of it has entered
    order : rows of the later half see means of earlier rows only
    sample_weight : how often each row occurs
    """

    groups: Any = None
    order: Any = None
    sample_weight: Any = None


def with_means(
    columns: Sequence[Column], codes: Sequence[FloatArray], X: Any, y: Any, known: ByRow
) -> list[tuple[Column, FloatArray | None]]:
    """Return columns of many levels with their means, and the cross-fitted ones of the rows; the others as they are."""
    many = [column.name for column in columns if column.kind == "means"]
    if not many:
        return [(column, None) for column in columns]
    Y = _response(many[0], X, y, len(codes[0]))
    plan = _plan(codes, X, known)
    return [
        _learned(column, code, Y, plan) if column.kind == "means" else (column, None)
        for column, code in zip(columns, codes, strict=True)
    ]


def _learned(column: Column, codes: FloatArray, Y: FloatArray, plan: FoldPlan) -> tuple[Column, FloatArray]:
    n_levels = len(column.levels)
    fitted = cross_fitted(codes, Y, plan, n_levels)
    return replace(column, means=learn_means(codes, Y, fitted, n_levels, plan.weights)), fitted


def _plan(codes: Sequence[FloatArray], X: Any, known: ByRow) -> FoldPlan:
    """Folds of rows of positive weight, or blocks of their order; rows of weight 0 are as new ones."""
    n_rows = len(codes[0])
    positive, kept = check_weights(known.sample_weight, n_rows, X, are_counts=False)
    weights, parts = np.zeros(n_rows), np.full(n_rows, -1)
    weights[kept] = positive
    if known.order is None:
        parts[kept] = _folds([code[kept] for code in codes], known.groups, kept)
        return FoldPlan(parts, weights)
    ranks = coded_labels("order", X, known.order, n_rows, sortable=True)
    blocks = ordered_blocks(ranks[kept], positive)
    parts[kept] = blocks.labels
    return FoldPlan(parts, weights, blocks.first_ahead)


def _folds(codes: Sequence[FloatArray], groups: Any, kept: IntArray) -> IntArray:
    """Folds that equal rows share, or those of one group."""
    if groups is None:
        return deal_folds(np.column_stack(codes))
    _, member = np.unique(np.asarray(groups).astype(str)[kept], return_inverse=True)
    return deal_folds(member.reshape(-1, 1).astype(np.float64))


def _response(column: str, X: Any, y: Any, n_rows: int) -> FloatArray:
    """The responses, (n, p), or raise."""
    if y is None:
        raise ValueError(
            f"Column {column!r} has many levels, which become means of the response: call fit_transform(X, y) or "
            "fit(X, y). Without a response allow more max_categories, or leave it out: "
            f"kinds={{{column!r}: 'drop'}}."
        )
    check_plain("y", y)
    check_same_order(X, y)
    Y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y").reshape(len(y), -1)
    check_consistent_length(np.empty(n_rows), Y)
    return Y
