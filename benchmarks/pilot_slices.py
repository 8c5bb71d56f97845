"""Algorithm 2 on pilot slices against Algorithm 2 as published, and with focus: the paper's eight settings.

    python benchmarks/pilot_slices.py [--seeds 3]

d = 1, 2, 4, 6, one and two peaks, N = 10,000, k = 100, bandwidth and penalty chosen by leave-one-out of the average;
squared error against the truth as a ratio to Algorithm 2 as published (overall / rare region).
"""

import argparse
import warnings

import numpy as np

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse

WAYS = {
    "published": {},
    "focus 0.5": {"focus": 0.5},
    "pilot": {"slice_on": "pilot"},
    "pilot, focus 0.5": {"slice_on": "pilot", "focus": 0.5},
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':12}" + "".join(f"{name:>22}" for name in WAYS))
    for d in (1, 2, 4, 6):
        for peaks in (1, 2):
            table = []
            for seed in range(options.seeds):
                X, y, X_test, truth = make_peaks(10_000, d, peaks, random_state=seed, return_test=True)
                row = []
                for way in WAYS.values():
                    model = DacKernelRidge(n_nodes=100, random_state=seed, n_jobs=2, **way).fit(X, y)
                    fitted = model.predict(X_test)
                    row.append((np.mean((fitted - truth) ** 2), rare_mse(truth, fitted, y_ref=y)))
                table.append(row)
            mean = np.mean(table, axis=0)
            cells = "".join(f"{o:14.3f} / {r:5.3f}" for o, r in mean / mean[0])
            print(f"d={d} peaks={peaks}{cells}   mse {mean[0, 0]:.2e}", flush=True)


if __name__ == "__main__":
    main()
