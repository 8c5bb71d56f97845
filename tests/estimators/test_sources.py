import os
import pickle
import tracemalloc
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    LocalKernelRidge,
    SkewRidge,
    fit_source,
    predict_source,
)
from skewridge.datasets import make_peaks
from skewridge.estimators import base
from skewridge.execution.chunked import Table
from skewridge.io.sources import open_source
from skewridge.two_levels.planning import LevelSize, levels_bytes

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

N = 9000  # five blocks: the tree of sums has two levels
X, Y = make_peaks(N, 3, random_state=0)
NAMES = ["x0", "x1", "x2"]
FIXED = {"bandwidth": 0.5, "penalty": 1e-3, "random_state": 0}


def write(folder, X=X, y=Y, files=2, group=1300):
    folder.mkdir(exist_ok=True)
    for i, part in enumerate(np.array_split(np.arange(len(X)), files)):
        columns = {name: X[part, j] for j, name in enumerate(NAMES[: X.shape[1]])}
        pq.write_table(pa.table(columns | {"y": y[part]}), folder / f"{i}.parquet", row_group_size=group)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("rows"))


def same(one, two, new=X[:50]):
    assert np.array_equal(one.dual_coef_, two.dual_coef_)
    frame = pd.DataFrame(new, columns=NAMES[: new.shape[1]])
    assert np.array_equal(one.predict(new), two.predict(frame))


ADAPTIVE = [
    AdaptiveKernelRidge(60, 0.5, **FIXED),
    AdaptiveKernelRidge(60, 0.5, solver="cg", **FIXED),
    AdaptiveKernelRidge(60, 0.5, kernel="sobolev", scale_features=None, penalty=1e-3, random_state=0),
    AdaptiveKernelRidge(60, 0.5, scale_features="learn", random_state=1),
]
DAC = [
    DacKernelRidge(40, **FIXED),
    DacKernelRidge(40, kernel="polynomial", penalty=1e-2, focus=0.5, max_per_slice=3, random_state=0),
    DacKernelRidge(90, oversampling=0.1, penalty="gcv", bandwidth=0.5, slice_on="pilot", random_state=0),
    DacKernelRidge(90, oversampling=0.1, penalty="cv", kernel="sobolev", random_state=2),
]


@pytest.mark.parametrize("estimator", ADAPTIVE + DAC, ids=str)
def test_a_fit_from_files_has_the_bits_of_the_fit_from_arrays(estimator, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(clone(estimator).fit(X, Y), fit_source(clone(estimator), folder, target="y"))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("estimator", [ADAPTIVE[0], DAC[0]], ids=str)
def test_chunks_and_threads_change_no_bit(estimator, tmp_path, n_jobs):
    expected = clone(estimator).fit(X, Y)
    chunked = write(tmp_path, files=1, group=100 if n_jobs == 1 else 10**6)
    same(expected, fit_source(clone(estimator).set_params(n_jobs=n_jobs), chunked, target="y"))


def test_all_choices_made_from_files(tmp_path):
    few = write(tmp_path, X[:1500, :2], Y[:1500], group=333)
    for estimator in (AdaptiveKernelRidge(random_state=0), DacKernelRidge(8, random_state=0)):
        same(clone(estimator).fit(X[:1500, :2], Y[:1500]), fit_source(clone(estimator), few, target="y"), X[:50, :2])


def test_many_features_and_single_precision(tmp_path):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(3000, 17)).astype(np.float32)
    y = wide[:, 0].astype(float) ** 2
    columns = {f"f{i}": wide[:, i] for i in range(17)}
    pq.write_table(pa.table(columns | {"y": y}), tmp_path / "wide.parquet", row_group_size=700)
    for estimator in (
        DacKernelRidge(10, bandwidth=20.0, penalty=0.5, random_state=0),
        AdaptiveKernelRidge(40, 0.5, bandwidth=4.0, penalty=1e-3, random_state=0),
    ):
        one = clone(estimator).fit(pd.DataFrame(columns), y)
        two = fit_source(clone(estimator), tmp_path / "wide.parquet", target="y")
        assert np.array_equal(one.dual_coef_, two.dual_coef_)
        assert np.array_equal(one.predict(pd.DataFrame(columns)), two.predict(pd.DataFrame(columns)))


