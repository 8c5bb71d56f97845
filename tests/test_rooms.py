"""The two ways through the house, traced: no call goes upwards, and few rooms are met near the top."""

import ast
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

import skewridge
from skewridge import AdaptiveKernelRidge, SkewRidge, fit_source
from skewridge.datasets import make_peaks

ROOT = Path(__file__).parents[1]
HOME = Path(skewridge.__file__).parent
CONTRACT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
LAYERS = [[room.strip() for room in layer.replace(":", "|").split("|")] for layer in CONTRACT["layers"]]
HEIGHT = {room: -number for number, layer in enumerate(LAYERS) for room in layer}
MOST = {"nodes": 218_500, "lines": 28_000, "functions": 1_560, "records": 120, "modules": 125}  # may only fall
HANDS_ON = ("execution", "linalg")  # run what they are handed, tasks and arguments of loops: functions of any room


def room_of(frame):
    """The room that a frame's code stands in; None for other packages."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(HOME).parts[0].removesuffix(".py") if path.is_relative_to(HOME) else None


def traced(work):
    """Pairs of rooms that call each other directly, and the rooms met at every depth of our own calls."""
    calls, depths, stack = set(), {}, []

    def profile(frame, event, _):
        if event == "call":
            room = room_of(frame)
            stack.append(room)
            if room is None:
                return
            own = [r for r in stack if r is not None]
            depths.setdefault(len(own), {}).setdefault(room)
            caller = room_of(frame.f_back) if frame.f_back else None
            if caller is not None:
                calls.add((caller, room))
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls, depths


@pytest.fixture(scope="module")
def rows():
    return make_peaks(400, 2, random_state=0)


def two_levels(rows, folder):
    return lambda: SkewRidge(random_state=0).fit(rows[0][:80], rows[1][:80])


def from_array(rows, folder):
    return lambda: AdaptiveKernelRidge(random_state=0).fit(*rows)


def from_parquet(rows, folder):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(rows[0], columns=["a", "b"]).assign(y=rows[1])
    frame.to_parquet(folder / "rows.parquet")
    return lambda: fit_source(AdaptiveKernelRidge(random_state=0), folder / "rows.parquet", target="y")


def from_dask(rows, folder):
    array = pytest.importorskip("dask.array")
    X, y = (array.from_array(part, chunks=(100, *part.shape[1:])) for part in rows)
    return lambda: AdaptiveKernelRidge(random_state=0).fit(X, y)


@pytest.mark.filterwarnings("ignore:Row .* holds")
@pytest.mark.parametrize("way", [two_levels, from_array, from_parquet, from_dask])
def test_calls_go_down_and_few_rooms_are_met_near_the_top(way, rows, tmp_path):
    work = way(rows, tmp_path)
    work()  # imports and compilation have ways of their own
    calls, depths = traced(work)
    upwards = [(a, b) for a, b in calls if a not in HANDS_ON and HEIGHT[b] > HEIGHT[a]]
    assert upwards == []
    assert {("estimators", "centers"), ("two_levels", "centers")} & calls  # the trace saw the fit
    near = {room for depth, met in depths.items() if depth <= 3 for room in met if not room.startswith("_")}
    assert len(near) <= 8, near


def test_every_room_and_top_module_has_a_layer():
    found = {path.name.removesuffix(".py") for path in HOME.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert found - {"__init__", "__pycache__", "py.typed"} == set(HEIGHT)
    assert len(LAYERS) <= 17
    assert sum(path.suffix == ".py" for path in HOME.iterdir()) <= 16


def test_no_module_has_more_than_600_lines():
    compiled = {"kernels/_compiled.py"}
    lengths = {str(path.relative_to(HOME)): len(path.read_text().splitlines()) for path in HOME.rglob("*.py")}
    assert {name: n for name, n in lengths.items() if n > 600 and name not in compiled} == {}


def mass():
    """Syntax nodes, lines, functions, records and modules of the package, as the house counts them."""
    total = dict.fromkeys(("nodes", "lines", "functions", "records", "modules"), 0)
    for path in HOME.rglob("*.py"):
        text = path.read_text()
        total["lines"] += text.count("\n")
        total["modules"] += text.count("\n") > 2 or path.name != "__init__.py"
        for node in ast.walk(ast.parse(text)):
            total["nodes"] += 1
            total["functions"] += isinstance(node, ast.FunctionDef)
            if isinstance(node, ast.ClassDef):
                bases = {getattr(base, "id", "") for base in node.bases}
                decorated = any("dataclass" in ast.dump(own) for own in node.decorator_list)
                total["records"] += decorated or bool(bases & {"NamedTuple", "TypedDict"})
    return total


def test_the_house_does_not_grow():
    found = mass()
    assert {name: found[name] for name, most in MOST.items() if found[name] > most} == {}
    assert found["nodes"] / found["lines"] <= 8.0


def test_the_tour_names_what_is_there():
    text = (ROOT / "docs" / "contributing" / "tour.md").read_text()
    named = re.findall(r"`([a-z_]+\.[\w.]+)`", text)
    assert 40 <= len(named) <= 60
    for name in named:
        parts = name.split(".")
        found = import_module(f"skewridge.{parts[0]}.{parts[1]}")
        for part in parts[2:]:
            found = getattr(found, part)
