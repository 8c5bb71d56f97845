"""What Dask collections may hold that would be fitted without a word, and must not be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skewridge import AdaptiveKernelRidge, DacKernelRidge, LocalKernelRidge, fit_source

da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame({"a": RNG.normal(size=80), "b": RNG.integers(0, 9, 80)})
ROWS["y"] = np.exp(ROWS["a"]) + ROWS["b"]
GIVEN = {"bandwidth": 1.0, "penalty": 1e-3, "random_state": 0}
FITS = [
    AdaptiveKernelRidge(20, 0.5, **GIVEN),
    DacKernelRidge(2, **GIVEN),
    LocalKernelRidge("laplacian", random_state=0),
]
LAZY = dd.from_pandas(ROWS, npartitions=4)
every_fit = pytest.mark.parametrize("estimator", FITS, ids=lambda fit: type(fit).__name__)


@pytest.fixture(autouse=True)
def here():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@every_fit
def test_rows_that_come_in_another_order_every_time_are_refused(estimator):
    def part(i):
        return ROWS.iloc[20 * i : 20 * i + 20].sample(frac=1)

    with pytest.raises(ValueError, match="gives other rows, or rows in another order, whenever it is computed"):
        fit_source(clone(estimator), dd.from_map(part, range(4), meta=ROWS.iloc[:0]), target="y")


@pytest.mark.parametrize("name", ["sample_weight", "groups"])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("estimator", FITS[::2], ids=["adaptive", "local"])
def test_labels_in_another_order_than_those_of_a_lazy_frame_are_refused(estimator, lazy, name):
    values = pd.Series(np.arange(80) // 8 + 1.0).sample(frac=1, random_state=0)
    given = dd.from_pandas(values, npartitions=2, sort=False) if lazy else values
    with pytest.raises(ValueError, match=f"X and {name} have the same index labels in a different order"):
        clone(estimator).fit(LAZY[["a", "b"]], LAZY["y"], **{name: given})


@every_fit
def test_masked_entries_of_lazy_arrays_are_refused(estimator):
    X, y = da.from_array(ROWS[["a", "b"]].to_numpy(), chunks=(20, 2)), da.from_array(ROWS["y"].to_numpy(), chunks=20)
    with pytest.raises(ValueError, match="X must have a value everywhere; got a Dask array of masked arrays"):
        clone(estimator).fit(da.ma.masked_greater(X, 1.0), y)
    with pytest.raises(ValueError, match="y must have a value everywhere; got a Dask array of masked arrays"):
        clone(estimator).fit(X, da.ma.masked_greater(y, 1.0))