def test_repeated_rows_are_found_across_chunks(tmp_path):
    rows = np.r_[np.arange(3000), np.arange(3000)]
    twice = write(tmp_path, X[rows], Y[rows], group=900)
    model = fit_source(clone(ADAPTIVE[0]), twice, target="y")
    same(clone(ADAPTIVE[0]).fit(X[rows], Y[rows]), model)
    assert len(np.unique(model.centers_, axis=0)) == model.n_centers_


def test_rows_of_a_node_are_gathered_within_the_memory_limit(folder, monkeypatch):
    gathered, original = [], Table.__getitem__
    monkeypatch.setattr(Table, "__getitem__", lambda self, ids: gathered.append(len(ids)) or original(self, ids))
    model = fit_source(DacKernelRidge(40, memory_limit="3MB", slices=1, **FIXED), folder, target="y")
    limit = 0.25 * 3e6 / (8 * (3 * 3 + 4))
    assert max(gathered) <= limit < N
    assert np.array_equal(model.dual_coef_, DacKernelRidge(40, slices=1, **FIXED).fit(X, Y).dual_coef_)


def test_a_limit_without_the_quarter_for_rows_is_refused_with_figures(folder):
    with pytest.raises(MemoryError, match=r"memory_limit is .* without the 25% for rows and libraries.*What would fit"):
        fit_source(DacKernelRidge(4, memory_limit="2MB", **FIXED), folder, target="y")


def test_training_rows_are_read_when_they_are_needed(folder):
    model = fit_source(clone(DAC[0]), folder, target="y")
    assert "X_fit_" not in vars(model)
    with pytest.raises(MemoryError, match=r"all 9,000 training rows at hand, 216 kB, and memory_limit is 1 kB"):
        model.set_params(memory_limit=1000).predict(pd.DataFrame(X[:5], columns=NAMES))
    model.set_params(memory_limit=None)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.X_fit_, X)
    std = model.predict(pd.DataFrame(X[:5], columns=NAMES), return_std=True)[1]
    assert np.array_equal(std, clone(DAC[0]).fit(X, Y).predict(X[:5], return_std=True)[1])


@pytest.mark.parametrize("target", ["y", ["y"]])
def test_chosen_features_and_a_target_in_a_list(target, tmp_path):
    write(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        model = fit_source(clone(ADAPTIVE[0]), tmp_path, target=target, features=["x1", "x0"])
    expected = clone(ADAPTIVE[0]).fit(X[:, [1, 0]], Y)
    assert np.array_equal(model.dual_coef_, expected.dual_coef_)
    assert model.feature_names_in_.tolist() == ["x1", "x0"]


@pytest.mark.parametrize("settings", [{"solver": "direct"}, {"solver": "cg"}], ids=str)
def test_both_solvers_have_the_same_bits_from_files_and_from_frames(settings, tmp_path):
    frame = pd.DataFrame(np.c_[X, Y], columns=[*NAMES, "y"])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1300)
    estimator = clone(ADAPTIVE[0]).set_params(**settings)
    model = fit_source(clone(estimator), tmp_path / "rows.parquet", target="y", features=NAMES)
    same(clone(estimator).fit(X, Y), model)
    in_memory = fit_source(clone(estimator), frame, target="y", features=NAMES)
    assert np.array_equal(in_memory.dual_coef_, model.dual_coef_)


@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_what_is_in_memory_is_fitted_as_it_is(library):
    frame = pytest.importorskip(library)
    rows = np.c_[X, Y] if library == "numpy" else frame.DataFrame(dict(zip([*NAMES, "y"], [*X.T, Y], strict=True)))
    model = fit_source(clone(ADAPTIVE[0]), rows, target=-1 if library == "numpy" else "y")
    assert np.array_equal(model.dual_coef_, clone(ADAPTIVE[0]).fit(X, Y).dual_coef_)
    other = fit_source(clone(ADAPTIVE[0]), X, target=Y, sample_weight=np.full(N, 2.0))
    assert other.n_centers_ == 60


def test_a_response_apart_from_the_files(folder):
    model = fit_source(clone(ADAPTIVE[0]), folder, target=2 * Y, features=NAMES)
    assert np.array_equal(model.dual_coef_, clone(ADAPTIVE[0]).fit(X, 2 * Y).dual_coef_)


def test_estimators_of_arrays_are_refused(folder):
    from sklearn.linear_model import Ridge

    with pytest.raises(TypeError, match=r"Ridge fits to arrays only\. Read the source into memory"):
        fit_source(Ridge(), folder, target="y")
    assert fit_source(Ridge(), np.c_[X, Y], target=-1).coef_.shape == (3,)


