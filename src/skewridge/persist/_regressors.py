"""The layout of what all regressors have in files: a kernel, names of features, and errors that intervals are made of.

Letters of lengths: d features, l slices, n errors.
"""

from __future__ import annotations

import numpy as np

from skewridge._typing import IntArray
from skewridge.distribution.intervals import SOURCES, Calibration
from skewridge.kernels import BANDWIDTH_FREE, KERNELS, MAX_DEGREE, Kernel
from skewridge.persist._compound import Items, Maybe, Record
from skewridge.persist._layouts import Field, Floats, Ints, Kind, Number, Numbers, Texts

FLAG, TEXT, WHOLE = Kind(bool), Kind(str), Number(0, whole=True)
POSITIVE = float(np.nextafter(0.0, 1.0))


def _kernel_holds(kernel: Kernel) -> bool:
    """Whether the kernel has a bandwidth just where it needs one, and a range for every feature or none."""
    scaled = len(kernel.low) == len(kernel.high) and (len(kernel.low) > 0) == (kernel.name == "sobolev")
    return scaled and (kernel.bandwidth is None) == (kernel.name in BANDWIDTH_FREE)


def cuts(starts: IntArray, n_items: int) -> bool:
    """Whether starts cut so many items into parts that follow each other."""
    return bool(starts[0] == 0 and starts[-1] == n_items and (np.diff(starts) >= 0).all())


def kernel_layout(letter: str) -> Record:
    """The layout of a kernel of so many features, by letter."""
    return Record(
        Kernel,
        {
            "name": Kind(str, KERNELS),
            "bandwidth": Maybe(Number(POSITIVE)),
            "degree": Number(0, MAX_DEGREE, whole=True),
            "low": Numbers(letter),
            "high": Numbers(letter),
        },
        holds=_kernel_holds,
    )


KERNEL = kernel_layout("d")
CALIBRATION = Record(
    Calibration,
    {
        "edges": Floats("l+1", finite=False),
        "starts": Ints("l+1"),
        "errors": Floats("n"),
        "weights": Floats("n"),
        "source": Kind(str, SOURCES),
    },
    holds=lambda calibration: cuts(calibration.starts, len(calibration.errors)),
    alone=True,
)
NAMES: dict[str, Field] = {
    "feature_names_in_": Texts("d"),
    "column_labels_in_": Texts("d"),
    "feature_min_in_": Floats("d"),
    "feature_max_in_": Floats("d"),
    "calibration_": Items(CALIBRATION, tuple),
}
BOUNDS: dict[str, Field] = {"_bounds": Items(Floats("*", finite=False), tuple)}
INTERVALS: dict[str, Field] = {
    "_seed": WHOLE,
    "_response_edges": Items(Floats("*", finite=False), tuple),
}
