"""What happens to files that are damaged, forged, of another kind, or killed while they are written."""

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from skewridge import ModelFileError, load_model
from skewridge.persist import read_model
from skewridge.persist._archive import npy_header
from tests.hostile import DOCUMENT, MANIFEST, edited, members_of, sealed, zipped
from tests.saved import TABLE, X_NEW, file_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def original():
    return file_of("adaptive")


@pytest.fixture
def load(tmp_path):
    """Load from bytes."""

    def from_bytes(data):
        path = tmp_path / "model.skr"
        path.write_bytes(data)
        return load_model(path)

    return from_bytes


def test_a_file_that_is_not_there_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.skr")


def test_errors_name_the_file_and_the_remedy(load, tmp_path):
    with pytest.raises(ModelFileError, match=r"model.skr cannot be loaded .*: it is no complete zip .*save the model"):
        load(b"")


def test_a_pickle_is_not_opened(load):
    class Bomb:
        def __reduce__(self):
            return os.system, ("echo boom",)

    with pytest.raises(ModelFileError, match="no complete zip archive"):
        load(pickle.dumps(Bomb()))


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_a_file_that_is_cut_short_is_refused(share, original, load):
    with pytest.raises(ModelFileError, match="no complete zip archive"):
        load(original[: int(share * len(original))])


def with_manifest(**entries):
    return lambda data: edited(data, MANIFEST, lambda manifest: manifest.update(entries))


def with_member(name, content=b"{}"):
    def add(data):
        members = members_of(data)
        return zipped(sealed({**members, name: content}))

    return add


def with_listed_member(name):
    def add(data):
        members = {**members_of(data), name: b"{}"}
        manifest = json.loads(members[MANIFEST])
        manifest["members"][name] = {}
        return zipped(sealed({**members, MANIFEST: json.dumps(manifest).encode()}))

    return add


def with_entry(**entries):
    return lambda data: edited(data, MANIFEST, lambda m: m["members"]["arrays/0.npy"].update(entries))


def compressed(data):
    return zipped(members_of(data), zipfile.ZIP_DEFLATED)


def flipped(data):
    """A bit of an array changed, and zip's own checksum right."""
    members = members_of(data)
    array = bytearray(members["arrays/0.npy"])
    array[-1] ^= 1
    return zipped({**members, "arrays/0.npy": bytes(array)})


def with_header(data):
    members = members_of(data)
    array = members["arrays/0.npy"].replace(b"'fortran_order': False", b"'fortran_order': True ")
    return zipped(sealed({**members, "arrays/0.npy": array}))


def with_text(member, old, new):
    def replace(data):
        members = members_of(data)
        assert old in members[member]
        return zipped(sealed({**members, member: members[member].replace(old, new)}))

    return replace


def twice(data):
    """Two members of one name."""
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(DOCUMENT, b"{}")
    return out.getvalue()


def bloated(data):
    """A central directory that claims 4 GB for the manifest."""
    place = data.rindex(b"PK\x01\x02")
    return data[: place + 20] + b"\xf0\xff\xff\xff" * 2 + data[place + 28 :]


