import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skewridge.response.candidates import as_numbers, row_keys

ROWS = np.round(np.random.default_rng(0).normal(size=(60, 3)), 0)
WORDS = np.array(["up", "down", "up", ""] * 15)


def in_halves(rows):
    """A sparse matrix that holds every entry twice, zeros as well: they are added up."""
    places = np.repeat(np.indices(rows.shape).reshape(2, -1), 2, axis=1)
    return sparse.coo_matrix((np.repeat(rows.ravel() / 2, 2), places))


@pytest.mark.parametrize(
    "kind",
    [
        pd.DataFrame,
        pl.DataFrame,
        sparse.csr_matrix,
        sparse.csc_array,
        lambda rows: pd.DataFrame(rows).astype("Int64"),
        lambda rows: rows.astype(np.float32),
        lambda rows: rows.astype(object),
        lambda rows: pd.DataFrame(rows, columns=["a", "a", "b"]),
        lambda rows: in_halves(rows),
    ],
)
def test_the_same_values_have_the_same_keys_whatever_holds_them(kind):
    given = kind(ROWS)
    assert np.array_equal(row_keys(given), row_keys(ROWS))


def test_keys_are_equal_just_where_rows_are():
    _, rows = np.unique(ROWS, axis=0, return_inverse=True)
    _, keys = np.unique(row_keys(ROWS), axis=0, return_inverse=True)
    assert np.array_equal(rows[:, None] == rows, keys[:, None] == keys)
    assert not np.array_equal(row_keys(ROWS), row_keys(ROWS[:, ::-1])), "columns differ"
    assert np.array_equal(row_keys(np.array([[0.0, 1.0]])), row_keys(np.array([[-0.0, 1.0]])))


def test_texts_categories_gaps_and_times_are_told_apart():
    frame = pd.DataFrame({"a": pd.Categorical(WORDS), "b": WORDS, "c": [None, "x", np.nan, "y"] * 15, "d": WORDS == ""})
    frame["e"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60) // 30, "D")
    keys = row_keys(frame)
    assert len(np.unique(keys, axis=0)) == 6  # None and nan are one gap
    assert np.array_equal(keys[:8], keys[4:12])
    assert np.array_equal(row_keys(frame.iloc[::-1]), keys[::-1]), "a key does not depend on other rows"


def test_values_become_numbers_one_by_one():
    found = as_numbers(np.array(["a", 1, None, "a", True, 2.5], dtype=object))
    assert found[0] == found[3] != 1.0
    assert np.array_equal(found[[1, 2, 4, 5]], [1.0, np.nan, 1.0, 2.5], equal_nan=True)
    assert as_numbers(np.array([2], dtype="m8[D]")).tolist() == [2.0]
