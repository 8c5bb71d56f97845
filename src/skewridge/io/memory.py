"""Tables that memory does not hold are refused, with figures, while or before they are read."""

from __future__ import annotations

from dataclasses import replace

from skewridge.execution.memory import MACHINE, Budget

TEXT = 0.5  # of the memory, for the text of a table; the rest is for what becomes of it


def holds_table(n_bytes: float, limit: float | None = None) -> bool:
    """Whether a table of so many bytes may be read as a whole."""
    return Budget(limit, TEXT).holds(n_bytes)


def require_table(url: str, n_bytes: float) -> None:
    """Refuse a table that is read as a whole and has more bytes than there is memory."""
    replace(MACHINE, share=TEXT).require(
        n_bytes,
        f"{url} is read as a whole, which needs at least {{need}},",
        "Take fewer rows, or --estimator adaptive with columns of numbers only, in Python AdaptiveKernelRidge and "
        "fit_source, which read files in pieces.",
    )
