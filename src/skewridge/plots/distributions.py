"""Pictures of predicted distributions: whether they are calibrated, and what they say.

Models need ``predict_quantiles`` and ``predict_exceedance``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_integer, check_real, check_vector, check_weights
from skewridge.metrics import pit, reliability
from skewridge.plots.displays import BLUE, GRAY, MOST_POINTS, PINK, RED, Display, thinned

LEVELS = np.arange(1, 100) / 100
FAN = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
STEPS = 200  # of a fan, and of return levels
MAP_STEPS = 60
BLOCK = 5_000  # rows whose exceedances are in memory together


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
        stated, observed, n_rows = reliability(y_true, probability, threshold, bins=bins, sample_weight=sample_weight)
        margin = 2.0 * np.sqrt(stated * (1.0 - stated) / n_rows)
        return cls(
            stated=stated,
            observed=observed,
            n_rows=n_rows,
            low=np.maximum(stated - margin, 0.0),
            high=np.minimum(stated + margin, 1.0),
            threshold=float(threshold),
            expected=np.dot(n_rows, stated),
            counted=np.dot(n_rows, observed),
        ).plot(ax)

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
    """Histogram of F(y): flat where quantiles are honest, U-shaped where they are too narrow, a hill where too wide.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> quantiles = [[1.0, 2.0, 3.0]] * 4
    >>> PITDisplay.from_predictions([0.5, 1.5, 2.5, 3.5], quantiles, [0.25, 0.5, 0.75], bins=4).data["heights"]
    [1.0, 1.0, 1.0, 1.0]
    """

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
        n_bins = check_integer("bins", bins, 2)
        values = pit(y_true, quantiles, levels, random_state=random_state)
        weights, weighted = check_weights(sample_weight, len(values))
        rows, edges = np.histogram(values[weighted], n_bins, (0.0, 1.0), weights=weights)
        n_rows = weights.sum()
        margin = 2.0 * np.sqrt((n_bins - 1) / n_rows)
        band = {"low": max(1.0 - margin, 0.0), "high": 1.0 + margin}
        return cls(edges=edges, heights=rows * n_bins / n_rows, n_rows=n_rows, **band).plot(ax)

    def _draw(self, ax: Any) -> None:
        edges, heights = np.array(self.data["edges"]), np.array(self.data["heights"])
        low, high = self.data["low"], self.data["high"]
        ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=BLUE, alpha=0.6, edgecolor="white")
        ax.axhspan(low, high, color="0.5", alpha=0.3, linewidth=0, label="two standard errors")
        ax.axhline(1.0, color="black", linewidth=0.8)
        ax.set(xlabel="F(y), the predicted probability of less than y", ylabel="rows over what is expected")
        ax.set(xlim=(0, 1), ylim=(0, 1.25 * max(heights.max(), high)))
        ax.legend(frameon=False, loc="upper right")


class QuantileFanDisplay(Display):
    """Predicted quantiles along one feature, all others at their medians (categories at the most frequent one)."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, feature: Any = 0, *, levels: Sequence[float] = FAN, y: Any = None, ax: Any = None
    ) -> Any:
        """Draw the fan over the range in X of a feature, given by its place, or its name in a frame.

        With y, the rows behind it, at most 5,000; their other features are not at the medians, so that a fan need
        not cover them.
        """
        name, label, column = _column(X, feature)
        grid = np.linspace(column.min(), column.max(), STEPS)
        taus = np.sort(np.atleast_1d(np.asarray(levels, dtype=np.float64)))
        quantiles = np.asarray(estimator.predict_quantiles(_typical_rows(X, {name: grid}), taus))
        rows = None if y is None else {"x": thinned(column), "y": thinned(check_vector("y", y, len(column)))}
        return cls(feature=label, x=grid, levels=taus, quantiles=quantiles.T, rows=rows).plot(ax)

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
    """P(y > threshold) over two features, all others at their medians (categories at the most frequent one)."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, features: tuple[Any, Any] = (0, 1), *, threshold: float, ax: Any = None
    ) -> Any:
        """Draw the map over the features' ranges in X, whose rows are dots: away from them nothing was seen."""
        if len(features) != 2 or features[0] == features[1]:
            raise ValueError(f"features must be two different columns; got {features!r}.")
        height = check_real("threshold", threshold, -np.inf)
        names, labels, columns = zip(*(_column(X, feature) for feature in features), strict=True)
        xs, ys = (np.linspace(values.min(), values.max(), MAP_STEPS) for values in columns)
        first, second = np.meshgrid(xs, ys)
        rows = _typical_rows(X, {names[0]: first.ravel(), names[1]: second.ravel()})
        probability = np.asarray(estimator.predict_exceedance(rows, height))
        return cls(
            features=labels,
            threshold=height,
            x=xs,
            y=ys,
            probability=probability.reshape(first.shape),
            rows={"x": thinned(columns[0]), "y": thinned(columns[1])},
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        x, y, rows = self.data["x"], self.data["y"], self.data["rows"]
        style = {"cmap": "cividis", "vmin": 0.0, "shading": "nearest", "rasterized": True}
        shades = ax.pcolormesh(x, y, np.array(self.data["probability"]), **style)
        ax.plot(rows["x"], rows["y"], ".", color="white", alpha=0.35, markersize=1.5)
        ax.figure.colorbar(shades, ax=ax, label=f"P(y > {self.data['threshold']:g})")
        ax.set(xlabel=self.data["features"][0], ylabel=self.data["features"][1])
        ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))