@pytest.mark.parametrize(
    ("enemy", "match"),
    [
        (with_manifest(format="other"), "manifest is not one of skewridge"),
        (
            with_manifest(version=3, skewridge="9.9"),
            "version 3 of the format, written by skewridge '9.9'.*or load it with the one that wrote it",
        ),
        (with_manifest(version=1), "version 1 of the format, .*Fit the model again with this version, or load it"),
        (with_manifest(version=True), "version True"),
        (with_manifest(version=None), "version None"),
        (with_manifest(skewridge="\x1b[31m"), "written by skewridge"),
        (with_manifest(more=1), "manifest has other entries"),
        (with_manifest(members=[]), "manifest has other entries"),
        (with_manifest(members={}), "members are not those that it lists"),
        (lambda data: zipped({"readme": b""}), "not one of skewridge.save_model"),
        (with_member("extra"), "members are not those that it lists"),
        (with_listed_member("../../evil"), "unknown member '../../evil'"),
        (with_listed_member("/etc/passwd"), "unknown member '/etc/passwd'"),
        (with_listed_member("arrays/00.npy"), "unknown member"),
        (with_listed_member("arrays/77.npy"), "does not describe arrays/77.npy"),
        (with_entry(dtype="|O"), "of dtype '|O', and only <f8"),
        (with_entry(dtype=["<f8"]), "of dtype"),
        (with_entry(order="K"), "of dtype"),
        (with_entry(shape=[2**40]), "not as large as its shape"),
        (with_entry(shape=[2**70]), "impossible shape"),
        (with_entry(shape=[-1]), "impossible shape"),
        (with_entry(shape=[1.0]), "impossible shape"),
        (with_entry(shape=[1] * 40), "impossible shape"),
        (with_entry(shape="3"), "impossible shape"),
        (with_header, "header of arrays/0.npy is not the one"),
        (flipped, "checksum of arrays/0.npy"),
        (compressed, "compressed or encrypted"),
        (twice, "same name"),
        (bloated, "claim to be larger than the file"),
        (with_text(DOCUMENT, b'"about"', b'"about":{},"about"'), "a key occurs twice"),
        (with_text(DOCUMENT, b'"random_state":0', b'"random_state":NaN'), "NaN is not a finite number"),
        (with_text(DOCUMENT, b'"random_state":0', b'"random_state":1e999'), "1e999 is not a finite number"),
        (with_text(DOCUMENT, b'"random_state":0', b'"random_state":' + b"9" * 9999), "JSON is not valid"),
        (with_text(DOCUMENT, b'"random_state":0', b'"random_state":' + b"[" * 9999), "JSON is not valid"),
        (with_text(DOCUMENT, b'"random_state":0', b'"random_state":' + b"[" * 600 + b"]" * 600), "cannot be loaded"),
        (with_text(DOCUMENT, b"AdaptiveKernelRidge", b"os.system"), "unknown class 'os.system'.*AdaptiveKernelRidge"),
        (with_text(DOCUMENT, b"AdaptiveKernelRidge", b"DacKernelRidge"), "no parameter 'adapt'"),
    ],
)
def test_a_hostile_file_is_refused(enemy, match, original, load):
    with pytest.raises(ModelFileError, match=match):
        load(enemy(original))


def in_model(edit):
    return lambda data: edited(data, DOCUMENT, lambda document: edit(document["model"]["estimator"]))


def setting(*path, to):
    def edit(node):
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = to

    return in_model(edit)


KERNEL = ("attributes", "_low_rank", "basis", "kernel")
SOBOLEV = {"name": "sobolev", "bandwidth": None, "degree": 0}


