"""The layout of encoded tables in files."""

from __future__ import annotations

from skewridge.persist._compound import Items, Record
from skewridge.persist._estimator import Estimator
from skewridge.persist._layouts import Kind, Length, Number, Texts
from skewridge.tables.columns import KINDS, Column
from skewridge.tables.encoder import TableEncoder


def _column_holds(column: Column) -> bool:
    """Whether just the kinds that have levels have some, all different, and a fill among them."""
    levels = column.levels
    texts = all(type(level) is str for level in levels) and len(set(levels)) == len(levels)
    listed = column.kind in ("category", "ordinal")
    return texts and listed == (len(levels) > 0) and (not listed or 0 <= column.fill < len(levels))


COLUMN = Record(
    Column,
    {
        "name": Kind(str),
        "kind": Kind(str, KINDS),
        "levels": Kind(tuple),
        "fill": Number(),
        "shift": Number(),
        "scale": Number(),
    },
    holds=_column_holds,
)
OUTPUT = Kind(dict, [{"transform": name} for name in ("default", "pandas", "polars")])
TABLE_ENCODER = Estimator(
    TableEncoder,
    {"columns_": Items(COLUMN), "feature_names_in_": Texts("d"), "n_features_in_": Length("d")},
    optional={"_sklearn_output_config": OUTPUT},
    holds=lambda model: model._check_parameters(),
)
