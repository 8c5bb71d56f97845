"""Which column was meant by a name that none has."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LIKE = 0.7  # of difflib's ratio: below it a guess misleads more often than it helps


def near_name(name: str, columns: Iterable[str]) -> str | None:
    """Return the column that was probably meant: another case, other spaces or signs, or a slip of the keys.

    Examples
    --------
    >>> near_name("prize", ["id", "price", "town"])
    'price'
    >>> near_name("sea_view", ["area", "Sea View"])
    'Sea View'
    >>> near_name("colour", ["id", "price"]) is None
    True
    """
    by_letters: dict[str, str] = {}
    for column in columns:
        by_letters.setdefault(_letters(column), column)
    found = get_close_matches(_letters(name), by_letters, n=1, cutoff=LIKE)
    return by_letters[found[0]] if found else None


def did_you_mean(names: Iterable[str], columns: Iterable[str]) -> str:
    """Return a sentence to end a message with, a space before it, or nothing where no column is near.

    Examples
    --------
    >>> did_you_mean(["Price"], ["id", "price"])
    " Did you mean 'price'?"
    >>> did_you_mean(["Price", "twon", "x"], ["id", "price", "town"])
    " Did you mean 'price' for 'Price', 'town' for 'twon'?"
    """
    names, columns = list(names), list(columns)
    pairs = [(name, near_name(name, columns)) for name in names]
    near = [(name, found) for name, found in pairs if found is not None]
    if not near:
        return ""
    words = [repr(found) if len(names) == 1 else f"{found!r} for {name!r}" for name, found in near]
    return f" Did you mean {', '.join(words)}?"


def _letters(name: str) -> str:
    """A name without case, spaces and signs; the whole name where there is nothing else in it."""
    return "".join(filter(str.isalnum, name.casefold())) or name
