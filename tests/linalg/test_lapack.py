import numpy as np
import pytest

from skewridge.linalg.lapack import add_outer


@pytest.mark.parametrize("n", [1, 2, 17, 100])
def test_an_outer_product_is_added_to_the_lower_triangle_only(n):
    rng = np.random.default_rng(n)
    a, x = rng.normal(size=(n, n)), rng.normal(size=n)
    expected = np.tril(a + 0.3 * np.outer(x, x)) + np.triu(a, 1)
    np.testing.assert_allclose(add_outer(a, x, 0.3), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("x", [np.ones(3), np.ones(8)[::2], np.ones(4, dtype=np.float32)])
def test_a_vector_that_does_not_fit_is_refused(x):
    with pytest.raises(ValueError, match="a contiguous float64 vector of 4 numbers is needed"):
        add_outer(np.eye(4), x, 1.0)
