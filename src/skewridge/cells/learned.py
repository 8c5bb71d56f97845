"""Level 2: scales, ridge and trends learned on balls, then exact fits in cells.

Rows come as forms of their columns (:mod:`skewridge.features.rank_forms`), distinct and in canonical
order. Guides, the cross-fitted values of a global fit and of others beside it, make the cells see
beyond their walls: each is one more coordinate, and a trend ``tau_j q_j q_j'`` of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.cells.fit import SOLVING, CellSettings, cells_work, check_cell_kernel, fit_cells
from skewridge.cells.model import Cells
from skewridge.cells.partition import CELL_SIZE, N_PARTITIONS
from skewridge.engine.following import announce
from skewridge.engine.job import Job
from skewridge.engine.progress import Stage
from skewridge.features.rank_forms import FeatureForms
from skewridge.features.scaled_forms import NEGLIGIBLE
from skewridge.features.scaling import unit_responses
from skewridge.kernels import Kernel
from skewridge.ridge.learned_kernel import LearnedKernel
from skewridge.ridge.learning import LEARNING_LOCALLY, N_STEPS, learn_kernel, learning_work

LEARNING_ROWS = 100_000  # that balls are drawn from at most


@dataclass(frozen=True)
class LocalSettings:
    """How one level of cells is to be made.

    Attributes
    ----------
    kernel : str, one that decays with distance
    n_partitions, cell_size : int
    seed : int, the key of balls and partitions
    n_steps : int, of learning
    """

    kernel: str = "laplacian"
    n_partitions: int = N_PARTITIONS
    cell_size: int = CELL_SIZE
    seed: int = 0
    n_steps: int = N_STEPS


@dataclass(frozen=True)
class LocalModel:
    """Cells on the forms that matter, in the units of the response.

    Attributes
    ----------
    used : (u,) array, the forms that enter the kernel
    scales : (u + k,) array, with the scales of k guides at the end
    cells : Cells, of responses (y - means) / units
    means, units : (p,) arrays
    """

    used: IntArray
    scales: FloatArray
    cells: Cells
    means: FloatArray
    units: FloatArray

    def column_scale(self, forms: FeatureForms) -> FloatArray:
        """Every column's scale, (d,): root of the sum of squares over its forms; 0 if not used."""
        squares = np.zeros(len(forms))
        squares[self.used] = self.scales[: len(self.used)] ** 2
        return np.sqrt(forms.by_column(squares))

    def predict(self, forms: FloatArray, guide: FloatArray | None = None) -> FloatArray:
        """Predict one block of rows, (n, p), from all their forms and, if there are any, the guides, (n, k)."""
        Z = _coordinates(forms[:, self.used], guide) * self.scales
        return self.cells.predict(Z, guide) * self.units + self.means


@dataclass(frozen=True)
class LocalFit:
    """A local model and what is known about it.

    Attributes
    ----------
    model : LocalModel
    left_out : (n, p) array, predictions of every row by fits without it, given scales, cells and guides
    learned : LearnedKernel, over all forms and the guides
    """

    model: LocalModel
    left_out: FloatArray
    learned: LearnedKernel


def fit_local(
    forms: FloatArray,
    Y: FloatArray,
    frequencies: FloatArray,
    guide: FloatArray | None = None,
    *,
    settings: LocalSettings,
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
    learned: LearnedKernel | None = None,
    hint: FloatArray | None = None,
    job: Job | None = None,
) -> LocalFit:
    """Learn the metric on balls, drop the forms that it ignores, and fit the cells.

    Parameters
    ----------
    forms : (n, D) array
    Y : (n, p) array
    frequencies : (n,) array, how often every row occurs
    guide : (n, k) array of cross-fitted first estimates in units of the response's standard deviation, or None;
        one that is 0 at every row is not looked at, whatever it is at new rows
    settings : LocalSettings
    weights : (n,) array of loss weights for the learning; None: the frequencies
    learned : LearnedKernel over all forms and the guide, instead of learning
    hint : (D,) array of scales of the forms in a global fit, half-way to which learning starts
    job : Job

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> forms = rng.normal(size=(300, 3))
    >>> Y = np.abs(forms[:, :1])  # the other two say nothing
    >>> fit = fit_local(forms, Y, np.ones(300), settings=LocalSettings("matern32"))
    >>> bool(np.mean((fit.left_out - Y) ** 2) < 0.05 * Y.var())
    True
    """
    unit, means, units = unit_responses(Y, frequencies, centre=True)
    kernel = Kernel(check_cell_kernel(settings.kernel), bandwidth=1.0)
    width = forms.shape[1] + (0 if guide is None else guide.shape[1])
    announce(lambda: local_stages(len(forms), width, settings, (job or Job()).here.n_threads))
    rows = forms, unit, frequencies, guide, weights, groups
    learned = learned or _learn(kernel, *(_first(values) for values in rows), hint=hint, settings=settings)
    learned = learned if guide is None else learned.without_guides(np.all(guide == 0.0, axis=0))
    used = used_forms(learned.scales[: forms.shape[1]], learned.scales)
    scales = np.append(learned.scales[used], learned.scales[forms.shape[1] :])
    fit = fit_cells(
        _coordinates(forms[:, used], guide) * scales,
        unit,
        frequencies,
        guide,
        settings=CellSettings(
            kernel=settings.kernel,
            ridge=learned.ridge,
            trend=learned.trends,
            seed=settings.seed,
            n_partitions=settings.n_partitions,
            cell_size=settings.cell_size,
        ),
        groups=groups,
        job=job,
    )
    model = LocalModel(used, scales, fit.model, means, units)
    return LocalFit(model, fit.left_out * units + means, learned)


def _first(values: Any) -> Any:
    """The rows that teach, which come in random order."""
    return None if values is None else values[:LEARNING_ROWS]


def _learn(
    kernel: Kernel,
    forms: FloatArray,
    Y: FloatArray,
    frequencies: FloatArray,
    guide: FloatArray | None,
    weights: FloatArray | None,
    groups: IntArray | None,
    *,
    hint: FloatArray | None,
    settings: LocalSettings,
) -> LearnedKernel:
    """Learn scales, ridge and trends on balls; all rows count alike where none of these has a loss weight."""
    return learn_kernel(
        kernel,
        _coordinates(forms, guide),
        Y,
        seed=settings.seed,
        local=True,
        Q=guide,
        frequencies=frequencies,
        weights=None if weights is None or not np.any(weights > 0.0) else weights,
        groups=groups,
        hint=hint,
        n_steps=settings.n_steps,
    )


def local_stages(n_rows: int, width: int, settings: LocalSettings, n_threads: int) -> list[Stage]:
    """The work of one local fit: learning, and cells."""
    cells = cells_work(n_rows, width, settings.n_partitions, settings.cell_size)
    n_seen = min(n_rows, LEARNING_ROWS)
    return [
        Stage(LEARNING_LOCALLY, [learning_work(n_seen, width, local=True, n_steps=settings.n_steps)]),
        Stage(SOLVING, [cells], float(n_threads) if n_rows > settings.cell_size else 1.0),
    ]


def used_forms(scales: FloatArray, all_scales: FloatArray) -> IntArray:
    """Places of the scales that are not negligible beside the largest of all."""
    return np.flatnonzero(scales > NEGLIGIBLE * all_scales.max(initial=0.0))


def _coordinates(forms: FloatArray, guide: FloatArray | None) -> FloatArray:
    return forms if guide is None else np.column_stack([forms, guide])
