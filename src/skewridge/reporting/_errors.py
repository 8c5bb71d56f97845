"""Sections of a report that look at errors: can it be trusted, where is it wrong, what next, errors in detail."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from skewridge._messages import amount, as_records, counted, listed, percent
from skewridge._typing import BoolArray, Data, FloatArray, IntArray
from skewridge.advice.explain import draw_rows, learning_curve, raw_rows
from skewridge.metrics import balanced_mse, sera
from skewridge.reporting._input import COVERAGE, ReportInput, has, known
from skewridge.tables.columns import row_label

FAR = 4.0  # standard errors beyond which chance is no reason
CHANCE = 2.0  # the same for two methods on the same rows
N_BANDS, N_FIFTHS = 10, 5
FEWEST_IN_BAND = 100  # rows of a band whose coverage is called off
N_WORST, MOST_SHOWN, LONGEST = 20, 8, 24  # rows; columns that are shown of them; characters of a value
MOST_COLUMNS = 10
TREES = "boosted trees"  # what the command line calls them
FEWEST_GAPS, FEWEST_ROWS = 0.02, 30  # share of rows without a value, and rows, from which filling them is considered
WORSE = 1.1  # times the error of other rows, from which gaps cost
MOST_POINTS = 2000  # rows that are drawn one by one
FITTED = {True: "fitted", False: "new", None: "unknown"}
LEVELS = (0.9, 0.95, 0.98, 0.99)  # of the training response: thresholds
PERIODS = (10, 100, 1_000, 10_000)  # rows of which one exceeds a level
MOST_FORECASTS = 1_000  # rows that return levels are the mean of
STEPS = 40  # halvings of a bracket


def trust(case: ReportInput) -> Data:
    """Can I trust it? Errors beside those of baselines, stated against real, intervals against what came."""
    stated = None if case.risk is None else _stated_and_real(case)
    checks = [{"good": bool(good), "text": text} for good, text in _checks(case, stated)]
    return known(methods=case.methods, stated=stated, checks=checks)


def _stated_and_real(case: ReportInput) -> Data:
    """Roots of the stated error and of the one found, and whether they are more apart than by chance, by region."""
    chances = {"": case.risk.mse_se, "rare_": case.risk.rare_mse_se}
    found: Data = {}
    for kind, rows in case.regions.items():
        stated, squares, chance = getattr(case.risk, f"{kind}mse"), case.error[rows] ** 2, chances[kind]
        found |= {f"{kind}stated": None, f"{kind}real": None, f"{kind}off": False}
        if stated is not None and np.isfinite(stated) and len(squares) > 1:
            own = np.std(squares) / np.sqrt(len(squares))
            both = np.hypot(own, chance if chance is not None and np.isfinite(chance) else 0.0)
            found |= {f"{kind}stated": np.sqrt(stated), f"{kind}real": np.sqrt(squares.mean())}
            found[f"{kind}off"] = abs(squares.mean() - stated) > FAR * both
    return found


def _checks(case: ReportInput, stated: Data | None) -> Iterator[tuple[bool, str]]:
    """What speaks for the model, or against it, in words."""
    n_rows = counted(len(case.y), "row")
    yield {
        True: (False, f"The {n_rows} below were fitted: all errors are too small. Judge by rows held out."),
        False: (True, f"Judged by {n_rows} that it was not fitted to."),
        None: (True, f"Judged by {n_rows}; the model does not remember whether it was fitted to them."),
    }[case.seen]
    yield _against_baselines(case, "", "RMSE")
    if case.rare.any():
        n_rare = counted(int(case.rare.sum()), "row")
        yield _against_baselines(case, "rare_", f"Where {case.target} is rare ({n_rare}) RMSE")
    if stated is not None and stated["stated"] is not None:
        said = f"For unseen rows it stated an RMSE of {amount(stated['stated'])}, and has {amount(stated['real'])} here"
        if case.seen:
            yield False, f"{said}, where rows were seen: trust what it stated."
        else:
            apart = "more than chance apart" if stated["off"] else "no more apart than by chance"
            yield not stated["off"], f"{said}: {apart}."
    if case.forecaster is not None:
        share = np.mean(case.covered)
        off = abs(share - COVERAGE) > FAR * np.sqrt(COVERAGE * (1 - COVERAGE) / len(case.y))
        yield not off, f"Intervals made to hold {percent(COVERAGE)} of responses hold {share:.1%} of them."
    n_negative = int(np.count_nonzero(case.predicted < 0))
    if case.y_ref.min() >= 0 and n_negative:
        yield False, f"{counted(n_negative, 'prediction')} below 0, the least {amount(case.predicted.min())}."


def _against_baselines(case: ReportInput, kind: str, name: str) -> tuple[bool, str]:
    """The model's error in a region beside that of the best baseline."""
    own, *others = case.methods
    best = min(others, key=lambda one: float(one[f"{kind}rmse"]))
    mine, theirs = own[f"{kind}rmse"], best[f"{kind}rmse"]
    ahead = _advantage(case, best["name"], case.regions[kind])
    share = f" ({abs(theirs / mine - 1):.0%} {'more' if theirs > mine else 'less'})" if mine else ""
    apart = "" if abs(ahead) > CHANCE else ", no more apart than by chance"
    have = "have" if best["name"].endswith("s") else "has"
    who = f"{best['name']} has" if len(others) == 1 else f"{best['name']}, best of the others, {have}"
    return ahead > -CHANCE, f"{name} {amount(mine)}; {who} {amount(theirs)}{share}{apart}."


