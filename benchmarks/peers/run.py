"""Every method on every data set, in one tidy table.

    make bench-peers      (or, with both environments there: python benchmarks/peers/run.py [--only toy] [--limit 120])

Rows of benchmarks/peers/results.csv: data set, method, processor seconds to tune, fit and predict, peak memory, and
overall, rare-region and balanced squared error (over the variance of y). At most 3,000 rows of a real set are fitted
and 3,000 others predicted; features are standardised on the fitted rows; one thread each. Methods that take more
processor time than the limit are ended and say so. What is in the table already is not run again, unless it is begun
--afresh. Beside it, machine.txt tells on what and with which versions.
"""

import argparse
import csv
import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from data import load, names  # noqa: E402
from methods import OURS, PEERS  # noqa: E402
from table import machine  # noqa: E402

from skewridge.datasets import make_peaks  # noqa: E402
from skewridge.metrics import balanced_mse, rare_mse  # noqa: E402

TABLE, MACHINE = HERE / "results.csv", HERE / "machine.txt"
COLUMNS = ("data", "rows", "features", "method", "tune", "fit", "predict", "gigabytes", "mse", "rare", "balanced")
PEERS_PYTHON = HERE.parents[1] / ".venv-peers" / "bin" / "python"
MOST_ROWS = 3_000


def toy(n_rows):
    X, y, new, truth = make_peaks(n_rows, 2, weights=(1, 1), random_state=0, return_test=True)
    return *standardised(X, new), y, truth


def real(name):
    X, y = load(name)
    order = np.random.default_rng(0).permutation(len(y))
    n = min(int(0.8 * len(y)), MOST_ROWS)
    train, test = order[:n], order[n:][-MOST_ROWS:]
    return *standardised(X[train], X[test]), y[train], y[test]


def standardised(X, new):
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return (X - center) / scale, (new - center) / scale


def data_sets():
    for n in (10_000, 50_000, 1_000_000):
        yield f"toy {n:,}", lambda n=n: toy(n)
    for name in names():
        folder, _, tail = name.partition("/xy")
        yield f"{folder}{tail}".replace("torgo15_", ""), lambda name=name: real(name)


def measure(method, data, limit, folder):
    """Run one method in its own process; None where it fails or takes too long."""
    python = sys.executable if method in OURS else str(PEERS_PYTHON)
    target = folder / "prediction.npy"
    command = [python, str(HERE / "worker.py"), method, str(data), str(target)]
    if family := (OURS | PEERS)[method].family:
        command.append(str(folder / f"{family}.json"))
    bounded = ["bash", "-c", f'ulimit -t {int(limit)}; exec "$@"', "-", *command]
    done = subprocess.run(bounded, capture_output=True, text=True, check=False)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"over {limit:g} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:80] if done.stderr.strip() else "failed"
    return json.loads(done.stdout.splitlines()[-1]), np.load(target)


def outcome(result, y, truth):
    """The cells of a result."""
    if isinstance(result, str):
        return [result, "", "", "", "", "", ""]
    numbers, fitted = result
    scale = np.var(truth)
    errors = [f(truth, fitted, y_ref=y) / scale for f in (rare_mse, balanced_mse)]
    return [*(f"{v:.3f}" for v in numbers), *(f"{e:.4e}" for e in (np.mean((fitted - truth) ** 2) / scale, *errors))]


def versions():
    """The peers' packages and their versions."""
    packages = [line.strip() for line in (HERE / "requirements.txt").read_text().splitlines() if line.strip()]
    program = "import sys, importlib.metadata as m; print(', '.join(f'{p} {m.version(p)}' for p in sys.argv[1:]))"
    told = subprocess.run([PEERS_PYTHON, "-c", program, *packages], capture_output=True, text=True, check=True)
    return told.stdout.strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=240)
    parser.add_argument("--afresh", action="store_true")
    options = parser.parse_args()
    if options.afresh:
        TABLE.unlink(missing_ok=True)
    done = set()
    if TABLE.exists():
        with TABLE.open() as file:
            done = {(row["data"], row["method"]) for row in csv.DictReader(file)}
    else:
        TABLE.write_text(",".join(COLUMNS) + "\n")
        MACHINE.write_text(f"{machine()}; {versions()}; at most {options.limit:g} s of processor time a method\n")
    for name, make in data_sets():
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            X, new, y, truth = make()
            data = Path(folder) / "data.npz"
            np.savez(data, X=X, y=y, new=new)
            for method, how in (OURS | PEERS).items():
                if (name, method) in done or len(y) > how.most_rows:
                    continue
                cells = outcome(measure(method, data, options.limit, Path(folder)), y, truth)
                with TABLE.open("a") as file:
                    csv.writer(file).writerow([name, len(y), X.shape[1], method, *cells])
                print(f"{name:28}{method:22}", *cells, flush=True)


if __name__ == "__main__":
    main()
