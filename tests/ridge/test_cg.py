import numpy as np
import pytest

from skewridge import AdaptiveKernelRidge
from skewridge.centers.choose import FitSize, fit_bytes, solver_of
from skewridge.centers.rows import CenterSettings
from skewridge.datasets import make_peaks
from skewridge.execution.context import using
from skewridge.execution.memory import Budget
from skewridge.kernels import KERNELS, make_kernel
from skewridge.linalg.cholesky import cholesky_solve
from skewridge.ridge.cg import MOST_STEPS, NormalEquations, conjugate_inverse, conjugate_solve, preconditioner
from skewridge.ridge.low_rank import make_basis, ridge_factor, sum_features
from tests.ridge.test_low_rank import rows_of


def both(name, X, Y, w, centers, penalty, **settings):
    """The direct solution and that of conjugate gradients, as functions at X, and the latter's account."""
    kernel = make_kernel(name, X, 0.7, 2)
    basis = make_basis(kernel, centers)
    ridge = penalty * w.sum()
    sums = sum_features(basis, X, Y, w)
    direct = cholesky_solve(ridge_factor(sums.gram, ridge), sums.moments(np.zeros(Y.shape[1])))
    center_weights = np.full(len(basis.kept), w.sum() / len(basis.kept))
    normal = NormalEquations(basis, X, w, ridge, preconditioner(basis, ridge, center_weights))
    found, *account = conjugate_solve(normal, Y, **settings)
    return *(basis.features(X) @ beta.T for beta in (direct, found)), account


@pytest.mark.parametrize("name", ["matern12", "matern32", "gaussian", "laplacian", "polynomial", "sobolev"])
@pytest.mark.parametrize("penalty", [1e-6, 1e-2])
@pytest.mark.parametrize("weighted", [False, True])
def test_conjugate_gradients_solve_the_normal_equations(name, penalty, weighted):
    X, Y, w = rows_of(300, outputs=2, weighted=weighted)
    direct, found, account = both(name, X, Y, w, X[:40], penalty)
    np.testing.assert_allclose(found, direct, atol=1e-7 * Y.std(), rtol=0)
    assert account[1] <= 1e-9
    assert account[0] < MOST_STEPS


def test_many_features_go_through_blas_to_the_same_solution():
    rng = np.random.default_rng(0)
    X = rng.random((200, 20))
    Y = np.sin(3 * X[:, :2])
    direct, found, _ = both("matern32", X, Y, np.ones(200), X[:50], 1e-4)
    np.testing.assert_allclose(found, direct, atol=1e-8, rtol=0)


def test_outputs_that_are_solved_at_once_do_not_disturb_each_other():
    X, Y, w = rows_of(200, outputs=3)
    Y[:, 1] = 0.0
    _, found, _ = both("matern32", X, Y, w, X[:30], 1e-4)
    assert not found[:, 1].any()
    _, alone, _ = both("matern32", X, Y[:, :1], w, X[:30], 1e-4)
    np.testing.assert_allclose(found[:, :1], alone, atol=1e-7, rtol=0)


def test_the_preconditioner_is_exact_when_all_rows_are_centres():
    X, Y, w = rows_of(60)
    _, _, account = both("matern12", X, Y, w, X, 1e-3)
    assert account[0] <= 3