def _advantage(case: ReportInput, baseline: str, rows: BoolArray) -> float:
    """By how many standard errors a baseline's squared errors are larger than the model's, on the same rows."""
    more = (case.baselines[baseline][rows] - case.y[rows]) ** 2 - case.error[rows] ** 2
    error = np.std(more) / np.sqrt(len(more)) if len(more) else 0.0
    return float(np.mean(more) / error) if error > 0 else 0.0


def where(case: ReportInput) -> Data:
    """How wrong, where? By bands of the prediction, of the response and of every column; the worst rows."""
    columns = None
    if case.forecaster is not None:
        parts = [{"name": case.raw.names[place], **_parts(case, place)} for place in case.raw.used()]
        columns = [column for column in parts if len(column["bands"]) > 1]
    return known(
        by_prediction=_bands(case, case.predicted),
        by_response=_bands(case, case.y),
        rare=_band(case, case.rare, case.y) if case.rare.any() else None,
        columns=columns,
        worst=_worst(case),
    )


def _bands(case: ReportInput, values: FloatArray) -> list[Data]:
    labels = _cut(values, N_BANDS)
    return [_band(case, labels == label, values) for label in np.unique(labels)]


def _cut(values: FloatArray, n_bands: int) -> IntArray:
    """The band of every value, of about as many rows each; equal values share one."""
    cuts = np.unique(np.quantile(values, np.arange(1, n_bands) / n_bands))
    return np.searchsorted(cuts, values, side="left")


def _band(case: ReportInput, rows: BoolArray, values: FloatArray) -> Data:
    """The errors of some rows, and the ends of their values."""
    y, error = case.y[rows], case.error[rows]
    band = {
        "low": values[rows].min(),
        "high": values[rows].max(),
        "n_rows": len(y),
        "rmse": _rmse(error),
        "bias": error.mean(),
        "median_percent": 100.0 * np.median(np.abs(error / y)) if np.all(y != 0) else None,
    }
    if case.forecaster is None:
        return band
    low, high = (end[rows] for end in case.interval)
    return {**band, "width": np.median(high - low), **_coverage(case.covered[rows])}


def _rmse(error: FloatArray) -> float:
    return float(np.sqrt(np.mean(error**2))) if len(error) else np.nan


def _coverage(covered: BoolArray) -> Data:
    """The share of intervals that hold the response, and whether it is off by more than chance."""
    chance = np.sqrt(COVERAGE * (1.0 - COVERAGE) / len(covered))
    off = len(covered) >= FEWEST_IN_BAND and abs(covered.mean() - COVERAGE) > FAR * chance
    return {"coverage": covered.mean(), "off": bool(off)}


