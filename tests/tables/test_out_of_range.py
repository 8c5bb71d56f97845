import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    DacRegressor,
    LocalKernelRidge,
    SkewRidge,
    SmoothingSpline,
    TableEncoder,
    fit_source,
)
from skewridge.tables.columns import row_label
from skewridge.tables.out_of_range import MOST_TOLD, outside_fit, outside_text

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2))
Y = X[:, 0] ** 2
ESTIMATORS = [
    SkewRidge("laplacian", random_state=0),
    LocalKernelRidge(random_state=0),
    AdaptiveKernelRidge(20, 0.5, bandwidth=1.0, penalty=0.1, random_state=0),
    SmoothingSpline(random_state=0),
    DacKernelRidge(2, bandwidth=1.0, penalty=0.1, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_every_estimator_knows_the_range_of_its_rows(estimator, tmp_path):
    model = estimator.fit(X, Y)
    assert np.array_equal(model.feature_min_in_, X.min(axis=0))
    assert np.array_equal(model.feature_max_in_, X.max(axis=0))
    if getattr(estimator, "_takes_tables", False):
        pytest.importorskip("pyarrow")
        pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}).to_parquet(tmp_path / "rows.parquet", row_group_size=7)
        model = fit_source(estimator, tmp_path / "rows.parquet", target="y")
        assert np.array_equal(model.feature_max_in_, X.max(axis=0))
    if not isinstance(estimator, DacKernelRidge):
        wild = np.vstack([X, [[50.0, -50.0]]])
        model = estimator.fit(wild, np.r_[Y, 0.0], sample_weight=np.r_[np.ones(90), 0.0])
        assert np.array_equal(model.feature_max_in_, X.max(axis=0))


def test_rows_at_the_ends_are_inside_and_others_are_ordered_by_distance():
    model = DacKernelRidge(1, bandwidth=1.0, penalty=0.1).fit([[0.0, 5.0], [2.0, 5.0]], [0.0, 1.0])
    new = np.array([[0.0, 5.0], [2.5, 5.0], [-3.0, 5.0], [np.nextafter(2.0, 3.0), 6.0]])
    first, second = outside_fit(model, new, ["a", "b"])
    assert first.rows.tolist() == [2, 1, 3]
    np.testing.assert_allclose(first.beyond, [1.5, 0.25, 0.0], atol=1e-12)
    text = outside_text([first, second], 4, str)
    assert text.startswith("3 of 4 rows lie outside the range")
    assert (
        "'b' (5 to 5): 6 in row 3, where it was constant; 'a' (0 to 2): -3 in row 2, 2.5 in row 1, 2 in row 3" in text
    )
    assert second.to_dict(str)["rows"] == [{"row": "3", "value": 6.0, "beyond": None}]


def test_encoded_tables_are_told_in_their_own_units():
    table = pd.DataFrame({"rooms": [1, 2, 3, 4], "town": ["a", "b", "a", "b"], "same": [7, 7, 7, 7]})
    pipeline = make_pipeline(TableEncoder(), DacKernelRidge(1, bandwidth=1.0, penalty=0.1)).fit(table, [1, 2, 3, 4.0])
    encoder, model = pipeline[0], pipeline[-1]
    names = encoder.get_feature_names_out().tolist()
    assert outside_fit(model, encoder.transform(table), names, encoder.columns_) == []
    with pytest.warns(UserWarning, match="has not seen"):
        new = encoder.transform(pd.DataFrame({"rooms": [2, 40], "town": ["a", "c"], "same": [7, 9]}))
    [found] = outside_fit(model, new, names, encoder.columns_)
    assert found.column == "rooms"
    assert (found.low, found.high, found.values[0]) == pytest.approx((1, 4, 40))
    assert found.beyond[0] == pytest.approx(12)


def test_many_rows_and_columns_are_cut_short():
    model = DacKernelRidge(1, bandwidth=1.0, penalty=0.1).fit(np.zeros((2, 9)) + [[0.0], [1.0]], [0.0, 1.0])
    found = outside_fit(model, np.full((50, 9), 2.0), list("abcdefghi"))
    assert "and 45 more, up to 1 times" in found[0].as_text(str)
    assert len(found[0].to_dict(str)["rows"]) == MOST_TOLD
    assert "; and 4 more columns." in outside_text(found, 50, str)


def test_a_model_that_does_not_know_its_range_tells_nothing():
    model = DacRegressor(Ridge()).fit(X, Y)  # whose rows need not be numbers
    assert outside_fit(model, X + 100, ["a", "b"]) == []


def test_rows_are_numbered_as_their_file_does_where_that_is_known():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert row_label(frame, 1) == "2"
    assert row_label(frame.to_numpy(), 1, first=0) == "1"
    assert row_label(frame.set_axis(pd.RangeIndex(5, 7, name="row")), 1) == "6"
    both = pd.concat([frame, frame], keys=["p", "p"], names=["file", "row"])
    assert row_label(both, 3) == "1 of p"


def test_dates_beyond_those_of_the_fit_are_told_as_dates():
    table = pd.DataFrame({"sold": pd.date_range("2020-01-01", periods=40), "b": np.arange(40) % 3})
    pipeline = make_pipeline(TableEncoder(), DacKernelRidge(1, bandwidth=1.0, penalty=0.1)).fit(table, np.arange(40.0))
    encoder, names = pipeline[0], pipeline[0].get_feature_names_out().tolist()
    assert outside_fit(pipeline[-1], encoder.transform(table), names, encoder.columns_) == []
    new = encoder.transform(table[:2].assign(sold=pd.to_datetime(["2020-03-19 06:00", "2020-01-05 00:00"])))
    [found] = outside_fit(pipeline[-1], new, names, encoder.columns_)
    assert found.as_text(str).startswith("'sold' (2020-01-01 to 2020-02-09): 2020-03-19 06:00 in row 0, up to 1 times")
    told = found.to_dict(str)
    assert (told["low"], told["rows"][0]["value"]) == ("2020-01-01", "2020-03-19 06:00")
