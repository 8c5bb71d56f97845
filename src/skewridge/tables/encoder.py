"""Tables of mixed columns for estimators that take numbers: the first step of a saved pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skewridge._validation import check_choice, check_integer, warn_user
from skewridge.tables.columns import (
    SHOWN,
    UNSEEN,
    as_frame,
    check_columns,
    codes_of,
    features_of,
    learn_column,
    refuse_missing,
    unseen_texts,
)

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
        self, categorical: Any = (), ordinal: Any = (), missing: str = "refuse", max_categories: int = 30
    ) -> None:
        self.categorical = categorical
        self.ordinal = ordinal
        self.missing = missing
        self.max_categories = max_categories

    def fit(self, X, y=None):
        """Learn what the columns hold; y is ignored."""
        self._check_parameters()
        X = as_frame(X)
        orders = dict(self.ordinal) if isinstance(self.ordinal, dict) else dict.fromkeys(self.ordinal)
        check_columns([*self.categorical, *orders], X.columns)
        kinds = {**dict.fromkeys(self.categorical, "category"), **dict.fromkeys(orders, "ordinal")}
        if self.missing == "refuse":
            refuse_missing(X)
        self.columns_ = [
            learn_column(name, X[name], kinds.get(name), orders.get(name), self.max_categories) for name in X.columns
        ]
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n_features_in_ = len(self.columns_)
        return self

    def transform(self, X):
        """Return the numbers, (n, w)."""
        check_is_fitted(self)
        X = as_frame(X)
        names = [column.name for column in self.columns_]
        check_columns(names, X.columns)
        if self.missing == "refuse":
            refuse_missing(X[names])
        return np.hstack([self._encoded(column, X[column.name]) for column in self.columns_])

    def get_feature_names_out(self, input_features=None):
        """Return the names of the numbers: a column's own, or ``column=level``."""
        check_is_fitted(self)
        return np.array([name for column in self.columns_ for name in column.features], dtype=object)

    def _encoded(self, column, values):
        codes = codes_of(column, values)
        if (codes == UNSEEN).any() and column.levels:
            _warn_unseen(column, unseen_texts(column, values))
        return features_of(column, codes)

    def _check_parameters(self):
        check_choice("missing", self.missing, MISSING)
        check_integer("max_categories", self.max_categories, 1)
        both = sorted(set(self.categorical) & set(self.ordinal))
        if both:
            raise ValueError(f"Column {both[0]!r} cannot be categorical and ordinal at once. Name it in one of them.")


def _warn_unseen(column, texts):
    listed = ", ".join(f"{text[:40]!r}: {count}" for text, count in list(texts.items())[:SHOWN])
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    become = "the mean of its order" if column.kind == "ordinal" else "none of its categories"
    warn_user(
        f"{sum(texts.values())} rows have values of {column.name!r} that the model has not seen ({listed}{more}): they "
        f"are taken for {become}."
    )
