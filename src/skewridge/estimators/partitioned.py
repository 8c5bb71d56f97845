"""The base of the divide-and-conquer estimators: how rows are dealt to nodes, and the nodes' own estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.centers.pilot import pilot_of
from skewridge.estimators.base import Shell
from skewridge.execution.chunked import RowData
from skewridge.execution.context import current
from skewridge.nodes.fit import spread
from skewridge.nodes.partition import Partition, PartitionSettings


class PartitionedShell(Shell):
    """Algorithm 2's parameters and fitted attributes, and ``_node_estimates(X)``, the nodes' own, one by one."""

    def node_spread(self, X: Any) -> FloatArray:
        """Return the standard deviation between the nodes' predictions at X.

        A diagnostic of how much the nodes disagree; not a standard error, since nodes share rows. DacKernelRidge needs
        ``keep_nodes=True``.
        """
        return spread(self._node_estimates(X))

    def predict_nodes(self, X: Any) -> FloatArray:
        """Return every node's own prediction at X, (k, n). DacKernelRidge needs ``keep_nodes=True``."""
        return np.array(list(self._node_estimates(X)))

    @property
    def _settings(self) -> PartitionSettings:
        return PartitionSettings(self.n_nodes, self.slices, self.oversampling, self.max_per_slice, self.focus)

    def _sliced(self, X: RowData, y: FloatArray, seed: int) -> FloatArray:
        """The variable that is cut into slices: y, or a pilot estimate."""
        if self.slice_on == "response":
            return y
        ones = np.ones(len(y))
        return current().value("pilot", lambda: pilot_of(X, y[:, None], ones, self.slices, seed))[:, 0]

    def _remember_partition(self, partition: Partition) -> None:
        self.slices_, self.allocation_ = partition.slices, partition.allocation
        self.n_nodes_ = len(partition.allocation)
        self.n_oversampled_ = partition.slices.n_oversampled
        self.n_distinct_ = len(partition.allocation.rows)

    def _n_nodes_for(self, n_rows: int) -> int:
        """Nodes as large as they are: fewer rows are dealt to fewer nodes."""
        return max(1, round(self.n_nodes_ * n_rows / self.slices_.n_rows))
