"""Blend the predictions of a few members.

Weights are fitted to *honest* predictions: of every row by fits without it (left out, or
cross-fitted). The blend's own errors at the training rows then estimate its risk, up to the few
weights that were fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skewridge._typing import FloatArray

MOST_MEMBERS = 8  # all 2^9 - 1 faces of the weights' simplex are tried
FEASIBLE = 1e-12  # how far rounding may take weights beyond their bounds
CONSTANT = 1e-13  # a member that varies by less than this share of its size is constant
INDEPENDENT = 1e-10  # of the largest singular value: smaller ones are collinear members
TIE = 1e-9  # residuals that differ by less, relatively, are equally good
ROUNDING = 1e-14  # of the response: residuals smaller than this are 0
MOST_SHARE = 0.1  # of the squared error that weights are fitted to, in one row; of few rows, that of ten
MOST_ROUNDS = 20  # of lowering the weights of rows that count for more


@dataclass(frozen=True)
class Blend:
    """f(x) = intercept + sum over members m of weights_m f_m(x).

    Attributes
    ----------
    weights : (M, p) array, nonnegative, with sum at most 1 for every output
    intercept : (p,) array
    """

    weights: FloatArray
    intercept: FloatArray

    def predict(self, members: Sequence[FloatArray]) -> FloatArray:
        """Blend the members' predictions, each (n, p); those of weight 0 are not looked at."""
        if len(members) != len(self.weights):
            raise ValueError(f"A blend of {len(self.weights)} members is given {len(members)}.")
        total = np.zeros(members[0].shape) + self.intercept
        for weights, member in zip(self.weights, members, strict=True):
            used = weights > 0
            total[:, used] += weights[used] * member[:, used]
        return total

    def to_arrays(self) -> dict[str, FloatArray]:
        """Return what is saved."""
        return {"weights": self.weights, "intercept": self.intercept}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Blend:
        """Rebuild a blend; raises ValueError where lengths do not fit together."""
        names = ("weights", "intercept")
        weights, intercept = (np.asarray(arrays[name], np.float64) for name in names)
        if weights.ndim != 2 or intercept.shape != weights.shape[1:]:
            raise ValueError(
                f"These arrays are no blend: weights {weights.shape}, intercept {intercept.shape}. "
                "The model is damaged; fit it again."
            )
        return cls(weights, intercept)


def fit_blend(
    members: Sequence[FloatArray], Y: FloatArray, row_weights: FloatArray | None = None
) -> tuple[Blend, FloatArray]:
    """Fit the weights of up to eight members by least squares; returns the blend and its predictions.

    Minimises sum_i r_i (y_i - ybar - sum_m w_m (f_mi - fbar_m))^2 over w >= 0, sum w <= 1, with r
    the row weights and means weighted by them. A sum below 1 shrinks the blend to the mean of y.
    The minimum is exact, since every face of the weights' simplex is tried. A constant member has
    weight 0; of equally good blends the one with the fewest members is taken, then the earliest.
    Where one row holds over a tenth of the squared error (of few rows, ten times the share of one)
    its weight is lowered until it holds no more: which member happens to be least wrong at one
    extreme row says little about others. The intercept is that of all rows with their own weights.

    Parameters
    ----------
    members : sequence of (n, p) arrays of honest predictions
    Y : (n, p) array
    row_weights : (n,) array, frequency times score of every row; None is 1

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> flat, noisy = y * 0.0 + 5.0, y + np.array([[1.0], [-1.0], [-1.0], [1.0]])
    >>> blend, predictions = fit_blend([flat, noisy], y)
    >>> blend.weights.ravel().round(3), predictions.ravel().round(3)
    (array([0.   , 0.556]), array([1.222, 0.667, 1.222, 2.889]))
    """
    _check_members(members, Y)
    row_weights = np.ones(len(Y)) if row_weights is None else row_weights
    _check_row_weights(row_weights, len(Y))
    pairs = [
        _fit_output(np.column_stack([member[:, j] for member in members]), Y[:, j], row_weights)
        for j in range(Y.shape[1])
    ]
    weights, intercepts = zip(*pairs, strict=True)
    blend = Blend(np.column_stack(weights), np.array(intercepts))
    return blend, blend.predict(members)


def leave_own_out(predictions: FloatArray, Y: FloatArray, row_weights: FloatArray) -> FloatArray:
    """A blend's predictions of its rows with the intercept of the other rows, (n, p); nan where there are none.

    Examples
    --------
    >>> y = np.array([[1.0], [3.0]])
    >>> leave_own_out(np.full((2, 1), 2.0), y, np.ones(2)).ravel()  # the mean of the other
    array([3., 1.])
    """
    total = float(row_weights.sum())
    others = np.where(row_weights < total, total - row_weights, np.nan)
    return np.asarray(Y - (Y - predictions) * (total / others)[:, None])


