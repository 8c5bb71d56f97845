"""The progress of whole fits: counted in operations, measured by a clock of our own."""

import io
import re
import threading

import numpy as np
import pytest

from skewridge import AdaptiveKernelRidge, LocalKernelRidge, SkewRidge
from skewridge.execution import following as following_module
from skewridge.execution.following import announce, aside, following, part, progress_here, under, watched
from skewridge.execution.job import Job, run
from skewridge.execution.progress import Progress, Stage, speedup
from skewridge.execution.progress_line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


STAGES = [Stage("learning", [40.0]), Stage("choosing", [5.0, 15.0, 60.0]), Stage("cells", [200.0, 80.0], 2.0)]
SLOWNESS = {"learning": 0.08, "choosing": 0.06, "cells": 0.1}  # seconds of an operation of one thread


def work(progress, clock, seen, n_steps=20, first=0.0):
    """Do the stages step by step; gather time, share and what is said to be left."""
    clock.now += first
    for stage in STAGES:
        for operations in stage.parts:
            progress.begin(stage.label, operations)
            for _ in range(n_steps):
                clock.now += SLOWNESS[stage.label] * operations / n_steps / stage.speedup
                progress.advance(stage.label, operations / n_steps)
                seen.append((clock.now, progress.share, progress.left))


@pytest.mark.parametrize("first", [0.0, 5.0])  # five seconds of compiling
def test_remaining_time_is_right_within_a_factor_of_two_from_the_first_fifth_on(first):
    clock, seen = Clock(), []
    progress = Progress(clock=clock)
    progress.announce(STAGES)
    work(progress, clock, seen, first=first)
    total = clock.now
    judged = [(total - now, left) for now, _, left in seen if 0.2 * total <= now < 0.999 * total]
    assert len(judged) > 50
    assert all(0.5 * real <= left <= 2 * real for real, left in judged)
    assert progress.share == pytest.approx(1.0)
    assert progress.left == pytest.approx(0.0)


def test_what_a_part_turns_out_to_be_replaces_what_was_announced():
    progress = Progress(clock=Clock())
    progress.announce([Stage("cells", [10.0, 10.0])])
    progress.begin("cells", 40.0)
    assert progress.operations == (0.0, 50.0)
    progress.announce([Stage("nested", [1000.0])])  # a fit within the fit
    assert progress.operations == (0.0, 50.0)
    progress.forget("cells")
    assert progress.operations == (0.0, 40.0)


def test_logs_get_a_line_a_tenth_at_most_and_no_control_characters():
    clock, stream = Clock(), io.StringIO()
    progress = Progress(ProgressLine(stream), clock=clock)
    progress.announce(STAGES)
    work(progress, clock, [])
    progress.end()
    lines = stream.getvalue().splitlines()
    assert 5 <= len(lines) <= 10
    assert all(line.isprintable() for line in lines)
    assert all(re.fullmatch(r"\[skewridge\] \w+: \d+%, \d+ s, \d+ s left", line) for line in lines[:-1])
    assert lines[-1] == f"[skewridge] done: 100%, {clock.now:.0f} s"
    shares = [int(re.search(r"(\d+)%", line)[1]) // 10 for line in lines]
    assert shares == sorted(set(shares))


def test_a_terminal_gets_one_line_that_is_cleared():
    clock, stream = Clock(), Terminal()
    progress = Progress(ProgressLine(stream), clock=clock)
    progress.announce(STAGES)
    work(progress, clock, [])
    progress.end()
    text = stream.getvalue()
    assert "\n" not in text
    states = text.split("\r")
    assert text.startswith("\r")
    assert text.endswith("\r")
    assert states[-2].strip() == ""
    assert len(states[-2]) >= len(states[-3].rstrip())
    assert any("cells: " in state for state in states)


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_short_fits_are_silent(kind):
    clock, stream = Clock(), kind()
    progress = Progress(ProgressLine(stream), clock=clock)
    progress.announce([Stage("cells", [1.0])])
    progress.begin("cells", 1.0)
    for _ in range(10):
        clock.now += 0.19
        progress.advance("cells", 0.1)
    progress.end()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("kind", "end"), [(io.StringIO, "left\n"), (Terminal, "\n")])
def test_an_interrupted_fit_ends_its_line(monkeypatch, kind, end):
    stream, clock = kind(), Clock()
    monkeypatch.setattr("sys.stderr", stream)

    def interrupted():
        announce(lambda: STAGES)
        with part("learning", 40.0) as own:
            for _ in range(9):
                clock.now += 1.0
                own.advance(0.1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), following(1, clock):
        interrupted()
    assert stream.getvalue().endswith(end)
    assert "done" not in stream.getvalue()
    assert progress_here() is None


def test_an_interrupt_while_the_line_is_written_ends_it():
    class Interrupted(Terminal):
        def flush(self):
            if self.getvalue().endswith("left"):
                raise KeyboardInterrupt

    stream = Interrupted()
    line = ProgressLine(stream)
    with pytest.raises(KeyboardInterrupt):
        line.show("cells", 0.5, 10.0, 10.0)
    line.end(10.0, failed=True)
    assert stream.getvalue() == "\r[skewridge] cells: 50%, 10 s, 10 s left\n"


def test_a_stream_that_is_closed_does_not_end_a_fit():
    stream = io.StringIO()
    line = ProgressLine(stream)
    stream.close()
    line.show("cells", 0.5, 10.0, 10.0)
    line.end(20.0)


