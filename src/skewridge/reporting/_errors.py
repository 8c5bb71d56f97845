"""Sections of a report that look at errors: can it be trusted, where is it wrong, what next, errors in detail."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from skewridge._messages import amount, counted, percent
from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge.advice.explain import Coded, draw_rows
from skewridge.metrics import balanced_mse, figures, sera
from skewridge.reporting._input import COVERAGE, ReportInput, has, known
from skewridge.tables.columns import row_label
from skewridge.tables.out_of_range import count_outside, outside_fit

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


def trust(case: ReportInput) -> dict[str, Any]:
    """Can I trust it? Errors beside those of baselines, stated against real, intervals against what came."""
    named = [(type(case.fitted).__name__, case.predicted), *_baselines(case).items()]
    return known(
        methods=[{"name": name, **figures(case.y, values, case.rare)} for name, values in named],
        stated=_stated_and_real(case) if has(case.fitted, "risk_") else None,
        checks=[{"good": good, "text": text} for good, text in _checks(case)],
    )


def _baselines(case: ReportInput) -> dict[str, FloatArray]:
    return {"the mean": np.full(len(case.y), case.y_ref.mean()), **case.baselines}


def _advantage(case: ReportInput, baseline: FloatArray, rows: BoolArray) -> float:
    """By how many standard errors a baseline's squared errors are larger than the model's, on the same rows."""
    more = (baseline[rows] - case.y[rows]) ** 2 - case.error[rows] ** 2
    error = float(np.std(more)) / np.sqrt(max(1, len(more)))
    return float(np.mean(more)) / error if error > 0 else 0.0


def _rmse(error: FloatArray) -> float | None:
    return float(np.sqrt(np.mean(error**2))) if len(error) else None


def _stated_and_real(case: ReportInput) -> dict[str, Any]:
    """Roots of the stated error and of the one found, and whether they differ by more than chance.

    Overall and, with names that begin with ``rare_``, where the response is rare; chance is by the standard errors of
    both.
    """
    risk = case.of_output(case.fitted.risk_)
    found: dict[str, Any] = {}
    for kind, squares, mse, error in (
        ("", case.error**2, risk.mse, risk.mse_error),
        ("rare_", case.error[case.rare] ** 2, risk.rare_mse, risk.rare_error),
    ):
        names = (f"{kind}stated", f"{kind}real", f"{kind}off")
        if mse is None or not np.isfinite(mse) or len(squares) < 2:
            found |= dict(zip(names, (None, None, False), strict=True))
            continue
        own = float(np.std(squares) / np.sqrt(len(squares)))
        stated = error if error is not None and np.isfinite(error) else 0.0
        off = bool(abs(squares.mean() - mse) > FAR * np.hypot(own, stated))
        found |= dict(zip(names, (np.sqrt(mse), np.sqrt(squares.mean()), off), strict=True))
    return found


def _checks(case: ReportInput) -> Iterator[tuple[bool, str]]:
    """What speaks for the model, or against it, in words."""
    n_rows = counted(len(case.y), "row")
    yield {
        True: (False, f"The {n_rows} below were fitted: all errors are too small. Judge by rows held out."),
        False: (True, f"Judged by {n_rows} that it was not fitted to."),
        None: (True, f"Judged by {n_rows}; the model does not remember whether it was fitted to them."),
    }[case.seen]
    yield _against_baselines("RMSE", case, np.ones(len(case.y), dtype=bool))
    if case.rare.any():
        n_rare = counted(int(case.rare.sum()), "row")
        yield _against_baselines(f"Where {case.target} is rare ({n_rare}) RMSE", case, case.rare)
    found = _stated_and_real(case) if has(case.fitted, "risk_") else {"stated": None}
    if found["stated"] is not None:
        said = f"For unseen rows it stated an RMSE of {amount(found['stated'])}, and has {amount(found['real'])} here"
        if case.seen:
            yield False, f"{said}, where rows were seen: trust what it stated."
        else:
            apart = "more than chance apart" if found["off"] else "no more apart than by chance"
            yield not found["off"], f"{said}: {apart}."
    if case.forecaster is not None:
        share = np.mean(case.covered)
        off = abs(share - COVERAGE) > FAR * np.sqrt(COVERAGE * (1 - COVERAGE) / len(case.y))
        yield not off, f"Intervals made to hold {percent(COVERAGE)} of responses hold {share:.1%} of them."
    n_negative = int(np.count_nonzero(case.predicted < 0))
    if case.y_ref.min() >= 0 and n_negative:
        yield False, f"{counted(n_negative, 'prediction')} below 0, the least {amount(case.predicted.min())}."


def _against_baselines(name: str, case: ReportInput, rows: BoolArray) -> tuple[bool, str]:
    """The model's error beside that of the best baseline."""
    baselines = _baselines(case)
    errors = {baseline: _rmse(values[rows] - case.y[rows]) or 0.0 for baseline, values in baselines.items()}
    best = min(errors, key=lambda baseline: errors[baseline])
    mine, theirs = _rmse(case.error[rows]), errors[best]
    ahead = _advantage(case, baselines[best], rows)
    share = f" ({abs(theirs / mine - 1):.0%} {'more' if theirs > mine else 'less'})" if mine else ""
    apart = "" if abs(ahead) > CHANCE else ", no more apart than by chance"
    have = "have" if best.endswith("s") else "has"
    who = f"{best} has" if len(errors) == 1 else f"{best}, best of the others, {have}"
    return ahead > -CHANCE, f"{name} {amount(mine)}; {who} {amount(theirs)}{share}{apart}."


