"""Pictures, drawn with matplotlib (the ``plot`` extra), in the manner of scikit-learn's displays.

A display is made from an estimator, from predictions or from a response; ``plot(ax=None)`` draws it, and what it shows
is the plain dict ``display.data`` (see :mod:`skewridge.plots.data`). It was drawn on
``display.ax_`` of ``display.figure_``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_vector
from skewridge.advice.plan import FitPlan
from skewridge.plots.base import BLUE, GRAY, PINK, RED, Display
from skewridge.plots.data import (
    cost_bars,
    importance_bars,
    node_curves,
    prediction_points,
    search_points,
    slice_bars,
    slice_errors,
    tuning_curves,
)
from skewridge.response.slices import slice_quietly


class _RowsDisplay(Display):
    """A display of rows with their predictions."""

    _data_of: Callable[..., dict[str, Any]]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, y_ref: Any = None, slices: Any = "scott", ax: Any = None
    ) -> Any:
        """Predict X and draw; ``y_ref`` is the training response, which decides what is rare."""
        return cls.from_predictions(y, estimator.predict(X), y_ref=y_ref, slices=slices, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, y_ref: Any = None, slices: Any = "scott", ax: Any = None
    ) -> Any:
        """Draw rows that are predicted already."""
        return cls(cls._data_of(y_true, y_pred, y_ref, slices)).plot(ax)


class SlicesDisplay(Display):
    """Slices of the response: rows as they are, and the copies that oversampling adds (the paper's Figures 2 and 3).

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from skewridge.datasets import make_peaks
    >>> from skewridge.plots import SlicesDisplay
    >>> display = SlicesDisplay.from_response(make_peaks(500, 2, random_state=0)[1])
    >>> display.ax_.get_xlabel()
    'y'
    """

    @classmethod
    def from_response(
        cls, y: Any, slices: Any = "scott", oversampling: float = 1.0, *, horizontal: bool = False, ax: Any = None
    ) -> Any:
        """Cut a response and draw its slices, as bars that stand or, to go beside a scatter of y, lie."""
        cut = slice_quietly(check_vector("y", y), slices, oversampling)
        return cls({**slice_bars(cut), "horizontal": horizontal}).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, horizontal: bool = False, ax: Any = None) -> Any:
        """Draw the slices that a divide-and-conquer estimator was fitted with."""
        return cls({**slice_bars(estimator.slices_), "horizontal": horizontal}).plot(ax)

    def _draw(self, ax: Any) -> None:
        edges, counts, grown = (np.array(self.data[name]) for name in ("edges", "counts", "oversampled"))
        lies = self.data["horizontal"]
        bars, along, across = (ax.barh, "y", "x") if lies else (ax.bar, "x", "y")
        style = {"align": "edge", "linewidth": 0.5, "edgecolor": "white"}
        for heights, color, label in ((grown, PINK, "with copies"), (counts, GRAY, "rows")):
            bars(edges[:-1], heights, np.diff(edges), color=color, label=label, **style)
        ax.set(**{f"{along}label": "y", f"{across}label": "rows (log scale)", f"{across}scale": "log"})
        ax.set(**{f"{across}lim": (0.7, 4 * max(grown.max(), 1))})
        ax.set_title(f"N = {counts.sum():,}, N* = {grown.sum():,}", fontsize="medium")
        ax.legend(loc="upper right", fontsize="small" if lies else None, edgecolor="none")


class NodesDisplay(Display):
    """Nodes' estimates and their average along one feature (the paper's Figure 1)."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, truth: Any = None, rows: Any = None, title: str = "", ax: Any = None
    ) -> Any:
        """Draw a DacKernelRidge fitted with ``keep_nodes=True`` to one feature.

        ``rows`` are (X, y) to show behind the curves, ``truth`` the noise-free values at X.
        """
        data = node_curves(estimator, X, truth)
        if rows is not None:
            data["rows"] = {"x": np.asarray(rows[0])[:, 0].tolist(), "y": np.asarray(rows[1]).tolist()}
        return cls({**data, "title": title}).plot(ax)

    def _draw(self, ax: Any) -> None:
        data = self.data
        if "rows" in data:
            ax.plot(data["rows"]["x"], data["rows"]["y"], ".", color="0.85", markersize=2, zorder=0, label="rows")
        for i, curve in enumerate(data["nodes"]):
            ax.plot(data["x"], curve, color=BLUE, alpha=0.25, linewidth=0.6, label="nodes" if i == 0 else None)
        if data["truth"] is not None:
            ax.plot(data["x"], data["truth"], color=GRAY, linewidth=2, label="truth")
        ax.plot(data["x"], data["average"], color=RED, linewidth=1.8, label="average")
        ax.set(title=data["title"], xlabel="x", ylabel="y")
        for handle in ax.legend(loc="upper right", frameon=False).legend_handles:
            handle.set_alpha(1.0)


