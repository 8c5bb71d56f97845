"""The rows that DacKernelRidge was fitted to: in memory, or read from their source when they are first asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.estimators.base import KernelEstimator
from skewridge.execution.chunked import Table
from skewridge.execution.context import current
from skewridge.nodes.fit import Problem
from skewridge.ridge.expansion import Expansion


class KeepsTrainingRows(KernelEstimator):
    """An estimator whose average is one expansion over its training rows."""

    dual_coef_: FloatArray
    intercept_: float
    _left_behind = ()  # its rows go with it, and the parameters to fit some of them again

    @cached_property
    def X_fit_(self) -> FloatArray:
        """The training rows in the order given; those of a source are read when they are first asked for."""
        X = self._problem.X
        if not isinstance(X, Table):
            return X
        what = f"Predictions of divide-and-conquer need all {len(X):,} training rows at hand, {{need}},"
        remedy = (
            "Raise memory_limit, predict where there is more memory, or use AdaptiveKernelRidge, which keeps its "
            "centres only."
        )
        current().budget.require(8.0 * len(X) * X.n_columns, what, remedy)
        return X.load()

    @cached_property
    def _expansion(self) -> Expansion:
        return self._expansion_on(self.X_fit_)

    def _expansion_on(self, rows: FloatArray) -> Expansion:
        return Expansion(rows, self.dual_coef_, self._problem.kernel, float(self._problem.y.std()))

    def _keep_problem(self, problem: Problem) -> None:
        """Keep what was solved; rows that are in memory are expanded over at once."""
        self._problem = problem
        if not isinstance(problem.X, Table):
            self.X_fit_ = problem.X
            self._expansion = self._expansion_on(self.X_fit_)

    def _training_rows(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        y = self._problem.y
        return self.X_fit_, (y + self.intercept_)[:, None], np.ones(len(y))

    def __getstate__(self) -> dict[str, Any]:
        """A model is pickled with its rows, not with where they were read from."""
        if "_problem" in vars(self):
            self._expansion = self._expansion_on(self.X_fit_)
            self._problem = replace(self._problem, X=self.X_fit_)
        return super().__getstate__()
