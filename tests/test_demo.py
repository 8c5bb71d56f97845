import subprocess
import sys

import numpy as np
import pytest

from skewridge import AdaptiveKernelRidge, demo
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse


def test_demo_prints_the_table_and_draws_the_figure(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "N_ROWS", 600)
    monkeypatch.setattr(
        demo, "METHODS", {name: {**s, "n_nodes": min(s["n_nodes"], 6)} for name, s in demo.METHODS.items()}
    )
    demo.main(str(tmp_path / "new"))
    out = capsys.readouterr().out
    for name in demo.METHODS:
        assert out.count(name) == len(demo.PENALTIES)
    assert "rare-region MSE" in out
    errors = {line.split()[0]: line.split()[1:3] for line in out.splitlines() if line.startswith(("Skew", "Adapt"))}
    assert list(errors) == ["SkewRidge()", "AdaptiveKernelRidge()"]
    X, y, X_test, truth = make_peaks(600, 2, random_state=demo.SEED, return_test=True)
    prediction = AdaptiveKernelRidge(random_state=demo.SEED).fit(X, y).predict(X_test)
    expected = [np.mean((prediction - truth) ** 2), rare_mse(truth, prediction, y_ref=y)]
    assert [float(error) for error in errors["AdaptiveKernelRidge()"]] == pytest.approx(expected, rel=0.01)
    picture = (tmp_path / "new" / "figure1.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 50_000


def test_demo_without_matplotlib_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "compare", lambda penalty: iter(()))
    monkeypatch.setattr(demo, "recommend", lambda: iter(()))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    demo.main(str(tmp_path))
    assert "skewridge[plot]" in capsys.readouterr().out


def test_importing_skewridge_loads_neither_numba_nor_matplotlib():
    code = (
        "import sys, skewridge; from skewridge import DacKernelRidge, ResponseStratifiedKFold; "
        "assert not {'numba', 'matplotlib'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
