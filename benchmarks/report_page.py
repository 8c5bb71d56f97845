"""How large a report is and how long it takes to make and to open in headless Chromium.

python benchmarks/report_page.py

As many points and slices as are ever drawn. Limits: 3 MB, and 2 seconds from the start of the navigation to the end of
the page's load event (the browser's own clock), the median of five openings.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from table import record

from skewridge import AdaptiveKernelRidge
from skewridge.reporting import collect, render

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.browser import BINARY, Page

N_ROWS, OPENINGS = 20_000, 5


def seconds(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def opening(url):
    """Milliseconds to the end of the load event, in a new browser."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, Page(url, profile) as page:
        assert page.complaints == []
        return page.run("performance.getEntriesByType('navigation')[0].loadEventEnd")


def main():
    random = np.random.default_rng(0)
    X = random.random((N_ROWS, 5))
    y = np.exp(4 * X[:, 0] * X[:, 1]) * random.lognormal(sigma=0.8, size=N_ROWS)
    model = AdaptiveKernelRidge(random_state=0, n_jobs=-1).fit(X, y)
    took, told = seconds(lambda: collect(model, X, y, slices=1000))
    record("report: collect", f"{N_ROWS:,} rows", took, "seconds")
    took, html = seconds(lambda: render(told))
    record("report: render", f"{told['response']['slicing']['n_bars']} groups of slices", took, "seconds")
    record("report: size", "2,000 points", len(html.encode()) / 1e6, "MB", "3")
    if BINARY is None:
        print("no chromium on the PATH: not opened")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(html, encoding="utf-8")
        times = [opening(path.as_uri()) for _ in range(OPENINGS)]
    record("report: open in headless Chromium", "median of 5", statistics.median(times) / 1e3, "seconds", "2")


if __name__ == "__main__":
    main()
