"""Pictures, drawn with matplotlib (the ``plot`` extra), in the manner of scikit-learn's displays.

A display is made from an estimator, from predictions or from a response; ``plot(ax=None)`` draws it on ``display.ax_``
of ``display.figure_``, and what it shows is the plain dict ``display.data``, which anything that reads JSON may draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skewridge._messages import as_records, plain
from skewridge._typing import Data, FloatArray
from skewridge._validation import check_vector, format_bytes
from skewridge.advice.diagnose import rare_bars
from skewridge.advice.plan import FitPlan
from skewridge.metrics import figures, rare_region, slice_mse
from skewridge.response.slices import Slices, slice_labels, slice_quietly

GRAY, BLUE, RED, PINK = "0.55", "#4477AA", "#CC3311", "#F3C3B9"  # differ for readers of any colour vision
MOST_POINTS = 5_000  # drawn of a scatter; rare ones are all drawn
MOST_FEATURES = 20


class Display:
    """A display: data in, a drawing out."""

    def __init__(self, **data: Any) -> None:
        self.data: Data = plain(data)

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
        return cls._of_slices(slice_quietly(check_vector("y", y), slices, oversampling), horizontal, ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, horizontal: bool = False, ax: Any = None) -> Any:
        """Draw the slices that a divide-and-conquer estimator was fitted with."""
        return cls._of_slices(estimator.slices_, horizontal, ax)

    @classmethod
    def _of_slices(cls, slices: Slices, horizontal: bool, ax: Any) -> Any:
        return cls(
            edges=finite_edges(slices.edges),
            counts=slices.counts,
            copies=slices.copies,
            oversampled=slices.counts * slices.copies,
            rare=rare_bars(slices.counts),
            horizontal=horizontal,
        ).plot(ax)

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
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != 1:
            raise ValueError(f"Node estimates are drawn along one feature: X must have shape (n, 1); got {X.shape}.")
        order = np.argsort(X[:, 0], kind="stable")
        known = None if truth is None else check_vector("truth", truth, len(X))[order]
        X = X[order]
        shown = {} if rows is None else {"rows": {"x": np.asarray(rows[0])[:, 0], "y": np.asarray(rows[1])}}
        nodes, average = estimator.predict_nodes(X), estimator.predict(X)
        return cls(x=X[:, 0], nodes=nodes, average=average, truth=known, **shown, title=title).plot(ax)

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
        return cls(**tuning_curves(estimator.tuning_)).plot(ax)

    def _draw(self, ax: Any) -> None:
        data, x = self.data, self.data["x"]
        for curve in data["curves"]:
            values, picked = np.array(curve["values"]), curve["chosen"]
            ax.plot(x, values, color=RED if picked else BLUE, alpha=1.0 if picked else 0.4, label=curve["name"] or None)
            if picked:
                ax.fill_between(x, values, values + np.array(curve["margins"]), color=RED, alpha=0.2, linewidth=0)
        ax.axvline(data["choice"], color=RED, linestyle="--", linewidth=1)
        ax.set(xscale="log", yscale="log", xlabel=data["along"], ylabel=f"{data['criterion']} ({data['scoring']})")
        every = np.array([curve["values"] for curve in data["curves"]], dtype=np.float64)
        high = np.nanmax(every[:, -1] if data["along"] == "penalty" else every)  # small penalties may rise out of it
        ax.set_ylim(max(np.nanmin(every), high * 1e-3) * 0.9, high * 1.3)
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
        tuning = getattr(estimator.tuning_, "level_one", estimator.tuning_)
        if not getattr(tuning, "tried", None):
            raise ValueError(
                "There is no search to draw: nothing was tried, or the model is neither SkewRidge nor "
                "AdaptiveKernelRidge."
            )
        names = ("n_centers", "risk", "adapt", "bandwidth", "kernel", "features", "penalty")
        data = {name: [tried[name] for tried in tuning.tried] for name in names}
        return cls(**data, chosen={name: tuning.chosen[name] for name in names}).plot(ax)

    def _draw(self, ax: Any) -> None:
        m, risk, adapt = (np.array(self.data[name]) for name in ("n_centers", "risk", "adapt"))
        for mask, color, marker, name in ((adapt == 0, GRAY, "o", "random"), (adapt > 0, BLUE, "^", "adaptive")):
            ax.plot(m[mask], risk[mask], marker, color=color, alpha=0.6, markersize=5, label=f"{name} centres")
        chosen = self.data["chosen"]
        ax.plot(chosen["n_centers"], chosen["risk"], "*", color=RED, markersize=14, label="choice")
        ax.set(xscale="log", yscale="log", xlabel="centres", ylabel="cross-validated MSE / variance")
        ticks = np.unique(m)
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        ax.yaxis.set_major_formatter("{x:.3g}")
        if risk.max() < 10 * risk.min():  # within a decade: label what lies between
            ax.yaxis.set_minor_formatter("{x:.3g}")
        ax.legend(frameon=False)


class _RowsDisplay(Display):
    """A display of rows with their predictions."""

    _data_of: Callable[..., Data]  # (y, predicted, y_ref, slices) -> data

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
        y = check_vector("y_true", y_true)
        predicted = check_vector("y_pred", y_pred, len(y))
        ref = y if y_ref is None else check_vector("y_ref", y_ref)
        return cls(**cls._data_of(y, predicted, ref, slices)).plot(ax)


class SliceErrorDisplay(_RowsDisplay):
    """Root mean squared error in every slice of the response, rare slices in red, beside the overall error.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> data = SliceErrorDisplay.from_predictions([0, 0, 8, 9], [0, 1, 9, 11], slices=2).data
    >>> data["rows"], [round(error, 3) for error in data["rmse"]]
    ([2, 2], [0.707, 1.581])
    """

    @staticmethod
    def _data_of(y: FloatArray, predicted: FloatArray, ref: FloatArray, slices: Any) -> Data:
        cut = slice_quietly(ref, slices)
        return {
            "edges": finite_edges(cut.edges),
            "rows": np.bincount(slice_labels(y, cut.edges), minlength=len(cut)),
            "rmse": np.sqrt(slice_mse(y, predicted, y_ref=ref, slices=slices)),
            "rare": rare_bars(cut.counts),
            "overall": np.sqrt(np.mean((y - predicted) ** 2)),
        }

    def _draw(self, ax: Any) -> None:
        edges, rare = np.array(self.data["edges"]), np.array(self.data["rare"])
        rmse = np.array(self.data["rmse"], dtype=np.float64)  # None becomes nan
        ax.bar(edges[:-1], rmse, np.diff(edges), align="edge", color=np.where(rare, RED, BLUE), edgecolor="white")
        ax.axhline(self.data["overall"], color="black", linestyle="--", linewidth=1, label="overall")
        for color, name in ((BLUE, "common"), (RED, "rare")):
            ax.bar(edges[0], 0, color=color, label=f"{name} slices")
        ax.set(xlabel="observed y", ylabel="root mean squared error", xlim=(edges[0], edges[-1]))
        ax.legend(frameon=False)


class PredictionDisplay(_RowsDisplay):
    """Predicted against observed values, the rare region marked; at most 5,000 common rows are drawn."""

    @staticmethod
    def _data_of(y: FloatArray, predicted: FloatArray, ref: FloatArray, slices: Any) -> Data:
        rare = rare_region(y, ref, slices=slices)
        errors = figures(y, predicted, rare)
        shown = np.sort(np.r_[np.flatnonzero(rare), thinned(np.flatnonzero(~rare))])
        return {
            "observed": y[shown],
            "predicted": predicted[shown],
            "rare": rare[shown],
            "rmse": errors["rmse"],
            "rare_rmse": errors["rare_rmse"],
            "n_rows": len(y),
            "n_rare": rare.sum(),
        }

    def _draw(self, ax: Any) -> None:
        data = self.data
        observed, predicted, rare = (np.array(data[name]) for name in ("observed", "predicted", "rare"))
        groups = ((~rare, GRAY, 2, "all", data["rmse"]), (rare, RED, 4, "rare", data["rare_rmse"]))
        for mask, color, size, name, rmse in groups:
            label = name if rmse is None else f"{name}: RMSE {rmse:.3g}"
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
        """Draw ``feature_importances_``, or else ``feature_scale_``."""
        names = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
        if hasattr(estimator, "feature_importances_"):
            rare = getattr(estimator, "rare_importances_", None)
            return cls(**importance_bars(estimator.feature_importances_, names, rare)).plot(ax)
        bars = importance_bars(estimator.feature_scale_, names)
        return cls(**bars, kind="learned scale").plot(ax)

    def _draw(self, ax: Any) -> None:
        names, values = self.data["names"], self.data["values"]
        _name_bars(ax, names, values, BLUE)
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
        """Draw what :func:`skewridge.plan` returns."""
        costs = [{**plain(cost), "memory": format_bytes(cost.n_bytes)} for cost in planned.costs]
        return cls(costs=costs, allowed=planned.allowed).plot(ax)

    def _draw(self, ax: Any) -> None:
        costs = self.data["costs"]
        flops = [cost["n_flops"] for cost in costs]
        _name_bars(ax, [cost["fit"] for cost in costs], flops, [BLUE if cost["fits"] else RED for cost in costs])
        for i, cost in enumerate(costs):
            ax.text(1.2 * flops[i], i, cost["memory"] + ("" if cost["fits"] else ", too large"), va="center")
        ax.set(xscale="log", xlabel="operations of one fit (log scale)", xlim=(min(flops) / 5, max(flops) * 100))


def tuning_curves(tuning: Any) -> Data:
    """The criterion along penalties (or bandwidths, where only those were searched), one curve a bandwidth."""
    tuning = getattr(tuning, "level_one", tuning)
    if tuning is None:
        raise ValueError("There is no tuning to draw: rows were too few for level 1.")
    values, margins = np.atleast_2d(tuning.values), np.atleast_2d(tuning.margins)
    if values.size == 0:
        raise ValueError("There is no tuning to draw: nothing was searched.")
    bandwidths = getattr(tuning, "bandwidths", np.full(len(values), np.nan))
    chosen = getattr(tuning, "bandwidth", None)
    axis = {"along": "penalty", "x": tuning.penalties, "choice": tuning.penalty}
    if len(tuning.penalties) == 1:
        axis = {"along": "bandwidth", "x": bandwidths, "choice": chosen}
        values, margins, bandwidths = values.T, margins.T, np.array([np.nan])
    curves = as_records(
        name=["" if np.isnan(bandwidth) else f"{bandwidth:.3g}" for bandwidth in bandwidths],
        values=values,
        margins=margins,
        chosen=np.isnan(bandwidths) | (bandwidths == chosen),
    )
    measure = {"criterion": tuning.criterion, "scoring": tuning.scoring, "cost": tuning.cost}
    return dict(plain({**measure, **axis, "curves": curves}))


def importance_bars(importances: Any, names: Any = None, rare: Any = None) -> Data:
    """Features by their importance, the largest first, at most 20 of them; ``rare`` is that where y is rare."""
    values = check_vector("importances", importances)
    names = [f"x{i}" for i in range(len(values))] if names is None else [str(name) for name in names]
    if len(names) != len(values):
        raise ValueError(f"feature_names must hold one name a feature: expected {len(values)}, got {len(names)}.")
    order = np.argsort(-values, kind="stable")[:MOST_FEATURES]
    bars = {"names": [names[i] for i in order], "values": values[order], "n_features": len(values)}
    return dict(plain(bars if rare is None else {**bars, "rare": check_vector("rare", rare, len(values))[order]}))


def finite_edges(edges: FloatArray) -> FloatArray:
    """Edges with infinite outer ones drawn in: a slice without an end is drawn as wide as the median slice."""
    inner = edges[np.isfinite(edges)]
    width = float(np.median(np.diff(inner))) if len(inner) > 1 else 1.0
    ends = (inner[0] - width, inner[-1] + width) if len(inner) else (0.0, 1.0)
    return np.nan_to_num(edges, neginf=ends[0], posinf=ends[1])


def thinned(values: Any) -> Any:
    """At most 5,000 of the values, at equal distances."""
    return values[:: max(1, -(-len(values) // MOST_POINTS))]


def _name_bars(ax: Any, names: list[str], lengths: list[float], color: Any) -> None:
    ax.barh(range(len(names)), lengths, height=0.6, color=color)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
