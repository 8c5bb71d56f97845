"""Eight threads that fit and predict at once have the bits of one."""

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from skewridge import AdaptiveKernelRidge, DacKernelRidge, DacRegressor, LocalKernelRidge, SkewRidge, SmoothingSpline
from skewridge.datasets import make_peaks

N_THREADS = 8
SIZES = (40, 90, 200)
GIVEN = {"bandwidth": 0.5, "penalty": 1e-3, "random_state": 0}
FITS = {
    "nodes": DacKernelRidge(3, **GIVEN),
    "regressor": DacRegressor(DacKernelRidge(1, **GIVEN), n_nodes=3, random_state=0),
    "centres": AdaptiveKernelRidge(30, 0.5, **GIVEN),
    "searched centres": AdaptiveKernelRidge(random_state=0),
    "spline": SmoothingSpline(random_state=0),
    "cells": LocalKernelRidge(random_state=0),
    "two levels": SkewRidge("laplacian", random_state=0),
    "two levels on two threads": SkewRidge("laplacian", n_jobs=2, random_state=0),
}
X_NEW = np.random.default_rng(1).random((50, 2))


def fit(name, size):
    return clone(FITS[name]).fit(*make_peaks(size, 2, random_state=size))


def told(model):
    """Predictions and, where errors of unseen rows are at hand, quantiles of the whole distribution."""
    if not isinstance(model, LocalKernelRidge | SkewRidge):
        return model.predict(X_NEW)
    return np.column_stack([model.predict(X_NEW), model.predict_quantiles(X_NEW, [0.2, 0.8])])


def differs(shared, expected, name, size, fits):
    """Fit anew, or predict by a model that all threads share; true where a bit is another one."""
    model = fit(name, size) if fits else shared[name, size]
    return not np.array_equal(told(model), expected[name, size])


@pytest.mark.parametrize(
    ("names", "n_rounds", "seconds"),
    [(["nodes", "centres", "spline"], 24, 0), pytest.param(list(FITS), 300, 120, marks=pytest.mark.full)],
    ids=["some", "all"],
)
def test_eight_threads_have_the_bits_of_one(names, n_rounds, seconds, record_property):
    """So many rounds, and more until so many seconds are over."""
    cases = [(name, size) for name in names for size in SIZES]
    rng, wrong, done = np.random.default_rng(0), [], 0
    with warnings.catch_warnings(), ThreadPoolExecutor(N_THREADS) as pool:
        warnings.simplefilter("ignore")  # so few rows dominate
        shared = {case: fit(*case) for case in cases}
        expected = {case: told(model) for case, model in shared.items()}
        end = time.monotonic() + seconds
        while not done or time.monotonic() < end:
            chosen = [(*cases[rng.integers(len(cases))], bool(rng.random() < 0.5)) for _ in range(n_rounds)]
            found = pool.map(lambda c: differs(shared, expected, *c), chosen)
            wrong += [case for case, bad in zip(chosen, found, strict=True) if bad]
            done += n_rounds
    record_property("fits and predictions on eight threads, other bits", {"count": done, "figure": len(wrong)})
    assert not wrong
