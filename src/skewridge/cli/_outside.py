"""Cautions about predictions: rows outside the range of the fit, and values that no response has."""

from __future__ import annotations

import warnings
from typing import Any

from skewridge._typing import FloatArray
from skewridge.cli._info import columns_of, final_step, response_rows
from skewridge.cli._screen import Screen
from skewridge.persist import ModelFile
from skewridge.tables.out_of_range import Outside, outside_fit


def outside_rows(model: Any, inputs: Any) -> list[Outside]:
    """The columns that put rows of a table outside the range that a model was fitted to."""
    columns = columns_of(model)
    if not hasattr(model, "steps"):
        return outside_fit(model, inputs, [column.name for column in columns])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predicting has said it already
        numbers = model[:-1].transform(inputs)
    return outside_fit(final_step(model), numbers, [name for c in columns for name in c.features], columns)


def below_zero(file: ModelFile, prediction: FloatArray, screen: Screen) -> None:
    """Tell of negative predictions where no response of the fit was negative."""
    negative = int((prediction < 0).sum())
    if negative and response_rows(file) and file.about["response"].min() >= 0:
        screen.note(
            f"{negative} predictions are below 0, and no response that was fitted is. If none can be, fit with "
            "-p 'bounds=[0, null]'."
        )
