"""One method on one data set, in a process of its own: seconds, peak memory, and the prediction.

python worker.py METHOD data.npz prediction.npy [settings.json]

Seconds are the processor's, on one thread: what else the machine does counts little. A limit on them is the caller's
affair. Every method tunes and fits some rows before the clock starts, so that imports and compilation count for none.
Settings that stand in the file, with the seconds that they took, are not searched again; else they are left there.
"""

import json
import os
import sys
import time
import warnings
from pathlib import Path

for pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(pool, "1")

import numpy as np  # noqa: E402  the pools must be limited first

sys.path.insert(0, str(Path(__file__).parents[1]))

from methods import OURS, PEERS  # noqa: E402
from table import peak_gigabytes  # noqa: E402

WARM_UP, FEW = 500, 60  # rows


def settings_of(method, X, y, shared):
    """The settings and the seconds that they took, from the file if they are there."""
    if shared and shared.exists():
        return json.loads(shared.read_text())
    start = time.process_time()
    settings = method.tune(X, y)
    found = settings, time.process_time() - start
    if shared:
        shared.write_text(json.dumps(found))
    return found


def main():
    warnings.simplefilter("ignore")
    name, data, target = sys.argv[1:4]
    shared = Path(sys.argv[4]) if len(sys.argv) > 4 else None
    method = (OURS | PEERS)[name]
    with np.load(data) as file:
        X, y, new = file["X"], file["y"], file["new"]
    method.fit(X[:WARM_UP], y[:WARM_UP], method.tune(X[:FEW], y[:FEW])).predict(new[:FEW])
    settings, tuning = settings_of(method, X, y, shared)
    marks = [time.process_time()]
    model = method.fit(X, y, settings)
    marks.append(time.process_time())
    prediction = model.predict(new)
    marks.append(time.process_time())
    np.save(target, prediction)
    print(json.dumps([tuning, *np.diff(marks).tolist(), peak_gigabytes()]))


if __name__ == "__main__":
    main()
