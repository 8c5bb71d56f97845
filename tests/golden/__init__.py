"""Model files and predictions that must stay as they are, and what they were made from.

Model files of a release, from 0.2 on, are recorded when it is made (``0.2/*.skr``, and in ``files.json`` what they
predict) and predict as they did for ever. ``fits.json`` holds what a fixed set of fits predicts, ``records`` whatever
else must not change unseen (``make golden``); they are recorded anew only where something changes on purpose. JSON
keeps every bit of a double.
"""

import warnings
from functools import partial
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    DacRegressor,
    LocalKernelRidge,
    SkewRidge,
    SmoothingSpline,
    fit_source,
)
from skewridge.datasets import make_peaks

HERE = Path(__file__).parent
X_NEW = np.random.default_rng(1).random((7, 4))
HOUSES = HERE / "houses.csv"


def build():
    """What decides the last bits of a sum: libraries, their versions and the processor they choose code for."""
    import numba
    import scipy
    from llvmlite.binding import get_host_cpu_name
    from threadpoolctl import threadpool_info

    blas = [
        f"{p['internal_api']} {p['version']} {p.get('architecture')}"
        for p in threadpool_info()
        if p["user_api"] == "blas"
    ]
    return {
        "blas": sorted(set(blas)),
        "cpu": get_host_cpu_name(),
        **{module.__name__: module.__version__ for module in (np, scipy, numba)},
    }


def answers(model, points=None):
    """Everything that a model says of seven new rows, or of these."""
    raw = hasattr(model, "steps")  # a pipeline takes columns of any kind
    given = points is not None
    points = points if given else X_NEW[:, : model.n_features_in_]
    if raw and not given:
        points = pd.read_csv(HOUSES, dtype={"zip": str}).head(7)[list(model.feature_names_in_)]
    elif not raw and hasattr(model, "feature_names_in_"):
        points = pd.DataFrame(points, columns=model.feature_names_in_)
    found = {"predict": model.predict(points)}
    if not raw and "return_std" in signature(model.predict).parameters:
        found["std"] = model.predict(points, return_std=True)[1]
    if hasattr(model, "nodes_"):
        found["nodes"] = model.predict_nodes(points)
    if getattr(model, "calibration_", None) is not None:
        found["interval"] = np.stack(model.predict_interval(points, coverage=0.6))
    return found


def assert_same(found, recorded, same_build):
    """Equal to the last bit where the libraries are the same, and to 1e-8 of the spread elsewhere."""
    assert list(found) == list(recorded)
    for name, values in found.items():
        expected = np.asarray(recorded[name])
        assert values.shape == expected.shape, name
        if same_build:
            assert np.array_equal(values, expected, equal_nan=True), name
        np.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-8 * np.ptp(expected), err_msg=name)


X, Y = make_peaks(900, 2, random_state=3)
X4, Y4 = make_peaks(700, 4, random_state=4)
COUNTS = np.arange(900) % 3


def _fit(estimator, X, y, n_jobs, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows dominate
        return estimator.set_params(n_jobs=n_jobs).fit(X, y, **more)


def _fit_file(n_jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AdaptiveKernelRidge(n_centers=60, random_state=0, n_jobs=n_jobs)
        return fit_source(model, str(HOUSES), target="price", features=["area", "rooms"])


FITS = {
    "dac": partial(_fit, DacKernelRidge(n_nodes=6, random_state=0), X, Y),
    "dac paper": partial(_fit, DacKernelRidge(n_nodes=9, penalty="rule", fit_intercept=False, random_state=1), X, Y),
    "dac classical": partial(_fit, DacKernelRidge(n_nodes=9, slices=1, penalty="dgcv", random_state=1), X, Y),
    "dac folds": partial(_fit, DacKernelRidge(n_nodes=4, penalty="cv", scoring="sera", random_state=1), X, Y),
    "dac gcv": partial(_fit, DacKernelRidge(n_nodes=4, penalty="gcv", focus=0.5, random_state=1), X, Y),
    "dac pilot": partial(
        _fit, DacKernelRidge(n_nodes=5, slice_on="pilot", focus=0, bandwidth="median", random_state=2), X, Y
    ),
    "dac single": partial(_fit, DacKernelRidge(n_nodes=3, kernel="matern32", random_state=2), X.astype(np.float32), Y),
    "dac kernels": partial(_fit, DacKernelRidge(n_nodes=3, kernel="sobolev", random_state=2), X4, Y4),
    "adaptive": partial(_fit, AdaptiveKernelRidge(random_state=0), X, Y),
    "adaptive features": partial(
        _fit, AdaptiveKernelRidge(scale_features="learn", n_centers=100, random_state=0), X4, Y4
    ),
    "adaptive weights": partial(_fit, AdaptiveKernelRidge(n_centers=50, random_state=0), X, Y, sample_weight=COUNTS),
    "adaptive cg": partial(_fit, AdaptiveKernelRidge(n_centers=80, solver="cg", penalty=1e-5, random_state=0), X, Y),
    "adaptive kernels": partial(
        _fit, AdaptiveKernelRidge(kernel=["gaussian", "laplacian"], n_centers=60, random_state=0), X, Y
    ),
    "adaptive standard": partial(
        _fit, AdaptiveKernelRidge(scale_features="standard", bounds=(0.0, None), random_state=0), X, Y
    ),
    "adaptive file": _fit_file,
    "regressor": partial(
        _fit, DacRegressor(DacKernelRidge(n_nodes=1, random_state=0), n_nodes=3, random_state=0), X, Y
    ),
    "spline": partial(_fit, SmoothingSpline(interactions="all", random_state=0), X, Y),
    "spline weights": partial(
        _fit, SmoothingSpline("linear", random_state=0), X4, Y4, sample_weight=np.arange(700) % 2
    ),
    "skew": partial(_fit, SkewRidge(random_state=0), X[:140], Y[:140]),
    "local": partial(_fit, LocalKernelRidge(cell_size=200, random_state=0), X, Y),
    "calibrated": lambda n_jobs: _fit(
        AdaptiveKernelRidge(n_centers=40, penalty=1e-5, random_state=0), X, Y, n_jobs
    ).calibrate(),
}
