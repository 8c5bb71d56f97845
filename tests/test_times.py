"""Dates, times, durations and NaT are refused wherever numbers are asked for; NaT was -9.2e18."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    DacRegressor,
    LocalKernelRidge,
    SkewRidge,
    SmoothingSpline,
    TableEncoder,
    diagnose,
    fit_source,
    predict_source,
)
from skewridge._validation import check_plain

N = 40
RNG = np.random.default_rng(0)
X, Y = RNG.random((N, 2)), RNG.normal(size=N)
DATES = np.array("2020-01-01", dtype="M8[ns]") + np.arange(N).astype("m8[D]")
SPANS = np.arange(N).astype("m8[ns]")
for gap in (DATES, SPANS):
    gap[3] = "NaT"
MODELS = [
    AdaptiveKernelRidge(20, 0.5, bandwidth=1.0, penalty=1e-2),
    DacKernelRidge(1, bandwidth=1.0, penalty=1e-2),
    DacRegressor(Ridge(), 1),
    SmoothingSpline(),
    SkewRidge(),
    LocalKernelRidge(),
]
TABLES = {
    "pandas dates": pd.DataFrame({"a": X[:, 0], "t": DATES}),
    "pandas spans": pd.DataFrame({"a": X[:, 0], "t": SPANS}),
    "pandas zones": pd.DataFrame({"a": X[:, 0], "t": pd.Series(DATES).dt.tz_localize("UTC")}),
    "pandas dates alone": pd.DataFrame({"a": DATES, "t": DATES}),
    "pandas objects": pd.DataFrame({"a": X[:, 0], "t": [pd.NaT, *Y[1:]]}, dtype=object),
    "pandas categories": pd.DataFrame({"a": X[:, 0], "t": pd.Categorical(DATES)}),
    "polars dates": pl.DataFrame({"a": X[:, 0], "t": DATES}),
    "polars days": pl.DataFrame({"a": X[:, 0], "t": DATES.astype("M8[D]")}),
    "polars hours": pl.DataFrame({"a": X[:, 0], "t": pl.Series(DATES).dt.time()}),
    "polars spans": pl.DataFrame({"a": X[:, 0], "t": SPANS}),
    "polars dates alone": pl.DataFrame({"a": DATES, "t": DATES}),
    "array of dates": np.column_stack([DATES, DATES]),
    "array of spans": np.column_stack([SPANS, SPANS]),
    "array of objects": np.array([[x, t] for x, t in zip(X[:, 0], DATES, strict=True)], dtype=object),
    "lists": [[t, t] for t in DATES],
}
VECTORS = {
    "dates": DATES,
    "no gaps": DATES[4:5].repeat(N),
    "spans": SPANS,
    "pandas dates": pd.Series(DATES),
    "pandas spans": pd.Series(SPANS),
    "pandas frame": pd.DataFrame({"y": DATES}),
    "polars": pl.Series(DATES),
    "list": list(DATES),
    "one gap": [np.datetime64("NaT"), *Y[1:]],
    "python's": DATES.astype("M8[us]").tolist(),
}


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: type(model).__name__)
def fitted(request):
    return clone(request.param).fit(X, Y)


@pytest.mark.parametrize("table", TABLES)
def test_tables_with_times_are_refused(fitted, table):
    encoded = hasattr(TABLES[table], "columns") and not isinstance(fitted, DacRegressor)
    remedy = r"\.fit\(X, y\)" if encoded else r"NaT -9\.2e18.*days"
    with pytest.raises(TypeError, match=rf"(?s)X must hold numbers; got dates, times or durations.*{remedy}"):
        clone(fitted).fit(TABLES[table], Y)
    with pytest.raises(TypeError, match="X must hold numbers; got dates"):
        fitted.predict(TABLES[table])


@pytest.mark.parametrize("values", VECTORS)
def test_responses_and_weights_that_are_times_are_refused(fitted, values):
    with pytest.raises(TypeError, match="y must hold numbers; got dates, times or durations"):
        clone(fitted).fit(X, VECTORS[values])
    with pytest.raises(TypeError, match="y must hold numbers; got dates"):
        fitted.calibrate(X, VECTORS[values])
    with pytest.raises(TypeError, match="sample_weight must hold numbers; got dates"):
        fitted.calibrate(X, Y, VECTORS[values])
    if not isinstance(fitted, DacKernelRidge):
        with pytest.raises(TypeError, match="sample_weight must hold numbers; got dates"):
            clone(fitted).fit(X, Y, sample_weight=VECTORS[values])


def test_sources_with_times_are_refused(tmp_path):
    model = DacKernelRidge(1, bandwidth=1.0, penalty=1e-2).fit(X, Y)
    for frame in (TABLES["pandas dates alone"], TABLES["polars days"]):
        with pytest.raises(TypeError, match="X must hold numbers; got dates, times or durations in"):
            fit_source(clone(model), frame, Y)
        with pytest.raises(TypeError, match="X must hold numbers; got dates"):
            predict_source(model, frame, tmp_path / "out.parquet")
    TABLES["pandas dates"].assign(y=Y).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"Columns \['t'\] do not hold numbers"):
        fit_source(clone(model), tmp_path / "rows.parquet", "y")


def test_lazy_tables_with_times_are_refused():
    dd = pytest.importorskip("dask.dataframe")
    lazy = dd.from_pandas(TABLES["pandas dates alone"], npartitions=2)
    with pytest.raises(TypeError, match="X must hold numbers; got dates, times or durations in a, t"):
        DacKernelRidge(1).fit(lazy, Y)


def test_columns_that_were_numbers_are_not_taken_for_times():
    encoder = TableEncoder().fit(pd.DataFrame({"t": Y}))
    with pytest.raises(TypeError, match="Column 't' must hold numbers; got dates"):
        encoder.transform(pd.DataFrame({"t": DATES[4:]}))
    with pytest.raises(TypeError, match="y must hold numbers; got dates"):
        diagnose(DATES)


def test_learners_that_encode_times_get_them():
    frame = pd.DataFrame({"a": X[:, 0], "t": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "D")})

    def encode(rows):
        return np.column_stack([rows["a"], rows["t"].dt.dayofyear])

    model = DacRegressor(make_pipeline(FunctionTransformer(encode), Ridge()), 1).fit(frame, Y)
    assert np.isfinite(model.predict(frame)).all()
    with pytest.raises(TypeError, match="X must hold numbers; got dates, times or durations in t"):
        DacRegressor(make_pipeline(StandardScaler(), Ridge()), 1).fit(frame[["t"]], Y)


@pytest.mark.parametrize("values", [None, 2.0, Y, list(Y), X.astype(object), pd.DataFrame(X), pl.DataFrame(X), ["a"]])
def test_anything_else_is_none_of_its_business(values):
    check_plain("X", values)
