"""A study of trivial cells that take a while, to be stopped from outside.

    python tests/slow_study.py FOLDER [--jobs 2] [--seconds 0.05]

Every cell that is begun adds a line to FOLDER/begun, so that a test can tell what was measured twice.
"""

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
import study

N_CELLS = 24


def cells(scale):
    return [{"method": method, "seed": seed} for seed in range(N_CELLS // 2) for method in ("a", "b")]


def measure(folder, seconds, cell):
    descriptor = os.open(folder / "begun", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{cell['method']}{cell['seed']}\n".encode())
    os.close(descriptor)
    time.sleep(seconds)
    return {"value": cell["seed"] / 7 + (cell["method"] == "a"), "seconds": time.process_time()}


class Measure(partial):
    """A partial with a module, by which the engine finds the sources."""

    __module__ = __name__


def draw(table, folder):
    (folder / "slow.txt").write_text(f"{len(table)} rows, mean {table['value'].mean():.6f}")


def make(folder, seconds=0.0):
    return study.Study("slow", cells, Measure(measure, folder, seconds), draw)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--seconds", type=float, default=0.05)
    chosen = parser.parse_args()
    places = [f"--{name}={chosen.folder / name}" for name in ("results", "cache", "pictures")]
    study.main(make(chosen.folder, chosen.seconds), ["--scale=tiny", f"--jobs={chosen.jobs}", *places])


if __name__ == "__main__":
    main()
