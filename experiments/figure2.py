"""Figure 2: Algorithm 2 step by step on a toy, three slices dealt to three nodes, and what it does to the errors.

    python experiments/figure2.py [--scale reduced|full] [--jobs 2]

Every copy of 60 rows of the two peaks in one feature with its slice and node, kept or dropped as a duplicate; and
errors with l = 3 and k = 3 on 300 rows, beside Scott's rule and what we add.
"""

import fits
import numpy as np
from drawing import BLUE, GRAY, PURPLE, RED, errors_and_costs, panels, save
from effects import select
from fits import CENTERED, cell_of, make_data, versions_of, warm
from study import Study, main

from skewridge.response.allocation import Assignment
from skewridge.response.slices import slice_quietly

SLICES = NODES = 3
N_TOY = 60
METHODS = ("classical", f"l={SLICES}", "oversampled", "focus", "pilot", *CENTERED)
SCALES = {"tiny": {"N": 90, "seeds": 2}, "reduced": {"N": 300, "seeds": 20}, "full": {"N": 300, "seeds": 100}}
NODE_COLOURS = (BLUE, RED, PURPLE)  # as in the paper


def cells(scale):
    size = SCALES[scale]
    toy = cell_of("two peaks", N_TOY, 1, NODES, "toy", "none", 0)
    return [toy] + [
        cell_of("two peaks", size["N"], 1, NODES, method, version, seed)
        for seed in range(size["seeds"])
        for method in METHODS
        for version in versions_of(method)
    ]


def measure(cell):
    return list(dealt(cell)) if cell["method"] == "toy" else {"kind": "fit", **fits.measure(cell)}


def dealt(cell):
    """Every copy of every row: its slice, its node, which copy it is, and whether it is the node's first of its row."""
    _, y, _, _ = make_data(cell)
    cut = slice_quietly(y, SLICES)
    assignment = Assignment(cut.counts, cut.copies, NODES, cell["seed"])
    for j in cut.occupied.tolist():
        nodes, places = assignment.nodes_of(j, np.arange(cut.counts[j]))
        ranks = np.repeat(np.arange(cut.counts[j]), cut.copies[j])
        copy = np.arange(len(ranks)) % int(cut.copies[j])
        seen = set()
        for i in np.argsort(places):
            pair = (int(nodes[i]), int(ranks[i]))
            yield {"kind": "copy", "slice": j, "row": pair[1], "copy": int(copy[i]), "node": pair[0],
                   "kept": pair not in seen}  # fmt: skip
            seen.add(pair)


def draw(table, folder):
    figure, axes = panels(1, 2, width=3.0, height=2.5)
    copies = select(table, kind="copy")
    draw_copies(axes[0, 0], copies)
    draw_nodes(axes[0, 1], copies)
    save(figure, folder, "figure2")
    errors_and_costs({f"k = {NODES}": select(table, kind="fit")}, METHODS, folder, "figure2_errors")


def draw_copies(ax, copies):
    original = copies[copies["copy"] == 0].groupby("slice").size()
    everything = copies.groupby("slice").size()
    ax.bar(original.index, original, color="white", edgecolor=GRAY, hatch="//", label="rows")
    added = everything - original
    ax.bar(added.index, added, bottom=original, color="white", edgecolor=GRAY, hatch="--", label="copies")
    ax.set(title="oversampling", xlabel="slice", ylabel="rows", xticks=original.index, ylim=(0, 1.3 * everything.max()))
    ax.legend(frameon=False, ncols=2, loc="upper center")


def draw_nodes(ax, copies):
    """Rows of every slice by node; paler what de-duplication drops."""
    bottom = np.zeros(SLICES)
    for node, colour in enumerate(NODE_COLOURS):
        for kept, alpha in ((True, 1.0), (False, 0.3)):
            part = select(copies, node=node, kept=kept)
            counts = part.groupby("slice").size().reindex(range(SLICES), fill_value=0)
            label = f"node {node + 1}" if kept else None
            ax.bar(counts.index, counts, bottom=bottom, color=colour, alpha=alpha, label=label)
            bottom += counts.to_numpy()
    ax.set(title="dealing (pale: dropped)", xlabel="slice", xticks=range(SLICES), ylim=(0, 1.3 * bottom.max()))
    ax.legend(frameon=False, ncols=3, loc="upper center", columnspacing=1)


STUDY = Study("figure2", cells, measure, draw, warm=warm)

if __name__ == "__main__":
    main(STUDY)
