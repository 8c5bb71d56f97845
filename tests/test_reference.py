"""The engine is held to the method in plain numpy, and the method to the oracle's loops."""

import warnings

import numpy as np
import pytest

from skewridge import AdaptiveKernelRidge, DacKernelRidge, reference
from skewridge.datasets import make_peaks
from skewridge.response.slices import slice_response
from skewridge.ridge.linear import fit_linear
from tests import naive

X, Y = make_peaks(240, 2, random_state=0)
NEW = np.random.default_rng(1).random((30, 2))
NAMES = ["gaussian", "matern12", "matern32", "matern52", "laplacian"]


@pytest.mark.parametrize("name", NAMES)
def test_kernels_are_their_formulas(name):
    expected = naive.gram(name, NEW[:5], X[:7], bandwidth=0.4)
    np.testing.assert_allclose(reference.kernel_matrix(name, NEW[:5], X[:7], 0.4), expected, rtol=1e-12)


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match=r"knows gaussian.*got 'sobolev'"):
        reference.kernel_matrix("sobolev", X, X, 1.0)


@pytest.mark.parametrize("tau", [1.0, 0.5, 0.2])
@pytest.mark.parametrize("n_slices", [1, 4, 25])
def test_slices_and_copies_are_the_engines(n_slices, tau):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few slices say little about so skewed a response
        slices = slice_response(Y, n_slices, tau)
    labels = reference.slice_labels(Y, n_slices)
    assert np.array_equal(labels, slices.labels)
    assert np.array_equal(reference.copies_of(labels, tau), slices.copies[slices.labels])


def test_every_slice_is_dealt_evenly_and_rare_rows_are_everywhere():
    labels = reference.slice_labels(Y, 12)
    copies = reference.copies_of(labels)
    nodes = reference.deal(labels, copies, 5, seed=0)
    fullest = np.bincount(labels).argmax()
    held = [np.sum(labels[rows] == fullest) for rows in nodes]
    assert max(held) - min(held) <= 1
    assert sum(held) == np.sum(labels == fullest)
    rarest = np.flatnonzero(copies == copies.max())
    assert all(np.isin(rarest, rows).all() for rows in nodes)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("slices", [1, 9])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_divide_and_conquer_is_the_reference_on_the_same_nodes(name, slices, fit_intercept):
    settings = {"kernel": name, "bandwidth": 0.5, "penalty": 1e-4, "fit_intercept": fit_intercept}
    model = DacKernelRidge(4, slices, random_state=0, **settings).fit(X, Y)
    fit = reference.average_of_nodes(X, Y, list(model.allocation_), **settings)
    np.testing.assert_allclose(model.dual_coef_, fit.coef, rtol=1e-7, atol=1e-9 * np.abs(fit.coef).max())
    np.testing.assert_allclose(model.predict(NEW), fit.predict(NEW), atol=1e-8 * Y.std())


def test_one_node_is_exact_kernel_ridge_regression_in_both_algorithms():
    settings = {"kernel": "gaussian", "bandwidth": 0.5, "penalty": 1e-4}
    first = reference.algorithm_1(X, Y, 1, 0, **settings)
    second = reference.algorithm_2(X, Y, 1, 7, 0, **settings)
    exact = naive.average(X, Y, NEW, [np.arange(240)], 1e-4, "gaussian", bandwidth=0.5)
    np.testing.assert_allclose(first.predict(NEW), exact, atol=1e-9)
    np.testing.assert_allclose(second.predict(NEW), exact, atol=1e-9)


def test_oversampling_lowers_the_error_at_the_peaks():
    settings = {"kernel": "gaussian", "bandwidth": 0.3, "penalty": 240 ** (-2 / 3)}
    rare = np.argsort(Y)[-5:]
    errors = []
    for seed in range(5):
        fits = reference.algorithm_1(X, Y, 10, seed, **settings), reference.algorithm_2(X, Y, 10, 12, seed, **settings)
        errors.append([np.mean((fit.predict(X[rare]) - Y[rare]) ** 2) for fit in fits])
    classical, oversampled = np.mean(errors, axis=0)
    assert oversampled < 0.8 * classical


def test_adaptive_centres_are_even_over_the_slices_and_nested():
    labels = reference.slice_labels(Y, 12)
    occupied = len(np.unique(labels))
    centers = reference.adaptive_centers(labels, 2 * occupied, 0.5, seed=0)
    assert len(np.unique(labels[centers])) == occupied
    assert len(np.unique(centers)) == 2 * occupied
    assert not np.array_equal(centers, reference.adaptive_centers(labels, 2 * occupied, 0.0, seed=0))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_low_rank_fit_is_the_reference_on_the_same_centres(name, weighted):
    weights = 1.0 + np.arange(240) % 3 if weighted else None
    settings = {"kernel": name, "bandwidth": 0.4, "penalty": 1e-5}
    model = AdaptiveKernelRidge(30, 0.5, scale_features=None, random_state=0, **settings).fit(X, Y, weights)
    fit = reference.low_rank(X, Y, model.centers_, weights=weights, **settings)
    bounds = Y.min() - 0.1 * np.ptp(Y), Y.max() + 0.1 * np.ptp(Y)
    np.testing.assert_allclose(model.predict(NEW), np.clip(fit.predict(NEW), *bounds), atol=1e-7 * Y.std())


@pytest.mark.parametrize("penalty", [1e-6, 0.1, 10.0])
def test_ridge_regression_is_the_reference(penalty):
    model, found, _ = fit_linear(X, Y[:, None], np.ones(len(Y)), penalties=np.array([penalty]))
    left_out, slopes, intercept = reference.linear_ridge(X, Y, penalty)
    np.testing.assert_allclose(found[:, 0], left_out, atol=1e-8 * Y.std())
    np.testing.assert_allclose(model.predict(NEW)[:, 0], NEW @ slopes + intercept, atol=1e-8 * Y.std())
