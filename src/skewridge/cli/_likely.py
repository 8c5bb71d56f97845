"""Columns of `skewridge predict` beside the prediction: intervals, quantiles, probabilities of more than a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._messages import in_full
from skewridge._typing import FloatArray, IntArray
from skewridge.cli._info import final_step

MOST_NAMED = 5  # rows that are likeliest to exceed a value


@dataclass(frozen=True)
class Likely:
    """What is asked for beside the prediction.

    Attributes
    ----------
    interval : coverage of an interval, or None
    quantiles, exceeds : numbers with commas between them, or None
    """

    interval: float | None = None
    quantiles: str | None = None
    exceeds: str | None = None

    def check(self) -> list[str]:
        """Return the names of the columns, or raise for what cannot be read."""
        if self.interval is not None and not 0.0 < self.interval <= 1.0:
            raise ValueError(
                f"--interval must be a share above 0 and at most 1, such as 0.9 for 90%; got {self.interval:g}."
            )
        _ = self.levels, self.thresholds  # which raise
        return self.names

    @property
    def levels(self) -> list[float]:
        """The levels of quantiles."""
        return _numbers("--quantiles", self.quantiles, "0.5,0.9,0.99")

    @property
    def thresholds(self) -> list[float]:
        """The thresholds to be exceeded."""
        return _numbers("--exceeds", self.exceeds, "1e6,2e6")

    @property
    def names(self) -> list[str]:
        """The names of the columns, with numbers as they were written."""
        ends = [] if self.interval is None else ["low", "high"]
        named = [*ends, *(f"q{text}" for text in _texts(self.quantiles))]
        named += [f"p_above_{text}" for text in _texts(self.exceeds)]
        twice = [name for place, name in enumerate(named) if name in named[:place]]
        if twice:
            raise ValueError(f"The output would have two columns {twice[0]!r}. Name every level and value once.")
        return named

    def columns(self, model: Any, inputs: Any) -> dict[str, FloatArray]:
        """Return the columns for rows as the model takes them."""
        if not self.names:
            return {}
        rows, final = inputs, final_step(model)
        for _, step in getattr(model, "steps", [])[:-1]:
            rows = step.transform(rows)
        levels, thresholds = self.levels, self.thresholds
        found: list[FloatArray] = []
        if self.interval is not None:
            found += final.predict_interval(rows, self.interval)
        if levels:
            found += list(final.predict_quantiles(rows, levels).T)
        if thresholds:
            found += list(final.predict_exceedance(rows, thresholds).T)
        return dict(zip(self.names, map(np.asarray, found), strict=True))

    def exceedances(self, columns: Mapping[str, FloatArray], places: IntArray, name: Any) -> list[dict[str, Any]]:
        """Return how many of some rows should exceed each threshold, how many likely do, and the likeliest by name."""
        told = []
        for text, value in zip(_texts(self.exceeds), self.thresholds, strict=True):
            found = columns[f"p_above_{text}"][places]
            first = np.argsort(-found, kind="stable")[:MOST_NAMED]
            likeliest = [{"row": name(int(places[i])), "probability": float(found[i])} for i in first if found[i] > 0.0]
            told.append(
                {
                    "above": value,
                    "n_rows": len(found),
                    "expected": float(found.sum()),
                    "n_likely": int(np.sum(found > 0.5)),
                    "likeliest": likeliest,
                }
            )
        return told


def exceedance_text(told: Mapping[str, Any], n_predicted: int) -> str:
    """One threshold in a line for people.

    Examples
    --------
    >>> likeliest = [{"row": "7", "probability": 0.9998}, {"row": "2", "probability": 0.25}]
    >>> told = {"above": 2e6, "n_rows": 30, "expected": 1.26, "n_likely": 1, "likeliest": likeliest}
    >>> exceedance_text(told, 30)
    'more than 2,000,000: 1.3 of 30 rows expected, 1 likelier than not; likeliest: row 7 (>99.9%), 2 (25%)'
    """
    likeliest = ", ".join(f"{one['row']} ({_percent(one['probability'])})" for one in told["likeliest"])
    named = f"; likeliest: row {likeliest}" if likeliest else ""
    which = "" if told["n_rows"] == n_predicted else " without a response"
    return (
        f"more than {in_full(told['above'])}: {told['expected']:,.1f} of {told['n_rows']:,} rows{which} expected, "
        f"{told['n_likely']:,} likelier than not{named}"
    )


def _percent(share: float) -> str:
    """A probability for people; nothing is called certain that is not."""
    return ">99.9%" if 0.9995 <= share < 1.0 else f"{100 * share:.3g}%"


def _texts(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in text.split(",")]


def _numbers(option: str, text: str | None, example: str) -> list[float]:
    """Numbers with commas between them, or raise."""
    if text is None:
        return []
    try:
        return [float(part) for part in _texts(text)]
    except ValueError as error:
        raise ValueError(
            f"{option} must be numbers with commas between them, such as {example}; got {text!r}."
        ) from error
