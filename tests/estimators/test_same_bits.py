"""Which differences in how the same numbers come change no bit, and how much the others change."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from skewridge import AdaptiveKernelRidge, DacKernelRidge, SmoothingSpline, predict_source, use_engine
from skewridge.datasets import make_peaks

X, Y = make_peaks(3000, 3, random_state=0)
W = np.random.default_rng(0).random(3000) + 0.5
FIXED = {"bandwidth": 0.5, "penalty": 1e-3, "random_state": 0}
ADAPTIVE = AdaptiveKernelRidge(60, 0.5, **FIXED)
FITS = [ADAPTIVE, SmoothingSpline(random_state=0), DacKernelRidge(20, **FIXED)]


def unaligned(values):
    """The numbers one byte beside where a processor expects them."""
    found = np.frombuffer(bytearray(values.nbytes + 1), values.dtype, values.size, offset=1).reshape(values.shape)
    found[...] = values
    assert not found.flags.aligned
    return found


def strided(values):
    return np.repeat(values, 2, axis=0)[::2]


@pytest.mark.parametrize("given", [unaligned, strided, np.asfortranarray])
@pytest.mark.parametrize("estimator", FITS, ids=str)
def test_where_numbers_lie_in_memory_changes_no_bit(estimator, given):
    weights = [] if isinstance(estimator, DacKernelRidge) else [W]
    expected = clone(estimator).fit(X, Y, *weights)
    model = clone(estimator).fit(given(X), given(Y), *map(given, weights))
    assert np.array_equal(model.predict(given(X)), expected.predict(X))
    assert np.array_equal(model.predict(given(X.astype(np.float32))), expected.predict(X.astype(np.float32)))


@pytest.mark.parametrize("lazy", ["X", "y", "sample_weight", "all"])
def test_dask_rows_responses_and_weights_change_no_bit(lazy):
    da = pytest.importorskip("dask.array")
    rows = {"X": X, "y": Y, "sample_weight": W}
    expected = clone(ADAPTIVE).fit(**rows)
    sizes = {"X": (777, 3), "y": 999, "sample_weight": 555}
    given = {k: da.from_array(v, chunks=sizes[k]) if lazy in (k, "all") else v for k, v in rows.items()}
    with use_engine("threads"):
        model = clone(ADAPTIVE).fit(**given)
    assert np.array_equal(model.dual_coef_, expected.dual_coef_)
    assert np.array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("kind", ["parquet", "array"])
def test_single_precision_is_predicted_alike_from_files_and_arrays(tmp_path, kind):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    model, rows = clone(ADAPTIVE).fit(X, Y), X.astype(np.float32)
    source = rows
    if kind == "parquet":
        source = tmp_path / "rows.parquet"
        pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(source)
    found = pd.read_parquet(predict_source(model, source, tmp_path / "out.parquet"))
    assert np.array_equal(found["prediction"], model.predict(rows))
    assert not np.array_equal(found["prediction"], model.predict(rows.astype(np.float64)))


@pytest.mark.parametrize("estimator", FITS, ids=str)
def test_rows_predicted_one_by_one_are_those_predicted_together(estimator):
    model = clone(estimator).fit(X, Y)
    together, alone = model.predict(X[:200]), np.concatenate([model.predict(row[None]) for row in X[:200]])
    if isinstance(estimator, SmoothingSpline):  # BLAS rounds a row by its place among the others
        assert np.abs(together - alone).max() <= 1e-12 * Y.std()
    else:
        assert np.array_equal(together, alone)


def test_the_order_of_rows_changes_adaptive_centres_by_rounding_alone():
    estimator = AdaptiveKernelRidge(kernel=["gaussian", "matern32"], random_state=0)
    order = np.random.default_rng(1).permutation(700)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, two = (clone(estimator).fit(X[rows], Y[rows]).predict(X) for rows in (np.arange(700), order))
    assert np.abs(one - two).max() <= 1e-5 * Y.std()
