"""Figure 6: prices per square metre in Melbourne: test error and CPU time against the number of nodes.

    python experiments/figure6.py [--scale reduced|full] [--jobs 2]

A tenth of the rows, stratified by the response, is tested. Classical, Algorithm 2 and full kernel ridge regression; the
authors' later settings (explicit breaks, downsampling); and what we add, at the largest k.
"""

from functools import partial

from drawing import COLUMN_NAMES, STYLES, VERSION_NAMES, against_flops, curve, legend, level, logarithmic, panels, save
from effects import select
from fits import CENTERED, VERSIONS, versions_of, warm
from realdata import cell_of, lacking, measure
from study import Study, main

N_ROWS = 6784
METHODS = ("classical", "oversampled", "breaks")
WHOLE = ("full", *CENTERED)  # without nodes
ADDED = ("equal cost", "focus", "pilot")
SCALES = {
    "tiny": {"N": 90, "k": (2, 3), "seeds": 2},
    "reduced": {"N": N_ROWS, "k": (30, 70, 110), "seeds": 4},
    "full": {"N": N_ROWS, "k": (10, 30, 50, 70, 90, 110), "seeds": 100},
}


def cells(scale):
    size = SCALES[scale]
    pairs = [
        *((method, 1) for method in WHOLE),
        *((method, k) for k in size["k"] for method in METHODS),
        *((method, max(size["k"])) for method in ADDED),
    ]
    return [
        cell_of("melbourne", size["N"], k, method, version, seed)
        for seed in range(size["seeds"])
        for method, k in pairs
        for version in versions_of(method)
    ]


def draw(table, folder):
    draw_errors(table, folder)
    draw_costs(table, folder)


def draw_errors(table, folder):
    rows = ("mse", "rare_mse", "rare_predicted_mse")
    figure, axes = panels(len(rows), len(VERSIONS))
    for line, column in zip(axes, rows, strict=True):
        for ax, version in zip(line, VERSIONS, strict=True):
            draw_against_nodes(ax, select(table, version=version), column)
            ax.set_title(VERSION_NAMES[version])
    legend(figure, axes)
    save(figure, folder, "figure6")


def draw_against_nodes(ax, table, column):
    for method in METHODS:
        curve(ax, select(table, method=method), "k", column, method)
    for method in WHOLE:
        level(ax, select(table, method=method), column, method)
    logarithmic(ax, table[column])
    ax.set(xlabel="nodes k", ylabel=COLUMN_NAMES[column])


def draw_costs(table, folder):
    """CPU time and operations as published, and error against operations when tuned."""
    figure, axes = panels(1, 4)
    for ax, column in zip(axes[0, :2], ("seconds", "flops"), strict=True):
        draw_against_nodes(ax, select(table, version="node"), column)
        ax.set_title(VERSION_NAMES["node"])
    tuned = select(table, version="tuned")
    against_flops(axes[0, 2:], tuned[tuned["k"].isin((1, table["k"].max())) & tuned["method"].isin(STYLES)])
    for ax in axes[0, 2:]:
        ax.set_title(f"tuned, k = {table['k'].max()}")
    legend(figure, axes)
    save(figure, folder, "figure6_costs")


STUDY = Study("figure6", cells, measure, draw, warm=warm, lacking=partial(lacking, "melbourne"))

if __name__ == "__main__":
    main(STUDY)
