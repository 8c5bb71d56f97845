"""README's picture: error against time on real tables, overall and where the response is rare.

    python benchmarks/two_levels.py --trees PYTHON --kept benchmarks/two_levels.jsonl
    python benchmarks/readme_picture.py [benchmarks/two_levels.jsonl] [--out docs/images]

A small dot is a table, mean of its splits, over CatBoost's; a large one is the geometric mean over tables, each ratio
of errors clipped as the benchmark clips it. One picture for light pages and one for dark ones.
"""

import argparse
import json
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

RUNS = Path(__file__).with_name("two_levels.jsonl")
CLIP = (0.5, 2.0)  # as in two_levels.py
PANELS = {"mse": "overall", "rare": "where the response is rare"}
THEMES = {  # paper, ink, grid, SkewRidge, LightGBM
    "": ("#ffffff", "#1b1f24", "#d5d9de", "#d55e00", "#0072b2"),
    "_dark": ("#0d1117", "#e6edf3", "#3a424c", "#ff9a4d", "#6cb6ff"),
}


LABELS = {"SkewRidge": (10, -52), "LightGBM": (-40, 32)}  # where names stand, in points from their dots


@dataclass(frozen=True)
class Ratios:
    """A method over CatBoost, one number a table: squared errors, those of rare rows, and seconds of a fit."""

    mse: np.ndarray
    rare: np.ndarray
    fit: np.ndarray

    def clipped(self, what):
        return np.clip(getattr(self, what), *CLIP)

    def mean(self, what):
        """The geometric mean; of errors clipped, of seconds as they are."""
        values = self.fit if what == "fit" else self.clipped(what)
        return float(np.exp(np.mean(np.log(values))))


def read(path):
    """The findings of a kept file, by table, split and method."""
    lines = (json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines())
    return {tuple(key): found for key, found in lines}


def over_catboost(runs, method):
    """Ratios of means over the splits that all methods have finished; of every table that has one."""
    methods = {name for *_, name in runs}
    splits = {}
    for table, split in dict.fromkeys(key[:2] for key in runs):
        if all((table, split, name) in runs for name in methods):
            splits.setdefault(table, []).append(split)
    ratios = {}
    for what in ("mse", "rare", "fit"):
        means = [[np.mean([runs[table, s, name][what] for s in own]) for name in (method, "catboost")]
                 for table, own in splits.items()]  # fmt: skip
        ratios[what] = np.array([ours / theirs for ours, theirs in means])
    return Ratios(**ratios)


def draw(found, theme):
    paper, ink, grid, *colours = theme
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 4.1), sharex=True, sharey=True, facecolor=paper)
    for ax, (what, title) in zip(axes, PANELS.items(), strict=True):
        panel(ax, found, what, (paper, ink, grid, colours))
        ax.set_title(title, color=ink, fontsize=11, loc="left")
    axes[0].set_ylabel("squared error, over CatBoost's", color=ink)
    figure.supxlabel("processor seconds of a fit, over CatBoost's", color=ink, fontsize=10)
    figure.tight_layout()
    return figure


def panel(ax, found, what, theme):
    paper, ink, grid, colours = theme
    ax.set(xscale="log", yscale="log", ylim=(0.455, 2.2), facecolor=paper)
    ax.axhline(1, color=ink, lw=0.8)
    ax.axvline(1, color=ink, lw=0.8)
    for (name, ratios), colour in zip(found.items(), colours, strict=False):
        y, beyond = ratios.clipped(what), getattr(ratios, what) != ratios.clipped(what)
        for some, marker in ((~beyond, "o"), (beyond & (y < 1), "v"), (beyond & (y > 1), "^")):
            ax.scatter(ratios.fit[some], y[some], s=22, marker=marker, color=colour, alpha=0.55, lw=0)
        x, mean = ratios.mean("fit"), ratios.mean(what)
        ax.scatter(x, mean, s=170, color=colour, edgecolor=paper, lw=1.5, zorder=3)
        text = {"textcoords": "offset points", "color": colour, "weight": "bold", "fontsize": 9, "zorder": 4}
        ax.annotate(f"{name}\n{mean:.2f}, {x:.2g}x time", (x, mean), LABELS[name], **text)
    ax.scatter(1, 1, s=170, color=ink, edgecolor=paper, lw=1.5, zorder=3)
    ax.annotate("CatBoost", (1, 1), (-60, -17), textcoords="offset points", color=ink, weight="bold", fontsize=9)
    ax.set_yticks([0.5, 0.7, 1, 1.4, 2], ["0.5 or less", "0.7", "1", "1.4", "2 or more"], color=ink)
    ax.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"], color=ink)
    ax.minorticks_off()
    ax.tick_params(colors=ink, labelcolor=ink)
    ax.grid(color=grid, lw=0.5)
    ax.set_axisbelow(True)
    for spine in ax.spines.values():
        spine.set_color(grid)


def save(figure, path):
    """Write a picture of few colours, which is small."""
    held = BytesIO()
    figure.savefig(held, dpi=130, facecolor=figure.get_facecolor())
    plt.close(figure)
    Image.open(held).convert("RGB").quantize(64).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="?", default=RUNS, help="what two_levels.py --kept has written")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    options = parser.parse_args()
    plt.switch_backend("Agg")
    runs = read(options.runs)
    found = {"SkewRidge": over_catboost(runs, "skewridge"), "LightGBM": over_catboost(runs, "lightgbm")}
    for name, ratios in found.items():
        means = ", ".join(f"{what} {ratios.mean(what):.3f}" for what in ("mse", "rare", "fit"))
        print(f"{name} over CatBoost, {len(ratios.fit)} tables: {means}")
    for theme, colours in THEMES.items():
        save(draw(found, colours), options.out / f"error_against_time{theme}.png")


if __name__ == "__main__":
    main()