def where(case: ReportInput) -> dict[str, Any]:
    """How wrong, where? By bands of the prediction, of the response and of every column; the worst rows."""
    return known(
        by_prediction=by_prediction(case),
        by_response=_bands(case, case.y),
        rare=_band(case, case.rare, case.y) if case.rare.any() else None,
        columns=None if case.forecaster is None else by_column(case),
        worst=_worst(case),
    )


def by_prediction(case: ReportInput) -> list[dict[str, Any]]:
    """Ten bands of the prediction, of about as many rows each."""
    return _bands(case, case.predicted)


def _bands(case: ReportInput, values: FloatArray) -> list[dict[str, Any]]:
    labels = _cut(values, N_BANDS)
    return [_band(case, labels == label, values) for label in np.unique(labels)]


def _cut(values: FloatArray, n_bands: int) -> IntArray:
    """The band of every value, of about as many rows each; equal values share one."""
    cuts = np.unique(np.quantile(values, np.arange(1, n_bands) / n_bands))
    return np.searchsorted(cuts, values, side="left")


def _band(case: ReportInput, rows: BoolArray, values: FloatArray) -> dict[str, Any]:
    y, error = case.y[rows], case.error[rows]
    band = {
        "low": values[rows].min(),
        "high": values[rows].max(),
        "n_rows": len(y),
        "rmse": np.sqrt(np.mean(error**2)),
        "bias": error.mean(),
        "median_percent": 100.0 * np.median(np.abs(error / y)) if np.all(y != 0) else None,
    }
    if case.forecaster is None:
        return band
    low, high = (end[rows] for end in case.interval)
    return {**band, "width": np.median(high - low), **_coverage(case.covered[rows])}


def _coverage(covered: BoolArray) -> dict[str, Any]:
    """The share of intervals that hold the response, and whether it is off by more than chance."""
    chance = np.sqrt(COVERAGE * (1.0 - COVERAGE) / max(1, len(covered)))
    off = len(covered) >= FEWEST_IN_BAND and abs(covered.mean() - COVERAGE) > FAR * chance
    return {"coverage": covered.mean(), "off": bool(off)}


def by_column(case: ReportInput) -> list[dict[str, Any]]:
    """How often intervals hold in every fifth of every column, or for its most frequent levels."""
    columns = []
    for place in case.raw.used():
        coded = case.raw.coded(place)
        bands = [
            {"low": low, "high": high, "level": level, "n_rows": len(rows), **_coverage(case.covered[rows])}
            for low, high, level, rows in (_level_groups(coded) if coded.kind == "level" else _fifths(coded))
        ]
        if len(bands) > 1:
            columns.append({"name": case.raw.names[place], "kind": coded.kind, "bands": bands})
    return columns


