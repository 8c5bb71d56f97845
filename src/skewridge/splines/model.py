"""The terms of a smoothing-spline ANOVA model: which functions are free, which are penalised, and their kernels.

A feature lives on [0, 1]. With k_r the scaled Bernoulli polynomials, a cubic spline is a constant, a line k1(x) and a
smooth part with kernel k2(x) k2(z) - k4(|x - z|); a linear spline is a constant and a smooth part with kernel
k1(x) k1(z) + k2(|x - z|). An interaction multiplies the parts of two features other than the constants; a product of
two lines stays free, every other product is a penalised term.

Every term b gets features F_b = L_b^-1 R_b(Z, x), orthonormal in the term's own space, where R_b(Z, Z) = L_b L_b' at
the knots Z. They do not depend on the terms' weights theta, so one pass over the rows serves every theta and every
penalty: f(x) = s(x)'d + sum_b theta_b F_b(x)'U_b c with U_b = F_b(Z)'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import TINIEST, check_choice
from skewridge.features.scaling import CONSTANT
from skewridge.linalg.cholesky import lower_solve, pivoted_cholesky

MARGIN = 0.05  # of a feature's range: how far its interval goes beyond it on either side
SPLINES = ("cubic", "linear")
TOLERANCE = 1e-12  # knots that the others explain to this share of a term's largest R(z, z) add no feature
DEPENDENT = 1e-10  # free functions with less than this share of their own are those that others explain

Factor = tuple[int, str]  # a feature, and which part of it: "line", "cubic" or "linear"
Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Domain:
    """The intervals that are mapped to [0, 1], feature by feature; a constant one has span 0 and is 1/2 everywhere."""

    low: FloatArray
    span: FloatArray

    @property
    def varies(self) -> Any:
        """Which features are not constant, (d,)."""
        return self.span > 0

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the scaled features; points outside the intervals are outside [0, 1]."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused with the prediction
            scaled = ((X - self.low) / np.where(self.varies, self.span, 1.0) + MARGIN) / (1 + 2 * MARGIN)
        return np.where(self.varies, scaled, 0.5)


def make_domain(X: FloatArray) -> Domain:
    """Return the intervals that exceed the ranges of X by a twentieth on either side.

    Examples
    --------
    >>> import numpy as np
    >>> make_domain(np.array([[0.0, 7.0], [2.0, 7.0]]))(np.array([[-0.1, 7.0], [1.0, 9.0]]))
    array([[0. , 0.5],
           [0.5, 0.5]])
    """
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    varies = span > np.maximum(CONSTANT * np.abs(X).max(axis=0), TINIEST)
    return Domain(low, np.where(varies, span, 0.0))


@dataclass(frozen=True)
class Model:
    """The terms that a function is a sum of: products of one or two factors, penalised.

    Of free tuples of features the product of their lines is not penalised; () is the constant.
    """

    free: tuple[tuple[int, ...], ...]
    terms: tuple[Term, ...]

    def free_values(self, X: FloatArray) -> FloatArray:
        """The values of the functions that are not penalised, (n, m)."""
        lines = X - 0.5
        return np.column_stack([np.prod(lines[:, list(features)], axis=1) for features in self.free])

    def kernels(self, X: FloatArray, Z: FloatArray) -> list[FloatArray]:
        """The kernel of every term between the rows of X and those of Z in [0, 1], (n, q) each; not to be changed."""
        needed = sorted({factor for term in self.terms for factor in term})
        parts = {(f, part): PARTS[part](X[:, f], Z[:, f]) for f, part in needed}
        return [parts[term[0]] if len(term) == 1 else parts[term[0]] * parts[term[1]] for term in self.terms]

    def names(self, features: Sequence[str]) -> tuple[list[str], list[str]]:
        """Names of the free functions and the terms: x a line, s(x) a smooth part, a:b a product."""
        free = [":".join(features[f] for f in fs) or "1" for fs in self.free]
        terms = [":".join(features[f] if part == "line" else f"s({features[f]})" for f, part in t) for t in self.terms]
        return free, terms

    def among(self, varies: Any) -> tuple[list[int], list[int]]:
        """The places of the free functions and of the terms whose features all vary."""
        free = [i for i, features in enumerate(self.free) if all(varies[f] for f in features)]
        terms = [i for i, term in enumerate(self.terms) if all(varies[f] for f, _ in term)]
        return free, terms

    def only(self, free: Iterable[int], terms: Iterable[int]) -> Model:
        """The model with some of its free functions and terms."""
        return Model(tuple(self.free[i] for i in free), tuple(self.terms[i] for i in terms))


def make_model(splines: Sequence[str], pairs: Sequence[tuple[int, int]]) -> Model:
    """Return the main effects of every feature and the interactions of some pairs.

    Examples
    --------
    >>> make_model(["cubic", "linear"], [(0, 1)]).names(["x", "z"])
    (['1', 'x'], ['s(x)', 's(z)', 'x:s(z)', 's(x):s(z)'])
    """
    free: list[tuple[int, ...]] = [(), *((f,) for f, spline in enumerate(splines) if spline == "cubic")]
    terms: list[Term] = [((f, spline),) for f, spline in enumerate(splines)]
    for pair in pairs:
        for parts in product(*(("line", "cubic") if splines[f] == "cubic" else ("linear",) for f in pair)):
            if parts == ("line", "line"):
                free.append(pair)
            else:
                terms.append(tuple(zip(pair, parts, strict=True)))
    return Model(tuple(free), tuple(terms))


def check_splines(spline: Any, n_features: int) -> list[str]:
    """Return the kind of spline of every feature: one name for all, or one for each."""
    if isinstance(spline, str):
        return [check_choice("spline", spline, SPLINES)] * n_features
    kinds = [check_choice("spline", kind, SPLINES) for kind in spline] if np.iterable(spline) else []
    if len(kinds) != n_features:
        raise ValueError(
            f"spline must be 'cubic', 'linear', or one of them for each of {n_features} features; got {spline!r}."
        )
    return kinds


def check_pairs(interactions: Any, n_features: int, names: Sequence[str] = ()) -> list[tuple[int, int]]:
    """Return the pairs of features that interact, each once and in ascending order; names stand for their numbers.

    Examples
    --------
    >>> check_pairs("all", 3), check_pairs([(2, 0), (0, 2)], 3), check_pairs([("b", "a")], 2, ["a", "b"])
    ([(0, 1), (0, 2), (1, 2)], [(0, 2)], [(0, 1)])
    """
    if interactions is None:
        return []
    if isinstance(interactions, str):
        check_choice("interactions", interactions, ["all"])
        return list(combinations(range(n_features), 2))
    pairs, columns = set(), list(names)
    for pair in interactions if np.iterable(interactions) else [interactions]:
        several = np.iterable(pair) and not isinstance(pair, str)
        places = np.asarray([columns.index(one) if one in columns else one for one in pair] if several else pair)
        two = places.shape == (2,) and places.dtype.kind in "iu" and places[0] != places[1]
        if not two or places.min() < 0 or places.max() >= n_features:
            raise ValueError(
                "interactions must be None, 'all', or a list of pairs of different column numbers from 0 to "
                f"{n_features - 1}, or of names of a frame's columns; got {pair!r}."
            )
        pairs.add((int(places.min()), int(places.max())))
    return sorted(pairs)


def _k2(x: FloatArray) -> FloatArray:
    return ((x - 0.5) ** 2 - 1 / 12) / 2


def _linear(x: FloatArray, z: FloatArray) -> FloatArray:
    """k1(x) k1(z) + k2(|x - z|); constant beyond [0, 1], where its slope is 0."""
    x = np.clip(x, 0.0, 1.0)
    lines = np.column_stack([x - 0.5, np.full(len(x), -1 / 24)]) @ np.vstack([z - 0.5, np.ones(len(z))])
    return _centred_distance(x, z) ** 2 * 0.5 + lines


def _cubic(x: FloatArray, z: FloatArray) -> FloatArray:
    """k2(x) k2(z) - k4(|x - z|), k4(t) = (s^4 - s^2/2 + 7/240)/24 with s = t - 1/2; straight on beyond [0, 1]."""
    inside = np.clip(x, 0.0, 1.0)
    squares = _centred_distance(inside, z) ** 2
    products = np.column_stack([_k2(inside), np.full(len(x), -7 / 5760)]) @ np.vstack([_k2(z), np.ones(len(z))])
    values = (0.5 - squares) * squares * (1 / 24) + products
    beyond = np.flatnonzero(x != inside)
    if len(beyond):
        edge = inside[beyond, None]
        t = _centred_distance(edge[:, 0], z)
        slope = (edge - 0.5) * _k2(z) - np.where(edge > 0, 1.0, -1.0) * ((t**3 - t / 4) / 6)  # k3(|edge - z|)
        values[beyond] += (x - inside)[beyond, None] * slope
    return values


def _centred_distance(x: FloatArray, z: FloatArray) -> FloatArray:
    """|x - z| - 1/2 of every pair."""
    return np.asarray(abs(np.subtract.outer(x, z)) - 0.5)


PARTS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "line": lambda x, z: np.multiply.outer(x - 0.5, z - 0.5),
    "cubic": _cubic,
    "linear": _linear,
}


@dataclass(frozen=True)
class Features:
    """The features of every term, one after the other, starting at starts (p + 1,).

    The model has the terms that are not zero at all knots (q, d) in [0, 1]; places (p,) are theirs among the terms
    given; kept and factors are for every term the knots that are linearly independent, and L_b.
    """

    model: Model
    places: IntArray
    knots: FloatArray
    kept: tuple[IntArray, ...]
    factors: tuple[FloatArray, ...]
    starts: IntArray

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def term(self) -> IntArray:
        """Which term every feature is of."""
        return np.repeat(np.arange(len(self.kept)), np.diff(self.starts))

    def __call__(self, X: FloatArray) -> FloatArray:
        """The features of every row, (n, P)."""
        out = np.empty((len(X), len(self)))
        for b, values in enumerate(self.model.kernels(X, self.knots)):
            own = np.take(values, self.kept[b], axis=1)
            out[:, self.starts[b] : self.starts[b + 1]] = lower_solve(self.factors[b], own)
        return out


def make_features(model: Model, knots: FloatArray) -> Features:
    """Return the features at some knots; rank-revealing, so knots may be repeated and features have few values."""
    places, kept, factors = [], [], []
    for b, gram in enumerate(model.kernels(knots, knots)):
        if gram.diagonal().max(initial=0.0) > 0:
            independent, factor = pivoted_cholesky(gram.copy(), TOLERANCE)
            places.append(b)
            kept.append(independent)
            factors.append(factor)
    starts = np.cumsum([0, *map(len, kept)])
    chosen = model.only(range(len(model.free)), places)
    return Features(chosen, np.array(places, dtype=np.int64), knots, tuple(kept), tuple(factors), starts)


@dataclass(frozen=True)
class Free:
    """The functions that are not penalised, made orthonormal on the rows: nearly dependent ones lose no digits.

    The basis (m, k) has what each of the k functions has of the m that the model names.
    """

    model: Model
    basis: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Their values at every row, (n, k)."""
        return self.model.free_values(X) @ self.basis


def make_free(model: Model, X: FloatArray, weights: FloatArray) -> Free:
    """Return the free functions that are linearly independent on the rows."""
    values = model.free_values(X) * np.sqrt(weights)[:, None]
    unit = np.sqrt(np.sum(values**2, axis=0))
    unit[unit == 0] = 1.0
    _, sizes, right = np.linalg.svd(np.linalg.qr(values / unit, mode="r"), full_matrices=False)
    kept = sizes > DEPENDENT * sizes[0]
    return Free(model, (right[kept].T / sizes[kept]) / unit[:, None])
