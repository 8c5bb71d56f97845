"""What next? Rows outside the fit, columns to fill or to leave out, more rows, trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skewridge._messages import counted
from skewridge._typing import BoolArray, FloatArray
from skewridge.reporting._case import Case, Part, table_columns
from skewridge.reporting._trust import CHANCE, lead, methods
from skewridge.tables.columns import row_label
from skewridge.tables.outside import count_outside, outside_fit

MOST_COLUMNS = 10
TREES = "boosted trees"  # what the command line calls them
FEWEST_GAPS, FEWEST_ROWS = 0.02, 30  # share of rows without a value, and rows, from which filling them is considered
WORSE = 1.1  # times the error of other rows, from which gaps cost


def outside(case: Case) -> dict[str, Any] | None:
    """Columns that put rows outside the range of the fit, the furthest first."""
    found = outside_fit(case.fitted, case.inputs, case.features, table_columns(case.model))
    if not found:
        return None
    furthest = sorted(found, key=lambda column: -column.beyond[0])[:MOST_COLUMNS]
    told = [column.to_dict(lambda place: row_label(case.X, place, first=0)) for column in furthest]
    error = case.predicted - case.y
    rows = np.zeros(len(case.y), dtype=bool)
    rows[np.concatenate([column.rows for column in found])] = True
    return {
        "n_rows": count_outside(found),
        "rmse": _rmse(error[rows]),
        "others": _rmse(error[~rows]),
        "columns": [{**column, "rows": column["rows"][:3]} for column in told],
    }


def gaps(case: Case) -> list[dict[str, Any]]:
    """Columns that drive the model and whose gaps cost: rows without a value have larger errors."""
    error, used = case.predicted - case.y, {one["name"]: one for one in case.drivers["columns"]}
    found = [_gap(case.raw.names[place], np.isnan(case.raw.coded(place).codes), error) for place in case.raw.used()]
    costly = [one for one in found if one and used[one["name"]]["sure"] and one["rmse"] > WORSE * one["others"]]
    return sorted(costly, key=lambda one: -float(one["rmse"] / one["others"]))[:MOST_COLUMNS]


def _gap(name: str, gap: BoolArray, error: FloatArray) -> dict[str, Any] | None:
    few = min(gap.sum(), (~gap).sum())
    if few < max(FEWEST_ROWS, FEWEST_GAPS * len(gap)):
        return None
    return {"name": name, "share": gap.mean(), "rmse": _rmse(error[gap]), "others": _rmse(error[~gap])}


def idle(case: Case) -> list[str]:
    """Columns that could be left out: shuffling them changes next to nothing."""
    return [one["name"] for one in case.drivers["columns"] if one["idle"]]


def left_out(case: Case) -> list[dict[str, Any]]:
    """Columns of the table that the model does not see, and why."""
    return [{"name": name, "note": c.note} for name, c in case.raw.encoded.items() if not c.features]


def trees(case: Case) -> dict[str, Any] | None:
    """Boosted trees beside the model, where they were told; "better" where they lead by more than chance."""
    if TREES not in case.baselines:
        return None
    named = {one["name"]: one for one in methods(case)}
    own, other = named[type(case.fitted).__name__], named[TREES]
    rows = {"rmse": np.ones(len(case.y), dtype=bool), "rare_rmse": case.rare}
    ratios = {name: other[name] / own[name] if own[name] else None for name in rows}
    ahead = {name: lead(case, case.baselines[TREES], some) if some.any() else 0.0 for name, some in rows.items()}
    return {
        **ratios,
        "better": [n for n in rows if ahead[n] < -CHANCE],
        "worse": [n for n in rows if ahead[n] > CHANCE],
    }


def advice(case: Case) -> list[str]:
    """What to do next, in words, the first thing first."""
    return list(_advice(case))


def _advice(case: Case) -> Iterator[str]:
    if case.seen:
        yield "Hold rows out and judge by them: these rows were fitted."
    found = case.learning
    if found is not None and found["helps"]:
        fall = 1 - found["twice"] / found["rmse"][-1]
        yield f"Get more rows: twice as many would lower the RMSE by about {fall:.0%}."
    elif found is not None:
        yield "More rows would hardly help: better columns would."
    told = trees(case)
    if told and "rmse" in told["better"]:
        yield "Take trees, or fit with companions=[HistGradientBoostingRegressor()]: they have the smaller error here."
    elif told and told["better"]:
        yield "Trees do better where the response is rare: try companions=[HistGradientBoostingRegressor()]."
    costly = gaps(case)
    if costly:
        yield f"Fill gaps in {', '.join(one['name'] for one in costly[:3])}: rows without a value have larger errors."
    beyond = outside(case)
    if beyond:
        rows = counted(beyond["n_rows"], "row")
        yield f"Look at the {rows} outside the range of the fit before such predictions are used."
    unused = idle(case)
    if unused:
        more = f" and {len(unused) - 5} more" if len(unused) > 5 else ""
        yield f"Leave out {', '.join(unused[:5])}{more}: next to nothing is lost."


def _rmse(error: FloatArray) -> float | None:
    return float(np.sqrt(np.mean(error**2))) if len(error) else None


PARTS = (
    Part("advice", (), advice),
    Part("outside", ("feature_min_in_", "feature_max_in_"), outside),
    Part("gaps", (), gaps),
    Part("idle", (), idle),
    Part("left_out", (), left_out),
    Part("more_rows", (), lambda case: case.learning),
    Part("trees", (), trees),
)
