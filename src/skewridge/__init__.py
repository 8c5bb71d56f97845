"""Kernel ridge regression for large data whose response is skewed."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skewridge.advice.diagnose import diagnose
    from skewridge.advice.plan import plan
    from skewridge.estimators.adaptive import AdaptiveKernelRidge
    from skewridge.estimators.dac import DacKernelRidge
    from skewridge.estimators.dac_regressor import DacRegressor
    from skewridge.estimators.local import LocalKernelRidge
    from skewridge.estimators.skew_ridge import SkewRidge
    from skewridge.estimators.sources import fit_source, predict_source
    from skewridge.estimators.spline import SmoothingSpline
    from skewridge.estimators.table_model import make_table_model
    from skewridge.execution.dask import use_engine
    from skewridge.model_selection import ResponseStratifiedKFold, response_train_test_split
    from skewridge.persist import ModelFileError, load_model, save_model
    from skewridge.reporting import report
    from skewridge.tables.encoder import TableEncoder

__version__ = "0.1.0"

_HOMES = {
    "AdaptiveKernelRidge": "estimators.adaptive",
    "DacKernelRidge": "estimators.dac",
    "DacRegressor": "estimators.dac_regressor",
    "LocalKernelRidge": "estimators.local",
    "ModelFileError": "persist",
    "ResponseStratifiedKFold": "model_selection",
    "SkewRidge": "estimators.skew_ridge",
    "SmoothingSpline": "estimators.spline",
    "TableEncoder": "tables.encoder",
    "diagnose": "advice.diagnose",
    "fit_source": "estimators.sources",
    "load_model": "persist",
    "make_table_model": "estimators.table_model",
    "plan": "advice.plan",
    "predict_source": "estimators.sources",
    "report": "reporting",
    "response_train_test_split": "model_selection",
    "save_model": "persist",
    "use_engine": "execution.dask",
}
_MODULES = ("datasets", "metrics", "plots", "reference", "theory")

__all__ = [
    "AdaptiveKernelRidge",
    "DacKernelRidge",
    "DacRegressor",
    "LocalKernelRidge",
    "ModelFileError",
    "ResponseStratifiedKFold",
    "SkewRidge",
    "SmoothingSpline",
    "TableEncoder",
    "__version__",
    "diagnose",
    "fit_source",
    "load_model",
    "make_table_model",
    "plan",
    "predict_source",
    "report",
    "response_train_test_split",
    "save_model",
    "use_engine",
]


_lock, _inside = Lock(), [0, False]  # threads inside, and whether garbage was looked for when the first came


@contextmanager
def no_collection() -> Iterator[None]:
    """Look for no garbage while modules are imported and loops are compiled, which make none: it takes a tenth of that.

    Examples
    --------
    >>> with no_collection():
    ...     gc.isenabled()
    False
    """
    with _lock:
        if _inside[0] == 0:
            _inside[1] = gc.isenabled()
            gc.disable()
        _inside[0] += 1
    try:
        yield
    finally:
        with _lock:
            _inside[0] -= 1
            if _inside[0] == 0 and _inside[1]:
                gc.enable()


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first used: ``import skewridge`` stays cheap."""
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module 'skewridge' has no attribute {name!r}")
    with no_collection():
        module = import_module(f".{_HOMES.get(name, name)}", __name__)
    globals()[name] = getattr(module, name) if name in _HOMES else module  # found without this function from now on
    return globals()[name]


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
