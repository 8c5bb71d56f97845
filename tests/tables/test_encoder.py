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
    assert "1 row has a value of 'size'" in messages[1]
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


# Raw tables


def raw(n=240, seed=0):
    rng = np.random.default_rng(seed)
    agent = rng.integers(0, 40, n)
    area = rng.uniform(20, 2000, n)
    table = pd.DataFrame(
        {
            "sold": (pd.Timestamp("2019-01-05") + pd.to_timedelta(rng.integers(0, 900, n), "D")).strftime("%d/%m/%Y"),
            "agent": [f"agent {code}" for code in agent],
            "area": [f"{value:,.1f} m2" for value in area],
            "rooms": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 6, n)),
            "text": [f"house {i} by the sea" for i in range(n)],
            "country": "NO",
        }
    )
    table.loc[3, "area"] = "unknown"
    return table, agent / 4 + rng.exponential(size=n)


RAW, PRICE = raw()


def test_a_raw_table_needs_no_option():
    fitted = TableEncoder()
    numbers = fitted.fit_transform(RAW, PRICE)
    names = fitted.get_feature_names_out().tolist()
    assert [column.kind for column in fitted.columns_] == ["date", "means", "number", "number", "drop", "drop"]
    assert names[-6:] == ["sold: days", "agent: mean", "agent: count", "area", "rooms", "rooms: missing"]
    assert numbers.shape == (240, len(names))
    assert np.isfinite(numbers).all()
    assert np.array_equal(numbers[:, -1], RAW["rooms"].isna())
    assert fitted.transform(RAW.drop(columns=["text", "country"])).shape == numbers.shape  # which are not needed


def test_rows_of_a_fit_see_means_of_the_others_and_new_rows_those_of_all():
    fitted = TableEncoder()
    numbers, again = fitted.fit_transform(RAW, PRICE), fitted.transform(RAW)
    same = fitted.get_feature_names_out() != "agent: mean"
    assert np.array_equal(numbers[:, same], again[:, same])
    assert not np.array_equal(numbers[:, ~same], again[:, ~same])
    assert fitted.fit(RAW, PRICE).transform(RAW).tolist() == again.tolist()
    other = TableEncoder()
    moved = other.fit_transform(RAW, np.where(np.arange(240) == 5, PRICE + 3.0, PRICE))
    unscaled = [row[5, ~same] / e.columns_[1].means.scales[0] for row, e in ((numbers, fitted), (moved, other))]
    np.testing.assert_allclose(*unscaled)


def test_groups_are_kept_together():
    fitted = TableEncoder()
    numbers = fitted.fit_transform(RAW, PRICE, groups=RAW["agent"])
    mean = fitted.get_feature_names_out().tolist().index("agent: mean")
    assert not numbers[:, mean].any()  # no other row of the fold's levels is left


def test_the_order_of_rows_changes_no_row():
    order = np.random.default_rng(1).permutation(len(RAW))
    numbers = TableEncoder().fit_transform(RAW, PRICE)
    shuffled = TableEncoder().fit_transform(RAW.iloc[order].reset_index(drop=True), PRICE[order])
    np.testing.assert_allclose(shuffled, numbers[order], atol=1e-12)


def test_several_responses_have_a_mean_each():
    both = np.column_stack([PRICE, -PRICE])
    fitted = TableEncoder()
    numbers = fitted.fit_transform(RAW, both)
    names = fitted.get_feature_names_out().tolist()
    first, second = names.index("agent: mean 0"), names.index("agent: mean 1")
    np.testing.assert_allclose(numbers[:, first], -numbers[:, second])


def test_every_choice_can_be_overridden():
    kinds = {"agent": "category", "area": "drop", "text": "means", "country": "category", "rooms": "category"}
    fitted = TableEncoder(kinds=kinds).fit(RAW, PRICE)
    assert {column.name: column.kind for column in fitted.columns_} == {"sold": "date", **kinds}
    assert len([name for name in fitted.get_feature_names_out() if name.startswith("agent=")]) == 39
    codes = pd.DataFrame({"zip": [f"{i % 50:04d}" for i in range(400)], "n": range(1, 401)})
    fitted = TableEncoder(categorical=["n"], kinds={"zip": "number"}).fit(codes, np.arange(400.0))
    assert [column.kind for column in fitted.columns_] == ["number", "means"]
    dated = TableEncoder(kinds={"d": "date"}).fit(pd.DataFrame({"d": ["3 Sep 2016", "x", "4 Oct 2017"]}))
    assert dated.columns_[0].n_gaps == 1


def test_columns_with_the_gaps_of_another_and_with_few_gaps_have_no_column_for_them():
    rng = np.random.default_rng(0)
    gaps = rng.random(400) < 0.3
    values = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    table = values.mask(np.column_stack([gaps, gaps, ~gaps, np.arange(400) == 7]))
    fitted = TableEncoder().fit(table)
    assert fitted.get_feature_names_out().tolist() == ["a", "a: missing", "b", "c", "c: missing", "d"]
    assert [column.note for column in fitted.columns_] == ["", "gaps as in 'a'", "", ""]


