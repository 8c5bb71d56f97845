"""Summarise the study: regret of every criterion, as a Markdown table and a picture.

python experiments/tuning/report.py [results.csv ...]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
PICTURE = HERE.parents[1] / "docs" / "images" / "tuning_regret.png"
NAMES = {"loo": "loo (auto)", "dgcv": "dgcv", "cv": "cv", "gcv": "gcv", "cp": "cp", "rule": "median + rule"}
COLOURS = {1: "#4477AA", 2: "#CC3311"}


def read(paths):
    rows = []
    for path in paths:
        with open(path) as file:
            rows += list(csv.DictReader(file))
    return rows


def cell(row):
    return tuple(int(row[name]) for name in ("N", "d", "peaks", "algorithm"))


def summary(rows, criterion):
    """(median, 95th percentile, largest, worst cell's median, that cell, medians by cell)."""
    mine = [row for row in rows if row["criterion"] == criterion]
    regrets = np.array([float(row["regret"]) for row in mine])
    medians = {c: np.median([float(r["regret"]) for r in mine if cell(r) == c]) for c in {cell(r) for r in mine}}
    worst = max(medians, key=medians.get)
    return np.median(regrets), np.quantile(regrets, 0.95), regrets.max(), medians[worst], worst, medians


def draw(rows):
    figure, axes = plt.subplots(1, len(NAMES), figsize=(14, 4.2), sharey=True, layout="constrained")
    cells = sorted({cell(row) for row in rows}, key=lambda c: (c[3], c[1], c[0], c[2]))
    for ax, (criterion, name) in zip(axes, NAMES.items(), strict=True):
        for place, c in enumerate(cells):
            values = [float(r["regret"]) for r in rows if r["criterion"] == criterion and cell(r) == c]
            ax.plot([place] * len(values), values, ".", color=COLOURS[c[3]], alpha=0.25, markersize=4)
            ax.plot(place, np.median(values), "_", color=COLOURS[c[3]], markersize=9, markeredgewidth=2.5)
        ax.axhline(1, color="0.6", linewidth=0.8)
        ax.set(title=name, yscale="log", xticks=[])
        ax.set_xlabel("settings: Algorithm 1, then 2;\nd = 1, 2, 4, 6 from left to right", fontsize="small")
    axes[0].set(ylabel="error / least error", ylim=(0.8, 100))
    figure.savefig(PICTURE, dpi=130)


def main():
    rows = read(sys.argv[1:] or [HERE / "results.csv"])
    seeds = len({row["seed"] for row in rows})
    optima = {(cell(row), row["seed"]): row["interior"] == "True" for row in rows}
    print(
        f"{len(optima)} data sets, {seeds} seeds; the least error is interior in {np.mean(list(optima.values())):.1%}\n"
    )
    print("| penalty | median regret | 95th percentile | largest | worst setting's median | (N, d, peaks, algorithm) |")
    print("|---|---|---|---|---|---|")
    for criterion, name in NAMES.items():
        median, high, largest, worst, where, _ = summary(rows, criterion)
        print(f"| {name} | {median:.2f} | {high:.2f} | {largest:.3g} | {worst:.2f} | {where} |")
    print("\nMedian regret of loo in every setting:\n")
    print("| N | d | peaks | Algorithm 1 | Algorithm 2 |\n|---|---|---|---|---|")
    medians = summary(rows, "loo")[5]
    for N, d, peaks in sorted({c[:3] for c in medians}):
        print(f"| {N:,} | {d} | {peaks} | {medians[N, d, peaks, 1]:.2f} | {medians[N, d, peaks, 2]:.2f} |")
    draw(rows)


if __name__ == "__main__":
    main()
