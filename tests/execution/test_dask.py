"""A scheduler and two worker processes on loopback; results must have the bits of the fit from arrays."""

import importlib
import os
import signal
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    LocalKernelRidge,
    SkewRidge,
    fit_source,
    predict_source,
    use_engine,
)
from skewridge.datasets import make_peaks
from skewridge.execution.checkpoint import Pieces
from skewridge.execution.chunked import ArrayChunk, Table
from skewridge.execution.context import current, run, using
from skewridge.execution.dask import DaskEngine, engine_at_hand, rounds, whole_chunks
from skewridge.execution.memory import worker_task_bytes
from skewridge.execution.passes import BLOCK_ROWS, map_rows, sum_rows
from skewridge.io.dask_collections import LazyChunk
from skewridge.io.sources import open_source

distributed = pytest.importorskip("distributed")
pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

FIXED = {"bandwidth": 0.5, "penalty": 1e-3, "random_state": 0}
NAMES = [f"x{i}" for i in range(6)]


def start(**more):
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None, **more
    )


@pytest.fixture(scope="module")
def client():
    with start() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def rows():
    return make_peaks(50_000, 6, random_state=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rows):
    return write(tmp_path_factory.mktemp("rows"), *rows)


def write(folder, X, y, group=7000):
    for i, part in enumerate(np.array_split(np.arange(len(X)), 3)):
        columns = {name: X[part, j] for j, name in enumerate(NAMES)}
        pq.write_table(pa.table(columns | {"y": y[part]}), folder / f"{i}.parquet", row_group_size=group)
    return folder


def doom(module, owner, name, call):
    """Have this worker die in the middle of a task: when a method is called for so many times."""
    kind, calls = getattr(importlib.import_module(module), owner), []
    original = getattr(kind, name)

    def method(*arguments):
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)

    setattr(kind, name, method)


def fitted_while_one_dies(client, estimator, method, folder):
    """Fit on two workers, of which one dies while it is at its tasks; Dask puts another in its place, or does not."""
    pids = client.run(os.getpid)
    client.run(doom, *method, workers=[next(iter(pids))])
    model = fit_source(clone(estimator), folder, target="y")
    client.wait_for_workers(1, timeout=120)
    assert set(client.run(os.getpid).values()) != set(pids.values()), "no worker died"
    return model


ONE_BLOCK, ONE_NODE = ("skewridge.kernels", "Kernel", "cross", 6), ("skewridge.ridge.exact", "NodeSolver", "solve", 2)


@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (AdaptiveKernelRidge(60, 0.5, **FIXED), ONE_BLOCK),
        (DacKernelRidge(100, oversampling=0.02, **FIXED), ONE_NODE),
    ],
    ids=["adaptive", "dac"],
)
def test_a_worker_killed_during_the_fit_changes_no_bit(client, folder, rows, estimator, method):
    model = fitted_while_one_dies(client, estimator, method, folder)
    assert np.array_equal(model.dual_coef_, clone(estimator).fit(*rows).dual_coef_)


