"""Kills, Ctrl-C, full disks, protected folders, many writers: the old file or the new one, and the same bits."""

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skewridge import AdaptiveKernelRidge, DacKernelRidge, fit_source, predict_source, report, save_model
from skewridge.cli import main
from skewridge.datasets import make_peaks
from tests.campaigns.accidents import QUICK, ended, forked

ROOT = Path(__file__).parents[2]
NOBODY = 65534


@pytest.mark.full
@pytest.mark.parametrize(("task", "tries"), [("drivers", 60), ("interrupts", 144), ("writers", 400)])
def test_what_is_killed_or_interrupted_leaves_whole_files_and_the_same_bits(task, tries, tmp_path, record_property):
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.campaigns.accidents", task, tmp_path, str(tries)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert run.returncode == 0, run.stderr
    done = int(run.stdout.split()[0])
    assert done >= tries
    record_property(f"accidents of {task}, files or bits that were wrong", {"count": done, "figure": 0})


def kill_one(pids, after):
    time.sleep(after)
    os.kill(random.choice(pids), signal.SIGKILL)


def two_workers(cluster, client):
    """The processes of two workers at least: Dask does not replace one that is killed as it starts, so we do."""
    while True:
        for _ in range(60):
            pids = list(client.run(os.getpid, on_error="ignore").values())  # one that was killed may still be listed
            if len(pids) >= 2:
                return pids
            time.sleep(0.5)
        cluster.scale(len(cluster.workers) + 1)


@pytest.mark.full
def test_workers_killed_at_random_moments_change_no_bit(tmp_path, record_property):
    distributed = pytest.importorskip("distributed")
    X, y = make_peaks(33_000, 2, random_state=0)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(tmp_path / "rows.parquet", row_group_size=4000)
    given = {"bandwidth": 0.5, "penalty": 1e-3, "random_state": 0}
    fits = [AdaptiveKernelRidge(200, 0.5, **given), DacKernelRidge(40, oversampling=0.02, **given)]
    expected, rng, took, kills = [clone(fit).fit(X, y).dual_coef_ for fit in fits], np.random.default_rng(0), {}, 40
    random.seed(0)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for number in range(-2, kills):  # the first two in peace
            pids, which = two_workers(cluster, client), number % 2
            killer = threading.Thread(target=kill_one, args=(pids, rng.uniform(0, took.get(which, 0))))
            start = time.monotonic()
            if number >= 0:
                killer.start()
            model = fit_source(clone(fits[which]), tmp_path / "rows.parquet", target="y")
            took.setdefault(which, time.monotonic() - start)
            if number >= 0:
                killer.join()
            assert np.array_equal(model.dual_coef_, expected[which]), number
    record_property("workers killed during fits, other bits", {"count": kills, "figure": 0})


@pytest.fixture(scope="module")
def fitted():
    X, y = make_peaks(60, 2, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    return DacKernelRidge(1, bandwidth=0.5, penalty=0.01, random_state=0).fit(frame, y), frame, y


def outputs(fitted):
    """Everything that writes a file, by the file's name."""
    model, frame, y = fitted
    frame.assign(y=y).to_csv("table.csv", index=False)
    save_model(model, "input.skr")
    return {
        "model.skr": lambda path: save_model(model, path),
        "page.html": lambda path: report(model, frame, y, path),
        "out.parquet": lambda path: predict_source(model, "table.csv", path, ["a", "b"]),
        "cli.csv": lambda path: _run("predict", "input.skr", "table.csv", "-o", path),
        "cli.parquet": lambda path: _run("predict", "input.skr", "table.csv", "-o", path),
        "cli.html": lambda path: _run("report", "input.skr", "table.csv", "-t", "y", "-o", path),
        "cli.skr": lambda path: _run("fit", "table.csv", "-t", "y", "-o", path, *QUICK),
    }


def _run(*arguments):
    if main([*map(str, arguments)]):
        raise OSError("the command says so")


@pytest.fixture
def folder(monkeypatch):
    """An empty folder in one that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o755)
        monkeypatch.chdir(above)
        (Path(above) / "there").mkdir()
        yield Path(above) / "there"


def test_a_full_disk_leaves_the_old_file(fitted, folder, record_property):
    """A limit on the size of files is a disk that is full after so many bytes."""
    tries = 0
    for name, write in outputs(fitted).items():
        path = folder / name
        write(path)
        old, size = path.read_bytes(), path.stat().st_size
        for limit in (0, 1, size // 2, size - 1):
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            try:
                with pytest.raises(OSError, match=r"too large|says so"):
                    write(path)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            tries += 1
            assert path.read_bytes() == old, (name, limit)
            assert [found.name for found in folder.iterdir()] == [name], (name, limit)
        path.unlink()
    record_property("files written to a full disk, that were not as before", {"count": tries, "figure": 0})


def as_ordinary_user(task):
    """Do a task as a user who is nobody here, where that can be; its exit code tells."""

    def work():
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        warnings.simplefilter("ignore")
        task()

    return ended(forked(work))


@pytest.mark.parametrize("name", ["model.skr", "page.html", "out.parquet", "cli.csv", "cli.html", "cli.skr"])
def test_what_a_user_may_not_write_is_refused_before_any_work(name, fitted, folder, capfd):
    write = outputs(fitted)[name]
    for path in folder.parent.iterdir():
        path.chmod(0o755)
    write(folder / name)
    old = (folder / name).read_bytes()

    def refused():
        with pytest.raises(OSError, match=r"write-protected|no permission|says so"):
            write(folder / name)

    for mode in (0o555, 0o777):  # of the folder, and then the file itself is protected
        folder.chmod(mode)
        (folder / name).chmod(0o444)
        assert as_ordinary_user(refused) == 0
        assert (folder / name).read_bytes() == old
        assert [found.name for found in folder.iterdir()] == [name]
