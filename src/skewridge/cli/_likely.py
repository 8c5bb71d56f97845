"""Columns of `skewridge predict` beside the prediction: intervals, quantiles, probabilities of more than a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.cli._info import final_step


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
