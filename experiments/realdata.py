"""What the studies of real data share: where the rows are, how they are split, what is measured."""

import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from fits import described, fitted

from skewridge import response_train_test_split
from skewridge.datasets import load_melbourne
from skewridge.metrics import rare_mse

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import data

NEEDS = (Path(data.__file__),)  # sources of what is measured here
TEST_SHARE = 0.1


@dataclass(frozen=True)
class Table:
    """A set of rows and how it is fitted.

    Attributes
    ----------
    path : within the folder of data
    read : () -> X, y, the features standardised
    bandwidth : of the versions "rule" and "node", our choice
    code_bandwidth : gamma^(-1/2), with the gamma of the authors' code
    breaks : the edges of the authors' later code
    per_slice : at most so many rows of a slice in a node, of so many rows in all: the authors' downsampling
    """

    path: str
    read: object
    bandwidth: float
    code_bandwidth: float
    breaks: tuple
    per_slice: tuple


def read_quakes():
    X, y = data.load("indonesia_earthquake/xy")
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y


MELBOURNE = "melbourne_housing/Melbourne_housing_FULL.csv.gz"
TABLES = {
    "melbourne": Table(
        MELBOURNE,
        lambda: load_melbourne(data.FOLDER / MELBOURNE),
        10**-0.5,
        10**-0.5,
        (0, 3000, 5000, 10_000, 30_000),
        (200, 6784),
    ),
    "earthquakes": Table(
        "indonesia_earthquake/xy.csv.gz",
        read_quakes,
        0.5,
        1e-3**-0.5,
        (0, 2, 3, 4, 5, 6, 7, 1e6),
        (1000, 87_372),
    ),
}


@cache
def rows_of(name):
    return TABLES[name].read()


def lacking(name):
    """None, or that the data are not here."""
    path = data.FOLDER / TABLES[name].path
    if path.exists():
        return None
    return f"there is no {path}; set SKEWRIDGE_DATA to the folder of the real data sets, which are not ours to give."


def split(cell):
    """Training and test rows: of N rows drawn by the seed, a tenth of every slice is tested."""
    X, y = rows_of(cell["data"])
    rows = np.random.default_rng(cell["seed"]).permutation(len(y))[: cell["N"]]
    rows.sort()
    return response_train_test_split(X[rows], y[rows], test_size=TEST_SHARE, random_state=cell["seed"])


def later_settings(table, n_rows):
    """Explicit breaks, and downsampling in proportion to the rows."""
    most, of = table.per_slice
    return {"slices": np.array(table.breaks, dtype=float), "max_per_slice": max(1, round(most * n_rows / of))}


def measure(cell):
    """Squared error on the test rows: overall, where the response is rare, and where the prediction is.

    A cell's ``width``, where it has one, multiplies the bandwidth of a published version.
    """
    table = TABLES[cell["data"]]
    X, X_test, y, y_test = split(cell)
    more = later_settings(table, cell["N"]) if cell["method"] == "breaks" else {}
    width = cell.get("width", 1.0) * (table.code_bandwidth if cell["version"] == "code" else table.bandwidth)
    start = time.process_time()
    model = fitted(cell["method"], cell["version"], X, y, cell["k"], width, cell["seed"], **more)
    seconds = time.process_time() - start
    prediction = model.predict(X_test)
    return {
        "mse": float(np.mean((prediction - y_test) ** 2)),
        "rare_mse": float(rare_mse(y_test, prediction, y_ref=y)),
        "rare_predicted_mse": float(rare_mse(y_test, prediction, y_ref=y, by=prediction)),
        "test_variance": float(np.var(y_test)),
        **described(model, len(y)),
        "seconds": seconds,
    }


def cell_of(name, N, k, method, version, seed):
    return {"data": name, "N": N, "k": k, "method": method, "version": version, "seed": seed}
