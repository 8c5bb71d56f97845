"""Every benchmark of speed, one after the other, into one table.

    make bench        (or: python benchmarks/all.py [--out benchmarks/results.csv])

Figures are ratios to something run in the same minute on the same 2 threads. Takes about ten minutes on 2 cores.
"""

import argparse
import csv
import os
import subprocess
import sys
from pathlib import Path

from table import COLUMNS, FILE, machine

HERE = Path(__file__).parent
SCRIPTS = (
    "warm_up",
    "first_fit",
    "predict_against_sklearn",
    "narrow_kernel",
    "fit_against_lapack",
    "adaptive_against_blas",
    "spline_against_scipy",
    "many_features",
    "two_levels_speed",
    "growth",
    "tuning_cost",
)
MORE = {"growth": ("--plot", str(HERE.parent / "docs" / "images" / "growth.png"))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    options = parser.parse_args()
    partial = options.out.with_suffix(".partial")
    with partial.open("w", newline="") as file:
        file.write(f"# {machine()}\n")
        csv.writer(file).writerow(COLUMNS)
    print(machine(), flush=True)
    for script in SCRIPTS:
        print(f"\n{script}", flush=True)
        command = [sys.executable, str(HERE / f"{script}.py"), *MORE.get(script, ())]
        subprocess.run(command, check=True, env=os.environ | {FILE: str(partial)})
    partial.replace(options.out)
    print(f"\n{options.out}")


if __name__ == "__main__":
    main()