class TuningDisplay(Display):
    """The criterion along penalties (or bandwidths), the choice in red with its standard error."""

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Any:
        """Draw ``estimator.tuning_``; of SkewRidge, that of level 1."""
        return cls(tuning_curves(estimator.tuning_)).plot(ax)

    def _draw(self, ax: Any) -> None:
        data, x = self.data, self.data["x"]
        for curve in data["curves"]:
            values, margins = np.array(curve["values"]), np.array(curve["margins"])
            picked = curve["chosen"]
            ax.plot(x, values, color=RED if picked else BLUE, alpha=1.0 if picked else 0.4, label=curve["name"] or None)
            if picked:
                ax.fill_between(x, values, values + margins, color=RED, alpha=0.2, linewidth=0)
        ax.axvline(data["choice"], color=RED, linestyle="--", linewidth=1)
        ax.set(xscale="log", yscale="log", xlabel=data["along"], ylabel=f"{data['criterion']} ({data['scoring']})")
        ax.set_ylim(*_window([curve["values"] for curve in data["curves"]], data["along"]))
        if data["cost"] is not None:
            ratio, bias = data["cost"]["ratio"], data["cost"]["bias"]
            ax.set_title(f"costs {ratio:.2f} times the least MSE tried; bias {bias:.2g}", fontsize="medium")
        if any(curve["name"] for curve in data["curves"]):
            ax.legend(title="bandwidth", fontsize="small", frameon=False)


class SearchDisplay(Display):
    """Candidates of level 1, alone or not: cross-validated risk by number of centres, and the choice."""

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Any:
        """Draw ``estimator.tuning_.tried``."""
        return cls(search_points(estimator.tuning_)).plot(ax)

    def _draw(self, ax: Any) -> None:
        data = self.data
        m, risk, adapt = (np.array(data[name]) for name in ("n_centers", "risk", "adapt"))
        for mask, color, marker, name in ((adapt == 0, GRAY, "o", "random"), (adapt > 0, BLUE, "^", "adaptive")):
            ax.plot(m[mask], risk[mask], marker, color=color, alpha=0.6, markersize=5, label=f"{name} centres")
        chosen = data["chosen"]
        ax.plot(chosen["n_centers"], chosen["risk"], "*", color=RED, markersize=14, label="choice")
        ax.set(xscale="log", yscale="log", xlabel="centres", ylabel="cross-validated MSE / variance")
        ticks = np.unique(m)
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        ax.yaxis.set_major_formatter("{x:.3g}")
        if risk.max() < 10 * risk.min():  # within a decade: label what lies between
            ax.yaxis.set_minor_formatter("{x:.3g}")
        ax.legend(frameon=False)


class SliceErrorDisplay(_RowsDisplay):
    """Root mean squared error in every slice of the response, rare slices in red, beside the overall error."""

    _data_of = staticmethod(slice_errors)

    def _draw(self, ax: Any) -> None:
        data = self.data
        edges, rare = np.array(data["edges"]), np.array(data["rare"])
        rmse = np.array([np.nan if value is None else value for value in data["rmse"]])
        ax.bar(edges[:-1], rmse, np.diff(edges), align="edge", color=np.where(rare, RED, BLUE), edgecolor="white")
        ax.axhline(data["overall"], color="black", linestyle="--", linewidth=1, label="overall")
        for color, name in ((BLUE, "common"), (RED, "rare")):
            ax.bar(edges[0], 0, color=color, label=f"{name} slices")
        ax.set(xlabel="observed y", ylabel="root mean squared error", xlim=(edges[0], edges[-1]))
        ax.legend(frameon=False)


