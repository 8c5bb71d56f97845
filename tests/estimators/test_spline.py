import csv
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.interpolate import make_smoothing_spline
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from skewridge import SmoothingSpline
from skewridge.datasets import make_peaks
from skewridge.response.slices import slice_response
from skewridge.splines.model import MARGIN

FIXTURES = Path(__file__).parents[1] / "fixtures"
X, Y = make_peaks(300, 2, weights=(1, 1), random_state=0)
TERMS = ["s(x0)", "s(x1)", "x0:s(x1)", "s(x0):x1", "s(x0):s(x1)"]
THETA = np.array([1.0, 2.0, 30.0, 20.0, 500.0])


@pytest.mark.filterwarnings("ignore:.* rows are too few")
@parametrize_with_checks(
    [
        SmoothingSpline(),
        SmoothingSpline("linear", "all", "adaptive", n_knots=15, theta="start"),
    ]
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def k2(x):
    return ((x - 0.5) ** 2 - 1 / 12) / 2


def k4(x):
    return ((x - 0.5) ** 4 - (x - 0.5) ** 2 / 2 + 7 / 240) / 24


def unit(X, like):
    """Features on the interval that exceeds the range by a twentieth on either side."""
    low, high = like.min(axis=0), like.max(axis=0)
    return ((X - low) / (high - low) + MARGIN) / (1 + 2 * MARGIN)


def dense_parts(A, B):
    """Free functions at A, and the kernel between A and B: two cubic splines that interact, by their formulas."""
    line = A - 0.5
    S = np.column_stack([np.ones(len(A)), line[:, 0], line[:, 1], line[:, 0] * line[:, 1]])
    R = [k2(a)[:, None] * k2(b) - k4(np.abs(a[:, None] - b)) for a, b in zip(A.T, B.T, strict=True)]
    L = [np.outer(a - 0.5, b - 0.5) for a, b in zip(A.T, B.T, strict=True)]
    terms = [R[0], R[1], L[0] * R[1], R[0] * L[1], R[0] * R[1]]
    return S, sum(t * K for t, K in zip(THETA, terms, strict=True))


def kkt(S, R, y, ridge):
    """The stationary point with a knot at every row: (R + ridge I) c + S d = y, S'c = 0."""
    n, m = S.shape
    left = np.block([[R + ridge * np.eye(n), S], [S.T, np.zeros((m, m))]])
    return np.split(np.linalg.solve(left, np.r_[y, np.zeros(m)]), [n])


@pytest.mark.parametrize("lam", [1e-6, 1e-3, 1.0, 1e3])
def test_one_dimension_agrees_with_scipy(lam):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 5, 150))
    y, new = np.sin(x) + 0.3 * rng.normal(size=150), np.linspace(-5, 7, 400)
    penalty = lam / (150 * (1.1 * np.ptp(x)) ** 3)
    model = SmoothingSpline(n_knots=150, penalty=penalty, random_state=5).fit(x[:, None], y)
    theirs = make_smoothing_spline(x, y, lam=lam)
    np.testing.assert_allclose(model.predict(x[:, None]), theirs(x), atol=1e-6)
    inside = (new >= x[0]) & (new <= x[-1])
    np.testing.assert_allclose(model.predict(new[inside, None]), theirs(new[inside]), atol=1e-6)
    ends = theirs(x[[0, -1]]), theirs(x[[0, -1]], 1)  # scipy goes on with cubics, a natural spline with lines
    for end, out in ((0, new < x[0]), (1, new > x[-1])):
        line = ends[0][end] + ends[1][end] * (new[out] - x[[0, -1]][end])
        np.testing.assert_allclose(model.predict(new[out, None]), line, atol=1e-6)


def test_weights_agree_with_scipy():
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 1, 100))
    y, w = np.exp(-x) + 0.1 * rng.normal(size=100), rng.uniform(0.5, 3, 100)
    model = SmoothingSpline(n_knots=100, penalty=1e-5).fit(x[:, None], y, w)
    theirs = make_smoothing_spline(x, y, w, lam=1e-5 * w.sum() * (1.1 * np.ptp(x)) ** 3)
    np.testing.assert_allclose(model.predict(x[:, None]), theirs(x), atol=1e-6)


