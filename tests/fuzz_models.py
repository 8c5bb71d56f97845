"""Load many damaged and forged model files under an audit hook: ``python -m tests.fuzz_models MODEL POINTS N``.

Run in a process of its own, since an audit hook stays for good. Exits with 0 where every file gave a clear error or a
right prediction and nothing of what the hook forbids ever happened.
"""

import sys
import tempfile
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd

from skewridge import ModelFileError, load_model
from tests.hostile import damaged, forged

FORBIDDEN = ("exec", "compile", "import", "pickle.", "marshal.", "subprocess.", "os.system", "os.exec", "os.fork")
FORBIDDEN += ("os.spawn", "os.posix_spawn", "ctypes.dlopen", "socket.", "code.__new__", "urllib.")


def is_forbidden(event, args):
    """Whether an event may come of code in a file; BLAS of the installed libraries is opened to limit its threads."""
    installed = event == "ctypes.dlopen" and str(args[0]).startswith(sys.prefix)
    return event.startswith(FORBIDDEN) and not installed


def listen():
    """Return the forbidden events from now on, and a switch that starts and ends the listening."""
    events, armed = [], [True]
    sys.addaudithook(lambda event, args: armed[0] and is_forbidden(event, args) and events.append((event, args)))
    compile("1", "control", "eval")
    assert events.pop()[0] == "compile"  # the hook hears
    armed[0] = False
    return events, armed


def predictions(path, X):
    """What the file's model predicts, or None where the file or the points are refused."""
    try:
        model = load_model(path)
    except ModelFileError:
        return None
    try:
        if "return_std" in signature(model.predict).parameters:
            return model.predict(X, return_std=True)
        return (model.predict(X),)
    except ValueError:  # a forged kernel that overflows
        return None


def main(model_path, points_path, n_files):
    read = pd.read_parquet if points_path.endswith(".parquet") else np.load
    original, X = Path(model_path).read_bytes(), read(points_path)
    expected = predictions(model_path, X)
    rng = np.random.default_rng(0)
    loaded = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skr"
        path.write_bytes(b"PK")
        assert predictions(path, X) is None  # whatever errors import is imported now
        repr(load_model(model_path))  # and what scikit-learn imports to name an estimator in an error
        events, armed = listen()
        for i in range(n_files):
            random_bytes = i % 2 == 0
            path.write_bytes(damaged(original, rng) if random_bytes else forged(original, rng))
            armed[0] = True
            found = predictions(path, X)
            armed[0] = False
            assert not events, events[:3]
            loaded += found is not None
            if random_bytes and found is not None:
                assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    sys.stdout.write(f"{n_files} files, {loaded} loaded\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
