"""The theory: risk against Theorem 4.1's bound, variance against N~, N~ against l N, and the orders of the cost.

    python experiments/bounds.py [--scale reduced|full] [--jobs 2]

risk: two gaussian bumps, a function that is in the kernel's space and whose norm is known; the risk in the law of the
nodes' rows, as the theorem has it, beside the bound's three terms. variance: exactly, given inputs and allocation,
over that of the noise; also for nodes that are independent, as the theorem assumes. size: N~ and operations as
planned, without a fit.
"""

from pathlib import Path

import numpy as np
from drawing import BLUE, GRAY, GREEN, PURPLE, RED, STYLES, VERSION_NAMES, YELLOW, legend, log_along, panels, save
from effects import select, summary
from fits import METHODS, PENALTIES, cut_as, fitted, given
from study import Study, main
from theory import variance

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.kernels import Kernel
from skewridge.nodes.partition import make_plan
from skewridge.response.allocation import allocate
from skewridge.response.slices import slice_quietly
from skewridge.theory import kernel_spectrum, risk_bound

NEEDS = (Path(variance.__file__),)  # sources of what is measured here
NOISE, BANDWIDTH, K = 0.02, 0.2, 20
CENTERS, WEIGHTS = np.array([[0.4, 0.4], [0.7, 0.7]]), np.array([1.0, 0.4])
BUMPS = Kernel("gaussian", BANDWIDTH)
NORM = float(np.sqrt(WEIGHTS @ BUMPS.gram(CENTERS) @ WEIGHTS))
SPECTRUM_ROWS, POINTS = 1000, 500
DEALT = ("classical", "tau=1/5", "tau=1/2", "oversampled")
VERSIONS = ("rule", "node", "tuned")
SCALES = {
    "tiny": {"N": (60, 90), "variance": 90, "k": 3, "sizes": (1000, 3000), "seeds": 2},
    "reduced": {"N": (1000, 2000, 4000), "variance": 2000, "k": K, "sizes": (10**4, 10**5, 10**6), "seeds": 5},
    "full": {"N": (1000, 2000, 4000, 8000), "variance": 2000, "k": K, "sizes": (10**4, 10**5, 10**6), "seeds": 100},
}


def cells(scale):
    size = SCALES[scale]
    return [cell for seed in range(size["seeds"]) for cell in [
        *(cell_of("risk", N, size["k"], method, version, seed) for N in size["N"]
          for method in ("classical", "oversampled") for version in VERSIONS),
        *(cell_of("variance", size["variance"], size["k"], method, version, seed)
          for method in (*DEALT, "independent") for version in VERSIONS),
        *(cell_of("size", N, k, method, "exact", seed) for N in size["sizes"] for k in (100, 0)
          for method in ("classical", "l=5", "oversampled") if seed == 0),
    ]]  # fmt: skip


def cell_of(part, N, k, method, version, seed):
    return {"part": part, "N": N, "k": k, "method": method, "version": version, "seed": seed}


def measure(cell):
    return {"risk": measure_risk, "variance": measure_variance, "size": measure_size}[cell["part"]](cell)


def bumps(N, seed):
    """Rows of the function in the kernel's space."""
    rng = np.random.default_rng(seed)
    X = rng.random((N, 2))
    return X, BUMPS.cross(X, CENTERS) @ WEIGHTS + NOISE * rng.standard_normal(N)


def nodes_of(y, cell, seed):
    """The rows of every node."""
    return allocate(cut_as(y, METHODS[cell["method"]]), cell["k"], seed)


def measure_risk(cell):
    """The risk in the law of the nodes' rows, of which another data set's nodes are a sample, and the bound."""
    X, y = bumps(cell["N"], cell["seed"])
    settings = given(cell["method"], cell["version"], y, cell["k"], 2, BANDWIDTH)
    settings |= {"bandwidth": BANDWIDTH, "fit_intercept": False}  # the bound is that of this kernel's space
    model = DacKernelRidge(**settings, random_state=cell["seed"]).fit(X, y)
    X_new, y_new = bumps(cell["N"], cell["seed"] + 10_000)
    points = X_new[nodes_of(y_new, cell, cell["seed"]).rows]
    risk = float(np.mean((model.predict(points) - BUMPS.cross(points, CENTERS) @ WEIGHTS) ** 2))
    sample = np.random.default_rng(0).choice(len(points), min(SPECTRUM_ROWS, len(points)), replace=False)
    bound = risk_bound(
        kernel_spectrum(points[sample], "gaussian", BANDWIDTH),
        float(model.penalty_),
        node_size=model.n_distinct_ / cell["k"],
        n_nodes=cell["k"],
        noise=NOISE,
        norm=NORM,
    )
    return {"value": risk, "bound": bound.total, "bias": bound.bias, "variance": bound.variance,
            "remainder": bound.remainder, "n_distinct": model.n_distinct_}  # fmt: skip