@pytest.mark.parametrize("penalty", [1e-8, 1e-5, 1e-2])
def test_an_interaction_with_every_row_a_knot_is_the_dense_solution(penalty):
    model = SmoothingSpline(interactions="all", n_knots=300, penalty=penalty, theta=THETA).fit(X, Y)
    new = np.random.default_rng(1).random((50, 2))
    A, B = unit(X, X), unit(new, X)
    c, d = kkt(*dense_parts(A, A), Y, 300 * penalty)
    S, R = dense_parts(B, A)
    np.testing.assert_allclose(model.predict(new), S @ d + R @ c, atol=1e-6)
    np.testing.assert_allclose(model.null_coef_, d, atol=1e-5)


def test_few_knots_are_the_dense_least_squares_solution():
    rows = np.arange(0, 300, 10)
    model = SmoothingSpline(interactions="all", knots=rows, penalty=1e-5, theta=THETA).fit(X, Y)
    A = unit(X, X)
    S, R = dense_parts(A, A[rows])
    root = np.linalg.cholesky(R[rows] + 1e-15 * np.eye(30))
    design = np.block([[S, R], [np.zeros((30, 4)), np.sqrt(300 * 1e-5) * root.T]])
    solution = np.linalg.lstsq(design, np.r_[Y, np.zeros(30)], rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), np.hstack([S, R]) @ solution, atol=1e-7)
    np.testing.assert_array_equal(model.knot_rows_, rows)
    np.testing.assert_array_equal(model.knots_, X[rows])
    np.testing.assert_allclose(S @ model.null_coef_ + R @ model.coef_, model.predict(X), atol=1e-9)


def test_the_standard_deviation_is_the_bayesian_one():
    """With a knot at every row the posterior variance at the rows is sigma^2 A_ii (Wahba, 1983)."""
    model = SmoothingSpline(interactions="all", n_knots=300, penalty=1e-5, theta=THETA).fit(X, Y)
    S, R = dense_parts(unit(X, X), unit(X, X))
    fits = [kkt(S, R, e, 300 * 1e-5) for e in np.eye(300)]
    A = np.column_stack([R @ c + S @ d for c, d in fits])
    rss, left = np.sum((Y - A @ Y) ** 2), 300 - np.trace(A)
    assert model.dof_ == pytest.approx(np.trace(A), rel=1e-6)
    assert model.sigma2_ == pytest.approx(rss / left, rel=1e-6)
    assert model.gcv_ == pytest.approx(rss / 300 / (1 - 1.4 * np.trace(A) / 300) ** 2, rel=1e-6)
    _, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(std, np.sqrt(rss / left * np.diag(A)), rtol=1e-5)


def test_the_standard_deviation_covers_across_the_function():
    """Nychka (1988): averaged over the rows, about 95% of the truth is within 1.96 standard deviations."""
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Z = rng.random((150, 1))
        truth = np.sin(7 * Z[:, 0])
        model = SmoothingSpline(random_state=0).fit(Z, truth + 0.3 * rng.normal(size=150))
        mean, std = model.predict(Z, return_std=True)
        inside.append(np.mean(np.abs(mean - truth) < 1.96 * std))
    assert 0.9 < np.mean(inside) < 0.99


def read_gss(name):
    with (FIXTURES / f"gss_{name}.csv").open() as file:
        head = dict(line[2:].split(" ", 1) for line in (next(file) for _ in range(5)))
        rows = list(csv.DictReader(file))
    table = {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}
    features = np.column_stack([table[key] for key in table if key.startswith("x")])
    return {key: np.array(value.split(), dtype=float) for key, value in head.items() if key != "gss"}, features, table


@pytest.mark.parametrize(
    ("name", "spline", "pairs"),
    [("faithful", "cubic", None), ("ozone", ["linear", "cubic", "cubic"], [(1, 2)]), ("peaks", "cubic", "all")],
)
def test_predictions_match_gss(name, spline, pairs):
    head, features, table = read_gss(name)
    rows, y = np.flatnonzero(table["knot"]), table["y"]
    model = SmoothingSpline(spline, pairs, knots=rows).fit(features, y)
    mean, std = model.predict(features, return_std=True)
    assert np.abs(mean - table["fit"]).max() < 0.02 * y.std()
    assert np.abs(std - table["se"]).max() < 0.02 * y.std()
    assert model.gcv_ <= head["gcv"][0] * (1 + 1e-6)


