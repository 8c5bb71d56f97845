import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor

from skewridge import ResponseStratifiedKFold, response_train_test_split
from skewridge.datasets import make_peaks
from skewridge.response.slices import slice_response

pytestmark = pytest.mark.filterwarnings("ignore:One of")

skewed = arrays(np.float64, st.integers(10, 80), elements=st.sampled_from([0.0, 0.1, 0.2, 1.0, 5.0, 9.0]))


@given(skewed, st.integers(2, 8), st.integers(1, 10), st.integers(0, 50))
def test_folds_partition_the_rows_and_keep_every_slices_share(y, k, n_slices, seed):
    folds = ResponseStratifiedKFold(k, slices=n_slices, random_state=seed)
    tests = []
    labels = slice_response(y, n_slices).labels
    for train, test in folds.split(np.zeros((len(y), 1)), y):
        assert sorted([*train, *test]) == list(range(len(y)))
        tests.append(test)
    assert sorted(np.concatenate(tests).tolist()) == list(range(len(y)))
    assert np.ptp([len(test) for test in tests]) <= 1
    for j in np.unique(labels):
        held = [int((labels[test] == j).sum()) for test in tests]
        assert max(held) - min(held) <= 1


@given(skewed, st.floats(0.1, 0.9), st.integers(1, 10), st.integers(0, 50))
def test_split_takes_the_share_of_every_slice_within_one_row(y, share, n_slices, seed):
    rows = np.arange(len(y))
    train, test, y_train, y_test = response_train_test_split(
        rows, y, test_size=share, slices=n_slices, random_state=seed
    )
    assert sorted([*train, *test]) == rows.tolist()
    assert np.array_equal(y[train], y_train)
    assert np.array_equal(y[test], y_test)
    labels = slice_response(y, n_slices).labels
    for j in np.unique(labels):
        assert abs((labels[test] == j).sum() - share * (labels == j).sum()) < 1
    assert abs(len(test) - share * len(y)) < 1


def test_tiny_slices_are_tested_now_and_then():
    y = np.r_[np.zeros(99), 9.0]
    rare = [9.0 in response_train_test_split(y, y, slices=2, random_state=seed)[3] for seed in range(300)]
    assert abs(np.mean(rare) - 0.1) <= 4 * np.sqrt(0.1 * 0.9 / 300)


def test_integer_test_size():
    y = np.random.default_rng(0).lognormal(size=200)
    assert len(response_train_test_split(y, y, test_size=50, random_state=0)[1]) == 50


@pytest.mark.parametrize("share", [1e-9, 0.1, 0.999])
def test_neither_part_of_a_few_rows_is_empty(share):
    y = np.arange(3.0)
    for seed in range(30):
        train, test, *_ = response_train_test_split(y, y, test_size=share, random_state=seed)
        assert len(train) >= 1
        assert len(test) >= 1


def test_frames_series_lists_and_polars_keep_their_kind():
    X, y = make_peaks(50, 2, random_state=0)
    frame, series = (
        pd.DataFrame(X, columns=["a", "b"], index=np.arange(50) + 7),
        pd.Series(y, index=np.arange(50) + 7),
    )
    parts = response_train_test_split(frame, series, list(range(50)), pl.DataFrame({"a": X[:, 0]}), random_state=0)
    assert isinstance(parts[0], pd.DataFrame)
    assert isinstance(parts[2], pd.Series)
    assert isinstance(parts[4], list)
    assert isinstance(parts[6], pl.DataFrame)
    assert parts[0].index.tolist() == parts[2].index.tolist() == [i + 7 for i in parts[4]]
    assert np.array_equal(parts[6]["a"].to_numpy(), parts[0]["a"].to_numpy())


def test_same_seed_same_folds_and_another_seed_others():
    _, y = make_peaks(200, 2, random_state=0)
    X = np.zeros((200, 1))

    def folds(seed):
        return [test.tolist() for _, test in ResponseStratifiedKFold(4, random_state=seed).split(X, y)]

    assert folds(1) == folds(1)
    assert folds(1) != folds(2)


def test_works_in_scikit_learn():
    X, y = make_peaks(200, 2, random_state=0)
    folds = ResponseStratifiedKFold(4, random_state=0)
    assert folds.get_n_splits() == 4
    assert len(cross_val_score(KNeighborsRegressor(), X, y, cv=folds)) == 4
    assert GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [1, 5]}, cv=folds).fit(X, y).n_splits_ == 4


def test_bad_input_is_refused():
    y = np.arange(10.0)
    with pytest.raises(ValueError, match="n_splits must be an integer >= 2"):
        list(ResponseStratifiedKFold(1).split(y[:, None], y))
    with pytest.raises(ValueError, match="n_splits must not exceed the number of rows; got 11 for 10"):
        list(ResponseStratifiedKFold(11).split(y[:, None], y))
    with pytest.raises(ValueError, match="y is needed"):
        list(ResponseStratifiedKFold(2).split(y[:, None], None))
    with pytest.raises(ValueError, match="test_size must be a number in"):
        response_train_test_split(y, y, test_size=1.5)
    with pytest.raises(ValueError, match="test_size must be below 1"):
        response_train_test_split(y, y, test_size=1.0)
    with pytest.raises(ValueError, match="test_size must be an integer in"):
        response_train_test_split(y, y, test_size=10)
    with pytest.raises(ValueError, match="At least two rows are needed for two parts; got 1"):
        response_train_test_split(y[:1], y[:1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        response_train_test_split(y[:3], y)
