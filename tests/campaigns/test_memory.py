"""Memory stays where it is over many predictions and fits, and a fit's peak within its limit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skewridge._validation import check_bytes

ROOT = Path(__file__).parents[2]
MB = 1e6
MOST_GROWTH = 8 * MB  # pages come and go; a model or a table that is never given back would be far more
pytestmark = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="a peak is read from /proc, which Linux has"
)


def measured(*arguments):
    """Run one measurement in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.campaigns.memory_use", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.full
@pytest.mark.parametrize(("task", "n"), [("predict", 10_000), ("fit", 300)])
def test_memory_stays_over_many_runs(task, n, record_property):
    grown = measured(task, n)["bytes"]
    record_property(f"runs of {task}, MB more than at first", {"count": n, "figure": grown / MB})
    assert grown < MOST_GROWTH


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "n", "d", "limit", "refused"),
    [
        ("adaptive", 2_000, 5, "60MB", False),
        ("adaptive", 20_000, 5, "100MB", False),
        ("adaptive", 20_000, 30, "200MB", False),
        ("skew", 500, 5, "14MB", False),
        ("skew", 2_000, 5, "26MB", False),
        ("skew", 2_000, 5, "20MB", True),
        ("skew", 5_000, 2, "26MB", False),
        ("skew", 10_000, 10, "45MB", False),
        ("skew", 20_000, 4, "45MB", False),
        ("skew", 50_000, 10, "140MB", False),
        ("skew", 50_000, 10, "120MB", True),
    ],
)
def test_a_fit_keeps_its_memory_limit(name, n, d, limit, refused, record_property):
    found = measured("peak", name, n, d, limit)
    share = found["bytes"] / check_bytes("memory_limit", limit)
    record_property("fits with a memory limit, peak over limit", {"count": 1, "figure": share})
    assert found["refused"] == refused
    assert share < (0.1 if refused else 1.1)