@pytest.mark.parametrize(
    ("name", "spline", "pairs"),
    [("faithful", "cubic", None), ("ozone", ["linear", "cubic", "cubic"], [(1, 2)]), ("peaks", "cubic", "all")],
)
def test_at_the_penalty_and_weights_of_gss_the_fit_is_the_same(name, spline, pairs):
    head, features, table = read_gss(name)
    theta = head["theta"]
    theta[-3:-1] = theta[-3:-1][:: -1 if len(theta) > 1 else 1]  # gss has smooth by line first
    model = SmoothingSpline(
        spline, pairs, knots=np.flatnonzero(table["knot"]), penalty=head["penalty"][0], theta=theta
    ).fit(features, table["y"])
    mean, std = model.predict(features, return_std=True)
    np.testing.assert_allclose(mean, table["fit"], atol=1e-5 * table["y"].std())
    np.testing.assert_allclose(std, table["se"], rtol=1e-4)
    assert model.gcv_ == pytest.approx(head["gcv"][0], rel=1e-5)
    assert model.sigma2_ == pytest.approx(head["varht"][0], rel=1e-5)


def test_repeats_weights_and_order_change_no_bit():
    times = np.random.default_rng(0).integers(0, 4, 300)
    base = SmoothingSpline(interactions="all", random_state=0).fit(X, Y, times)
    again = np.random.default_rng(1).permutation(np.repeat(np.arange(300), times))
    repeated = SmoothingSpline(interactions="all", random_state=0).fit(X[again], Y[again])
    assert np.array_equal(base.predict(X), repeated.predict(X))
    assert base.gcv_ == repeated.gcv_


