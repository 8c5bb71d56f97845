"""Every bad input has a defined behaviour: a clear error before any work, or a stated result."""

import numpy as np
import pandas as pd
import pytest

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.execution.passes import predict_rows
from skewridge.kernels import Kernel
from skewridge.ridge.exact import Expansion

X, Y = make_peaks(60, 2, random_state=0)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_nodes": 0}, ValueError, "n_nodes must be an integer >= 1 or 'auto'; got 0"),
        ({"n_nodes": 2.5}, TypeError, "n_nodes must be an integer >= 1 or 'auto'; got 2.5 of type float"),
        ({"n_nodes": True}, TypeError, "n_nodes must be an integer"),
        ({"n_nodes": 61}, ValueError, "n_nodes must not exceed the number of rows; got n_nodes=61 for 60 rows"),
        ({"slices": "scot"}, ValueError, "slices must be one of 'scott', 'sturges', 'fd', 'log'; got 'scot'"),
        ({"slices": [0.0, 0.1]}, ValueError, "must cover every response"),
        ({"oversampling": -1}, ValueError, r"oversampling must be a number in \[0, 100\]; got -1"),
        ({"oversampling": "all"}, TypeError, "oversampling must be a number"),
        ({"max_per_slice": 0}, ValueError, "max_per_slice must be an integer >= 1 or None; got 0"),
        ({"slice_on": "x"}, ValueError, "slice_on must be one of 'response', 'pilot'; got 'x'"),
        ({"focus": 1.5}, ValueError, r"focus must be a number in \[0, 1\]; got 1.5"),
        ({"kernel": "cubic"}, ValueError, "kernel must be one of 'gaussian'"),
        ({"kernel": None}, ValueError, "kernel must be one of 'gaussian'"),
        ({"bandwidth": 0.0}, ValueError, r"bandwidth must be a number in \]0, inf\[, 'median' or 'auto'; got 0.0"),
        ({"bandwidth": "silverman"}, ValueError, "bandwidth must be one of 'auto', 'median'; got 'silverman'"),
        (
            {"kernel": "sobolev", "bandwidth": 1.0},
            ValueError,
            "The sobolev kernel takes no bandwidth; got bandwidth=1.0",
        ),
        ({"kernel": "poly", "bandwidth": 1}, ValueError, "The polynomial kernel takes no bandwidth"),
        ({"kernel": "poly", "degree": 0}, ValueError, r"degree must be an integer in \[1, 100\]; got 0"),
        ({"penalty": 0.0}, ValueError, r"penalty must be a number in \]0, inf\[, or the name .*; got 0.0"),
        ({"penalty": -1}, ValueError, "penalty must be a number"),
        ({"penalty": np.nan}, ValueError, "penalty must be a number"),
        ({"penalty": "bic"}, ValueError, "penalty must be one of 'auto', 'rule', 'loo'"),
        ({"n_jobs": "2"}, TypeError, "n_jobs must be an integer .* or None; got '2'"),
        ({"n_jobs": 1.5}, TypeError, "n_jobs must be an integer"),
        ({"fit_intercept": "no"}, TypeError, "fit_intercept must be True or False; got 'no'"),
        ({"keep_nodes": 1}, TypeError, "keep_nodes must be True or False; got 1"),
        ({"verbose": "a"}, TypeError, "verbose must be an integer >= 0"),
        ({"memory_limit": 0}, ValueError, "memory_limit must be a number"),
        ({"memory_limit": "much"}, ValueError, "memory_limit must be a number of bytes or a text such as '2GB'"),
        ({"memory_limit": "10kB"}, MemoryError, "The fit needs .* memory_limit is 10 kB"),
    ],
)
def test_bad_parameters(parameters, error, message):
    model = DacKernelRidge(**parameters)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "dual_coef_")
    assert model.get_params() == DacKernelRidge(**parameters).get_params()


