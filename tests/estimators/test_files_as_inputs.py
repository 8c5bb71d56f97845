"""Files that sources are made of: what is read, what is refused by name, and what is never written over."""

import gzip
import os
import threading

import numpy as np
import pytest

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    SkewRidge,
    fit_source,
    predict_source,
    report,
    save_model,
)

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=300), "b": RNG.normal(size=300)})
FRAME["y"] = FRAME["a"] ** 2 + FRAME["b"]


def model():
    return DacKernelRidge(1, bandwidth=1.0, penalty=0.01, random_state=0)


def fitted():
    return model().fit(FRAME[["a", "b"]], FRAME["y"])


def expected(new=FRAME):
    return fitted().predict(new[["a", "b"]])


def names(folder):
    return sorted(path.name for path in folder.rglob("*"))


# The index of a pandas frame


@pytest.mark.parametrize("name", [None, "when", "y2"])
def test_the_saved_index_of_pandas_is_no_feature(tmp_path, name):
    file = tmp_path / "rows.parquet"
    FRAME.sort_values("y").rename_axis(name).to_parquet(file)
    assert len(pq.ParquetFile(file).schema_arrow) == 4
    found = fit_source(model(), file, target="y")
    assert found.feature_names_in_.tolist() == ["a", "b"]


def test_an_index_that_is_named_is_a_feature_or_the_target(tmp_path):
    file = tmp_path / "rows.parquet"
    FRAME.sort_values("y").rename_axis("when").to_parquet(file)
    assert fit_source(model(), file, target="y", features=["a", "when"]).feature_names_in_.tolist() == ["a", "when"]
    assert fit_source(model(), file, target="when", features=["a"]).n_features_in_ == 1


def test_an_index_of_several_levels_is_no_feature(tmp_path):
    file = tmp_path / "rows.parquet"
    FRAME.assign(day=range(300), hour=1).set_index(["day", "hour"]).to_parquet(file)
    assert fit_source(model(), file, target="y").feature_names_in_.tolist() == ["a", "b"]


def test_a_column_without_a_name_is_no_feature_of_csv(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv")
    with pytest.warns(UserWarning, match=r"rows\.csv: 1 columns without a name are ignored"):
        found = fit_source(model(), tmp_path / "rows.csv", target="y")
    assert found.feature_names_in_.tolist() == ["a", "b"]


# Dialects


def test_a_quoted_newline_in_a_column_that_is_not_used(tmp_path):
    notes = ["first\nsecond", 'a "quoted"\r\nword', "x,y", ""] * 75
    FRAME.assign(note=notes).to_csv(tmp_path / "rows.csv", index=False)
    found = fit_source(model(), tmp_path / "rows.csv", target="y", features=["a", "b"])
    assert np.array_equal(found.predict(FRAME[["a", "b"]]), expected())


@pytest.mark.parametrize("ending", ["tsv", "csv.gz", "csv.bz2", "csv.xz", "csv.zst", "tsv.gz", "txt"])
def test_every_kind_of_csv_is_read(tmp_path, ending):
    file = tmp_path / f"rows.{ending}"
    text = FRAME.to_csv(index=False, sep="\t" if "tsv" in ending else ",").encode()
    packing = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}.get(ending.rpartition(".")[2])
    if ending.endswith("xz"):
        import lzma

        file.write_bytes(lzma.compress(text))
    elif packing:
        with pa.CompressedOutputStream(str(file), packing) as out:
            out.write(text)
    else:
        file.write_bytes(text)
    found = fit_source(model(), file, target="y")
    assert np.array_equal(found.predict(FRAME[["a", "b"]]), expected())


@pytest.mark.parametrize("said", [{}, {"delimiter": ";", "decimal": ",", "encoding": "cp1252"}], ids=["found", "said"])
def test_a_dialect_is_found_or_said(tmp_path, said):
    file = tmp_path / "rows.csv"
    FRAME.assign(café=1).to_csv(file, index=False, sep=";", decimal=",", encoding="latin-1")
    found = fit_source(model(), file, target="y", features=["a", "b"], **said)
    out = predict_source(found, file, tmp_path / "out.parquet", **said)
    assert np.array_equal(pd.read_parquet(out)["prediction"], expected())


def test_a_delimiter_that_cuts_nothing_is_questioned(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False, sep=";")
    with pytest.raises(ValueError, match=r"there is one column only, 'a;b;y'\. Is its delimiter ';'\?"):
        fit_source(model(), tmp_path / "rows.csv", target="y", delimiter="|")


@pytest.mark.parametrize("ending", ["feather", "arrow", "jsonl", "ndjson.gz", "xlsx", "csv.zip"])
def test_every_format_gives_the_same_model(tmp_path, ending):
    file = tmp_path / f"rows.{ending}"
    if ending == "csv.zip":
        FRAME.to_csv(file, index=False)
    elif ending == "xlsx":
        pytest.importorskip("openpyxl")
        FRAME.to_excel(file, index=False)
    elif "json" in ending:
        FRAME.to_json(file, orient="records", lines=True, double_precision=15)
    else:
        FRAME.to_feather(file)
    found = fit_source(model(), file, target="y")
    out = predict_source(found, file, tmp_path / "out.parquet")
    np.testing.assert_allclose(pd.read_parquet(out)["prediction"], expected(), rtol=1e-9)


