"""What the paper leaves open, varied: the bandwidth, the fixed number of slices and the unskewed function.

    python experiments/choices.py [--scale reduced|full] [--jobs 2]

Algorithm 2's error over the classical method's, along the bandwidth of the published versions; over l; and for three
responses that are not skewed.
"""

import numpy as np
from drawing import VERSION_NAMES, legend, log_along, panels, save, version_curve
from effects import log_ratio, select
from fits import METHODS, PENALTIES, cell_of, measure, versions_of, warm
from study import Study, main

FIXED = tuple(name for name in METHODS if name.startswith("l="))
SKEWED = ("one peak", "two peaks")
UNSKEWED = ("unskewed", "linear", "waves")
SCALES = {
    "tiny": {"N": 90, "d": (2,), "k": 3, "seeds": 2, "widths": (0.5, 1.0)},
    "reduced": {"N": 2000, "d": (1, 2, 4, 6), "k": 100, "seeds": 5, "widths": (0.25, 0.5, 1.0, 2.0, 4.0)},
    "full": {"N": 10000, "d": (1, 2, 4, 6), "k": 100, "seeds": 100, "widths": (0.25, 0.5, 1.0, 2.0, 4.0)},
}


def cells(scale):
    size = SCALES[scale]
    N, k, ds = size["N"], size["k"], size["d"]
    return [cell for seed in range(size["seeds"]) for cell in [
        *(cell_of(function, N, d, k, method, version, seed, width) for function in SKEWED for d in ds
          for width in size["widths"] for version in PENALTIES for method in ("classical", "oversampled")),
        *(cell_of("two peaks", N, 2, k, method, version, seed) for method in FIXED for version in versions_of(method)),
        *(cell_of("two peaks", N, 2, k, method, "tuned", seed) for method in ("classical", "oversampled")),
        *(cell_of(function, N, 2, k, method, version, seed) for function in UNSKEWED
          for method in ("classical", "oversampled") for version in versions_of(method)),
    ]]  # fmt: skip


def ratio(table, column="mse", method="oversampled"):
    """The method's error over the classical one's, with one standard error either side."""
    effect = log_ratio(table, {"method": method}, {"method": "classical"}, column)
    return np.exp([effect.mean, effect.mean - effect.error, effect.mean + effect.error])


COLUMNS = {"mse": "MSE over classical", "rare_mse": "rare-region MSE over classical"}


def draw(table, folder):
    draw_bandwidths(table, folder)
    draw_slices(select(table, d=2, width=1.0), folder)


def draw_bandwidths(table, folder):
    ds = sorted(select(table, function="two peaks")["d"].unique())
    rows = [(function, column) for column in COLUMNS for function in SKEWED]
    figure, axes = panels(len(rows), len(ds), sharey="row")
    for line, (function, column) in zip(axes, rows, strict=True):
        for ax, d in zip(line, ds, strict=True):
            draw_widths(ax, select(table, function=function, d=d), column)
            ax.set_title(f"{function}, d = {d}")
        line[0].set_ylabel(COLUMNS[column])
    finish(figure, axes, folder, "choices")


def draw_slices(table, folder):
    """The fixed number of slices, and responses that are not skewed."""
    figure, axes = panels(1, 4)
    for pair, (column, name) in zip((axes[0, ::2], axes[0, 1::2]), COLUMNS.items(), strict=True):
        draw_fixed(pair[0], select(table, function="two peaks"), column)
        draw_unskewed(pair[1], table, column)
        for ax in pair:
            ax.set_ylabel(name)
    finish(figure, axes, folder, "choices_slices")


def finish(figure, axes, folder, name):
    for ax in axes.flat:
        ax.axhline(1, color="0.6", linewidth=0.8)
        ax.set_yscale("log")
    legend(figure, axes)
    save(figure, folder, name)


def points(ax, places, told, version, **more):
    middle, low, high = np.array(told).T
    version_curve(ax, places, middle, (middle - low, high - middle), version, **more)


def draw_widths(ax, table, column):
    for version in PENALTIES:
        part = select(table, version=version)
        part = part[part["method"].isin(("classical", "oversampled"))]
        widths = sorted(part["width"].unique())
        points(ax, widths, [ratio(select(part, width=width), column) for width in widths], version)
    log_along(ax, sorted(table["width"].unique()), "bandwidth / ours (code: / 0.1)")


def draw_fixed(ax, table, column):
    for version in VERSION_NAMES:
        part = select(table, version=version)
        points(ax, [int(m[2:]) for m in FIXED], [ratio(part, column, method) for method in FIXED], version)
    log_along(ax, [int(method[2:]) for method in FIXED], "slices l")
    ax.set(title="two peaks, d = 2")


def draw_unskewed(ax, table, column):
    for shift, version in enumerate(VERSION_NAMES):
        part = select(table, version=version)
        told = [ratio(select(part, function=function), column) for function in UNSKEWED]
        points(ax, np.arange(len(UNSKEWED)) + 0.12 * (shift - 1.5), told, version, linestyle="none")
    ax.set_xticks(range(len(UNSKEWED)), ("sines", "linear", "waves"))
    ax.set(title="not skewed, d = 2")


STUDY = Study("choices", cells, measure, draw, cache="peaks", warm=warm)

if __name__ == "__main__":
    main(STUDY)