@pytest.mark.parametrize(
    ("X_bad", "y_bad", "message"),
    [
        (np.where(X > 0.9, np.nan, X), Y, "Input X contains NaN"),
        (np.where(X > 0.9, np.inf, X), Y, "Input X contains infinity"),
        (X, np.where(Y > 0.1, np.nan, Y), "Input y contains NaN"),
        (X, np.where(Y > 0.1, np.inf, Y), "Input y contains infinity"),
        (X[:0], Y[:0], "Found array with 0 sample"),
        (X[:, :0], Y, r"0 feature\(s\)"),
        (X, Y[:-1], "inconsistent numbers of samples"),
        (X[:, 0], Y, "Expected 2D array, got 1D array"),
        (X, np.c_[Y, Y], r"y must have one column; got 2\. Wrap the estimator"),
        (X.astype(complex), Y, "Complex data not supported"),
        (np.array([["a", "b"]] * 60), Y, "could not convert string to float"),
        (X * 1e160, Y, "X must stay below 1e[+]150 in magnitude.*Rescale X"),
        (X, Y * 1e160, "y must stay below 1e[+]150 in magnitude.*Rescale y"),
    ],
)
def test_bad_data(X_bad, y_bad, message):
    with pytest.raises(ValueError, match=message):
        DacKernelRidge(n_nodes=2).fit(X_bad, y_bad)


def test_bad_data_in_predict():
    model = DacKernelRidge(n_nodes=2).fit(X, Y)
    with pytest.raises(ValueError, match="X has 1 features, but DacKernelRidge is expecting 2"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(np.full((1, 2), np.nan))
    with pytest.raises(ValueError, match="X must stay below"):
        model.predict(np.full((1, 2), 1e200))


@pytest.mark.parametrize("limit", ["1 GiB", "5G", "1TiB", "3gb", 10**9])
def test_a_memory_limit_as_text_or_number_is_accepted(limit):
    assert DacKernelRidge(memory_limit=limit).fit(X, Y).n_nodes_ == 1


@pytest.mark.parametrize("kernel", ["matern32", "matern52", "gaussian", "laplacian"])
def test_points_beyond_what_squares_hold_are_refused(kernel):
    model = DacKernelRidge(n_nodes=2, kernel=kernel, bandwidth=1e-5).fit(X, Y)
    with pytest.raises(ValueError, match="X / bandwidth must stay below"):
        model.predict(np.full((1, 2), 1e149))
    with pytest.raises(ValueError, match="X / bandwidth must stay below"):
        DacKernelRidge(n_nodes=2, kernel=kernel, bandwidth=1e-200).fit(X * 1e140, Y)


def test_overflowing_predictions_are_refused():
    model = DacKernelRidge(n_nodes=2, kernel="poly").fit(X, Y)
    with pytest.raises(ValueError, match="polynomial kernel overflows at some of these points"):
        model.predict([[1e120, 1e20]])


def test_one_row():
    model = DacKernelRidge().fit([[1.0, 2.0]], [3.0])
    assert model.predict([[1.0, 2.0]]) == [3.0]
    assert model.n_nodes_ == 1


def test_constant_y():
    model = DacKernelRidge(n_nodes=3).fit(X, np.full(60, 7.0))
    assert len(model.slices_) == 1
    assert np.array_equal(model.predict(X), np.full(60, 7.0))


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "sobolev", "polynomial"])
def test_constant_and_duplicate_columns_and_rows(kernel):
    wide = np.column_stack([X, np.full(60, 3.0), X[:, 0]])
    doubled = DacKernelRidge(n_nodes=3, kernel=kernel, random_state=0).fit(np.r_[wide, wide], np.r_[Y, Y])
    assert np.isfinite(doubled.predict(wide)).all()
    constant = DacKernelRidge(n_nodes=3, kernel=kernel, random_state=0).fit(np.ones((60, 1)), Y)
    assert np.ptp(constant.predict(np.ones((60, 1)))) == 0


def test_the_warning_about_slices_points_at_the_callers_line():
    heavy = np.r_[Y[:59], 1e9]
    with pytest.warns(UserWarning, match="slices='log'") as caught:
        DacKernelRidge(n_nodes=2).fit(X, heavy)
    assert caught[0].filename == __file__


def test_more_slices_than_rows_are_capped():
    assert len(DacKernelRidge(n_nodes=2, slices=1000).fit(X, Y).slices_) == 60


def test_as_many_nodes_as_rows():
    model = DacKernelRidge(n_nodes=60, random_state=0).fit(X, Y)
    assert (model.allocation_.sizes >= 1).all()
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e120])
def test_predictions_follow_the_scale_of_x_and_y(scale):
    base = DacKernelRidge(n_nodes=3, random_state=0).fit(X, Y).predict(X)
    np.testing.assert_allclose(
        DacKernelRidge(n_nodes=3, random_state=0).fit(X * scale, Y).predict(X * scale), base, rtol=1e-6
    )
    model = DacKernelRidge(n_nodes=3, random_state=0).fit(X, Y * scale)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean / scale, base, rtol=1e-6)
    expected = DacKernelRidge(n_nodes=3, random_state=0).fit(X, Y).predict(X, return_std=True)[1]
    np.testing.assert_allclose(std / scale, expected, rtol=1e-6)


