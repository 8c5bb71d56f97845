"""The paper's headline claim, by simulation: what holds depends on the penalty."""

import numpy as np
import pytest

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks

N, K, SEEDS = 10_000, 100, 5


@pytest.fixture(scope="module")
def samples():
    return [make_peaks(N, 2, random_state=seed, return_test=True) for seed in range(SEEDS)]


def mean_error(samples, slices, penalty):
    errors = []
    for seed, (X, y, X_test, truth) in enumerate(samples):
        model = DacKernelRidge(
            n_nodes=K,
            slices=slices,
            bandwidth=0.1,
            penalty=penalty if isinstance(penalty, float) else penalty(X, y, seed),
            fit_intercept=False,
            random_state=seed,
            n_jobs=-1,
        ).fit(X, y)
        errors.append(np.mean((model.predict(X_test) - truth) ** 2))
    return np.mean(errors)


def node_size_rule(slices):
    """(mean node size)^(-2/3), the node size of the method itself."""

    def penalty(X, y, seed):
        from skewridge.response.allocation import expected_node_size
        from skewridge.response.slices import slice_response

        return expected_node_size(slice_response(y, slices), K) ** (-2 / 3)

    return penalty


def test_oversampling_wins_clearly_under_the_node_size_rule(samples):
    oversampled = mean_error(samples, "scott", node_size_rule("scott"))
    assert oversampled / mean_error(samples, 1, node_size_rule(1)) <= 0.30


def test_oversampling_wins_less_under_the_rule_in_n(samples):
    penalty = N ** (-2 / 3)
    assert mean_error(samples, "scott", penalty) / mean_error(samples, 1, penalty) <= 0.75
