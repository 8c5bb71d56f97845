"""The project's promises about itself."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import skewridge

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_everywhere():
    assert skewridge.__version__ == PROJECT["version"]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("name", [n for n in skewridge.__all__ if n != "__version__"])
def test_every_public_name_has_a_docstring_with_an_example_and_a_place_in_the_docs(name):
    assert ">>>" in getattr(skewridge, name).__doc__
    assert f"skewridge.{name}" in (ROOT / "docs" / "api.md").read_text()
    assert name in dir(skewridge)


METRICS = ("rare_mse", "slice_mse", "balanced_mse", "sera", "pinball_loss", "crps", "upper_crps", "rare_crps")
METRICS += ("interval_score", "exceedance_brier", "exceedance_log_score", "reliability", "pit")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_documented(name):
    from skewridge import metrics

    assert ">>>" in getattr(metrics, name).__doc__
    assert f"skewridge.metrics.{name}" in (ROOT / "docs" / "api.md").read_text()


def test_submodules_are_there_when_they_are_listed():
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import skewridge as s; [getattr(s, n) for n in dir(s)]; s.metrics.sera; s.datasets.make_peaks",
        ],
        check=False,
    )
    assert run.returncode == 0


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        skewridge.nothing  # noqa: B018


@pytest.mark.parametrize(
    "estimator", ["DacKernelRidge", "AdaptiveKernelRidge", "SmoothingSpline", "SkewRidge", "LocalKernelRidge"]
)
def test_every_parameter_is_documented(estimator):
    doc = getattr(skewridge, estimator).__doc__
    for name in getattr(skewridge, estimator)().get_params():
        assert re.search(rf"^    {name} : ", doc, re.MULTILINE), name


def test_an_old_python_gets_a_message(tmp_path):
    script = (ROOT / "tools" / "environment.py").read_text().replace("LOWEST = (3, 11)", "LOWEST = (9, 0)")
    (tmp_path / "environment.py").write_text(script)
    run = subprocess.run(
        [sys.executable, tmp_path / "environment.py", tmp_path / "venv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "Python 9.0 or newer is needed" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_missing_venv_module_gets_a_message(tmp_path):
    (tmp_path / "ensurepip.py").write_text("raise ImportError")
    run = subprocess.run(
        [sys.executable, ROOT / "tools" / "environment.py", tmp_path / "venv"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert run.returncode == 1
    assert "apt install python3-venv" in run.stderr


def test_lower_bounds_are_read_from_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import environment

    pins = environment.lower_bounds(["dev"])
    assert "scikit-learn==1.6.0" in pins
    assert any(pin.startswith("pandas==") for pin in pins)
    assert not any(">" in pin for pin in pins)


@pytest.mark.parametrize("folder", ["benchmarks", "experiments", "examples"])
def test_what_scripts_import_is_there(folder):
    missing = []
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "skewridge":
                found = import_module(node.module)
                missing += [(path.name, node.module, own.name) for own in node.names if not hasattr(found, own.name)]
    assert missing == []
