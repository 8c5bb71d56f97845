"""Whether more rows would help: the error of fits to fewer rows."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from skewridge._messages import plain
from skewridge._typing import FloatArray
from skewridge._validation import check_integer, check_same_order, check_vector
from skewridge.advice.raw_rows import raw_rows

SHARES = (0.25, 0.5)  # of the rows that were fitted
MOST_ROWS = 4_000  # of a fit of the curve, whatever the number of rows
FEWEST_ROWS = 40  # of the smallest fit
HELPS = 0.02  # a fall of the error by twice the rows from which more rows are said to help


def learning_curve(
    model: Any, X: Any, y: Any, X_new: Any, y_new: Any, *, output: int | None = None, seed: int = 0
) -> dict[str, Any] | None:
    """Return the error on new rows of fits to fewer rows, and what twice the rows would make of it.

    Two further fits: to a quarter and to half of the rows, at most 1,000 and 4,000 of them. Errors are taken to fall as
    a power of the number of rows, as they did last.

    Parameters
    ----------
    model : fitted regressor or pipeline
        It is copied; the copies are fitted.
    X, y : the rows that it was fitted to
    X_new, y_new : rows to judge by
    output : int, optional
        Which column of the prediction, where there are several.
    seed : int, default=0

    Returns
    -------
    dict or None
        ``n_rows`` and ``rmse`` of the fits, the model's own last; ``twice``, the error that twice its rows would have;
        ``helps``, whether that is at least 2% less. None where rows are fewer than 160.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge import DacKernelRidge
    >>> X = np.random.default_rng(0).random((400, 1))
    >>> y = np.sin(9 * X[:, 0])
    >>> model = DacKernelRidge(1, bandwidth=0.2, penalty=1e-6).fit(X[:300], y[:300])
    >>> told = learning_curve(model, X[:300], y[:300], X[300:], y[300:])
    >>> told["n_rows"]
    [75, 150, 300]
    """
    check_same_order(X, y)
    response = np.asarray(y)
    n_rows, truth = len(response), check_vector("y_new", y_new)
    sizes = curve_sizes(n_rows)
    if not sizes:
        return None
    order = np.random.default_rng(check_integer("seed", seed, 0)).permutation(n_rows)
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer rows than were fitted
        for size in sizes:
            some = np.sort(order[:size])
            fitted = copy.deepcopy(model).fit(raw_rows(model, X, some).table, response[some])
            errors.append(_rmse(fitted, X_new, truth, output))
        errors.append(_rmse(model, X_new, truth, output))
    return plain(_told([*sizes, n_rows], errors))


def curve_sizes(n_rows: int) -> list[int]:
    """Rows of the further fits; none where they would be too few.

    Examples
    --------
    >>> curve_sizes(300), curve_sizes(100_000), curve_sizes(100)
    ([75, 150], [1000, 4000], [])
    """
    half, quarter = (int(min(share * n_rows, MOST_ROWS)) for share in SHARES[::-1])
    small = min(quarter, MOST_ROWS // 4)
    return [small, half] if small >= FEWEST_ROWS else []


def _rmse(model: Any, X: Any, y: FloatArray, output: int | None) -> float:
    found = np.asarray(model.predict(X), dtype=np.float64)
    own = found if found.ndim == 1 else found[:, output or 0]
    return float(np.sqrt(np.mean((own - y) ** 2)))


def _told(sizes: list[int], errors: list[float]) -> dict[str, Any]:
    last = errors[-1]
    twice = last
    if min(errors) > 0:
        slope = np.log(errors[-1] / errors[-2]) / np.log(sizes[-1] / sizes[-2])
        twice = last * 2.0 ** float(min(0.0, slope))
    return {"n_rows": sizes, "rmse": errors, "twice": twice, "helps": bool(twice < (1.0 - HELPS) * last)}