def test_threads_change_no_bit():
    big = np.random.default_rng(0).random((5000, 2))
    y = big[:, 0] * np.sin(5 * big[:, 1])
    one, two = (SmoothingSpline(interactions="all", random_state=0, n_jobs=n).fit(big, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    for a, b in zip(one.predict(big, return_std=True), two.predict(big, return_std=True), strict=True):
        assert np.array_equal(a, b)


def test_the_default_number_of_knots():
    rng = np.random.default_rng(0)
    for n, q in ((20, 20), (100, 30), (1000, 47)):
        model = SmoothingSpline(penalty=1e-3).fit(rng.random((n, 1)), rng.random(n))
        assert len(model.knots_) == len(model.coef_) == q == (min(n, max(30, int(np.ceil(10 * n ** (2 / 9))))))


def test_adaptive_knots_reach_the_rare_values():
    Z, y = make_peaks(2000, 2, random_state=0)
    cut = slice_response(y)
    rare = np.isin(cut.labels, np.argsort(cut.counts)[: len(cut) // 2])
    shares = [
        rare[SmoothingSpline(knots=knots, penalty=1e-3, theta="start", random_state=0).fit(Z, y).knot_rows_].mean()
        for knots in ("adaptive", "random")
    ]
    assert shares[0] > 5 * shares[1]


def test_knots_at_the_same_point_count_once():
    Z = np.repeat(np.arange(10.0), 30)[:, None]
    y = np.sin(Z[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=300)
    model = SmoothingSpline(random_state=0).fit(Z, y)
    assert len(np.unique(model.knots_)) == len(model.knots_) <= 10
    assert model.score(Z, y) > 0.9


def test_what_is_additive_gets_no_interaction():
    rng = np.random.default_rng(0)
    Z = rng.random((400, 2))
    y = np.sin(6 * Z[:, 0]) + Z[:, 1] ** 2 + 0.1 * rng.normal(size=400)
    model = SmoothingSpline(interactions="all", random_state=0).fit(Z, y)
    assert model.terms_ == TERMS
    assert model.free_terms_ == ["1", "x0", "x1", "x0:x1"]
    grid = rng.random((200, 2))
    error = model.predict(grid) - np.sin(6 * grid[:, 0]) - grid[:, 1] ** 2
    assert np.sqrt(np.mean(error**2)) < 0.05
    alone = SmoothingSpline(random_state=0).fit(Z, y)
    assert alone.dof_ - 0.5 < model.dof_ < alone.dof_ + 8


def test_the_search_lowers_gcv():
    start, auto = (SmoothingSpline(interactions="all", theta=t, random_state=0).fit(X, Y) for t in ("start", "auto"))
    assert auto.gcv_ < start.gcv_
    assert start.n_iter_ == 0 < auto.n_iter_


def test_a_larger_alpha_is_smoother():
    dofs = [SmoothingSpline(alpha=alpha, random_state=0).fit(X, Y).dof_ for alpha in (1.0, 1.4, 3.0)]
    assert dofs[0] > dofs[1] > dofs[2]


def test_linear_splines_are_constant_beyond_the_range_and_piecewise_linear_within():
    x = np.linspace(0, 1, 40)[:, None]
    y = np.abs(x[:, 0] - 0.5)
    model = SmoothingSpline("linear", n_knots=40, penalty=1e-7).fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-2)
    assert np.ptp(model.predict([[1.06], [2.0], [9.0]])) == pytest.approx(0, abs=1e-9)
    assert np.ptp(np.diff(model.predict(np.linspace(x[3, 0], x[4, 0], 9)[:, None]))) < 1e-6


def test_constant_features_take_no_part():
    wide = np.column_stack([np.full(300, 3.0), X, np.full(300, 1e9)])
    pairs = [(0, 1), (1, 2)]
    model = SmoothingSpline(interactions=pairs, random_state=0).fit(wide, Y)
    inert = [("x0" in t or "x3" in t) for t in model.terms_]
    assert (model.theta_[inert] == 0).all()
    assert (model.theta_[~np.array(inert)] > 0).all()
    assert np.isfinite(model.predict(wide)).all()
    moved = wide.copy()
    moved[:, 0] = 77.0
    assert np.array_equal(model.predict(moved), model.predict(wide))
    nothing = SmoothingSpline().fit(np.ones((300, 2)), Y)
    np.testing.assert_allclose(nothing.predict([[5.0, 6.0]]), Y.mean())


def test_one_row_and_two_rows():
    one = SmoothingSpline().fit([[1.0, 2.0]], [3.0])
    mean, std = one.predict([[1.0, 2.0], [7.0, 8.0]], return_std=True)
    assert np.array_equal(mean, [3.0, 3.0])
    assert np.isnan(std).all()
    with pytest.warns(UserWarning, match="2 rows are too few to choose a penalty by GCV beside 2 free functions"):
        two = SmoothingSpline().fit([[1.0], [2.0]], [3.0, 5.0])
    np.testing.assert_allclose(two.predict([[1.0], [2.0], [4.0]]), [3, 5, 9], atol=1e-6)


def test_constant_y():
    model = SmoothingSpline(interactions="all", random_state=0).fit(X, np.full(300, 7.0))
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, 7.0, rtol=1e-14)
    np.testing.assert_allclose(std, 0.0, atol=1e-12)


def test_a_line_is_left_a_line():
    model = SmoothingSpline(random_state=0).fit(X, 3 * X[:, 0] - 2 * X[:, 1])
    new = np.array([[5.0, -3.0]])
    np.testing.assert_allclose(model.predict(new), [21.0], atol=1e-6)


def test_binary_and_duplicate_features():
    rng = np.random.default_rng(0)
    flag = rng.integers(0, 2, 300)
    wide = np.column_stack([X[:, 0], flag, X[:, 0]])
    model = SmoothingSpline(interactions="all", random_state=0).fit(wide, Y + flag)
    assert model.score(wide, Y + flag) > 0.8


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e120])
def test_predictions_follow_the_scale_of_x_and_y(scale):
    given = {"interactions": "all", "knots": np.arange(0, 300, 7)}  # drawn ones depend on the units
    base, spread = SmoothingSpline(**given).fit(X, Y).predict(X, return_std=True)
    mean, std = SmoothingSpline(**given).fit(X * scale, Y * scale).predict(X * scale, return_std=True)
    np.testing.assert_allclose(mean / scale, base, atol=1e-6)
    np.testing.assert_allclose(std / scale, spread, rtol=1e-5)


def test_points_out_of_all_bounds_are_refused():
    model = SmoothingSpline(interactions="all", random_state=0).fit(X * 1e-200, Y)
    with pytest.raises(ValueError, match="The spline overflows at some of these points"):
        model.predict([[1e149, 1e149]])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"spline": "quintic"}, ValueError, "spline must be one of 'cubic', 'linear'; got 'quintic'"),
        ({"spline": ["cubic"]}, ValueError, "one of them for each of 2 features; got"),
        (
            {"interactions": [(0, 2)]},
            ValueError,
            r"column numbers from 0 to 1, or of names of a frame's columns; got \(0, 2\)",
        ),
        ({"knots": "even"}, ValueError, "knots must be one of 'random', 'adaptive'; got 'even'"),
        ({"knots": [0, 300]}, ValueError, "row numbers of X, each of positive sample_weight"),
        ({"knots": [0.5]}, ValueError, "row numbers of X"),
        ({"knots": []}, ValueError, "row numbers of X"),
        ({"knots": [0, 1], "n_knots": 2}, ValueError, "n_knots must be 'auto' where knots are given as rows; got 2"),
        ({"n_knots": 0}, ValueError, "n_knots must be an integer >= 1 or 'auto'; got 0"),
        ({"n_knots": 2.5}, TypeError, "n_knots must be an integer"),
        ({"slices": "many"}, ValueError, "slices must be one of"),
        ({"penalty": 0.0}, ValueError, r"penalty must be a number in \]0, inf\[ or 'auto'; got 0.0"),
        ({"penalty": "cv"}, ValueError, "penalty must be one of 'auto'; got 'cv'"),
        ({"theta": "end"}, ValueError, "theta must be one of 'auto', 'start'; got 'end'"),
        ({"theta": [1.0]}, ValueError, r"a nonnegative number for each of the terms s\(x0\), s\(x1\); got \[1.0\]"),
        ({"theta": [1.0, -1.0]}, ValueError, "a nonnegative number for each"),
        ({"theta": [1.0, np.nan]}, ValueError, "a nonnegative number for each"),
        ({"alpha": -1}, ValueError, r"alpha must be a number in \[0, inf\[; got -1"),
        ({"memory_limit": "1kB"}, MemoryError, "2 terms with 36 knots need .* memory_limit is 1 kB"),
        ({"n_jobs": 1.5}, TypeError, "n_jobs must be an integer"),
        ({"verbose": "a"}, TypeError, "verbose must be an integer >= 0"),
    ],
)
def test_bad_parameters(parameters, error, message):
    model = SmoothingSpline(**parameters)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("X_bad", "y_bad", "message"),
    [
        (np.where(X > 0.9, np.nan, X), Y, "Input X contains NaN"),
        (X, np.where(Y > 0.1, np.inf, Y), "Input y contains infinity"),
        (X[:0], Y[:0], "Found array with 0 sample"),
        (X, np.c_[Y, Y], r"y must have one column; got 2\. Wrap the estimator"),
        (np.array([["a", "b"]] * 300), Y, "could not convert string to float"),
        (X, Y * 1e160, "y must stay below"),
    ],
)
def test_bad_data(X_bad, y_bad, message):
    with pytest.raises(ValueError, match=message):
        SmoothingSpline().fit(X_bad, y_bad)


