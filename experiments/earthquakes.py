"""The authors' later settings, explicit breaks and downsampling, on earthquakes in Indonesia.

    python experiments/earthquakes.py [--scale reduced|full] [--jobs 2]

Magnitude from latitude, longitude and depth, k = 10 as in the authors' code, slices at magnitudes 2 to 7. Of the
87,372 rows 20,000 are drawn a replicate (reduced: 4,000), and downsampling keeps as large a share of a slice as the
authors' 1,000 rows.
"""

from functools import partial

from drawing import against_flops, by_version, legend, panels, save
from effects import select
from fits import CENTERED, versions_of, warm
from realdata import cell_of, lacking, measure
from study import Study, main

METHODS = ("classical", "oversampled", "breaks", "equal cost", "focus", "pilot", *CENTERED)
SCALES = {
    "tiny": {"N": 90, "k": 2, "seeds": 2},
    "reduced": {"N": 4000, "k": 10, "seeds": 3},
    "full": {"N": 20_000, "k": 10, "seeds": 100},
}


def cells(scale):
    size = SCALES[scale]
    return [
        cell_of("earthquakes", size["N"], size["k"], method, version, seed)
        for seed in range(size["seeds"])
        for method in METHODS
        for version in versions_of(method)
    ]


def draw(table, folder):
    figure, axes = panels(2, 3, width=3.0)
    for ax, column in zip(axes[0], ("mse", "rare_mse", "rare_predicted_mse"), strict=True):
        by_version(ax, table, column, METHODS)
    axes[0, 2].set_title("not defined where\nnothing rare is predicted")
    against_flops(axes[1, :2], select(table, version="tuned"))
    for ax in axes[1, :2]:
        ax.set_title("tuned")
    axes[1, 2].remove()
    legend(figure, axes[axes != axes[1, 2]])
    save(figure, folder, "earthquakes")


STUDY = Study("earthquakes", cells, measure, draw, warm=warm, lacking=partial(lacking, "earthquakes"))

if __name__ == "__main__":
    main(STUDY)
