"""Raw tables for estimators that take numbers: the first step of a saved pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skewridge._typing import FloatArray
from skewridge._validation import check_choice, check_integer, warn_user
from skewridge.tables import columns as table
from skewridge.tables.columns import KINDS, Column
from skewridge.tables.learning import ANY_CATEGORY, Wanted, learn_column
from skewridge.tables.many_levels import ByRow, with_means
from skewridge.tables.new_gaps import warn_new_gaps
from skewridge.tables.summary import TableSummary
from skewridge.tables.texts import SHOWN

MISSING = ("impute", "refuse")
FLAG_SHARE = 0.005  # of the rows: fewer gaps get no column of their own


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
        self._remember(X, self._learn(X, y, ByRow()))
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
        learned = self._learn(X, y, ByRow(groups, order, sample_weight))
        self._remember(X, learned)
        return learned.features

    def transform(self, X: Any) -> FloatArray:
        """Return the numbers, (n, w)."""
        check_is_fitted(self)
        X = table.as_frame(X)
        used = [column for column in self.columns_ if column.features]
        table.check_columns([column.name for column in used], X.columns)
        if self.missing == "refuse":
            table.refuse_missing(X[[column.name for column in used]])
        codes = [table.codes_of(column, X[column.name]) for column in used]
        self._check_gaps(used, codes, X)
        warn_new_gaps(used, codes)
        for column, code in zip(used, codes, strict=True):
            if column.levels and (code == table.UNSEEN).any():
                _warn_unseen(column, table.unseen_texts(column, X[column.name]))
        return np.hstack([table.features_of(column, code) for column, code in zip(used, codes, strict=True)])

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the numbers: a column's own, ``column=level`` or ``column: part``."""
        check_is_fitted(self)
        return np.array([name for column in self.columns_ for name in column.features], dtype=object)

    @property
    def summary_(self) -> TableSummary:
        """What was done with every column; print it for a table."""
        check_is_fitted(self)
        return TableSummary(tuple(self.columns_))

    def _learn(self, X: Any, y: Any, known: ByRow) -> _Learned:
        """Learn every column, and the numbers of the rows."""
        self._check_parameters()
        frame = table.as_frame(X)
        wanted = self._wanted(frame.columns)
        if self.missing == "refuse":
            table.refuse_missing(frame[[name for name in frame if wanted.get(name, Wanted()).kind != "drop"]])
        columns = [
            learn_column(name, frame[name], wanted.get(name), self.max_categories) for name in map(str, frame.columns)
        ]
        _check_some_left(columns)
        used = [column for column in columns if column.kind != "drop"]
        codes = [table.codes_of(column, frame[column.name]) for column in used]
        self._check_gaps(used, codes, frame)
        flagged = _with_flags(used, codes)
        found = with_means(flagged, codes, X, y, known)
        by_name = {column.name: column for column, _ in found}
        parts = [table.features_of(column, code, fitted) for (column, fitted), code in zip(found, codes, strict=True)]
        return _Learned([by_name.get(column.name, column) for column in columns], np.hstack(parts))

    def _remember(self, X: Any, learned: _Learned) -> None:
        self.columns_ = learned.columns
        self.feature_names_in_ = np.array([column.name for column in learned.columns], dtype=object)
        self.n_features_in_ = len(learned.columns)

    def _wanted(self, there: Any) -> dict[str, Wanted]:
        """What the parameters say about columns, by name."""
        orders = dict(self.ordinal) if isinstance(self.ordinal, Mapping) else dict.fromkeys(self.ordinal)
        table.check_columns([*self.categorical, *orders, *(self.kinds or {})], there)
        return {
            **{name: Wanted(kind) for name, kind in (self.kinds or {}).items()},
            **{name: Wanted(ANY_CATEGORY) for name in self.categorical},
            **{name: Wanted("ordinal", levels) for name, levels in orders.items()},
        }

    def _check_gaps(self, columns: Sequence[Column], codes: Sequence[FloatArray], X: Any) -> None:
        """Refuse words that stand for a gap where gaps are refused."""
        for column, code in zip(columns, codes, strict=True) if self.missing == "refuse" else ():
            odd = np.flatnonzero(np.isnan(code))
            if len(odd):
                table.refuse_values(column.name, f"{column.kind}s", X[column.name], odd)

    def _check_parameters(self) -> None:
        check_choice("missing", self.missing, MISSING)
        check_integer("max_categories", self.max_categories, 1)
        if not isinstance(self.kinds, Mapping | None):
            raise TypeError(f"kinds must be a dict, such as {{'zip': 'category'}}, or None; got {self.kinds!r}.")
        for name, kind in (self.kinds or {}).items():
            check_choice(f"kinds[{name!r}]", kind, KINDS)
        _check_named_once(self.categorical, self.ordinal, self.kinds or ())


@dataclass(frozen=True)
class _Learned:
    columns: list[Column]
    features: FloatArray


def _check_named_once(categorical: Iterable[str], ordinal: Iterable[str], kinds: Iterable[str]) -> None:
    for first, second, words in (
        (categorical, ordinal, "categorical and ordinal"),
        (categorical, kinds, "in categorical and in kinds"),
        (ordinal, kinds, "in ordinal and in kinds"),
    ):
        both = sorted(set(first) & set(second))
        if both:
            raise ValueError(f"Column {both[0]!r} cannot be {words} at once. Name it in one of them.")


def _check_some_left(columns: Sequence[Column]) -> None:
    if all(column.kind == "drop" for column in columns):
        reasons = "; ".join(f"{column.name!r}: {column.note or 'as asked for'}" for column in columns[:SHOWN])
        raise ValueError(
            f"No column is left to predict from ({reasons}). Name one that is of use in kinds=, such as "
            f"kinds={{{columns[0].name!r}: 'number'}}."
        )


def _with_flags(columns: Sequence[Column], codes: Sequence[FloatArray]) -> list[Column]:
    """Give columns with gaps a feature that tells them, but for those with the gaps of an earlier column."""
    told: dict[str, npt.NDArray[np.bool_]] = {}
    out = []
    for column, code in zip(columns, codes, strict=True):
        gaps = np.isnan(code)
        same = [name for name, earlier in told.items() if np.mean(gaps != earlier) < FLAG_SHARE]
        if gaps.mean() < FLAG_SHARE:
            out.append(column)
        elif same:
            note = f"gaps as in {same[0]!r}"
            out.append(replace(column, note=f"{column.note}, {note}" if column.note else note))
        else:
            told[column.name] = gaps
            out.append(replace(column, gap_flag=True))
    return out


def _warn_unseen(column: Column, texts: dict[str, int]) -> None:
    listed = ", ".join(f"{text[:40]!r}: {count}" for text, count in list(texts.items())[:SHOWN])
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    become = {"ordinal": "the mean of its order", "means": "the mean of all responses"}.get(column.kind)
    rows = sum(texts.values())
    counted, they = ("1 row has a value", "it is") if rows == 1 else (f"{rows} rows have values", "they are")
    warn_user(
        f"{counted} of {column.name!r} that the model has not seen ({listed}{more}): {they} taken for "
        f"{become or 'none of its categories'}."
    )
