import numpy as np
import pytest

from skewridge.execution.context import using
from skewridge.execution.memory import Budget
from skewridge.splines.fit import fit_rows
from skewridge.splines.model import make_model

RNG = np.random.default_rng(0)
X = RNG.uniform(0.05, 0.95, (120, 2))
Y = np.sin(6 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=120)
MODEL = make_model(["cubic", "linear"], [(0, 1)])


def fitted(knots=X[:30], y=Y, limit=None, **settings):
    return using(budget=Budget(limit))(fit_rows)(MODEL, knots, X, y, np.ones(120), **settings)


def test_features_and_kernels_are_two_ways_to_say_one_function():
    fit = fitted()
    new = RNG.random((40, 2))
    R = sum(t * K for t, K in zip(fit.theta, MODEL.kernels(new, X[:30]), strict=True))
    by_kernels = MODEL.free_values(new) @ (fit.free.basis @ fit.free_coef) + R @ fit.coef
    np.testing.assert_allclose(fit.predict(new), by_kernels, atol=1e-7)


def test_given_weights_are_those_of_the_terms_that_are_left():
    fit = fitted(knots=np.array([[0.5, 0.3]]), theta=np.array([1.0, 2.0, 3.0, 4.0]), penalty=1e-3)
    assert fit.features.places.tolist() == [0, 1, 3]  # the line is zero at the one knot
    assert fit.theta.tolist() == [1.0, 2.0, 4.0]


def test_without_a_search_the_weights_are_where_it_starts():
    start, searched = fitted(searches=False), fitted()
    assert (start.n_steps, start.converged) == (0, True)
    assert searched.n_steps > 0
    assert searched.gcv < start.gcv


def test_the_noise_is_what_is_left_over_the_degrees_of_freedom_left():
    fit = fitted()
    rss = np.sum((Y - fit.predict(X)) ** 2)
    assert fit.noise == pytest.approx(rss / (120 - fit.dof))
    assert fit.gcv == pytest.approx(rss / 120 / (1 - 1.4 * fit.dof / 120) ** 2)
    assert np.isinf(fitted(penalty=1e-12, knots=X, alpha=3.0).gcv)


def test_the_standard_deviation_grows_beyond_the_rows():
    fit = fitted()
    inside, beyond, far = fit.std(np.array([[0.5, 0.5], [1.5, 0.5], [3.0, 0.5]]))
    assert inside < beyond < far


def test_a_fit_beyond_the_limit_is_refused():
    with pytest.raises(MemoryError, match="4 terms with 30 knots"):
        fitted(limit=1e3)
