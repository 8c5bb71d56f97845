"""What would pass without a word and mean another thing: masks, labels in another order, weights that count nothing."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    DacRegressor,
    LocalKernelRidge,
    SkewRidge,
    SmoothingSpline,
    load_model,
    save_model,
)

GIVEN = {"bandwidth": 1.0, "penalty": 1e-3, "random_state": 0}
FITS = {
    "nodes": DacKernelRidge(2, **GIVEN),
    "regressor": DacRegressor(Ridge(), n_nodes=2, random_state=0),
    "centres": AdaptiveKernelRidge(10, 0.5, **GIVEN),
    "spline": SmoothingSpline(random_state=0),
    "cells": LocalKernelRidge(random_state=0),
    "two levels": SkewRidge("laplacian", random_state=0),
}
WEIGHED = [name for name in FITS if name != "nodes"]
COUNTED = [name for name in WEIGHED if name != "regressor"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.exp(X[:, 0])


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Row|.*dominate|.*slices")  # so few rows dominate
        yield


def masked(values):
    found = np.ma.masked_array(values.copy())
    found[3] = np.ma.masked
    return found


@pytest.mark.parametrize("name", FITS)
def test_masked_entries_are_refused(name):
    model = clone(FITS[name])
    with pytest.raises(ValueError, match="X must have a value everywhere; got a masked array with 3 masked entries"):
        model.fit(masked(X), Y)
    with pytest.raises(ValueError, match=r"y must have a value everywhere.*Drop those rows, or fill"):
        model.fit(X, masked(Y))
    model.fit(np.ma.masked_array(X), Y)  # nothing is masked
    with pytest.raises(ValueError, match="X must have a value everywhere"):
        model.predict(masked(X))


@pytest.mark.parametrize("name", WEIGHED)
def test_masked_weights_are_refused(name):
    with pytest.raises(ValueError, match="sample_weight must have a value everywhere"):
        clone(FITS[name]).fit(X, Y, sample_weight=masked(np.ones(len(Y))))


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_with_the_labels_of_rows_in_another_order_are_refused(name):
    weights = pd.Series(np.arange(1.0, 41.0))
    with pytest.raises(ValueError, match="X and sample_weight have the same index labels in a different order"):
        clone(FITS[name]).fit(pd.DataFrame(X, columns=list("abc")), Y, sample_weight=weights[::-1])


def test_weights_of_calibration_rows_in_another_order_are_refused():
    rows, weights = pd.DataFrame(X), pd.Series(np.arange(1.0, 41.0))
    model = clone(FITS["centres"]).fit(rows, Y)
    with pytest.raises(ValueError, match="X and sample_weight have the same index labels"):
        model.calibrate(rows, Y, sample_weight=weights[::-1])


@pytest.mark.parametrize("name", FITS)
def test_columns_labelled_by_numbers_in_another_order_are_refused(name, tmp_path):
    rows = pd.DataFrame(X)
    model = clone(FITS[name]).fit(rows, Y)
    expected = model.predict(rows)
    if name != "regressor":  # whose learner is scikit-learn's
        save_model(model, tmp_path / "model.skr")
        model = load_model(tmp_path / "model.skr")
    with pytest.raises(ValueError, match=r"columns in the order of the fit: expected 0 at place 0, got 2. Reorder"):
        model.predict(rows[[2, 1, 0]])
    other = rows.set_axis([5, 6, 7], axis=1)  # other labels tell nothing
    assert np.array_equal(model.predict(rows), expected)
    assert np.array_equal(model.predict(other), expected)
    refitted = clone(FITS[name]).fit(rows, Y).fit(X, Y)
    assert not hasattr(refitted, "column_labels_in_")


@pytest.mark.parametrize("name", COUNTED)
def test_weights_that_sum_to_one_are_warned_of(name):
    with pytest.warns(UserWarning, match=r"40 rows occur 1 times together.*multiplied by the number of rows"):
        clone(FITS[name]).fit(X, Y, sample_weight=np.full(40, 1 / 40))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="sample_weight is how often")
        clone(FITS[name]).fit(X, Y, sample_weight=np.where(np.arange(40) < 3, 1.0, 0.0))  # three rows


@pytest.mark.parametrize("name", FITS)
def test_responses_as_texts_of_numbers_are_numbers(name):
    expected = clone(FITS[name]).fit(X, Y).predict(X)
    assert np.array_equal(clone(FITS[name]).fit(X, Y.astype(str)).predict(X), expected)


@pytest.mark.parametrize("name", ["centres", "cells", "two levels"])
def test_sparse_responses_are_refused(name):
    with pytest.raises(TypeError, match=r"y must be a dense array; got csr_array.*toarray"):
        clone(FITS[name]).fit(X, csr_array(Y[:, None]))


@pytest.mark.parametrize("n_rows", [2, 3, 5, 12])
def test_the_stated_risk_of_the_mean_of_few_rows_leaves_each_out(n_rows):
    rng = np.random.default_rng(1)
    y = rng.normal(size=n_rows)
    model = SkewRidge(random_state=0, bounds=None).fit(rng.normal(size=(n_rows, 30)), y)
    if any(model.blend_weights_.values()):
        pytest.skip("ridge regression takes part")
    left_out = (y.sum() - y) / (n_rows - 1)
    assert np.allclose(model.oof_prediction_, left_out)
    assert np.isclose(model.expected_error_.mse, np.mean((y - left_out) ** 2))


@pytest.mark.parametrize("name", ["cells", "two levels"])
def test_no_risk_is_stated_of_a_single_row(name, tmp_path):
    model = clone(FITS[name]).fit(np.ones((1, 2)), Y[:1])
    assert np.isclose(model.predict(np.zeros((1, 2)))[0], Y[0])
    assert np.isnan([model.expected_error_.mse, model.expected_error_.mse_se, *model.oof_prediction_]).all()
    save_model(model, tmp_path / "model.skr")
    with pytest.warns(UserWarning, match="Intervals are infinite: 0 calibration rows"):
        low, high = load_model(tmp_path / "model.skr").predict_interval(np.ones((1, 2)))
    assert np.isinf([low, high]).all()


@pytest.mark.parametrize("name", ["cells", "two levels"])
def test_rows_of_one_x_are_stated_by_the_mean_of_the_others(name):
    y = np.array([1.0, 2.0, 6.0])
    whole = clone(FITS[name]).set_params(bounds=None).fit(np.ones((3, 2)), y)
    assert np.allclose(whole.oof_prediction_, [4.0, 3.5, 1.5])
    weighted = clone(whole).fit(np.ones((2, 2)), y[:2], sample_weight=[2, 1])
    copied = clone(whole).fit(np.ones((3, 2)), y[[0, 0, 1]])
    assert np.isclose(weighted.expected_error_.mse, copied.expected_error_.mse)
