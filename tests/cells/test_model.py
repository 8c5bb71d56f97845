import numpy as np
import pytest

from tests.cells.test_fit import CellSettings, fit_cells


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    Z, q = rng.normal(size=(120, 3)), rng.normal(size=(120, 2))
    Y = np.column_stack([Z[:, 0] + q[:, 0], Z[:, 1]])
    return fit_cells(Z, Y, np.ones(120), q, settings=CellSettings(cell_size=40)).model, Z, q


@pytest.mark.parametrize("kernel", ["laplacian", "matern32", "gaussian"])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 17])
def test_rows_have_the_same_bits_alone_and_beside_any_others(kernel, width):
    """Rows of a cell are predicted two by two, an odd one with itself; a naive sum agrees."""
    rng = np.random.default_rng(width)
    Z, Y = rng.normal(size=(90, width)), rng.normal(size=(90, 2))
    model = fit_cells(Z, Y, np.ones(90), settings=CellSettings(kernel, cell_size=30)).model
    new = rng.normal(size=(41, width))
    together = model.predict(new)
    assert np.array_equal(together, np.vstack([model.predict(new[i : i + 1]) for i in range(41)]))
    assert np.array_equal(together[::-1], model.predict(new[::-1]))
    naive = np.zeros((41, 2))
    for i, cells in enumerate(model.partitions.cells_of(new)):
        for cell in cells:
            own = slice(*model.rows.starts[cell : cell + 2])
            values = model.kernel.cross(new[i : i + 1], model.points[model.rows[cell]])
            naive[i] += (model.means[cell] + values @ model.coef[:, own].T)[0] / len(cells)
    np.testing.assert_allclose(together, naive, rtol=1e-10, atol=1e-10)


def test_q_is_needed_where_there_is_a_trend_and_refused_where_there_is_none(fitted):
    model, Z, q = fitted
    with pytest.raises(ValueError, match=r"predict needs q of shape \(120, 2\); got \(120, 0\)"):
        model.predict(Z)
    with pytest.raises(ValueError, match=r"predict needs q of shape \(120, 2\); got \(119, 2\)"):
        model.predict(Z, q[1:])
    plain = fit_cells(Z, Z[:, :1], np.ones(120), settings=CellSettings(cell_size=40)).model
    with pytest.raises(ValueError, match=r"predict needs q of shape \(120, 0\); got \(120, 2\)"):
        plain.predict(Z, q)


def test_rows_of_another_width_are_refused(fitted):
    model, Z, q = fitted
    with pytest.raises(ValueError, match="points of 2 and of 3 features"):
        model.predict(Z[:, :2], q)


def test_no_rows_are_no_trouble(fitted):
    assert fitted[0].predict(np.empty((0, 3)), np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("kernel", ["laplacian", "matern32"])
def test_a_single_cell_is_the_sum_over_its_points(kernel):
    rng = np.random.default_rng(0)
    Z, q, new = rng.normal(size=(90, 3)), rng.normal(size=(90, 1)), rng.normal(size=(20, 3))
    model = fit_cells(Z, Z[:, :2], np.ones(90), q, settings=CellSettings(kernel, cell_size=90)).model
    assert np.array_equal(model.partitions.cells_of(new), np.zeros((20, 1)))
    found = model.predict(new, new[:, :1])
    values = model.kernel.cross(new, model.points[model.rows[0]])
    naive = model.means[0] + new[:, :1] @ model.slopes[0] + values @ model.coef.T
    np.testing.assert_allclose(found, naive, rtol=1e-10, atol=1e-10)
    alone = [model.predict(new[i : i + 1], new[i : i + 1, :1]) for i in range(20)]
    assert np.array_equal(found, np.vstack(alone))
