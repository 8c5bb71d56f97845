"""The settings of a fit on centres."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skewridge.features.forms import FeatureForms
from skewridge.kernels import BANDWIDTH_FREE
from skewridge.ridge.learn_scales import N_STEPS, LearnedKernel

Bounds = str | tuple[float | None, float | None] | None  # "auto", none, or the ends


@dataclass(frozen=True)
class CenterSettings:
    """The settings of a fit on centres; None is to be chosen.

    Attributes
    ----------
    n_centers, adapt : the number of centres, and the share drawn evenly over the slices
    slices : how the response is cut
    kernels : names to choose from
    bandwidth : a number, "median" or "auto"
    degree : of the polynomial kernel
    penalty : a number, "rule" or "auto"
    fit_intercept : bool
    scale_features : "learn"; "standard"; or None, as they are
    solver : "auto", "direct" or "cg"
    bounds : what predictions stay between: "auto" (the range of y plus a tenth), None, or the ends
    forms : FeatureForms of the columns where scales are learned; None: those of the rows
    learned : LearnedKernel over all of these forms, instead of learning
    guides : True for :func:`~skewridge.centers.cross_fit.cross_fit`, whose values local fits see and correct: a
        shorter ladder, and only halves are fitted
    n_steps : int, of learning scales
    """

    n_centers: int | None = None
    adapt: float | None = None
    slices: object = "auto"
    kernels: tuple[str, ...] = ("matern32",)
    bandwidth: float | str = "auto"
    degree: int = 3
    penalty: float | str = "auto"
    fit_intercept: bool = True
    scale_features: str | None = "learn"
    solver: str = "auto"
    bounds: Bounds = "auto"
    forms: FeatureForms | None = None
    learned: LearnedKernel | None = None
    guides: bool = False
    n_steps: int = N_STEPS

    def learns(self, kernel: str) -> bool:
        """True if scales, or the bandwidth, of a kernel are learned."""
        if kernel in BANDWIDTH_FREE:
            return False
        return self.scale_features == "learn" or self.bandwidth == "auto"

    @property
    def cross_validates(self) -> bool:
        """True if folds have something to choose."""
        given = self.n_centers is not None and self.adapt is not None and len(self.kernels) == 1
        return not given or self.penalty == "auto"

    @property
    def chooses(self) -> bool:
        """True if anything is learned or chosen."""
        return self.cross_validates or any(self.learns(name) for name in self.kernels)

    def within(self, n_distinct: int) -> CenterSettings:
        """The settings with no more centres than there are distinct rows."""
        if self.n_centers is None:
            return self
        return replace(self, n_centers=min(self.n_centers, n_distinct))
