import threading
import time
from types import SimpleNamespace

import pytest
from threadpoolctl import threadpool_info

from skewridge.execution.context import current, run, running, using, where_it_pays


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 4, -1])
def test_results_come_in_order(n_jobs):
    def late(i):
        time.sleep(0.002 * (i % 3))
        return i * i

    assert list(using(n_jobs=n_jobs)(run)(late, range(20))) == [i * i for i in range(20)]


def test_no_items():
    assert list(using(n_jobs=2)(run)(abs, [])) == []


def test_the_first_error_ends_the_run_and_later_tasks_do_not_start():
    started = []

    def task(i):
        started.append(i)
        if i == 1:
            raise KeyError("node 1")
        time.sleep(0.01)

    with pytest.raises(KeyError, match="node 1"):
        list(using(n_jobs=2)(run)(task, range(200)))
    assert len(started) < 100


def test_tasks_run_on_several_threads():
    barrier = threading.Barrier(2, timeout=30)  # passed only when two tasks are under way at once
    assert len(list(using(n_jobs=2)(run)(lambda _: barrier.wait(), range(2)))) == 2


def test_blas_has_one_thread_inside_and_its_own_number_after():
    before = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    def inside(_):
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    assert before
    assert all(n == 1 for pools in using(n_jobs=2)(run)(inside, range(3)) for n in pools)
    assert [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"] == before


def test_progress_goes_to_stderr_and_only_when_asked(capsys, monkeypatch):
    list(run(abs, range(3)))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("skewridge.execution.progress.SILENT", 0.0)
    with running(verbose=1):
        list(run(abs, range(3), "local fits"))
    out, err = capsys.readouterr()
    assert out == ""
    assert "local fits: 66%" in err


def test_overlapping_runs_leave_blas_as_it_was():
    before = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    threads = [threading.Thread(target=lambda: list(run(lambda _: time.sleep(0.01), range(3)))) for _ in range(4)]
    for thread in threads:
        thread.start()
        time.sleep(0.005)
    for thread in threads:
        thread.join()
    assert [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"] == before


def test_results_are_taken_before_many_more_tasks_start():
    started = []
    results = using(n_jobs=2)(run)(started.append, range(100))
    next(results)
    time.sleep(0.02)
    assert len(started) <= 5
    results.close()


@pytest.mark.parametrize(
    ("here", "there", "operations", "is_sent"),
    [(1, 1, 1e15, False), (2, 2, 1e15, False), (1, 2, 1e10, False), (1, 2, 1e11, True), (1, 100, 2e10, True)],
)
def test_what_is_held_here_is_sent_where_it_is_done_sooner(here, there, operations, is_sent):
    engine = SimpleNamespace(n_threads=there)
    with using(n_jobs=here, engine=engine), where_it_pays(operations):
        assert current().engine is (engine if is_sent else None)