class PredictionDisplay(_RowsDisplay):
    """Predicted against observed values, the rare region marked."""

    _data_of = staticmethod(prediction_points)

    def _draw(self, ax: Any) -> None:
        data = self.data
        observed, predicted, rare = (np.array(data[name]) for name in ("observed", "predicted", "rare"))
        for mask, color, size, name in ((~rare, GRAY, 2, "common"), (rare, RED, 4, "rare")):
            error = data["rare_rmse"] if name == "rare" else data["rmse"]
            label = f"{name if name == 'rare' else 'all'}: RMSE {error:.3g}" if error is not None else name
            ax.plot(observed[mask], predicted[mask], ".", color=color, markersize=size, label=label, rasterized=True)
        ends = [min(observed.min(), predicted.min()), max(observed.max(), predicted.max())]
        ax.plot(ends, ends, color="black", linewidth=0.8)
        ax.set(xlabel="observed", ylabel="predicted", title=f"{data['n_rare']:,} of {data['n_rows']:,} rows are rare")
        ax.legend(frameon=False, loc="upper left", markerscale=3)


class ImportanceDisplay(Display):
    """Feature importances: shares of what rows that were left out lose when a column is shuffled, overall and rare.

    Of SkewRidge and LocalKernelRidge, which have none, the learned scales.
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: Any = None, ax: Any = None) -> Any:
        """Draw ``feature_importances_``, or else ``feature_scale_``; of several outputs the first."""
        names = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
        if hasattr(estimator, "feature_importances_"):
            rare = getattr(estimator, "rare_importances_", None)
            return cls(importance_bars(estimator.feature_importances_, names, rare)).plot(ax)
        scales = np.asarray(estimator.feature_scale_)
        bars = importance_bars(scales if scales.ndim == 1 else scales[:, 0], names)
        return cls({**bars, "kind": "learned scale"}).plot(ax)

    def _draw(self, ax: Any) -> None:
        names, values = self.data["names"], self.data["values"]
        ax.barh(range(len(names)), values, height=0.6, color=BLUE)
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlabel(self.data.get("kind", "importance"))
        if "rare" in self.data:
            ax.plot(self.data["rare"], range(len(names)), "o", color=RED, label="where y is rare")
            ax.legend(frameon=False)
        if len(names) < self.data["n_features"]:
            ax.set_title(f"the first {len(names)} of {self.data['n_features']:,} features", fontsize="medium")


class CostDisplay(Display):
    """Operations and memory of every way of fitting, before any work."""

    @classmethod
    def from_plan(cls, planned: FitPlan, *, ax: Any = None) -> Any:
        """Draw what :func:`skewridge.plan` tells."""
        return cls(cost_bars(planned)).plot(ax)

    def _draw(self, ax: Any) -> None:
        costs = self.data["costs"]
        flops = [cost["n_flops"] for cost in costs]
        ax.barh(range(len(costs)), flops, height=0.6, color=[BLUE if cost["fits"] else RED for cost in costs])
        ax.set_yticks(range(len(costs)), [cost["fit"] for cost in costs])
        ax.invert_yaxis()
        for i, cost in enumerate(costs):
            ax.text(1.2 * flops[i], i, cost["memory"] + ("" if cost["fits"] else ", too large"), va="center")
        ax.set(xscale="log", xlabel="operations of one fit (log scale)", xlim=(min(flops) / 5, max(flops) * 100))


def _window(curves: list[list[float]], along: str) -> tuple[float, float]:
    """Limits of a logarithmic axis: small penalties may rise out of it, and at most three decades are shown."""
    values: FloatArray = np.array(curves, dtype=np.float64)
    high = float(np.nanmax(values[:, -1] if along == "penalty" else values))
    return max(float(np.nanmin(values)), high * 1e-3) * 0.9, high * 1.3
