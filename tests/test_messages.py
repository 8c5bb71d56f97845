import json
from dataclasses import dataclass

import numpy as np
import pytest

from skewridge._messages import compact, plain


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0123, "-0.0123"),
        (999.4, "999"),
        (999.6, "1000"),
        (9994.0, "9994"),
        (9999.6, "10k"),
        (-12_345.0, "-12.3k"),
        (999_600.0, "1M"),
        (2.5e9, "2.5G"),
    ],
)
def test_numbers_are_short(value, text):
    assert compact(value) == text