def measure_variance(cell):
    """The average's variance over the noise's, at points of the law of x."""
    X, y, points, _ = make_peaks(cell["N"], 2, random_state=cell["seed"], return_test=True)
    points = points[:: len(points) // POINTS]
    if cell["method"] == "independent":
        X, nodes, cell = independent_nodes(cell)
    else:
        nodes = list(nodes_of(y, cell, cell["seed"]))
    size = float(np.mean([len(rows) for rows in nodes]))
    bandwidth, penalty = settings_of(cell, y, size)
    found = variance.variance_of(X, nodes, Kernel("gaussian", bandwidth), penalty, points)
    return {"value": found, "n_distinct": sum(map(len, nodes))}


def settings_of(cell, y, size):
    """Bandwidth and penalty: by a rule, or as leave-one-out chooses them for this method."""
    if cell["version"] != "tuned":
        return 0.1, PENALTIES[cell["version"]](cell["N"], size)
    X, y = make_peaks(cell["N"], 2, random_state=cell["seed"])
    model = fitted(cell["method"], "tuned", X, y, cell["k"], None, cell["seed"])
    return model.bandwidth_, float(model.penalty_)


def independent_nodes(cell):
    """Nodes of Algorithm 2's law that share nothing: every one from N rows of its own."""
    cell = {**cell, "method": "oversampled"}
    rows = []
    for i in range(cell["k"]):
        X, y = make_peaks(cell["N"], 2, random_state=1000 * (cell["seed"] + 1) + i)
        rows.append(X[nodes_of(y, cell, cell["seed"])[0]])
    ends = np.cumsum([len(part) for part in rows])
    return np.concatenate(rows), np.split(np.arange(ends[-1]), ends[:-1]), cell


def measure_size(cell):
    """l, N~ and operations of a fit to two peaks in two features; k = 0 takes as many nodes as Scott has slices."""
    _, y = make_peaks(cell["N"], 2, random_state=cell["seed"])
    cut = cut_as(y, METHODS[cell["method"]])
    nodes = cell["k"] or len(slice_quietly(y))
    plan = make_plan(cut, nodes, 2)
    return {"value": plan.n_distinct, "n_nodes": nodes, "n_slices": len(cut), "flops": plan.n_flops,
            "n_oversampled": plan.n_oversampled}  # fmt: skip


def draw(table, folder):
    draw_risk(select(table, part="risk"), folder)
    draw_rest(table, folder)


RISK_STYLES = {
    "bound": ("bound, in all", "black", "-", "D"),
    "bias": ("bound: squared bias", BLUE, "--", "^"),
    "variance": ("bound: variance", PURPLE, "-.", "v"),
    "remainder": ("bound: remainder", YELLOW, ":", "o"),
    "value": ("risk", RED, "-", "s"),
}


def draw_risk(table, folder):
    figure, axes = panels(2, len(VERSIONS))
    for line, method in zip(axes, ("classical", "oversampled"), strict=True):
        for ax, version in zip(line, VERSIONS, strict=True):
            for column, (label, colour, line_style, marker) in RISK_STYLES.items():
                told = summary(select(table, method=method, version=version), "N", column)
                ax.errorbar(told["N"], told["mean"], told["error"], color=colour, marker=marker, markersize=3.5,
                            capsize=2, linestyle=line_style, label=label)  # fmt: skip
            log_along(ax, sorted(table["N"].unique()), "N")
            ax.set(yscale="log", ylabel="squared error")
            ax.set_title(f"{STYLES[method][0]}\n{VERSION_NAMES[version]}")
    legend(figure, axes)
    save(figure, folder, "bounds_risk")


def draw_rest(table, folder):
    figure, axes = panels(1, len(VERSIONS) + 1)
    for ax, version in zip(axes[0], VERSIONS, strict=False):
        draw_variance(ax, select(table, part="variance", version=version))
        ax.set_title(f"variance\n{VERSION_NAMES[version]}")
    draw_sizes(axes[0, -1], select(table, part="size", k=100))
    legend(figure, axes)
    save(figure, folder, "bounds")


def draw_variance(ax, table):
    """Measured, and what 1/N~ promises from the classical method's."""
    told = summary(table, "method", "value").set_index("method")
    sizes = table.groupby("method")["n_distinct"].mean()
    values = told.loc[list(DEALT)]
    ax.errorbar(sizes[list(DEALT)], values["mean"], values["error"], color=RED, marker="s", capsize=2,
                label="Algorithm 2, τ rising")  # fmt: skip
    promised = told.loc["classical", "mean"] * sizes["classical"] / sizes[list(DEALT)]
    ax.plot(sizes[list(DEALT)], promised, "--", color=GRAY, label="as 1/N~ promises")
    alone = told.loc["independent"]
    ax.errorbar(sizes["independent"], alone["mean"], alone["error"], fmt="*", color=GREEN, markersize=9, capsize=2,
                label="independent nodes")  # fmt: skip
    log_along(ax, sorted(sizes[list(DEALT)].round()), "N~")
    ax.set(yscale="log", ylabel="variance / noise variance")


def draw_sizes(ax, table):
    for method, line in (("l=5", "--"), ("oversampled", "-")):
        part = select(table, method=method).sort_values("N")
        ax.plot(part["N"], part["value"] / part["N"], line, color=RED, marker="s", label=f"N~/N, {STYLES[method][0]}")
        ax.plot(part["N"], part["n_slices"], line, color=GRAY, marker="o", label=f"slices, {STYLES[method][0]}")
    log_along(ax, sorted(table["N"].unique()), "N")
    ax.set(yscale="log", title="N~ ≤ l N, k = 100", ylabel="N~/N, and slices l")


STUDY = Study("bounds", cells, measure, draw)

if __name__ == "__main__":
    main(STUDY)
