"""Kernel ridge regression for large data whose response is skewed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adaptive import AdaptiveKernelRidge
    from .cluster import use_engine
    from .estimators import DacKernelRidge
    from .sources import fit_source, predict_source
    from .splits import ResponseStratifiedKFold, response_train_test_split

__version__ = "0.1.0"

_HOMES = {
    "AdaptiveKernelRidge": "adaptive",
    "DacKernelRidge": "estimators",
    "ResponseStratifiedKFold": "splits",
    "fit_source": "sources",
    "predict_source": "sources",
    "response_train_test_split": "splits",
    "use_engine": "cluster",
}
_MODULES = ("datasets", "metrics")

__all__ = [
    "AdaptiveKernelRidge",
    "DacKernelRidge",
    "ResponseStratifiedKFold",
    "__version__",
    "fit_source",
    "predict_source",
    "response_train_test_split",
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
