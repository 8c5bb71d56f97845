"""From files to features and a response: which columns, of what kind, and what happens to missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_choice
from skewridge.cli._reading import find_files, read_tables, shared_decimal
from skewridge.cli._roles import Roles, read_roles, some_rows
from skewridge.cli._screen import Reading, Screen
from skewridge.tables.columns import (
    LISTED,
    Column,
    as_frame,
    check_columns,
    codes_of,
    count_missing,
    refuse_missing,
)
from skewridge.tables.encoder import TableEncoder
from skewridge.tables.level_means import ByRow

MISSING = ("refuse", "impute", "drop")
REMEDY = "Add --missing impute or --missing drop, or correct the table."


@dataclass(frozen=True)
class TableRequest:
    """The options that describe a table to fit to."""

    data: Sequence[str]
    target: str
    features: str | None = None
    exclude: str | None = None
    missing: str = "impute"
    categorical: str | None = None
    ordinal: Sequence[str] | None = None
    max_categories: int = 30
    reading: Reading | None = None
    kind: Sequence[str] | None = None
    roles: Roles = field(default_factory=Roles)

    @property
    def orders(self) -> dict[str, list[str] | None]:
        """Columns with an order, and their levels where they were given."""
        pairs = [text.partition("=") for text in self.ordinal or ()]
        return {name.strip(): split_names(levels) or None for name, _, levels in pairs}

    @property
    def categories(self) -> list[str]:
        """Columns that are categories whatever they hold."""
        return split_names(self.categorical)

    @property
    def kinds(self) -> dict[str, str]:
        """What columns are, by name, where that was given."""
        pairs = [text.rpartition("=") for text in self.kind or ()]
        odd = [text for text, (name, _, _) in zip(self.kind or (), pairs, strict=True) if not name.strip()]
        if odd:
            raise ValueError(f"--kind must be COLUMN=KIND, as in 'zip=category'; got {odd[0]!r}.")
        return {name.strip(): kind.strip() for name, _, kind in pairs}

    @property
    def texts(self) -> set[str]:
        """Columns that are read as text whatever they hold: codes keep their leading zeros."""
        listed = {name for name, kind in self.kinds.items() if kind in LISTED}
        groups = {self.roles.groups} - {None, *split_names(self.features)}
        return {*self.categories, *self.orders, *listed, *map(str, groups)}

    @property
    def encoder(self) -> Any:
        """The encoder that turns the columns into numbers."""
        return TableEncoder(
            self.categories,
            self.orders,
            missing="impute" if self.missing == "impute" else "refuse",
            max_categories=self.max_categories,
            kinds=self.kinds or None,
        )


@dataclass(frozen=True)
class Table:
    """Features as a data frame, the response, weights, groups or times, and the decimal sign of the files."""

    features: Any
    response: FloatArray
    known: ByRow = field(default_factory=ByRow)
    decimal: str | None = None

    def some(self, places: Any) -> Table:
        """Some of the rows, by place or by a mask."""
        return Table(self.features.iloc[places], self.response[places], some_rows(self.known, places), self.decimal)


def split_names(text: str | None) -> list[str]:
    """Return the names between commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def read_table(request: TableRequest, screen: Screen) -> Table:
    """Read what a model is to be fitted to."""
    check_choice("--missing", request.missing, MISSING)
    files = find_files(request.data)
    texts = request.texts
    screen.step(f"Reading {_listed(files)}")
    named = {request.target, *split_names(request.features), *split_names(request.exclude), *texts, *request.kinds}
    named |= set(request.roles.given.values())
    frame = as_frame(read_tables(files, texts=texts, named=named, reading=request.reading, say=screen.note))
    names = feature_names(request, frame)
    frame, y = with_target(frame, request.target, request.missing, screen)
    if request.missing == "refuse":
        refuse_missing(frame[names], REMEDY)
    known = read_roles(request.roles, frame)
    if known.sample_weight is not None and not known.sample_weight.all():
        counted = known.sample_weight > 0
        screen.note(f"{(~counted).sum()} of {len(y)} rows of weight 0 are left out.")
        frame, y, known = frame[counted], y[counted], some_rows(known, counted)
    kept = complete_rows(frame[names], request.missing, screen)
    return Table(frame[names], y, known, shared_decimal(files, request.reading)).some(kept)


def feature_names(request: TableRequest, frame: Any) -> list[str]:
    """Return the columns to predict from, or raise for columns that are not there."""
    wanted, excluded = split_names(request.features), split_names(request.exclude)
    described = [*request.categories, *request.orders, *request.kinds]
    roles = list(request.roles.given.values())
    check_columns([request.target, *wanted, *excluded, *described, *roles], frame.columns)
    check_twins([*wanted, *excluded, *described, *roles], frame.columns)
    others = [name for name in frame.columns if name not in roles]
    names = [name for name in wanted or others if name != request.target and name not in excluded]
    if not names:
        raise ValueError(f"There is no column to predict {request.target!r} from.")
    odd = [name for name in described if name not in names]
    if odd:
        raise ValueError(
            f"{odd[0]!r} is not among the columns to predict from. Leave it out of --categorical, --ordinal and --kind."
        )
    return names


def check_twins(names: Sequence[str], columns: Any) -> None:
    """Refuse names of a list that spaces around them would make those of another column."""
    twins = [(name, other) for name in names for other in columns if other != name and other.strip() == name]
    if twins:
        name, other = twins[0]
        raise ValueError(
            f"The columns {name!r} and {other!r} differ by spaces alone, which lists of names leave out. Rename one."
        )


def with_target(frame: Any, target: str, missing: str, screen: Screen) -> tuple[Any, FloatArray]:
    """Return the rows that have a response, and the response."""
    y = codes_of(Column(target, "number"), frame[target])
    absent = np.isnan(y)
    if absent.any() and missing == "refuse":
        refuse_missing(frame[[target]], REMEDY)
    if absent.all():
        raise ValueError(f"No row has a value of {target!r}.")
    if absent.any():
        screen.note(f"{absent.sum()} of {len(y)} rows without {target!r} are left out.")
    return frame[~absent], y[~absent]


def response_of(data: Sequence[str], target: str, reading: Reading | None, screen: Screen) -> tuple[Any, FloatArray]:
    """The other columns, of which only the number matters here, and the response where it is known."""
    frame = as_frame(read_tables(find_files(data), named=[target], reading=reading, say=screen.note))
    check_columns([target], frame.columns)
    frame, y = with_target(frame, target, "drop", screen)
    return frame.drop(columns=target), y


def complete_rows(features: Any, missing: str, screen: Screen) -> Any:
    """Return which rows are to be used, telling of the others; all but with "drop"."""
    counts, n_rows = count_missing(features)
    if missing != "drop" or not counts:
        if counts:
            screen.note(
                f"{n_rows} of {len(features)} rows have missing values, which are imputed ({_counted(counts)})."
            )
        return np.ones(len(features), dtype=bool)
    if n_rows == len(features):
        raise ValueError(f"Every row has missing values ({_counted(counts)}): --missing drop leaves none.")
    screen.note(f"{n_rows} of {len(features)} rows have missing values and are left out ({_counted(counts)}).")
    return ~features.isna().any(axis=1).to_numpy()


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name!r}: {count}" for name, count in counts.items())


def _listed(files: Sequence[Any]) -> str:
    return str(files[0]) if len(files) == 1 else f"{len(files)} files, {files[0]} to {files[-1]}"
