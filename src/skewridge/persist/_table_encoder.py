"""The layout of encoded tables in files."""

from __future__ import annotations

from skewridge.io.number_forms import DECIMALS
from skewridge.persist._compound import Items, Maybe, Record
from skewridge.persist._estimator import Estimator
from skewridge.persist._layouts import Kind, Length, Number, Texts
from skewridge.tables.columns import KINDS, LISTED, Column
from skewridge.tables.dates import PARTS, WRITINGS, DateParts
from skewridge.tables.encoder import TableEncoder
from skewridge.tables.level_means import LevelMeans
from skewridge.tables.written_numbers import Writing


def _column_holds(column: Column) -> bool:
    """Whether just the kinds that have levels have some, all different, and a fill among them or none of them."""
    levels = column.levels
    texts = all(type(level) is str for level in levels) and len(set(levels)) == len(levels)
    listed = column.kind in LISTED
    filled = not listed or -1 <= column.fill < len(levels)
    dated = (column.kind == "date") == (column.dates is not None)
    return texts and listed == (len(levels) > 0) and filled and dated and _means_hold(column)


def _means_hold(column: Column) -> bool:
    """Whether a column of means, and no other, has one for every level, and counts of them."""
    means = column.means
    if column.kind != "means" or means is None:
        return column.kind != "means" and means is None
    lengths = {len(column.levels), len(means.counts), *map(len, means.deviations)}
    return len(lengths) == 1 and len(means.deviations) == len(means.scales) > 0


ROWS = Number(0, 2**53, whole=True)  # beyond, a number of rows is no number that arrays hold
WRITING = Record(Writing, {"decimal": Kind(str, DECIMALS), "unit": Kind(str), "gaps": Items(Kind(str), tuple)})
DATES = Record(
    DateParts,
    {"parts": Items(Kind(str, PARTS), tuple), "writing": Kind(str, WRITINGS)},
    holds=lambda dates: len(set(dates.parts)) == len(dates.parts),
)
MEANS = Record(
    LevelMeans,
    {
        "deviations": Items(Items(Number(), tuple), tuple),
        "counts": Items(ROWS, tuple),
        "scales": Items(Number(), tuple),
        "count_shift": Number(),
        "count_scale": Number(),
    },
)
COLUMN = Record(
    Column,
    {
        "name": Kind(str),
        "kind": Kind(str, KINDS),
        "levels": Kind(tuple),
        "fill": Number(),
        "shift": Number(),
        "scale": Number(),
        "gap_flag": Kind(bool),
        "n_gaps": ROWS,
        "writing": Maybe(WRITING),
        "dates": Maybe(DATES),
        "means": Maybe(MEANS),
        "note": Kind(str),
    },
    holds=_column_holds,
    later=("gap_flag", "n_gaps", "writing", "dates", "means", "note"),
)
OUTPUT = Kind(dict, [{"transform": name} for name in ("default", "pandas", "polars")])
TABLE_ENCODER = Estimator(
    TableEncoder,
    {"columns_": Items(COLUMN), "feature_names_in_": Texts("d"), "n_features_in_": Length("d")},
    optional={"_sklearn_output_config": OUTPUT},
    holds=lambda model: model._check_parameters(),
)
