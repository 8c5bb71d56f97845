"""What the parameters of AdaptiveKernelRidge ask for, and which of them are refused."""

from __future__ import annotations

from skewridge._validation import check_choice, check_integer, check_real, is_auto
from skewridge.centers.choosing import Wish
from skewridge.centers.features import can_learn
from skewridge.estimators.base import KernelEstimator
from skewridge.kernels import BANDWIDTH_FREE, check_kernel_name
from skewridge.metrics import SCORINGS, scoring_name
from skewridge.response.slices import check_slice_rule


class ChecksCenterSettings(KernelEstimator):
    """The parameters of adaptive centres, checked and as the algebra takes them."""

    @property
    def _wish(self) -> Wish:
        kernels = [self.kernel] if isinstance(self.kernel, str) else self.kernel
        return Wish(
            None if is_auto(self.n_centers) else self.n_centers,
            None if is_auto(self.adapt) else float(self.adapt),
            self.slices,
            self.slice_on,
            tuple(check_kernel_name(name) for name in kernels),
            self.bandwidth,
            self.degree,
            self.penalty,
            bool(self.fit_intercept),
            self._learns,
            self.solver,
        )

    @property
    def _learns(self) -> bool:
        """Whether feature scales are learned: "auto" does where the bandwidth is searched as well."""
        if is_auto(self.scale_features) and isinstance(self.bandwidth, str):
            names = [self.kernel] if isinstance(self.kernel, str) else self.kernel
            return self.bandwidth == "auto" and can_learn(tuple(check_kernel_name(name) for name in names), 2)
        return self.scale_features == "learn"

    def _check_parameters(self) -> None:
        if not is_auto(self.n_centers):
            check_integer("n_centers", self.n_centers, 1, also=" or 'auto'")
        if not is_auto(self.adapt):
            check_real("adapt", self.adapt, 0, 1, also=" or 'auto'")
        if not is_auto(self.slices):
            check_slice_rule(self.slices)
        check_choice("slice_on", self.slice_on, ["response", "pilot", "auto"])
        if not isinstance(self.kernel, str) and not (isinstance(self.kernel, list | tuple) and len(self.kernel)):
            raise TypeError(f"kernel must be a name or a list of names; got {self.kernel!r}.")
        if self.scale_features is not None:
            check_choice("scale_features", self.scale_features, ["auto", "standard", "learn"])
        self._check_kernel_parameters(self._wish.kernels)
        self._check_penalty(["auto", "rule"], ", 'rule' or 'auto'")
        self._check_learning()
        check_choice("solver", self.solver, ["auto", "direct", "cg"])
        self._check_scoring()
        self._check_running()

    def _check_learning(self) -> None:
        if self.scale_features == "learn" and not can_learn(self._wish.kernels, 2):
            refused = ", ".join(sorted(set(self._wish.kernels) & set(BANDWIDTH_FREE)))
            raise ValueError(
                f"scale_features='learn' follows the fit's gradient relative to a bandwidth, which {refused} has not. "
                "Take another kernel, or scale_features='standard'."
            )

    def _check_scoring(self) -> None:
        if not callable(self.scoring):
            check_choice("scoring", self.scoring, SCORINGS)
        if self.scoring != "mse" and not self._wish.chooses:
            raise ValueError(
                f"scoring={scoring_name(self.scoring)!r} has nothing to choose: centres, bandwidth and penalty are all "
                "given. Leave one at 'auto', or scoring at 'mse'."
            )