def _parts(case: ReportInput, place: int) -> Data:
    """How often intervals hold in every fifth of a column and in its gaps, or for its most frequent levels."""
    kind, codes, levels = case.raw.coded(place)
    gap = np.isnan(codes)
    parts: list[tuple[str | None, BoolArray]] = []
    if kind == "level":
        texts, counts = np.unique(codes[~gap], return_counts=True)
        most = texts[np.argsort(-counts, kind="stable")][: N_FIFTHS - 1 if len(texts) > N_FIFTHS else N_FIFTHS]
        parts += [(levels[int(code)][:LONGEST], codes == code) for code in most]
        parts.append(("others", ~np.isin(codes, most)))
    else:
        fifths = np.full(len(gap), -1)
        fifths[~gap] = _cut(codes[~gap], N_FIFTHS) if not gap.all() else 0
        parts += [(None, fifths == fifth) for fifth in np.unique(fifths[~gap])]
        parts.append(("no value", gap))
    bands = []
    for level, rows in parts:
        if not rows.any():
            continue
        low = high = None
        if level is None:
            low, high = codes[rows].min(), codes[rows].max()
            days = np.array([low, high]).astype("datetime64[D]").astype(str)
            level = " to ".join(days) if kind == "date" else None
        found = {"low": low, "high": high, "level": level, "n_rows": int(rows.sum())}
        bands.append({**found, **_coverage(case.covered[rows])})
    return {"kind": kind, "bands": bands}


def _worst(case: ReportInput) -> Data:
    """The rows with the largest errors, and the values of their columns, the most important ones first."""
    rows = np.argsort(-np.abs(case.error), kind="stable")[:N_WORST]
    names = [one["name"] for one in case.drivers["columns"][:MOST_SHOWN]]
    places = [case.raw.names.index(name) for name in names]
    low = high = np.full(len(rows), np.nan)
    if case.forecaster is not None:
        low, high = (end[rows] for end in case.interval)
    worst = as_records(
        row=[row_label(case.X, int(row), first=0) for row in rows],
        observed=case.y[rows],
        predicted=case.predicted[rows],
        low=low,
        high=high,
        error=case.error[rows],
        rare=case.rare[rows],
        values=[[_shown(case.raw.value(int(row), place)) for place in places] for row in rows],
    )
    return {"columns": names, "rows": worst}


def _shown(value: Any) -> Any:
    """Numbers as they are, anything else as a short text; None for a gap."""
    if value is None or (isinstance(value, int | float | np.number) and not isinstance(value, bool)):
        return value
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def next_steps(case: ReportInput) -> Data:
    """What next? Rows outside the fit, columns to fill or to leave out, more rows, trees."""
    columns = case.drivers["columns"]
    learning = None
    if case.train is not None:
        learning = learning_curve(case.model, *case.train, case.X, case.y, output=case.output)
    found = known(
        outside=_outside(case) if case.outside else None,
        gaps=_gaps(case),
        idle=[one["name"] for one in columns if one["idle"]],  # could be left out: shuffling changes next to nothing
        left_out=[{"name": name, "note": one.note} for name, one in case.raw.encoded.items() if not one.features],
        more_rows=learning,
        trees=_trees(case) if TREES in case.baselines else None,
    )
    return {"advice": list(_advice(case, found)), **found}


