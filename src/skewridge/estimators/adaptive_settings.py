"""The parameters of AdaptiveKernelRidge: their checks, and the settings they stand for."""

from __future__ import annotations

from skewridge._validation import check_choice, check_integer, check_real, is_auto
from skewridge.centers.settings import CenterSettings
from skewridge.estimators.base import KernelEstimator
from skewridge.estimators.bounds import as_bounds, check_bounds
from skewridge.estimators.scoring import check_scoring
from skewridge.kernels import BANDWIDTH_FREE, check_kernel_name
from skewridge.metrics import scoring_name
from skewridge.response.slices import check_slice_rule


class ChecksCenterSettings(KernelEstimator):
    """The parameters of adaptive centres, checked and as the algebra takes them."""

    @property
    def _settings(self) -> CenterSettings:
        learn = is_auto(self.scale_features)
        return CenterSettings(
            n_centers=None if is_auto(self.n_centers) else int(self.n_centers),
            adapt=None if is_auto(self.adapt) else float(self.adapt),
            slices=self.slices,
            kernels=self._kernel_names,
            bandwidth=self.bandwidth,
            degree=self.degree,
            penalty=self.penalty,
            fit_intercept=bool(self.fit_intercept),
            scale_features="learn" if learn else self.scale_features,
            solver=self.solver,
            bounds=as_bounds(self.bounds),
        )

    @property
    def _kernel_names(self) -> tuple[str, ...]:
        names = [self.kernel] if isinstance(self.kernel, str) else self.kernel
        return tuple(check_kernel_name(name) for name in names)

    def _check_parameters(self) -> None:
        if not is_auto(self.n_centers):
            check_integer("n_centers", self.n_centers, 1, also=" or 'auto'")
        if not is_auto(self.adapt):
            check_real("adapt", self.adapt, 0, 1, also=" or 'auto'")
        if not is_auto(self.slices):
            check_slice_rule(self.slices)
        self._check_kernels()
        self._check_penalty(["auto", "rule"], ", 'rule' or 'auto'")
        check_choice("solver", self.solver, ["auto", "direct", "cg"])
        check_bounds(self.bounds)
        self._check_scoring()
        self._check_running()

    def _check_kernels(self) -> None:
        several = isinstance(self.kernel, list | tuple) and len(self.kernel)
        if not isinstance(self.kernel, str) and not several:
            raise TypeError(f"kernel must be a name or a list of names; got {self.kernel!r}.")
        self._check_kernel_parameters(self._kernel_names)
        if self.scale_features is None:
            return
        check_choice("scale_features", self.scale_features, ["auto", "standard", "learn"])
        refused = sorted(set(self._kernel_names) & set(BANDWIDTH_FREE))
        if self.scale_features == "learn" and refused:
            raise ValueError(
                "scale_features='learn' learns scales relative to a bandwidth, which "
                f"{', '.join(refused)} has not. Take another kernel, or scale_features='standard'.",
            )

    def _check_scoring(self) -> None:
        check_scoring(self.scoring)
        if self.scoring != "mse" and not self._settings.chooses:
            raise ValueError(
                f"scoring={scoring_name(self.scoring)!r} has nothing to choose: centres, bandwidth "
                "and penalty are all given. Leave one at 'auto', or scoring at 'mse'.",
            )
