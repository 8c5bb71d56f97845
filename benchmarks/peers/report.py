"""The docs page of the comparison with peers, from benchmarks/peers/results.csv.

python benchmarks/peers/report.py      writes docs/peers.md and docs/images/peers_mse.png and peers_rare.png
"""

import csv
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
OURS = "AdaptiveKernelRidge"
ERRORS = {"mse": "overall", "rare": "rare region", "balanced": "balanced"}
FRONTS = ("mse", "rare")
COLOURS = {
    OURS: "#CC3311",
    "DacKernelRidge": "#CC3311",
    "KernelRidge": "black",
    "Nystroem": "#4477AA",
    "HistGB": "#228833",
    "LightGBM": "#CCBB44",
    "CatBoost": "#EE8866",
    "GPBoost": "#AA3377",
    "dask-ml blocks": "#33BBEE",
    "resreg": "#777777",
}

HEAD = """# Peers

What users would pick instead, each in its own process on the same rows, one thread each, peers in an environment of
their own (`make bench-peers` goes on with the table there is, `python benchmarks/peers/run.py --afresh` begins another;
how each is tuned and called stands in `benchmarks/peers/methods.py`). Seconds are the processor's, after a first fit of
500 rows, so that imports and compilation count for none; errors are squared errors over the variance of the response,
memory is peak resident. At most 3,000 rows of a real set are fitted and 3,000 others predicted; the toy's errors are
against the noise-free truth. **Bold**: no other method is both faster (tuning, fit and prediction together) and better,
overall or in the rare region. One split each: differences of a few hundredths between methods mean little.

Kernel methods are tuned by a 3-fold grid search of 9 bandwidths and 6 penalties on 2,000 rows, each on its own
transformed or weighted response; dask-ml's blocks and resreg's bags of kernel ridge regressions share the search of the
plain one. Nystroem + Ridge has 1,000 components (300 for a million rows). Boosted trees and GPBoost run with their
defaults. "log" fits log(y + shift) with the least value at a thousandth of the range, "quantile" normal scores,
"weights" weights rows by the inverse density of their response. Not run, for their time and memory: KernelRidge on more
than 10,000 rows, GPBoost, dask-ml's blocks, resreg and DacKernelRidge on more than 60,000.
"""

WHY = """
Where it is not on a front the winner is nearly always a boosted tree, for one of two reasons. Choosing centres,
bandwidth, penalty and feature scales honestly takes seconds even on a few thousand rows, and trees with their
defaults choose nothing: where both are level in error (diamonds, Melbourne, cpuSm) trees are ahead in time. And on
tables with dozens of columns, many of them categories (the cars: Accel, availPwr, fuelCons, maxTorque), splits find the
few columns that matter sooner than learned scales do.
"""

WEIGHTED = """
In the rare region it is most often boosted trees with rows weighted by the inverse density of their response. They pay
elsewhere: on the {count} sets where "HistGB, weights" has a smaller rare-region error than ours, its overall error is
{worse:.2f} times ours and {plain:.2f} times that of trees without weights (geometric means). The default aims at the
overall error; [which estimator](which.md) shows what aiming at the rare region does.
"""