@pytest.mark.full
@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (AdaptiveKernelRidge(random_state=0), (*ONE_BLOCK[:3], 200)),
        (DacKernelRidge(random_state=0), ONE_NODE),
    ],
    ids=["adaptive", "dac"],
)
def test_a_million_rows_with_all_choices_and_a_worker_killed(client, tmp_path, estimator, method):
    X, y = make_peaks(1_000_000, 6, random_state=0)
    write(tmp_path, X, y, group=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted_while_one_dies(client, estimator, method, tmp_path)
        expected = clone(estimator).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(model.dual_coef_, expected.dual_coef_)


SMALL = [
    AdaptiveKernelRidge(60, 0.5, **FIXED),
    AdaptiveKernelRidge(60, 0.5, solver="cg", **FIXED),
    DacKernelRidge(60, oversampling=0.02, slices=20, random_state=0),
    DacKernelRidge(60, focus=0.5, max_per_slice=4, **FIXED),
]


@pytest.mark.parametrize("estimator", SMALL, ids=str)
def test_choices_and_fits_on_workers_have_the_same_bits(client, rows, estimator, monkeypatch):
    monkeypatch.setattr("skewridge.execution.context.SENDING", -np.inf)  # send everything
    X, y = rows[0][:5000, :2], rows[1][:5000]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = clone(estimator).fit(X, y)
        with use_engine("dask"):
            model = clone(estimator).fit(X, y)
            assert np.array_equal(model.predict(X[:3000]), expected.predict(X[:3000]))
    assert np.array_equal(model.dual_coef_, expected.dual_coef_)


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("estimator", [SMALL[0], DacKernelRidge(60, oversampling=0.02, **FIXED)], ids=str)
def test_dask_collections_are_fitted_and_predicted_where_they_live(client, rows, estimator, kind, monkeypatch):
    X, y = rows[0][:20_000, :3], rows[1][:20_000]
    expected = clone(estimator).fit(X, y)
    with monkeypatch.context() as context:
        context.setattr(LazyChunk, "read", lambda self: pytest.fail("a partition was pulled to the client"))
        if kind == "array":
            da = pytest.importorskip("dask.array")
            lazy, response = da.from_array(X, chunks=(5431, 2)), da.from_array(y, chunks=999)
            model = clone(estimator).fit(lazy, response)
        else:
            dd = pytest.importorskip("dask.dataframe")
            frame = pd.DataFrame(X, columns=NAMES[:3])
            lazy = dd.from_pandas(frame, npartitions=3)
            model = fit_source(clone(estimator), dd.from_pandas(frame.assign(y=y), npartitions=3), target="y")
            assert model.feature_names_in_.tolist() == NAMES[:3]
    assert np.array_equal(model.dual_coef_, expected.dual_coef_)
    if isinstance(model, AdaptiveKernelRidge):
        prediction = model.predict(lazy)
        assert type(prediction).__module__.startswith("dask")
        assert np.array_equal(prediction.compute(), expected.predict(X))


def test_dask_collections_need_no_cluster(rows):
    da = pytest.importorskip("dask.array")
    X, y = rows[0][:9000, :3], rows[1][:9000]
    with use_engine("threads"):
        model = clone(SMALL[0]).fit(da.from_array(X, chunks=(1000, 3)), y)
    assert np.array_equal(model.dual_coef_, clone(SMALL[0]).fit(X, y).dual_coef_)


@pytest.mark.parametrize(
    "estimator", [SkewRidge("laplacian", random_state=0), LocalKernelRidge(random_state=0)], ids=str
)
def test_two_levels_collect_what_a_cluster_holds_and_predict_there(client, rows, estimator, folder, tmp_path):
    import dask.array as da

    X = rows[0][:150]
    y = np.sin(5 * X[:, 0])
    expected = clone(estimator).fit(X, y)
    lazy = da.from_array(np.c_[X, y], chunks=(40, 3))
    for model in (fit_source(clone(estimator), lazy, target=-1), clone(estimator).fit(lazy[:, :6], lazy[:, 6])):
        assert np.array_equal(model.oof_prediction_, expected.oof_prediction_)
    assert np.array_equal(model.predict(lazy[:, :6]).compute(), expected.predict(X))
    found = pd.read_parquet(predict_source(model, folder, tmp_path / "out.parquet", NAMES))
    assert np.array_equal(found["prediction"][:150], expected.predict(X))
    with pytest.raises(MemoryError, match=r"50,000 rows and 6 columns needs .* and memory_limit is 1 MB"):
        fit_source(clone(estimator).set_params(memory_limit="1MB"), folder, target="y")


def test_predictions_are_made_on_workers_and_written_here(client, folder, rows, tmp_path):
    model = clone(SMALL[0]).fit(*rows)
    out = predict_source(model, folder, tmp_path / "out.parquet", features=NAMES)
    assert np.array_equal(pd.read_parquet(out)["prediction"], model.predict(rows[0]))


def test_tasks_come_in_order_and_errors_come_as_they_are(client):
    there = using(engine=DaskEngine(client))
    assert list(there(run)(lambda i: i * i, range(30))) == [i * i for i in range(30)]

    def fails(i):
        if i == 3:
            raise KeyError("three")
        return i

    with pytest.raises(KeyError, match="three"):
        list(there(run)(fails, range(50)))


def test_passes_have_the_bits_of_this_process(client):
    X = np.random.default_rng(0).normal(size=(21 * BLOCK_ROWS + 5, 2))
    there, large = using(engine=DaskEngine(client)), np.ones(100_000)
    for task in (lambda x: x.T @ x, lambda x: (x.T @ x) * large[0]):  # a small function, and a large one
        assert np.array_equal(there(sum_rows)(task, [X])[0], sum_rows(task, [X])[0])
        found, expected = (list(passed(task, [X])) for passed in (there(map_rows), map_rows))
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("estimator", [SMALL[0], DacKernelRidge(60, oversampling=0.02, **FIXED)], ids=str)
def test_a_fit_begun_on_a_cluster_is_ended_without_it(client, folder, rows, estimator, tmp_path, monkeypatch):
    def die(self, total):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(Pieces, "finish", die)
        context.setattr("skewridge.estimators.dac.average_nodes", die)
        with pytest.raises(KeyboardInterrupt):
            fit_source(clone(estimator), folder, target="y", checkpoint=tmp_path)
    assert len(list(tmp_path.glob("*/*.pickle"))) >= 7
    with use_engine("threads"):
        model = fit_source(clone(estimator), folder, target="y", checkpoint=tmp_path)
    assert np.array_equal(model.dual_coef_, clone(estimator).fit(*rows).dual_coef_)


def test_progress_shows(client, folder, monkeypatch, capsys):
    monkeypatch.setattr("skewridge.execution.progress.SILENT", 0.0)
    fit_source(clone(SMALL[0]).set_params(verbose=1), folder, target="y")
    err = capsys.readouterr().err
    assert "learning scales: " in err
    assert "fit: 7/7" not in err
    assert "done: 100%" in err


def test_a_damaged_file_is_named_by_the_worker_that_read_it(client, tmp_path, rows):
    write(tmp_path, rows[0][:9000], rows[1][:9000])
    file = tmp_path / "1.parquet"
    meta = pq.ParquetFile(file).metadata.row_group(0).column(2)
    content = bytearray(file.read_bytes())
    content[meta.data_page_offset : meta.data_page_offset + 40] = b"\xff" * 40
    file.write_bytes(bytes(content))
    with pytest.raises(OSError, match=r"row group 0 of .*1\.parquet"):
        fit_source(clone(SMALL[0]), tmp_path, target="y")


def test_workers_that_are_too_small_are_told_before_work_starts(client, rows, monkeypatch):
    engine = DaskEngine(client)
    engine.task_bytes = 1e6
    with using(engine=engine):
        with pytest.raises(MemoryError, match=r"A node of .* rows needs .* smallest worker has 1 MB a thread.*n_nodes"):
            DacKernelRidge(10, **FIXED).fit(rows[0][:9000], rows[1][:9000])
        with pytest.raises(MemoryError, match=r"2,000 centres need .* smallest worker has 1 MB a thread.*n_centers"):
            AdaptiveKernelRidge(2000, 0.5, **FIXED).fit(rows[0][:9000], rows[1][:9000])


def test_a_worker_too_small_for_the_libraries_is_refused_with_figures():
    match = r"worker of the Dask cluster has 150 MB for 1 threads.*libraries take 300 MB.*workers of 438 MB or more"
    with pytest.raises(MemoryError, match=match):
        worker_task_bytes(1, 150e6)
    assert worker_task_bytes(2, 1e9) == 2.5e8
    assert worker_task_bytes(2, np.inf) == np.inf
    small = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "memory_limit": 150e6}
    with (
        distributed.LocalCluster(**small, dashboard_address=None) as cluster,
        distributed.Client(cluster) as own,
        pytest.raises(MemoryError, match=match),
    ):
        DaskEngine(own)