def _fit_output(F: FloatArray, y: FloatArray, row_weights: FloatArray) -> tuple[FloatArray, float]:
    """The weights of one output, (M,), with no row that decides them alone, and its intercept."""
    used = row_weights > 0
    F, y, r = F[used], y[used], row_weights[used] / row_weights.max()
    level = float(y.min())  # an offset that all share must not hide that members vary
    F, y = F - level, y - level
    unit = max(float(np.abs(F).max()), float(np.abs(y).max())) or 1.0  # squares must not overflow
    F, y = F / unit, y / unit
    most = max(MOST_SHARE, 10.0 * float(np.sum(r**2)) / float(r.sum()) ** 2)
    counted = r
    for _ in range(MOST_ROUNDS):
        weights, intercept = _fit_weighted(F, y, counted)
        squares = r * (y - intercept - F @ weights) ** 2
        before, counted = counted, r * _lowered(squares, most)
        if np.allclose(before, counted, rtol=TIE, atol=0.0):
            break
    shift = float(np.average(y - F @ weights, weights=r)) * unit
    return weights, shift + level * (1.0 - float(weights.sum()))


def _lowered(squares: FloatArray, most: float) -> FloatArray:
    """What large squares are multiplied by so that none is more than a share of their sum, (n,)."""
    ordered = np.sort(squares)
    n_large = min(len(squares), int(np.ceil(1.0 / most)))
    largest, rest = ordered[::-1][:n_large], np.cumsum(ordered)[::-1][:n_large]  # rest: without k larger ones
    limits = most * rest / (1.0 - most * np.arange(n_large))
    enough = largest <= limits  # with k lowered to the limit, the next is within it
    limit = limits[int(np.argmax(enough))] if enough.any() else largest[-1]
    return np.divide(limit, squares, out=np.ones(len(squares)), where=squares > limit)


def _fit_weighted(F: FloatArray, y: FloatArray, r: FloatArray) -> tuple[FloatArray, float]:
    """The weights of one output, (M,), and its intercept, rows counting as given; F, (n, M), are predictions."""
    means, mean = np.average(F, axis=0, weights=r), float(np.average(y, weights=r))
    columns = np.column_stack([F - means, y - mean])
    largest = np.append(np.abs(F).max(axis=0), np.abs(y).max())
    columns[:, np.abs(columns).max(axis=0) <= CONSTANT * largest] = 0.0
    triangle: FloatArray = np.asarray(np.linalg.qr(columns * np.sqrt(r)[:, None], mode="r"))
    weights = _least_squares(triangle[:, :-1], triangle[:, -1])
    return weights, mean - float(means @ weights)


def _least_squares(A: FloatArray, b: FloatArray) -> FloatArray:
    """Minimise ||b - A w|| over w >= 0, sum w <= 1: the first of the best points, (M,)."""
    points = np.array(list(_face_minima(A, b)))
    residuals = np.linalg.norm(b - points @ A.T, axis=1)
    good = residuals <= residuals.min() * (1.0 + TIE) + ROUNDING * np.linalg.norm(b)
    return points[int(np.argmax(good))]


def _face_minima(A: FloatArray, b: FloatArray) -> Iterator[FloatArray]:
    """Yield the feasible minima on the faces of {w >= 0, sum w <= 1}: few and early members first.

    A minimum over the whole set is among them: one of the best points has independent members.
    """
    M = A.shape[1]
    usable = [m for m in range(M) if A[:, m].any()]
    yield np.zeros(M)
    for size in range(1, len(usable) + 1):
        for members in map(list, combinations(usable, size)):
            for minimum in (_free_minimum, _minimum_of_sum_one):
                found = minimum(A[:, members], b)
                if found is not None and found.min() >= -FEASIBLE and found.sum() <= 1.0 + FEASIBLE:
                    weights = np.zeros(M)
                    weights[members] = np.maximum(found, 0.0)
                    yield weights / max(1.0, weights.sum())


def _free_minimum(A: FloatArray, b: FloatArray) -> FloatArray | None:
    """The least squares solution; None where columns are collinear."""
    found, _, rank, _ = np.linalg.lstsq(A, b, rcond=INDEPENDENT)
    return found.astype(np.float64) if rank == A.shape[1] else None


def _minimum_of_sum_one(A: FloatArray, b: FloatArray) -> FloatArray | None:
    """The least squares solution with weights that sum to 1: the last one is 1 minus the others."""
    if A.shape[1] == 1:
        return np.ones(1)
    others = _free_minimum(A[:, :-1] - A[:, -1:], b - A[:, -1])
    return None if others is None else np.append(others, 1.0 - others.sum())


def _check_members(members: Sequence[FloatArray], Y: FloatArray) -> None:
    if not 1 <= len(members) <= MOST_MEMBERS:
        raise ValueError(f"A blend takes 1 to {MOST_MEMBERS} members; got {len(members)}.")
    shapes = [member.shape for member in members]
    if Y.ndim != 2 or any(shape != Y.shape for shape in shapes):
        raise ValueError(f"Members and Y must have one shape, (n, p); got {shapes} and {Y.shape}.")
    bad = [m for m, member in enumerate(members) if not np.isfinite(member).all()]
    if bad:
        raise ValueError(f"Predictions must be finite; members {bad} are not: leave them out.")


def _check_row_weights(row_weights: FloatArray, n: int) -> None:
    usable = bool((row_weights >= 0).all()) and 0 < row_weights.sum() < np.inf
    if row_weights.shape != (n,) or not usable:
        low, high = row_weights.min(initial=np.inf), row_weights.max(initial=-np.inf)
        raise ValueError(
            f"row_weights must be {n} finite, nonnegative numbers, not all 0; "
            f"got shape {row_weights.shape}, values from {low:g} to {high:g}."
        )
