"""The same numbers in another type, another place of memory, another order or as weights: the same fit."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from skewridge import AdaptiveKernelRidge, DacKernelRidge, DacRegressor, LocalKernelRidge, SkewRidge, SmoothingSpline

GIVEN = {"bandwidth": 20.0, "penalty": 1e-3, "random_state": 0}
FITS = {
    "nodes": DacKernelRidge(3, **GIVEN),
    "regressor": DacRegressor(DacKernelRidge(1, **GIVEN), n_nodes=3, random_state=0),
    "centres": AdaptiveKernelRidge(20, 0.5, **GIVEN),
    "spline": SmoothingSpline(random_state=0),
    "cells": LocalKernelRidge("laplacian", random_state=0),
    "two levels": SkewRidge("laplacian", random_state=0),
}
WEIGHED = ["centres", "spline", "cells", "two levels"]  # nodes deal rows by their number, and take no weights
RNG = np.random.default_rng(0)
X = RNG.integers(-60, 60, (70, 2)).astype(float)  # numbers that every type holds
Y = np.exp(X[:, 0] / 40) + 0.1 * RNG.normal(size=70)
X_NEW = RNG.integers(-60, 60, (15, 2)).astype(float)


def read_only(values):
    found = values.copy()
    found.flags.writeable = False
    return found


PLACES = {
    "columns first": np.asfortranarray,
    "every other row": lambda values: np.repeat(values, 2, axis=0)[::2],
    "backwards": lambda values: values[::-1].copy()[::-1],
    "read only": read_only,
}
TYPES = [np.int8, np.int16, np.int64, np.float16, ">f8", object]


LEVELS = [0.1, 0.9]
OF_DISTRIBUTIONS = ["cells", "two levels"]  # others would be calibrated, at the price of more fits


def told(name, model, X):
    """All that a model says of rows: predictions and, where errors of unseen rows are at hand, quantiles and more."""
    if name not in OF_DISTRIBUTIONS:
        return model.predict(X)
    return np.column_stack([model.predict(X), model.predict_quantiles(X, LEVELS), model.predict_exceedance(X, 1.0)])


def fitted(name, X, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows dominate
        return clone(FITS[name]).fit(X, y, **settings)


@pytest.fixture(scope="module", params=FITS)
def case(request):
    """A name, and its fit to plain rows."""
    return request.param, fitted(request.param, X, Y)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_where_numbers_lie_in_memory_changes_no_bit(case, place):
    name, expected = case
    model = fitted(name, place(X), place(Y))
    assert np.array_equal(told(name, model, place(X_NEW)), told(name, expected, X_NEW))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_same_numbers_in_another_type_change_no_bit(case, dtype):
    name, expected = case
    model = fitted(name, X.astype(dtype), Y)
    assert np.array_equal(told(name, model, X_NEW.astype(dtype)), told(name, expected, X_NEW))


def test_whole_numbers_in_single_precision_change_rounding_alone(case):
    name, expected = case
    found = fitted(name, X.astype(np.float32), Y).predict(X_NEW.astype(np.float32))
    assert np.abs(found - expected.predict(X_NEW)).max() < 1e-3 * Y.std()


@pytest.mark.parametrize("case", WEIGHED, indirect=True)
def test_the_order_of_rows_changes_rounding_alone(case):
    name, expected = case
    order = np.random.default_rng(1).permutation(len(Y))
    gap = told(name, fitted(name, X[order], Y[order]), X_NEW) - told(name, expected, X_NEW)
    assert np.abs(gap).max() < 1e-6 * Y.std()


@pytest.mark.parametrize("name", WEIGHED)
def test_a_row_of_weight_two_is_two_rows(name):
    times = np.random.default_rng(2).integers(0, 3, len(Y))
    weighted = fitted(name, X, Y, sample_weight=times)
    copied = fitted(name, np.repeat(X, times, axis=0), np.repeat(Y, times))
    assert np.abs(weighted.predict(X_NEW) - copied.predict(X_NEW)).max() < 1e-6 * Y.std()
