"""The engine of the experiments: cells that are measured once and kept, one tidy table a study, pictures from it alone.

A cell is a dict of settings, its seed among them. What is measured is added to a file of lines as soon as it is
known, so a stop, however rude, loses no more than the cells under way; the same command goes on from there. Once all
cells are known they are written, in the order of the cells, to results/<scale>/<name>.parquet, which is the same to
the last byte whenever and on however many processes it was measured. Seconds are not: they go to
<name>.seconds.parquet beside it.
"""

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pace import Pace, Progress, group_of, in_words
from tables import TIMES, load, with_seconds, write_tables

HERE = Path(__file__).parent
SCALES = ("tiny", "reduced", "full")


def nothing():
    """Neither work to be done before the first cell, nor anything that is lacking."""


@dataclass(frozen=True)
class Study:
    """What is measured, and how it is drawn.

    Attributes
    ----------
    name : of the table
    cells : scale -> list of cells, the seed varying slowest
    measure : cell -> dict, or list of dicts, of what was found; "seconds" in it is kept apart
    draw : (table, folder) -> pictures in the folder
    cache : the file's name; studies with the same measure share what they know
    warm : what a process does before its first cell, so that compiling is not measured
    lacking : None, or why the study cannot be run here
    """

    name: str
    cells: Callable
    measure: Callable
    draw: Callable
    cache: str = ""
    warm: Callable = nothing
    lacking: Callable = nothing


@dataclass(frozen=True)
class Places:
    """Where tables, what is known and pictures are kept."""

    results: Path
    cache: Path
    pictures: Path

    @classmethod
    def of(cls, scale):
        pictures = HERE.parent / "docs" / "images" / "reproduction"
        return cls(HERE / "results" / scale, HERE / "cache", pictures)


def key_of(cell):
    return json.dumps(cell, sort_keys=True)


