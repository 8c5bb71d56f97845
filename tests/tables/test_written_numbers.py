import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skewridge.tables.written_numbers import NumberFormat, find_number_format, read_number


def read(texts):
    writing = find_number_format(dict.fromkeys(texts, 1))
    return None if writing is None else [read_number(text, writing) for text in texts]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,250", "12,000.5", "7"], [1250.0, 12000.5, 7.0]),
        (["1.250", "12.5"], [1.25, 12.5]),
        (["1.250,5", "12,5"], [1250.5, 12.5]),
        (["1 250", "12\u00a0000,5"], [1250.0, 12000.5]),
        (["1'250.5", "3"], [1250.5, 3.0]),
        (["$1,200", "$950.50"], [1200.0, 950.5]),
        (["1200 €", "950 €"], [1200.0, 950.0]),
        (["EUR 12", "EUR 7"], [12.0, 7.0]),
        (["45%", "7 %"], [45.0, 7.0]),
        (["120 m2", "80"], [120.0, 80.0]),
        (["-1.5", "−2", "+3", ".5"], [-1.5, -2.0, 3.0, 0.5]),
        (["1e3", "2.5E-2"], [1000.0, 0.025]),
    ],
)
def test_numbers_are_recognised_in_many_writings(texts, numbers):
    assert read(texts) == numbers


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "12"],
        ["1 km", "2 mi"],
        ["3A", "4B"],
        ["T1", "T2"],
        ["1-2", "3-4"],
        ["a", "b"],
        ["?", "unknown"],
        ["1,2,3"],
    ],
)
def test_codes_ranges_and_mixed_units_are_no_numbers(texts):
    assert read(texts) is None


def test_words_for_a_gap_do_not_count_and_a_few_others_are_named():
    counts = {**{str(i): 1 for i in range(97)}, "on request": 1, "Unknown": 60, "n/a": 3}
    writing = find_number_format(counts)
    assert writing == NumberFormat(gaps=("on request",))
    *gaps, number, odd = (read_number(text, writing) for text in ("on request", "unknown", "5", "sold"))
    assert np.isnan(gaps).all()
    assert (number, odd) == (5.0, None)
    assert find_number_format({**counts, "sold": 9}) is None
    assert find_number_format({"5": 1, "unknown": 9}) is None


@given(st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_what_python_writes_is_read_back(values):
    texts = [f"{value:,.3f}" for value in values]
    numbers = [float(text.replace(",", "")) for text in texts]
    assert [read_number(text, NumberFormat()) for text in texts] == numbers
    swapped = [text.translate(str.maketrans(",.", ".,")) for text in texts]
    assert [read_number(text, NumberFormat(",")) for text in swapped] == numbers


def test_suffixes_behind_a_currency_are_units_of_their_own():
    """$1.2M and $900K were read as 1.2 and 900."""
    assert find_number_format(dict.fromkeys(["$1.2M", "$900K", "$3.4M", "$250K"], 5)) is None
    assert find_number_format(dict.fromkeys(["$1.2M", "$3.4M", "$0.9M"], 5)).unit == "$ M"


def test_what_is_special_about_numbers_is_told():
    written = NumberFormat(",", "km", ("on request",))
    assert written.describe({"1,5 km": 20, "on request": 2, "?": 1}) == (
        "written as text, decimal comma, unit 'km', gaps: 'on request' (2), '?' (1)"
    )
    assert NumberFormat().describe({"1": 1, **{" " * i: 1 for i in range(7)}}).endswith("and 2 more")
