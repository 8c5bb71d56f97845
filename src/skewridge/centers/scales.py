"""The features that a kernel sees, and its bandwidth: learned by leave-one-out, or as given."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skewridge._typing import FloatArray
from skewridge.centers.rows import FEWEST_ROWS
from skewridge.centers.settings import CenterSettings
from skewridge.features.forms import FeatureForms, ScaledForms, learn_forms, scale_forms
from skewridge.features.scaling import Scaling
from skewridge.kernels import BANDWIDTH_FREE, MEDIAN_ROWS, Kernel, median_bandwidth
from skewridge.ridge.learn_scales import LearnedKernel, learn_scales
from skewridge.ridge.sample import Sample

Transform = Scaling | ScaledForms


@dataclass(frozen=True)
class ScaledKernel:
    """A kernel by name, the transform that rows go through before it, and its bandwidth.

    Attributes
    ----------
    name : str
    transform : Scaling or ScaledForms
    bandwidth : float, in units of the transformed features; None for polynomial and sobolev
    learned : LearnedKernel over all forms; None if nothing was learned
    """

    name: str
    transform: Transform
    bandwidth: float | None
    learned: LearnedKernel | None = None

    @property
    def features(self) -> str:
        """How the features are scaled, in a word."""
        return "learned" if isinstance(self.transform, ScaledForms) else "standard"

    @property
    def failed(self) -> bool:
        """True if learning had no usable step: scales are their starting values."""
        return self.learned is not None and len(self.learned.losses) > 0 and not self.learned.learned


def scale_kernel(
    name: str,
    sample: Sample,
    settings: CenterSettings,
    seed: int,
    standard: Scaling,
) -> ScaledKernel:
    """Learn a kernel's scales or bandwidth, as far as they are to be learned.

    With ``scale_features="learn"`` every column enters in its forms, whose scales are learned.
    Otherwise rows go through ``standard``, and one common scale is learned: the bandwidth. Scales
    are 1 / median distance where rows are too few to learn from.
    """
    if name in BANDWIDTH_FREE:
        return ScaledKernel(name, standard, None)
    if settings.scale_features == "learn":
        forms = settings.forms or learn_forms(sample.Z, sample.frequencies)
        if len(forms):
            return _with_forms(name, sample, settings, seed, forms)
    return _with_common_scale(name, sample, settings, seed, standard)


def _with_forms(
    name: str,
    sample: Sample,
    settings: CenterSettings,
    seed: int,
    forms: FeatureForms,
) -> ScaledKernel:
    found = settings.learned or _learn(name, forms(sample.Z), sample, settings.n_steps, seed, common_scale=False)
    transform, bandwidth = scale_forms(forms, found.scales)
    if settings.bandwidth != "auto":
        bandwidth = _given_bandwidth(name, sample, settings, seed, transform)
    return ScaledKernel(name, transform, bandwidth, found)


def _with_common_scale(
    name: str,
    sample: Sample,
    settings: CenterSettings,
    seed: int,
    standard: Scaling,
) -> ScaledKernel:
    if settings.bandwidth != "auto":
        return ScaledKernel(name, standard, _given_bandwidth(name, sample, settings, seed, standard))
    found = _learn(name, standard(sample.Z), sample, settings.n_steps, seed, common_scale=True)
    return ScaledKernel(name, standard, float(1.0 / found.scales[0]), found)


def _learn(name: str, Z: FloatArray, sample: Sample, n_steps: int, seed: int, common_scale: bool) -> LearnedKernel:
    n_steps = n_steps if len(Z) >= FEWEST_ROWS else 0
    kernel, rows = Kernel(name, bandwidth=1.0), replace(sample, Z=Z)
    return learn_scales(kernel, rows, seed=seed, common_scale=common_scale, n_steps=n_steps)


def _given_bandwidth(
    name: str,
    sample: Sample,
    settings: CenterSettings,
    seed: int,
    transform: Transform,
) -> float:
    if not isinstance(settings.bandwidth, str):
        return float(settings.bandwidth)
    return median_bandwidth(transform(sample.Z[:MEDIAN_ROWS]), name, seed)


def column_scale(transform: Transform) -> FloatArray:
    """Every column's scale, (d,)."""
    return transform.column_scale if isinstance(transform, ScaledForms) else transform.scale
