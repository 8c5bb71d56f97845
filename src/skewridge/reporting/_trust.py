"""Can I trust it? Errors beside baselines, stated against real, intervals against what came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skewridge._messages import amount, counted, percent
from skewridge._typing import BoolArray, FloatArray
from skewridge.metrics.figures import figures
from skewridge.reporting import _levels
from skewridge.reporting._case import COVERAGE, Case, Part

FAR = 4.0  # standard errors beyond which chance is no reason
CHANCE = 2.0  # the same for two methods on the same rows


def rivals(case: Case) -> dict[str, FloatArray]:
    """What predicting the mean, and what else was told, predicts of the rows."""
    return {"the mean": np.full(len(case.y), case.y_ref.mean()), **case.baselines}


def methods(case: Case) -> list[dict[str, Any]]:
    """The errors of the model and of its rivals."""
    named = [(type(case.fitted).__name__, case.predicted), *rivals(case).items()]
    return [{"name": name, **figures(case.y, values, case.rare)} for name, values in named]


def lead(case: Case, rival: FloatArray, rows: BoolArray) -> float:
    """By how many standard errors a rival's squared errors are larger than the model's, on the same rows."""
    more = (rival[rows] - case.y[rows]) ** 2 - (case.predicted[rows] - case.y[rows]) ** 2
    error = float(np.std(more)) / np.sqrt(max(1, len(more)))
    return float(np.mean(more)) / error if error > 0 else 0.0


def stated(case: Case) -> dict[str, Any]:
    """The stated error beside the one found, overall and where the response is rare, as roots."""
    told = _levels.stated(case)
    rows = {"": np.ones(len(case.y), dtype=bool), "rare_": case.rare}
    pairs = {"": ("mse", "mse_error"), "rare_": ("rare_mse", "rare_error")}
    found: dict[str, Any] = {}
    for kind, some in rows.items():
        mse, error = (told[name] for name in pairs[kind])
        squares = (case.predicted[some] - case.y[some]) ** 2
        found |= {f"{kind}{name}": value for name, value in _compared(mse, error, squares).items()}
    return found


def _compared(mse: float | None, error: float | None, squares: FloatArray) -> dict[str, Any]:
    """Roots of both, and whether they differ by more than chance: by either's standard errors."""
    if mse is None or not np.isfinite(mse) or len(squares) < 2:
        return {"stated": None, "real": None, "off": False}
    own = float(np.std(squares) / np.sqrt(len(squares)))
    known = error if error is not None and np.isfinite(error) else 0.0
    off = abs(squares.mean() - mse) > FAR * np.hypot(own, known)
    return {"stated": np.sqrt(mse), "real": np.sqrt(squares.mean()), "off": bool(off)}


def checks(case: Case) -> list[dict[str, Any]]:
    """What speaks for the model, or against it, in words."""
    return [{"good": good, "text": text} for good, text in _checks(case)]


def _checks(case: Case) -> Iterator[tuple[bool, str]]:
    rows = counted(len(case.y), "row")
    yield {
        True: (False, f"The {rows} below were fitted: all errors are too small. Judge by rows held out."),
        False: (True, f"Judged by {rows} that it was not fitted to."),
        None: (True, f"Judged by {rows}; the model does not remember whether it was fitted to them."),
    }[case.seen]
    yield _against("RMSE", case, np.ones(len(case.y), dtype=bool))
    if case.rare.any():
        yield _against(f"Where {case.target} is rare ({counted(int(case.rare.sum()), 'row')}) RMSE", case, case.rare)
    if hasattr(case.fitted, "risk_"):
        yield from _about_stated(case)
    if case.forecaster is not None:
        low, high = case.interval
        held = np.mean((low <= case.y) & (case.y <= high))
        off = abs(held - COVERAGE) > FAR * np.sqrt(COVERAGE * (1 - COVERAGE) / len(case.y))
        yield not off, f"Intervals made to hold {percent(COVERAGE)} of responses hold {held:.1%} of them."
    n_negative = int(np.count_nonzero(case.predicted < 0))
    if case.y_ref.min() >= 0 and n_negative:
        yield False, f"{counted(n_negative, 'prediction')} below 0, the least {amount(case.predicted.min())}."


def _against(name: str, case: Case, rows: BoolArray) -> tuple[bool, str]:
    """The model's error beside that of the best of the others."""
    others = {rival: _rmse(values[rows], case.y[rows]) for rival, values in rivals(case).items()}
    best = min(others, key=lambda rival: others[rival])
    mine, theirs = _rmse(case.predicted[rows], case.y[rows]), others[best]
    ahead = lead(case, rivals(case)[best], rows)
    share = f" ({abs(theirs / mine - 1):.0%} {'more' if theirs > mine else 'less'})" if mine else ""
    apart = "" if abs(ahead) > CHANCE else ", no more apart than by chance"
    who = (
        f"{best} has" if len(others) == 1 else f"{best}, best of the others, {'have' if best.endswith('s') else 'has'}"
    )
    return ahead > -CHANCE, f"{name} {amount(mine)}; {who} {amount(theirs)}{share}{apart}."


def _rmse(predicted: FloatArray, y: FloatArray) -> float:
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def _about_stated(case: Case) -> Iterator[tuple[bool, str]]:
    found = stated(case)
    if found["stated"] is None:
        return
    said = f"For unseen rows it stated an RMSE of {amount(found['stated'])}, and has {amount(found['real'])} here"
    if case.seen:
        yield False, f"{said}, where rows were seen: trust what it stated."
    else:
        yield (
            not found["off"],
            f"{said}: {'more than chance apart' if found['off'] else 'no more apart than by chance'}.",
        )


PARTS = (
    Part("methods", (), methods),
    Part("stated", ("risk_",), stated),
    Part("checks", (), checks),
)
