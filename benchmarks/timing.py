"""How the benchmarks take time."""

import time


def seconds(task, repeats=3):
    """The shortest of some runs, and what the last returned."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = task()
        times.append(time.perf_counter() - start)
    return min(times), result