@pytest.mark.parametrize(
    ("enemy", "match"),
    [
        (setting("parameters", "kernel", to="linear"), "parameters of the model are not valid: kernel must be one of"),
        (setting("parameters", "n_jobs", to="many"), "parameters of the model are not valid: n_jobs"),
        (setting("parameters", "shell", to="sh"), "has no parameter 'shell'"),
        (setting("parameters", to=[]), "no parameters and attributes"),
        (setting("attributes", to=None), "it is not fitted"),
        (setting("attributes", "predict", to=1), "other attributes than a fitted AdaptiveKernelRidge"),
        (setting("attributes", "intercept_", to="high"), "intercept_ is not a number"),
        (setting("attributes", "intercept_", to={"float": "inf"}), "intercept_ is not a number from"),
        (setting("attributes", "intercept_", to={"float": "1"}), "intercept_ is no number"),
        (setting("attributes", "intercept_", to={"eval": "1"}), "intercept_ is of an unknown kind 'eval'"),
        (setting("attributes", "intercept_", to={"float": "nan", "b": 1}), "intercept_ is of an unknown kind"),
        (setting("attributes", "intercept_", to={"array": 99}), "array that the file does not hold"),
        (setting("attributes", "intercept_", to={"array": True}), "array that the file does not hold"),
        (setting("attributes", "intercept_", to={"scalar": ["<f8", "1"]}), "intercept_ is no number"),
        (setting("attributes", "intercept_", to={"scalar": ["|O", 1]}), "intercept_ is no number"),
        (setting("attributes", "intercept_", to={"scalar": ["<i4", 10**12]}), "does not fit its type"),
        (setting("attributes", "intercept_", to={"scalar": ["<i4", 1.5]}), "does not fit its type"),
        (setting("attributes", "intercept_", to={"scalar": ["<f4", 1e300]}), "does not fit its type"),
        (setting("attributes", "intercept_", to={"scalar": ["<f8", 10**400]}), "does not fit its type"),
        (setting("attributes", "intercept_", to={"scalar": ["<i8", {"float": "nan"}]}), "does not fit its type"),
        (setting("attributes", "n_features_in_", to=3), "does not fit the model's other arrays"),
        (setting("attributes", "n_centers_", to=True), "n_centers_ is not a whole number"),
        (setting("attributes", "centers_", to={"array": 1}), "array"),
        (setting("attributes", "solver_", to=3), "solver_ is not str"),
        (setting("attributes", "feature_names_in_", to={"strings": ["a"]}), "does not fit"),
        (setting("attributes", "feature_names_in_", to={"strings": [{}]}), "other things than text"),
        (setting("attributes", "feature_names_in_", to={"array": 0}), "is not an array of text"),
        (setting("attributes", "feature_names_in_", to={"strings": ["\ud800", "b"]}), "not valid Unicode"),
        (setting("attributes", "tuning_", "tried", to={}), "tried is not a list"),
        (setting("attributes", "tuning_", "tried", to=[{"dict": []}]), "is no dict"),
        (setting("attributes", "tuning_", "at_edge", to={"tuple": 1}), "is no tuple"),
        (setting("attributes", "tuning_", to=None), "tuning_ has other fields than a CenterTuning"),
        (setting("attributes", "_model", to={}), "other fields than a GlobalModel"),
        (setting("attributes", "_low_rank", to={}), "other fields than a LowRankModel"),
        (setting(*KERNEL, "name", to="x"), "kernel.name is not 'gaussian' or "),
        (setting(*KERNEL, "name", to="polynomial"), "not a valid Kernel: its fields contradict each other"),
        (setting(*KERNEL, "bandwidth", to=0.0), "bandwidth is not a number from"),
        (setting(*KERNEL, "bandwidth", to=0.123), "valid"),  # not that of what predicts
        (setting(*KERNEL, "degree", to=10**9), "degree is not a whole number from 0 to 100"),
        (setting(*KERNEL, "low", to={}), "low is not a tuple"),
        (setting(*KERNEL, "low", to={"tuple": ["1"]}), r"low\[0\] is not a number"),
        (setting(*KERNEL, "low", to={"tuple": [1.0]}), "not a valid Kernel: its fields contradict each other"),
        (setting(*KERNEL, to={**SOBOLEV, "low": {"tuple": [0.0]}, "high": {"tuple": [1.0]}}), "not a valid Basis"),
    ],
)
def test_a_model_whose_parts_do_not_fit_is_refused(enemy, match, original, load):
    with pytest.raises(ModelFileError, match=match):
        load(enemy(original))


def with_array(path, change):
    """The file with an array changed, in its numbers or its shape."""

    def edit(data):
        members = members_of(data)
        node = json.loads(members[DOCUMENT])["model"]["estimator"]["attributes"]
        for key in path:
            node = node[key]
        name = f"arrays/{node['array']}.npy"
        manifest = json.loads(members[MANIFEST])
        entry = manifest["members"][name]
        array = change(np.load(io.BytesIO(members[name])).copy(order=entry["order"]))
        entry.update(shape=array.shape, order="C")
        header = npy_header(entry["dtype"], entry["shape"], "C")
        content = header + np.ascontiguousarray(array, dtype=entry["dtype"]).tobytes()
        return zipped(sealed({**members, MANIFEST: json.dumps(manifest).encode(), name: content}))

    return edit


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (["allocation_", "rows"], 90, "rows refers to number 90, which the model does not have"),
        (["allocation_", "rows"], -1, "rows holds negative numbers"),
        (["allocation_", "starts"], 5, "not a valid Allocation"),
        (["slices_", "labels"], 10**6, "labels refers to number 1000000"),
        (["X_fit_"], np.nan, "X_fit_ holds numbers that are not finite"),
        (["nodes_", 1, "rows"], 90, r"nodes_\[1\].rows refers to number 90"),
    ],
)
def test_numbers_that_would_lead_outside_the_arrays_are_refused(path, value, match, load):
    def change(array):
        array.flat[0] = value
        return array

    with pytest.raises(ModelFileError, match=match):
        load(with_array(path, change)(file_of("dac nodes")))


def node_with(key, node):
    """The first object below a node that has a key."""
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    if isinstance(node, dict) and key in node:
        return node
    return next(filter(None, (node_with(key, part) for part in below)), None)


CELLS = ("_model", "cells")
TREE, ROWS = (*CELLS, "partitions"), (*CELLS, "rows")
SHARED_OUT = "cells is not a valid Cells|does not fit the model's other arrays"