WAITING = """
The real sets are not in this table yet: [learned scales](features.md) has LightGBM and CatBoost on fourteen of them,
and [which estimator](which.md) what users try first.
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


def ahead(method, rows, error):
    """The methods that are faster and better, the best first."""
    own = rows[method]
    names = [n for n, r in rows.items() if seconds(r) < seconds(own) and float(r[error]) < float(own[error])]
    return sorted(names, key=lambda name: float(rows[name][error]))


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
    best = {error: min(done, key=lambda method: float(done[method][error])) for error in FRONTS}
    told = [f"Best overall: {best['mse']}; best in the rare region: {best['rare']}."]
    if OURS not in done:
        return " ".join([*told, f"{OURS} did not finish."])
    front = [ERRORS[error] for error in FRONTS if on_front(OURS, done, error)]
    told.append(f"{OURS} is on the front: {' and '.join(front)}." if front else f"{OURS} is on neither front.")
    told += [beaten(done, error) for error in FRONTS if not on_front(OURS, done, error)]
    return " ".join(told)


def beaten(done, error):
    """Who is faster and better, and by how much."""
    name = ahead(OURS, done, error)[0]
    better = float(done[name][error]) / float(done[OURS][error])
    faster = seconds(done[OURS]) / seconds(done[name])
    return f"{ERRORS[error].capitalize()}, {name} has {better:.2f} of its error {faster:.1f} times faster."


def on_front(method, rows, error):
    """Whether no other method is faster and better."""
    return not ahead(method, rows, error)


def weighted(table):
    """What weighting rows by inverse density costs where it pays."""
    names = (OURS, "HistGB, weights", "HistGB")
    found = [[rows[name] for name in names] for rows in table.values() if all(finished(rows[name]) for name in names)]
    errors = np.array([[float(row["mse"]) for row in three] for three in found if rarer(*three[:2])])
    if not len(errors):
        return ""
    worse, plain = (np.exp(np.mean(np.log(errors[:, 1] / errors[:, column]))) for column in (0, 2))
    return WEIGHTED.format(count=len(errors), worse=worse, plain=plain)


def rarer(row, other):
    """Whether the other has the smaller rare-region error."""
    return float(other["rare"]) < float(row["rare"])


def style(method):
    """Colour by family, marker by what is done to the response; ours are red."""
    family, _, variant = method.partition(", ")
    marker = {"": "o", "log": "^", "quantile": "v", "weights": "D", OURS: "*", "DacKernelRidge": "s"}
    own = family in (OURS, "DacKernelRidge")
    return {
        "color": COLOURS[family],
        "marker": marker[family if own else variant],
        "markersize": 13 if family == OURS else 6,
        "zorder": 3 if own else 2,
    }


def draw(table, error, path):
    import matplotlib.pyplot as plt

    columns = min(4, len(table))
    lines = -(-len(table) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.2 * columns, 2.8 * lines), layout="constrained", squeeze=False
    )
    for ax in axes.flat[len(table) :]:
        ax.set_axis_off()
    seen = {}
    for ax, (key, rows) in zip(axes.flat, table.items(), strict=False):
        done = {method: row for method, row in rows.items() if finished(row)}
        for method, row in done.items():
            (seen[method],) = ax.plot(seconds(row), float(row[error]), linestyle="", label=method, **style(method))
        front = sorted((seconds(done[m]), float(done[m][error])) for m in done if on_front(m, done, error))
        ax.step(*zip(*front, strict=True), where="post", color="0.4", lw=0.9, zorder=1)
        ax.set(title=key[0], xscale="log", yscale="log")
        ax.tick_params(which="both", labelsize=7)
        low, high = ax.get_xlim()
        shown = [n for n in (0.5, 1, 2, 5, 10, 20, 50, 100, 200) if low <= n <= high]
        ax.set_xticks(shown, [f"{n:g}" for n in shown])
        ax.set_xticks([], minor=True)
    figure.supxlabel("processor seconds to tune, fit and predict")
    figure.supylabel(f"squared error / variance, {ERRORS[error]}")
    figure.legend(handles=list(seen.values()), loc="outside upper center", ncols=6, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    table = read()
    machine = f"\nMachine: {(HERE / 'machine.txt').read_text().strip()}.\n"
    count = sum(
        any(on_front(OURS, done, error) for error in FRONTS)
        for done in ({m: r for m, r in rows.items() if finished(r)} for rows in table.values())
        if OURS in done
    )
    summary = (
        f"\n{OURS} with defaults is on the overall or the rare-region front on {count} of {len(table)} data sets.\n"
    )
    body = "\n".join(section(key, rows) for key, rows in table.items())
    (DOCS / "peers.md").write_text(
        HEAD
        + machine
        + summary
        + (WHY + weighted(table) if count < len(table) else "")
        + (WAITING if all(name.startswith("toy") for name, *_ in table) else "")
        + "".join(f"\n![{ERRORS[e]}](images/peers_{e}.png)\n" for e in FRONTS)
        + body
        + "\n"
    )
    for error in FRONTS:
        draw(table, error, DOCS / "images" / f"peers_{error}.png")


if __name__ == "__main__":
    main()
