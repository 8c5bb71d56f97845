"""The rows that DacKernelRidge was fitted to: in memory, or read from their source when they are first asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.estimators.base import KernelEstimator
from skewridge.execution.chunked import Table
from skewridge.nodes.collapse import load_rows
from skewridge.nodes.fit import Problem
from skewridge.ridge.expansion import Expansion


class KeepsTrainingRows(KernelEstimator):
    """An estimator whose average is one expansion over its training rows, or over centres among them."""

    dual_coef_: FloatArray
    intercept_: float
    _left_behind = ()  # its rows go with it, and the parameters to fit some of them again

    @cached_property
    def X_fit_(self) -> FloatArray:
        """The training rows in the order given; those of a source are read when they are first asked for."""
        return load_rows(self._problem.X, self._budget)

    @cached_property
    def _expansion(self) -> Expansion:
        return self._expansion_on(self.X_fit_)

    def _expansion_on(self, rows: FloatArray) -> Expansion:
        return Expansion(rows, self.dual_coef_, self._problem.kernel, float(self._problem.y.std()))

    def _keep_problem(self, problem: Problem) -> None:
        """Keep what was solved; rows or centres that are in memory are expanded over at once."""
        self._problem = problem
        if problem.centers is not None:
            self.center_rows_, self.X_fit_ = problem.centers, problem.X[problem.centers]
        elif isinstance(problem.X, Table):
            return
        else:
            self.X_fit_ = problem.X
        self._expansion = self._expansion_on(self.X_fit_)

    def _all_rows(self) -> FloatArray:
        """The training rows, read once where the average is expanded over them."""
        shared = self._problem.centers is not None
        return load_rows(self._problem.X, self._budget) if shared else self.X_fit_

    def _training_rows(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        y = self._problem.y
        return self._all_rows(), (y + self.intercept_)[:, None], np.ones(len(y))

    def __getstate__(self) -> dict[str, Any]:
        """A model is pickled with its rows, not with where they were read from."""
        if "_problem" in vars(self):
            self._expansion = self._expansion_on(self.X_fit_)
            self._problem = replace(self._problem, X=self._all_rows())
        return super().__getstate__()