def test_runs_inside_a_part_are_shares_of_it_on_any_number_of_threads():
    told = []
    with watched(lambda *state: told.append(state)), following(0):
        announce(lambda: [Stage("cells", [8.0]), Stage("learning", [2.0] * 4), Stage("folds", [4.0])])
        with part("cells", 8.0):
            list(run(abs, range(4), Job(2), "not told"))

        def learn(_):
            with part("learning", 2.0):
                list(run(abs, range(2)))

        list(run(learn, range(4), Job(2)))
        with under("folds"), under("cross-fit"):
            with part("cells", 4.0):
                pass
            done = progress_here().operations
    assert done == (20.0, 20.0)
    assert {label for label, _, _ in told} == {"cells", "learning", "folds"}
    percent = [done for _, done, _ in told]
    assert percent == sorted(percent)
    assert percent[-1] == 100


def test_time_aside_is_not_measured_by():
    clock = Clock()
    with watched(lambda *_: None), following(0, clock):
        announce(lambda: [Stage("cells", [4.0])])
        progress = progress_here()
        with part("cells", 4.0) as own:
            for _ in range(2):
                clock.now += 1.0
                own.advance(0.25)
            with aside("companions"):
                assert progress_here() is None
                clock.now += 100.0
            clock.now += 1.0
            own.advance(0.25)
            assert progress.left == pytest.approx(1.0)


def test_many_threads_lose_no_operation():
    progress = Progress()
    progress.begin("cells", 8000.0)
    threads = [threading.Thread(target=lambda: [progress.advance("cells", 1.0) for _ in range(1000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress.operations == (8000.0, 8000.0)


def test_speedup_of_tasks_on_threads():
    assert [speedup(n, 4) for n in (0.3, 1, 4, 5)] == [1.0, 1.0, 4.0, 2.5]


# Real fits: operations are counted, nothing is timed


@pytest.fixture
def counted(monkeypatch):
    """Fit, and return operations that were announced, that were done, and that were left."""
    made = []

    class Counting(Progress):
        first = None

        def __init__(self, *parts):
            super().__init__(*parts)
            made.append(self)

        def announce(self, stages):
            super().announce(stages)
            self.first = self.operations[1]

    monkeypatch.setattr(following_module, "Progress", Counting)

    def fit(estimator, X, y, **more):
        made.clear()
        estimator.fit(X, y, **more)
        (progress,) = made
        done, total = progress.operations
        return progress.first, done, total - done

    return fit


def table(n, d=2, n_outputs=0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)
    return (X, np.column_stack([y, -y])) if n_outputs else (X, y)


@pytest.mark.parametrize(
    ("estimator", "rows"),
    [
        (SkewRidge(n_jobs=2), table(400)),
        (SkewRidge(n_jobs=1, scoring="balanced_mse", kernel="laplacian"), table(300, n_outputs=2)),
        (SkewRidge(n_jobs=2), table(3000)),
        (LocalKernelRidge(n_jobs=2), table(500)),
        (LocalKernelRidge(cell_size=100), table(3000, n_outputs=2)),
        (AdaptiveKernelRidge(n_jobs=2), table(2500)),
        (AdaptiveKernelRidge(kernel=["matern32", "laplacian"], scale_features="standard"), table(600)),
        (AdaptiveKernelRidge(n_centers=50, adapt=0.5, penalty=1e-4), table(600)),
    ],
)
def test_fits_do_what_they_announced(estimator, rows, counted):
    announced, done, left = counted(estimator.set_params(verbose=1, random_state=0), *rows)
    assert announced == pytest.approx(done, rel=0.2)
    assert abs(left) <= 0.02 * done


def test_copies_of_rows_are_not_announced(counted):
    X, y = table(300)
    estimator = SkewRidge(verbose=1, random_state=0)
    announced, done, _ = counted(estimator, np.repeat(X, 20, axis=0), np.repeat(y, 20))
    assert announced == pytest.approx(done, rel=0.2)


def test_steps_that_were_not_needed_are_forgotten(counted):
    estimator = AdaptiveKernelRidge(n_centers=50, solver="cg", verbose=1, random_state=0)
    _, done, left = counted(estimator, *table(600))
    assert abs(left) <= 0.02 * done


def test_fits_are_the_same_whoever_follows_them(monkeypatch, capsys):
    X, y = table(300)
    quiet = SkewRidge(random_state=0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("skewridge.execution.progress_line.SILENT", 0.0)
    loud = SkewRidge(random_state=0, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert 1 <= len(err.splitlines()) <= 10
    assert "outer folds: " in err
    np.testing.assert_array_equal(quiet.predict(X), loud.predict(X))


def test_an_interrupt_passes_through_a_fit_and_leaves_it_as_it_was(monkeypatch):
    X, y = table(300)
    model = LocalKernelRidge(random_state=0, verbose=1).fit(X, y)
    before = model.predict(X)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("skewridge.cells.fit.solve_cell", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -y)
    monkeypatch.undo()
    np.testing.assert_array_equal(model.predict(X), before)
    assert progress_here() is None


def test_companions_have_no_line_of_their_own(counted):
    companion = AdaptiveKernelRidge(n_centers=20, random_state=0, verbose=1)
    estimator = SkewRidge(companions=[companion], verbose=1, random_state=0)
    announced, done, _ = counted(estimator, *table(300))  # one progress only
    assert announced == pytest.approx(done, rel=0.2)