@pytest.mark.parametrize(
    ("path", "spoil", "match"),
    [
        ((*TREE, "cut"), lambda a: a[:-1], r"cut has length \d+, which does not fit"),
        ((*TREE, "roots"), lambda a: a + 10_000, "roots refers to number 10"),
        ((*TREE, "roots"), lambda a: a - 10_000, "roots holds negative numbers"),
        ((*TREE, "feature"), lambda a: np.where(a >= 0, a + 3, a), "not a valid Cells"),
        ((*TREE, "feature"), lambda a: np.where(a >= 0, a - 10, a), "not a valid Cells"),
        ((*TREE, "child"), np.zeros_like, "not a valid Cells"),
        ((*TREE, "child"), lambda a: a + 1, "not a valid Cells"),
        ((*ROWS, "starts"), lambda a: a[:-1], SHARED_OUT),
        ((*ROWS, "starts"), lambda a: a[::-1], SHARED_OUT),
        ((*ROWS, "starts"), lambda a: np.where(a == a[1], 0, a), SHARED_OUT),
        ((*ROWS, "order"), lambda a: a - 1, "order holds negative numbers"),
        ((*ROWS, "order"), lambda a: a + 1, "order refers to number"),
        ((*CELLS, "coef"), lambda a: a[:, 1:], "does not fit the model's other arrays"),
        ((*CELLS, "coef"), lambda a: a[0], "coef is not an array of float64 of the expected dimensions"),
        ((*CELLS, "means"), lambda a: a[1:], "does not fit the model's other arrays"),
        ((*CELLS, "slopes"), lambda a: a[1:], "does not fit the model's other arrays"),
        ((*CELLS, "slopes"), lambda a: a.sum(axis=1), "slopes is not an array of float64 of the expected dimensions"),
        ((*CELLS, "points"), lambda a: a[:, 1:], "does not fit the model's other arrays"),
    ],
)
def test_cells_that_would_lead_outside_their_arrays_are_refused(path, spoil, match, load):
    with pytest.raises(ModelFileError, match=match):
        load(with_array(path, spoil)(file_of("local")))


@pytest.mark.parametrize("part", ["wave", ["cubic"], None])
def test_a_factor_of_a_term_of_a_spline_is_a_part_that_is_known(part, load):
    terms = ("attributes", "_fit", "features", "model", "terms", "tuple")
    with pytest.raises(ModelFileError, match="is no factor of a term"):
        load(setting(*terms, 0, "tuple", 0, "tuple", 1, to=part)(file_of("spline")))


def test_cells_of_a_kernel_that_does_not_decay_are_refused(load):
    kernel = {**SOBOLEV, "low": {"tuple": []}, "high": {"tuple": []}, "name": "polynomial", "degree": 2}
    with pytest.raises(ModelFileError, match="not a valid Cells"):
        load(setting("attributes", *CELLS, "kernel", to=kernel)(file_of("local")))


@pytest.mark.parametrize(
    ("path", "length"),
    [(("members", "linear", "coef"), 1), (("members", "linear", "intercept"), 2), (("weights",), 1)],
)
def test_a_line_or_a_blend_whose_arrays_differ_in_length_is_refused(path, length, load):
    forged = with_array(("_model", *path), lambda a: np.resize(a, (length, *a.shape[1:])))
    with pytest.raises(ModelFileError, match=r"does not fit|not a valid BlendedModel"):
        load(forged(file_of("skew")))


@pytest.mark.parametrize("key", ["roots", "feature", "child", "order", "starts", "cut", "coef"])
def test_a_number_in_the_place_of_an_array_is_refused(key, load):
    def forge(document):
        node_with(key, node_with("cells", document)["cells"])[key] = 10**400

    with pytest.raises(ModelFileError, match=rf"{key} is not an array of"):
        load(edited(file_of("local"), DOCUMENT, forge))


def test_truth_values_are_0_or_1(load):
    def change(array):
        return (array.view(np.uint8) + 2).view(np.bool_)

    with pytest.raises(ModelFileError, match="holds other truth values than 0 and 1"):
        load(with_array(("_forms", "ranked"), change)(file_of("local")))


def test_arrays_that_belong_to_nothing_are_refused(original, load):
    def forget(estimator):
        estimator["attributes"]["_model"]["units"] = estimator["attributes"]["_model"]["means"]

    with pytest.raises(ModelFileError, match="arrays that belong to nothing"):
        load(in_model(forget)(original))


