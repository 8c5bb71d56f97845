"""Models to save: every kind of fitted attribute occurs in one of them."""

import warnings
from functools import cache
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    DacRegressor,
    LocalKernelRidge,
    SkewRidge,
    SmoothingSpline,
    make_table_model,
    save_model,
)
from skewridge.datasets import make_peaks

X, Y = make_peaks(90, 2, random_state=0)
X_NEW = np.random.default_rng(1).random((7, 2))
FRAME = pd.DataFrame(X, columns=["east", "north"])


def dac(**settings):
    return DacKernelRidge(**{"n_nodes": 3, "bandwidth": 0.5, "penalty": 0.01, "random_state": 0, **settings})


def adaptive(**settings):
    given = {"n_centers": 20, "adapt": 0.5, "bandwidth": 1.0, "penalty": 1e-4, "random_state": 0}
    return AdaptiveKernelRidge(**{**given, **settings})


MODELS = {
    "dac": lambda: dac().fit(X, Y),
    "dac tuned": lambda: dac(bandwidth="auto", penalty="auto", scoring="sera").fit(X, Y),
    "dac nodes": lambda: dac(keep_nodes=True, focus=0.5, n_jobs=2).fit(X, Y),
    "dac local penalties": lambda: dac(penalty="gcv").fit(X, Y),
    "dac sobolev": lambda: dac(kernel="sobolev", bandwidth="auto", fit_intercept=False).fit(X, Y),
    "dac polynomial": lambda: dac(
        kernel="poly", bandwidth="auto", degree=2, oversampling=0.5, max_per_slice=9, memory_limit="1GB"
    ).fit(X, Y),
    "dac edges": lambda: dac(slices=np.array([-10.0, 0.1, 0.5, 10.0])).fit(FRAME, Y),
    "dac edges in a list": lambda: dac(slices=[-np.inf, 0.1, np.inf]).fit(X, Y),
    "dac pilot in single precision": lambda: dac(slice_on="pilot", penalty=0.1).fit(X.astype(np.float32), Y),
    "regressor": lambda: DacRegressor(dac(n_nodes=1), n_nodes=3, slices=4, random_state=0).fit(FRAME, Y),
    "regressor of adaptive ones": lambda: DacRegressor(adaptive(), n_nodes=2, focus=0.5, random_state=1).fit(X, Y),
    "spline": lambda: SmoothingSpline(interactions="all", random_state=0).fit(FRAME, Y),
    "spline with a constant": lambda: SmoothingSpline("linear", penalty=1e-3).fit(X * [1.0, 0.0], Y, np.arange(90) % 2),
    "spline of one row": lambda: SmoothingSpline().fit(X[:1], Y[:1]),
    "regressor of splines": lambda: DacRegressor(SmoothingSpline(), n_nodes=2, random_state=0).fit(X, Y),
    "dac calibrated": lambda: dac().fit(X, Y).calibrate(),
    "adaptive calibrated": lambda: adaptive().fit(X, Y).calibrate(X_NEW, Y[:7]),
    "adaptive": lambda: AdaptiveKernelRidge(random_state=0).fit(FRAME, Y),
    "adaptive given": lambda: adaptive().fit(X, Y, sample_weight=np.arange(90) % 3),
    "adaptive kernels": lambda: adaptive(kernel=["matern52", "sobolev"], bandwidth="auto").fit(X, Y),
    "adaptive cg": lambda: adaptive(solver="cg", scale_features=None).fit(X.astype(np.float32), Y),
    "adaptive bounds": lambda: adaptive(bandwidth="auto", bounds=(0.0, None)).fit(X, Y),
    "adaptive standard": lambda: adaptive(scale_features="standard", bounds=None).fit(X, Y),
    "adaptive dropped": lambda: AdaptiveKernelRidge(40, random_state=0).fit(X * [1.0, 0.0], Y),
    "adaptive constant": lambda: AdaptiveKernelRidge(random_state=0).fit(X, np.ones(90)),
    "adaptive of numpy's numbers": lambda: adaptive(n_centers=np.int64(9), penalty=np.float64(1e-3)).fit(X, Y),
    "skew": lambda: SkewRidge(random_state=0).fit(FRAME, Y),
    "skew bounds": lambda: SkewRidge("laplacian", bounds=(None, 1.5), random_state=0).fit(X[:40], Y[:40]),
    "skew of few rows": lambda: SkewRidge(random_state=0).fit(X[:7], Y[:7]),
    "skew with companions": lambda: SkewRidge("laplacian", companions=[adaptive(), dac()], random_state=0).fit(X, Y),
    "skew calibrated": lambda: SkewRidge("matern52", bounds=None, random_state=0).fit(X, Y).calibrate(),
    "local": lambda: LocalKernelRidge("matern32", cell_size=40, random_state=0).fit(FRAME, Y, np.arange(90) % 3),
    "local one cell": lambda: LocalKernelRidge(random_state=0).fit(X, Y),
    "local constant": lambda: LocalKernelRidge(random_state=0).fit(X, np.ones(90)),
    "one row": lambda: dac(n_nodes=1).fit(X[:1], Y[:1]),
}


DAYS = pd.date_range("2020-01-01", periods=90, freq="9D")
TABLE = pd.DataFrame({"day": DAYS.strftime("%d/%m/%Y"), "size": [f"{x:.1f} km" for x in X[:, 0]], "north": X[:, 1]})
TABLE = TABLE.assign(town=[f"t{i % 40}" for i in range(90)], kind=np.where(Y > 0.1, "a", "b"), new=X[:, 1] > 0.5)


def table_model():
    """A model of a raw table whose columns are of every kind, with gaps."""
    local = LocalKernelRidge("matern32", random_state=0)
    return make_table_model(local).fit(TABLE.assign(north=TABLE["north"].where(X[:, 1] > 0.1)), Y)


@cache
def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows dominate
        return {**MODELS, "table": table_model}[name]()


@cache
def file_of(name):
    """The bytes of a model's file."""
    with TemporaryDirectory() as folder:
        save_model(fitted(name), f"{folder}/model.skr")
        with open(f"{folder}/model.skr", "rb") as file:
            return file.read()
