import tracemalloc

import numpy as np
import pytest

from skewridge import LocalKernelRidge, SkewRidge, plan, save_model
from skewridge.execution.context import using
from skewridge.execution.memory import Budget
from skewridge.two_levels.members import LevelSettings
from skewridge.two_levels.planning import (
    LevelSize,
    bytes_per_row,
    levels_bytes,
    levels_flops,
    require_memory,
)


def table(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


def test_very_many_rows_have_fewer_partitions_and_never_less_memory():
    few, many = LevelSize(200_000, 4), LevelSize(200_001, 4)
    assert bytes_per_row(few) - bytes_per_row(many) == 2 * 2 * 8  # a number and a coefficient, for both kernels
    assert LevelSettings().local("matern32", 200_001).n_partitions == 2
    assert LevelSettings(n_partitions=5).local("matern32", 200_001).n_partitions == 5
    assert levels_bytes(few) <= levels_bytes(many)
    assert bytes_per_row(many) < bytes_per_row(few)


@pytest.mark.parametrize(("n", "d"), [(3000, 4), (6000, 3)])
def test_a_fit_holds_no_more_than_planned(n, d):
    X, y = table(n, d)
    LocalKernelRidge(random_state=0).fit(X[:300], y[:300])  # compile
    tracemalloc.start()
    try:
        LocalKernelRidge(random_state=0).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = LevelSize(n, d, 1, outer_folds=False)
    assert 0.1 * levels_bytes(size) < peak < levels_bytes(size)


def test_a_file_has_about_the_bytes_a_row_that_are_told(tmp_path):
    X, y = table(1000, 3)
    sizes = []
    for n in (800, 1000):  # from 600 on the model of the noise has as many centres as it may have
        save_model(LocalKernelRidge(random_state=0).fit(X[:n], y[:n]), tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
    forms = (3 + 4) * 2 * 8  # knots and scores of ranks, of the fit and of the noise, which sees predictions too
    honest = 6 * 8  # what left-out errors are kept of every row, as they are and in order
    assert (sizes[1] - sizes[0]) / 200 < bytes_per_row(LevelSize(1000, 3, 1)) + forms + honest


def test_a_fit_beyond_the_memory_is_refused_with_what_would_fit():
    with pytest.raises(
        MemoryError, match=r"1,000,000 rows and 10 columns needs .* and memory_limit is 1 GB\. Fit [\d,]+ of"
    ):
        using(budget=Budget(1e9))(require_memory)(LevelSize(1_000_000, 10))
    using(budget=Budget(1e9))(require_memory)(LevelSize(10_000, 10))


def test_plan_tells_what_two_levels_need():
    y = np.random.default_rng(0).exponential(size=5000)
    cost = plan(y, n_features=8).costs[0]
    assert cost.fit == f"SkewRidge(), a model of {bytes_per_row(LevelSize(5000, 8)):,.0f} bytes a row"
    assert cost.n_bytes == levels_bytes(LevelSize(5000, 8))
    assert cost.fits
    assert not plan(y, n_features=8, memory_limit="1MB").costs[0].fits
    assert SkewRidge().get_params()["kernel"] == ("matern32", "laplacian")


def test_cells_threads_and_outer_folds_count():
    large = LevelSize(20_000, 10, 1, cell_size=20_000, outer_folds=False)
    assert levels_bytes(large) > 8 * 20_000**2
    few, many = LevelSize(19_000, 400), LevelSize(20_000, 400)
    assert levels_bytes(few, 5) > 4 * levels_bytes(few, 1)  # five whole fits side by side
    assert levels_bytes(many, 5) < 4 * levels_bytes(many, 1)
    assert levels_flops(few) > 4.5 * levels_flops(many)  # six times the cells, three times the steps of learning
    with pytest.raises(MemoryError, match="20,000 rows"):
        using(budget=Budget(1e9))(require_memory)(large)


def test_what_companions_predict_is_counted_and_their_own_memory_is_not():
    none, two = LevelSize(5000, 8), LevelSize(5000, 8, n_companions=2)
    assert two.width == none.width + 2
    assert bytes_per_row(two) - bytes_per_row(none) == 2 * 2 * 8  # a coordinate each, for both kernels
    assert levels_bytes(none) < levels_bytes(two) < 1.2 * levels_bytes(none)


def test_cells_of_very_many_rows_are_smaller_and_counted_so():
    sizes = [LevelSettings().local("matern32", n).cell_size for n in (200_000, 800_000, 10**7)]
    assert sizes == [1000, 500, 500]
    assert LevelSettings(cell_size=300).local("matern32", 10**6).cell_size == 300
    million, fixed = (LevelSize(10**6, 8, cell_size=size) for size in (None, 1000))
    assert levels_flops(million) < 0.3 * levels_flops(fixed)
    needs = [levels_bytes(LevelSize(n, 2), 64) for n in range(100_000, 1_000_000, 50_000)]
    assert np.all(np.diff(needs) > 0.0)  # or the most rows that a memory holds could not be looked for
