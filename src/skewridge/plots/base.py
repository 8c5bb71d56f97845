"""What all displays share."""

from __future__ import annotations

from typing import Any

GRAY, BLUE, RED, PINK = "0.55", "#4477AA", "#CC3311", "#F3C3B9"  # told apart by readers of any colour vision


class Display:
    """A display: data in, a drawing out."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def plot(self, ax: Any = None) -> Any:
        """Draw on matplotlib axes, new ones where none are given; return the display."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError
