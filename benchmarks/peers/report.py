"""The docs page of the comparison with peers, from benchmarks/peers/results.csv.

python benchmarks/peers/report.py      writes docs/peers.md and docs/images/peers.png
"""

import csv
import os
import platform
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
OURS = "AdaptiveKernelRidge"
ERRORS = {"mse": "overall", "rare": "rare region", "balanced": "balanced"}

HEAD = """# Peers

What users would pick instead, each in its own process and environment on the same rows and 2 threads
(`make bench-peers`; how each is tuned stands in `benchmarks/peers/methods.py`): errors are squared errors over the
variance of the response, memory is peak resident. At most 10,000 rows of a real set are fitted. **Bold**: no other
method is both faster (tuning, fit and prediction together) and better, overall or in the rare region.
"""


def read():
    """data set -> method -> row of numbers; methods that did not finish have None."""
    table = {}
    with (HERE / "results.csv").open() as file:
        for row in csv.DictReader(file):
            cells = table.setdefault((row["data"], row["rows"], row["features"]), {})
            cells[row["method"]] = row
    return table


def finished(row):
    return bool(row["mse"])


def seconds(row):
    return sum(float(row[name]) for name in ("tune", "fit", "predict"))


def on_front(method, rows, error):
    """Whether no other method is faster and better."""
    own = rows[method]
    return not any(
        seconds(row) < seconds(own) and float(row[error]) < float(own[error])
        for name, row in rows.items()
        if name != method
    )


def section(key, rows):
    name, n_rows, n_features = key
    done = {method: row for method, row in rows.items() if finished(row)}
    lines = [
        f"\n## {name}\n",
        f"{int(n_rows):,} rows, {n_features} features. {verdict(done)}\n",
        "| method | tune s | fit s | predict s | GB | overall | rare region | balanced |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method, row in sorted(rows.items(), key=lambda item: float(item[1]["mse"] or np.inf)):
        if method not in done:
            lines.append(f"| {method} | {row['tune']} | | | | | | |")
            continue
        times = " | ".join(f"{float(row[name]):.1f}" for name in ("tune", "fit", "predict"))
        cells = [
            f"**{float(row[error]):.3g}**"
            if error != "balanced" and on_front(method, done, error)
            else f"{float(row[error]):.3g}"
            for error in ERRORS
        ]
        lines.append(f"| {method} | {times} | {float(row['gigabytes']):.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict(done):
    """Who wins."""
    best = {error: min(done, key=lambda method: float(done[method][error])) for error in ("mse", "rare")}
    front = [ERRORS[error] for error in ("mse", "rare") if OURS in done and on_front(OURS, done, error)]
    ours = f"{OURS} is on the front: {' and '.join(front)}." if front else f"{OURS} is not on the front."
    return f"Best overall: {best['mse']}; best in the rare region: {best['rare']}. {ours}"


def draw(table, path):
    import matplotlib.pyplot as plt

    columns = 4
    figure, axes = plt.subplots(
        -(-len(table) // columns), columns, figsize=(4 * columns, 3 * (-(-len(table) // columns))), layout="constrained"
    )
    for ax in axes.flat[len(table) :]:
        ax.set_axis_off()
    for ax, (key, rows) in zip(axes.flat, table.items(), strict=False):
        done = {method: row for method, row in rows.items() if finished(row)}
        for method, row in done.items():
            ours = method in (OURS, "DacKernelRidge")
            ax.plot(seconds(row), float(row["rare"]), "o", color="tab:red" if ours else "0.5")
            ax.annotate(method, (seconds(row), float(row["rare"])), fontsize=5)
        front = sorted((seconds(done[m]), float(done[m]["rare"])) for m in done if on_front(m, done, "rare"))
        ax.step(*zip(*front, strict=True), where="post", color="tab:blue", lw=0.8)
        ax.set(title=key[0], xscale="log", yscale="log")
    figure.supxlabel("seconds to tune, fit and predict")
    figure.supylabel("squared error in the rare region over the variance")
    figure.savefig(path, dpi=110)


def main():
    table = read()
    machine = f"\nMachine: {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.\n"
    count = sum(
        any(on_front(OURS, done, error) for error in ("mse", "rare"))
        for done in ({m: r for m, r in rows.items() if finished(r)} for rows in table.values())
        if OURS in done
    )
    summary = (
        f"\n{OURS} with defaults is on the overall or the rare-region front on {count} of {len(table)} data sets.\n"
    )
    body = "\n".join(section(key, rows) for key, rows in table.items())
    (DOCS / "peers.md").write_text(
        HEAD + machine + summary + "\n![error against time](images/peers.png)\n" + body + "\n"
    )
    draw(table, DOCS / "images" / "peers.png")


if __name__ == "__main__":
    main()