def _fifths(column: Coded) -> Iterator[tuple[Any, Any, str | None, IntArray]]:
    """Ends, no level, and rows of the fifths of numbers or dates; gaps last."""
    gap = np.isnan(column.codes)
    filled = np.flatnonzero(~gap)
    labels = _cut(column.codes[filled], N_FIFTHS) if len(filled) else filled
    for label in np.unique(labels):
        rows = filled[labels == label]
        low, high = column.codes[rows].min(), column.codes[rows].max()
        days = np.array([low, high]).astype("datetime64[D]").astype(str) if column.kind == "date" else None
        yield low, high, None if days is None else f"{days[0]} to {days[1]}", rows
    if gap.any():
        yield None, None, "no value", np.flatnonzero(gap)


def _level_groups(column: Coded) -> Iterator[tuple[Any, Any, str | None, IntArray]]:
    """No ends, name and rows of the most frequent levels, and of all others together."""
    codes, counts = np.unique(column.codes[~np.isnan(column.codes)], return_counts=True)
    most = codes[np.argsort(-counts, kind="stable")][: N_FIFTHS - 1 if len(codes) > N_FIFTHS else N_FIFTHS]
    for code in most:
        yield None, None, column.levels[int(code)][:LONGEST], np.flatnonzero(column.codes == code)
    others = np.flatnonzero(~np.isin(column.codes, most))
    if len(others):
        yield None, None, "others", others


def _worst(case: ReportInput) -> dict[str, Any]:
    """The rows with the largest errors, and the values of their columns, the most important ones first."""
    rows = np.argsort(-np.abs(case.error), kind="stable")[:N_WORST].tolist()
    names = [one["name"] for one in case.drivers["columns"][:MOST_SHOWN]]
    places = [case.raw.names.index(name) for name in names]
    low, high = (None, None) if case.forecaster is None else case.interval
    return {
        "columns": names,
        "rows": [
            {
                "row": row_label(case.X, row, first=0),
                "observed": case.y[row],
                "predicted": case.predicted[row],
                "low": None if low is None else low[row],
                "high": None if high is None else high[row],
                "error": case.error[row],
                "rare": case.rare[row],
                "values": [_shown(case.raw.value(row, place)) for place in places],
            }
            for row in rows
        ],
    }


def _shown(value: Any) -> Any:
    """Numbers as they are, anything else as a short text; None for a gap."""
    if value is None:
        return None
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return float(value) if isinstance(value, float | np.floating) else int(value)
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def next_steps(case: ReportInput) -> dict[str, Any]:
    """What next? Rows outside the fit, columns to fill or to leave out, more rows, trees."""
    columns = case.drivers["columns"]
    found = known(
        outside=_outside(case) if has(case.fitted, "feature_min_in_", "feature_max_in_") else None,
        gaps=_gaps(case),
        idle=[one["name"] for one in columns if one["idle"]],  # could be left out: shuffling changes next to nothing
        left_out=[{"name": name, "note": one.note} for name, one in case.raw.encoded.items() if not one.features],
        more_rows=case.learning,
        trees=_trees(case) if TREES in case.baselines else None,
    )
    return {"advice": list(_advice(case, found)), **found}


def _advice(case: ReportInput, found: dict[str, Any]) -> Iterator[str]:
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
    idle = found["idle"]
    if idle:
        more = f" and {len(idle) - 5} more" if len(idle) > 5 else ""
        yield f"Leave out {', '.join(idle[:5])}{more}: next to nothing is lost."


def _outside(case: ReportInput) -> dict[str, Any] | None:
    """Columns that put rows outside the range of the fit, the furthest first."""
    found = outside_fit(case.fitted, case.inputs, case.features, case.table_columns)
    if not found:
        return None
    rows = np.zeros(len(case.y), dtype=bool)
    rows[np.concatenate([column.rows for column in found])] = True
    furthest = sorted(found, key=lambda column: -column.beyond[0])[:MOST_COLUMNS]
    columns = [column.to_dict(lambda place: row_label(case.X, place, first=0)) for column in furthest]
    return {
        "n_rows": count_outside(found),
        "rmse": _rmse(case.error[rows]),
        "others": _rmse(case.error[~rows]),
        "columns": [{**column, "rows": column["rows"][:3]} for column in columns],
    }


