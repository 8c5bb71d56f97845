"""Five million rows from Parquet in one process: seconds and peak resident memory, both estimators.

    python benchmarks/out_of_core.py [--rows 5000000] [--folder DIR]

Ten files of two peaks, d = 6, about 350 MB; every fit in its own process, with memory_limit="1GB". Limit: 2 GB.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from table import peak_gigabytes, record

from skewridge import AdaptiveKernelRidge, DacKernelRidge, fit_source
from skewridge.datasets import make_peaks

FILES, FEATURES = 10, 6
LIMIT = {"memory_limit": "1GB", "n_jobs": 2, "random_state": 0}
ESTIMATORS = {
    "AdaptiveKernelRidge, defaults": AdaptiveKernelRidge(**LIMIT),
    "DacKernelRidge, oversampling 0.1": DacKernelRidge(oversampling=0.1, **LIMIT),
}


def write(folder, n_rows, files=FILES):
    """Files of rows; never more than one of them in memory."""
    for i in range(files):
        X, y = make_peaks(n_rows // files, FEATURES, random_state=i)
        columns = {f"x{j}": X[:, j] for j in range(FEATURES)} | {"y": y}
        pq.write_table(pa.table(columns), folder / f"part-{i:03d}.parquet", row_group_size=100_000)
    return folder


def one_fit(name, folder):
    """Fit in this process, and print seconds, peak memory in GB, and what was fitted."""
    start = time.perf_counter()
    fit_source(ESTIMATORS[name], folder, target="y")
    print(time.perf_counter() - start, peak_gigabytes())


def measure(folder, n_rows):
    size = sum(file.stat().st_size for file in folder.glob("*.parquet")) / 1e6
    for name in ESTIMATORS:
        command = [sys.executable, __file__, "--one", name, "--folder", str(folder)]
        seconds, gigabytes = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        what = f"{name}: {n_rows:,} rows of Parquet ({size:.0f} MB), d = {FEATURES}"
        record(what, "", float(seconds), "seconds")
        record(what, "", float(gigabytes), "GB at the peak", 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--one")
    options = parser.parse_args()
    if options.one:
        one_fit(options.one, options.folder)
    elif options.folder:
        options.folder.mkdir(exist_ok=True)
        measure(options.folder if any(options.folder.iterdir()) else write(options.folder, options.rows), options.rows)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(write(Path(folder), options.rows), options.rows)


if __name__ == "__main__":
    main()
