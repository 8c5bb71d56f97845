"""Figure 5: how the slices are chosen: fixed numbers, Sturges, Scott and Freedman-Diaconis; and what more slices do.

    python experiments/figure5.py [--scale reduced|full] [--jobs 2]

An unskewed function (sines), one peak and two peaks, k = 100. At the largest N also l = 20, 40 and 80, and our
additions. The paper gives neither its fixed l nor its unskewed function: 5 and 10 are run, and the study "choices"
has others.
"""

from drawing import (
    COLUMN_NAMES,
    STYLES,
    VERSION_NAMES,
    against_flops,
    curve,
    legend,
    log_along,
    panels,
    save,
    version_curve,
)
from effects import select, summary
from fits import CENTERED, PEAKS, VERSIONS, cell_of, measure, versions_of, warm
from study import Study, main

FIXED, RULES = ("l=5", "l=10"), ("sturges", "oversampled", "fd")
COMPARED = ("classical", *FIXED, *RULES)
NUMBERS = ("l=5", "l=10", "l=20", "l=40", "l=80")
ADDED = ("focus", "pilot", *CENTERED)
SCALES = {
    "tiny": {"N": (60, 90), "d": (2,), "k": 3, "seeds": 2},
    "reduced": {"N": (2000, 6000), "d": (2, 4), "k": 100, "seeds": 4},
    "full": {"N": (2000, 4000, 6000, 8000, 10000), "d": (1, 2, 4, 6), "k": 100, "seeds": 100},
}


def cells(scale):
    size = SCALES[scale]
    return [
        cell_of(function, N, d, size["k"], method, version, seed)
        for seed in range(size["seeds"])
        for function in PEAKS
        for d in size["d"]
        for N in size["N"]
        for method in methods_at(N == max(size["N"]), function)
        for version in versions_of(method)
    ]


def methods_at(largest, function):
    """What is compared; at the largest N our additions too, and where the response is skewed, more slices."""
    more = ((*NUMBERS, *ADDED) if function != "unskewed" else ADDED) if largest else ()
    return tuple(dict.fromkeys((*COMPARED, *more)))


def draw(table, folder):
    for version in VERSIONS:
        draw_version(select(table, version=version), version, folder)
    draw_numbers(table, folder)
    draw_flops(table, folder)


def draw_version(table, version, folder):
    columns = sorted(table["d"].unique())
    figure, axes = panels(len(PEAKS), 2 * len(columns))
    for line, function in zip(axes, PEAKS, strict=True):
        places = [(d, column) for column in ("mse", "rare_mse") for d in columns]
        for ax, (d, column) in zip(line, places, strict=True):
            part = select(table, function=function, d=d)
            for method in (m for m in STYLES if m in COMPARED):
                curve(ax, select(part, method=method), "N", column, method)
            log_along(ax, sorted(part["N"].unique()), "N")
            ax.set(yscale="log", title=f"{function}, d = {d}", ylabel=COLUMN_NAMES[column])
    figure.suptitle(f"Rules for the slices: {VERSION_NAMES[version]}")
    legend(figure, axes)
    save(figure, folder, f"figure5_{version}")


def numbered(table):
    """Fits at the largest N that were given their number of slices; l is that number."""
    table = table[(table["N"] == table["N"].max()) & table["method"].isin(NUMBERS)]
    return table.assign(l=table["method"].str.removeprefix("l=").astype(int))


def draw_numbers(table, folder):
    """Error and operations against the number of slices."""
    table = numbered(table)
    columns = [(function, d) for function in list(PEAKS)[1:] for d in sorted(table["d"].unique())]
    figure, axes = panels(3, len(columns))
    for line, (function, d) in zip(axes.T, columns, strict=True):
        for ax, column in zip(line, ("mse", "rare_mse", "flops"), strict=True):
            for version in VERSIONS:
                told = summary(select(table, function=function, d=d, version=version), "l", column)
                version_curve(ax, told["l"], told["mean"], told["error"], version)
            log_along(ax, sorted(table["l"].unique()), "slices l")
            ax.set(yscale="log", title=f"{function}, d = {d}", ylabel=COLUMN_NAMES[column])
    legend(figure, axes)
    save(figure, folder, "figure5_slices")


def draw_flops(table, folder):
    table = select(table, N=table["N"].max(), version="tuned")
    columns = sorted(table["d"].unique())
    figure, axes = panels(len(PEAKS), 2 * len(columns))
    for line, function in zip(axes, PEAKS, strict=True):
        for place, d in enumerate(columns):
            pair = line[2 * place : 2 * place + 2]
            part = select(table, function=function, d=d)
            against_flops(pair, part[part["method"].isin(STYLES)])
            for ax in pair:
                ax.set_title(f"{function}, d = {d}")
    figure.suptitle(f"Squared error against operations, N = {table['N'].iloc[0]:,}, tuned")
    legend(figure, axes)
    save(figure, folder, "figure5_flops")


STUDY = Study("figure5", cells, measure, draw, cache="peaks", warm=warm)

if __name__ == "__main__":
    main(STUDY)