class Cache:
    """What is known, by cell: one line of JSON each. Lines that a stop cut short are passed over."""

    def __init__(self, path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines() if path.exists() else []
        self.known = {key_of(record["cell"]): record for record in map(parsed, lines) if record}

    def learn(self, record):
        self.known[key_of(record["cell"])] = record


def parsed(line):
    """A record, or None where the line is empty or cut short."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def keep(path, record):
    """Add a record to the file in one write, on a line of its own even after one that was cut short."""
    line = json.dumps(record, default=lambda number: number.item())
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"\n{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return json.loads(line)


def sources(measure):
    """A mark of the code that measures: the library's, the experiments' that fit, and what a module says it needs.

    A module names files that its measure depends on, besides fits.py, in NEEDS.
    """
    import skewridge

    module = sys.modules[measure.__module__]
    own = [HERE / "fits.py", Path(module.__file__), *getattr(module, "NEEDS", ())]
    files = sorted({*Path(skewridge.__file__).parent.rglob("*.py"), *own})
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def kept(path, mark, measure, cell):
    """Measure a cell and keep what was found where it was found: a stop of the driver loses nothing that is done."""
    return keep(path, {**measured(measure, cell), "source": mark})


def measured(measure, cell):
    """One record: the cell, its rows, and what it took."""
    from skewridge.execution.blas import one_blas_thread

    start = time.perf_counter()
    try:
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = measure(dict(cell))
    except Exception as error:
        raise RuntimeError(f"The cell {cell} could not be measured: {type(error).__name__}: {error}") from error
    rows = [found] if isinstance(found, dict) else list(found)
    seconds = [row.pop("seconds") for row in rows if "seconds" in row]
    took = time.perf_counter() - start
    return {"cell": cell, "rows": rows, "seconds": sum(seconds) if seconds else None, "took": took}


def run(study, scale, places, jobs=1, later=0.0):
    """Measure what is not known yet, write the table, and return it; None where something is lacking.

    ``later`` is how many seconds the studies after this one should take.
    """
    reason = study.lacking()
    if reason is not None:
        print(f"[{study.name}] not run: {reason}", file=sys.stderr, flush=True)
        return None
    cells, cache, mark = study.cells(scale), cache_of(study, places), sources(study.measure)
    tell_if_stale(study, cells, cache, mark)
    pending = [cell for cell in cells if key_of(cell) not in cache.known]
    pace = known_pace(study, cache, places)
    progress = Progress(study.name, len(cells) - len(pending), pending, pace, jobs, later)
    for record in carried_out(study, partial(kept, cache.path, mark, study.measure), pending, jobs):
        cache.learn(record)
        progress.finished(record["cell"], record["took"])
    write_tables(study.name, [cache.known[key_of(cell)] for cell in cells], places.results)
    return load(study.name, places.results)


def cache_of(study, places):
    return Cache(places.cache / f"{study.cache or study.name}.jsonl")


def expected_seconds(study, scale, places, jobs):
    """How long a study should take; 0 where that is not known, or the study cannot be run."""
    cache = cache_of(study, places)
    pending = [cell for cell in study.cells(scale) if key_of(cell) not in cache.known]
    pace = known_pace(study, cache, places)
    return 0.0 if study.lacking() else (pace.seconds(Counter(map(group_of, pending))) or 0.0) / jobs


def tell_if_stale(study, cells, cache, mark):
    old = [cell for cell in cells if cache.known.get(key_of(cell), {"source": mark})["source"] != mark]
    if old:
        print(
            f"[{study.name}] {len(old)} of {len(cells)} cells were measured by other sources than today's and are "
            f"kept; delete {cache.path} to measure them anew.",
            file=sys.stderr,
        )


def known_pace(study, cache, places):
    """How long cells took: as the seconds beside the table say, and as the cache knows."""
    pace = Pace()
    times = load(f"{study.name}.seconds", places.results)
    for row in [] if times is None else times.to_dict("records"):
        pace.learn({name: value for name, value in row.items() if name not in TIMES}, row["took"])
    for record in cache.known.values():
        pace.learn(record["cell"], record["took"])
    return pace


def carried_out(study, task, cells, jobs):
    """Yield the records of cells as they are known, from this process or from several."""
    if jobs == 1 or len(cells) < 2:
        if cells:
            study.warm()
        yield from map(task, cells)
        return
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    pool = ProcessPoolExecutor(min(jobs, len(cells)), context, initializer=_begin, initargs=(study.warm,))
    try:
        waiting = [pool.submit(task, cell) for cell in cells]
        yield from (future.result() for future in as_completed(waiting))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    pool.shutdown()


def _begin(warm):
    """Begin a worker: the driver alone answers to Ctrl-C, and a worker does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def follow():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    warm()


def draw(study, places):
    """Draw a study's pictures from its table and nothing else."""
    table = load(study.name, places.results)
    if table is None:
        print(f"[{study.name}] not drawn: there is no table in {places.results}.", file=sys.stderr)
        return
    places.pictures.mkdir(parents=True, exist_ok=True)
    study.draw(with_seconds(table, study.name, places.results), places.pictures)


def options(description, argv=None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--scale", choices=SCALES, default="reduced", help="how many replicates, and how large")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--results", type=Path, help="folder of the tables")
    parser.add_argument("--cache", type=Path, help="folder of what is known")
    parser.add_argument("--pictures", type=Path, help="folder of the pictures")
    parser.add_argument("--draw-only", action="store_true", help="draw from the tables there are")
    chosen = parser.parse_args(argv)
    usual = Places.of(chosen.scale)
    places = Places(chosen.results or usual.results, chosen.cache or usual.cache, chosen.pictures or usual.pictures)
    return chosen, places


@contextlib.contextmanager
def stoppable(places):
    """Let a request to end be as gentle as Ctrl-C, and say what is kept."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        print(f"\nStopped. What is known is in {places.cache}; the same command goes on from there.", file=sys.stderr)
        raise SystemExit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def main(study, argv=None):
    """Run one study from the command line."""
    chosen, places = options(study.name, argv)
    with stoppable(places):
        if not chosen.draw_only:
            start = time.perf_counter()
            run(study, chosen.scale, places, chosen.jobs)
            print(f"[{study.name}] done in {in_words(time.perf_counter() - start)}", file=sys.stderr)
        draw(study, places)