def test_rows_without_weight_are_no_knots():
    with pytest.raises(ValueError, match="each of positive sample_weight"):
        SmoothingSpline(knots=[0, 1]).fit(X, Y, np.r_[0.0, np.ones(299)])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_name_the_terms(frame):
    table = frame({"lat": X[:, 0], "lon": X[:, 1]})
    model = SmoothingSpline(interactions=[(0, 1)], random_state=0).fit(table, Y)
    assert model.terms_ == [t.replace("x0", "lat").replace("x1", "lon") for t in TERMS]
    plain = SmoothingSpline(interactions=[(0, 1)], random_state=0).fit(X, Y)
    assert np.array_equal(model.predict(table), plain.predict(X))
    named = SmoothingSpline(interactions=[("lon", "lat")], random_state=0).fit(table, Y)
    assert np.array_equal(named.predict(table), plain.predict(X))
    with pytest.raises(ValueError, match=r"names of a frame's columns; got \('lon', 'height'\)"):
        SmoothingSpline(interactions=[("lon", "height")]).fit(table, Y)


def test_other_dtypes_read_only_and_strided_arrays():
    single = X.astype(np.float32)
    wide, y = np.repeat(single, 2, axis=1)[:, ::2], Y.copy()
    wide.flags.writeable = y.flags.writeable = False
    model = SmoothingSpline(random_state=0).fit(wide, y)
    double = clone(model).fit(single.astype(float), Y)
    assert np.array_equal(model.predict(wide), double.predict(single.astype(float)))
    whole = (X * 100).astype(int)
    assert np.isfinite(SmoothingSpline(random_state=0).fit(whole, Y).predict(whole)).all()