def _advice(case: ReportInput, found: Data) -> Iterator[str]:
    """What to do next, in words, the first thing first."""
    if case.seen:
        yield "Hold rows out and judge by them: these rows were fitted."
    learning, trees = found.get("more_rows"), found.get("trees")
    if learning and learning["helps"]:
        fall = 1 - learning["twice"] / learning["rmse"][-1]
        yield f"Get more rows: twice as many would lower the RMSE by about {fall:.0%}."
    elif learning:
        yield "More rows would hardly help: better columns would."
    if trees and "rmse" in trees["better"]:
        yield "Take trees, or fit with companions=[HistGradientBoostingRegressor()]: they have the smaller error here."
    elif trees and trees["better"]:
        yield "Trees do better where the response is rare: try companions=[HistGradientBoostingRegressor()]."
    if found["gaps"]:
        names = ", ".join(one["name"] for one in found["gaps"][:3])
        yield f"Fill gaps in {names}: rows without a value have larger errors."
    if "outside" in found:
        n_rows = counted(found["outside"]["n_rows"], "row")
        yield f"Look at the {n_rows} outside the range of the fit before such predictions are used."
    if found["idle"]:
        yield f"Leave out {listed(found['idle'], len(found['idle']))}: next to nothing is lost."


def _outside(case: ReportInput) -> Data:
    """Columns that put rows outside the range of the fit, the furthest first."""
    rows = np.zeros(len(case.y), dtype=bool)
    rows[np.concatenate([column.rows for column in case.outside])] = True
    furthest = sorted(case.outside, key=lambda column: -column.beyond[0])[:MOST_COLUMNS]
    columns = [column.to_dict(lambda place: row_label(case.X, place, first=0)) for column in furthest]
    return {
        "n_rows": int(rows.sum()),
        "rmse": _rmse(case.error[rows]),
        "others": _rmse(case.error[~rows]),
        "columns": [{**column, "rows": column["rows"][:3]} for column in columns],
    }


def _gaps(case: ReportInput) -> list[Data]:
    """Columns that drive the model and whose gaps cost: rows without a value have larger errors."""
    sure = [one["name"] for one in case.drivers["columns"] if one["sure"]]
    costly = []
    for place in case.raw.used():
        name, gap = case.raw.names[place], np.isnan(case.raw.coded(place)[1])
        own, others = _rmse(case.error[gap]), _rmse(case.error[~gap])
        enough = min(gap.sum(), (~gap).sum()) >= max(FEWEST_ROWS, FEWEST_GAPS * len(gap))
        if name in sure and enough and own > WORSE * others:
            costly.append({"name": name, "share": gap.mean(), "rmse": own, "others": others})
    return sorted(costly, key=lambda one: -float(one["rmse"] / one["others"]))[:MOST_COLUMNS]


def _trees(case: ReportInput) -> Data:
    """Errors of boosted trees in shares of the model's; "better" where they lead by more than chance."""
    own, *others = case.methods
    trees = next(one for one in others if one["name"] == TREES)
    found: Data = {"rmse": None, "rare_rmse": None, "better": [], "worse": []}
    for kind, rows in case.regions.items():
        name, ahead = f"{kind}rmse", _advantage(case, TREES, rows)
        found[name] = trees[name] / own[name] if own[name] else None
        if abs(ahead) > CHANCE:
            found["worse" if ahead > 0 else "better"].append(name)
    return found


def errors(case: ReportInput) -> Data:
    """How good a model is, overall, where the response is rare, and slice by slice; bias is prediction minus y."""
    drawn = np.sort(np.concatenate(draw_rows(case.rare, MOST_POINTS, np.random.default_rng(0))))
    stated = {name: getattr(case.risk, name, None) for name in ("mse", "mse_se", "rare_mse", "rare_mse_se")}
    n_rows, squares, of_mean, bias = (
        case.bar_sums(case.y, of) for of in (None, case.error**2, (case.y - case.y_ref.mean()) ** 2, case.error)
    )
    with np.errstate(invalid="ignore"):  # slices without rows have no mean
        means = {"mse": squares / n_rows, "mean": of_mean / n_rows, "bias": bias / n_rows}
    intervals = None
    if case.forecaster is not None:
        width = case.interval[1] - case.interval[0]
        intervals = {
            "coverage": COVERAGE,
            "held": case.covered.mean(),
            "held_rare": case.covered[case.rare].mean() if case.rare.any() else None,
            "width": np.median(width),
            "n_infinite": np.count_nonzero(np.isinf(width)),
        }
    return known(
        rows=FITTED[case.seen],
        n_rows=len(case.y),
        n_beyond=np.count_nonzero((case.y < case.y_ref.min()) | (case.y > case.y_ref.max())),
        scores=_scores(case),
        stated=None if case.risk is None else stated,
        slices=as_records(n_rows=n_rows, **means, share=squares / (squares.sum() or 1.0)),
        points={
            "n_rows": len(case.y),
            "observed": case.y[drawn],
            "predicted": case.predicted[drawn],
            "rare": case.rare[drawn],
            "slice": case.bars(case.y[drawn]),
        },
        intervals=intervals,
        likely=_likely(case) if case.forecaster is not None and has(case.fitted, "predict_distribution") else None,
    )


