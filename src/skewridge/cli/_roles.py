"""Columns that say how rows count and how new rows come: weights, groups and times. They are no features."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray
from skewridge.tables.columns import Column, codes_of, levels_of, refuse_values, row_label, texts_of
from skewridge.tables.dates import as_days, find_date_format
from skewridge.tables.level_means import ByRow

TAKEN_AS = {"weight": "sample_weight", "groups": "groups", "time": "order"}  # by `fit` of an estimator
SAID = {
    "weight": "weights: a row counts as often as {column!r} says in the fit, and once in errors",
    "groups": "groups: rows of one {column!r} were left out together; stated errors are for new ones",
    "time": "time: rows of later {column!r} were predicted from earlier ones; stated errors are for what follows",
}
TITLED = {"weight": "weighted by", "groups": "by groups of", "time": "in the order of"}


@dataclass(frozen=True)
class Roles:
    """The names of these columns, each or none."""

    weight: str | None = None
    groups: str | None = None
    time: str | None = None

    @property
    def given(self) -> dict[str, str]:
        """The names that are there, by option."""
        found = {"weight": self.weight, "groups": self.groups, "time": self.time}
        return {option: name for option, name in found.items() if name is not None}


def check_roles(roles: Roles, target: str, estimator: type, others: Mapping[str, type]) -> None:
    """Refuse, before anything is read, what contradicts itself or what the estimator cannot take."""
    if roles.groups is not None and roles.time is not None:
        raise ValueError(
            "--groups and --time cannot both be given: rows are left out with their group, or predicted by earlier "
            "ones. Give the one that tells how new rows come: in new groups, or later."
        )
    for option, name in roles.given.items():
        if name == target:
            raise ValueError(f"--{option} names {name!r}, which is the target. Name another column.")
        if not _takes(estimator, option):
            able = [f"--estimator {own}" for own, cls in others.items() if _takes(cls, option)]
            raise ValueError(f"{estimator.__name__} cannot take --{option}. Take {' or '.join(able)}, or leave it out.")


def _takes(estimator: Any, option: str) -> bool:
    return TAKEN_AS[option] in inspect.signature(estimator.fit).parameters


def read_roles(roles: Roles, frame: Any) -> ByRow:
    """What the columns say about every row, or raise where they say nothing."""
    weights = groups = order = None
    if roles.weight is not None:
        weights = codes_of(Column(roles.weight, "number"), frame[roles.weight])
        _check_said("weight", roles.weight, frame, np.isnan(weights))
        _check_weights(roles.weight, frame, weights)
    if roles.groups is not None:
        _, groups = texts_of(frame[roles.groups])
        _check_said("groups", roles.groups, frame, groups < 0)
    if roles.time is not None:
        order = _times(roles.time, frame[roles.time])
        _check_said("time", roles.time, frame, np.isnan(order))
    return ByRow(groups, order, weights)


def roles_text(about: Mapping[str, Any]) -> list[str]:
    """What is to be said of a model that was fitted with such columns."""
    return [text.format(column=about[option]) for option, text in SAID.items() if isinstance(about.get(option), str)]


def titled(estimator: str, target: str, about: Mapping[str, Any]) -> str:
    """The title of a report, which says what was left out together."""
    said = [f"{word} {about[name]}" for name, word in TITLED.items() if isinstance(about.get(name), str)]
    return ", ".join([f"{estimator} for {target}", *said])


def _times(name: str, values: Any) -> FloatArray:
    """Numbers as they are, dates and times in days; other texts are refused."""
    if values.dtype.kind in "iufb":
        return codes_of(Column(name, "number"), values)
    written = find_date_format(levels_of(values))
    days = as_days(values, written or "words")
    odd = np.flatnonzero(np.isnan(days) & ~values.isna().to_numpy())
    if len(odd):
        refuse_values(name, "numbers, dates or times", values, odd)
    return days


def _check_said(option: str, name: str, frame: Any, absent: npt.NDArray[np.bool_]) -> None:
    if absent.any():
        raise ValueError(
            f"--{option} needs a value of {name!r} in every row; {absent.sum()} of {len(frame)} have none, the first "
            f"of them row {row_label(frame, int(np.argmax(absent)))}. Fill them, or leave these rows out of the table."
        )


def _check_weights(name: str, frame: Any, weights: FloatArray) -> None:
    if (weights < 0).any() or not weights.any():
        row = int(np.argmin(weights))
        raise ValueError(
            f"--weight is how often a row occurs, 0 or more, and not 0 everywhere; {name!r} is {weights[row]:g} in row "
            f"{row_label(frame, row)}. Correct it, or name another column."
        )


def some_rows(known: ByRow, places: Any) -> ByRow:
    """What is known of some of the rows."""
    parts: Sequence[Any] = (known.groups, known.order, known.sample_weight)
    return ByRow(*(None if part is None else part[places] for part in parts))


def fit_arguments(known: ByRow) -> dict[str, Any]:
    """What `fit` takes besides rows and response."""
    found = {"groups": known.groups, "order": known.order, "sample_weight": known.sample_weight}
    return {name: values for name, values in found.items() if values is not None}
