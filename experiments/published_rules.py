"""How much of the published advantage survives which penalty: Algorithm 2's MSE over Algorithm 1's.

    python experiments/published_rules.py

Two peaks, d = 1, 2, 4, 6, N = 10,000, k = 100, gaussian kernel, no intercept, 5 seeds; errors against the
noise-free truth at 10,000 points, overall and in the rare region.
"""

import numpy as np

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse
from skewridge.response.allocation import expected_node_size
from skewridge.response.slices import slice_response

N, K, SEEDS = 10_000, 100, 5
BANDWIDTHS = {1: 0.05, 2: 0.1, 4: 0.3, 6: 0.6}

PENALTIES = {
    "(mean node size)^(-2/3)": lambda y, slices: expected_node_size(slice_response(y, slices), K) ** (-2 / 3),
    "N^(-2/3)": lambda y, slices: N ** (-2 / 3),
    "1/N": lambda y, slices: 1 / N,
}


def errors(d, slices, rule, seed):
    X, y, X_test, truth = make_peaks(N, d, random_state=seed, return_test=True)
    model = DacKernelRidge(
        n_nodes=K,
        slices=slices,
        bandwidth=BANDWIDTHS[d],
        penalty=rule(y, slices),
        fit_intercept=False,
        random_state=seed,
        n_jobs=-1,
    )
    prediction = model.fit(X, y).predict(X_test)
    return np.mean((prediction - truth) ** 2), rare_mse(truth, prediction, y_ref=y)


def main():
    print(f"{'d':>2}  {'penalty':26}{'MSE 1':>10}{'MSE 2':>10}{'ratio':>7}{'rare 1':>10}{'rare 2':>10}{'ratio':>7}")
    for d in BANDWIDTHS:
        for name, rule in PENALTIES.items():
            one, two = (np.mean([errors(d, s, rule, seed) for seed in range(SEEDS)], axis=0) for s in (1, "scott"))
            ratio = two / one
            print(
                f"{d:2}  {name:26}{one[0]:10.2e}{two[0]:10.2e}{ratio[0]:7.2f}"
                f"{one[1]:10.2e}{two[1]:10.2e}{ratio[1]:7.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
