import io
import zipfile
from dataclasses import fields, is_dataclass
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from skewridge import AdaptiveKernelRidge, DacKernelRidge, DacRegressor, ModelFileError, load_model, save_model
from skewridge.persist import read_model
from skewridge.persist._archive import npy_header
from skewridge.persist._models import ESTIMATORS, NAMED
from skewridge.persist._schema import Record
from tests.hostile import DOCUMENT, MANIFEST, edited
from tests.saved import FRAME, MODELS, X_NEW, X, Y, adaptive, dac, file_of, fitted


def assert_same(a, b, place=""):
    """Equal in type and to the last bit, all the way down."""
    assert type(a) is type(b), place
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), place
        assert a.tobytes() == b.tobytes() if a.dtype != object else a.tolist() == b.tolist(), place
    elif isinstance(a, dict):
        assert list(a) == list(b), place
        for key in a:
            assert_same(a[key], b[key], f"{place}[{key!r}]")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), place
        for i, (left, right) in enumerate(zip(a, b, strict=True)):
            assert_same(left, right, f"{place}[{i}]")
    elif is_dataclass(a):
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name), f"{place}.{field.name}")
    elif hasattr(a, "get_params"):
        gone = {*getattr(a, "_not_pickled", ()), "_fitted_rows"}  # rows that copies may keep and files do not
        assert_same(*({k: v for k, v in sorted(vars(model).items()) if k not in gone} for model in (a, b)), place)
    else:
        assert a == b or (a != a and b != b), place


@pytest.fixture
def again(tmp_path):
    """Save and load."""

    def loaded(name):
        (tmp_path / name).write_bytes(file_of(name))
        return load_model(tmp_path / name)

    return loaded


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_model_comes_back_to_the_last_bit(name, dtype, again):
    model, loaded = fitted(name), again(name)
    assert_same(model, loaded)
    assert_same(model.get_params(), loaded.get_params())
    points = X_NEW.astype(dtype)
    points = pd.DataFrame(points, columns=FRAME.columns) if hasattr(model, "feature_names_in_") else points
    assert_same(model.predict(points), loaded.predict(points))
    if "return_std" in signature(model.predict).parameters:
        assert_same(model.predict(points, return_std=True), loaded.predict(points, return_std=True))


def test_local_estimates_come_back(again):
    model, loaded = fitted("dac nodes"), again("dac nodes")
    assert_same(model.predict_nodes(X_NEW), loaded.predict_nodes(X_NEW))
    assert_same(model.node_spread(X_NEW), loaded.node_spread(X_NEW))


def test_a_loaded_model_can_be_fitted_saved_and_loaded_again(again, tmp_path):
    loaded = again("dac nodes")
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == file_of("dac nodes")
    assert_same(loaded.fit(X, Y).predict(X_NEW), fitted("dac nodes").predict(X_NEW))


def test_the_same_array_is_written_once_and_loaded_as_one(again):
    loaded = again("dac")
    assert loaded.X_fit_ is loaded._problem.X is loaded._expansion.points
    assert loaded.X_fit_.flags.writeable
    assert fitted("dac").X_fit_.nbytes < len(file_of("dac")) < 3 * fitted("dac").X_fit_.nbytes + 20_000


def test_what_is_written_about_a_model_comes_back(tmp_path):
    about = {"target": "høyde", "rows": 90, "y": Y, "nothing": None, "more": {"share": np.nan, "pair": (1, -np.inf)}}
    save_model(fitted("dac"), tmp_path / "m", about=about)
    read = read_model(tmp_path / "m")
    assert_same(read.about, about)
    assert read.library == "0.1.0"


