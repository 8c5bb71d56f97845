"""Compare what the package does with what was recorded: ``python -m tests.golden.record --check [SECTION ...]``.

``--write SECTION ...`` records anew; commit that alone, with the reason why it changed. ``files`` is no section: it
writes a release's model files, once; those of a release are never replaced.

answers   what fixed fits predict of seven rows (fits.json, which make test compares)
models    every member of the files of tests/saved.py, and what they predict
fits      predictions of 500 rows and all fitted attributes of fixed fits, on one thread and on two
commands  what every command prints, writes and ends with, on six tables; times, versions and progress left out
reports   what a report tells of seven models, and its page
"""

import argparse
import contextlib
import json
import math
import os
import re
import sys
import time
import warnings
from dataclasses import fields, is_dataclass
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import skewridge
from skewridge import load_model
from skewridge.cli import main
from skewridge.datasets import make_peaks
from tests import saved
from tests.golden import FITS, HERE, HOUSES, answers, build
from tests.golden.commands import members, normalised, record_commands, sha

RECORDS = HERE / "records"
ROWS = np.random.default_rng(2).random((500, 4))
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
AT_MOST = 40  # differences shown of a section


def summary(values):
    """An array: all values where they are few; else its hash, and figures that another build can be compared by."""
    values = np.asarray(values)
    if values.size <= 12 or values.dtype.kind not in "biuf":
        return values.tolist() if values.size <= 300 else {"sha": sha(repr(values.tolist()).encode())}
    flat = values.ravel().astype(float)
    known = np.where(np.isfinite(flat), flat, 0.0)
    figures = {"mean": known.mean(), "sd": known.std(), "wave": known @ np.cos(np.arange(len(flat))) / len(flat)}
    hashed = {"sha": sha(np.ascontiguousarray(values).tobytes()), "type": f"{values.dtype} {values.shape}"}
    return {**hashed, **{name: float(figure) for name, figure in figures.items()}}


def plain(value):
    """Anything fitted as JSON holds it: records by their public fields, estimators by their text, arrays as above."""
    if is_dataclass(value):
        named = [own.name for own in fields(value) if not own.name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in named}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return summary(value)
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def attributes(model):
    """The public fitted attributes of a model, by their names of today or tomorrow."""
    named = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    return {name: plain(getattr(model, name)) for name in named if hasattr(model, name)}


def predictions(model, points=None):
    return {name: summary(values) for name, values in answers(model, points).items()}


def record_models():
    found = {}
    for name in [*saved.MODELS, "table"]:
        if getattr(saved.fitted(name), "random_state", 0) is None:
            found[name] = "has no seed"
            continue
        content = saved.file_of(name)
        with TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.skr")
            with open(path, "wb") as file:
                file.write(content)
            points = saved.TABLE.head(7) if name == "table" else None
            found[name] = {"file": members(content), **predictions(load_model(path), points)}
    return found


def record_fits():
    found = {}
    for name, fit in FITS.items():
        one, two = (everything(fit(n_jobs)) for n_jobs in (1, 2))
        found[name] = {"threads 1": one, "threads 2": "the same" if one == two else two}
    return found


def everything(model):
    rows = ROWS[:, : model.n_features_in_]
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(200 * rows, columns=model.feature_names_in_)
    wide = {"predict 500": summary(model.predict(rows))}
    return {**predictions(model), **wide, "attributes": attributes(model)}


def record_reports():
    from skewridge.reporting import collect, report

    X, y = make_peaks(400, 2, random_state=7)
    new, truth = make_peaks(120, 2, random_state=8)
    chosen = ["dac", "adaptive", "adaptive standard", "skew", "local", "spline", "regressor", "calibrated"]
    found = {}
    for name in chosen:
        model = FITS[name](1)
        how = {"y_ref": y, "seconds": 1.5, "title": f"{name} <of peaks>", "baselines": {"zero": np.zeros(120)}}
        how["train"] = (X, y) if name in ("adaptive", "skew") else None
        page = {"page": sha(normalised(report(model, new, truth, **how)).encode())}
        found[name] = {"told": json.loads(normalised(json.dumps(collect(model, new, truth, **how)))), **page}
    return found


def record_answers():
    return {name: {key: values.tolist() for key, values in answers(fit(1)).items()} for name, fit in FITS.items()}