def test_words_for_a_gap_are_refused_where_gaps_are():
    table = RAW[["area"]]
    with pytest.raises(ValueError, match=r"'area' should hold numbers; 1 of 240 values are none, .*'unknown' in row 4"):
        TableEncoder(missing="refuse").fit(table)
    fitted = TableEncoder(missing="refuse").fit(table.drop(index=3))
    with pytest.raises(ValueError, match="'area' should hold numbers; 1 of 240"):
        fitted.transform(table)


def test_new_levels_of_a_column_of_means_are_counted():
    fitted = TableEncoder().fit(RAW, PRICE)
    with pytest.warns(UserWarning, match=r"240 rows have values of 'agent' .* they are taken for the mean of all resp"):
        fitted.transform(RAW.assign(agent="new"))


@pytest.mark.parametrize(
    ("settings", "y", "match"),
    [
        ({}, None, r"Column 'agent' has many levels, which become means of the response: call fit_transform\(X, y\)"),
        ({}, [1.0], "inconsistent numbers of samples"),
        ({}, np.r_[np.nan, PRICE[1:]], "Input y contains NaN"),
        ({}, pd.Series(PRICE)[::-1], "X and y have the same index labels in a different order"),
        ({"kinds": {"agent": "code"}}, PRICE, r"kinds\['agent'\] must be one of 'number', .* got 'code'"),
        ({"kinds": {"agents": "drop"}}, PRICE, "The table has no column 'agents'"),
        (
            {"kinds": {"agent": "means"}, "categorical": ["agent"]},
            PRICE,
            "'agent' cannot be in categorical and in kinds",
        ),
        ({"kinds": {"agent": "number"}}, PRICE, "Column 'agent' should hold numbers; 240 of 240 values are none"),
        ({"kinds": dict.fromkeys(RAW, "drop")}, PRICE, "No column is left to predict from .'sold': as asked for"),
    ],
)
def test_what_raw_tables_cannot_be_is_said(settings, y, match):
    with pytest.raises(ValueError, match=match):
        TableEncoder(**settings).fit(RAW, y)


def test_a_fit_that_fails_leaves_the_encoder_as_it_was():
    fitted = TableEncoder().fit(RAW, PRICE)
    before = fitted.columns_
    with pytest.raises(ValueError, match="has many levels"):
        fitted.fit(RAW)
    assert fitted.columns_ is before


def test_arrow_and_polars_tables_are_the_same_raw_tables():
    pa = pytest.importorskip("pyarrow")
    numbers = TableEncoder().fit_transform(RAW, PRICE)
    for table in (pl.from_pandas(RAW), pa.Table.from_pandas(RAW)):
        assert np.array_equal(TableEncoder().fit_transform(table, PRICE), numbers)
    typed = RAW.assign(sold=pd.to_datetime(RAW["sold"], dayfirst=True))
    assert np.array_equal(TableEncoder().fit_transform(pl.from_pandas(typed), PRICE), numbers)


def test_the_summary_is_one_aligned_table():
    lines = str(TableEncoder().fit(RAW, PRICE).summary_).splitlines()
    assert lines[0].split() == ["column", "taken", "for", "becomes", "gaps", "note"]
    start = lines[0].index("becomes")
    assert {line[start - 2 : start] for line in lines} == {"  "}
    assert lines[2][start:].startswith("mean response and count of 39 levels")
    assert lines[5].endswith("240 of 240 texts differ: ids or free text, as 'house 0 by the sea'")


def test_scikit_learn_frames_come_out_of_fit_transform_too():
    frame = TableEncoder().set_output(transform="pandas").fit_transform(RAW, PRICE)
    assert frame.columns.tolist()[-1] == "rooms: missing"


# In files


@pytest.fixture
def pipeline():
    return Pipeline([("table", encoder()), ("model", dac(n_nodes=1))]).fit(TABLE, Y)


def test_pipelines_come_back_to_the_last_bit(pipeline, tmp_path):
    save_model(pipeline, tmp_path / "m.skr")
    loaded = load_model(tmp_path / "m.skr")
    assert_same(pipeline.steps, loaded.steps)
    assert_same(pipeline.predict(TABLE, return_std=True), loaded.predict(TABLE, return_std=True))


def test_raw_tables_come_back_to_the_last_bit(tmp_path):
    fitted = TableEncoder(kinds={"country": "drop"}).fit(RAW, np.column_stack([PRICE, PRICE]))
    save_model(fitted, tmp_path / "m.skr")
    loaded = load_model(tmp_path / "m.skr")
    assert_same(fitted.columns_, loaded.columns_)
    assert np.array_equal(loaded.transform(RAW), fitted.transform(RAW))
    assert str(loaded.summary_) == str(fitted.summary_)


