"""A raw table and an estimator in one: encoder, then regressor, with all that the regressor can do."""

from __future__ import annotations

from functools import wraps
from typing import Any, Self

from sklearn.pipeline import Pipeline

from skewridge._validation import check_same_order
from skewridge.estimators.skew_ridge import SkewRidge
from skewridge.nodes.sample_weights import routing_is_on
from skewridge.tables.encoder import TableEncoder, TableSummary

BY_ROW = ("sample_weight", "groups", "order")  # what fit of an estimator takes besides X and y


class TableModel(Pipeline):
    """A scikit-learn pipeline of a :class:`TableEncoder` and an estimator, made by :func:`make_table_model`.

    It does what a pipeline does, and passes on what its estimator has: ``predict_interval`` and every other
    ``predict_...``, ``expected_cost``, ``calibrate``, and attributes of a fit such as ``expected_error_`` and
    ``tuning_``. Rows are raw tables everywhere. ``fit`` takes ``sample_weight``, ``groups`` and ``order`` by these
    names.

    Attributes
    ----------
    summary_ : what was done with every column; print it for a table
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit encoder and estimator; both keep groups together, look ahead in no order and count weights."""
        for name, own in {"y": y, **{name: params.get(name) for name in BY_ROW}}.items():
            check_same_order(X, own, ("X", name))
        if routing_is_on():
            return super().fit(X, y, **params)
        (first, _), (last, _) = self.steps[0], self.steps[-1]
        given = {f"{last}__{name}" if name in BY_ROW else name: value for name, value in params.items()}
        given |= {f"{first}__{name}": params[name] for name in BY_ROW if params.get(name) is not None}
        return super().fit(X, y, **given)

    @property
    def summary_(self) -> TableSummary:
        """What was done with every column; print it for a table."""
        return self.steps[0][1].summary_

    def calibrate(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Measure the errors that intervals are made of, of the rows of the fit or of others, as the estimator does."""
        check_same_order(X, y)
        check_same_order(X, sample_weight, ("X", "sample_weight"))
        encoded = None if X is None else self._encoded(X)
        self.steps[-1][1].calibrate(encoded, y, sample_weight)
        return self

    def __getattr__(self, name: str) -> Any:
        """Hand on predictions of other kinds, of raw tables, and attributes of the fit."""
        steps = self.__dict__.get("steps")
        asked = name.startswith("predict_") or name == "expected_cost"
        handed_on = asked or (name.endswith("_") and not name.startswith("_"))
        if not steps or not handed_on or name in ("predict_proba", "predict_log_proba", "classes_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(steps[-1][1], name)
        if not asked:
            return found

        @wraps(found)
        def predict(X: Any, *args: Any, **options: Any) -> Any:
            return found(self._encoded(X), *args, **options)

        return predict

    def _encoded(self, X: Any) -> Any:
        return self[:-1].transform(X)


def make_table_model(estimator: Any = None, **options: Any) -> TableModel:
    """Return one estimator that takes a raw table: text, dates, gaps and all.

    Parameters
    ----------
    estimator : estimator, default=SkewRidge()
        What predicts from the numbers.
    **options
        Those of :class:`TableEncoder`: ``categorical``, ``ordinal``, ``missing``, ``max_categories``, ``kinds``.

    Returns
    -------
    TableModel
        Its steps are called "table" and "model", so that a search over parameters names them as
        ``table__max_categories`` or ``model__kernel``.

    Examples
    --------
    >>> import pandas as pd
    >>> from skewridge import DacKernelRidge, make_table_model
    >>> houses = pd.DataFrame({"rooms": [2, 4, 3, None], "town": ["Oslo", "Bergen", "Oslo", "Oslo"]})
    >>> model = make_table_model(DacKernelRidge(1, bandwidth=1.0, penalty=1e-3)).fit(houses, [3.0, 2.0, 4.0, 3.5])
    >>> print(model.summary_)
    column  taken for  becomes                               gaps  note
    rooms   number     number, a column for gaps             1
    town    category   2 columns of 0 and 1: Oslo, Bergen    0
    >>> model.predict(houses).round(1).tolist()
    [3.0, 2.0, 4.0, 3.5]
    """
    return TableModel([("table", TableEncoder(**options)), ("model", SkewRidge() if estimator is None else estimator)])