# What cannot be read is named


def test_a_dangling_link_in_a_folder_is_an_error_with_its_name(tmp_path):
    FRAME[:100].to_parquet(tmp_path / "a.parquet", index=False)
    (tmp_path / "b.parquet").symlink_to(tmp_path / "gone" / "b.parquet")
    for source in (tmp_path, f"{tmp_path}/*.parquet", f"{tmp_path}/**", tmp_path / "b.parquet"):
        with pytest.raises(FileNotFoundError, match=r"b\.parquet is a link to .*gone.*, which is not there"):
            fit_source(model(), source, target="y")


def test_links_to_files_and_folders_are_followed(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").mkdir()
    FRAME[:100].to_parquet(tmp_path / "near" / "a.parquet", index=False)
    FRAME[100:200].to_parquet(tmp_path / "far" / "b.parquet", index=False)
    FRAME[200:].to_parquet(tmp_path / "c.parquet", index=False)
    (tmp_path / "near" / "b").symlink_to(tmp_path / "far")
    (tmp_path / "near" / "c.parquet").symlink_to(tmp_path / "c.parquet")
    found = fit_source(model(), tmp_path / "near", target="y")
    assert np.array_equal(found.predict(FRAME[["a", "b"]]), expected())
    (tmp_path / "far" / "round").symlink_to(tmp_path / "near")
    with pytest.raises(OSError, match=r"round is a link to a folder that it is in"):
        fit_source(model(), tmp_path / "near", target="y")


def test_folders_that_a_glob_names_are_read(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.parquet").mkdir()
        FRAME[100 * i : 100 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet" / "part.parquet", index=False)
    for source in (f"{tmp_path}/*.parquet", f"{tmp_path}/**"):
        found = fit_source(model(), source, target="y")
        assert np.array_equal(found.predict(FRAME[["a", "b"]]), expected())


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_may_not_be_read_is_named(tmp_path):
    FRAME.to_parquet(tmp_path / "a.parquet", index=False)
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(PermissionError, match="closed"):
        fit_source(model(), tmp_path, target="y")


def test_a_folder_that_cannot_be_listed_is_named(tmp_path, monkeypatch):
    FRAME.to_parquet(tmp_path / "a.parquet", index=False)
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def closed(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(PermissionError, match="closed"):
        fit_source(model(), tmp_path, target="y")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize(
    "estimator", [model(), SkewRidge(random_state=0), AdaptiveKernelRidge(random_state=0)], ids=str
)
def test_a_missing_response_is_refused_with_file_and_row(tmp_path, kind, estimator):
    FRAME[:100].to_parquet(tmp_path / "0.parquet", index=False, row_group_size=40)
    holes = FRAME[100:].assign(y=FRAME["y"].where(FRAME.index != 157))
    holes.to_parquet(tmp_path / "1.parquet", index=False, row_group_size=40)
    place = "17 of row group 1 of .*1.parquet"
    if kind == "csv":
        for i in range(2):
            pd.read_parquet(tmp_path / f"{i}.parquet").to_csv(tmp_path / f"{i}.csv", index=False)
        place = "57 of .*1.csv"
    with pytest.raises(ValueError, match=rf"y must hold finite .*row 157, column 'y' holds nan \(row {place}\)"):
        fit_source(estimator, f"{tmp_path}/*.{kind}", target="y")


@pytest.mark.parametrize("bad", [None, 1e200])
def test_a_missing_value_to_predict_is_refused_with_file_and_row(tmp_path, bad):
    table = pa.table({"a": pa.array([*FRAME["a"][:50], bad]), "b": pa.array(FRAME["b"][:51])})
    pq.write_table(table, tmp_path / "new.parquet", row_group_size=20)
    with pytest.raises(ValueError, match=r"row 50, column 'a' holds .*\(row 10 of row group 2 of .*new\.parquet\)"):
        predict_source(fitted(), tmp_path / "new.parquet", tmp_path / "out.parquet")
    assert names(tmp_path) == ["new.parquet"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_columns_of_the_same_name_are_called_that(tmp_path, kind):
    file = tmp_path / f"twice.{kind}"
    if kind == "csv":
        file.write_text("a,a,y\n1,2,3\n4,5,6\n")
    else:
        pq.write_table(pa.Table.from_arrays([pa.array([1.0, 2.0])] * 3, names=["a", "a", "y"]), file)
    with pytest.raises(ValueError, match=rf"twice\.{kind}.*two columns are called 'a'\. Rename one of them"):
        fit_source(model(), file, target="y")


def test_a_word_in_a_column_of_numbers_is_named_with_its_row(tmp_path):
    FRAME.astype({"a": object}).assign(a=[*FRAME["a"][:299], "many"]).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(
        ValueError, match=r"rows\.csv cannot be read as CSV: column .a. should hold numbers; row 299 holds 'many'"
    ):
        fit_source(model(), tmp_path / "rows.csv", target="y")


# What is read is never written over


def spellings(file):
    """Other names of a file."""
    folder = file.parent
    (folder / "link.parquet").symlink_to(file)
    os.link(file, folder / "hard.parquet")
    return [file, folder / "link.parquet", folder / "hard.parquet", folder / ".." / folder.name / file.name]


def test_predictions_never_replace_their_input(tmp_path):
    file = tmp_path / "rows.parquet"
    FRAME.to_parquet(file, index=False)
    before = file.read_bytes()
    for source in (file, tmp_path, f"{tmp_path}/*.parquet", f"file://{file}"):
        for out in spellings(file):
            with pytest.raises(ValueError, match=r"is one of the files to be read\. Name another one for the output"):
                predict_source(fitted(), source, out)
        (tmp_path / "link.parquet").unlink()
        (tmp_path / "hard.parquet").unlink()
        assert file.read_bytes() == before
    assert names(tmp_path) == ["rows.parquet"]


def test_predictions_never_replace_the_rows_that_a_model_still_reads(tmp_path):
    FRAME.to_parquet(tmp_path / "rows.parquet", index=False)
    reading = fit_source(DacKernelRidge(2, bandwidth=1.0, penalty=0.01), tmp_path / "rows.parquet", target="y")
    with pytest.raises(ValueError, match="is one of the files to be read"):
        predict_source(reading, FRAME[["a", "b"]], tmp_path / "rows.parquet")
    numbers = FRAME[["a", "b"]].to_numpy()
    np.save(tmp_path / "rows.npy", numbers)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with pytest.raises(ValueError, match="is one of the files to be read"):
        predict_source(model().fit(numbers, FRAME["y"]), mapped[:7], tmp_path / "rows.npy")


def test_models_and_reports_never_replace_the_rows_that_they_read(tmp_path):
    pytest.importorskip("jinja2")
    FRAME.to_parquet(tmp_path / "rows.parquet", index=False)
    reading = fit_source(DacKernelRidge(2, bandwidth=1.0, penalty=0.01), tmp_path / "rows.parquet", target="y")
    np.save(tmp_path / "y.npy", FRAME["y"].to_numpy())
    mapped = np.load(tmp_path / "y.npy", mmap_mode="r")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="is one of the files to be read"):
        report(fitted(), FRAME[["a", "b"]], mapped, tmp_path / "y.npy")
    with pytest.raises(ValueError, match="is one of the files to be read"):
        report(reading, FRAME[["a", "b"]], FRAME["y"], tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="is one of the files to be read"):
        save_model(reading, tmp_path / "rows.parquet")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# Runs at the same time


def test_predictions_at_the_same_time_are_each_whole(tmp_path, monkeypatch):
    """Three runs to one file, held until all of them write: each ends well, and one of them is there, whole."""
    monkeypatch.setattr("skewridge.estimators.sources.PREDICTED_ROWS", 100)
    new = [FRAME.iloc[i : i + 250][["a", "b"]].reset_index(drop=True) for i in (0, 20, 40)]
    known, barrier, errors = fitted(), threading.Barrier(3), []
    write = pq.ParquetWriter.write_table

    def together(self, *given, **more):
        write(self, *given, **more)
        barrier.wait(timeout=30)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", together)

    def run(rows):
        try:
            predict_source(known, rows, tmp_path / "out.parquet")
        except Exception as error:
            errors.append(error)

    runs = [threading.Thread(target=run, args=(rows,)) for rows in new]
    for thread in runs:
        thread.start()
    for thread in runs:
        thread.join()
    assert errors == []
    assert names(tmp_path) == ["out.parquet"]
    found = pd.read_parquet(tmp_path / "out.parquet")["prediction"]
    assert any(np.array_equal(found, known.predict(rows)) for rows in new)


def test_a_prediction_that_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("skewridge.estimators.sources.PREDICTED_ROWS", 100)
    (tmp_path / "out.parquet").write_bytes(b"before")
    known, calls = fitted(), []

    def fails(rows):
        calls.append(len(rows))
        if len(calls) > 1:
            raise RuntimeError("no more")
        return np.zeros(len(rows))

    monkeypatch.setattr(known, "predict", fails)
    with pytest.raises(RuntimeError, match="no more"):
        predict_source(known, FRAME[["a", "b"]], tmp_path / "out.parquet")
    assert names(tmp_path) == ["out.parquet"]
    assert (tmp_path / "out.parquet").read_bytes() == b"before"


def test_a_damaged_packed_file_is_named(tmp_path):
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode())[:-40])
    with pytest.raises(OSError, match=r"rows\.csv\.gz"):
        fit_source(model(), file, target="y")
