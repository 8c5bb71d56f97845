"""Figure 1: classical divide and conquer flattens the peaks of a skewed response, beside Algorithm 2 and adaptive
centres.

    python experiments/figure1.py [--scale reduced|full] [--jobs 2]

Two peaks in one feature, N = 2,000, k = 100. Curves of some nodes and their average for the first seed; for every
seed how much of the first peak's height the average has, and how many nodes reach half of it.
"""

import time

import numpy as np
from drawing import BLUE, GRAY, GREEN, RED, VERSION_NAMES, errors_and_costs, legend, panels, save
from effects import select
from fits import BANDWIDTHS, CENTERED, CODE_BANDWIDTH, described, fitted, make_data, versions_of, warm
from study import Study, main

from skewridge.datasets import CENTERS, peaks_truth
from skewridge.metrics import rare_mse
from skewridge.response.slices import slice_quietly

METHODS = ("classical", "oversampled", "focus", "pilot", *CENTERED)
TITLES = {
    "classical": "classical",
    "oversampled": "Algorithm 2",
    "adaptive": "adaptive centres",
}  # whose curves are drawn
DRAWN = ("rule", "node", "tuned")  # versions whose curves are kept
SCALES = {
    "tiny": {"N": 90, "k": 3, "seeds": 2},
    "reduced": {"N": 2000, "k": 100, "seeds": 10},
    "full": {"N": 2000, "k": 100, "seeds": 100},
}
GRID = np.linspace(0, 1, 401)
N_CURVES = 30


def cells(scale):
    size = SCALES[scale]
    usual = {"function": "two peaks", "N": size["N"], "d": 1, "k": size["k"]}
    return [
        {**usual, "method": method, "version": version, "seed": seed}
        for seed in range(size["seeds"])
        for method in ("data", *METHODS)
        for version in (("none",) if method == "data" else versions_of(method))
        if method != "data" or seed == 0
    ]


def measure(cell):
    if cell["method"] == "data":
        return list(data_rows(cell))
    X, y, X_test, truth = make_data(cell)
    width = CODE_BANDWIDTH if cell["version"] == "code" else BANDWIDTHS[1]
    kept = {} if cell["method"] in CENTERED else {"keep_nodes": True}
    start = time.process_time()
    model = fitted(cell["method"], cell["version"], X, y, cell["k"], width, cell["seed"], **kept)
    seconds = time.process_time() - start
    prediction = model.predict(X_test)
    found = {
        "kind": "number",
        "mse": float(np.mean((prediction - truth) ** 2)),
        "rare_mse": float(rare_mse(truth, prediction, y_ref=y)),
        **peak_of(model),
        **described(model, len(y)),
        "seconds": seconds,
    }
    return [found, *(curves(model) if has_curves(cell) else ())]


def has_curves(cell):
    return cell["seed"] == 0 and cell["version"] in DRAWN and cell["method"] in TITLES


def peak_of(model):
    """The average over the truth at the first peak, and the share of nodes that reach half the truth there."""
    peak = np.array([[CENTERS[0]]])
    height = float(peaks_truth(peak)[0])
    nodes = model.predict_nodes(peak)[:, 0] if hasattr(model, "nodes_") else model.predict(peak)
    return {"height": float(model.predict(peak)[0]) / height, "reach": float(np.mean(nodes > height / 2))}


def curves(model):
    """The average along the grid, and some of the nodes."""
    lines = [("average", 0, model.predict(GRID[:, None]))]
    if hasattr(model, "nodes_"):
        nodes = model.predict_nodes(GRID[:, None])[:N_CURVES]
        lines += [("node", i, values) for i, values in enumerate(nodes)]
    for kind, i, values in lines:
        yield from ({"kind": kind, "node": i, "x": x, "y": y} for x, y in zip(GRID, values.tolist(), strict=True))


def data_rows(cell):
    """The rows, the truth, and the slices' counts at their lower edges."""
    X, y, _, _ = make_data(cell)
    truth = peaks_truth(GRID[:, None])
    cut = slice_quietly(y)
    for kind, xs, ys in (("row", X[:, 0], y), ("truth", GRID, truth), ("count", cut.counts, cut.edges[:-1])):
        pairs = zip(np.asarray(xs, dtype=float).tolist(), ys.tolist(), strict=True)
        yield from ({"kind": kind, "x": x, "y": v} for x, v in pairs)


def draw(table, folder):
    draw_curves(table, folder)
    errors_and_costs({"two peaks, d = 1": select(table, kind="number")}, METHODS, folder, "figure1_errors")


def draw_curves(table, folder):
    figure, axes = panels(len(DRAWN), 4, height=2.3, sharey=True, width_ratios=[1, 2, 2, 2])
    data = select(table, method="data")
    for line, version in zip(axes, DRAWN, strict=True):
        draw_counts(line[0], select(data, kind="count"))
        for ax, method in zip(line[1:], TITLES, strict=True):
            # adaptive centres choose their settings themselves: one fit for all lines
            part = select(table, method=method, version="tuned" if method == "adaptive" else version)
            draw_fit(ax, data, part)
            ax.set_title(f"{TITLES[method]}\n{VERSION_NAMES['tuned' if method == 'adaptive' else version]}")
    rows = select(data, kind="row")["y"]
    axes[0, 0].set_ylim(rows.min() - 0.4, rows.max() + 0.4)  # single nodes may go far beyond
    legend(figure, axes[:, 1:])
    save(figure, folder, "figure1")


def draw_counts(ax, counts):
    heights = np.diff(counts["y"]).mean() if len(counts) > 1 else 1.0
    ax.barh(counts["y"], counts["x"], height=heights, align="edge", color=GRAY)
    ax.set(xscale="log", xlim=(0.5, None), xlabel="rows", ylabel="y", title="response")


def draw_fit(ax, data, part):
    rows, truth, average = select(data, kind="row"), select(data, kind="truth"), select(part, kind="average")
    ax.plot(rows["x"], rows["y"], ".", color="0.85", markersize=2, zorder=0, label="rows")
    for i, (_, curve) in enumerate(select(part, kind="node").groupby("node")):
        ax.plot(curve["x"], curve["y"], color=BLUE, alpha=0.35, linewidth=0.6, label=None if i else "nodes")
    ax.plot(truth["x"], truth["y"], color=GRAY, linewidth=2.5, label="truth")
    colour, label = (GREEN, "one fit") if set(part["method"]) == {"adaptive"} else (RED, "average of the nodes")
    ax.plot(average["x"], average["y"], color=colour, linewidth=1.6, label=label)
    ax.set_xlabel("x")


STUDY = Study("figure1", cells, measure, draw, warm=warm)

if __name__ == "__main__":
    main(STUDY)