def test_bad_sources_are_refused(folder, tmp_path):
    table = pa.table({"x0": [1.0, 2.0], "word": ["a", "b"], "y": [0.0, 1.0]})
    pq.write_table(table, tmp_path / "words.parquet")
    with pytest.raises(ValueError, match=r"Columns \['word'\] do not hold numbers"):
        fit_source(clone(DAC[0]), tmp_path / "words.parquet", target="y")
    with pytest.raises(ValueError, match=r"has the columns .* got \['price'\]"):
        fit_source(clone(DAC[0]), folder, target="price")
    holes = write(tmp_path / "holes", np.where(X == X[7, 1], np.nan, X))
    with pytest.raises(ValueError, match=r"row 7, column 'x1' holds nan \(row 7 of row group 0 of .*0\.parquet\)"):
        fit_source(clone(DAC[0]), holes, target="y")
    with pytest.raises(ValueError, match=r"y must hold finite .*row 5, column .y. holds nan"):
        fit_source(clone(DAC[0]), write(tmp_path / "no", y=np.where(np.arange(N) == 5, np.nan, Y)), target="y")


@pytest.mark.parametrize("estimator", [ADAPTIVE[0], DAC[0]], ids=str)
def test_a_checkpoint_is_used_and_changes_no_bit(estimator, folder, tmp_path):
    expected = clone(estimator).fit(X, Y)
    for _ in range(2):
        same(expected, fit_source(clone(estimator), folder, target="y", checkpoint=tmp_path))
    with pytest.raises(ValueError, match="parameters differ"):
        fit_source(clone(estimator).set_params(penalty=1e-2), folder, target="y", checkpoint=tmp_path)
    with pytest.raises(ValueError, match="response differ"):
        fit_source(clone(estimator), folder, target=Y + 1, features=NAMES, checkpoint=tmp_path)
    fit_source(clone(estimator).set_params(n_jobs=2, verbose=0), folder, target="y", checkpoint=tmp_path)


@pytest.mark.parametrize("change", ["time", "size", "content"])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("estimator", [ADAPTIVE[0], DAC[0]], ids=str)
def test_a_file_that_changes_between_passes_is_noticed(tmp_path, monkeypatch, estimator, kind, change):
    monkeypatch.setattr("skewridge.io.files.NEAR_BYTES", 0)
    monkeypatch.setattr("skewridge.io.csv.CSV_BYTES", 20_000)
    file, rows = tmp_path / f"rows.{kind}", np.c_[X, Y].round(3)[:3000]

    def put(rows):
        frame = pd.DataFrame(rows, columns=[*NAMES, "y"])
        if kind == "csv":
            frame.to_csv(file, index=False, float_format="%+.3f")
        else:
            frame.to_parquet(file, row_group_size=500, compression=None)

    def checked(*rest):
        found, before = original(*rest), file.stat()
        put({"time": rows, "size": rows[:2500], "content": rows[::-1]}[change])
        if change == "content":
            assert file.stat().st_size == before.st_size
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        return found

    original = base.check_rows
    monkeypatch.setattr(base, "check_rows", checked)
    put(rows)
    with pytest.raises(OSError, match=r"rows\.(csv|parquet).* when it was opened.*run again"):
        fit_source(clone(estimator), file, target="y").predict(X[:2])


def test_a_checkpoint_of_other_weights_is_refused(folder, tmp_path):
    weights = np.random.default_rng(0).integers(1, 4, N)
    model = fit_source(clone(ADAPTIVE[0]), folder, target="y", sample_weight=weights, checkpoint=tmp_path)
    same(clone(ADAPTIVE[0]).fit(X, Y, weights), model)
    for others in (weights[::-1], None):
        with pytest.raises(ValueError, match="written by another fit: sample_weight differ"):
            fit_source(clone(ADAPTIVE[0]), folder, target="y", sample_weight=others, checkpoint=tmp_path)
    again = fit_source(clone(ADAPTIVE[0]), folder, "y", sample_weight=1.0 * weights, checkpoint=tmp_path)
    assert np.array_equal(again.dual_coef_, model.dual_coef_)


