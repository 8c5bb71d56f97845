import numpy as np
import pytest

from skewridge.execution.context import using
from skewridge.execution.memory import Budget
from skewridge.splines.fit import ALPHA, Task, affordable_threads
from skewridge.splines.model import make_domain, make_features, make_free, make_model

RNG = np.random.default_rng(0)
X = make_domain(RNG.random((3000, 2)))(RNG.random((3000, 2)))
Y, WEIGHTS = RNG.normal(size=3000), RNG.integers(1, 4, 3000).astype(float)
MODEL = make_model(["cubic", "linear"], [(0, 1)])


def test_features_give_the_kernels_of_every_term_at_the_knots():
    features = make_features(MODEL, X[:40])
    values, at_knots = features(X[:100]), features(X[:40])
    for b, kernel in enumerate(MODEL.kernels(X[:100], X[:40])):
        own = slice(*features.starts[b : b + 2])
        np.testing.assert_allclose(values[:, own] @ at_knots[:, own].T, kernel, atol=1e-12)
    assert features.term.tolist() == sorted(features.term)
    assert len(features) == len(features.term)


def test_repeated_knots_add_no_features():
    once, twice = make_features(MODEL, X[:20]), make_features(MODEL, np.r_[X[:20], X[:20]])
    assert len(once) == len(twice) == 80
    binary = np.where(X > 0.5, 0.9, 0.1)
    assert np.diff(make_features(MODEL, binary[:50]).starts).tolist() == [2, 2, 2, 4]


def test_terms_that_are_zero_at_all_knots_are_left_out():
    features = make_features(MODEL, np.array([[0.5, 0.3]]))
    assert features.places.tolist() == [0, 1, 3]
    assert len(features.model.terms) == 3


def test_the_normal_equations_are_those_of_residuals():
    """Weighted least squares on the free functions, row by row."""
    features = make_features(MODEL, X[:15])
    free = make_free(MODEL, X, WEIGHTS)
    normal = Task(features, free, X, Y, WEIGHTS, ALPHA)
    root = np.sqrt(WEIGHTS)[:, None]
    S, F, y = MODEL.free_values(X) * root, features(X) * root, Y * root[:, 0]
    lines, level = (np.linalg.lstsq(S, v, rcond=None)[0] for v in (F, y))
    rest, left = F - S @ lines, y - S @ level
    np.testing.assert_allclose(normal.gram, rest.T @ rest, atol=1e-9)
    np.testing.assert_allclose(normal.moments, rest.T @ left, atol=1e-9)
    np.testing.assert_allclose(free.basis @ normal.lines, lines, atol=1e-9)
    np.testing.assert_allclose(free.basis @ normal.level, level, atol=1e-9)
    assert normal.square == pytest.approx(left @ left)
    assert (normal.n_rows, len(normal.level)) == (WEIGHTS.sum(), 2)


def test_dependent_free_functions_are_counted_once():
    model = make_model(["cubic", "cubic"], [])
    twice = np.repeat(X[:, :1], 2, axis=1)
    free = make_free(model, twice, np.ones(3000))
    normal = Task(make_features(model, twice[:10]), free, twice, Y, np.ones(3000), ALPHA)
    assert len(normal.level) == 2
    fitted = free(twice) @ normal.level
    line = np.polynomial.Polynomial.fit(X[:, 0], Y, 1)
    np.testing.assert_allclose(fitted, line(X[:, 0]), atol=1e-9)


def test_nearly_dependent_free_functions_lose_no_digits():
    model = make_model(["cubic", "cubic"], [])
    close = np.column_stack([X[:, 0], X[:, 0] + 1e-8 * X[:, 1]])
    free = make_free(model, close, WEIGHTS)
    assert free.basis.shape == (3, 3)
    values = free(close) * np.sqrt(WEIGHTS)[:, None]
    np.testing.assert_allclose(values.T @ values, np.eye(3), atol=1e-6)
    normal = Task(make_features(model, close[:10]), free, close, close @ [1.0, 2.0], WEIGHTS, ALPHA)
    assert normal.square == 0.0
    assert not normal.moments.any()


def test_threads_change_no_bit():
    features, free = make_features(MODEL, X[:15]), make_free(MODEL, X, WEIGHTS)
    one, two = (using(n_jobs=n)(Task)(features, free, X, Y, WEIGHTS, ALPHA) for n in (1, 2))
    assert np.array_equal(one.gram, two.gram)
    assert np.array_equal(one.moments, two.moments)


def test_memory_reduces_threads_before_it_refuses():
    features = make_features(MODEL, X[:100])
    assert using(n_jobs=2)(affordable_threads)(features, 3000) == 2
    assert using(n_jobs=2, budget=Budget(45e6))(affordable_threads)(features, 3000) == 1
    with pytest.raises(MemoryError, match=r"4 terms with 100 knots need .* memory_limit is 1 MB.*n_knots"):
        using(budget=Budget(1e6))(affordable_threads)(features, 3000)
