"""What a user's type checker is told: ``py.typed`` promises that it is true."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import skewridge

pytestmark = pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")

SCRIPT = """
from sklearn.linear_model import Ridge

from skewridge import AdaptiveKernelRidge, DacKernelRidge, DacRegressor, SmoothingSpline, TableEncoder, fit_source
from skewridge.datasets import make_peaks

X, y = make_peaks(100, 2, random_state=0)


def either(flag: bool) -> None:
    reveal_type(SmoothingSpline().fit(X, y).predict(X, return_std=flag))


class Mine(DacKernelRidge):
    pass


reveal_type(AdaptiveKernelRidge(n_centers=50, kernel=["gaussian", "matern32"]).fit(X, y))
reveal_type(AdaptiveKernelRidge().predict(X))
reveal_type(AdaptiveKernelRidge().predict(X, return_std=True))
reveal_type(AdaptiveKernelRidge().predict_interval(X))
reveal_type(AdaptiveKernelRidge().dual_coef_)
reveal_type(Mine(n_nodes="auto", slices=3, memory_limit="2GB").fit(X, y).calibrate())
reveal_type(DacKernelRidge().predict(X, True))
reveal_type(DacKernelRidge().node_spread(X))
reveal_type(DacKernelRidge().n_nodes_)
reveal_type(DacRegressor(Ridge(), focus=0.5).fit(X, y))
reveal_type(DacRegressor(Ridge()).predict(X))
reveal_type(TableEncoder(ordinal={"size": ["small", "large"]}).fit(X))
reveal_type(fit_source(SmoothingSpline(), X, y))
AdaptiveKernelRidge(n_centers="many")
DacKernelRidge(slice_on="x")
"""
ARRAY = "ndarray"
PAIR = f"tuple[{ARRAY}, {ARRAY}]"
REVEALED = [
    f"{ARRAY} | {PAIR}",
    "AdaptiveKernelRidge",
    ARRAY,
    PAIR,
    PAIR,
    ARRAY,
    "Mine",
    PAIR,
    ARRAY,
    "int",
    "DacRegressor",
    ARRAY,
    "TableEncoder",
    "SmoothingSpline",
]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What strict mypy says of a user's script, with no settings of ours."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "script.py").write_text(SCRIPT)
    options = ["--strict", "--config-file=", "--follow-imports=silent", "--ignore-missing-imports"]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "script.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(Path(skewridge.__file__).parents[1])},
    )
    assert not run.stderr
    return run.stdout


def test_types_are_known_where_users_meet_them(told):
    revealed = re.findall(r'Revealed type is "(.*)"', told)
    assert [_short(text) for text in revealed] == REVEALED


def test_a_misspelt_choice_is_found_before_it_runs(told):
    errors = re.findall(r"error: (.*?)  \[", told)
    assert len(errors) == 2
    assert all(re.match(r'Argument "(n_centers|slice_on)" to .* incompatible type', error) for error in errors)


def _short(text):
    """A type without modules and without what arrays hold, which numpy's versions call by different names."""
    plain = re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)
    plain = re.sub(r"ndarray\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]", ARRAY, plain)
    return re.sub(r"Union\[(\w+), (.*)\]$", r"\1 | \2", plain)
