"""The tidy table that every benchmark writes to: one row a figure."""

import csv
import os
import platform
import re
from pathlib import Path

import numpy as np

FILE = "SKEWRIDGE_BENCH"  # the environment's name of the file that rows are added to
COLUMNS = ("what", "against", "figure", "unit", "limit")


def peak_gigabytes():
    """The most memory that this process has held; getrusage would tell its parent's where that held more."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1e6


def machine():
    """One line on the processor, its cores and memory, and the numerical libraries."""
    from threadpoolctl import threadpool_info

    blas = {f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if pool["user_api"] == "blas"}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{processor()}, {os.cpu_count()} cores, {memory:.0f} GiB; Python {platform.python_version()}, "
        f"numpy {np.__version__}, {', '.join(sorted(blas))}"
    )


def processor():
    """The processor's name and its widest vectors, where the system tells."""
    known = Path("/proc/cpuinfo")
    fields = (
        dict(line.split(":", 1) for line in known.read_text().splitlines() if ":" in line) if known.exists() else {}
    )
    found = {key.strip(): value.strip() for key, value in fields.items()}
    flags = found.get("flags", "").split()
    vectors = next((name for name in ("avx512f", "avx2", "avx") if name in flags), "")
    return " ".join(filter(None, (found.get("model name") or platform.machine(), vectors)))


def record(what, against, figure, unit="times faster", limit=""):
    """Print a figure, and add it to the table if there is one."""
    print(f"{what:64} {figure:10.3g} {unit:14} {against}{f'  (limit {limit})' if limit else ''}", flush=True)
    path = os.environ.get(FILE)
    if path:
        with Path(path).open("a", newline="") as file:
            csv.writer(file).writerow([what, against, f"{figure:.4g}", unit, limit])
