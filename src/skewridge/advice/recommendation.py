"""What to fit, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._messages import plain
from skewridge._typing import FloatArray
from skewridge.advice.plan import nodes_for
from skewridge.centers.ladder import most_tried
from skewridge.nodes.planning import SINGLE_NODE_BELOW, PartitionSettings
from skewridge.response.slices import slice_quietly


@dataclass(frozen=True)
class Recommendation:
    """A recommended fit, with the reason.

    Attributes
    ----------
    estimator : as one would write it
    n_centers : the most centres that its level 1 would try
    slices, n_nodes : for those who want divide and conquer, DacKernelRidge's parameters
    reasons : in words
    """

    estimator: str
    n_centers: int
    slices: Any
    n_nodes: int
    reasons: tuple[str, ...]


def rule_name(rule: Any) -> str:
    """The name of a slicing rule, or the kind of slices that were given."""
    if isinstance(rule, str):
        return rule
    return "equal widths" if np.ndim(rule) == 0 else "edges given"


def recommend(scenario: int, y: FloatArray, rule: Any) -> Recommendation:
    """Two levels always, whose centres may be random ones; what nodes would need differs."""
    m = most_tried(len(y), len(y))
    taken = rule if scenario == 3 else 1
    k, refusal = nodes_for(y, slice_quietly(y, taken), PartitionSettings(slices=taken), 1)
    reasons = (
        f"SkewRidge uses every row: a global fit bends at up to {m:,} places, more of them where y is rare if left-out "
        "rows say that it helps, and exact local fits correct it",
        "where rows do not fit in memory (plan tells), or a model must be small: AdaptiveKernelRidge, the global fit "
        "alone",
        _about_nodes(scenario, len(y), rule, k, refusal),
    )
    return Recommendation("SkewRidge()", m, plain(taken), k, reasons)


def _about_nodes(scenario: int, n_rows: int, rule: Any, k: int, refusal: str | None) -> str:
    if n_rows < SINGLE_NODE_BELOW:
        return f"fewer than {SINGLE_NODE_BELOW:,} rows need no divide and conquer: DacKernelRidge(n_nodes=1) is exact"
    if scenario < 3:
        return (
            "the response is not skewed enough for oversampling: for divide and conquer take "
            f"DacKernelRidge(n_nodes={k}, slices=1)"
        )
    if refusal is not None:
        return f"divide and conquer: {refusal}"
    return (
        f"for divide and conquer, {k:,} nodes ({rule_name(rule)}); noise in y decides which rows are copied, so "
        "compare slice_on='pilot'"
    )
