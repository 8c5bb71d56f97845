"""The bandwidth of the housing data, varied: the authors' is narrow, and what is found depends on it.

    python experiments/choices_melbourne.py [--scale reduced|full] [--jobs 2]

Classical and Algorithm 2 on the most nodes of figure 6, and the full fit, along the bandwidth.
"""

from functools import partial

from drawing import COLUMN_NAMES, VERSION_NAMES, curve, legend, log_along, logarithmic, panels, save
from effects import select
from figure6 import N_ROWS
from fits import warm
from realdata import cell_of, lacking, measure
from study import Study, main

METHODS = ("classical", "oversampled", "full")
VERSIONS = ("rule", "node")
WIDTHS = (0.5, 1.0, 2.0, 4.0, 8.0)
SCALES = {
    "tiny": {"N": 90, "k": 3, "seeds": 2, "widths": (1.0, 4.0)},
    "reduced": {"N": N_ROWS, "k": 110, "seeds": 4, "widths": WIDTHS},
    "full": {"N": N_ROWS, "k": 110, "seeds": 100, "widths": WIDTHS},
}


def cells(scale):
    size = SCALES[scale]
    return [
        {**cell_of("melbourne", size["N"], 1 if method == "full" else size["k"], method, version, seed), "width": width}
        for seed in range(size["seeds"])
        for width in size["widths"]
        for version in VERSIONS
        for method in METHODS
    ]


def draw(table, folder):
    places = [(version, column) for column in ("mse", "rare_mse") for version in VERSIONS]
    figure, axes = panels(1, len(places))
    for ax, (version, column) in zip(axes[0], places, strict=True):
        part = select(table, version=version)
        for method in METHODS:
            curve(ax, select(part, method=method), "width", column, method)
        if column == "mse":
            ax.axhline(part["test_variance"].mean(), color="0.6", linewidth=0.8, linestyle="--", label="variance")
        logarithmic(ax, part[column])
        log_along(ax, sorted(part["width"].unique()), "bandwidth / authors'")
        ax.set(ylabel=COLUMN_NAMES[column], title=VERSION_NAMES[version])
    legend(figure, axes)
    save(figure, folder, "choices_melbourne")


STUDY = Study("choices_melbourne", cells, measure, draw, warm=warm, lacking=partial(lacking, "melbourne"))

if __name__ == "__main__":
    main(STUDY)
