"""What each level of SkewRidge sees: on one feature with a peak and fine waves, and on California's house prices.

python examples/two_levels.py [--out docs/images]

The prices are read from the folder that SKEWRIDGE_DATA names, and are left out without it.
"""

import argparse
import os
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from skewridge import SkewRidge
from skewridge.metrics import rare_mse

BLUE, ORANGE, GREY, BLACK = "#0072b2", "#d55e00", "#8a929b", "#1b1f24"
WINDOWS = {"all of x": (0.0, 1.0), "the peak": (0.22, 0.28), "some of the waves": (0.64, 0.67)}
TABLE = Path("california_housing", "xy.csv.gz")


def line(x):
    """A trend, a narrow peak, and waves too many for a few hundred centres."""
    waves = 0.15 * np.sin(600 * np.pi * x) * ((x > 0.55) & (x < 0.9))
    return 0.5 * x + np.exp(-0.5 * ((x - 0.25) / 0.006) ** 2) + waves


def members(model, X):
    """Every member's prediction, (n, M): level 1, the local fits, ridge regression."""
    return model._model.members.predict(np.asarray(X, dtype=np.float64))


def cells(model, X, kernel=0):
    """The cell of every row in every partition of a local fit, (n, T)."""
    levels = model._model.members.levels
    local, first = levels.locals[kernel], levels.level_one
    guide = (first.predict(X)[:, 0] - levels.mean) / levels.spread
    scaled = np.column_stack([levels.forms(X)[:, local.used], guide]) * local.scales
    return local.cells.partitions.cells_of(scaled)


def centers(model, X):
    """The rows that are centres of level 1: those whose transformed values are a centre's."""
    level_one = model._level_one
    known = {tuple(row) for row in level_one.centers.tolist()}
    return np.array([tuple(row) in known for row in level_one.transform(X).tolist()])


def strips(ax, model, grid, low, high):
    """One strip for each partition, its cells in two shades."""
    found = cells(model, grid)
    edges = np.linspace(low, high, found.shape[1] + 1)
    for partition, bottom, top in zip(found.T, edges[:-1], edges[1:], strict=True):
        odd = np.cumsum(np.r_[False, np.diff(partition) != 0]) % 2
        ax.fill_between(grid[:, 0], bottom, top - 0.01, where=odd == 1, color=BLUE, alpha=0.55, lw=0)
        ax.fill_between(grid[:, 0], bottom, top - 0.01, where=odd == 0, color=BLUE, alpha=0.2, lw=0)


def draw_line(n_rows):
    """Level 1, the local fit and the blend beside the truth: everywhere, at the peak and in the waves."""
    rng = np.random.default_rng(0)
    x = rng.random(n_rows)
    y = line(x) + rng.normal(0, 0.03, n_rows)
    model = SkewRidge(random_state=0, n_jobs=-1).fit(x[:, None], y)
    grid = np.linspace(0, 1, 8001)[:, None]
    curves = {
        "level 1": members(model, grid)[:, 0],
        "level 2 (matern32)": members(model, grid)[:, 1],
        "blend": model.predict(grid),
    }
    figure, axes = plt.subplots(3, 3, figsize=(9, 7), layout="constrained", width_ratios=[2, 1, 1])
    for row, (name, curve) in zip(axes, curves.items(), strict=True):
        for ax, (title, window) in zip(row, WINDOWS.items(), strict=True):
            inside = (grid[:, 0] >= window[0]) & (grid[:, 0] <= window[1])
            shown = np.flatnonzero((x >= window[0]) & (x <= window[1]))
            wide = title == "all of x"
            ax.plot(x[shown[:2500]], y[shown[:2500]], ".", color=GREY, ms=1 if wide else 3)
            ax.plot(grid[inside], line(grid[inside]), color=BLACK, lw=0.5 if wide else 1, ls="--")
            ax.plot(grid[inside], curve[inside], color=ORANGE, lw=0.8 if wide else 1.4)
            ax.set(xlim=window, **({"ylim": (-0.5, 1.25)} if wide else {}))
        row[0].set_ylabel(name)
    for ax, title in zip(axes[0], WINDOWS, strict=True):
        ax.set_title(title, fontsize="medium")
    places = x[centers(model, x[:, None])]
    axes[0, 0].plot(places, np.full(len(places), -0.3), "|", color=BLUE, ms=12, mew=0.4)
    axes[0, 0].annotate(f"{len(places)} centres", (0.3, -0.18), color=BLUE, fontsize="small")
    strips(axes[1, 0], model, grid, -0.45, -0.2)
    axes[1, 0].annotate("cells of three partitions", (0.3, -0.18), color=BLUE, fontsize="small")
    return figure