def test_a_checkpoint_of_another_scoring_or_generator_is_refused(tmp_path):
    def fit(folder, level=0.5, random_state=0):
        scoring = {"scoring": lambda y: np.abs(y) + level, "random_state": random_state}
        return fit_source(AdaptiveKernelRidge(40, 0.5, **scoring), X[:500], Y[:500], checkpoint=tmp_path / folder)

    first = fit("a")
    assert np.array_equal(fit("a").dual_coef_, first.dual_coef_)
    with pytest.raises(ValueError, match="another fit: parameters differ"):
        fit("a", level=0.6)
    fit("b", random_state=np.random.RandomState(1))
    with pytest.raises(ValueError, match="another fit: parameters differ"):
        fit("b", random_state=np.random.RandomState(2))


@pytest.mark.parametrize(
    ("version", "place"),
    [("method", "skewridge.estimators.sources.code_digest"), ("format", "skewridge.execution.checkpoint.FORMAT")],
)
def test_a_checkpoint_of_another_format_or_method_is_refused(tmp_path, monkeypatch, version, place):
    fit_source(clone(DAC[0]), X, Y, checkpoint=tmp_path)
    monkeypatch.setattr(place, (lambda: "another") if version == "method" else 0)
    with pytest.raises(ValueError, match=f"another fit: {version} differ"):
        fit_source(clone(DAC[0]), X, Y, checkpoint=tmp_path)


def test_a_checkpoint_keeps_the_seed_and_takes_arrays(tmp_path):
    unseeded = DacKernelRidge(40, bandwidth=0.5, penalty=1e-3)
    one, two = (fit_source(clone(unseeded), X, target=Y, checkpoint=tmp_path) for _ in range(2))
    assert np.array_equal(one.dual_coef_, two.dual_coef_)


