"""One BLAS thread wherever work is done: whoever called, and however a library keeps its number of threads."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from skewridge import AdaptiveKernelRidge, DacKernelRidge, LocalKernelRidge, SkewRidge, SmoothingSpline
from skewridge.datasets import make_peaks
from skewridge.execution.blas import BlasLimit, one_blas_thread
from skewridge.execution.context import run, using

X, Y = make_peaks(1200, 3, random_state=0)
FITS = [
    DacKernelRidge(2, bandwidth=0.5, penalty=1e-3, random_state=0),
    AdaptiveKernelRidge(200, 0.5, bandwidth=0.5, penalty=1e-6, random_state=0),
    SmoothingSpline(random_state=0),
    LocalKernelRidge(random_state=0),
    SkewRidge(random_state=0),
]


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def fitted(estimator):
    return clone(estimator).fit(X, Y).predict(X)


def in_thread(task):
    found = []
    thread = threading.Thread(target=lambda: found.append(task()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(
    "estimator", [*FITS[:3], *(pytest.param(fit, marks=pytest.mark.full) for fit in FITS[3:])], ids=str
)
def test_a_second_thread_has_the_bits_of_the_first(estimator):
    with threadpool_limits(1, "blas"):
        expected = fitted(estimator)
    assert np.array_equal(fitted(estimator), expected)
    assert np.array_equal(in_thread(lambda: fitted(estimator)), expected)


@pytest.mark.parametrize("several", ["executor", "joblib"])
def test_fits_side_by_side_have_the_bits_of_one(several):
    fits = [fit for fit in FITS[:3] for _ in range(2)]
    found = [fitted(fit) for fit in fits]
    if several == "executor":
        with ThreadPoolExecutor(2) as pool:
            beside = list(pool.map(fitted, fits))
    else:
        beside = joblib.Parallel(2, backend="threading")(joblib.delayed(fitted)(fit) for fit in fits)
    assert all(map(np.array_equal, found, beside))
    assert blas_threads() == in_thread(blas_threads)


def test_a_thread_that_had_blas_in_hand_does_not_keep_others_from_limiting_it():
    before = blas_threads()
    held = threadpool_limits(2, "blas")  # threadpoolctl 3.8 then lets this thread alone set OpenBLAS

    def inside():
        with one_blas_thread():
            return blas_threads()

    assert set(in_thread(inside)) == {1}
    held.restore_original_limits()
    assert blas_threads() == before


class OwnPool:
    """A library with a number of threads for every thread that calls it, as OpenBLAS with OpenMP has."""

    internal_api, threading_layer = "openblas", "openmp"

    def __init__(self):
        self._here = threading.local()

    def get_num_threads(self):
        return getattr(self._here, "n", 8)

    def set_num_threads(self, n):
        self._here.n = n


def test_a_library_with_a_number_for_every_thread_is_limited_in_each(monkeypatch):
    pool = OwnPool()
    limit = BlasLimit([pool])
    monkeypatch.setattr("skewridge.execution.blas.LIMIT", limit)
    assert list(using(n_jobs=2)(run)(lambda _: pool.get_num_threads(), range(4))) == [1, 1, 1, 1]
    with one_blas_thread():

        def other():
            with one_blas_thread(), one_blas_thread():
                inside = pool.get_num_threads()
            return inside, pool.get_num_threads()

        assert in_thread(other) == (1, 8)
        assert pool.get_num_threads() == 1
    assert pool.get_num_threads() == 8


def test_runs_that_end_in_any_order_leave_a_library_as_it_was():
    numbers = [6]
    pool = SimpleNamespace(
        internal_api="openblas",
        threading_layer="pthreads",
        get_num_threads=lambda: numbers[-1],
        set_num_threads=numbers.append,
    )
    limit = BlasLimit([pool])
    first, second = limit.held(), limit.held()
    first.__enter__()
    in_thread(second.__enter__)
    first.__exit__(None, None, None)
    assert numbers[-1] == 1
    second.__exit__(None, None, None)  # thrown away in another thread than it began in
    assert numbers[-1] == 6
