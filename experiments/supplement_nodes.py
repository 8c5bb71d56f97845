"""The supplement's study of the number of nodes: squared error against k.

    python experiments/supplement_nodes.py [--scale reduced|full] [--jobs 2]

N = 10,000 (reduced: 6,000), one and two peaks; classical, Algorithm 2 and focus on every k, and on k = 100 all that we
add.
"""

from drawing import COLUMN_NAMES, VERSION_NAMES, against_flops, curve, legend, log_along, panels, save
from effects import select
from fits import CENTERED, VERSIONS, cell_of, measure, versions_of, warm
from study import Study, main

FUNCTIONS = ("one peak", "two peaks")
METHODS = ("classical", "oversampled", "focus")
ADDED = ("equal cost", "pilot", *CENTERED)  # at one number of nodes
SCALES = {
    "tiny": {"N": 90, "d": (2,), "k": (2, 3), "usual": 3, "seeds": 2},
    "reduced": {"N": 6000, "d": (2, 4), "k": (25, 50, 100, 200), "usual": 100, "seeds": 3},
    "full": {"N": 10000, "d": (1, 2, 4, 6), "k": (10, 25, 50, 100, 200, 400), "usual": 100, "seeds": 100},
}


def cells(scale):
    size = SCALES[scale]
    return [
        cell_of(function, size["N"], d, k, method, version, seed)
        for seed in range(size["seeds"])
        for function in FUNCTIONS
        for d in size["d"]
        for k in size["k"]
        for method in (*METHODS, *(ADDED if k == size["usual"] else ()))
        for version in versions_of(method)
    ]


def draw(table, folder):
    columns = [(function, d) for function in FUNCTIONS for d in sorted(table["d"].unique())]
    for measured in ("mse", "rare_mse"):
        draw_along_nodes(table, columns, measured, folder)
    draw_flops(select(table, version="tuned"), columns, folder)


def draw_along_nodes(table, columns, measured, folder):
    figure, axes = panels(len(VERSIONS), len(columns))
    for line, version in zip(axes, VERSIONS, strict=True):
        for ax, (function, d) in zip(line, columns, strict=True):
            part = select(table, version=version, function=function, d=d)
            for method in METHODS:
                curve(ax, select(part, method=method), "k", measured, method)
            log_along(ax, sorted(table["k"].unique()), "nodes k")
            ax.set(yscale="log", ylabel=COLUMN_NAMES[measured])
            ax.set_title(f"{function}, d = {d}\n{VERSION_NAMES[version]}")
    legend(figure, axes)
    save(figure, folder, f"supplement_nodes_{measured}")


def draw_flops(table, columns, folder):
    """Error against operations, tuned, on the number of nodes that all were run on."""
    usual = select(table, method="pilot")["k"].iloc[0]
    figure, axes = panels(2, len(columns))
    for line, (function, d) in zip(axes.T, columns, strict=True):
        against_flops(line, select(table, function=function, d=d, k=usual))
        for ax in line:
            ax.set_title(f"{function}, d = {d}")
    figure.suptitle(f"Squared error against operations, k = {usual}, tuned")
    legend(figure, axes)
    save(figure, folder, "supplement_nodes_flops")


STUDY = Study("supplement_nodes", cells, measure, draw, cache="peaks", warm=warm)

if __name__ == "__main__":
    main(STUDY)