@pytest.mark.parametrize(
    "document", [[], {}, {"model": {}, "about": {}}, {"model": {"dict": {}}, "about": {"dict": {}}}]
)
def test_something_else_than_a_model_is_refused(document, original, load):
    with pytest.raises(ModelFileError, match=r"which model it is|unknown kind|something else than a model"):
        load(zipped(sealed({**members_of(original), DOCUMENT: json.dumps(document).encode()})))


def test_a_parameter_that_the_file_does_not_know_takes_its_default(original, load):
    assert load(in_model(lambda node: node["parameters"].pop("verbose"))(original)).verbose == 0


def test_a_parameter_that_has_no_default_is_needed(load):
    forged = in_model(lambda node: node["parameters"].pop("estimator"))(file_of("regressor"))
    with pytest.raises(ModelFileError, match="DacRegressor needs the parameter 'estimator', which the file does not"):
        load(forged)


# Enemies by the hundred


def run_module(name, *arguments):
    """Run one of our modules in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"tests.{name}", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


QUICK_FILES = [("dac nodes", 50), ("adaptive kernels", 50)]
OF_EVERY_ESTIMATOR = ["dac nodes", "adaptive kernels", "regressor", "spline", "local", "skew with companions", "table"]
MANY_FILES = [pytest.param(name, 1700, marks=pytest.mark.full) for name in OF_EVERY_ESTIMATOR]  # 11,900 in all


@pytest.mark.parametrize(("name", "n_files"), [*QUICK_FILES, *MANY_FILES])
def test_damaged_and_forged_files_are_refused_or_right_and_never_run_code(name, n_files, tmp_path, record_property):
    (tmp_path / "model.skr").write_bytes(file_of(name))
    np.save(tmp_path / "points.npy", X_NEW)
    TABLE[:9].to_parquet(tmp_path / "points.parquet")
    points = tmp_path / ("points.parquet" if name == "table" else "points.npy")
    run = run_module("fuzz_models", tmp_path / "model.skr", points, n_files)
    assert run.returncode == 0, run.stderr
    assert f"{n_files} files" in run.stdout
    loaded = int(run.stdout.split()[2])
    record_property("damaged and forged model files, that loaded", {"count": n_files, "figure": loaded})


QUICK_KILLS = [("dac", "dac nodes", 5)]
PAIRS = [("dac", "dac nodes"), ("adaptive kernels", "local"), ("skew", "spline"), ("regressor", "skew with companions")]
MANY_KILLS = [pytest.param(*pair, 100, marks=pytest.mark.full) for pair in PAIRS]


@pytest.mark.parametrize(("first", "second", "tries"), [*QUICK_KILLS, *MANY_KILLS])
def test_a_kill_while_saving_leaves_the_old_or_the_new_model(first, second, tries, tmp_path, record_property):
    for name in (first, second):
        (tmp_path / name).write_bytes(file_of(name))
    run = run_module("kill_while_saving", tmp_path / first, tmp_path / second, tmp_path, tries)
    assert run.returncode == 0, run.stderr
    assert f"{tries} kills" in run.stdout
    halves = int(run.stdout.split()[2])
    record_property("kills while saving, in the middle of a file", {"count": tries, "figure": halves})


OLDEST = ROOT / ".venv-oldest" / "bin" / "python"
SAVE = """
import sys, numpy as np
from skewridge import AdaptiveKernelRidge, DacKernelRidge, save_model
from skewridge.datasets import make_peaks
X, y = make_peaks(400, 2, random_state=0)
grid = np.random.default_rng(1).random((200, 2))
models = {"adaptive": AdaptiveKernelRidge(random_state=0), "dac": DacKernelRidge(n_nodes=4, random_state=0)}
for name, model in models.items():
    save_model(model.fit(X, y), f"{sys.argv[1]}/{name}.skr", about={"prediction": model.predict(grid), "grid": grid})
print(np.__version__)
"""


@pytest.mark.full
@pytest.mark.skipif(not OLDEST.exists(), reason=f"{OLDEST} is not there: make test-oldest makes it")
def test_a_model_of_the_oldest_dependencies_predicts_the_same_on_the_newest(tmp_path):
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run = subprocess.run([OLDEST, "-c", SAVE, tmp_path], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.strip() != np.__version__
    for name in ("adaptive", "dac"):
        read = read_model(tmp_path / f"{name}.skr")
        expected = read.about["prediction"]
        error = np.abs(read.model.predict(read.about["grid"]) - expected)
        assert error.max() <= 1e-12 * np.abs(expected).max()
