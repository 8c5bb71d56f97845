"""The documentation's examples, run as they stand: a page's blocks one after the other, in an empty folder."""

import importlib
import json
import operator
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import numpy as np
import pandas as pd
import pytest

from skewridge import AdaptiveKernelRidge
from skewridge.datasets import make_peaks
from tests.forecaster import Forecaster

LEARNERS = ["random forest", "boosted trees", "smoothing spline", "kernels"]
ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "docs/index.md", "docs/start.md", "docs/howto.md", "docs/features.md"]
WITH_DATA = [
    "distribution",
    "intervals",
    "learners",
    "report",
    "splines",
    "stated-risk",
    "theory",
    "trees",
    "tuning",
    "two-levels",
]  # X, y and the like are there

PICTURES = ["two_levels_line", "two_levels_prices", "error_against_time", "error_against_time_dark"]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, tmp_path, monkeypatch):
    execute(page, {}, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", WITH_DATA)
def test_examples_run_on_data_that_are_there(page, tmp_path, monkeypatch):
    X, y = make_peaks(500, 2, random_state=0)
    train, test = slice(0, 400), slice(400, None)
    model = AdaptiveKernelRidge(n_centers=50, random_state=0).fit(X[train], y[train])
    names = {"X": X, "y": y, "X_train": X[train], "y_train": y[train], "X_test": X[test], "y_test": y[test]}
    execute(f"docs/{page}.md", {**names, "X_new": X[test], "model": model}, tmp_path, monkeypatch)


def test_examples_of_judging_run(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    model, frame = Forecaster(), pd.DataFrame(X, columns=["east", "north"])
    y = model.draw(X)
    names = {"X_train": frame[:1000], "y_train": y[:1000], "X_test": frame[1000:], "y_test": y[1000:]}
    execute("docs/judging.md", {**names, "model": model}, tmp_path, monkeypatch)
    matplotlib.pyplot.close("all")


def execute(page, names, folder, monkeypatch):
    monkeypatch.chdir(folder)
    found, names = blocks(page), {"__name__": "an_example", **names}
    assert found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, block in enumerate(found, 1):
            exec(compile(block, f"{page}, example {number}", "exec"), names)


def test_the_gallery_of_learners_runs(tmp_path):
    picture = tmp_path / "learners.png"
    command = [
        sys.executable,
        ROOT / "examples" / "local_learners.py",
        "--rows",
        "400",
        "--nodes",
        "3",
        "--out",
        picture,
    ]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [line.split("  ")[0].split(" Algorithm")[0].strip() for line in told[::2]] == LEARNERS
    assert len(told) == 2 * len(LEARNERS)
    assert all("overall" in line and "rare" in line for line in told)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_pictures_of_two_levels_are_drawn(tmp_path):
    command = [sys.executable, ROOT / "examples" / "two_levels.py", "--rows", "300", "--out", tmp_path]
    without = {name: value for name, value in os.environ.items() if name != "SKEWRIDGE_DATA"}
    told = subprocess.run(command, check=True, capture_output=True, text=True, env=without).stdout
    assert "california_housing: its picture was left out" in told
    assert (tmp_path / "two_levels_line.png").read_bytes().startswith(b"\x89PNG")


def test_readmes_picture_is_drawn_from_kept_runs(tmp_path):
    """Two splits of three tables; one table's ratio is beyond what counts, one split is not finished."""
    runs, mse = tmp_path / "runs.jsonl", {"catboost": 1.0, "lightgbm": 1.1, "skewridge": 0.8}
    keys = [(table, split, name) for table in "abc" for split in (0, 1) for name in mse][:-1]
    scale = {"a": 1.0, "b": 0.01, "c": 1.0}
    found = [{"mse": mse[n] * (scale[t] if n == "skewridge" else 1.0), "rare": 1.0, "fit": 2.0} for t, _, n in keys]
    runs.write_text("".join(json.dumps(pair) + "\n" for pair in zip(keys, found, strict=True)))
    command = [sys.executable, ROOT / "benchmarks" / "readme_picture.py", runs, "--out", tmp_path]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    mean = (0.8 * 0.5 * 0.8) ** (1 / 3)
    assert f"SkewRidge over CatBoost, 3 tables: mse {mean:.3f}, rare 1.000, fit 1.000" in told
    for theme in ("", "_dark"):
        assert (tmp_path / f"error_against_time{theme}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_figures_beside_the_picture_are_those_of_the_kept_runs(page, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    picture = importlib.import_module("readme_picture")
    runs = picture.read(picture.RUNS)
    ours, others = (picture.over_catboost(runs, name) for name in ("skewridge", "lightgbm"))
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert f"SkewRidge has {ours.mean('mse'):.2f} overall and {ours.mean('rare'):.2f} where" in text
    assert f"LightGBM {others.mean('mse'):.2f} and {others.mean('rare'):.2f}" in text
    times = ours.mean("fit"), ours.mean("fit") / others.mean("fit")
    assert f"{times[0]:.2g} times CatBoost's processor time and {times[1]:.2g} times LightGBM's" in text
    assert len(ours.fit) == 15


@pytest.mark.parametrize("name", PICTURES)
def test_committed_pictures_are_small(name):
    picture = (ROOT / "docs" / "images" / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 150_000


def test_every_page_is_in_the_table_of_contents():
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    assert pages
    assert [page for page in pages if f": {page}" not in contents] == []


PROSE = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


@pytest.mark.parametrize("page", PROSE)
def test_names_and_files_that_pages_speak_of_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    missing = [name for name in re.findall(r"(?<![\w./-])skewridge(?:\.\w+)+", text) if not resolves(name)]
    for name in re.findall(r"`([\w/]+\.py)`", text):
        homes = (ROOT, ROOT / "src" / "skewridge")
        missing += [] if any((home / name).is_file() for home in homes) else [name]
    assert missing == []


def resolves(name):
    """Whether a dotted name is a module or an attribute of one."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        try:
            operator.attrgetter(".".join(parts[n:]))(found) if parts[n:] else None
        except AttributeError:
            return False
        return True
    return False