@pytest.mark.parametrize("spread", [1, 4, 8])
def test_close_knots_lose_no_digits_of_the_fit(spread):
    """A feature with a long tail: nearly all knots are within a tiny part of the interval."""
    rng = np.random.default_rng(0)
    Z = rng.lognormal(0, spread, (300, 2))
    y = np.log(Z[:, 0]) + 0.1 * rng.normal(size=300)
    model = SmoothingSpline(interactions="all", random_state=5).fit(Z, y)
    rss = np.sum((y - model.predict(Z)) ** 2)
    assert rss == pytest.approx(model.sigma2_ * (300 - model.dof_), rel=1e-5)


def test_a_search_that_does_not_end_is_told(monkeypatch):
    monkeypatch.setattr("skewridge.splines.fit.MOST_STEPS", 2)
    with pytest.warns(UserWarning, match="The search for theta ended after 2 steps, before GCV settled"):
        SmoothingSpline(interactions="all", random_state=0).fit(X, Y)


def test_a_penalty_that_rounding_cannot_tell_from_none_interpolates():
    with pytest.warns(UserWarning, match=r"penalty=1e-300 is below what rounding can tell from none.* was used"):
        model = SmoothingSpline(interactions="all", n_knots=300, penalty=1e-300, theta=THETA).fit(X, Y)
    assert 1e-300 < model.penalty_ < 1e-12
    np.testing.assert_allclose(model.predict(X), Y, atol=1e-3)


def test_a_given_penalty_means_the_same_with_and_without_interactions():
    """Chosen weights keep the size of the sum of the kernels, whatever the sizes of the terms' own."""
    rng = np.random.default_rng(0)
    Z = rng.random((400, 2))
    y = np.sin(6 * Z[:, 0]) + np.cos(5 * Z[:, 1]) + 0.1 * rng.normal(size=400)
    rows = np.arange(0, 400, 8)
    alone, both = (SmoothingSpline("cubic", pairs, knots=rows, penalty=1e-5).fit(Z, y) for pairs in (None, "all"))
    assert both.dof_ == pytest.approx(alone.dof_, rel=0.3)
    A = unit(Z[rows], Z)
    kernels = [k2(a) ** 2 - k4(0.0) for a in A.T]
    assert alone.theta_ @ np.sum(kernels, axis=1) == pytest.approx(np.sum(kernels))
    one = SmoothingSpline(penalty=1e-5).fit(Z[:, :1], y)
    assert one.theta_.tolist() == [1.0]


def test_given_weights_of_constant_features_are_not_used():
    wide = np.column_stack([X[:, 0], np.ones(300), X[:, 1]])
    model = SmoothingSpline(theta=[1.0, 2.0, 3.0], random_state=0).fit(wide, Y)
    assert model.theta_.tolist() == [1.0, 0.0, 3.0]


def test_intervals_cover_unseen_rows():
    rng = np.random.default_rng(0)
    X, X_new = rng.random((800, 2)), rng.random((2000, 2))

    def noisy(X):
        return np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(len(X))

    model = SmoothingSpline(random_state=0).fit(X, noisy(X))
    y_new, (low, high) = noisy(X_new), model.predict_interval(X_new, coverage=0.9)
    assert 0.86 < np.mean((low <= y_new) & (y_new <= high)) < 0.94
    assert model.calibration_.source == "cross-fitted"


def test_notebooks_show_the_terms():
    X = np.random.default_rng(0).random((50, 2))
    shown = SmoothingSpline(random_state=0).fit(X, X[:, 0])._repr_html_()
    assert "What was fitted" in shown
    assert "s(x0)" in shown
