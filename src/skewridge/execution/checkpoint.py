"""Finished parts of a fit in a folder, so that a rerun goes on where the last one ended.

A fit is deterministic: the same parameters, source and seed ask for the same sums in the same order, so a number is
name enough. Files are written beside their place and renamed: what is there is whole.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from skewridge._atomic import UNFINISHED, atomic_file

Value = TypeVar("Value")

JOB = "job.json"
FORMAT = 2  # of the folder: which files it holds, and what is in them


class Checkpoint:
    """Finished parts of one fit in a folder.

    Parameters
    ----------
    folder : made where it is not there
    job : what tells this fit from another, a dict of texts and numbers

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = Checkpoint(folder, {"seed": 1}).value("tuned", lambda: "slowly")
    ...     again = Checkpoint(folder, {"seed": 1}).value("tuned", lambda: "not asked")
    >>> first, again
    ('slowly', 'slowly')
    """

    def __init__(self, folder: str | os.PathLike[str], job: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._n_sums = 0
        self._claim(json.loads(json.dumps(job | {"format": FORMAT})))

    def _claim(self, job: dict[str, Any]) -> None:
        """Write what the folder is for, or refuse one that another fit wrote to."""
        note = self.folder / JOB
        if not note.exists():
            if any(place.suffix != UNFINISHED for place in self.folder.iterdir()):
                raise ValueError(f"checkpoint={str(self.folder)!r} holds other files. Name a new or an empty folder.")
            _write(note, json.dumps(job, indent=1).encode())
            return
        other = json.loads(note.read_text())
        if other != job:
            differing = [key for key in sorted({*job, *other}) if job.get(key) != other.get(key)]
            raise ValueError(
                f"checkpoint={str(self.folder)!r} was written by another fit: {', '.join(differing)} differ. "
                "Name another folder, or delete this one."
            )

    def value(self, name: str, compute: Callable[[], Value]) -> Value:
        """Return the value stored under a name, or compute and store it."""
        place = self.folder / f"{name}.pickle"
        if not place.exists():
            _write(place, pickle.dumps(compute()))
        kept: Value = pickle.loads(place.read_bytes())
        return kept

    def sums(self, label: str) -> Pieces:
        """The next sum of the fit."""
        self._n_sums += 1
        return Pieces(self.folder / f"sum-{self._n_sums:04d}-{label.replace(' ', '-')}")

    def parts(self, name: str) -> Pieces:
        """Independent results under a name."""
        return Pieces(self.folder / name)


class Pieces:
    """Numbered results, and what they come to in the end."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._whole = folder, folder.with_suffix(".pickle")
        self.total = pickle.loads(self._whole.read_bytes()) if self._whole.exists() else None

    def __contains__(self, number: int) -> bool:
        return self._place(number).exists()

    def __iter__(self) -> Iterator[int]:
        """The numbers of what is kept."""
        return iter(sorted(int(place.stem) for place in self._folder.glob("*.pickle")))

    def kept(self, number: int) -> Any:
        """One of the results."""
        return pickle.loads(self._place(number).read_bytes())

    def keep(self, number: int, value: Any) -> None:
        """Keep one of the results."""
        self._folder.mkdir(exist_ok=True)
        _write(self._place(number), pickle.dumps(value))

    def finish(self, total: Any) -> None:
        """Keep the total, and the pieces no longer."""
        _write(self._whole, pickle.dumps(total))
        shutil.rmtree(self._folder, ignore_errors=True)

    def _place(self, number: int) -> Path:
        return self._folder / f"{number}.pickle"


def _write(place: Path, content: bytes) -> None:
    """A process that dies while it writes leaves the place as it was."""
    with atomic_file(place, durable=False) as file:
        file.write(content)
