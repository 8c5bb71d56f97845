"""Learned feature scales against standard ones on every real data set, beside LightGBM and CatBoost.

    python benchmarks/learned_scales.py [--splits 10] [--rows 5000] [--only sgemm] [--jobs 2] [--keep splits.jsonl]
                                        [--spoil noise | permuted]

80% of the rows (at most --rows) are fitted, at most 10,000 others tested, all defaults; the peers run with theirs in
the environment of `make bench-peers`. Limits: "auto" over "standard" 1.02 for every set, geometric mean 0.85; at most
LightGBM's error on half of the sets. --spoil adds 20 columns of noise, or permutes the response, and leaves the peers
out; the limit is 1.02 again.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from data import load, names
from kept import Kept

from skewridge import AdaptiveKernelRidge
from skewridge.metrics import rare_mse

PEERS = Path(__file__).parents[1] / ".venv-peers" / "bin" / "python"
NOISE_COLUMNS = 20
WORKER = Path(__file__).parent / "peers" / "worker.py"


def ours(X, y, new, settings):
    """The prediction and the seconds that it took, tuning and all."""
    start = time.perf_counter()
    prediction = AdaptiveKernelRidge(**settings).fit(X, y).predict(new)
    return prediction, time.perf_counter() - start


def theirs(method, X, y, new):
    """The same for a peer, in its own process."""
    with tempfile.TemporaryDirectory() as folder:
        data, target = Path(folder) / "data.npz", Path(folder) / "prediction.npy"
        np.savez(data, X=X, y=y, new=new)
        command = [str(PEERS), str(WORKER), method, str(data), str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return np.load(target), sum(json.loads(done.stdout.splitlines()[-1])[:3])


def spoiled(X, y, how, rng):
    """The data as they are, with columns of noise, or with the response permuted."""
    if how == "noise":
        return np.column_stack([X, rng.normal(size=(len(X), NOISE_COLUMNS))]), y
    return X, rng.permutation(y) if how == "permuted" else y


def split_errors(X, y, split, most, how, n_jobs):
    """Overall and rare-region errors over the variance, and seconds, of each method."""
    X, y = spoiled(X, y, how, np.random.default_rng([split, 1]))
    order = np.random.default_rng(split).permutation(len(y))
    n = min(int(0.8 * len(y)), most)
    train, test = order[:n], order[n:][-10_000:]
    data = X[train], y[train], X[test]
    runs = [
        ours(*data, {"scale_features": scale, "random_state": split, "n_jobs": n_jobs})
        for scale in ("standard", "auto")
    ]
    runs += [theirs(method, *data) for method in ("LightGBM", "CatBoost") if not how]
    scale = y[test].var()
    return [
        [float(np.mean((fit - y[test]) ** 2) / scale), float(rare_mse(y[test], fit, y_ref=y[train]) / scale), seconds]
        for fit, seconds in runs
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--spoil", choices=["", "noise", "permuted"], default="")
    options = parser.parse_args()
    if not (options.spoil or PEERS.exists()):
        sys.exit("The peers' environment is missing: run `make bench-peers` once, or `make .venv-peers/.ready`.")
    warnings.simplefilter("ignore")
    ratios, ahead, kept = [], 0, Kept(options.keep)
    print(
        f"{'':30}{'auto/standard':>15}{'rare':>8}{'standard':>10}{'auto':>10}{'LightGBM':>10}{'CatBoost':>10}  seconds"
    )
    for name in names():
        if options.only and not any(part in name for part in options.only):
            continue
        X, y = load(name)
        keys = [(name, split, options.rows, options.spoil) for split in range(options.splits)]
        found = np.array([kept(key, split_errors, X, y, *key[1:], options.jobs) for key in keys])
        logs = np.log(found[:, :, :2])
        means = np.exp(logs.mean(axis=0))
        ratio, rare = np.exp((logs[:, 1] - logs[:, 0]).mean(axis=0))
        ratios.append(ratio)
        ahead += bool(means[1, 0] <= means[-2, 0]) and not options.spoil
        seconds = " ".join(f"{v:.1f}" for v in found[:, :, 2].mean(axis=0))
        print(f"{name:30}{ratio:15.3f}{rare:8.3f}{''.join(f'{v:10.4f}' for v in means[:, 0])}  {seconds}", flush=True)
    print(
        f"auto over standard: geometric mean {np.exp(np.mean(np.log(ratios))):.3f}, largest {max(ratios):.3f}; "
        f"level with LightGBM or ahead on {ahead} of {len(ratios)} sets"
    )


if __name__ == "__main__":
    main()
