import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from skewridge import ModelFileError, load_model, save_model
from skewridge.tables.encoder import TableEncoder
from tests.hostile import DOCUMENT, edited
from tests.persist.test_persist import assert_same
from tests.saved import dac

TABLE = pd.DataFrame(
    {
        "rooms": [2, 4, 3, 5],
        "town": ["Oslo", "Bergen", "Oslo", "Hamar"],
        "new": [True, False, False, True],
        "size": ["S", "L", "M", "M"],
        "code": [101, 102, 101, 101],
    }
)
Y = np.array([1.0, 2.0, 1.5, 9.0])


def encoder(**settings):
    return TableEncoder(**{"categorical": ["code"], "ordinal": {"size": ["S", "M", "L"]}, **settings})


def test_mixed_columns_become_numbers():
    fitted = encoder().fit(TABLE)
    names = fitted.get_feature_names_out().tolist()
    assert names == ["rooms", "town=Oslo", "town=Bergen", "town=Hamar", "new", "size", "code=101", "code=102"]
    numbers = fitted.transform(TABLE)
    assert numbers.shape == (4, 8)
    np.testing.assert_allclose(numbers[:, [0, 5]].mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(numbers[:, [0, 5]].std(axis=0), 1)
    assert numbers[:, 1].tolist() == [1, 0, 1, 0]
    assert fitted.n_features_in_ == 5


def test_columns_are_found_by_name_and_others_ignored():
    fitted = encoder().fit(TABLE)
    shuffled = TABLE[["code", "size", "new", "town", "rooms"]].assign(extra="?")
    assert np.array_equal(fitted.transform(shuffled), fitted.transform(TABLE))
    with pytest.raises(ValueError, match="The table has no column 'town', 'new'; it has 'rooms', 'size'"):
        fitted.transform(TABLE[["rooms", "size", "code"]])


def test_rows_do_not_depend_on_each_other():
    fitted = encoder().fit(TABLE)
    one_by_one = np.vstack([fitted.transform(TABLE.iloc[[i]]) for i in range(4)])
    assert np.array_equal(one_by_one, fitted.transform(TABLE))


def test_unseen_levels_are_counted():
    fitted = encoder().fit(TABLE)
    strange = TABLE.assign(town=["Oslo", "Rome", "Rome", "Bonn"], size=["S", "XXL", "M", "M"])
    with pytest.warns(UserWarning, match="rows have values of") as caught:
        numbers = fitted.transform(strange)
    messages = [str(warning.message) for warning in caught]
    assert "3 rows have values of 'town' that the model has not seen ('Rome': 2, 'Bonn': 1)" in messages[0]
    assert "none of its categories" in messages[0]
    assert "1 rows have values of 'size'" in messages[1]
    assert "the mean of its order" in messages[1]
    assert numbers[1, 1:4].tolist() == [0, 0, 0]
    assert numbers[1, 5] == 0


def test_missing_values_are_refused_with_a_count_or_imputed():
    holes = TABLE.assign(rooms=[2, None, 3, 5], town=["Oslo", None, None, "Hamar"])
    with pytest.raises(ValueError, match=r"2 of 4 rows have missing values \('rooms': 1, 'town': 2\)"):
        encoder(missing="refuse").fit(holes)
    with pytest.raises(ValueError, match="2 of 4 rows have missing values"):
        encoder(missing="refuse").fit(TABLE).transform(holes)
    filled = TABLE.assign(rooms=[2, 3, 3, 5], town=["Oslo", "Oslo", "Oslo", "Hamar"])
    imputing = encoder(missing="impute").fit(TABLE.assign(rooms=[2, 4, 3, 3]))
    assert np.array_equal(imputing.transform(holes), imputing.transform(filled))


def test_polars_tables_are_the_same_tables():
    fitted = encoder().fit(TABLE)
    again = encoder().fit(pl.from_pandas(TABLE))
    assert_same(fitted.columns_, again.columns_)
    assert np.array_equal(again.transform(pl.from_pandas(TABLE)), fitted.transform(TABLE))


def test_scikit_learns_ways_work():
    fitted = encoder().fit(TABLE)
    assert clone(fitted).get_params() == fitted.get_params()
    frame = fitted.set_output(transform="pandas").transform(TABLE)
    assert frame.columns.tolist() == fitted.get_feature_names_out().tolist()
    with pytest.raises(NotFittedError):
        encoder().transform(TABLE)


@pytest.mark.parametrize(
    ("table", "error", "match"),
    [
        (np.ones((2, 2)), TypeError, "A data frame is needed, whose columns have names; got ndarray"),
        (pd.DataFrame(np.ones((2, 2))), TypeError, "Column names must be text; got 0"),
        (pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]), ValueError, "Two columns are called 'a'"),
        (pd.DataFrame({"a": []}), ValueError, "has 0 rows and 1 columns"),
        (pd.DataFrame(index=[0, 1]), ValueError, "has 2 rows and 0 columns"),
    ],
)
def test_what_is_no_table_is_refused(table, error, match):
    with pytest.raises(error, match=match):
        TableEncoder().fit(table)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"missing": "ignore"}, "missing must be one of 'impute', 'refuse'"),
        ({"max_categories": 0}, "max_categories must be an integer >= 1"),
        ({"categorical": ["size"]}, "'size' cannot be categorical and ordinal at once"),
        ({"categorical": ["height"]}, "The table has no column 'height'"),
    ],
)
def test_wrong_settings_are_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        encoder(**settings).fit(TABLE)


