"""What every estimator's shell shares: checks of parameters and data, and how to run."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .checks import check_bytes, check_choice, check_flag, check_integer, check_magnitude, check_real, check_same_order
from .engine import Job
from .kernels import BANDWIDTH_FREE, MAX_DEGREE

PRECISIONS = [np.float64, np.float32]  # float32 stays; all else becomes float64


class KernelEstimator(RegressorMixin, BaseEstimator):
    """Parameters and checks that all kernel estimators have."""

    @property
    def _job(self):
        return Job(self.n_jobs, self.verbose)

    @property
    def _limit(self):
        return None if self.memory_limit is None else check_bytes("memory_limit", self.memory_limit)

    def _check_kernel_parameters(self, names):
        check_integer("degree", self.degree, 1, MAX_DEGREE)
        if isinstance(self.bandwidth, str):
            check_choice("bandwidth", self.bandwidth, ["auto", "median"])
        elif set(names) <= set(BANDWIDTH_FREE):
            raise ValueError(
                f"The {names[0]} kernel takes no bandwidth; got bandwidth={self.bandwidth!r}. Leave it at 'auto'."
            )
        else:
            check_real("bandwidth", self.bandwidth, 0, open_low=True, also=", 'median' or 'auto'")

    def _check_running(self):
        check_flag("fit_intercept", self.fit_intercept)
        self._check_machine()

    def _check_machine(self):
        if self.memory_limit is not None:
            check_bytes("memory_limit", self.memory_limit)
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, -(2**31), also=" or None")
        check_integer("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)

    def _check_data(self, X, y, **options):
        """Validate on a clone, so that a fit that fails later leaves this estimator as it was."""
        checked = clone(self)
        check_same_order(X, y)
        X, y = validate_data(checked, X, y, dtype=PRECISIONS, order="C", y_numeric=True, **options)
        check_magnitude("X", X)
        check_magnitude("y", y)
        checked._precision = X.dtype
        return checked, X.astype(np.float64), np.array(y, dtype=np.float64)

    def _take_over(self, checked):
        """Take what was validated on the clone, and forget what an earlier fit left."""
        for name in ("n_features_in_", "feature_names_in_", "nodes_", "center_rows_"):
            self.__dict__.pop(name, None)
        self.__dict__.update({k: v for k, v in vars(checked).items() if k.endswith("_in_")})

    def _check_new(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=PRECISIONS, order="C", reset=False)
        check_magnitude("X", X)
        return X