SECTIONS = {
    "answers": record_answers,
    "models": record_models,
    "fits": record_fits,
    "commands": record_commands,
    "reports": record_reports,
}


def path_of(section):
    return HERE / "fits.json" if section == "answers" else RECORDS / f"{section}.json"


def record(section):
    with warnings.catch_warnings(), open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        warnings.simplefilter("ignore")  # so few rows dominate
        return SECTIONS[section]()


def differences(expected, found, same_build, place=""):
    """Yield a line for everything that is not as it was recorded."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in sorted({*expected, *found}, key=str):
            here = f"{place} > {name}" if place else name
            if name not in found or name not in expected:
                yield f"{here}: {'is new' if name in found else 'is no more'}"
            elif same_build or name not in ("sha", "page", "file"):
                yield from differences(expected[name], found[name], same_build, here)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for i, (old, new) in enumerate(zip(expected, found, strict=True)):
            yield from differences(old, new, same_build, f"{place}[{i}]")
    elif isinstance(expected, list) and isinstance(found, list) and all(isinstance(x, str) for x in expected + found):
        yield from (f"{place}: - {line}" for line in expected if line not in found)
        yield from (f"{place}: + {line}" for line in found if line not in expected)
        yield f"{place}: {len(expected)} lines, now {len(found)}"
    elif not alike(expected, found, same_build):
        yield f"{place}:\n    - {expected}\n    + {found}"


def alike(expected, found, same_build):
    """Equal, or on another build of the libraries: with numbers that are nearly so."""
    if expected == found or (expected != expected and found != found):
        return True
    if same_build:
        return False
    if isinstance(expected, str) and isinstance(found, str):
        texts = NUMBER.split(expected) == NUMBER.split(found)
        old, new = ([float(x.replace(",", "")) for x in NUMBER.findall(text)] for text in (expected, found))
        return texts and np.allclose(old, new, rtol=1e-3, atol=1e-8)
    numbers = all(isinstance(value, int | float) for value in (expected, found))
    return numbers and math.isclose(expected, found, rel_tol=1e-6, abs_tol=1e-8)


def check(section):
    """Say what differs from the record; whether nothing does."""
    start = time.perf_counter()
    recorded = json.loads(path_of(section).read_text())
    same_build = recorded["build"] == build()
    found = json.loads(json.dumps(record(section)))  # as the record went
    said = list(differences(recorded["answers"], found, same_build))
    how = "to the bit" if same_build else "another build: hashes are not compared, numbers nearly"
    more = [f"and {len(said) - AT_MOST} more"] if len(said) > AT_MOST else []
    head = f"{section}: {len(said) or 'no'} differences ({how}; {time.perf_counter() - start:.0f} s)"
    sys.stdout.write("\n  ".join([head, *said[:AT_MOST], *more]) + "\n")
    return not said


def write(path, found):
    path.write_text(json.dumps({"build": build(), "answers": found}, indent=1) + "\n")


def command_line_file():
    """A model with its encoder, as the command line writes it."""
    options = ["--exclude", "id", "--ordinal", "condition=poor,fair,good", "--categorical", "zip"]
    settings = ["-p", "n_centers=30", "-p", "penalty=0.001", "--jobs", "1"]
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.skr")
        assert main(["fit", str(HOUSES), "-t", "price", *options, *settings, "-o", path]) == 0
        with open(path, "rb") as file:
            return file.read()


def record_files():
    folder = HERE / ".".join(skewridge.__version__.split(".")[:2])
    folder.mkdir()  # fails where the release has its files already
    contents = {name.replace(" ", "_").replace("'", ""): saved.file_of(name) for name in saved.MODELS}
    contents["command_line"] = command_line_file()
    for name, content in contents.items():
        (folder / f"{name}.skr").write_bytes(content)
    found = {name: answers(load_model(folder / f"{name}.skr")) for name in contents}
    write(folder / "files.json", {name: {key: v.tolist() for key, v in one.items()} for name, one in found.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", choices=["files"])
    parser.add_argument("--check", nargs="*", choices=SECTIONS, metavar="SECTION", help="all of them unless said")
    parser.add_argument("--write", nargs="+", choices=SECTIONS, metavar="SECTION", default=[])
    given = parser.parse_args()
    if given.task:
        record_files()
    for section in given.write:
        write(path_of(section), record(section))
    if given.check is not None:
        equal = [check(section) for section in given.check or SECTIONS]
        sys.exit(not all(equal))
