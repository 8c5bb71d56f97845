"""Does the variance of the average fall as 1/N~? For independent nodes, yes; for nodes that share rows, no.

    python experiments/theory/variance.py [--seeds 10]

Variances are exact: given the inputs and the allocation the average is sum_i a_i(x) y_i, and sum_i a_i(x)^2 is its
variance over that of the noise, averaged over points of the law of x. Only inputs and allocations are drawn.

1. Independent nodes of n~ rows, uniform on [0, 1], kernel 1 + min(x, z), penalty 0.01: N~ times the variance against
   its limit, sum_j (mu_j / (mu_j + penalty))^2, from the kernel's known eigenvalues (1/w^2 with w tan w = 1).
2. Two peaks, d = 2, N = 2,000, k = 20, gaussian kernel, penalty 1e-3: Algorithm 1; Algorithm 2 for several tau; and
   independent nodes, each an Algorithm 2 node of N rows of its own. Beside them what 1/N~ promises.

Prints both tables and writes variance.csv beside this file.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from skewridge.datasets import make_peaks
from skewridge.kernels import Kernel
from skewridge.nodes.fit import Problem, relative_variance
from skewridge.nodes.partition import Partition
from skewridge.response.allocation import Allocation, allocate
from skewridge.response.slices import slice_response
from skewridge.theory import effective_dimension

RESULTS = Path(__file__).with_name("variance.csv")
TAUS = (1 / 5, 1 / 2, 1.0)


def known_spectrum(n_values=2000):
    """Eigenvalues of 1 + min(x, z) under the uniform law: f'' = -w^2 f, f(0) = f'(0), f'(1) = 0, so w tan w = 1."""
    roots = [
        brentq(lambda w: w * np.sin(w) - np.cos(w), j * np.pi + 1e-9, (j + 0.5) * np.pi - 1e-9) for j in range(n_values)
    ]
    return 1.0 / np.array(roots) ** 2


def variance_of(X, nodes, kernel, penalty, points):
    """The mean over points of the average's variance over the noise's; nodes are arrays of row ids."""
    allocation = Allocation(np.concatenate(nodes), np.cumsum([0, *map(len, nodes)]))
    y = np.zeros(len(X))
    problem = Problem(X, y, Partition(slice_response(y), allocation, None), kernel, np.full(len(nodes), penalty))
    return float(relative_variance(problem, points, False).mean())


def independent(n, k, seed, penalty=0.01):
    """N~ times the variance of k nodes of n uniform rows each."""
    X = np.random.default_rng(seed).random((n * k, 1))
    points = (np.arange(200)[:, None] + 0.5) / 200
    nodes = np.split(np.arange(n * k), k)
    return n * k * variance_of(X, nodes, Kernel("sobolev", low=(0.0,), high=(1.0,)), penalty, points)


def oversampled(n, k, seed, bandwidth=0.1, penalty=1e-3):
    """Yield (name, N~, variance) of Algorithm 1, Algorithm 2 and independent nodes of Algorithm 2's law."""
    X, y, points, _ = make_peaks(n, 2, random_state=seed, return_test=True)
    kernel, points = Kernel("gaussian", bandwidth), points[::20]
    for tau in (0.0, *TAUS):
        nodes = list(allocate(slice_response(y, "scott", tau), k, seed))
        name = f"Algorithm 2, tau={tau:.2g}" if tau else "Algorithm 1"
        yield name, sum(map(len, nodes)), variance_of(X, nodes, kernel, penalty, points)
    own = [make_peaks(n, 2, random_state=1000 * (seed + 1) + i) for i in range(k)]
    rows = [x[allocate(slice_response(v), k, seed)[0]] for x, v in own]
    nodes = np.split(np.arange(sum(map(len, rows))), np.cumsum([len(r) for r in rows])[:-1])
    yield (
        "independent nodes, tau=1",
        sum(map(len, rows)),
        variance_of(np.concatenate(rows), nodes, kernel, penalty, points),
    )


def first_table(seeds, sizes=(100, 200, 400), numbers=(5, 10, 20, 40)):
    limit = effective_dimension(known_spectrum(), 0.01, order=2)
    for n in sizes:
        for k in numbers:
            found = np.mean([independent(n, k, seed) for seed in range(seeds)])
            yield {"table": 1, "nodes": "independent", "n": n, "k": k, "N~": n * k, "variance": found / (n * k),
                   "promised": limit / (n * k), "ratio": found / limit}  # fmt: skip


def second_table(seeds, n=2000, k=20):
    runs = [list(oversampled(n, k, seed)) for seed in range(seeds)]
    base = np.mean([run[0][2] for run in runs])
    for column in zip(*runs, strict=True):
        size, variance = (np.mean([entry[i] for entry in column]) for i in (1, 2))
        promised = base * n / size
        yield {"table": 2, "nodes": column[0][0], "n": round(size / k), "k": k, "N~": round(size), "variance": variance,
               "promised": promised, "ratio": variance / promised}  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    records = [*first_table(seeds), *second_table(seeds)]
    print(f"{'':28}{'n~':>6}{'k':>4}{'N~':>8}{'variance':>11}{'promised':>11}{'ratio':>7}")
    for r in records:
        print(
            f"{r['nodes']:28}{r['n']:6}{r['k']:4}{r['N~']:8}{r['variance']:11.5f}{r['promised']:11.5f}{r['ratio']:7.2f}"
        )
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, records[0])
        writer.writeheader()
        writer.writerows(records)


if __name__ == "__main__":
    main()
