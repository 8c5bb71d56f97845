"""The supplement's study of the number of nodes: squared error against k.

    python experiments/supplement_nodes.py [--scale reduced|full] [--jobs 2]

N = 10,000 (reduced: 6,000), one and two peaks; classical, Algorithm 2 and what we add.
"""

from drawing import COLUMN_NAMES, VERSION_NAMES, curve, legend, log_along, panels, save
from effects import select
from fits import VERSIONS, cell_of, measure, versions_of, warm
from study import Study, main

FUNCTIONS = ("one peak", "two peaks")
METHODS = ("classical", "oversampled", "focus")
SCALES = {
    "tiny": {"N": 90, "d": (2,), "k": (2, 3), "seeds": 2},
    "reduced": {"N": 6000, "d": (2, 4), "k": (25, 50, 100, 200), "seeds": 3},
    "full": {"N": 10000, "d": (1, 2, 4, 6), "k": (10, 25, 50, 100, 200, 400), "seeds": 100},
}


def cells(scale):
    size = SCALES[scale]
    return [
        cell_of(function, size["N"], d, k, method, version, seed)
        for seed in range(size["seeds"])
        for function in FUNCTIONS
        for d in size["d"]
        for k in size["k"]
        for method in METHODS
        for version in versions_of(method)
    ]


def draw(table, folder):
    columns = [(function, d) for function in FUNCTIONS for d in sorted(table["d"].unique())]
    for measured in ("mse", "rare_mse", "flops"):
        figure, axes = panels(len(VERSIONS), len(columns))
        for line, version in zip(axes, VERSIONS, strict=True):
            for ax, (function, d) in zip(line, columns, strict=True):
                part = select(table, version=version, function=function, d=d)
                for method in METHODS:
                    curve(ax, select(part, method=method), "k", measured, method)
                log_along(ax, sorted(table["k"].unique()), "nodes k")
                ax.set(yscale="log", ylabel=COLUMN_NAMES[measured])
                ax.set_title(f"{function}, d = {d}\n{VERSION_NAMES[version]}", fontsize=8)
        legend(figure, axes)
        save(figure, folder, f"supplement_nodes_{measured}")


STUDY = Study("supplement_nodes", cells, measure, draw, cache="peaks", warm=warm)

if __name__ == "__main__":
    main(STUDY)
