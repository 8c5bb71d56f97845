"""Kernel ridge regression for large data whose response is skewed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adaptive import AdaptiveKernelRidge
    from .cluster import use_engine
    from .costs import plan
    from .diagnostics import diagnose
    from .estimators import DacKernelRidge
    from .persist import ModelFileError, load_model, save_model
    from .regressor import DacRegressor
    from .reporting import report
    from .sources import fit_source, predict_source
    from .splines import SmoothingSpline
    from .splits import ResponseStratifiedKFold, response_train_test_split

__version__ = "0.1.0"

_HOMES = {
    "AdaptiveKernelRidge": "adaptive",
    "DacKernelRidge": "estimators",
    "DacRegressor": "regressor",
    "ModelFileError": "persist",
    "ResponseStratifiedKFold": "splits",
    "load_model": "persist",
    "diagnose": "diagnostics",
    "plan": "costs",
    "SmoothingSpline": "splines",
    "report": "reporting",
    "response_train_test_split": "splits",
    "save_model": "persist",
    "fit_source": "sources",
    "predict_source": "sources",
    "use_engine": "cluster",
}
_MODULES = ("datasets", "metrics", "theory")

__all__ = [
    "AdaptiveKernelRidge",
    "DacKernelRidge",
    "DacRegressor",
    "ModelFileError",
    "ResponseStratifiedKFold",
    "SmoothingSpline",
    "__version__",
    "diagnose",
    "fit_source",
    "load_model",
    "plan",
    "predict_source",
    "report",
    "response_train_test_split",
    "save_model",
    "use_engine",
]


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first used: ``import skewridge`` stays cheap."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'skewridge' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
