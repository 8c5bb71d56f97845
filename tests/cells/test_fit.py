import tracemalloc
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from skewridge.cells import fit as cells_fit
from skewridge.cells.fit import Cells, fit_bytes
from skewridge.cells.partition import random_partitions, rows_of_cells
from skewridge.execution.context import using
from skewridge.kernels import KERNELS
from skewridge.ridge.learn_scales import LearnedKernel
from skewridge.ridge.sample import Sample
from skewridge.two_levels.planning import LevelSize, bytes_per_row
from tests import naive
from tests.kernels import oracle

IN_CELLS = [name for name in KERNELS if name not in ("polynomial", "sobolev")]


@dataclass(frozen=True)
class CellSettings:
    """How cells of a test are made."""

    kernel: str = "laplacian"
    ridge: float = 0.01
    trend: float | np.ndarray = 1.0  # or one for every column of q
    seed: int = 0
    n_partitions: int = 4
    cell_size: int = 1200


class Fit(NamedTuple):
    """What a fit of cells gives."""

    model: Cells
    left_out: np.ndarray
    ridges: np.ndarray


def fit_cells(Z, Y, f, q=None, *, settings, groups=None):
    """Cells of rows that have been scaled."""
    trends = np.full(0 if q is None else q.shape[1], settings.trend)
    learned = LearnedKernel(np.ones(Z.shape[1]), settings.ridge, trends, np.empty(0))
    found = cells_fit.fit_cells(
        settings.kernel,
        Sample(Z, Y, f, f, groups, q),
        learned,
        seed=settings.seed,
        n_partitions=settings.n_partitions,
        cell_size=settings.cell_size,
    )
    return Fit(*found)


def some_rows(n, d=3, p=1, seed=0, k=1):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    q = np.column_stack([np.sin((j + 1) * Z[:, 0]) + 0.1 * rng.normal(size=n) + 5.0 for j in range(k)])
    Y = np.column_stack([2 * q[:, 0] + Z[:, -1] ** 2 + 0.3 * rng.normal(size=n) + j for j in range(p)])
    return Z, Y, rng.integers(1, 4, n).astype(float), q