@pytest.mark.parametrize("return_std", [False, True])
def test_predictions_are_written_chunk_by_chunk(folder, tmp_path, monkeypatch, return_std):
    monkeypatch.setattr("skewridge.estimators.sources.PREDICTED_ROWS", 4096)
    model = fit_source(clone(ADAPTIVE[0]), folder, target="y")
    out = predict_source(model, folder, tmp_path / "out.parquet", return_std=return_std)
    assert pq.ParquetFile(out).metadata.num_row_groups == 3
    found = pd.read_parquet(out)
    expected = model.predict(pd.DataFrame(X, columns=NAMES), return_std=True)
    assert np.array_equal(found["prediction"], expected[0])
    assert list(found) == ["prediction", "std"][: 1 + return_std]
    assert not return_std or np.array_equal(found["std"], expected[1])
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_prediction_that_fails_leaves_no_file(folder, tmp_path):
    model = clone(ADAPTIVE[0]).fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="features"):
        predict_source(model, folder, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_opening_reads_no_rows(folder, monkeypatch):
    from skewridge.io.files import FileChunk

    monkeypatch.setattr(FileChunk, "read", lambda self: pytest.fail("read"))
    table, target = open_source(folder, None, NAMES)
    assert (table.shape, target) == ((N, 3), None)


N_FEW = 160
IN_MEMORY = [SkewRidge("laplacian", random_state=0), LocalKernelRidge(cell_size=60, random_state=0)]


def few_rows():
    """Rows of which some repeat, a response, and weights."""
    rows = np.r_[np.arange(N_FEW - 20), np.arange(20)]
    weights = 1.0 + np.arange(N_FEW) % 3
    return X[rows, :2], Y[rows], weights


def sources_of(X, y, folder):
    """The same rows as a frame, as Parquet and CSV files, and as Dask collections."""
    dask_array, dask_frame = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(np.c_[X, y], columns=[*NAMES[:2], "y"])
    frame.to_csv(folder / "rows.csv", index=False)
    yield frame, "y"
    yield write(folder / "parquet", X, y, group=90), "y"
    yield folder / "rows.csv", "y"
    yield dask_array.from_array(np.c_[X, y], chunks=(33, 2)), -1
    yield dask_frame.from_pandas(frame, npartitions=5), "y"


def same_levels(one, two, new):
    assert np.array_equal(one.oof_prediction_, two.oof_prediction_)
    assert np.array_equal(one.feature_scale_, two.feature_scale_)
    assert repr(one.expected_error_) == repr(two.expected_error_)  # nan where one row is rare
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        assert np.array_equal(one.predict(new), two.predict(new))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", IN_MEMORY, ids=lambda e: type(e).__name__)
def test_two_levels_have_the_same_bits_from_arrays_files_and_dask(estimator, weighted, tmp_path):
    few, y, weights = few_rows()
    more = {"sample_weight": weights} if weighted else {}
    expected = clone(estimator).fit(few, y, **more)
    for source, target in sources_of(few, y, tmp_path):
        model = fit_source(clone(estimator), source, target=target, **more)
        same_levels(expected, model, X[-50:, :2])
        named = target == "y"
        assert getattr(model, "feature_names_in_", np.array([])).tolist() == NAMES[: 2 * named]


@pytest.mark.parametrize("estimator", IN_MEMORY, ids=lambda e: type(e).__name__)
def test_two_levels_fit_to_dask_collections_and_predict_them_lazily(estimator):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    few, y, weights = few_rows()
    expected = clone(estimator).fit(few, y, weights)
    lazy = da.from_array(few, chunks=(70, 1))
    model = clone(estimator).fit(lazy, da.from_array(y, chunks=100), weights)
    same_levels(expected, model, few[:60])
    assert np.array_equal(model.predict(lazy).compute(), expected.predict(few))
    frame = dd.from_pandas(pd.DataFrame(few, columns=NAMES[:2], index=np.arange(N_FEW) + 7), npartitions=3)
    model = clone(estimator).fit(frame, y)
    arrays = clone(estimator).fit(few, y)
    assert np.array_equal(model.oof_prediction_, arrays.oof_prediction_)
    found = model.predict(frame).compute()
    assert np.array_equal(found.to_numpy(), model.predict(frame.compute()))
    assert found.index[0] == 7
    assert np.array_equal(arrays.predict(lazy).compute(), found)


@pytest.mark.parametrize("estimator", IN_MEMORY, ids=lambda e: type(e).__name__)
def test_what_memory_does_not_hold_is_refused_before_any_row_is_read(estimator, folder, monkeypatch):
    da = pytest.importorskip("dask.array")
    from skewridge.io.dask_collections import LazyChunk
    from skewridge.io.files import FileChunk

    for kind in (FileChunk, LazyChunk):
        monkeypatch.setattr(kind, "read", lambda self: pytest.fail("read"))
    limited = clone(estimator).set_params(memory_limit="2MB")
    told = r"A fit to 9,000 rows and 3 columns needs [\d.]+ MB and memory_limit is 2 MB\. .*AdaptiveKernelRidge"
    with pytest.raises(MemoryError, match=told):
        fit_source(limited, folder, target="y")
    lazy = da.map_blocks(lambda: pytest.fail("read"), chunks=((N,), (4,)), dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(MemoryError, match=told):
        fit_source(limited, lazy, target=-1)
    with pytest.raises(MemoryError, match=told):
        limited.fit(lazy[:, :3], lazy[:, 3])
    assert not hasattr(limited, "n_features_in_")


def test_the_memory_that_holds_an_array_holds_a_file(tmp_path):
    few, y, _ = few_rows()
    size = LevelSize(N_FEW, 2, n_kernels=1, n_partitions=4, cell_size=1200, outer_folds=False)
    need = int(np.ceil(levels_bytes(size)))
    file = write(tmp_path / "parquet", few, y)
    for limit, fits in ((need, True), (need - 1, False)):
        local = LocalKernelRidge(memory_limit=limit, random_state=0, n_jobs=1)
        with nullcontext() if fits else pytest.raises(MemoryError, match="needs"):
            fit_source(clone(local), file, target="y")
        with nullcontext() if fits else pytest.raises(MemoryError, match="needs"):
            clone(local).fit(few, y)
    assert tracemalloc_peak(lambda: fit_source(LocalKernelRidge(random_state=0), file, target="y")) <= need


def tracemalloc_peak(work):
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_settings_and_rows_that_cannot_be_used_are_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="kernel"):
        fit_source(SkewRidge(kernel=5), folder, target="y")
    holes = write(tmp_path / "holes", np.where(X == X[7, 1], np.nan, X))
    with pytest.raises(ValueError, match=r"row 7, column 'x1' holds nan \(row 7 of row group 0 of .*0\.parquet\)"):
        fit_source(SkewRidge(random_state=0), holes, target="y")


def test_two_levels_predict_sources(folder, tmp_path):
    few, y, _ = few_rows()
    model = LocalKernelRidge(random_state=0).fit(few, y)
    found = pd.read_parquet(predict_source(model, folder, tmp_path / "out.parquet", NAMES[:2]))
    assert list(found) == ["prediction"]
    assert np.array_equal(found["prediction"], model.predict(X[:, :2]))
    spread = pd.read_parquet(predict_source(model, folder, tmp_path / "std.parquet", NAMES[:2], return_std=True))
    assert np.array_equal(spread["std"], model.predict(X[:, :2], return_std=True)[1])
