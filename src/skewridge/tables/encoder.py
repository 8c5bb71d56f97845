"""Tables of mixed columns for estimators that take numbers: the first step of a saved pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skewridge._typing import FloatArray
from skewridge._validation import check_choice, check_integer, warn_user
from skewridge.tables import columns as table
from skewridge.tables.columns import Column

MISSING = ("refuse", "impute")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn the columns of a data frame into numbers.

    Numbers become ``(x - mean) / sd``; truth values 0 and 1; texts one column of 0 and 1 for each of their levels, or,
    where they have an order, the standardised place of their level in it. Dates are refused.

    Parameters
    ----------
    categorical : list of str, default=()
        Columns that are categories whatever they hold, such as codes that are written as numbers.
    ordinal : dict or list of str, default=()
        Columns with an order: a dict gives every one's levels, lowest first, or None for alphabetical order, which is
        what a list means for all of them.
    missing : {"refuse", "impute"}, default="refuse"
        What happens to missing values: an error that counts them, or the median of a number and the most frequent level
        of anything else.
    max_categories : int, default=30
        A text column with more levels is refused.

    Attributes
    ----------
    columns_ : list of Column, what was learned of every column
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Notes
    -----
    A level that was not there at fit is none of the categories (all 0), or the mean of an order, with a warning that
    counts rows. Columns are found by name: a missing one is an error, others than those at fit are ignored.

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
    """

    def __init__(
        self,
        categorical: Sequence[str] = (),
        ordinal: Mapping[str, Sequence[str] | None] | Sequence[str] = (),
        missing: Literal["refuse", "impute"] = "refuse",
        max_categories: int = 30,
    ) -> None:
        self.categorical = categorical
        self.ordinal = ordinal
        self.missing = missing
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the columns hold; y is ignored."""
        self._check_parameters()
        X = table.as_frame(X)
        orders = dict(self.ordinal) if isinstance(self.ordinal, dict) else dict.fromkeys(self.ordinal)
        table.check_columns([*self.categorical, *orders], X.columns)
        kinds = {**dict.fromkeys(self.categorical, "category"), **dict.fromkeys(orders, "ordinal")}
        if self.missing == "refuse":
            table.refuse_missing(X)
        self.columns_ = [
            table.learn_column(name, X[name], kinds.get(name), orders.get(name), self.max_categories)
            for name in X.columns
        ]
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n_features_in_ = len(self.columns_)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the numbers, (n, w)."""
        check_is_fitted(self)
        X = table.as_frame(X)
        names = [column.name for column in self.columns_]
        table.check_columns(names, X.columns)
        if self.missing == "refuse":
            table.refuse_missing(X[names])
        return np.hstack([self._encoded(column, X[column.name]) for column in self.columns_])

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the numbers: a column's own, or ``column=level``."""
        check_is_fitted(self)
        return np.array([name for column in self.columns_ for name in column.features], dtype=object)

    def _encoded(self, column: Column, values: Any) -> FloatArray:
        codes = table.codes_of(column, values)
        if (codes == table.UNSEEN).any() and column.levels:
            _warn_unseen(column, table.unseen_texts(column, values))
        return table.features_of(column, codes)

    def _check_parameters(self) -> None:
        check_choice("missing", self.missing, MISSING)
        check_integer("max_categories", self.max_categories, 1)
        both = sorted(set(self.categorical) & set(self.ordinal))
        if both:
            raise ValueError(f"Column {both[0]!r} cannot be categorical and ordinal at once. Name it in one of them.")


def _warn_unseen(column: Column, texts: dict[str, int]) -> None:
    listed = ", ".join(f"{text[:40]!r}: {count}" for text, count in list(texts.items())[: table.SHOWN])
    more = f" and {len(texts) - table.SHOWN} more" if len(texts) > table.SHOWN else ""
    become = "the mean of its order" if column.kind == "ordinal" else "none of its categories"
    warn_user(
        f"{sum(texts.values())} rows have values of {column.name!r} that the model has not seen ({listed}{more}): they "
        f"are taken for {become}."
    )