def test_chunks_too_large_for_a_worker_are_refused_with_figures(client, folder):
    engine = DaskEngine(client)
    engine.task_bytes = 1e5
    match = r"largest chunk of the files, with 6 columns, needs .* smaller row groups"
    with using(engine=engine, is_named=True), pytest.raises(MemoryError, match=match):
        open_source(folder, "y")


def test_a_cluster_scaled_to_zero_is_woken(monkeypatch):
    none = {"n_workers": 0, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**none) as cluster, distributed.Client(cluster) as own:
        with monkeypatch.context() as context:
            context.setattr("skewridge.execution.dask.WAKING", 0.2)
            with pytest.raises(RuntimeError, match=r"no workers, and none came within 0\.2 s.*cluster\.scale"):
                DaskEngine(own)
        cluster.adapt(minimum=0, maximum=1, interval="100ms")
        engine = DaskEngine(own)
        assert engine.n_threads == 1
        assert list(using(engine=engine)(run)(lambda i: i + 1, range(3))) == [1, 2, 3]


@pytest.mark.parametrize("is_lazy", [False, True])
def test_responses_labelled_in_another_order_are_refused(rows, is_lazy):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(rows[0][:900, :2], columns=NAMES[:2])
    y = pd.Series(rows[1][:900], index=frame.index)
    other, lazy = y.sample(frac=1, random_state=0), dd.from_pandas(frame, npartitions=2)
    with use_engine("threads"):
        expected = clone(SMALL[0]).fit(frame, y)
        assert np.array_equal(clone(SMALL[0]).fit(lazy, y).dual_coef_, expected.dual_coef_)
        given = dd.from_pandas(other, npartitions=2, sort=False) if is_lazy else other
        for X in (lazy, frame):
            with pytest.raises(ValueError, match="same index labels in a different order"):
                clone(SMALL[0]).fit(X, given)
        with pytest.raises(ValueError, match="same index labels in a different order"):
            fit_source(clone(SMALL[0]), lazy, target=given)