@pytest.mark.parametrize("penalty", [1e-2, 1e-5])
@pytest.mark.parametrize("focus", [0.5, 1.0])
def test_float32_is_computed_in_float32_and_agrees(penalty, focus):
    given = {"n_nodes": 3, "bandwidth": 0.5, "penalty": penalty, "focus": focus, "random_state": 0}
    single, double = X.astype(np.float32), X.astype(np.float32).astype(float)
    one, two = DacKernelRidge(**given).fit(single, Y), DacKernelRidge(**given).fit(double, Y)
    gaps = np.abs(one.dual_coef_ - two.dual_coef_)
    assert (gaps.max() > 0) == (penalty == 1e-2), "small penalties are solved in double"
    moved = np.abs(two.predict(single) - two.predict(double)).max()
    assert (moved > 0) == (penalty == 1e-2), "and their coefficients, which cancel, evaluated in double"
    assert moved < 1e-4 * Y.std()
    np.testing.assert_allclose(one.predict(single), two.predict(double), atol=1e-3 * Y.std())
    std = [model.predict(points, return_std=True)[1] for model, points in ((one, single), (two, double))]
    np.testing.assert_allclose(std[0], std[1], rtol=1e-3)


def test_coefficients_that_cancel_are_evaluated_in_double():
    rng = np.random.default_rng(0)
    points, new, coef = rng.random((300, 1)), rng.random((50, 1)).astype(np.float32), rng.normal(size=300)
    expansion = Expansion(points, 1e9 * coef, Kernel("gaussian", bandwidth=1.0), scale=1.0)
    assert np.array_equal(predict_rows(expansion.predict, new), predict_rows(expansion.predict, new.astype(float)))


@pytest.mark.parametrize("dtype", [np.int64, np.int8, bool, object])
def test_other_dtypes_are_computed_in_double(dtype):
    values = (X * 100).astype(np.int64).astype(dtype)
    as_double = DacKernelRidge(n_nodes=2, random_state=0).fit(values.astype(float), Y)
    model = DacKernelRidge(n_nodes=2, random_state=0).fit(values, Y)
    assert model.predict(values).dtype == np.float64
    assert np.array_equal(model.predict(values), as_double.predict(values.astype(float)))


def test_integer_y():
    y = np.random.default_rng(0).poisson(1.0, 60)
    model = DacKernelRidge(n_nodes=2, random_state=0).fit(X, y)
    assert np.array_equal(model.predict(X), DacKernelRidge(n_nodes=2, random_state=0).fit(X, y * 1.0).predict(X))


def test_read_only_and_strided_arrays():
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    y = Y.copy()
    wide.flags.writeable = y.flags.writeable = False
    model = DacKernelRidge(n_nodes=2, random_state=0).fit(wide, y)
    assert np.array_equal(model.predict(wide), DacKernelRidge(n_nodes=2, random_state=0).fit(X, Y).predict(X))


def test_pandas_rows_are_paired_by_position():
    frame = pd.DataFrame(X, columns=["a", "b"])
    other_labels = pd.Series(Y, index=np.arange(60) + 1000)
    model = DacKernelRidge(n_nodes=2, random_state=0).fit(frame, other_labels)
    assert np.array_equal(model.predict(frame), DacKernelRidge(n_nodes=2, random_state=0).fit(X, Y).predict(X))


def test_labels_of_mixed_types_are_compared_without_an_order():
    frame = pd.DataFrame(X[:3], index=["a", 1, 2.5])
    with pytest.raises(ValueError, match="same index labels in a different order"):
        DacKernelRidge().fit(frame, pd.Series(Y[:3], index=[1, "a", 2.5]))
    DacKernelRidge().fit(frame, pd.Series(Y[:3], index=["b", 1, 2.5]))


def test_the_same_labels_in_another_order_are_refused():
    frame, series = pd.DataFrame(X, columns=["a", "b"]), pd.Series(Y)
    with pytest.raises(ValueError, match=r"same index labels in a different order.*y = y.loc\[X.index\]"):
        DacKernelRidge(n_nodes=2).fit(frame, series.sample(frac=1, random_state=0))
