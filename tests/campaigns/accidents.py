"""Kill and interrupt what is at work: ``python -m tests.campaigns.accidents TASK FOLDER TRIES``, counts on stdout.

drivers: fits with a checkpoint are killed at random moments and resumed; the end has the bits of a fit in peace.
interrupts: Ctrl-C at random moments of every command; it ends with 130 or was done, and no file is half-written.
writers: processes that write one file at once, while others read it; it holds one of their models in full.

Work is done in forks of this process, which has everything imported and nothing at work.
"""

import io
import json
import os
import shutil
import signal
import sys
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd

from skewridge import AdaptiveKernelRidge, DacKernelRidge, SkewRidge, fit_source, load_model, save_model
from skewridge.cli import main as skewridge
from skewridge.datasets import make_peaks

QUICK = ["-e", "dac", "-p", "n_nodes=2", "-p", "bandwidth=1", "-p", "penalty=0.01", "-j", "1"]


def forked(task, *arguments):
    """Do a task in a process of its own, which ends with what the task returns."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = task(*arguments) or 0
        finally:
            os._exit(code)
    return child


def ended(child):
    """The exit code of a child, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def seconds_of(task, *arguments):
    start = time.monotonic()
    assert ended(forked(task, *arguments)) == 0
    return time.monotonic() - start


# Drivers

FITS = {
    "dac": DacKernelRidge(60, slices=1, bandwidth=0.5, penalty=1e-3, random_state=0),
    "adaptive": AdaptiveKernelRidge(40, 0.5, bandwidth=0.5, penalty=1e-8, random_state=0),
}


