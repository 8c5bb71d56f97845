"""Raw tables for estimators that take numbers: the first step of a saved pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skewridge._messages import SHOWN, aligned
from skewridge._typing import BoolArray, FloatArray
from skewridge._validation import check_choice, check_integer
from skewridge.tables import columns as table
from skewridge.tables.columns import ANY_CATEGORY, KINDS, Column, codes_of, features_of, learn_column
from skewridge.tables.level_means import assign_parts, check_response, cross_fitted, learn_means
from skewridge.tables.out_of_range import warn_new_gaps, warn_new_levels

MISSING = ("impute", "refuse")
FLAG_SHARE = 0.005  # of the rows: fewer gaps get no column of their own
HEADINGS = ("column", "taken for", "becomes", "gaps", "note")
WIDTH, FEWEST_LEVELS = 36, 3  # characters of listed levels, about, and levels that are listed in any case


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn the columns of a raw table into numbers.

    What each column is, is found from its values, and ``summary_`` tells what was done:

    - numbers, also those stored as text ("1,250", "3,5 km", "unknown" among them), become ``(x - mean) / sd``
    - dates become year, month, weekday and hour (the last three as points of a circle) and days, those that vary
    - texts of up to ``max_categories`` levels become one column of 0 and 1 for each level
    - texts of more levels become the mean response of their level, shrunk towards that of all rows, and the number of
      rows that have it
    - gaps become the median, or no level, and a column that tells them
    - columns that are constant, number the rows, or have another text in nearly every row are left out

    Parameters
    ----------
    categorical : list of str, default=()
        Columns that are categories whatever they hold, such as codes that are written as numbers.
    ordinal : dict or list of str, default=()
        Columns with an order: a dict gives every one's levels, lowest first, or None for alphabetical order, which is
        what a list means for all of them.
    missing : {"impute", "refuse"}, default="impute"
        What happens to gaps: they are filled as told above, or an error counts them.
    max_categories : int, default=30
        A text column with more levels becomes means of the response.
    kinds : dict, optional
        What a column is taken for, by its name, where the choice made for it is wrong: "number", "boolean", "category"
        (columns of 0 and 1), "means", "ordinal", "date", "duration" or "drop".

    Attributes
    ----------
    columns_ : list of Column, what was learned of every column
    summary_ : the same as one table to print
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Notes
    -----
    ``fit_transform(X, y)`` gives every row the mean response of its level among the *other* of five folds, so that no
    row sees its own response; ``transform`` gives the means of all rows. So ``fit(X, y).transform(X)`` is not the same,
    and not what a model should be fitted to. Pipelines do it right. The folds depend on what rows hold, not on their
    order.

    A level that was not there at fit is none of the categories (all 0), the mean of an order, or the mean of all
    responses, with a warning that counts rows. Columns are found by name: a missing one is an error, others than those
    at fit are ignored.

    Examples
    --------
    >>> import pandas as pd
    >>> from skewridge import TableEncoder
    >>> table = pd.DataFrame({"rooms": [2, 4], "town": ["Oslo", "Bergen"], "sold": [True, False]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['rooms', 'town=Bergen', 'town=Oslo', 'sold']
    >>> encoder.transform(table)
    array([[-1.,  0.,  1.,  1.],
           [ 1.,  1.,  0.,  0.]])
    >>> print(encoder.summary_)
    column  taken for  becomes                               gaps  note
    rooms   number     number                                0
    town    category   2 columns of 0 and 1: Bergen, Oslo    0
    sold    boolean    0 and 1                               0
    """

    def __init__(
        self,
        categorical: Sequence[str] = (),
        ordinal: Mapping[str, Sequence[str] | None] | Sequence[str] = (),
        missing: Literal["impute", "refuse"] = "impute",
        max_categories: int = 30,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        self.categorical = categorical
        self.ordinal = ordinal
        self.missing = missing
        self.max_categories = max_categories
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the columns hold; y is needed where a column has many levels."""
        self.fit_transform(X, y)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, groups: Any = None, order: Any = None, sample_weight: Any = None
    ) -> FloatArray:
        """Learn the columns and return the numbers of these rows, (n, w), for a model to be fitted to.

        Parameters
        ----------
        X : data frame of pandas or polars, or table of pyarrow
        y : (n,) or (n, p) array, the response; needed where a column has many levels
        groups : (n,) array, optional
            Rows of one group see no mean that another row of the group has entered.
        order : (n,) array, optional
            Times or places: rows of the later half see means of earlier rows only, a tenth of the rows at a time.
        sample_weight : (n,) array, optional
            How often each row occurs: rows of weight 0 enter no mean.
        """
        self._check_parameters()
        frame = table.as_frame(X)
        requested = self._requested(frame.columns)
        if self.missing == "refuse":
            table.refuse_missing(frame[[name for name in frame if requested.get(name, ("", None))[0] != "drop"]])
        columns = {}
        for name in map(str, frame.columns):
            kind, order = requested.get(name, (None, None))
            columns[name] = learn_column(name, frame[name], kind, order, self.max_categories)
        used = [column for column in columns.values() if column.kind != "drop"]
        if not used:
            reasons = [f"{name!r}: {column.note or 'as asked for'}" for name, column in columns.items()]
            raise ValueError(
                f"No column is left to predict from ({'; '.join(reasons[:SHOWN])}). Name one that is of use in kinds=, "
                f"such as kinds={{{next(iter(columns))!r}: 'number'}}."
            )
        codes = self._codes(used, frame)
        used = _with_flags(used, codes)
        many = [column.name for column in used if column.kind == "means"]
        if many:
            Y = check_response(many[0], X, y, len(frame))
            parts, weights, first_ahead = assign_parts(codes, X, groups, order, sample_weight)
        features = []
        for column, code in zip(used, codes, strict=True):
            fitted = None
            if column.kind == "means":
                n_levels = len(column.levels)
                fitted = cross_fitted(code, Y, n_levels, parts, weights, first_ahead)
                column = replace(column, means=learn_means(code, Y, fitted, n_levels, weights))
            columns[column.name] = column
            features.append(features_of(column, code, fitted))
        self.columns_ = list(columns.values())
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.n_features_in_ = len(columns)
        return np.hstack(features)

    def transform(self, X: Any) -> FloatArray:
        """Return the numbers, (n, w)."""
        check_is_fitted(self)
        X = table.as_frame(X)
        used = [column for column in self.columns_ if column.features]
        names = [column.name for column in used]
        table.check_columns(names, X.columns)
        if self.missing == "refuse":
            table.refuse_missing(X[names])
        codes = self._codes(used, X)
        warn_new_gaps(used, codes)
        for column, code in zip(used, codes, strict=True):
            warn_new_levels(column, code, X[column.name])
        return np.hstack([features_of(column, code) for column, code in zip(used, codes, strict=True)])

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the numbers: a column's own, ``column=level`` or ``column: part``."""
        check_is_fitted(self)
        return np.array([name for column in self.columns_ for name in column.features], dtype=object)

    @property
    def summary_(self) -> TableSummary:
        """What was done with every column; print it for a table."""
        check_is_fitted(self)
        return TableSummary(tuple(self.columns_))

    def _requested(self, there: Any) -> dict[str, tuple[str, Sequence[str] | None]]:
        """Kinds, and the levels of orders, that the parameters give, by column."""
        orders = dict(self.ordinal) if isinstance(self.ordinal, Mapping) else dict.fromkeys(self.ordinal)
        table.check_columns([*self.categorical, *orders, *(self.kinds or {})], there)
        return {
            **{name: (kind, None) for name, kind in (self.kinds or {}).items()},
            **dict.fromkeys(self.categorical, (ANY_CATEGORY, None)),
            **{name: ("ordinal", levels) for name, levels in orders.items()},
        }

    def _codes(self, columns: Sequence[Column], X: Any) -> list[FloatArray]:
        """The codes of columns, (n,) each; words that stand for a gap are refused where gaps are."""
        codes = [codes_of(column, X[column.name]) for column in columns]
        if self.missing == "refuse":
            for column, code in zip(columns, codes, strict=True):
                table.refuse_values(column.name, f"{column.kind}s", X[column.name], np.flatnonzero(np.isnan(code)))
        return codes

    def _check_parameters(self) -> None:
        check_choice("missing", self.missing, MISSING)
        check_integer("max_categories", self.max_categories, 1)
        if not isinstance(self.kinds, Mapping | None):
            raise TypeError(f"kinds must be a dict, such as {{'zip': 'category'}}, or None; got {self.kinds!r}.")
        kinds = self.kinds or {}
        for name, kind in kinds.items():
            check_choice(f"kinds[{name!r}]", kind, KINDS)
        for first, second, words in (
            (self.categorical, self.ordinal, "categorical and ordinal"),
            (self.categorical, kinds, "in categorical and in kinds"),
            (self.ordinal, kinds, "in ordinal and in kinds"),
        ):
            both = sorted(set(first) & set(second))
            if both:
                raise ValueError(f"Column {both[0]!r} cannot be {words} at once. Name it in one of them.")


def _with_flags(columns: Sequence[Column], codes: Sequence[FloatArray]) -> list[Column]:
    """Give columns with gaps a feature that tells them, but for those with the gaps of an earlier column."""
    flagged: dict[str, BoolArray] = {}
    out = []
    for column, code in zip(columns, codes, strict=True):
        gaps = np.isnan(code)
        same = [name for name, earlier in flagged.items() if np.mean(gaps != earlier) < FLAG_SHARE]
        if gaps.mean() < FLAG_SHARE:
            out.append(column)
        elif same:
            note = f"gaps as in {same[0]!r}"
            out.append(replace(column, note=f"{column.note}, {note}" if column.note else note))
        else:
            flagged[column.name] = gaps
            out.append(replace(column, gap_flag=True))
    return out


@dataclass(frozen=True)
class TableSummary:
    """The columns of an encoder; ``str`` is one aligned table."""

    columns: tuple[Column, ...]

    @property
    def rows(self) -> list[list[str]]:
        """The cells of the table, a row for each column."""
        names = {"means": "category", "drop": "left out"}
        return [[c.name, names.get(c.kind, c.kind), _becomes(c) or "-", f"{c.n_gaps:,}", c.note] for c in self.columns]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        columns = [
            {
                "name": c.name,
                "kind": c.kind,
                "becomes": _becomes(c),
                "features": c.features,
                "n_levels": len(c.levels),
                "n_gaps": c.n_gaps,
                "note": c.note,
            }
            for c in self.columns
        ]
        return {"columns": columns}

    def __str__(self) -> str:
        return aligned([HEADINGS, *self.rows])


def _becomes(column: Column) -> str:
    """What a column becomes, in a few words; nothing for one that is left out."""
    levels, n = column.levels, FEWEST_LEVELS
    while n < len(levels) and len(", ".join(levels[: n + 1])) <= WIDTH:
        n += 1
    listed = ", ".join(level[: WIDTH // FEWEST_LEVELS] for level in levels[:n]) + (", ..." if n < len(levels) else "")
    own = {
        "drop": "",
        "number": "number",
        "boolean": "0 and 1",
        "duration": "days",
        "category": f"{len(levels)} columns of 0 and 1: {listed}",
        "means": f"mean response and count of {len(levels):,} levels",
        "ordinal": f"place in {listed}",
        "date": ", ".join(column.dates.parts) if column.dates else "",
    }
    return own[column.kind] + (", a column for gaps" if column.gap_flag else "")
