from dataclasses import replace

import numpy as np
import pytest

from skewridge.centers.scales import ScaledKernel, scale_kernel
from skewridge.centers.settings import CenterSettings
from skewridge.features.forms import NEGLIGIBLE, ScaledForms, learn_forms
from skewridge.features.scaling import Scaling, standard_scaling
from skewridge.kernels import Kernel, median_bandwidth
from skewridge.ridge.learn_scales import LearnedKernel, learn_scales
from skewridge.ridge.sample import Sample


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [10.0, 0.1, 1.0]
    Y = np.sin(X[:, :1] / 5) + 0.05 * rng.normal(size=(n, 1))
    return Sample(X, Y, np.ones(n), np.ones(n))


def scaled(rows, name="matern32", standard=None, **settings):
    base = standard or standard_scaling(rows.Z, rows.frequencies)
    return scale_kernel(name, rows, CenterSettings(**settings), 0, base)


def test_learned_scales_over_the_bandwidth_are_the_learners():
    rows = sample()
    found = scaled(rows)
    forms = learn_forms(rows.Z)
    learned = learn_scales(Kernel("matern32", bandwidth=1.0), replace(rows, Z=forms(rows.Z)), seed=0)
    kept = learned.scales >= NEGLIGIBLE * learned.scales.max()
    np.testing.assert_allclose(found.transform.scales / found.bandwidth, learned.scales[kept], rtol=1e-12)
    np.testing.assert_allclose(found.transform(rows.Z), (forms(rows.Z) * learned.scales)[:, kept] * found.bandwidth)
    assert found.features == "learned"
    assert not found.failed
    assert found.transform.column_scale[0] > 3 * found.transform.column_scale[1:].max()


@pytest.mark.parametrize("bandwidth", [0.3, "median"])
def test_a_bandwidth_that_is_given_leaves_the_learned_scales(bandwidth):
    rows = sample()
    found, free = scaled(rows, bandwidth=bandwidth), scaled(rows)
    np.testing.assert_array_equal(found.transform.scales, free.transform.scales)
    expected = bandwidth if bandwidth == 0.3 else median_bandwidth(free.transform(rows.Z), "matern32", 0)
    assert found.bandwidth == expected


@pytest.mark.parametrize("name", ["matern32", "laplacian", "gaussian"])
@pytest.mark.parametrize("mode", ["standard", None])
def test_otherwise_one_common_scale_is_learned_the_bandwidth(name, mode):
    rows = sample()
    base = Scaling(np.zeros(3), np.ones(3)) if mode is None else standard_scaling(rows.Z, np.ones(300))
    found = scaled(rows, name, base, scale_features=mode)
    kernel = Kernel(name, bandwidth=1.0)
    learned = learn_scales(kernel, replace(rows, Z=base(rows.Z)), seed=0, common_scale=True)
    assert found.transform is base
    assert found.bandwidth == pytest.approx(1 / learned.scales[0])
    assert scaled(rows, name, base, scale_features=mode, bandwidth=2.0).bandwidth == 2.0


@pytest.mark.parametrize("name", ["polynomial", "sobolev"])
def test_kernels_without_a_bandwidth_see_standardised_columns(name):
    rows = sample()
    base = standard_scaling(rows.Z, np.ones(300))
    assert scaled(rows, name, base) == ScaledKernel(name, base, None)


def test_few_rows_start_at_the_median_distance():
    rows = sample(9)
    found = scaled(rows)
    assert isinstance(found.transform, ScaledForms)
    np.testing.assert_allclose(found.transform.scales, 1.0)
    assert not found.failed


def test_constant_columns_alone_are_ignored():
    rows = Sample(np.ones((20, 2)), np.arange(20.0)[:, None], np.ones(20), np.ones(20))
    found = scaled(rows)
    np.testing.assert_array_equal(found.transform(np.array([[1.0, 1.0], [1.0, 1.0]])), np.zeros((2, 2)))


def test_learning_without_a_usable_step_is_told():
    rows = sample(50)
    unlearned = LearnedKernel(np.ones(3), 1.0, 0.0, losses=np.full(5, np.nan))
    failed = ScaledKernel("matern32", Scaling(np.zeros(3), np.ones(3)), 1.0, unlearned)
    assert failed.failed
    assert not scaled(rows).failed
