"""Any scikit-learn regressor as a companion of level 1: its checks, its clones and its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from skewridge._typing import FloatArray
from skewridge._validation import check_magnitude

EXAMPLE = "companions=[HistGradientBoostingRegressor()]"


@dataclass(frozen=True)
class FittedRegressor:
    """A fitted regressor whose predictions are checked; errors call it by its name."""

    regressor: Any
    name: str

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict rows, (n,); raises ValueError for another shape, nan, inf and absurd numbers."""
        found = np.asarray(self.regressor.predict(X.copy()))  # some overwrite what they are given
        if found.shape not in ((len(X),), (len(X), 1)):
            raise ValueError(
                f"The companion {self.name} must predict one number a row; got shape {found.shape} "
                f"for {len(X)} rows. Wrap it so that predict returns shape (n,), or leave it out."
            )
        values = found.reshape(-1).astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ValueError(
                f"The companion {self.name} predicts {values[bad[0]]} for {len(bad)} of {len(X)} rows; "
                "predictions must be finite. Change its settings, or leave it out."
            )
        check_magnitude(f"what the companion {self.name} predicts", values)
        return values


@dataclass(frozen=True)
class RegressorCompanion:
    """A regressor that is cloned for every fit; the object itself is never fitted."""

    regressor: Any
    name: str

    def fit(self, X: FloatArray, y: FloatArray, weights: FloatArray) -> FittedRegressor:
        """Fit a clone to rows that occur `weights` times, (n,).

        One that takes no weights gets every row as often as it occurs.
        """
        model, taken = clone(self.regressor, safe=False), {}
        if not np.all(weights == 1.0):
            name = _weights_name(model)
            if name is None:
                copies = np.repeat(np.arange(len(X)), np.rint(weights).astype(np.int64))
                X, y = X[copies], y[copies]
            else:
                taken = {name: weights}
        try:
            model.fit(X.copy(), y.copy(), **taken)  # some overwrite what they are given: copy_X=False
        except Exception as error:
            error.add_note(f"Raised by {self.name}.fit, a companion, on {len(X)} rows.")
            raise
        return FittedRegressor(model, self.name)


def check_companions(companions: Any, most: int) -> None:
    """Refuse what is no list of regressors, and more of them than the blend has room for."""
    if companions is None:
        return
    if not isinstance(companions, list | tuple):
        raise TypeError(
            "companions must be a list or tuple of regressors with fit and predict, or None; got "
            f"{companions!r}. Put a single one in a list, as in {EXAMPLE}."
        )
    for own in companions:
        if isinstance(own, type) or not all(hasattr(own, name) for name in ("fit", "predict")):
            raise TypeError(
                f"companions must be regressors with fit and predict; got {own!r}. Give objects, as in {EXAMPLE}."
            )
    if len(companions) > most:
        raise ValueError(
            f"companions may be at most {most} beside these kernels, since the blend has room for "
            f"so many; got {len(companions)}. Leave some out, or average them in a VotingRegressor."
        )


def check_companion_weights(companions: Sequence[Any] | None, weights: FloatArray) -> None:
    """Refuse sample weights that a companion would not see."""
    if np.all(weights == 1.0):
        return
    for own, name in zip(companions or (), companion_names(companions), strict=True):
        if _weights_name(own) is None:
            raise ValueError(
                f"sample_weight weights the rows, and the companion {name} takes no sample_weight in "
                "fit. Use a regressor that does, repeat rows instead of weighting them, or leave it out."
            )


def companion_names(companions: Sequence[Any] | None) -> tuple[str, ...]:
    """Class names, numbered from the second of a class on.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso, Ridge
    >>> companion_names([Ridge(), Lasso(), Ridge(alpha=10.0)])
    ('Ridge', 'Lasso', 'Ridge 2')
    """
    names: list[str] = []
    kinds = [type(own).__name__ for own in companions or ()]
    for place, kind in enumerate(kinds):
        before = kinds[:place].count(kind)
        names.append(f"{kind} {before + 1}" if before else kind)
    return tuple(names)


def as_companions(companions: Sequence[Any] | None) -> tuple[RegressorCompanion, ...]:
    """Regressors as two levels take them."""
    pairs = zip(companions or (), companion_names(companions), strict=True)
    return tuple(RegressorCompanion(own, name) for own, name in pairs)


def companion_predictions(fitted: Sequence[Any], X: FloatArray) -> FloatArray:
    """What fitted regressors predict, one column each, (n, c)."""
    pairs = zip(fitted, companion_names(fitted), strict=True)
    columns = [FittedRegressor(own, name).predict(X) for own, name in pairs]
    return np.array(columns).reshape(len(columns), len(X)).T


def _weights_name(regressor: Any) -> str | None:
    """What the regressor's fit calls sample weights; imported on use, since most fits have no companions."""
    from skewridge.nodes.sample_weights import weights_name

    return weights_name(regressor)
