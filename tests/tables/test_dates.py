from datetime import date, datetime, time

import numpy as np
import pandas as pd
import pytest

from skewridge.tables.columns import codes_of, features_of, learn_column
from skewridge.tables.dates import as_days, find_date_format, is_ambiguous


def learned(values):
    return learn_column("d", pd.Series(values))


@pytest.mark.parametrize(
    ("texts", "writing"),
    [
        (["2016-09-03"], "iso"),
        (["2016/9/3", "2016/9/14"], "iso"),
        (["2013-01-01T11:00:00Z"], "iso"),
        (["3/09/2016", "28/02/2017"], "day first"),
        (["09/28/2016", "1/2/2016"], "month first"),
        (["3.9.2016"], "day first"),
        (["3/9/2016"], "month first"),
        (["3 Sep 2016", "14-Oct-16"], "words"),
        (["September 3, 2016"], "words"),
        (["10:30", "9:15"], "time"),
        (["3 rooms"], None),
        (["2016"], None),
    ],
)
def test_the_writing_of_dates_is_found(texts, writing):
    assert find_date_format(dict.fromkeys(texts, 1)) == writing


def test_day_and_month_that_could_be_exchanged_are_told():
    assert is_ambiguous({"3/9/2016": 1})
    assert not is_ambiguous({"3/9/2016": 1, "13/9/2016": 1})
    assert not is_ambiguous({"2016-09-03": 1})


@pytest.mark.parametrize(
    ("values", "writing"),
    [
        (pd.to_datetime(["2016-09-03 06:00", None]), ""),
        (pd.to_datetime(["2016-09-03 08:00+02:00", None]), ""),
        ([datetime(2016, 9, 3, 6), None], ""),
        (["2016-09-03T06:00:00Z", None], "iso"),
        (["2016-09-03 08:00+02:00", None], "iso"),
        (["03/09/2016 06:00", None], "day first"),
        (["9/3/2016 6:00", None], "month first"),
        (["3 Sep 2016 06:00", None], "words"),
    ],
)
def test_days_are_the_same_in_any_writing(values, writing):
    expected = (date(2016, 9, 3) - date(1970, 1, 1)).days + 0.25
    assert np.array_equal(as_days(pd.Series(values), writing), [expected, np.nan], equal_nan=True)


def test_times_of_day_are_those_of_one_day():
    assert as_days(pd.Series(["06:00", "18:00:00"]), "time").tolist() == [0.25, 0.75]
    assert as_days(pd.Series([time(6), time(18)]), "").tolist() == [0.25, 0.75]
    assert learned(["06:00", "18:00"]).features == ["d: hour sin", "d: hour cos", "d: days"]


def test_only_parts_that_vary_become_numbers():
    day = pd.date_range("2020-01-01", periods=28, freq="D")
    assert learned(day).dates.parts == ("weekday", "days")
    assert learned(pd.date_range("2020-01-01", periods=40, freq="7D")).dates.parts == ("month", "days")
    assert learned(pd.date_range("2019-01-01", periods=500, freq="D")).dates.parts == (
        "year",
        "month",
        "weekday",
        "days",
    )
    assert "hour" in learned(pd.date_range("2020-01-01", periods=50, freq="h")).dates.parts


def test_the_end_of_a_circle_is_next_to_its_start():
    column = learned(
        pd.date_range("2019-01-01", periods=800, freq="h").append(pd.date_range("2021-01-01", periods=400))
    )
    ends = pd.Series(pd.to_datetime(["2020-12-31 23:00", "2021-01-01 00:00", "2021-07-01 12:00"]))
    numbers = dict(zip(column.features, features_of(column, codes_of(column, ends)).T, strict=True))
    for part in ("month", "hour"):
        points = np.column_stack([numbers[f"d: {part} sin"], numbers[f"d: {part} cos"]])
        near, far = np.linalg.norm(points[0] - points[1]), np.linalg.norm(points[1] - points[2])
        assert near < 0.3 < 1.9 < far
    assert numbers["d: year"][0] < numbers["d: year"][1] == numbers["d: year"][2]


def test_a_few_texts_among_dates_are_gaps_and_named_and_others_refused():
    column = learned([*(f"{1 + i % 28}/03/2016" for i in range(60)), "soon", "unknown"])
    assert column.note == "read as day first, gaps: 'soon'"
    assert column.n_gaps == 2
    assert np.isnan(codes_of(column, pd.Series(["soon", "?", None]))).all()
    with pytest.raises(ValueError, match=r"'d' should hold dates .*; 1 of 2 values are none, .* 'late' in row 2"):
        codes_of(column, pd.Series(["1/03/2016", "late"]))


def test_a_gap_is_the_median_day():
    column = learned(["2020-01-01", "2020-01-02", "2020-01-09", None])
    filled, median = features_of(column, codes_of(column, pd.Series([None, "2020-01-02"], dtype=object)))
    assert np.array_equal(filled, median)
    assert np.isnan(codes_of(column, pd.Series([None, None]))).all()


def test_lengths_of_time_are_days():
    column = learned(pd.to_timedelta(["12h", "36h"]))
    assert codes_of(column, pd.Series(["24h", None])).tolist()[0] == 1.0
    assert column.features == ["d"]


@pytest.mark.parametrize("writing", ["", "iso", "day first", "month first", "words", "time"])
def test_the_year_first_is_the_same_date_in_a_column_of_any_writing(writing):
    expected = (date(2016, 3, 5) - date(1970, 1, 1)).days
    assert as_days(pd.Series(["2016-03-05", "2016-03-05 00:00", "2016/3/5"]), writing).tolist() == [expected] * 3


@pytest.mark.parametrize(
    ("writing", "text"),
    [
        ("day first", "3/14/2016"),
        ("month first", "14/3/2016"),
        ("iso", "05/03/2016"),
        ("iso", "05.03.2016"),
        ("", "05.03.2016"),
        ("words", "05-03-2016"),
        ("iso", 20160305),
        ("day first", 42434.0),
        ("", True),
    ],
)
def test_a_date_that_its_column_does_not_write_so_is_none(writing, text):
    assert np.isnan(as_days(pd.Series([text]), writing)).all()
    assert np.isnan(as_days(pd.Series([text, "2016-03-05"], dtype=object), writing)).tolist() == [True, False]


def test_years_of_two_digits_are_those_of_1969_to_2068():
    texts = pd.Series(["1/2/69", "1/2/68"])
    expected = pd.Series(pd.to_datetime(["1969-02-01", "2068-02-01"]))
    assert np.array_equal(as_days(texts, "day first"), as_days(expected, ""))


def test_dates_of_another_writing_are_refused_with_the_one_that_was_learned():
    column = learned([f"{1 + i % 28}/03/2016" for i in range(60)])
    with pytest.raises(ValueError, match=r"'d' should hold dates with the day first .*'3/14/2016' in row 1"):
        codes_of(column, pd.Series(["3/14/2016"]))
    with pytest.raises(ValueError, match=r"'d' should hold dates with the day first .*'42434' in row 1"):
        codes_of(column, pd.Series([42434]))


def test_numbers_are_no_dates_though_they_are_called_so():
    with pytest.raises(ValueError, match=r"'d' should hold dates .*; 2 of 2 values are none, the first of them '2016'"):
        learn_column("d", pd.Series([2016, 2017]), "date")
