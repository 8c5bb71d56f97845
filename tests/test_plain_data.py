import json
from dataclasses import dataclass

import numpy as np

from skewridge._plain_data import plain


@dataclass(frozen=True)
class Inner:
    values: np.ndarray


@dataclass(frozen=True)
class Outer:
    inner: Inner
    pair: tuple
    name: str
    missing: None = None


def test_records_become_what_json_holds():
    record = Outer(Inner(np.array([[1.0, np.nan], [np.inf, -2.0]])), (np.int64(3), np.bool_(True)), "a")
    made = plain(record)
    assert made == {
        "inner": {"values": [[1.0, None], [None, -2.0]]},
        "pair": [3, True],
        "name": "a",
        "missing": None,
    }
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_numpy_scalars_and_keys_become_pythons():
    made = plain({1: np.float32(0.5), "b": np.float64("nan")})
    assert made == {"1": 0.5, "b": None}
    assert type(made["1"]) is float