def test_numpy_reads_the_arrays():
    with zipfile.ZipFile(io.BytesIO(file_of("dac"))) as archive:
        arrays = [np.load(archive.open(name)) for name in archive.namelist() if name.endswith(".npy")]
    assert any(np.array_equal(array, fitted("dac").X_fit_) for array in arrays)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (10**6, 1, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_headers_are_those_of_numpy(shape, order):
    header = io.BytesIO(npy_header("<f8", shape, order))
    assert np.lib.format.read_magic(header) == (1, 0)
    assert np.lib.format.read_array_header_1_0(header) == (shape, order == "F", np.dtype("<f8"))
    assert len(header.getvalue()) % 64 == 0


def test_a_file_of_a_newer_skewridge_is_refused_by_name(tmp_path):
    content = edited(file_of("dac"), MANIFEST, lambda manifest: manifest.update(skewridge="9.10.0"))
    (tmp_path / "later").write_bytes(content)
    assert_same(load_model(tmp_path / "later").predict(X_NEW), fitted("dac").predict(X_NEW))  # it knows all it needs
    unknown = edited(content, DOCUMENT, lambda d: d["model"]["estimator"]["attributes"].update(tail_=None))
    (tmp_path / "later").write_bytes(unknown)
    with pytest.raises(ModelFileError, match=r"other attributes.*written by skewridge 9\.10\.0 .*upgrade skewridge"):
        load_model(tmp_path / "later")


# What cannot be saved


def loud(y):
    return np.abs(y)


@pytest.mark.filterwarnings("ignore:Rows")
def test_a_function_is_refused_by_the_name_of_its_parameter(tmp_path):
    model = adaptive(n_centers="auto", scoring=loud).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"scoring is the function loud.* Set scoring to something plain"):
        save_model(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())
    save_model(model.set_params(scoring="mse"), tmp_path / "m")
    assert_same(load_model(tmp_path / "m").predict(X_NEW), model.predict(X_NEW))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (AdaptiveKernelRidge, "is not fitted: call fit first"),
        (lambda: dac(random_state=np.random.RandomState(0)).fit(X, Y), "random_state is a RandomState"),
        (lambda: dac(slices=np.array([-1, 0, 1], dtype=object)).fit(X, Y), "slices is an array of dtype object"),
        (lambda: dac(slices=np.array([-1, 0, 1], dtype=np.int16)).fit(X, Y), "slices is an array of dtype int16"),
        (lambda: dac(slices=range(-1, 2)).fit(X, Y), "slices is a range"),
        (lambda: DacRegressor(Ridge()).fit(X, Y), "estimator is a Ridge.* skewridge's own estimators"),
        (lambda: {"a": 1}, "A dict cannot be saved; DacKernelRidge, DacRegressor, AdaptiveKernelRidge"),
    ],
)
def test_what_cannot_be_saved_is_named(make, match, tmp_path):
    with pytest.raises(ModelFileError, match=match):
        save_model(make(), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_attributes_that_do_not_belong_to_the_model_are_refused(tmp_path):
    model = dac().fit(X, Y)
    model.extra_ = 1
    with pytest.raises(ModelFileError, match="extra_ is no attribute of a fitted DacKernelRidge: delete it"):
        save_model(model, tmp_path / "m")
    del model.extra_, model.allocation_
    with pytest.raises(ModelFileError, match="allocation_ is missing: fit the DacKernelRidge"):
        save_model(model, tmp_path / "m")


def test_a_subclass_is_another_class(tmp_path):
    class Mine(DacKernelRidge):
        pass

    with pytest.raises(ModelFileError, match="A Mine cannot be saved"):
        save_model(Mine(), tmp_path / "m")


@pytest.mark.parametrize(
    ("about", "match"),
    [
        ({1: 2}, "has the key 1: keys must be text"),
        ({"f": print}, r"about\['f'\] is the function print"),
        ({"text": "\ud800"}, "not valid Unicode"),
        ({"z": np.complex128(1)}, "number of dtype complex128"),
        ({"z": [np.zeros((1,) * 5)]}, r"about\['z'\]\[0\] is an array of dtype float64 with 5 dimensions"),
    ],
)
def test_only_plain_things_can_be_written_about_a_model(about, match, tmp_path):
    with pytest.raises(ModelFileError, match=match):
        save_model(fitted("dac"), tmp_path / "m", about=about)


def test_a_schema_cannot_forget_a_field():
    with pytest.raises(TypeError, match="the schema of Slices must name its fields"):
        Record("response.slices:Slices", "edges: list", (), False).fields  # noqa: B018


def test_every_class_in_model_files_is_at_home_and_has_its_fields():
    for record in [own for own in NAMED.values() if isinstance(own, Record)]:
        assert record.cls.__name__ == record.home.partition(":")[2]
        assert record.fields
    for name, own in ESTIMATORS.items():
        assert own.cls.__name__ == name
        assert own.schemas.keys() >= own.needed


def test_arrays_beyond_what_32_bits_count_are_written_in_the_long_format(monkeypatch, tmp_path):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    save_model(fitted("dac"), tmp_path / "long")
    monkeypatch.undo()
    assert len(file_of("dac")) < (tmp_path / "long").stat().st_size
    assert_same(load_model(tmp_path / "long"), fitted("dac"))


def test_a_model_too_large_for_the_format_is_refused_before_it_replaces_anything(monkeypatch, tmp_path):
    monkeypatch.setattr("skewridge.persist._archive.MOST_TEXT", 1000)
    (tmp_path / "m").write_text("old")
    with pytest.raises(ModelFileError, match="too many parts or too much text"):
        save_model(fitted("dac"), tmp_path / "m")
    assert (tmp_path / "m").read_text() == "old"
