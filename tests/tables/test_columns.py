import numpy as np
import pandas as pd
import pytest

from skewridge.tables.columns import Column, check_columns, codes_of, features_of, learn_column, level_counts


def learned(values, kind=None, levels=None, **options):
    return learn_column("c", pd.Series(values), kind, levels, **options)


def encoded(column, values):
    return features_of(column, codes_of(column, pd.Series(values))).tolist()


def test_numbers_are_standardised_and_filled_with_the_median():
    column = learned([0.0, 0.0, 3.0, None, 9.0])
    mean, sd = 3.0, np.std([0, 0, 3, 9])
    assert column.fill == 1.5
    np.testing.assert_allclose(encoded(column, [None, 6.0]), [[(1.5 - mean) / sd], [(6 - mean) / sd]])


def test_a_constant_number_says_nothing():
    assert encoded(learned([7.0, 7.0], kind="number"), [7.0, 100.0]) == [[0.0], [0.0]]
    assert learned([7.0, 7.0]).features == []


def test_truth_values_are_0_and_1_in_any_writing():
    column = learned([True, False, True])
    assert encoded(column, [True, False]) == [[1.0], [0.0]]
    assert encoded(column, ["true", "FALSE", None]) == [[1.0], [0.0], [1.0]]
    assert encoded(column, [1.0, 0.0]) == [[1.0], [0.0]]
    with pytest.raises(ValueError, match="'c' should hold true and false only; got 'maybe'"):
        codes_of(column, pd.Series(["maybe"]))


def test_categories_are_one_column_each_the_most_frequent_first():
    column = learned(["b", "a", "b", "c"])
    assert column.levels == ("b", "a", "c")
    assert column.features == ["c=b", "c=a", "c=c"]
    assert encoded(column, ["a", None, "z"]) == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    gappy = learned(["b", "a", "b", None])
    assert (gappy.n_gaps, encoded(gappy, ["a", None])) == (1, [[0, 1], [0, 0]])


def test_codes_that_are_numbers_are_the_same_category_in_any_type():
    column = learned([1, 2, 2], kind="category")
    assert column.levels == ("2", "1")
    assert encoded(column, [2.0, 1.0]) == encoded(column, ["2", "1"]) == [[1, 0], [0, 1]]


def test_ordered_levels_keep_their_order_and_an_unknown_one_is_the_mean():
    column = learned(["S", "L", "M", "M"], kind="ordinal", levels=["S", "M", "L"])
    small, medium, unknown = (row[0] for row in encoded(column, ["S", "M", "XL"]))
    assert medium == unknown == 0.0
    assert small == pytest.approx(-np.sqrt(2), rel=1e-15)
    assert learned(["b", "a"], kind="ordinal").levels == ("a", "b")


@pytest.mark.parametrize("levels", [["S"], ["S", "M", "M"]])
def test_an_order_must_name_every_level_once(levels):
    with pytest.raises(ValueError, match="The order of column 'c' must name all of its texts once"):
        learned(["S", "M"], kind="ordinal", levels=levels)


def test_texts_among_numbers_are_counted_and_shown():
    column = learned([1.0, 2.0])
    with pytest.raises(ValueError, match="2 of 4 values are none, the first of them 'x' in row 2"):
        codes_of(column, pd.Series(["1", "x", None, "y"]))
    with pytest.raises(ValueError, match="holds 1 infinite numbers"):
        codes_of(column, pd.Series([np.inf, 1.0]))
    with pytest.raises(ValueError, match="must stay below 1e"):
        codes_of(column, pd.Series([1e200]))


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "Int64", "Float32", "category", "double[pyarrow]"])
def test_numbers_of_any_type_are_the_same_numbers(dtype):
    values = pd.Series([1, 2, 4]).astype(dtype)
    assert codes_of(Column("c", "number"), values).tolist() == [1.0, 2.0, 4.0]


def test_values_become_texts_as_a_file_would_have_them():
    assert level_counts(pd.Series([3.0, 3, "3", "3.0", 0.5, None], dtype=object)) == {"3": 3, "3.0": 1, "0.5": 1}


@pytest.mark.parametrize(
    ("names", "meant"),
    [
        (["prize"], " Did you mean 'price'?"),
        (["sea_view"], " Did you mean 'Sea View'?"),
        (["Price", "twon", "x"], " Did you mean 'price' for 'Price', 'town' for 'twon'?"),
        (["colour"], ""),
    ],
)
def test_columns_that_were_probably_meant_are_named(names, meant):
    columns = ["id", "price", "town", "Sea View"]
    with pytest.raises(ValueError, match="The table has no column") as raised:
        check_columns([*names, "id"], columns)
    assert str(raised.value).endswith(f"'Sea View'.{meant}")