def raw_column(place, **entries):
    def edit(columns):
        target = columns[place]
        for name, value in entries.items():
            head, _, inner = name.partition("__")
            target[head] = {**target[head], inner: value} if inner else value

    return edit


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (raw_column(0, dates=None), "not a valid Column"),
        (raw_column(0, dates__parts=["year", "year"]), "not a valid DateParts"),
        (raw_column(0, dates__parts=["second"]), "is not 'year' or"),
        (raw_column(0, dates__writing="backwards"), "is not '' or 'iso'"),
        (raw_column(1, means=None), "not a valid Column"),
        (raw_column(1, means__counts=[1]), "not a valid LevelMeans"),
        (raw_column(1, means__counts=[-1] * 39), "is not a whole number from 0"),
        (raw_column(1, means__counts=[10**300] * 39), "is not a whole number from 0 to 9007199254740992\\."),
        (raw_column(1, means__scales=[]), "not a valid LevelMeans"),
        (raw_column(1, means__deviations=[[{"float": "nan"}] * 39]), "is not a number"),
        (raw_column(1, fill=-2), "not a valid Column"),
        (raw_column(2, writing__decimal=";"), "is not '.' or ','"),
        (raw_column(2, writing__gaps=[1]), "is not str"),
        (raw_column(3, gap_flag=1), "gap_flag is not bool"),
        (raw_column(3, means={"deviations": [[1.0]]}), "has other fields than a LevelMeans has"),
        (raw_column(3, extra=1), "has other fields than a Column has"),
        (lambda columns: columns[3].pop("scale"), "has other fields than a Column has"),
    ],
)
def test_a_forged_raw_table_is_refused(edit, match, tmp_path):
    path = tmp_path / "m.skr"
    save_model(TableEncoder().fit(RAW, PRICE), path)
    path.write_bytes(
        edited(path.read_bytes(), DOCUMENT, lambda d: edit(d["model"]["estimator"]["attributes"]["columns_"]))
    )
    with pytest.raises(ModelFileError, match=match):
        load_model(path)


def test_the_output_that_was_set_comes_back(tmp_path):
    fitted = encoder().fit(TABLE).set_output(transform="pandas")
    save_model(fitted, tmp_path / "m.skr")
    pd.testing.assert_frame_equal(load_model(tmp_path / "m.skr").transform(TABLE), fitted.transform(TABLE))


def test_other_pipelines_are_refused(pipeline, tmp_path):
    from sklearn.preprocessing import StandardScaler

    scaled = Pipeline([("scale", StandardScaler()), ("model", dac(n_nodes=1))]).fit(TABLE[["rooms", "code"]], Y)
    with pytest.raises(ModelFileError, match="a Pipeline of other steps than a TableEncoder and an estimator of ours"):
        save_model(scaled, tmp_path / "m.skr")
    with pytest.raises(ModelFileError, match="memory is '/tmp' and cannot be saved: set it to None"):
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
        (lambda encoder: encoder["parameters"].update(kinds=True), "kinds must be a dict"),
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


@pytest.mark.parametrize(
    "texts",
    [["6 cans 330", "4 cans 500", "12 cans 250"], ["75:30", "90:15", "61:02"], ["1.13.22", "2.4.19", "31.31.20"]],
)
def test_texts_that_only_look_like_times_are_categories(texts):
    frame = pd.DataFrame({"a": texts * 10, "b": np.random.default_rng(0).normal(size=30)})
    encoder = TableEncoder().fit(frame)
    assert encoder.columns_[0].kind == "category"
    assert len(encoder.columns_[0].levels) == 3


def test_truth_values_may_have_spaces_around_them():
    frame = pd.DataFrame({"a": [" True", "False", "True"] * 10, "b": np.random.default_rng(0).normal(size=30)})
    assert TableEncoder().fit_transform(frame)[:3, 0].tolist() == [1.0, 0.0, 1.0]


def test_numbers_among_texts_are_taken_as_they_are():
    frame = pd.DataFrame({"a": ["1,5", "2,7", "3,9"] * 40, "b": np.random.default_rng(0).normal(size=120)})
    encoder = TableEncoder().fit(frame)
    mixed, typed = (encoder.transform(pd.DataFrame({"a": a, "b": [0, 0]})) for a in ([1.125, "2,7"], [1.125, 2.7]))
    assert np.array_equal(mixed, typed)


def test_gaps_in_a_column_that_had_none_are_warned_of():
    table = pd.DataFrame({"a": np.arange(30.0), "b": [None, *range(29)], "t": ["x", "y"] * 15})
    fitted = TableEncoder(kinds={"a": "number"}).fit(table)
    with pytest.warns(UserWarning, match=r"columns that no row of the fit lacked \('a': 1, 't': 2\): the median"):
        fitted.transform(pd.DataFrame({"a": [None, 1.0], "b": [None, 1.0], "t": [None, None]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.transform(pd.DataFrame({"a": [1.0], "b": [None], "t": ["x"]}))


def test_kinds_that_are_no_dict_are_refused():
    with pytest.raises(TypeError, match=r"kinds must be a dict, such as \{'zip': 'category'\}, or None; got True"):
        TableEncoder(kinds=True).fit(pd.DataFrame({"a": [1.0, 2.0]}))


def test_a_lazy_table_is_refused():
    dd = pytest.importorskip("dask.dataframe")
    with pytest.raises(TypeError, match=r"A table in memory is needed; got one of Dask. Call compute\(\) first"):
        TableEncoder().fit(dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1))