def prices(folder, n_rows, seed=0):
    """Names, training rows, test rows and their prices in thousands of dollars."""
    path = folder / TABLE
    names = np.genfromtxt(path, delimiter=",", max_rows=1, dtype=str).tolist()[:-1]
    rows = np.genfromtxt(path, delimiter=",", skip_header=1)
    rows = rows[np.random.default_rng(seed).permutation(len(rows))]
    n = min(n_rows, len(rows) * 3 // 4)
    X, y = rows[:, :-1], rows[:, -1] / 1000.0
    return names, X[:n], X[n:], y[:n], y[n:]


def chart(ax, X, values, title, size=2.0, **style):
    """Rows on the map."""
    dots = ax.scatter(X[:, 0], X[:, 1], c=values, s=size, lw=0, **style)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize="medium")
    return dots


def draw_prices(folder, n_rows):
    """Maps of level 1, of the cells and of what level 2 changes; learned scales; errors of every member."""
    names, X, X_test, y, y_test = prices(folder, n_rows)
    model = SkewRidge(random_state=0, n_jobs=-1).fit(X, y)
    first, blend = members(model, X_test)[:, 0], model.predict(X_test)
    figure = plt.figure(figsize=(9, 8), layout="constrained")
    maps, below = figure.subfigures(2, 1, height_ratios=[1.2, 1])
    one, two, three = maps.subplots(1, 3)
    chart(one, X, "0.8", "")
    chosen = centers(model, X)
    dots = chart(one, X[chosen], y[chosen], f"level 1: {chosen.sum()} centres", size=9, cmap="plasma_r")
    maps.colorbar(dots, ax=one, location="bottom", label="price, thousand dollars")
    found = np.unique(cells(model, X)[:, 0], return_inverse=True)[1]
    dots = chart(two, X, found, f"level 2: {found.max() + 1} cells of one partition", cmap="tab20")
    maps.colorbar(dots, ax=two, location="bottom", label="a colour a cell", ticks=[])
    style = {"cmap": "coolwarm", "vmin": -100.0, "vmax": 100.0}
    dots = chart(three, X_test, blend - first, "blend minus level 1, test rows", size=3, **style)
    maps.colorbar(dots, ax=three, location="bottom", label="thousand dollars")
    left, right = below.subplots(1, 2, width_ratios=[1.4, 1])
    draw_scales(left, model, names)
    draw_errors(right, model, X_test, y, y_test)
    return figure


def draw_scales(ax, model, names):
    """The learned scales of every column, and of level 1 as a coordinate of level 2, over the largest of the fit."""
    tuning = model.tuning_
    guides = np.r_[0.0, tuning.guide_scales[:, 0]]
    scales = np.column_stack([tuning.scales, guides])
    scales = scales / scales.max(axis=1, keepdims=True)
    places = np.arange(len(names) + 1)
    for i, (own, color) in enumerate(zip(scales, (BLUE, ORANGE, GREY), strict=True)):
        label = "level 1" if i == 0 else f"level 2, {tuning.members[i]}"
        ax.barh(places + 0.27 * (i - 1), own, height=0.25, color=color, label=label)
    ax.set_yticks(places, [*(name.replace("_", " ") for name in names), "level 1's prediction"], fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel("learned scale over the largest of the fit", fontsize="small")
    ax.legend(frameon=False, fontsize="small")


def draw_errors(ax, model, X_test, y, y_test):
    """Errors on rows that were not fitted, overall and in the rare region, over the variance of y."""
    predictions = [*members(model, X_test).T, model.predict(X_test)]
    overall = [np.mean((own - y_test) ** 2) / y.var() for own in predictions]
    rare = [rare_mse(y_test, own, y_ref=y) / y.var() for own in predictions]
    pairs = model.blend_weights_.items()
    labels = [*(f"{name} ({weight:.2f})" for name, weight in pairs), "blend"]
    places = np.arange(len(labels))
    for shift, values, color, name in ((-0.2, overall, BLUE, "overall"), (0.2, rare, ORANGE, "rare region")):
        ax.barh(places + shift, values, height=0.36, color=color, label=name)
        for place, value in zip(places, values, strict=True):
            ax.annotate(f" {value:.3f}", (value, place + shift), va="center", fontsize="small")
    ax.set_yticks(places, labels, fontsize="small")
    ax.invert_yaxis()
    ax.set_xlim(0, 1.25 * max(rare))
    ax.set_xlabel("squared error over the variance (weight)", fontsize="small")
    ax.legend(frameon=False, fontsize="small", loc="lower right")


def save(figure, path):
    """Write a picture of few colours, which is a small file."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=110)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(96).save(path, optimize=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--rows", type=int, default=12_000)
    arguments = parser.parse_args()
    save(draw_line(arguments.rows), arguments.out / "two_levels_line.png")
    folder = Path(os.environ.get("SKEWRIDGE_DATA", ""))
    if (folder / TABLE).is_file():
        save(draw_prices(folder, arguments.rows), arguments.out / "two_levels_prices.png")
    else:
        print("SKEWRIDGE_DATA names no folder with california_housing: its picture was left out.")


if __name__ == "__main__":
    main()
