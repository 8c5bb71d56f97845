"""Progress of fits as those who follow them see it: it never falls, ends at 100%, and changes nothing."""

import io
import re
import sys
import threading

import numpy as np
import pytest

from skewridge import AdaptiveKernelRidge, DacKernelRidge, LocalKernelRidge, SkewRidge
from skewridge.execution.context import on_threads, run, running, using
from skewridge.execution.progress import STAGE, Lines, advance, followed, stage, watched


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def table(n, d=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)


@pytest.fixture
def told():
    """(label, done, total) of all that is told while the test runs."""
    states = []
    with watched(lambda *state: states.append(state)):
        yield states


def work(clock, n_steps=20):
    """Two stages, each of which takes as long as its share says."""
    for label, share in (("learning", 0.3), ("cells", 0.7)):
        with stage(label, share):
            for _ in range(n_steps):
                clock.now += 10.0 * share / n_steps
                advance(1.0 / n_steps)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_stages_within_stages_and_runs_are_shares_of_the_whole(told, n_jobs):
    def learn(_):
        with stage("steps", 0.5):
            list(run(abs, range(2)))

    with running(n_jobs=n_jobs):
        with stage("learning", 0.25):
            list(run(learn, range(4)))
        with stage("", 0.75), stage("cells"):
            advance(0.5)
    assert told[0] == ("learning", 1, 100)
    shares = [done for _, done, _ in told]
    assert shares == sorted(shares)
    assert {label for label, done, _ in told if done <= 25} == {"learning"}
    assert [state for state in told if state[1] > 25] == [("cells", 62, 100), ("cells", 100, 100)]


def test_a_stage_that_did_less_or_more_than_it_announced_ends_at_its_share(told):
    with running():
        with stage("learning", 0.5):
            advance(0.1)
        assert told[-1] == ("learning", 50, 100)
        with stage("cells", 0.5):
            for _ in range(10):
                advance(0.3)
    assert told[-1] == ("cells", 100, 100)


def test_runs_outside_of_stages_are_told_by_their_numbers(told):
    with running():
        list(run(abs, range(3), "rows"))
    assert told == [("rows", 1, 3), ("rows", 2, 3), ("rows", 3, 3)]


def test_where_nobody_follows_nothing_is_told():
    with stage("cells"), running():
        advance(0.5)
        assert STAGE.get() is None


def test_many_threads_lose_nothing(told):
    with running(), stage("cells"):
        own = STAGE.get()
        threads = [threading.Thread(target=lambda: [own.advance(1 / 8000) for _ in range(1000)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert own.done == pytest.approx(1.0)
    assert [done for _, done, _ in told] == list(range(101))


def test_tasks_run_as_was_said_where_the_run_was_made():
    with using(n_jobs=2), on_threads():
        results = run(lambda _: STAGE.get(), range(3))
    assert list(results) == [None] * 3


def test_logs_get_a_line_a_tenth_at_most_and_no_control_characters(monkeypatch):
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with followed(1, clock):
        work(clock)
    lines = stream.getvalue().splitlines()
    assert 5 <= len(lines) <= 10
    assert all(re.fullmatch(r"\[skewridge\] \w+: \d+%, \d+ s", line) for line in lines)
    assert lines[-1] == "[skewridge] done: 100%, 10 s"
    tenths = [int(re.search(r"(\d+)%", line)[1]) // 10 for line in lines]
    assert tenths == sorted(set(tenths))


def test_a_terminal_gets_a_bar_that_is_gone_at_the_end(monkeypatch):
    clock, stream = Clock(), Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with followed(1, clock):
        work(clock)
    text = stream.getvalue()
    assert "cells" in text
    assert "\x1b[2K" in text[text.rindex("cells") :]  # the line is erased
    assert "done" not in text


def test_a_terminal_without_rich_gets_lines(monkeypatch):
    clock, stream = Clock(), Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    with followed(1, clock):
        work(clock)
    assert stream.getvalue().splitlines()[-1] == "[skewridge] done: 100%, 10 s"


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_short_fits_are_silent(kind, monkeypatch):
    clock, stream = Clock(), kind()
    monkeypatch.setattr("sys.stderr", stream)
    with followed(1, clock), stage("cells"):
        clock.now += 1.9
        advance(0.9)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_an_interrupted_fit_ends_its_line(monkeypatch, kind):
    stream, clock = kind(), Clock()
    monkeypatch.setattr("sys.stderr", stream)

    def interrupted():
        with stage("learning"):
            clock.now += 9.0
            advance(0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), followed(1, clock):
        interrupted()
    assert "learning" in stream.getvalue()
    assert "done" not in stream.getvalue()
    assert STAGE.get() is None


def test_a_stream_that_is_closed_does_not_end_a_fit():
    stream, clock = io.StringIO(), Clock()
    lines = Lines(stream, clock)
    stream.close()
    clock.now = 10.0
    lines.show("cells", 50, 100)
    lines.end()


@pytest.mark.parametrize(
    "estimator",
    [
        SkewRidge(n_jobs=2),
        SkewRidge(scoring="balanced_mse", kernel="laplacian"),
        LocalKernelRidge(n_jobs=2, cell_size=100),
        AdaptiveKernelRidge(n_jobs=2),
        AdaptiveKernelRidge(kernel=["matern32", "laplacian"], scale_features="standard"),
        AdaptiveKernelRidge(n_centers=50, solver="cg"),
    ],
)
def test_progress_of_a_fit_never_falls_and_ends_at_100(estimator, told):
    estimator.set_params(random_state=0).fit(*table(400))
    shares = [100 * done / total for _, done, total in told if total == 100]
    assert shares == sorted(shares)
    assert shares[-1] == 100
    assert len(set(shares)) > 20


def test_a_fit_on_nodes_tells_how_many_are_solved(told):
    DacKernelRidge(4, random_state=0).fit(*table(400))
    assert {label for label, _, _ in told} >= {"tuning", "local fits"}


def test_fits_are_the_same_whoever_follows_them(monkeypatch, capsys):
    X, y = table(300)
    quiet = SkewRidge(random_state=0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("skewridge.execution.progress.SILENT", 0.0)
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
    assert STAGE.get() is None


def test_companions_have_no_line_of_their_own(monkeypatch, capsys):
    monkeypatch.setattr("skewridge.execution.progress.SILENT", 0.0)
    companion = AdaptiveKernelRidge(n_centers=20, random_state=0, verbose=1)
    SkewRidge(companions=[companion], verbose=1, random_state=0).fit(*table(300))
    lines = capsys.readouterr().err.splitlines()
    assert sum("done: 100%" in line for line in lines) == 1
