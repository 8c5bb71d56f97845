"""The forms of a table's columns times their learned scales: what kernels of distances see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray
from skewridge.features.rank_forms import FeatureForms

NEGLIGIBLE = 1e-3  # of the largest scale: a millionth of its share of squared distances


@dataclass(frozen=True)
class ScaledForms:
    """Rows -> their forms, each times its scale; columns that matter to no form are dropped.

    Attributes
    ----------
    forms : FeatureForms
    scales : (D,) array, of root mean square 1
    """

    forms: FeatureForms
    scales: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the scaled forms of rows, (n, D)."""
        out = self.forms(X)
        out *= self.scales
        return out

    @property
    def column_scale(self) -> FloatArray:
        """Every column's scale, (d,): root of the sum of squares over its forms; 0 if dropped."""
        return np.sqrt(self.forms.by_column(self.scales**2))


def scale_forms(forms: FeatureForms, scales: FloatArray) -> tuple[ScaledForms, float]:
    """Drop forms of negligible scale and normalise the others; return the bandwidth, too.

    Forms whose scale is below a thousandth of the largest are dropped. The others get a root mean
    square of 1; the scales given are these over the bandwidth that is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.features.rank_forms import learn_forms
    >>> forms = learn_forms(np.array([[0.0, 5.0], [1.0, 4.0], [0.0, 5.0], [1.0, 5.0]]))
    >>> scaled, bandwidth = scale_forms(forms, np.array([4.0, 1e-6]))
    >>> scaled.column_scale, bandwidth
    (array([1., 0.]), 0.25)
    """
    kept = scales >= NEGLIGIBLE * scales.max()
    size = float(np.sqrt(np.mean(scales[kept] ** 2)))
    return ScaledForms(forms.keep(kept), scales[kept] / size), 1.0 / size
