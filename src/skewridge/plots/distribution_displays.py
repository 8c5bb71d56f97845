"""Pictures of predicted distributions: whether they are honest, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skewridge.plots.base import BLUE, GRAY, PINK, RED, Display
from skewridge.plots.distribution_data import (
    FAN,
    exceedance_grid,
    pit_bars,
    quantile_fan,
    reliability_points,
    return_levels,
)

LEVELS = np.arange(1, 100) / 100


class ReliabilityDisplay(Display):
    """How often y exceeded a threshold against how likely that was stated to be; honest points lie in the grey band.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from skewridge.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([1.0, 2.0, 9.0, 8.0], [0.1, 0.2, 0.8, 0.9], threshold=5.0, bins=2)
    >>> display.data["observed"]
    [0.0, 1.0]
    """

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, threshold: float, bins: int = 10, ax: Any = None) -> Any:
        """Ask a model for P(y > threshold) and draw what came; X and y must be rows that it was not fitted to."""
        stated = estimator.predict_exceedance(X, threshold)
        return cls.from_predictions(y, stated, threshold=threshold, bins=bins, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        probability: Any,
        *,
        threshold: float,
        bins: int = 10,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Any:
        """Draw probabilities that are stated already; bins hold about as many rows each."""
        points = reliability_points(y_true, probability, threshold, bins=bins, sample_weight=sample_weight)
        return cls(points).plot(ax)

    def _draw(self, ax: Any) -> None:
        data = self.data
        stated, observed, low, high = (np.array(data[name]) for name in ("stated", "observed", "low", "high"))
        end = 1.05 * max(stated.max(), observed.max(), high.max())
        ax.plot([0, end], [0, end], color="black", linewidth=0.8)
        ax.vlines(stated, low, high, color="0.8", linewidth=6, label="two standard errors", zorder=1)
        ax.plot(stated, observed, "o-", color=BLUE, markersize=5, linewidth=1, label="rows, by stated probability")
        ax.set(xlim=(0, end), ylim=(0, end), xlabel=f"stated P(y > {data['threshold']:g})", ylabel="observed frequency")
        ax.set_title(f"{data['expected']:,.1f} exceedances stated, {data['counted']:,.0f} came", fontsize="medium")
        ax.legend(frameon=False, loc="upper left")


class PITDisplay(Display):
    """Histogram of F(y): flat where quantiles are honest, U-shaped where they are too narrow, a hill where too wide."""

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, bins: int = 20, ax: Any = None) -> Any:
        """Ask a model for 99 quantiles and draw where y lies; X and y must be rows that it was not fitted to."""
        return cls.from_predictions(y, estimator.predict_quantiles(X, LEVELS), LEVELS, bins=bins, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        quantiles: Any,
        levels: Any,
        *,
        bins: int = 20,
        random_state: Any = 0,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Any:
        """Draw quantiles that are predicted already; point masses are spread at random."""
        options = {"bins": bins, "random_state": random_state, "sample_weight": sample_weight}
        return cls(pit_bars(y_true, quantiles, levels, **options)).plot(ax)

    def _draw(self, ax: Any) -> None:
        edges, heights = np.array(self.data["edges"]), np.array(self.data["heights"])
        ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=BLUE, alpha=0.6, edgecolor="white")
        ax.axhspan(
            self.data["low"], self.data["high"], color="0.5", alpha=0.3, linewidth=0, label="two standard errors"
        )
        ax.axhline(1.0, color="black", linewidth=0.8)
        ax.set(
            xlabel="F(y), the predicted probability of less than y", ylabel="rows over what is expected", xlim=(0, 1)
        )
        ax.set_ylim(0, 1.25 * max(heights.max(), self.data["high"]))
        ax.legend(frameon=False, loc="upper right")


class QuantileFanDisplay(Display):
    """Predicted quantiles along one feature, all others at their medians."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, feature: Any = 0, *, levels: Sequence[float] = FAN, y: Any = None, ax: Any = None
    ) -> Any:
        """Draw the fan over the feature's range in X; with y, the rows behind it."""
        return cls(quantile_fan(estimator, X, feature, levels=levels, y=y)).plot(ax)

    def _draw(self, ax: Any) -> None:
        data = self.data
        x, levels, quantiles = data["x"], data["levels"], np.array(data["quantiles"], dtype=np.float64)
        if data["rows"] is not None:
            ax.plot(data["rows"]["x"], data["rows"]["y"], ".", color="0.8", markersize=2, zorder=0, label="rows")
        pairs = len(levels) // 2
        for i in range(pairs):
            label = f"{levels[i]:g} to {levels[-1 - i]:g}"
            shade = 0.15 + 0.5 * i / pairs
            ax.fill_between(x, quantiles[i], quantiles[-1 - i], color=BLUE, alpha=shade, linewidth=0, label=label)
        if len(levels) % 2:
            ax.plot(x, quantiles[pairs], color=RED, linewidth=1.5, label=f"{levels[pairs]:g}")
        ax.set(xlabel=data["feature"], ylabel="y")
        ax.legend(title="quantiles", frameon=False, fontsize="small")


class ExceedanceMapDisplay(Display):
    """P(y > threshold) over two features, all others at their medians."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, features: tuple[Any, Any] = (0, 1), *, threshold: float, ax: Any = None
    ) -> Any:
        """Draw the map over the features' ranges in X, whose rows are dots: away from them nothing was seen."""
        return cls(exceedance_grid(estimator, X, features, threshold=threshold)).plot(ax)

    def _draw(self, ax: Any) -> None:
        data = self.data
        likely = np.array(data["probability"])
        shades = ax.pcolormesh(
            data["x"], data["y"], likely, cmap="cividis", vmin=0.0, shading="nearest", rasterized=True
        )
        ax.plot(data["rows"]["x"], data["rows"]["y"], ".", color="white", alpha=0.35, markersize=1.5)
        ax.figure.colorbar(shades, ax=ax, label=f"P(y > {data['threshold']:g})")
        ax.set(xlabel=data["features"][0], ylabel=data["features"][1])
        ax.set(xlim=(data["x"][0], data["x"][-1]), ylim=(data["y"][0], data["y"][-1]))


class ReturnLevelDisplay(Display):
    """Levels against how many rows, or years, pass on average until each is exceeded once."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        thresholds: Any = None,
        band: tuple[Any, Any] | None = None,
        rows_per_period: float = 1.0,
        period: str = "rows",
        ax: Any = None,
    ) -> Any:
        """Draw the mean exceedance of rows like X, beside what y shows; see ``plots.distribution_data.return_levels``.

        ``band`` are the ends of each threshold's uncertainty; with ``rows_per_period`` rows to a year, say
        ``period="years"``.
        """
        options = {"thresholds": thresholds, "band": band, "rows_per_period": rows_per_period}
        return cls({**return_levels(estimator, X, y, **options), "unit": period}).plot(ax)

    def _draw(self, ax: Any) -> None:
        data = self.data
        if data["band"] is not None:
            ax.fill_between(data["period"], *data["band"], color=PINK, linewidth=0, label="uncertainty")
        if data["rows"] is not None:
            ax.plot(data["rows"]["period"], data["rows"]["level"], ".", color=GRAY, markersize=4, label="observed")
        ax.plot(data["period"], data["level"], color=RED, linewidth=1.8, label="predicted")
        ax.set(xscale="log", xlabel=f"return period ({data['unit']}, log scale)", ylabel="level of y")
        ax.legend(frameon=False, loc="upper left")