def naive_estimate(name, Z, Y, f, q, c, tau, new, new_q):
    """Kernel ridge with a refitted mean: [G 1; 1' 0] [a; mu] = [y; 0], by an explicit solve."""
    n = len(Z)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = naive.gram(name, Z, Z) + tau * q @ q.T + c * np.diag(1 / f)
    system[n, n] = 0.0
    solution = np.linalg.solve(system, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return (naive.gram(name, new, Z) + tau * new_q @ q.T) @ solution[:n] + solution[n]


def naive_average(name, Z, Y, f, q, c, tau, new, new_q, partitions, members, without=None):
    """A plain loop over rows, partitions and cells; ``without`` leaves some rows out of every cell."""
    out = np.zeros((len(new), Y.shape[1]))
    cells = partitions.cells_of(new)
    for i in range(len(new)):
        for cell in cells[i]:
            own = members[cell]
            own = own if without is None else np.setdiff1d(own, without)
            out[i] += naive_estimate(name, Z[own], Y[own], f[own], q[own], c, tau, new[i : i + 1], new_q[i : i + 1])[0]
    return out / cells.shape[1]


def cells_of_fit(Z, settings):
    parts = random_partitions(Z, seed=settings.seed, n_partitions=settings.n_partitions, cell_size=settings.cell_size)
    return parts, rows_of_cells(parts.cells_of(Z), parts.n_cells, seed=settings.seed, cell_size=settings.cell_size)


@pytest.fixture(params=["compiled", "oracle"])
def loops(request, monkeypatch):
    """The compiled loops, and their oracle."""
    if request.param == "oracle":
        oracle.take_the_place_of_the_compiled_loops(monkeypatch)
    return request.param


@pytest.mark.parametrize("name", IN_CELLS)
@pytest.mark.parametrize("tau", [0.0, 0.7])
def test_one_cell_is_kernel_ridge_with_a_refitted_mean_and_a_trend(name, tau, loops):
    Z, Y, f, q = some_rows(40, p=2)
    new, _, _, new_q = some_rows(15, seed=1)
    fit = fit_cells(Z, Y, f, q, settings=CellSettings(name, ridge=0.05, trend=tau))
    for rows, trend in ((new, new_q), (Z, q)):
        expected = naive_estimate(name, Z, Y, f, q, 0.05, tau, rows, trend)
        np.testing.assert_allclose(fit.model.predict(rows, trend), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["laplacian", "matern32", "gaussian"])
@pytest.mark.parametrize("cell_size", [1200, 25])
@pytest.mark.parametrize("tau", [0.0, 3.0])
def test_leave_one_out_of_the_average_equals_refits_without_the_row(name, cell_size, tau):
    Z, Y, f, q = some_rows(70, p=2)
    settings = CellSettings(name, ridge=0.02, trend=tau, n_partitions=3, cell_size=cell_size, seed=4)
    fit = fit_cells(Z, Y, f, q, settings=settings)
    parts, members = cells_of_fit(Z, settings)
    expected = np.array(
        [naive_average(name, Z, Y, f, q, 0.02, tau, Z[[i]], q[[i]], parts, members, i)[0] for i in range(70)]
    )
    np.testing.assert_allclose(fit.left_out, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("cell_size", [1200, 15])
def test_leaving_groups_out_of_the_average_equals_refits_without_them(cell_size, loops):
    Z, Y, f, q = some_rows(40, p=2)
    groups, tau = np.minimum(np.arange(40) // 3, 9), 3.0  # threes, and a larger group of 13
    settings = CellSettings("laplacian", ridge=0.02, trend=tau, n_partitions=3, cell_size=cell_size, seed=4)
    fit = fit_cells(Z, Y, f, q, settings=settings, groups=groups)
    parts, members = cells_of_fit(Z, settings)
    expected = [
        naive_average(
            "laplacian", Z, Y, f, q, 0.02, tau, Z[[i]], q[[i]], parts, members, np.flatnonzero(groups == groups[i])
        )[0]
        for i in range(40)
    ]
    np.testing.assert_allclose(fit.left_out, expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(fit.model.coef, fit_cells(Z, Y, f, q, settings=settings).model.coef)


def test_groups_of_single_rows_change_no_bit():
    Z, Y, f, q = some_rows(70)
    settings = CellSettings(cell_size=25)
    single = fit_cells(Z, Y, f, q, settings=settings, groups=np.arange(70)[::-1])
    np.testing.assert_array_equal(single.left_out, fit_cells(Z, Y, f, q, settings=settings).left_out)


def test_a_group_that_fills_its_cells_is_predicted_by_the_mean_of_the_others():
    _, Y, f, _ = some_rows(60)
    Z = np.repeat([[100.0], [0.0]], 30, axis=0)  # two cells
    groups = np.repeat([0, 1, 2], [30, 15, 15])
    fit = fit_cells(Z, Y, f, settings=CellSettings(n_partitions=2, cell_size=30), groups=groups)
    mean = np.average(Y[30:], axis=0, weights=f[30:])
    np.testing.assert_allclose(fit.left_out[:30], np.repeat([mean], 30, axis=0))
    assert np.isfinite(fit.left_out).all()


@pytest.mark.parametrize("name", ["laplacian", "matern32"])
def test_every_first_estimate_has_a_trend_of_its_own(name):
    Z, Y, f, q = some_rows(70, p=2, k=2)
    new, _, _, new_q = some_rows(15, seed=1, k=2)
    tau = np.array([3.0, 0.4])
    settings = CellSettings(name, ridge=0.02, trend=tau, n_partitions=3, cell_size=25, seed=4)
    fit = fit_cells(Z, Y, f, q, settings=settings)
    parts, members = cells_of_fit(Z, settings)
    assert fit.model.slopes.shape == (parts.n_cells, 2, 2)
    expected = [naive_average(name, Z, Y, f, q, 0.02, tau, Z[[i]], q[[i]], parts, members, i)[0] for i in range(70)]
    np.testing.assert_allclose(fit.left_out, expected, rtol=0, atol=1e-10)
    predicted = naive_average(name, Z, Y, f, q, 0.02, tau, new, new_q, parts, members)
    np.testing.assert_allclose(fit.model.predict(new, new_q), predicted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", IN_CELLS)
@pytest.mark.parametrize("d", [3, 20])
def test_predictions_equal_a_loop_over_cells(name, d, loops):
    Z, Y, f, q = some_rows(90, d, p=2)
    new, _, _, new_q = some_rows(30, d, seed=1)
    settings = CellSettings(name, ridge=0.1, trend=0.5, cell_size=20, seed=1)
    model = fit_cells(Z, Y, f, q, settings=settings).model
    parts, members = cells_of_fit(Z, settings)
    for rows, trend in ((new * 2, new_q), (Z[:30], q[:30])):
        expected = naive_average(name, Z, Y, f, q, 0.1, 0.5, rows, trend, parts, members)
        np.testing.assert_allclose(model.predict(rows, trend), expected, rtol=0, atol=1e-10)


def test_cells_larger_than_a_tile_are_whole(loops):
    Z, Y, f, q = some_rows(1300, 2)
    settings = CellSettings(ridge=0.1, cell_size=1200, n_partitions=1)
    model = fit_cells(Z, Y, f, q, settings=settings).model
    one = fit_cells(Z[:1200], Y[:1200], f[:1200], q[:1200], settings=settings).model
    K = one.kernel.cross(Z[:9], Z[:1200])
    expected = K @ one.coef.T + one.means + q[:9] * one.slopes[0]
    np.testing.assert_allclose(one.predict(Z[:9], q[:9]), expected, rtol=0, atol=1e-10)
    assert model.rows.sizes.sum() == 1300


def test_rows_one_by_one_give_the_bits_of_all_together(loops):
    Z, Y, f, q = some_rows(300, 20)
    model = fit_cells(Z, Y, f, q, settings=CellSettings("matern32", cell_size=50)).model
    together = model.predict(Z, q)
    single = np.vstack([model.predict(Z[i : i + 1], q[i : i + 1]) for i in range(300)])
    if loops == "compiled":
        assert np.array_equal(single, together)
    np.testing.assert_allclose(single, together, rtol=0, atol=1e-12)


def test_a_row_of_frequency_two_is_the_row_twice_left_out_together():
    """One cell, so that the tree of twice as many rows is the same."""
    Z, Y, _, q = some_rows(30)
    f = np.where(np.arange(30) < 10, 2.0, 1.0)
    once = fit_cells(Z, Y, f, q, settings=CellSettings(ridge=0.03))
    twice = np.concatenate([np.arange(30), np.arange(10)])
    new, _, _, new_q = some_rows(9, seed=3)
    copied = fit_cells(Z[twice], Y[twice], np.ones(40), q[twice], settings=CellSettings(ridge=0.03))
    np.testing.assert_allclose(once.model.predict(new, new_q), copied.model.predict(new, new_q), rtol=0, atol=1e-10)
    for i in range(30):
        rest = twice[twice != i]
        expected = naive_estimate(
            *("laplacian", Z[rest], Y[rest], np.ones(len(rest)), q[rest], 0.03, 1.0, Z[[i]], q[[i]])
        )
        np.testing.assert_allclose(once.left_out[i], expected[0], rtol=0, atol=1e-10)


def test_several_outputs_equal_one_at_a_time():
    Z, Y, f, q = some_rows(200, p=3)
    settings = CellSettings(ridge=0.03, cell_size=60)
    whole = fit_cells(Z, Y, f, q, settings=settings)
    for j in range(3):
        one = fit_cells(Z, Y[:, [j]], f, q, settings=settings)
        np.testing.assert_allclose(whole.left_out[:, [j]], one.left_out, rtol=0, atol=1e-11)
        np.testing.assert_allclose(whole.model.predict(Z, q)[:, [j]], one.model.predict(Z, q), rtol=0, atol=1e-11)


def test_no_trend_is_a_trend_of_weight_zero():
    Z, Y, f, q = some_rows(150)
    without = fit_cells(Z, Y, f, settings=CellSettings(ridge=0.03, cell_size=60))
    zero = fit_cells(Z, Y, f, q, settings=CellSettings(ridge=0.03, cell_size=60, trend=0.0))
    assert without.model.slopes.shape[1] == 0
    np.testing.assert_allclose(without.left_out, zero.left_out, rtol=0, atol=1e-11)
    np.testing.assert_allclose(without.model.predict(Z), zero.model.predict(Z, q), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ["laplacian", "matern32"])
def test_the_same_bits_on_any_number_of_threads(name):
    Z, Y, f, q = some_rows(3000, 20, p=2)
    settings = CellSettings(name, ridge=0.03, cell_size=300)
    one, two = (using(n_jobs=n_jobs)(fit_cells)(Z, Y, f, q, settings=settings) for n_jobs in (1, 2))
    assert np.array_equal(one.left_out, two.left_out)
    assert np.array_equal(one.model.coef, two.model.coef)
    assert np.array_equal(one.model.means, two.model.means)


def test_a_large_trend_is_followed_wherever_q_is_centred():
    """Adding a constant to q changes the kernel and, the mean being refitted, not the estimate."""
    Z, Y, f, q = some_rows(80)
    settings = CellSettings(ridge=0.03, trend=100.0, cell_size=30)
    here, there = (fit_cells(Z, Y, f, q + shift, settings=settings) for shift in (0.0, 1000.0))
    np.testing.assert_allclose(here.left_out, there.left_out, rtol=0, atol=1e-7)


def test_equal_rows_beyond_the_cell_size_are_predicted_by_the_rows_that_were_drawn():
    rng = np.random.default_rng(0)
    Z, Y = np.zeros((500, 2)), rng.normal(size=(500, 1))
    settings = CellSettings(ridge=0.1, cell_size=100, n_partitions=2)
    fit = fit_cells(Z, Y, np.ones(500), settings=settings)
    members = fit.model.rows
    expected = np.zeros(500)
    for i in range(500):
        for cell in range(2):
            own = members[cell]
            expected[i] += Y[own[own != i], 0].mean() / 2  # equal rows: the refitted mean is the mean
    np.testing.assert_allclose(fit.left_out[:, 0], expected, rtol=0, atol=1e-10)


def test_rows_that_a_cell_was_not_fitted_to_follow_its_trend():
    _, Y, f, q = some_rows(60)
    Z = np.zeros((60, 2))
    settings = CellSettings(ridge=0.1, trend=2.0, cell_size=20, n_partitions=2)
    fit = fit_cells(Z, Y, f, q, settings=settings)
    parts, members = cells_of_fit(Z, settings)
    assert members.sizes.tolist() == [20, 20]
    expected = [
        naive_average("laplacian", Z, Y, f, q, 0.1, 2.0, Z[[i]], q[[i]], parts, members, i)[0] for i in range(60)
    ]
    np.testing.assert_allclose(fit.left_out, expected, rtol=0, atol=1e-10)


def test_a_singular_cell_raises_its_ridge_tenfold_until_it_factors():
    Z, Y, f, _ = some_rows(200)
    Z[150:] = Z[:1]  # fifty equal rows in one cell or two
    f[:] = 1.0
    settings = CellSettings("gaussian", ridge=1e-19, cell_size=100, n_partitions=1)
    fit = fit_cells(Z, Y, f, settings=settings)
    raised = fit.ridges / 1e-19
    assert raised.max() > 1.0
    np.testing.assert_allclose(np.log10(raised), np.round(np.log10(raised)), atol=1e-9)
    assert np.isfinite(fit.left_out).all()
    assert (fit_cells(Z, Y, f, settings=CellSettings("gaussian", ridge=0.1, cell_size=100)).ridges == 0.1).all()


def test_a_cell_that_no_ridge_makes_solvable_is_refused():
    Z, Y, f, _ = some_rows(20)
    Z[3, 0] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="kernel values are not finite"):
        fit_cells(Z, Y, f, settings=CellSettings())


@pytest.mark.parametrize("scale", [1e-150, 1e140])
def test_the_units_of_the_response_do_not_matter(scale):
    Z, Y, f, _ = some_rows(60)
    settings = CellSettings(cell_size=30)
    np.testing.assert_allclose(
        fit_cells(Z, Y * scale, f, settings=settings).left_out,
        fit_cells(Z, Y, f, settings=settings).left_out * scale,
        rtol=1e-9,
    )


def test_two_rows_are_enough():
    Z, Y, f, q = some_rows(2)
    fit = fit_cells(Z, Y, f, q, settings=CellSettings())
    np.testing.assert_allclose(fit.left_out[::-1], Y, atol=1e-10)  # the mean of the other row


@pytest.mark.parametrize("name", ["polynomial", "sobolev"])
def test_kernels_that_do_not_decay_are_refused_by_name(name):
    with pytest.raises(ValueError, match=rf"kernel must decay with distance for cells; got '{name}'"):
        fit_cells(*some_rows(20), settings=CellSettings(name))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_bytes_of_a_fit_are_what_it_holds(n_threads):
    Z, Y, f, q = some_rows(6000, 30)
    settings = CellSettings(cell_size=400)
    fit_cells(Z[:500], Y[:500], f[:500], q[:500], settings=settings)  # compile before measuring
    tracemalloc.start()
    fit = using(n_jobs=n_threads)(fit_cells)(Z, Y, f, q, settings=settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    stated = fit_bytes(6000, 30, n_threads=n_threads, cell_size=400)
    assert stated / 2 < peak < stated
    model = fit.model
    size = LevelSize(6000, 14, n_kernels=1, n_partitions=4, n_companions=1)  # 2 * 14 + 1 + 1 coordinates
    saved = sum(part.nbytes for part in (model.points, model.rows.order, model.coef, model.means, model.slopes))
    assert saved == pytest.approx(6000 * bytes_per_row(size), rel=0.02)


def test_a_kernel_may_go_by_its_alias():
    Z, Y, f, _ = some_rows(20)
    assert fit_cells(Z, Y, f, settings=CellSettings("rbf")).model.kernel.name == "gaussian"