def _gaps(case: ReportInput) -> list[dict[str, Any]]:
    """Columns that drive the model and whose gaps cost: rows without a value have larger errors."""
    sure = {one["name"] for one in case.drivers["columns"] if one["sure"]}
    costly = []
    for place in case.raw.used():
        gap = np.isnan(case.raw.coded(place).codes)
        if case.raw.names[place] in sure and min(gap.sum(), (~gap).sum()) >= max(FEWEST_ROWS, FEWEST_GAPS * len(gap)):
            own, others = np.sqrt(np.mean(case.error[gap] ** 2)), np.sqrt(np.mean(case.error[~gap] ** 2))
            if own > WORSE * others:
                costly.append({"name": case.raw.names[place], "share": gap.mean(), "rmse": own, "others": others})
    return sorted(costly, key=lambda one: -float(one["rmse"] / one["others"]))[:MOST_COLUMNS]


def _trees(case: ReportInput) -> dict[str, Any]:
    """Errors of boosted trees in shares of the model's; "better" where they lead by more than chance."""
    predicted = case.baselines[TREES]
    found: dict[str, Any] = {"rmse": None, "rare_rmse": None, "better": [], "worse": []}
    for name, rows in (("rmse", np.ones(len(case.y), dtype=bool)), ("rare_rmse", case.rare)):
        own = _rmse(case.error[rows])
        if own:
            found[name] = np.sqrt(np.mean((predicted[rows] - case.y[rows]) ** 2)) / own
        ahead = _advantage(case, predicted, rows) if rows.any() else 0.0
        if abs(ahead) > CHANCE:
            found["worse" if ahead > 0 else "better"].append(name)
    return found


def errors(case: ReportInput) -> dict[str, Any]:
    """How good a model is, overall and where the response is rare."""
    drawn = np.sort(np.concatenate(draw_rows(case.rare, MOST_POINTS, np.random.default_rng(0))))
    return known(
        rows=FITTED[case.seen],
        n_rows=len(case.y),
        n_beyond=np.count_nonzero((case.y < case.y_ref.min()) | (case.y > case.y_ref.max())),
        scores=list(_scores(case)),
        stated=_stated(case) if has(case.fitted, "risk_") else None,
        slices=_slice_errors(case),
        points={
            "n_rows": len(case.y),
            "observed": case.y[drawn],
            "predicted": case.predicted[drawn],
            "rare": case.rare[drawn],
            "slice": case.bars(case.y[drawn]),
        },
        intervals=None if case.forecaster is None else _intervals(case),
        likely=_likely(case) if case.forecaster is not None and has(case.fitted, "predict_distribution") else None,
    )


def _stated(case: ReportInput) -> dict[str, Any]:
    """The error that the model states for rows it has not seen, with standard errors."""
    risk = case.of_output(case.fitted.risk_)
    return {name: getattr(risk, name) for name in ("mse", "mse_error", "rare_mse", "rare_error")}


def _scores(case: ReportInput) -> Iterator[dict[str, Any]]:
    """The errors that belong together (METHOD: errors to report), each beside that of predicting the mean of y_ref."""
    y, mean = case.y, np.full(len(case.y), case.y_ref.mean())

    def score(name: str, n_rows: int, measure: Callable[[FloatArray], float | None]) -> dict[str, Any]:
        own, of_mean = measure(case.predicted), measure(mean)
        root = None if own is None or name == "sera" else np.sqrt(own)  # sera is a sum
        ratio = own / of_mean if own is not None and of_mean else None
        return {"name": name, "n_rows": n_rows, "model": own, "root": root, "mean": of_mean, "ratio": ratio}

    def mse_of(rows: BoolArray) -> Callable[[FloatArray], float | None]:
        return lambda values: float(np.mean((y[rows] - values[rows]) ** 2)) if rows.any() else None

    yield score("mse", len(y), mse_of(np.ones(len(y), dtype=bool)))
    if not case.sliced:
        return
    for name, rows in (("rare_mse", case.rare), ("rare_mse_by_prediction", case.predicted_rare)):
        yield score(name, int(rows.sum()), mse_of(rows))
    yield score("balanced_mse", len(y), lambda v: balanced_mse(y, v, y_ref=case.y_ref, slices=case.rule))
    try:
        yield score("sera", len(y), lambda values: sera(y, values, y_ref=case.y_ref))
    except ValueError:  # no response is extreme enough for it
        return