# In files


@pytest.fixture
def pipeline():
    return Pipeline([("table", encoder()), ("model", dac(n_nodes=1))]).fit(TABLE, Y)


def test_pipelines_come_back_to_the_last_bit(pipeline, tmp_path):
    save_model(pipeline, tmp_path / "m.skr")
    loaded = load_model(tmp_path / "m.skr")
    assert_same(pipeline.steps, loaded.steps)
    assert_same(pipeline.predict(TABLE, return_std=True), loaded.predict(TABLE, return_std=True))


def test_the_output_that_was_set_comes_back(tmp_path):
    fitted = encoder().fit(TABLE).set_output(transform="pandas")
    save_model(fitted, tmp_path / "m.skr")
    pd.testing.assert_frame_equal(load_model(tmp_path / "m.skr").transform(TABLE), fitted.transform(TABLE))


def test_other_pipelines_are_refused(pipeline, tmp_path):
    from sklearn.preprocessing import StandardScaler

    scaled = Pipeline([("scale", StandardScaler()), ("model", dac(n_nodes=1))]).fit(TABLE[["rooms", "code"]], Y)
    with pytest.raises(ModelFileError, match="a Pipeline of other steps than a TableEncoder and an estimator of ours"):
        save_model(scaled, tmp_path / "m.skr")
    with pytest.raises(ModelFileError, match="memory='/tmp' cannot be saved: set it to None"):
        save_model(pipeline.set_params(memory="/tmp"), tmp_path / "m.skr")
    with pytest.raises(ModelFileError, match="it is not fitted"):
        save_model(Pipeline([("table", encoder()), ("model", dac())]), tmp_path / "m.skr")


def column(**entries):
    return lambda encoder: encoder["attributes"]["columns_"][1].update(entries)


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (column(kind="code"), "kind is not 'number' or"),
        (column(kind="number"), "not a valid Column"),
        (column(levels={"tuple": []}), "not a valid Column"),
        (column(levels={"tuple": ["Oslo", "Oslo"]}), "not a valid Column"),
        (column(levels={"tuple": ["Oslo"]}), "fitted to other columns than its TableEncoder makes"),
        (column(fill=7), "not a valid Column"),
        (column(shift={"float": "nan"}), "shift is not a number"),
        (lambda encoder: encoder.update(attributes=None), "not fitted"),
        (lambda encoder: encoder["parameters"].update(missing="x"), "missing must be one of"),
        (lambda encoder: encoder.update({"class": "Pipeline"}), "no parameter"),
    ],
)
def test_a_forged_encoder_is_refused(edit, match, pipeline, tmp_path):
    path = tmp_path / "m.skr"
    save_model(pipeline, path)

    def forge(document):
        steps = document["model"]["estimator"]["parameters"]["steps"]
        edit(steps[0]["tuple"][1]["estimator"])

    path.write_bytes(edited(path.read_bytes(), DOCUMENT, forge))
    with warnings.catch_warnings(), pytest.raises(ModelFileError, match=match):
        load_model(path)
