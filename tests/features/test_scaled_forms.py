import numpy as np
import pytest

from skewridge.features.rank_forms import learn_forms
from skewridge.features.scaled_forms import NEGLIGIBLE, scale_forms


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=80), rng.lognormal(size=80), rng.random(80) < 0.3, np.ones(80)])


def test_scaled_forms_are_the_forms_times_their_scales(X):
    forms = learn_forms(X)
    scales = np.linspace(1, 3, len(forms))
    found, bandwidth = scale_forms(forms, scales)
    np.testing.assert_allclose(found(X) / bandwidth, forms(X) * scales, rtol=1e-14)
    assert np.mean(found.scales**2) == pytest.approx(1.0)


def test_a_columns_scale_is_that_of_its_forms_together(X):
    forms = learn_forms(X)
    found, bandwidth = scale_forms(forms, np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    expected = np.sqrt([1 + 16, 4 + 25, 9, 0]) * bandwidth
    np.testing.assert_allclose(found.column_scale, expected)


def test_forms_of_negligible_scale_are_dropped_and_change_nothing(X):
    forms = learn_forms(X)
    scales = np.array([1.0, 0.5 * NEGLIGIBLE, 1.0, 2 * NEGLIGIBLE, 0.5 * NEGLIGIBLE])
    found, _ = scale_forms(forms, scales)
    assert len(found.forms) == 3
    assert (found.column_scale == 0).tolist() == [False, True, False, True]
    moved = X.copy()
    moved[:, 1] = 1e6
    np.testing.assert_array_equal(found(moved), found(X))
