"""The real data sets, read where they are: SKEWRIDGE_DATA, or ../shared/data beside the project."""

import gzip
import os
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ.get("SKEWRIDGE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def names():
    """folder/file of every set, without its ending."""
    found = sorted(str(path.relative_to(FOLDER))[: -len(".csv.gz")] for path in FOLDER.glob("*/xy*.csv.gz"))
    if not found:
        raise SystemExit(f"No data in {FOLDER}: set SKEWRIDGE_DATA to the folder that holds them.")
    return found


def load(name):
    """X and y of a set; the factors of a full factorial design in powers of two by their logarithm."""
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt") as file:
        table = np.genfromtxt(file, delimiter=",", skip_header=1)
    X, y = table[:, :-1], table[:, -1]
    if name.startswith("sgemm"):
        X[:, :10] = np.log2(X[:, :10])
    return X, y
