"""Fit and predict many damaged CSV files under an audit hook: ``python -m tests.fuzz_tables TABLE FOLDER N``.

Exits with 0 where every one gave a clear error or one finite prediction a row, no code was run and no file left behind.
"""

import contextlib
import io
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from skewridge.cli import main as skewridge
from tests.fuzz_models import listen
from tests.hostile import damaged

QUICK = ["-e", "dac", "-p", "n_nodes=1", "-p", "bandwidth=1", "-p", "penalty=0.01", "-j", "1"]
WORDS = [b",", b"\n", b'"', b"\r", b"\0", b"NA", b"1e999", b"-1e-400", b"nan", b"inf", b"\xff\xfe", b"true", b"9" * 400]
WORDS += [
    b"=cmd|'/c calc'!A1",
    b"__import__('os').system('x')",
    b"\xef\xbb\xbf",
    b",,,,",
    b";",
    b"2020-01-01",
    b"\x1b[2J",
]
WARM = 12  # files after which whatever is imported on first use is there


def scribbled(data, rng):
    """The bytes after accidents, or with words put in that mean something to readers of CSV."""
    if rng.random() < 0.4:
        return damaged(data, rng)
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(0, len(data)))
        data[place : place + int(rng.integers(0, 3))] = WORDS[int(rng.integers(0, len(WORDS)))]
    return bytes(data)


def attempt(*arguments):
    """Run a command; return its exit code and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = skewridge([*map(str, arguments)])
    assert code in (0, 1), (code, said.getvalue())
    assert "Traceback" not in said.getvalue()
    assert code == 0 or "error: " in said.getvalue(), said.getvalue()
    return code


def check(data, folder):
    """Fit a table and predict it with a model of the whole one; return how many of both went well."""
    table, fitted, out = folder / "table.csv", folder / "fitted.skr", folder / "out.parquet"
    table.write_bytes(data)
    good = 0
    if attempt("fit", table, "-t", "price", "--missing", "impute", "-o", fitted, *QUICK) == 0:
        assert attempt("info", fitted) == 0
        fitted.unlink()
        good += 1
    if attempt("predict", folder / "model.skr", table, "--missing", "impute", "-o", out) == 0:
        prediction = pd.read_parquet(out)["prediction"]
        assert np.isfinite(prediction).all()
        out.unlink()
        good += 1
    assert sorted(os.listdir(folder)) == ["model.skr", "table.csv"]
    return good


def main(table, folder, n_files):
    original, folder, rng = Path(table).read_bytes(), Path(folder), np.random.default_rng(0)
    assert attempt("fit", table, "-t", "price", "-o", folder / "model.skr", *QUICK) == 0
    assert check(original, folder) == 2
    events, armed = listen()
    good = 0
    for i in range(n_files):
        data = scribbled(original, rng)
        armed[0] = i >= WARM
        good += check(data, folder)
        armed[0] = False
        assert not events, events[:3]
    sys.stdout.write(f"{n_files} tables, {good} of {2 * n_files} commands went well\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