def _slice_errors(case: ReportInput) -> list[dict[str, Any]]:
    """Rows, mean squared errors, bias (prediction minus y) and share of the squared error, slice by slice."""
    squares = case.bar_sums(case.y, case.error**2)
    of_mean = case.bar_sums(case.y, (case.y - case.y_ref.mean()) ** 2)
    columns = (case.bar_sums(case.y), squares, of_mean, case.bar_sums(case.y, case.error))
    total = squares.sum() or 1.0
    return [
        {
            "n_rows": n,
            "mse": square / n if n else None,
            "mean": mean / n if n else None,
            "bias": error / n if n else None,
            "share": square / total,
        }
        for n, square, mean, error in zip(*columns, strict=True)
    ]


def _intervals(case: ReportInput) -> dict[str, Any]:
    """How often intervals hold the response: promised overall, and found where it is rare."""
    low, high = case.interval
    return {
        "coverage": COVERAGE,
        "held": case.covered.mean(),
        "held_rare": case.covered[case.rare].mean() if case.rare.any() else None,
        "width": np.median(high - low),
        "n_infinite": np.count_nonzero(np.isinf(high - low)),
    }


def _likely(case: ReportInput) -> dict[str, Any]:
    """Stated and counted exceedances, levels that few rows exceed, and the upper tail."""
    drawn = np.sort(np.random.default_rng(0).permutation(len(case.y))[:MOST_FORECASTS])
    inputs = case.inputs
    some = inputs.iloc if hasattr(inputs, "iloc") else inputs if hasattr(inputs, "tocsr") else np.asarray(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model warned when it was calibrated
        every = case.forecaster.predict_distribution(inputs)
        few = case.forecaster.predict_distribution(some[drawn])

    def exceeded(found: Any, thresholds: FloatArray) -> FloatArray:
        above = found.sf(thresholds)  # (n, t), with an axis for outputs between where there are several
        return np.asarray(above[:, case.output or 0] if len(case.forecaster.calibration_) > 1 else above)

    thresholds = np.unique(np.quantile(case.y_ref, LEVELS))
    shape = case.forecaster.calibration_[case.output or 0].shape
    tail, high = None, shape.high
    if high is not None:  # errors are enough for one
        tail = {
            "shape": high.shape,
            "shape_low": high.shape_low,
            "shape_high": high.shape_high,
            "share": high.share,
            "n_rows": high.n_rows,
        }
    return {
        "coverage": COVERAGE,
        "exceedances": [
            {"threshold": t, "stated": p.sum(), "counted": int(np.sum(case.y > t)), "most": p.max()}
            for t, p in zip(thresholds, exceeded(every, thresholds).T, strict=True)
        ],
        "levels": _return_levels(case, lambda levels: exceeded(few, levels).mean(axis=0)),
        "tail": tail,
    }


def _return_levels(case: ReportInput, exceeded: Callable[[FloatArray], FloatArray]) -> list[dict[str, Any]]:
    """The levels that one in so many rows exceeds, by bisection of the mean probability of more."""
    shares = 1.0 / np.array(PERIODS, dtype=np.float64)
    low = np.full(len(shares), float(min(case.y_ref.min(), case.predicted.min())))
    high = low + (float(np.ptp(case.y_ref)) or 1.0)
    for _ in range(STEPS):  # until few enough rows exceed it
        high = np.where(exceeded(high) > shares, high + (high - low), high)
    reached = exceeded(high) <= shares
    for _ in range(STEPS):
        middle = (low + high) / 2
        above = exceeded(middle) > shares
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return [
        {"period": period, "level": level, "counted": int(np.sum(case.y > level)), "expected": len(case.y) / period}
        for period, level in zip(np.array(PERIODS)[reached].tolist(), high[reached].tolist(), strict=True)
    ]