def test_the_preconditioner_is_the_factor_of_what_the_centres_estimate():
    X, _, _ = rows_of(30)
    basis = make_basis(make_kernel("matern32", X, 0.7), X)
    center_weights = np.linspace(1, 3, len(basis.kept))
    factor = np.tril(preconditioner(basis, 0.5, center_weights))
    expected = basis.factor.T @ (center_weights[:, None] * basis.factor) + 0.5 * np.eye(len(factor))
    np.testing.assert_allclose(factor @ factor.T, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("adapt", [0.0, 0.8])
def test_the_estimator_solves_alike_either_way(adapt):
    X, y = make_peaks(1500, 2, weights=(1, 1), random_state=0)
    settings = {"n_centers": 150, "adapt": adapt, "bandwidth": 0.5, "penalty": 1e-6, "random_state": 0}
    direct = AdaptiveKernelRidge(solver="direct", **settings).fit(X, y)
    found = AdaptiveKernelRidge(solver="cg", **settings).fit(X, y)
    np.testing.assert_allclose(found.predict(X), direct.predict(X), atol=1e-6 * y.std(), rtol=0)
    assert (direct.solver_, direct.n_iter_) == ("direct", None)
    assert found.solver_ == "cg"
    assert found.n_iter_ > 0
    assert found.noise_ == pytest.approx(direct.noise_, rel=0.05)
    ratio = np.median(found.predict(X, return_std=True)[1] / direct.predict(X, return_std=True)[1])
    assert 0.5 < ratio < 2.0  # the centres' estimate


def test_the_same_bits_for_any_number_of_threads():
    X, y = make_peaks(5000, 2, weights=(1, 1), random_state=0)
    settings = {"n_centers": 60, "adapt": 0.5, "bandwidth": 0.5, "penalty": 1e-6, "solver": "cg", "random_state": 0}
    one, two = (AdaptiveKernelRidge(n_jobs=n, **settings).fit(X, y).predict(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_steps_that_run_out_are_told(monkeypatch):
    monkeypatch.setattr("skewridge.ridge.cg.MOST_STEPS", 2)
    X, y = make_peaks(500, 2, random_state=0)
    model = AdaptiveKernelRidge(100, 0.5, bandwidth=0.3, penalty=1e-8, solver="cg", random_state=0)
    with pytest.warns(UserWarning, match="Conjugate gradients ended after 2 steps"):
        model.fit(X, y)


def unequally_weighted():
    rng = np.random.default_rng(0)
    X = rng.random((800, 3))
    y = np.sin(6 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=800)
    settings = {"n_centers": 150, "adapt": 0.5, "bandwidth": 1.0, "penalty": 1e-6, "scale_features": "standard"}
    return X, y, np.exp(2.6 * np.random.default_rng(1).normal(size=800)), {**settings, "random_state": 3}


def test_steps_that_run_out_at_a_precision_that_rounding_would_excuse_are_told_too():
    X, y, w, settings = unequally_weighted()
    with pytest.warns(UserWarning, match="Very unequal weights or a tiny penalty may be why. Take solver='direct'"):
        model = AdaptiveKernelRidge(solver="cg", **settings).fit(X, y, sample_weight=w)
    assert model.n_iter_ == MOST_STEPS
    assert 1e-9 < model._low_rank.precision < 1e-6


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_auto_solves_directly_where_steps_run_out(monkeypatch, n_jobs, recwarn):
    X, y, w, settings = unequally_weighted()
    direct = AdaptiveKernelRidge(solver="direct", **settings).fit(X, y, sample_weight=w)
    monkeypatch.setattr(
        "skewridge.centers.fit.solver_of", lambda wish, *_: "cg" if wish.solver == "auto" else wish.solver
    )
    auto = AdaptiveKernelRidge(n_jobs=n_jobs, **settings).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(auto.predict(X), direct.predict(X))
    assert (auto.solver_, auto.n_iter_) == ("direct", None)
    assert not [told for told in recwarn if "Conjugate gradients" in str(told.message)]


def test_auto_keeps_what_steps_that_ran_out_have_left_where_direct_has_no_memory(monkeypatch):
    monkeypatch.setattr("skewridge.ridge.cg.MOST_STEPS", 2)
    X, y, _, settings = unequally_weighted()
    limit = int(0.9 * fit_bytes("direct", 150, FitSize(*X.shape, X.size), 1))
    with pytest.warns(UserWarning, match="Conjugate gradients ended after 2 steps"):
        model = AdaptiveKernelRidge(memory_limit=limit, **settings).fit(X, y)
    assert model.solver_ == "cg"


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((50, 2)), np.random.default_rng(0).normal(size=50)),
        (np.repeat(np.random.default_rng(0).random((40, 2)), 2, axis=0), np.tile([1.0, -1.0], 40)),
    ],
)
def test_nothing_to_solve_is_solved(recwarn, X, y):
    settings = {"n_centers": 50, "adapt": 0.0, "bandwidth": 1.0, "penalty": 1e-6, "scale_features": "standard"}
    model = AdaptiveKernelRidge(solver="cg", random_state=0, **settings).fit(X, y)
    assert not [told for told in recwarn if "Conjugate gradients" in str(told.message)]
    np.testing.assert_allclose(model.predict(X), y.mean(), atol=1e-9)