class ReturnLevelDisplay(Display):
    """Levels against how many rows, or years, pass on average until each is exceeded once: 1 / mean of P(y > level)."""

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
        """Draw the mean exceedance of rows like X, beside what y shows.

        Parameters
        ----------
        estimator : an estimator with ``predict_exceedance``
        X : rows that stand for those to come
        y : (n,) array, optional
            Observed responses, to be drawn at (n + 1) / rank.
        thresholds : (T,) array, optional
            The levels; by default from the median prediction to the largest 0.999 quantile.
        band : (low, high), two (T,) arrays, optional
            Ends of the uncertainty of every threshold: levels that might be exceeded as often. It needs thresholds.
        rows_per_period : float, default=1
            How many rows a year, say, has: periods are then in years.
        period : str, default="rows"
            What the unit of periods is called; "years", say.
        """
        per_period = check_real("rows_per_period", rows_per_period, 0, open_low=True)
        if thresholds is not None:
            levels = check_vector("thresholds", thresholds)
        elif band is not None:
            raise ValueError("band needs thresholds: its ends belong to levels that you choose. Pass both.")
        else:
            quantiles = np.asarray(estimator.predict_quantiles(X, np.array([0.5, 0.999])))
            low, high = np.median(quantiles[:, 0]), np.max(quantiles[:, 1])
            if not np.isfinite([low, high]).all():
                raise ValueError("The 0.999 quantile is not finite, so that levels cannot be chosen. Pass thresholds.")
            levels = np.linspace(low, high, STEPS)
        total = np.zeros(len(levels))
        for start in range(0, len(X), BLOCK):
            total += np.sum(estimator.predict_exceedance(X[start : start + BLOCK], levels), axis=0)
        rates = total / len(X)
        finite = rates > 0  # a level that is never exceeded has no period
        rows = None
        if y is not None:
            response = np.sort(check_vector("y", y))[::-1]
            periods = (len(response) + 1.0) / np.arange(1, len(response) + 1) / per_period
            rows = {"level": response[:MOST_POINTS], "period": periods[:MOST_POINTS]}
        return cls(
            level=levels[finite],
            period=1.0 / (rates[finite] * per_period),
            unit=period,
            band=None if band is None else [check_vector("band", end, len(levels))[finite] for end in band],
            rows=rows,
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        data = self.data
        if data["band"] is not None:
            ax.fill_between(data["period"], *data["band"], color=PINK, linewidth=0, label="uncertainty")
        if data["rows"] is not None:
            ax.plot(data["rows"]["period"], data["rows"]["level"], ".", color=GRAY, markersize=4, label="observed")
        ax.plot(data["period"], data["level"], color=RED, linewidth=1.8, label="predicted")
        ax.set(xscale="log", xlabel=f"return period ({data['unit']}, log scale)", ylabel="level of y")
        ax.legend(frameon=False, loc="upper left")


def _columns(X: Any) -> dict[Any, Any]:
    """The columns (n,) of a frame by name, of an array by place."""
    if hasattr(X, "iloc"):
        return {name: X[name] for name in X.columns}
    return dict(enumerate(np.asarray(X, dtype=np.float64).T))


def _column(X: Any, feature: Any) -> tuple[Any, str, FloatArray]:
    """A column that is given by name or place: its name, what to call it, and its values (n,)."""
    columns = _columns(X)
    names = list(columns)
    if feature not in names and not (isinstance(feature, int) and 0 <= feature < len(names)):
        listed = ", ".join(str(name) for name in names[:10])
        raise ValueError(f"feature must be a column of X, by name or place; got {feature!r}. There are {listed}.")
    name = feature if feature in names else names[feature]
    label = feature if isinstance(feature, str) else f"x{feature}"
    return name, label, check_vector(f"column {feature}", columns[name])


def _typical_rows(X: Any, changed: dict[Any, FloatArray]) -> Any:
    """Rows at the medians of X, or at its most frequent categories, but for the columns that are given."""
    n_rows = len(next(iter(changed.values())))
    columns = {}
    for name, values in _columns(X).items():
        if isinstance(values, np.ndarray):
            usual = np.median(values)
        else:
            usual = values.median() if values.dtype.kind in "iuf" else values.mode().iloc[0]
        columns[name] = changed.get(name, [usual] * n_rows)
    return type(X)(columns) if hasattr(X, "iloc") else np.column_stack(list(columns.values()))
