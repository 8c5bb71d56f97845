"""Figure 3: three scenarios of skewness, what oversampling adds in each, and what it does to the risk.

    python experiments/figure3.py [--scale reduced|full] [--jobs 2]

Two features: y = x1 (evenly spread), y = x1^2 (slightly skewed) and the two peaks (highly skewed), plus noise. For
the first seed the slices before and after oversampling; for every seed the errors.
"""

import fits
from drawing import GRAY, RED, errors_and_costs, legend, panels, save
from effects import select
from fits import CENTERED, cell_of, make_data, versions_of, warm
from study import Study, main

from skewridge.response.slices import slice_quietly

SCENARIOS = {"even": "1: evenly spread", "slight": "2: slightly skewed", "two peaks": "3: highly skewed"}
METHODS = ("classical", "oversampled", "focus", "pilot", *CENTERED)
SCALES = {
    "tiny": {"N": 90, "k": 3, "seeds": 2},
    "reduced": {"N": 4000, "k": 100, "seeds": 4},
    "full": {"N": 10000, "k": 100, "seeds": 100},
}


def cells(scale):
    size = SCALES[scale]
    shapes = [cell_of(function, size["N"], 2, size["k"], "slices", "none", 0) for function in SCENARIOS]
    return shapes + [
        cell_of(function, size["N"], 2, size["k"], method, version, seed)
        for seed in range(size["seeds"])
        for function in SCENARIOS
        for method in METHODS
        for version in versions_of(method)
    ]


def measure(cell):
    return list(shape(cell)) if cell["method"] == "slices" else {"kind": "fit", **fits.measure(cell)}


def shape(cell):
    """Every slice's rows before and after oversampling."""
    _, y, _, _ = make_data(cell)
    cut = slice_quietly(y)
    for j in range(len(cut)):
        rows, copies = int(cut.counts[j]), int(cut.copies[j])
        yield {"kind": "slice", "slice": j, "low": float(cut.edges[j]), "high": float(cut.edges[j + 1]), "rows": rows,
               "oversampled": rows * copies}  # fmt: skip


def draw(table, folder):
    figure, axes = panels(1, len(SCENARIOS), width=2.8)
    for ax, (function, name) in zip(axes[0], SCENARIOS.items(), strict=True):
        draw_slices(ax, select(table, function=function, kind="slice"), name)
    legend(figure, axes)
    save(figure, folder, "figure3")
    fits_of = {name: select(table, function=function, kind="fit") for function, name in SCENARIOS.items()}
    errors_and_costs(fits_of, METHODS, folder, "figure3_errors")


def draw_slices(ax, slices, name):
    width = (slices["high"] - slices["low"]).mean()
    ax.bar(slices["low"], slices["rows"], width, align="edge", color=GRAY, label="rows")
    added = slices["oversampled"] - slices["rows"]
    ax.bar(slices["low"], added, width, bottom=slices["rows"], align="edge", color="white", edgecolor=RED, hatch="///",
           linewidth=0.4, label="copies")  # fmt: skip
    ratio = slices["oversampled"].sum() / slices["rows"].sum()
    top = 1.1 * slices["oversampled"].max()
    ax.set(title=f"{name}\nN*/N = {ratio:.1f}", xlabel="y", ylabel="rows", ylim=(0, top))


STUDY = Study("figure3", cells, measure, draw, warm=warm)

if __name__ == "__main__":
    main(STUDY)
