from datetime import date, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from skewridge.tables.columns import infer_column

MANY = [f"t{i % 40}" for i in range(400)]


def kind(values, name="c", **options):
    return infer_column(name, pd.Series(values), **options).kind


def note(values, name="c"):
    return infer_column(name, pd.Series(values)).note


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], "number"),
        ([1.5, None], "number"),
        ([Decimal("1.5"), None], "number"),
        (pd.array([1, None], dtype="Int64"), "number"),
        (["1,250.5", "3"], "number"),
        ([1, "2", 3.5], "number"),
        ([True, False], "boolean"),
        ([True, None], "boolean"),
        (pd.array([True, None], dtype="boolean"), "boolean"),
        (["TRUE", "false", None], "boolean"),
        (["a", None], "category"),
        ([1, "a"], "category"),
        (pd.Categorical([3, 4]), "category"),
        (["2020", "x"], "category"),
        (["007", "012"], "category"),
        (MANY, "means"),
        (pd.Categorical(MANY), "means"),
        (pd.Categorical(["S", "L"], ["S", "M", "L"], ordered=True), "ordinal"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "date"),
        (pd.period_range("2020-01", periods=2, freq="M"), "date"),
        ([date(2020, 1, 1), date(2020, 1, 2)], "date"),
        ([time(10), time(11)], "date"),
        (["2020-01-01", "2020-1-2 10:00"], "date"),
        (["1.2.2020", "13.1.99"], "date"),
        (["3 Sep 2016", "14 Oct 2016"], "date"),
        (["10:30", "9:15:30"], "date"),
        (pd.to_timedelta(["1s", "2s"]), "duration"),
        ([timedelta(1), timedelta(2)], "duration"),
    ],
)
def test_kinds_by_nature(values, expected):
    assert kind(values) == expected


def test_an_order_of_the_type_is_kept_without_levels_that_no_row_has():
    sizes = pd.Series(pd.Categorical(["S", "L"], ["S", "M", "L"], ordered=True))
    assert infer_column("size", sizes).levels == ("S", "L")


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        ([None, None], "c", "no values"),
        ([7.0, 7.0], "c", "constant: 7"),
        (["x", "x", "x"], "c", "constant: x"),
        (range(20), "c", "numbers the rows"),
        (range(1, 31), "c", "numbers the rows"),
        (np.random.default_rng(0).permutation(1000)[:50], "house_id", "an id: every row has its own"),
        ([f"house {i}" for i in range(20)], "c", "20 of 20 texts differ: ids or free text, as 'house 0'"),
        ([f"text {i % 60}" for i in range(100)], "c", "60 of 100 texts differ: ids or free text, as 'text 0'"),
    ],
)
def test_what_says_nothing_is_left_out_with_a_note(values, name, expected):
    found = infer_column(name, pd.Series(values))
    assert (found.kind, found.note) == ("drop", expected)


def test_what_only_looks_like_ids_stays():
    assert kind(range(1990, 2020)) == "number"  # years
    assert kind(range(5)) == "number"  # few rows
    assert kind(np.random.default_rng(0).permutation(1000)[:50], "paid") == "number"
    assert kind([7.0, None]) == "number"  # its gaps may say something


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([1j, 2j], "'c' holds complex values, neither .* nor text. Convert it, or leave it out: kinds={'c': 'drop'}"),
        ([[1], [2]], "holds mixed values"),
        ([b"a", b"b"], "holds bytes values"),
    ],
)
def test_what_has_no_numbers_is_refused_with_a_remedy(values, match):
    with pytest.raises(ValueError, match=match):
        kind(values)


def test_notes_tell_how_a_column_was_read():
    assert note(["3/09/2016", "14/10/2016"]) == "read as day first"
    assert note(["3/09/2016", "4/10/2016"]) == "read as month first (day and month could be exchanged)"
    assert note(["1,5", "2,5", "?"]) == "written as text, decimal comma, gaps: '?' (1)"
