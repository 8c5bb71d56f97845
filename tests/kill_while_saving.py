"""Kill a process while it saves, again and again: ``python -m tests.kill_while_saving FIRST SECOND FOLDER TRIES``.

Whatever the moment, the file must hold one of the two models in full.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from skewridge import load_model, save_model


def save_for_ever(models, path):
    while True:
        for model in models:
            save_model(model, path)


def main(first, second, folder, tries):
    models, path = [load_model(first), load_model(second)], Path(folder) / "model.skr"
    texts = {Path(first).read_bytes(), Path(second).read_bytes()}
    save_model(models[0], path)
    rng, halves = np.random.default_rng(0), 0
    for _ in range(tries):
        child = os.fork()
        if child == 0:
            save_for_ever(models, path)
        time.sleep(rng.uniform(0.005, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        load_model(path)
        assert path.read_bytes() in texts
        rest = list(Path(folder).glob(".skewridge-*.tmp"))
        halves += len(rest)
        for leftover in rest:
            leftover.unlink()
    sys.stdout.write(f"{tries} kills, {halves} in the middle of a file\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
