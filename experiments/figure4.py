"""Figure 4: squared error against N for one and two peaks in 1, 2, 4 and 6 features.

    python experiments/figure4.py [--scale reduced|full] [--jobs 2]

Classical divide and conquer, Algorithm 2 with tau = 1 ... 1/5 and full kernel ridge regression on k = 100 nodes,
gaussian kernel, Scott's rule; as published (three penalties) and tuned; and what we add: the classical method at
equal cost, focus, pilot slices and adaptive centres, at the largest N.
"""

from drawing import COLUMN_NAMES, STYLES, VERSION_NAMES, against_flops, curve, legend, log_along, panels, save
from effects import select
from fits import CENTERED, TAUS, cell_of, measure, versions_of, warm
from study import Study, main

NODES = 100
FUNCTIONS = ("one peak", "two peaks")
PUBLISHED = ("classical", "oversampled", "full", *(f"tau={tau}" for tau in TAUS))
ADDED = ("equal cost", "focus", "pilot", *CENTERED)

SCALES = {
    "tiny": {"N": (60, 90), "d": (2,), "k": 3, "taus": ("1/5",), "seeds": 2},
    "reduced": {"N": (2000, 4000, 6000), "d": (1, 2, 4, 6), "k": NODES, "taus": ("1/5", "1/2"), "seeds": 4},
    "full": {"N": (2000, 4000, 6000, 8000, 10000), "d": (1, 2, 4, 6), "k": NODES, "taus": TAUS, "seeds": 100},
}
FULL_SEEDS = 2  # reduced: so many seeds have full fits


def cells(scale):
    size = SCALES[scale]
    return [
        cell_of(function, N, d, size["k"], method, version, seed)
        for seed in range(size["seeds"])
        for function in FUNCTIONS
        for d in size["d"]
        for N in size["N"]
        for method in (*PUBLISHED, *(ADDED if N == max(size["N"]) else ()))
        for version in versions_of(method)
        if is_run(scale, method, seed)
    ]


def is_run(scale, method, seed):
    """Which cells a scale leaves out: values of tau, and most of the full fits in the reduced version."""
    if method.startswith("tau="):
        return method.removeprefix("tau=") in SCALES[scale]["taus"]
    return not (method == "full" and scale == "reduced") or seed < FULL_SEEDS


def draw(table, folder):
    for version in VERSION_NAMES:
        draw_version(select(table, version=version), version, folder)
    for version in ("node", "tuned"):
        draw_flops(table, version, folder)


ROWS = [(function, column) for column in ("mse", "rare_mse") for function in FUNCTIONS]


def draw_version(table, version, folder):
    columns = sorted(table["d"].unique())
    figure, axes = panels(len(ROWS), len(columns))
    for line, (function, column) in zip(axes, ROWS, strict=True):
        for ax, d in zip(line, columns, strict=True):
            part = select(table, function=function, d=d)
            for method in (m for m in STYLES if m in PUBLISHED):
                curve(ax, select(part, method=method), "N", column, method)
            log_along(ax, sorted(part["N"].unique()), "N")
            ax.set(yscale="log", title=f"{function}, d = {d}", ylabel=COLUMN_NAMES[column])
    figure.suptitle(f"Squared error against the truth, k = {table['k'].iloc[0]}: {VERSION_NAMES[version]}")
    legend(figure, axes)
    save(figure, folder, f"figure4_{version}")


def draw_flops(table, version, folder):
    """Error against operations at the largest N."""
    table = select(table, N=table["N"].max(), version=version)
    columns = sorted(table["d"].unique())
    figure, axes = panels(len(ROWS), len(columns))
    for column, d in enumerate(columns):
        for row, function in enumerate(FUNCTIONS):
            pair = (axes[row, column], axes[row + len(FUNCTIONS), column])
            against_flops(pair, select(table, function=function, d=d))
            for ax in pair:
                ax.set_title(f"{function}, d = {d}")
    figure.suptitle(f"Squared error against operations, N = {table['N'].iloc[0]:,}: {VERSION_NAMES[version]}")
    legend(figure, axes)
    save(figure, folder, f"figure4_flops_{version}")


STUDY = Study("figure4", cells, measure, draw, cache="peaks", warm=warm)

if __name__ == "__main__":
    main(STUDY)