def write_rows(folder):
    X, y = make_peaks(33_000, 2, random_state=0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    frame.to_parquet(folder / "rows.parquet", row_group_size=10_000)


def keep_fit(name, folder, checkpoint, out):
    """Fit from files, and keep what was fitted."""
    warnings.simplefilter("ignore")
    model = fit_source(FITS[name], folder / "rows.parquet", target="y", checkpoint=checkpoint)
    np.save(out, model.dual_coef_)


def drivers(folder, tries):
    """Kill fits until so many were killed; every fit is resumed until it ends, and then compared."""
    rng, killed, fits = np.random.default_rng(0), 0, 0
    assert ended(forked(write_rows, folder)) == 0
    took = {name: seconds_of(keep_fit, name, folder, folder / f"peace-{name}", folder / f"{name}.npy") for name in FITS}
    while killed < tries:
        name = list(FITS)[fits % len(FITS)]
        checkpoint, out = folder / f"checkpoint-{fits}", folder / "out.npy"
        code = -signal.SIGKILL
        for _ in range(6):  # later resumes find most of it done
            child = forked(keep_fit, name, folder, checkpoint, out)
            time.sleep(rng.uniform(0, took[name]))
            os.kill(child, signal.SIGKILL)
            code = ended(child)
            killed += code == -signal.SIGKILL
            if code == 0:
                break
        if code:
            assert ended(forked(keep_fit, name, folder, checkpoint, out)) == 0
        assert np.array_equal(np.load(out), np.load(folder / f"{name}.npy")), (name, fits)
        fits += 1
    return f"{killed} kills, {fits} fits resumed to the same bits"


# Commands

LOST = "Exception ignored"  # Ctrl-C in code that cannot raise (callbacks of llvmlite, scipy's Sobol points) is lost
WORDS = "Interrupted. No file is half-written."  # or nothing, where a command has not begun
COMMANDS = {
    "fit": ["fit", "table.csv", "-t", "y", "-o", "fitted.skr", "--holdout", "0.2", *QUICK],
    "fit two levels": ["fit", "small.csv", "-t", "y", "-o", "two.skr", "-j", "1"],
    "predict": ["predict", "model.skr", "table.csv", "-o", "out.csv", "--keep", "*"],
    "predict Parquet": ["predict", "model.skr", "table.csv", "-o", "out.parquet", "--interval", "0.9"],
    "evaluate": ["evaluate", "model.skr", "table.csv", "--json"],
    "report": ["report", "model.skr", "table.csv", "-o", "page.html"],
    "info": ["info", "model.skr"],
    "diagnose": ["diagnose", "table.csv", "-t", "y"],
    "plan": ["plan", "table.csv", "-t", "y", "--json"],
    "compare": ["compare", "model.skr", "other.skr", "table.csv"],
    "explain": ["explain", "model.skr", "table.csv"],
    "demo": ["demo", "."],
}


def command(arguments, out):
    """Run a command as a person would, its words in a file; Ctrl-C reaches the command, and what is here does not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    said, code = io.StringIO(), None
    said.fileno = lambda: 1
    with redirect_stdout(said), redirect_stderr(said):
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            code = skewridge(arguments)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        except KeyboardInterrupt:
            code = 77 if code is None else code  # nobody caught it, or it came too late
    Path(out).write_text(json.dumps([code, said.getvalue()]))
    return code


def checked(name, folder, before, out):
    """Refuse anything but an end, an interruption, and whole files."""
    code, said = json.loads(out.read_text())
    assert code in (0, 130), (name, code, said)
    assert "Traceback" not in said or LOST in said, (name, said)
    assert code == 0 or not said or WORDS in said, (name, said)
    for path in set(folder.iterdir()) - before:
        assert not path.name.endswith(".tmp"), (name, path)
        if path.suffix == ".skr":
            load_model(path)
        elif path.suffix == ".html":
            assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
        elif path.suffix == ".png":
            assert path.read_bytes()[-8:-4] == b"IEND"
        else:
            read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
            assert len(read(path)) == 1500
        path.unlink()
    return code == 130


def interrupts(folder, tries):
    """Interrupt every command in turn, at moments spread over the time that it takes."""
    os.chdir(folder)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # in children too, until their command begins
    rng, out = np.random.default_rng(0), folder.parent / f"{folder.name}.json"
    table = pd.DataFrame(rng.normal(size=(1500, 4)), columns=list("abcd")).assign(t=rng.choice(list("uvw"), 1500))
    table = table.assign(y=np.exp(table["a"]))
    table.to_csv("table.csv", index=False)
    table[:80].to_csv("small.csv", index=False)
    assert ended(forked(command, ["fit", "table.csv", "-t", "y", "--holdout", "0", *QUICK], out)) == 0
    shutil.copy("model.skr", "other.skr")
    before, took, hit = set(folder.iterdir()), {}, 0
    for name, arguments in COMMANDS.items():
        took[name] = seconds_of(command, arguments, out)
        checked(name, folder, before, out)
    for number in range(tries):
        name = list(COMMANDS)[number % len(COMMANDS)]
        child = forked(command, COMMANDS[name], out)
        time.sleep(0.03 + rng.uniform(0, took[name]))  # a fork takes a moment to be there
        os.kill(child, signal.SIGINT)
        assert ended(child) in (0, 130), (name, out.read_text())
        hit += checked(name, folder, before, out)
    return f"{tries} interruptions, {hit} before the end"


# Writers


def save_often(model, path, times):
    for _ in range(times):
        save_model(model, path)


def load_often(path, texts, times):
    for _ in range(times):
        assert path.read_bytes() in texts
        load_model(path)


def writers(folder, tries):
    """Four processes write one file at once, and two read it."""
    X, y = make_peaks(60, 2, random_state=0)
    fits = [DacKernelRidge(1, bandwidth=0.5, penalty=10.0**-i, random_state=0).fit(X, y) for i in range(3)]
    models, texts, path = [*fits, SkewRidge("laplacian", random_state=0).fit(X, y)], set(), folder / "model.skr"
    for model in models:
        save_model(model, path)
        texts.add(path.read_bytes())
    children = [forked(save_often, model, path, tries // len(models)) for model in models]
    children += [forked(load_often, path, texts, tries // 4) for _ in range(2)]
    assert [ended(child) for child in children] == [0] * 6
    assert path.read_bytes() in texts
    assert [found.name for found in folder.iterdir()] == ["model.skr"]
    return f"{tries} files written at once"


if __name__ == "__main__":
    task, folder, tries = sys.argv[1:]
    sys.stdout.write({"drivers": drivers, "interrupts": interrupts, "writers": writers}[task](Path(folder), int(tries)))
