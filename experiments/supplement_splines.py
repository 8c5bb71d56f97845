"""The supplement's study of smoothing splines: what tau, the slices and the nodes do to the average at d = 4.

    python experiments/supplement_splines.py [--scale reduced|full] [--jobs 2]

Main effects and all two-way interactions, the terms' shares as they start; the penalty by the rate of cubic splines,
N^(-4/5), by the same rule in the node size, or by every node's own GCV ("tuned"). Errors at 2,500 Sobol points.
"""

import time

import numpy as np
import pandas
from drawing import COLUMN_NAMES, STYLES, VERSION_NAMES, against_flops, curve, legend, log_along, panels, save
from effects import select
from fits import METHODS, TAUS, cut_as, make_data
from study import Study, main

from skewridge import DacRegressor
from skewridge.metrics import rare_mse
from skewridge.response.allocation import expected_node_size

D, EVERY = 4, 4  # features; every fourth test point
FUNCTIONS = ("one peak", "two peaks")
RULES = ("l=10", "sturges", "oversampled", "fd")
ADDED = ("focus", "pilot", "full", "adaptive knots")
PENALTIES = {"rule": lambda N, n: N**-0.8, "node": lambda N, n: n**-0.8, "tuned": lambda N, n: "auto"}
SCALES = {
    "tiny": {"N": 90, "k": (2, 3), "usual": 2, "taus": ("1/5",), "seeds": 2},
    "reduced": {"N": 3000, "k": (10, 20, 40), "usual": 20, "taus": ("1/5", "1/2"), "seeds": 3},
    "full": {"N": 10_000, "k": (10, 20, 40, 80), "usual": 20, "taus": TAUS, "seeds": 100},
}
NAMES = {**VERSION_NAMES, "rule": "penalty $N^{-4/5}$", "node": "penalty $n^{-4/5}$", "tuned": "GCV in every node"}


def lacking():
    """None, or that the splines are not part of the library."""
    import skewridge

    return None if "SmoothingSpline" in skewridge.__all__ else "this version of skewridge has no SmoothingSpline."


def cells(scale):
    size = SCALES[scale]
    usual = size["usual"]
    pairs = dict.fromkeys([
        *((f"tau={tau}", usual) for tau in size["taus"]),
        *((rule, usual) for rule in RULES),
        *((method, k) for k in size["k"] for method in ("classical", "oversampled")),
        *((method, 1 if method in ("full", "adaptive knots") else usual) for method in ADDED),
    ])  # fmt: skip
    return [
        {"function": function, "N": size["N"], "d": D, "k": k, "method": method, "version": version, "seed": seed}
        for seed in range(size["seeds"])
        for function in FUNCTIONS
        for method, k in pairs
        for version in PENALTIES
    ]


def splines(cell, X, y):
    """An average of splines, fitted."""
    from skewridge import SmoothingSpline

    method, k = cell["method"], cell["k"]
    dealt = METHODS["full" if k == 1 else method]
    penalty = PENALTIES[cell["version"]](len(y), expected_node_size(cut_as(y, dealt), k))
    knots = "adaptive" if method == "adaptive knots" else "random"
    spline = SmoothingSpline(interactions="all", knots=knots, penalty=penalty, theta="start", random_state=0)
    return DacRegressor(spline, k, random_state=cell["seed"], **dealt).fit(X, y)


def measure(cell):
    X, y, X_test, truth = make_data(cell)
    X_test, truth = X_test[::EVERY], truth[::EVERY]
    start = time.process_time()
    model = splines(cell, X, y)
    seconds = time.process_time() - start
    prediction = model.predict(X_test)
    return {
        "mse": float(np.mean((prediction - truth) ** 2)),
        "rare_mse": float(rare_mse(truth, prediction, y_ref=y)),
        "n_slices": len(model.slices_),
        "n_distinct": model.n_distinct_,
        "flops": flops_of(model),
        "seconds": seconds,
    }


def flops_of(model):
    """n (p q)^2 for every node of n rows with p terms over q knots."""
    sizes = zip(model.allocation_.sizes.tolist(), model.estimators_, strict=True)
    return float(sum(n * (len(spline.terms_) * len(spline.knots_)) ** 2 for n, spline in sizes))


def draw(table, folder):
    for version in PENALTIES:
        draw_version(select(table, version=version), version, folder)
    draw_flops(table, folder)


def at_usual_nodes(table):
    """The rows with the number of nodes at which tau was varied."""
    varied = table["method"].str.startswith("tau=")
    return table[table["k"].isin(table.loc[varied, "k"])]


def swept(table):
    """What is varied: name, rows, column along x, and the methods with it."""
    at = at_usual_nodes(table)
    taus = at[at["method"].str.startswith("tau=") | (at["method"] == "oversampled")]
    values = taus["method"].map(lambda m: METHODS[m].get("oversampling", 1.0))
    rules = at[at["method"].isin(RULES)]
    nodes = table[table["method"].isin(("classical", "oversampled"))]
    return (("tau", taus.assign(tau=values)), ("n_slices", rules), ("k", nodes))


def draw_version(table, version, folder):
    rows = [(function, column) for function in FUNCTIONS for column in ("mse", "rare_mse", "seconds")]
    figure, axes = panels(len(rows), 3, height=1.75)
    names = {"tau": "τ", "n_slices": "slices l", "k": "nodes k"}
    for line, (x, part) in zip(axes.T, swept(table), strict=True):
        for ax, (function, column) in zip(line, rows, strict=True):
            draw_sweep(ax, select(part, function=function), x, column)
            values = part.groupby("method")[x].mean().round() if x == "n_slices" else part[x]
            log_along(ax, sorted(values.unique()), names[x])
            ax.set(yscale="log", ylabel=COLUMN_NAMES[column], title=function)
    figure.suptitle(f"Smoothing splines, d = {D}: {NAMES[version]}")
    legend(figure, axes)
    save(figure, folder, f"supplement_splines_{version}")


def draw_sweep(ax, part, x, column):
    if x == "n_slices":  # a rule's number of slices differs a little from seed to seed
        for method in RULES:
            rule = select(part, method=method)
            curve(ax, rule.assign(n_slices=rule["n_slices"].mean()), x, column, method)
    elif x == "tau":
        curve(ax, part, x, column, "oversampled")
    else:
        for method in ("classical", "oversampled"):
            curve(ax, select(part, method=method), x, column, method)


def draw_flops(table, folder):
    figure, axes = panels(len(PENALTIES), 2 * len(FUNCTIONS))
    for line, version in zip(axes, PENALTIES, strict=True):
        for place, function in enumerate(FUNCTIONS):
            pair = line[2 * place : 2 * place + 2]
            part = select(table, function=function, version=version)
            shown = pandas.concat((at_usual_nodes(part), select(part, k=1)))
            against_flops(pair, shown[shown["method"].isin(STYLES)])
            for ax in pair:
                ax.set_title(f"{function}\n{NAMES[version]}")
    legend(figure, axes)
    save(figure, folder, "supplement_splines_flops")


def warm():
    measure({"function": "two peaks", "N": 200, "d": D, "k": 2, "method": "pilot", "version": "tuned", "seed": 0})


STUDY = Study("supplement_splines", cells, measure, draw, warm=warm, lacking=lacking)

if __name__ == "__main__":
    main(STUDY)
