"""Is this response skewed enough to matter, and what to do about it: the paper's three scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._messages import listed, plain
from skewridge._typing import BoolArray, Data, FloatArray, IntArray
from skewridge._validation import check_vector
from skewridge.advice.plan import nodes_for, width_of
from skewridge.centers.choose import MOST_TRIED
from skewridge.features.forms import FAR, reach
from skewridge.metrics import figures, rare_slices
from skewridge.nodes.partition import SINGLE_NODE_BELOW, PartitionSettings
from skewridge.response.allocation import inclusion_probability, log_absence
from skewridge.response.slices import Slices, choose_rule, slice_quietly

EVEN = 1.5  # N*/N up to which the response fills its range evenly
HIGH = 5.0  # N*/N that a normal response, cut by Scott's rule, stays below up to 1e9 rows
FULL, NEARLY_EMPTY = 0.5, 0.1  # shares: of all rows in the fullest slice, of N/l in the emptiest
MOST_RANGES, MOST_HEAVY = 4, 10  # ranges, and columns with heavy tails, that are named one by one
NAMES = {1: "evenly spread", 2: "slightly skewed", 3: "highly skewed"}


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


@dataclass(frozen=True)
class HeavyColumn:
    """A column whose farthest value is ``reach`` times as far from the median as is usual (IQR / 1.349)."""

    name: str
    reach: float


@dataclass(frozen=True)
class Diagnosis:
    """Skewness of a response, its consequences for a fit, and recommendations.

    Attributes
    ----------
    n_rows, n_features : N, and d where X was given
    skewness : of y, m3 / m2^(3/2); 0 for a constant y
    rule : how y was cut
    edges, counts, copies : the slices, as :class:`~skewridge.response.slices.Slices` has them
    rare : (l,) array, which slices make the rare region
    n_oversampled, n_nodes, n_distinct : N*, k, and the expected N~
    rare_rows : rows in the rare region
    rare_per_node, rare_per_classical_node : how many of them a node expects in Algorithm 2 and in Algorithm 1
    chance_of_none : that a node of Algorithm 1 has none of them
    scenario : 1, 2 or 3 of the paper's practical guidance
    matters : whether the response is skewed enough to matter, which is scenario 3
    meaning : the scenario in words
    recommendation : Recommendation
    refusal : why n_nodes="auto" finds no nodes of a bearable size, and what would fit; None where it does
    heavy_columns : tuple of HeavyColumn, columns of X with values far from all others, the farthest first
    rmse_of_mean, rare_rmse_of_mean : the error of guessing the mean, overall and where y is rare (None without a rare
        region): what a model has to beat
    """

    n_rows: int
    n_features: int | None
    skewness: float
    rule: str
    edges: FloatArray
    counts: IntArray
    copies: IntArray
    rare: BoolArray
    n_oversampled: int
    n_nodes: int
    n_distinct: float
    rare_rows: int
    rare_per_node: float
    rare_per_classical_node: float
    chance_of_none: float
    scenario: int
    matters: bool
    meaning: str
    recommendation: Recommendation
    refusal: str | None = None
    heavy_columns: tuple[HeavyColumn, ...] = ()
    rmse_of_mean: float = 0.0
    rare_rmse_of_mean: float | None = None

    @property
    def shares(self) -> FloatArray:
        """The share of the rows in every slice."""
        return self.counts / self.n_rows

    @property
    def rare_ranges(self) -> list[tuple[float, float]]:
        """Where y is rare, as intervals; empty slices between rare ones belong to them."""
        turns = np.flatnonzero(np.diff(np.r_[False, self.rare, False]))
        return [(float(self.edges[low]), float(self.edges[high])) for low, high in turns.reshape(-1, 2)]

    def to_dict(self) -> Data:
        """Return everything as plain data."""
        return {**plain(self), "shares": plain(self.shares), "rare_ranges": plain(self.rare_ranges)}

    def __str__(self) -> str:
        to_beat = f"errors to beat, by guessing the mean: RMSE {self.rmse_of_mean:.4g}"
        lines = [f"{self.n_rows:,} rows, skewness {self.skewness:.2f}: {NAMES[self.scenario]}", self.meaning]
        if self.rare_rmse_of_mean is not None:
            ranges = self.rare_ranges
            where = "from " + ", ".join(f"{low:.4g} to {high:.4g}" for low, high in ranges)
            if len(ranges) > MOST_RANGES:
                where = f"in {len(ranges)} ranges between {ranges[0][0]:.4g} and {ranges[-1][1]:.4g}"
            share = f"{self.rare_rows:,} of the rows ({self.rare_rows / self.n_rows:.2%})"
            lines.append(f"rare region: {share}, y {where}")
            to_beat += f", where y is rare {self.rare_rmse_of_mean:.4g}"
        lines += [to_beat, f"recommended: {self.recommendation.estimator}"]
        lines += [f"- {reason}" for reason in self.recommendation.reasons]
        if self.matters and self.n_nodes > 1 and self.rare_rows:
            lines.append(
                f"- dealt at random to {self.n_nodes:,} nodes, rare rows would be {self.rare_per_classical_node:.3g} a "
                f"node (none with probability {self.chance_of_none:.2g}); where they are copied, "
                f"{self.rare_per_node:.3g}"
            )
        return "\n".join(lines + about_heavy(self.heavy_columns))


def diagnose(y: Any, X: Any = None, *, n_nodes: Any = "auto", slices: Any = "auto") -> Diagnosis:
    """Say whether a response is skewed enough to matter, and what to do.

    y is cut into bands (slices) of equal width. Were the rows of every band copied until it is about as full as the
    fullest, there would be about as many rows as now (scenario 1, evenly spread), a few times as many (2, as a normal
    response) or more than five times as many (3, highly skewed). Heavy tails on both sides count as skewed.

    Parameters
    ----------
    y : (N,) array or series
    X : (N, d) array or data frame, optional
        Columns of numbers with values far from all others are named; of the rest its shape is looked at.
    n_nodes : int or "auto", default="auto"
        k, for which rare rows per node are told; "auto" as in :class:`~skewridge.DacKernelRidge`.
    slices : {"auto", "scott", "sturges", "fd", "log"}, int or array of edges, default="auto"
        "auto" is "scott", or "log" where that leaves one slice with over 90% of the rows.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> from skewridge import diagnose
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(5000, 2, random_state=0)
    >>> diagnose(y, X).matters
    True
    >>> print(diagnose(make_peaks(5000, 2, peaks=0, random_state=0)[1]).meaning)
    Not skewed enough to matter: y thins out towards its ends as a normal response does. Of 21 bands of y of equal width
    that hold rows, the fullest has 11.0% of all rows and the emptiest 69.
    """
    y = check_vector("y", y)
    d = None if X is None else width_of(X, len(y))
    rule = choose_rule(y, slices, np.ones(len(y)))
    settings = PartitionSettings(n_nodes, rule).check(len(y))
    cut = slice_quietly(y, rule)
    bands = slice_quietly(y, "scott") if isinstance(rule, str) and rule == "log" else cut  # of equal width
    scenario = scenario_of(bands)
    k, refusal = nodes_for(y, cut, settings, d or 1)
    pi = inclusion_probability(cut.counts, cut.copies, k)
    rare = rare_bars(cut.counts)
    n_rare = int(cut.counts[rare].sum())
    total, rare_rows, drawn = (np.array([value]) for value in (len(y), n_rare, len(y) // k))
    errors = figures(y, np.full(len(y), y.mean()), rare[cut.labels])
    return Diagnosis(
        n_rows=len(y),
        n_features=d,
        skewness=skewness(y),
        rule=rule_name(rule),
        edges=np.clip(cut.edges, y.min(), y.max()),
        counts=cut.counts,
        copies=cut.copies,
        rare=rare,
        n_oversampled=cut.n_oversampled,
        n_nodes=k,
        n_distinct=k * float(np.dot(cut.counts, pi)),
        rare_rows=n_rare,
        rare_per_node=float(np.dot(cut.counts[rare], pi[rare])),
        rare_per_classical_node=n_rare / k,
        chance_of_none=float(np.exp(log_absence(total, rare_rows, drawn)[0])),
        scenario=scenario,
        matters=scenario == 3,
        meaning=_meaning(scenario, bands),
        recommendation=_recommend(scenario, y, rule),
        refusal=refusal,
        heavy_columns=() if X is None else heavy_columns(X),
        rmse_of_mean=errors["rmse"] or 0.0,
        rare_rmse_of_mean=errors["rare_rmse"],
    )


def rare_bars(counts: IntArray) -> BoolArray:
    """Which slices are rare, (l,): none where all rows are in one."""
    return rare_slices(counts) & (np.count_nonzero(counts) > 1)


def skewness(y: FloatArray) -> float:
    """m3 / m2^(3/2), the standardised third moment; 0 for a constant y.

    Examples
    --------
    >>> import numpy as np
    >>> round(skewness(np.array([0.0, 0.0, 0.0, 1.0])), 3)
    1.155
    """
    centred = y / (float(np.abs(y).max()) or 1.0)
    centred = centred - centred.mean()
    spread = float(np.sqrt(np.mean(centred**2)))
    return float(np.mean((centred / spread) ** 3)) if spread > 0 and np.ptp(y) > 0 else 0.0


def scenario_of(slices: Slices) -> int:
    """The paper's scenario, 1, 2 or 3: N* near N, N* of the order of N, or N* of the order of l N.

    The paper's orders need numbers here: 1.5 N, 5 N; and where l is small, a fullest slice with half of the rows beside
    an emptiest one with a tenth of N/l.
    """
    counts = slices.counts[slices.occupied]
    growth = slices.n_oversampled / slices.n_rows
    lopsided = counts.max() >= FULL * slices.n_rows and counts.min() <= NEARLY_EMPTY * slices.n_rows / len(counts)
    if growth >= HIGH or (len(counts) > 1 and lopsided):
        return 3
    return 2 if growth > EVEN else 1


def rule_name(rule: Any) -> str:
    """The name of a slicing rule, or the kind of slices that were given."""
    if isinstance(rule, str):
        return rule
    return "equal widths" if np.ndim(rule) == 0 else "edges given"


def _meaning(scenario: int, slices: Slices) -> str:
    counts = slices.counts[slices.occupied]
    if len(counts) == 1:
        return "y is constant or was cut into one band: there is nothing to balance, and nothing is skewed."
    fullest, emptiest = counts.max() / slices.n_rows, counts.min()
    bands = (
        f"Of {len(counts):,} bands of y of equal width that hold rows, the fullest has {fullest:.1%} of all rows "
        f"and the emptiest {emptiest:,}."
    )
    if scenario == 1:
        return f"Not skewed at all: y fills its range evenly. {bands}"
    if scenario == 2:
        return f"Not skewed enough to matter: y thins out towards its ends as a normal response does. {bands}"
    return (
        f"Most of the range of y holds few rows. {bands} A model may look good on average and miss the rare values: "
        "read its error where y is rare beside the overall one."
    )


def _recommend(scenario: int, y: FloatArray, rule: Any) -> Recommendation:
    """Two levels always, whose centres may be random ones; what nodes would need differs."""
    slices = rule if scenario == 3 else 1
    k, refusal = nodes_for(y, slice_quietly(y, slices), PartitionSettings(slices=slices), 1)
    if len(y) < SINGLE_NODE_BELOW:
        nodes = f"fewer than {SINGLE_NODE_BELOW:,} rows need no divide and conquer: DacKernelRidge(n_nodes=1) is exact"
    elif scenario < 3:
        nodes = (
            "the response is not skewed enough for oversampling: for divide and conquer take "
            f"DacKernelRidge(n_nodes={k}, slices=1)"
        )
    elif refusal is not None:
        nodes = f"divide and conquer: {refusal}"
    else:
        nodes = (
            f"for divide and conquer, {k:,} nodes ({rule_name(rule)}); noise in y decides which rows are copied, so "
            "compare slice_on='pilot'"
        )
    m = min(MOST_TRIED, len(y))
    reasons = (
        f"SkewRidge uses every row: a global fit bends at up to {m:,} places, more of them where y is rare if left-out "
        "rows say that it helps, and exact local fits correct it",
        "where rows do not fit in memory (plan tells), or a model must be small: AdaptiveKernelRidge, the global fit "
        "alone",
        nodes,
    )
    return Recommendation("SkewRidge()", m, plain(slices), k, reasons)


def heavy_columns(X: Any, names: Sequence[str] | None = None) -> tuple[HeavyColumn, ...]:
    """Return the columns of a table, array or data frame, with heavy tails, the farthest first; names replace its own.

    Columns of anything but numbers are passed over.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> X[7, 1] = 1e6
    >>> [column.name for column in heavy_columns(X)]
    ['x1']
    """
    columns = [(name, np.asarray(values)) for name, values in named_columns(X)]
    if names is not None:
        columns = [(name, values) for name, (_, values) in zip(names, columns, strict=True)]
    numbers = [(name, values) for name, values in columns if values.ndim == 1 and values.dtype.kind in "iuf"]
    return named_heavy((name, values.astype(np.float64)) for name, values in numbers)


def named_columns(X: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a frame, a sparse matrix or an array, (n,) each, one at a time."""
    if hasattr(X, "columns"):
        yield from ((str(name), X[name]) for name in X.columns)
    elif hasattr(X, "tocsc"):
        by_column = X.tocsc()
        yield from ((f"x{f}", by_column[:, [f]].toarray().ravel()) for f in range(X.shape[1]))
    else:
        yield from ((f"x{f}", column) for f, column in enumerate(np.atleast_2d(np.asarray(X).T)))


def named_heavy(columns: Iterable[tuple[str, FloatArray]]) -> tuple[HeavyColumn, ...]:
    """Return those of named columns, pairs of a name and values, that have heavy tails, the farthest first."""
    found = [HeavyColumn(name, reach(values)) for name, values in columns]
    heavy = [column for column in found if column.reach > FAR]
    return tuple(sorted(heavy, key=lambda column: -column.reach))


def about_heavy(columns: Sequence[HeavyColumn]) -> list[str]:
    """A sentence about columns with heavy tails, if there are any."""
    if not columns:
        return []
    named = (f"{column.name} ({column.reach:,.0f} times)" for column in columns)
    return [
        "Columns with values many times as far from the median as is usual (by the interquartile range): "
        f"{listed(named, len(columns), most=MOST_HEAVY)}. SkewRidge, AdaptiveKernelRidge and LocalKernelRidge see them "
        "clipped and by rank; for other estimators take logarithms or ranks first. Correct values that are wrong."
    ]