def test_less_memory_on_workers_means_smaller_shares(client, rows, monkeypatch):
    X, y = rows[0][:9000], rows[1][:9000]
    expected = DacKernelRidge(60, slices=1, **FIXED).fit(X, y)
    sent, original = [], DaskEngine.shuffle
    monkeypatch.setattr("skewridge.ridge.sharding.SHARES", 4)  # or nodes would have shares of their own anyhow
    monkeypatch.setattr(DaskEngine, "shuffle", lambda self, *more: sent.append(len(more[2])) or original(self, *more))
    for task_bytes in (1e9, 5e5):
        engine = DaskEngine(client)
        engine.task_bytes = task_bytes
        with using(engine=engine):
            model = DacKernelRidge(60, slices=1, **FIXED).fit(X, y)
        assert np.array_equal(model.dual_coef_, expected.dual_coef_)
    assert sent[0] < sent[1]


@given(st.lists(st.integers(1, 300), min_size=1), st.integers(1, 500))
def test_spans_hold_whole_chunks(sizes, most):
    table = Table(tuple(ArrayChunk(np.empty((n, 1))) for n in sizes), 1)
    with pytest.MonkeyPatch.context() as context:
        context.setattr("skewridge.execution.dask.SPLIT_ROWS", most)
        spans, blocks = whole_chunks(table), whole_chunks(np.empty((sum(sizes), 1)))
    assert [first for first, _ in spans[1:]] == [last for _, last in spans[:-1]]
    assert (spans[0][0], spans[-1][1]) == (blocks[0][0], blocks[-1][1]) == (0, sum(sizes))
    assert {edge for span in spans for edge in span} <= set(table.starts.tolist())
    assert all(last - first <= max(most, max(sizes)) for first, last in spans)


@given(st.lists(st.floats(1, 100), min_size=1), st.floats(1, 300), st.integers(1, 5))
def test_rounds_hold_everything_once_within_memory(sizes, most, fewest):
    found = rounds(sizes, most, fewest)
    assert [i for numbers in found for i in numbers] == list(range(len(sizes)))
    assert all(len(numbers) <= fewest or sum(sizes[i] for i in numbers) <= most for numbers in found)


def test_a_running_client_is_used_but_not_inside_its_tasks(client):
    assert isinstance(engine_at_hand(), DaskEngine)
    assert client.submit(lambda: engine_at_hand() is None, pure=False).result()
    with use_engine("threads"):
        assert engine_at_hand() is None
    with use_engine("dask", address=client.scheduler.address):
        assert current().engine.client is not client
    assert current().engine is None


def test_an_engine_that_is_not_there_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="takes no address"), use_engine("threads", address="tcp://x"):
        pass
    with pytest.raises(ValueError, match="name must be one of 'threads', 'dask'"), use_engine("spark"):
        pass
    monkeypatch.setattr(distributed, "default_client", lambda: (_ for _ in ()).throw(ValueError("none")))
    with pytest.raises(ValueError, match=r"no running distributed\.Client.*address"), use_engine("dask"):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"skewridge\[dask\]"), use_engine("dask"):
        pass
