import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from skewridge import AdaptiveKernelRidge, DacKernelRidge, fit_source
from skewridge.datasets import make_peaks
from skewridge.execution.checkpoint import Checkpoint, Pieces
from skewridge.ridge.exact import NodeSolver
from skewridge.ridge.low_rank import Basis


def test_values_are_computed_once(tmp_path):
    calls = []
    for _ in range(2):
        value = Checkpoint(tmp_path / "new", {"seed": 1}).value("seed", lambda: calls.append(1) or 42)
    assert (value, calls) == (42, [1])


def test_another_fits_folder_is_refused_with_what_differs(tmp_path):
    Checkpoint(tmp_path, {"estimator": "A", "parameters": {"m": 1}})
    with pytest.raises(ValueError, match=r"written by another fit: parameters differ\. Name another folder"):
        Checkpoint(tmp_path, {"estimator": "A", "parameters": {"m": 2}})


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ValueError, match="holds other files"):
        Checkpoint(tmp_path, {})


def test_what_was_half_written_is_not_there(tmp_path):
    (tmp_path / ".skewridge-0.tmp").write_bytes(b"{")  # the first run died while it wrote
    store = Checkpoint(tmp_path, {})
    pieces = store.parts("nodes")
    pieces.keep(3, "three")
    (tmp_path / "nodes" / ".skewridge-1.tmp").write_bytes(b"fo")
    again = Checkpoint(tmp_path, {}).parts("nodes")
    assert (list(again), again.kept(3), 3 in again, 4 in again) == ([3], "three", True, False)


def test_sums_are_told_apart_by_their_number_and_end_as_one_file(tmp_path):
    store = Checkpoint(tmp_path, {})
    first, second = store.sums("step 1"), store.sums("step 1")
    first.keep(0, "a")
    second.keep(0, "b")
    first.finish("total")
    again = Checkpoint(tmp_path, {})
    assert again.sums("step 1").total == "total"
    assert again.sums("step 1").kept(0) == "b"
    assert not (tmp_path / "sum-0001-step-1").exists()


N = 33_000  # 17 blocks: five pieces of a sum
FIT = {
    "dac": DacKernelRidge(60, slices=1, bandwidth=0.5, penalty=1e-3, random_state=0),
    "adaptive": AdaptiveKernelRidge(40, 0.5, bandwidth=0.5, penalty=1e-8, random_state=0),
}
CHILD = """
import sys
import tests.execution.test_checkpoint as here

name, file, folder, parts, n_files = sys.argv[1:]
here.dying_after(int(n_files), parts)
here.fit(name, file, folder)
"""


def dying_after(n_files, parts):
    """From now on this process is killed as soon as it has kept so many parts of that name."""
    original = Pieces.keep

    def keep(pieces, number, value):
        original(pieces, number, value)
        if pieces._folder.name == parts and len(list(pieces)) >= n_files:
            os.kill(os.getpid(), signal.SIGKILL)

    Pieces.keep = keep


def fit(name, file, folder):
    return fit_source(FIT[name], file, target="y", checkpoint=folder)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = make_peaks(N, 2, random_state=0)
    file = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": y}), file, row_group_size=10_000)
    return file, X, y


def killed_after(n_files, name, file, folder, parts):
    """Fit in another process that is killed as soon as it has kept so many parts."""
    command = [sys.executable, "-c", CHILD, name, file, folder, parts, str(n_files)]
    child = subprocess.run(command, env=os.environ | {"PYTHONPATH": PATH})
    assert child.returncode == -signal.SIGKILL, "the fit was over before it could be killed"


PATH = os.pathsep.join([os.getcwd(), *sys.path])
SEEN = np.random.default_rng(8)


@pytest.mark.parametrize("n_files", SEEN.integers(1, 20, size=3).tolist())
def test_nodes_of_a_driver_that_was_killed_are_not_solved_again(data, tmp_path, n_files, monkeypatch):
    file, X, y = data
    killed_after(n_files, "dac", file, tmp_path, "nodes")
    pieces = Checkpoint.__new__(Checkpoint)
    pieces.folder = tmp_path
    kept = [node for number in pieces.parts("nodes") for node in pieces.parts("nodes").kept(number)[0]]
    solved, original = [], NodeSolver.solve
    monkeypatch.setattr(NodeSolver, "solve", lambda s, n: solved.extend(s.nodes.names[n]) or original(s, n))
    model = fit("dac", file, tmp_path)
    assert len(kept) >= n_files
    assert sorted(kept + solved) == list(range(60))
    monkeypatch.undo()
    assert np.array_equal(model.dual_coef_, FIT["dac"].fit(X, y).dual_coef_)


@pytest.mark.parametrize("n_files", [2, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 3))])
def test_sums_of_a_driver_that_was_killed_are_not_summed_again(data, tmp_path, n_files, monkeypatch):
    file, X, y = data
    killed_after(n_files, "adaptive", file, tmp_path / "killed", "sum-0001-fit")
    summed, original = [], Basis.summed_features

    def counted(basis):
        features = original.fget(basis)
        return lambda rows: summed.append(len(rows)) or features(rows)

    monkeypatch.setattr(Basis, "summed_features", property(counted))
    model = fit("adaptive", file, tmp_path / "killed")
    n_summed = sum(summed)
    fit("adaptive", file, tmp_path / "whole")
    assert n_summed == sum(summed) - n_summed - n_files * 4 * 2048
    monkeypatch.undo()
    assert np.array_equal(model.dual_coef_, FIT["adaptive"].fit(X, y).dual_coef_)