def test_the_cheaper_solver_is_expected_from_thousands_of_centres_on():
    wish, rows = CenterSettings(), FitSize(200_000, 8, 1_600_000)
    assert using(budget=Budget(1e11))(solver_of)(wish, rows, 1000, 1e-6) == "direct"
    assert using(budget=Budget(1e11))(solver_of)(wish, rows, 10_000, 1e-6) == "cg"
    assert using(budget=Budget(1e11))(solver_of)(wish, rows, 3000, 1e-4) == "cg"
    assert using(budget=Budget(1e11))(solver_of)(wish, rows, 3000, 1e-11) == "direct"  # many steps
    assert using(budget=Budget(1.2e8))(solver_of)(wish, rows, 1000, 1e-6) == "cg"  # little memory
    assert fit_bytes("cg", 10_000, rows, 2) < 4e9 < fit_bytes("direct", 10_000, rows, 2)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("features", [2, 18])
def test_residual_moments_are_their_closed_form(name, features):
    rng = np.random.default_rng(0)
    X, Z = rng.random((90, features)), rng.random((30, features))
    coef, w, targets = rng.normal(size=(2, 30)), rng.random(90), rng.normal(size=(90, 2))
    kernel = make_kernel(name, X, 0.9, 2)
    K = kernel.cross(X, Z)
    expected = (w[:, None] * (targets - K @ coef.T)).T @ K
    np.testing.assert_allclose(
        kernel.product(Z, coef, 0.0).residual_moments(X, w, targets), expected, rtol=1e-11, atol=1e-10
    )


def test_a_product_that_skips_has_no_residual_moments():
    X = np.random.default_rng(0).random((5000, 2))
    product = make_kernel("gaussian", X, 0.01).product(X, np.ones((1, 5000)))
    with pytest.raises(ValueError, match="has no residual moments; make it with tolerance 0"):
        product.residual_moments(X[:5], np.ones(5), np.ones((5, 1)))


def test_the_inverse_is_that_of_the_normal_equations():
    X, _, w = rows_of(150, weighted=True)
    basis = make_basis(make_kernel("matern32", X, 0.7), X[:20])
    F = basis.features(X)
    factor = preconditioner(basis, 0.3, np.full(20, w.sum() / 20))
    normal = NormalEquations(basis, X, w, 0.3, factor)
    expected = np.linalg.solve(F.T @ (w[:, None] * F) + 0.3 * np.eye(20), F[:4].T).T
    np.testing.assert_allclose(conjugate_inverse(normal, F[:4], 1e-9), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("adapt", [0.0, 0.8])
def test_the_same_rows_are_named_either_way(adapt):
    X, y = make_peaks(2000, 2, weights=(1, 1), random_state=0)
    settings = {"n_centers": 200, "adapt": adapt, "bandwidth": 0.5, "penalty": 1e-6, "random_state": 0}
    assert not len(AdaptiveKernelRidge(solver="cg", **settings).fit(X, y).tuning_.dominant)
    y[7] += 1e4
    with pytest.warns(UserWarning, match="Rows 7"):
        assert AdaptiveKernelRidge(solver="cg", **settings).fit(X, y).tuning_.dominant[0] == 7


@pytest.mark.parametrize("bandwidth", [0.1, 0.2])
@pytest.mark.parametrize("seed", [2, 3])
def test_rows_that_the_estimated_factor_finds_too_weak_are_named_as_well(seed, bandwidth):
    X, y, _, settings = unequally_weighted()
    rng = np.random.default_rng(seed)
    y[rng.integers(800)] += rng.choice([3, 10, 30])
    settings |= {"bandwidth": bandwidth, "penalty": 1e-8, "random_state": seed}
    with pytest.warns(UserWarning, match="dominate the fit"):
        direct, found = (AdaptiveKernelRidge(solver=s, **settings).fit(X, y).tuning_ for s in ("direct", "cg"))
    assert found.dominant.tolist() == direct.dominant.tolist()
    np.testing.assert_allclose(found.influence, direct.influence, rtol=0.05)


def test_the_precision_told_is_true():
    """Smooth kernels and tiny penalties: what steps carry along is not what is left."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    Y = np.sin(4 * X[:, :1])
    basis = make_basis(make_kernel("matern52", X, 4.0), X[:100])
    w, ridge = np.ones(600), 600 * 1e-12
    normal = NormalEquations(basis, X, w, ridge, preconditioner(basis, ridge, np.full(len(basis.kept), 6.0)))
    beta, _, precision = conjugate_solve(normal, Y)
    left = normal.residual_moments(beta, Y, "") - ridge * beta
    start = normal.residual_moments(np.zeros_like(beta), Y, "")
    sizes = [np.sqrt(np.sum(v * cholesky_solve(normal.factor, v.copy()))) for v in (left, start)]
    assert precision == pytest.approx(sizes[0] / sizes[1], rel=1e-6)