def _scores(case: ReportInput) -> list[Data]:
    """The errors that belong together (METHOD: errors to report), each beside that of predicting the mean of y_ref."""
    y, predictions = case.y, (case.predicted, np.full(len(case.y), case.y_ref.mean()))
    squares = [(values - y) ** 2 for values in predictions]
    found: dict[str, tuple[int, list[Any]]] = {"mse": (len(y), [np.mean(of) for of in squares])}
    if case.sliced:
        for name, rows in (("rare_mse", case.rare), ("rare_mse_by_prediction", case.predicted_rare)):
            found[name] = int(rows.sum()), [np.mean(of[rows]) if rows.any() else np.nan for of in squares]
        how = {"y_ref": case.y_ref, "slices": case.rule}
        found["balanced_mse"] = len(y), [balanced_mse(y, values, **how) for values in predictions]
        with suppress(ValueError):  # no response is extreme enough for it
            found["sera"] = len(y), [sera(y, values, y_ref=case.y_ref) for values in predictions]
    return [
        {
            "name": name,
            "n_rows": n_rows,
            "model": own,
            "root": None if name == "sera" else np.sqrt(own),  # sera is a sum
            "mean": of_mean,
            "ratio": own / of_mean if of_mean else None,
        }
        for name, (n_rows, (own, of_mean)) in found.items()
    ]


def _likely(case: ReportInput) -> Data:
    """Stated and counted exceedances, levels that few rows exceed, and the upper tail."""
    drawn = np.sort(np.random.default_rng(0).permutation(len(case.y))[:MOST_FORECASTS])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model warned when it was calibrated
        every = case.forecaster.predict_distribution(case.inputs)
        few = case.forecaster.predict_distribution(raw_rows(case.fitted, case.inputs, drawn).table)

    thresholds = np.unique(np.quantile(case.y_ref, LEVELS))
    stated = every.sf(thresholds)
    tail = case.forecaster.calibration_.distribution.high  # None where errors are too few for one
    names = ("shape", "shape_low", "shape_high", "share", "n_rows")
    return {
        "coverage": COVERAGE,
        "exceedances": as_records(
            threshold=thresholds,
            stated=[p.sum() for p in stated.T],
            counted=[np.count_nonzero(case.y > t) for t in thresholds],
            most=stated.max(axis=0),
        ),
        "levels": _return_levels(case, lambda levels: few.sf(levels).mean(axis=0)),
        "tail": None if tail is None else {name: getattr(tail, name) for name in names},
    }


def _return_levels(case: ReportInput, exceeded: Callable[[FloatArray], FloatArray]) -> list[Data]:
    """The levels that one in so many rows exceeds, by bisection of the mean probability of more."""
    periods = np.array(PERIODS)
    low = np.full(len(periods), float(min(case.y_ref.min(), case.predicted.min())))
    high = low + (float(np.ptp(case.y_ref)) or 1.0)
    for _ in range(STEPS):  # until few enough rows exceed it
        high = np.where(exceeded(high) > 1.0 / periods, high + (high - low), high)
    reached = exceeded(high) <= 1.0 / periods
    for _ in range(STEPS):
        middle = (low + high) / 2
        above = exceeded(middle) > 1.0 / periods
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    periods, levels = periods[reached], high[reached]
    n_over = [np.count_nonzero(case.y > level) for level in levels]
    return as_records(period=periods, level=levels, counted=n_over, expected=len(case.y) / periods)
