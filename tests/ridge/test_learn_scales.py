import numpy as np
import pytest

from skewridge.features.forms import learn_forms
from skewridge.kernels import KERNELS, Kernel, make_kernel
from skewridge.response.candidates import collapse_rows
from skewridge.ridge import learn_scales as module
from skewridge.ridge.learn_scales import START_RIDGE, learn_scales
from skewridge.ridge.sample import Sample
from tests.ridge.test_leave_one_out import left_out

MATERN, LAPLACIAN = Kernel("matern32", bandwidth=1.0), Kernel("laplacian", bandwidth=1.0)


def peaks(n, d=4, noise=0.1, seed=0):
    """A response of the first two features."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    y = np.exp(-2 * (Z[:, 0] - 1) ** 2) + 0.3 * Z[:, 1] + noise * rng.normal(size=n)
    return Z, y[:, None]


def learned_of(kernel, Z, Y, frequencies=None, weights=None, groups=None, Q=None, **more):
    frequencies = np.ones(len(Z)) if frequencies is None else frequencies
    sample = Sample(Z, Y, frequencies, frequencies if weights is None else weights, groups, Q)
    return learn_scales(kernel, sample, **more)


def risk(kernel, Z, Y, found):
    return left_out(kernel, Z * found.scales, Y, found.ridge).loss / Y.var()


@pytest.mark.parametrize("kernel", [MATERN, LAPLACIAN])
@pytest.mark.parametrize("local", [False, True])
def test_useful_features_get_the_largest_scales_and_new_rows_gain(kernel, local):
    Z, Y = peaks(1200)
    found = learned_of(kernel, Z, Y, seed=0, local=local, batch_size=150)
    start = learned_of(kernel, Z, Y, seed=0, n_steps=0)
    assert found.learned
    assert np.isfinite(found.losses).sum() == 100
    assert not start.learned
    assert found.scales[:2].min() > 2 * found.scales[2:].max()
    new = peaks(400, seed=1)
    assert risk(kernel, *new, found) < 0.75 * risk(kernel, *new, start)


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_is_learned(name):
    Z, Y = peaks(150, d=2)
    kernel = make_kernel(name, Z, None if name in ("polynomial", "sobolev") else 2.0, 2)
    found = learned_of(kernel, Z, Y, seed=0, n_steps=30)
    start = learned_of(kernel, Z, Y, seed=0, n_steps=0)
    assert np.isfinite(found.losses).sum() == 30
    assert risk(kernel, Z, Y, found) < risk(kernel, Z, Y, start)
    assert np.all(found.scales == 1.0) == (name in ("polynomial", "sobolev"))


def test_the_bandwidth_only_multiplies_the_scales():
    Z, Y = peaks(200)
    one = learned_of(MATERN, Z, Y, seed=0, n_steps=20)
    four = learned_of(Kernel("matern32", bandwidth=4.0), Z, Y, seed=0, n_steps=20)
    np.testing.assert_allclose(four.scales, 4.0 * one.scales, rtol=1e-9)


def test_a_useful_trend_is_learned():
    Z, Y = peaks(500)
    q = Y + 0.01 * np.random.default_rng(1).normal(size=Y.shape)
    found = learned_of(MATERN, Z, Y, seed=0, Q=q / q.std(), batch_size=150)
    assert found.losses[-1] < 1e-2
    assert found.trends.shape == (1,)
    assert found.trends[0] > 0.0
    assert learned_of(MATERN, Z, Y, seed=0, n_steps=3).trends.shape == (0,)


def test_outputs_share_what_is_learned_and_constant_ones_are_ignored():
    Z, Y = peaks(300)
    once = learned_of(MATERN, Z, Y, seed=0, n_steps=25)
    both = np.hstack([Y, np.full_like(Y, 7.0), 1e6 * Y])
    found = learned_of(MATERN, Z, both, seed=0, n_steps=25)
    np.testing.assert_allclose(found.scales, once.scales, rtol=1e-7)


@pytest.mark.parametrize("local", [False, True])
def test_the_order_and_the_copies_of_rows_do_not_matter(local):
    X, Y = peaks(500)
    w = np.random.default_rng(2).integers(1, 4, 500).astype(float)
    copies = np.random.default_rng(3).permutation(np.repeat(np.arange(500), w.astype(int)))

    def learned(X, Y, w):
        rows = collapse_rows(X, Y, w, seed=0)
        Z = learn_forms(X[rows.rows], rows.frequencies)(X[rows.rows])
        more = {"frequencies": rows.frequencies, "n_steps": 40, "batch_size": 100}
        return learned_of(LAPLACIAN, Z, rows.Y, seed=0, local=local, **more)

    here, there = learned(X, Y, w), learned(X[copies], Y[copies], np.ones(len(copies)))
    np.testing.assert_allclose(there.scales, here.scales, rtol=1e-6)
    assert there.ridge == pytest.approx(here.ridge, rel=1e-6)
    order = np.random.default_rng(4).permutation(500)
    moved = learned(X[order], Y[order], w[order])
    np.testing.assert_array_equal(moved.scales, here.scales)
    np.testing.assert_array_equal(moved.losses, here.losses)


@pytest.mark.parametrize("size", [1e-200, 1e-5, 1e150])
def test_units_of_the_response_do_not_matter(size):
    Z, Y = peaks(200)
    here, there = (learned_of(MATERN, Z, y, seed=0, n_steps=20) for y in (Y, Y * size))
    np.testing.assert_allclose(there.scales, here.scales, rtol=1e-6)
    np.testing.assert_allclose(there.losses, here.losses, rtol=1e-6)


def test_loss_weights_decide_what_is_learned():
    rng = np.random.default_rng(0)
    Z, left = rng.normal(size=(600, 2)), np.arange(600) < 300
    Y = np.where(left, np.sin(2 * Z[:, 0]), np.sin(2 * Z[:, 1]))[:, None]
    Z = np.column_stack([Z, left * 10.0])
    for side, best in ((left, 0), (~left, 1)):
        found = learned_of(MATERN, Z, Y, seed=0, weights=side * 1.0, batch_size=200)
        assert np.argmax(found.scales[:2]) == best


@pytest.mark.parametrize(("local", "counted"), [(False, 60), (True, 30)])
def test_all_rows_of_a_batch_count_and_the_nearer_half_of_a_ball(local, counted, monkeypatch):
    Z, Y = peaks(300)
    seen, real = [], module.leave_one_out

    def watched(kernel, sample, ridge, trends):
        seen.append(sample.loss_weights)
        return real(kernel, sample, ridge, trends)

    monkeypatch.setattr(module, "leave_one_out", watched)
    learned_of(MATERN, Z, Y, seed=0, local=local, batch_size=60, n_steps=3)
    for weights in seen:
        np.testing.assert_array_equal(weights, np.arange(60) < counted)


def test_weights_that_are_mostly_zero_skip_steps():
    Z, Y = peaks(1000)
    w = (np.arange(1000) < 3) * 1.0
    found = learned_of(MATERN, Z, Y, seed=0, weights=w, batch_size=50, n_steps=30)
    assert 0 < np.isfinite(found.losses).sum() < 30
    assert np.isfinite(found.scales).all()


def is_the_start(found, kernel, Z, Y):
    start = learned_of(kernel, Z, Y, seed=0, n_steps=0)
    assert not found.learned
    assert np.isfinite(found.losses).sum() == 0
    np.testing.assert_array_equal(found.scales, start.scales)
    assert found.ridge == start.ridge == pytest.approx(START_RIDGE)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("Y", [np.full((50, 1), 0.1), np.zeros((50, 2)), 1e150 * np.ones((50, 1))])
def test_a_constant_response_leaves_the_start_and_says_so(local, Y):
    Z = np.random.default_rng(0).normal(size=(50, 3))
    is_the_start(learned_of(MATERN, Z, Y, seed=0, local=local), MATERN, Z, Y)


@pytest.mark.parametrize("local", [False, True])
def test_one_row_leaves_the_start(local):
    Z, Y = np.ones((1, 3)), np.ones((1, 1))
    is_the_start(learned_of(MATERN, Z, Y, seed=0, local=local), MATERN, Z, Y)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_few_rows_are_learned_from_without_harm(n, local):
    Z, Y = peaks(n)
    for kernel in (MATERN, LAPLACIAN):
        found = learned_of(kernel, Z, Y, seed=0, local=local)
        assert np.isfinite(found.scales).all()
        assert np.isfinite(found.losses).sum() == 100


@pytest.mark.parametrize("local", [False, True])
def test_two_rows_teach_nothing(local):
    Z, Y = peaks(2)  # each is predicted by the other, whatever the scales
    found = learned_of(MATERN, Z, Y, seed=0, local=local)
    start = learned_of(MATERN, Z, Y, seed=0, n_steps=0)
    np.testing.assert_allclose(found.scales, start.scales, rtol=1e-5)


@pytest.mark.parametrize("local", [False, True])
def test_constant_features_keep_their_scale_and_change_nothing(local):
    Z, Y = peaks(300)
    flat = np.column_stack([Z, np.full(300, 3.0)])
    wide, narrow = (learned_of(MATERN, X, Y, seed=0, local=local, n_steps=20) for X in (flat, Z))
    assert wide.scales[4] == pytest.approx(learned_of(MATERN, flat, Y, seed=0, n_steps=0).scales[4], rel=1e-12)
    np.testing.assert_allclose(wide.scales[:4], narrow.scales, rtol=1e-9)


@pytest.mark.parametrize("shape", [(60, 0), (60, 3)])
def test_features_that_say_nothing_at_all(shape):
    Y = np.random.default_rng(0).normal(size=(60, 1))
    found = learned_of(MATERN, np.zeros(shape), Y, seed=0, n_steps=10)
    assert np.isfinite(found.losses).sum() == 10
    np.testing.assert_array_equal(found.scales, np.ones(shape[1]))


@pytest.mark.parametrize("local", [False, True])
def test_one_response_among_thousands(local):
    Z, Y = np.random.default_rng(0).normal(size=(3000, 3)), np.zeros((3000, 1))
    Y[1234] = 1.0
    found = learned_of(MATERN, Z, Y, seed=0, local=local, batch_size=60, n_steps=30)
    assert np.isfinite(found.losses).sum() == 30
    assert np.isfinite(found.scales).all()
    assert module.RIDGES[0] <= found.ridge <= module.RIDGES[1]


@pytest.mark.parametrize("local", [False, True])
def test_an_almost_constant_binary_column(local):
    Z, Y = peaks(1000, d=2)
    rare = np.zeros((1000, 1))
    rare[17] = 1000.0**0.5  # standardised
    wide = np.hstack([Z, rare])
    found = learned_of(MATERN, wide, Y, seed=0, local=local, batch_size=80, n_steps=40)
    assert np.isfinite(found.losses).sum() == 40
    alone = learned_of(MATERN, rare, Y, seed=0, local=local, batch_size=80, n_steps=10)
    assert np.isfinite(found.scales).all()
    assert np.isfinite(alone.scales).all()


def test_duplicates_that_were_not_collapsed_are_survived():
    Z, Y = peaks(60)
    twice = np.repeat(np.arange(60), 4)
    found = learned_of(MATERN, Z[twice], Y[twice], seed=0, n_steps=60)
    assert np.isfinite(found.losses).sum() > 30
    assert module.RIDGES[0] <= found.ridge


def test_a_singular_batch_raises_the_ridge(monkeypatch):
    Z, Y = np.zeros((300, 2)), np.random.default_rng(0).normal(size=(300, 1))  # a matrix of ones
    monkeypatch.setattr(module, "START_RIDGE", 1e-16)
    monkeypatch.setattr(module, "RIDGES", (1e-18, 30.0))
    found = learned_of(MATERN, Z, Y, seed=0)
    assert np.isnan(found.losses[0])
    assert found.learned
    assert found.ridge > 1e-16 * np.exp(module.RAISE)


def test_steps_that_fail_are_skipped_and_raise_the_ridge(monkeypatch):
    Z, Y = peaks(120)
    ridges, real = [], module.leave_one_out

    def failing(kernel, sample, ridge, trends):
        ridges.append(ridge)
        if len(ridges) <= 3:
            raise np.linalg.LinAlgError("not positive")
        return real(kernel, sample, ridge, trends)

    monkeypatch.setattr(module, "leave_one_out", failing)
    found = learned_of(MATERN, Z, Y, seed=0, n_steps=10)
    np.testing.assert_allclose(ridges[:4], START_RIDGE * np.exp([0.0, 0.5, 1.0, 1.5]))
    np.testing.assert_array_equal(np.isnan(found.losses), np.arange(10) < 3)
    assert np.isfinite(found.losses).sum() == 7


def test_no_usable_step_leaves_the_start_and_says_so(monkeypatch):
    Z, Y = peaks(50)

    def failing(*args, **more):
        raise np.linalg.LinAlgError("not finite")

    monkeypatch.setattr(module, "leave_one_out", failing)
    is_the_start(learned_of(MATERN, Z, Y, seed=0, n_steps=20), MATERN, Z, Y)


def test_late_steps_that_fail_leave_the_last_that_was_used(monkeypatch):
    Z, Y = peaks(80)
    calls, real = [], module.leave_one_out

    def failing(*args, **more):
        calls.append(1)
        if len(calls) > 4:
            raise np.linalg.LinAlgError("not finite")
        return real(*args, **more)

    monkeypatch.setattr(module, "leave_one_out", failing)
    found = learned_of(MATERN, Z, Y, seed=0, n_steps=20)
    assert np.isfinite(found.losses).sum() == 4
    assert found.ridge != START_RIDGE


def test_threads_of_blas_do_not_matter():
    from threadpoolctl import threadpool_limits

    Z, Y = peaks(300)
    found = []
    for n in (1, 2):
        with threadpool_limits(n):
            found.append(learned_of(MATERN, Z, Y, seed=0, n_steps=10).scales)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("kernel", [MATERN, LAPLACIAN])
def test_a_common_scale_moves_all_scales_as_one(kernel):
    Z, Y = peaks(300, d=2)
    initial = np.array([1.0, 2.0])
    start, found, again = (
        learned_of(kernel, X, Y, seed=0, initial_scales=initial, common_scale=True, n_steps=steps)
        for X, steps in ((Z, 0), (Z, 40), (2.0 * Z, 40))
    )
    factor = found.scales / start.scales
    np.testing.assert_allclose(factor, factor[0], rtol=1e-12)
    np.testing.assert_allclose(2.0 * again.scales, found.scales, rtol=1e-9)
    assert risk(kernel, Z, Y, found) < risk(kernel, Z, Y, start)


def test_a_hint_moves_the_start_half_way_and_no_unit_counts():
    Z = np.random.default_rng(0).normal(size=(500, 3))
    Y = Z[:, :1]
    equal = learned_of(MATERN, Z, Y, seed=0, n_steps=0).scales
    for unit in (1.0, 1e-9):
        found = learned_of(MATERN, Z, Y, seed=0, n_steps=0, initial_scales=unit * np.array([16.0, 1.0])).scales
        assert found / found[2] == pytest.approx([2.0, 0.5, 1.0])  # a third feature that the hint does not know
    assert found.min() < equal[0] < found.max()  # the median distance is 1 again
    none = learned_of(MATERN, Z, Y, seed=0, n_steps=0, initial_scales=np.zeros(3)).scales
    np.testing.assert_array_equal(none, equal)
    far = learned_of(MATERN, Z, Y, seed=0, n_steps=0, initial_scales=np.array([1.0, 0.0, 1e-3])).scales
    assert far[1] == far[2] > 0.0


def test_with_a_hint_balls_find_two_columns_among_twenty():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(4000, 22))
    Y = np.sin(6 * Z[:, :1]) * np.cos(5 * Z[:, 1:2]) + 0.1 * rng.normal(size=(4000, 1))
    hint = np.append([4.0, 4.0], np.full(20, 0.1))
    errors = [
        np.nanmean(learned_of(MATERN, Z, Y, seed=0, local=True, initial_scales=own).losses[-20:])
        for own in (None, hint)
    ]
    assert errors[1] < 0.1 < 0.5 < errors[0]
