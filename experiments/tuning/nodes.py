"""How many nodes to try: regret of the pair estimate from q of k = 100 nodes, with and without its standard error.

    python experiments/tuning/nodes.py [--out docs/images/tuning_nodes.png]

Two peaks, d = 1 and 2, N = 10,000, Algorithms 1 and 2; bandwidth and penalty chosen from 10 bandwidths and 20 penalties
jointly by leave-one-out from q random nodes, 40 draws of nodes on each of 2 data sets.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from study import risk_surface

from skewridge.datasets import make_peaks
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.context import using
from skewridge.kernels import Kernel, median_bandwidth
from skewridge.nodes.partition import PartitionSettings, deal_rows
from skewridge.nodes.tuning import PENALTIES, Search, Trial, jackknife_error, pair_risk, sample_rows
from skewridge.response.slices import slice_response

N, K, SEEDS, DRAWS = 10_000, 100, 2, 40
NUMBERS = (3, 5, 8, 12, 20, 32, 64, 100)
OCTAVES = np.arange(-5, 0, 0.5)


def regrets(d, slices, seed):
    """(q, margin) -> regrets over the draws."""
    X, y, X_test, truth = make_peaks(N, d, random_state=seed, return_test=True)
    centred = y - y.mean()
    partition = deal_rows(slice_response(y, slices), K, seed, PartitionSettings(K, slices))
    base = Kernel("gaussian", bandwidth=median_bandwidth(X, "gaussian", seed))
    bandwidths = [base.bandwidth * 2.0**o for o in OCTAVES]
    trial = Trial([partition.node(i) for i in range(K)], *sample_rows(y, 2000 if slices == 1 else 1000, seed))
    search = Search("loo", X, centred, np.ones(N), [trial], base, PENALTIES)
    with using(n_jobs=2):
        search.widen(bandwidths, K)
        products, _ = search.errors(trial, bandwidths, np.ones(N))
    with one_blas_thread():
        risk = risk_surface(X, y, X_test[::5], truth[::5], partition.allocation, bandwidths, PENALTIES)
    rng, found = np.random.default_rng(0), {}
    for q in NUMBERS:
        some = (rng.choice(K, q, replace=False) for _ in range(DRAWS))
        estimates = [pair_risk(products[..., J[:, None], J], K) for J in some]
        for margin in (0, 1):
            picks = (np.argmin(risk + margin * jackknife_error(without)) for risk, without in estimates)
            found[q, margin] = [risk.flat[i] / risk.min() for i in picks]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "docs" / "images" / "tuning_nodes.png")
    out = parser.parse_args().out
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.6), sharey=True, layout="constrained")
    cells = [(d, slices) for d in (1, 2) for slices in (1, "scott")]
    for ax, (d, slices) in zip(axes, cells, strict=True):
        found = [regrets(d, slices, seed) for seed in range(SEEDS)]
        for margin, colour, label in ((0, "#CC3311", "estimate alone"), (1, "#4477AA", "plus one standard error")):
            values = [np.concatenate([f[q, margin] for f in found]) for q in NUMBERS]
            ax.plot(NUMBERS, [np.median(v) for v in values], "o-", color=colour, label=f"median, {label}")
            ax.plot(NUMBERS, [np.quantile(v, 0.9) for v in values], "--", color=colour, label="90th percentile")
            print(
                d,
                slices,
                label,
                [f"{q}: {np.median(v):.2f}/{np.quantile(v, 0.9):.2f}" for q, v in zip(NUMBERS, values, strict=True)],
                flush=True,
            )
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="nodes tried, of 100",
            title=f"d = {d}, Algorithm {1 if slices == 1 else 2}",
        )
        ax.set_ylim(0.95, 300)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("error / least error")
    axes[-1].legend(fontsize="small")
    figure.savefig(out, dpi=130)


if __name__ == "__main__":
    main()
