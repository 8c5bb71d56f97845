"""How a fitted estimator shows itself in a notebook: scikit-learn's diagram, and below it what the fit chose."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

_TABLE = (
    '<details open style="margin-top:0.5em"><summary style="cursor:pointer">What was fitted</summary>'
    '<table style="border-collapse:collapse;text-align:left">{rows}</table></details>'
)
_ROW = '<tr><th scope="row" style="text-align:left;padding:0 1em 0 0">{}</th><td style="text-align:left">{}</td></tr>'


class NotebookMixin:
    """Appends ``_summary()``, names to texts, to scikit-learn's HTML representation of a fitted estimator.

    ``set_config(display="text")`` switches both off, as for any estimator.
    """

    @property
    def _repr_html_(self) -> Any:
        inner = super()._repr_html_  # type: ignore[misc]  # raises where the display is text
        return lambda: inner() + self._summary_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._summary_html()
        return bundle

    def _summary_html(self) -> str:
        """Names and texts as a small table that takes the page's colours; nothing of what is not fitted."""
        if not hasattr(self, "n_features_in_"):
            return ""
        summary = self._summary()  # type: ignore[attr-defined]
        return _TABLE.format(rows="".join(_ROW.format(escape(name), escape(text)) for name, text in summary.items()))


def dealt_summary(model: Any) -> dict[str, str]:
    """How a fitted DacRegressor or DacKernelRidge dealt its rows, in words."""
    slices, k = model.slices_, model.n_nodes_
    return {
        "slices": f"{len(slices):,}, {len(slices.occupied):,} of them occupied; the fullest holds "
        f"{slices.counts.max() / slices.n_rows:.1%} of {slices.n_rows:,} rows",
        "nodes": f"{k:,} of {model.n_distinct_ / k:,.0f} rows on average (N* = {model.n_oversampled_:,}, "
        f"N~ = {model.n_distinct_:,})",
    }


def partition_summary(model: Any) -> dict[str, str]:
    """A fitted DacKernelRidge in words."""
    return {
        **dealt_summary(model),
        **_kernel_and_penalty(model, model.kernel),
    }


def centers_summary(model: Any) -> dict[str, str]:
    """A fitted AdaptiveKernelRidge in words."""
    tuning = model.tuning_
    risk = tuning.chosen.get("risk")
    evenly = f"{model.adapt_:.0%} of them evenly over the slices of the response"
    scales = "as they are" if model.scale_features is None else f"{tuning.chosen['features']} scales"
    judged = {} if risk is None else {"cross-validated": f"MSE {risk:.3g} of the variance of y"}
    return {
        "centres": f"{model.n_centers_:,}, drawn {evenly if model.adapt_ else 'at random'}",
        "features": f"{model.n_features_in_:,}, {scales}",
        **_kernel_and_penalty(model, model.kernel_),
        **judged,
        "solver": model.solver_ if model.n_iter_ is None else f"{model.solver_}, {model.n_iter_} steps",
    }


def levels_summary(model: Any) -> dict[str, str]:
    """A fitted SkewRidge in words."""
    tuning = model.tuning_
    pairs = zip(tuning.members, tuning.weights, strict=True)
    return {
        "blend": ", ".join(f"{name} {weight:.2f}" for name, weight in pairs),
        **_error_and_features(model, f"by {tuning.left_out_by}"),
    }


def cells_summary(model: Any) -> dict[str, str]:
    """A fitted LocalKernelRidge in words."""
    return {
        "cells": f"{model.n_cells_:,} in {model.n_partitions if model.n_cells_ > 1 else 1} partition(s)",
        "kernel": f"{model.kernel}, ridge {model.ridge_:.3g}",
        **_error_and_features(model, "of rows left out"),
    }


def _error_and_features(model: Any, measured: str) -> dict[str, str]:
    """The stated risk, overall and where the response is rare, and how many columns are used."""
    risk, dropped = model.expected_error_, len(model.dropped_features_)
    _, y, weights = model._left_out
    spread = float(np.cov(y, aweights=weights, ddof=0)) or 1.0
    rare = f"{risk.rare_mse / spread:.3g} where y is rare"
    return {
        "stated error": f"MSE {risk.mse / spread:.3g} of the variance of y, {rare} ({measured})",
        "features": f"{model.n_features_in_:,}" + (f", {dropped:,} of them not used" if dropped else ""),
    }


def spline_summary(model: Any) -> dict[str, str]:
    """A fitted SmoothingSpline in words."""
    used = [term for term, theta in zip(model.terms_, model.theta_, strict=True) if theta > 0]
    return {
        "free": ", ".join(model.free_terms_),
        "penalised": ", ".join(used) or "none",
        "knots": f"{len(model.knots_):,}",
        "penalty": f"{model.penalty_:.3g}" + (" (chosen by gcv)" if model.penalty == "auto" else ""),
        "degrees of freedom": f"{model.dof_:.4g}",
    }


def _kernel_and_penalty(model: Any, name: str) -> dict[str, str]:
    """The kernel and its bandwidth, and the penalty, or the range of the nodes' penalties, and how it was chosen."""
    values, criterion = np.atleast_1d(model.penalty_), model.tuning_.criterion
    penalty = f"{values[0]:.3g}" if len(values) == 1 else f"{values.min():.3g} to {values.max():.3g}, one a node"
    chosen = "" if criterion in ("given", "none") else f" (chosen by {criterion})"
    width = "" if model.bandwidth_ is None else f", bandwidth {model.bandwidth_:.4g}"
    return {"kernel": name + width, "penalty": penalty + chosen}
