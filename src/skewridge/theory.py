"""The paper's theory as numbers: effective dimension, Theorem 4.1's bound, Corollary 4.2's terms.

mu_1 >= mu_2 >= ... are the eigenvalues of the kernel's operator under the law P_X of the nodes' rows. Both statements
assume k INDEPENDENT nodes of n~ rows each, drawn from one law, and noise with mean 0 given that a row was selected.
Nodes of Algorithm 2 share rows, and rows are selected on y: copies bring no new noise, so the variance does not fall as
1/N~. :func:`skewridge.nodes.fit.relative_variance` tells the variance as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_integer, check_real
from skewridge.kernels import make_kernel


@dataclass(frozen=True)
class RiskBound:
    """Theorem 4.1's three terms, whose sum bounds the risk E ||fbar - eta_0||^2 in L2(P_X).

    Attributes
    ----------
    bias : 8 lambda ||eta_0||^2
    variance : 4 d_lambda sigma^2 / (n~ k)
    remainder : 4 d_lambda (mu_1^2 ||eta_0||^2 + omega^2 sigma^2 / (lambda n~ k)) exp(-3 lambda n~ / (28 omega^2))
    """

    bias: float
    variance: float
    remainder: float

    @property
    def total(self) -> float:
        """The bound."""
        return self.bias + self.variance + self.remainder


def kernel_spectrum(X: Any, kernel: str = "gaussian", bandwidth: float | None = None, degree: int = 3) -> FloatArray:
    """Return estimates of mu_1 >= mu_2 >= ...: the eigenvalues of k(X, X) / n, (n,), none below 0.

    Parameters
    ----------
    X : (n, d) array, drawn from the law of the nodes' rows; a few thousand rows settle the large eigenvalues
    kernel, bandwidth, degree : as in :class:`~skewridge.DacKernelRidge`

    Examples
    --------
    >>> import numpy as np
    >>> spectrum = kernel_spectrum(np.linspace(0, 1, 200)[:, None], "gaussian", bandwidth=0.5)
    >>> round(float(spectrum.sum()), 6)  # the mean of k(x, x)
    1.0
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.size == 0 or not np.isfinite(X).all():
        raise ValueError(f"X must be a table of finite numbers with at least one row; got shape {X.shape}.")
    values = np.linalg.eigvalsh(make_kernel(kernel, X, bandwidth, degree).gram(X)) / len(X)
    return np.maximum(values[::-1], 0.0)


def effective_dimension(spectrum: Any, penalty: float, order: int = 1) -> float:
    """d_lambda = sum_j mu_j / (mu_j + lambda); with order 2, sum_j (mu_j / (mu_j + lambda))^2.

    The first is what the bounds have. The second, which is smaller, is the leading constant itself: n independent rows
    have an integrated variance of sigma^2 / n times it as n grows with lambda fixed.

    Examples
    --------
    >>> effective_dimension([3.0, 1.0, 0.0], penalty=1.0)
    1.25
    >>> effective_dimension([3.0, 1.0, 0.0], penalty=1.0, order=2)
    0.8125
    """
    mu = _check_spectrum(spectrum)
    penalty = check_real("penalty", penalty, 0, open_low=True)
    order = check_integer("order", order, 1)
    return float(np.sum((mu / (mu + penalty)) ** order))


def risk_bound(
    spectrum: Any,
    penalty: float,
    *,
    node_size: float,
    n_nodes: int,
    noise: float,
    norm: float,
    peak: float = 1.0,
) -> RiskBound:
    """Theorem 4.1: the risk of the average of k nodes of n~ rows is at most bias + variance + remainder.

    Assumes a kernel that is symmetric, positive definite and square integrable (assumption 1), eta_0 in its space (2)
    and sum_j mu_j phi_j(x)^2 = k(x, x) <= omega^2 (3); k independent nodes of n~ rows each from one law P; and noise of
    mean 0 and variance sigma^2 given that a row is in a node. Algorithm 2 violates the last two: its nodes share rows,
    and rows are copied for their noise. The terms are as printed; where mu_j are the operator's eigenvalues, as in
    d_lambda, the paper's proof gives mu_1 where the remainder has mu_1^2, which is smaller when mu_1 < 1.

    Parameters
    ----------
    spectrum : (J,) array, mu
    penalty : lambda
    node_size, n_nodes : n~ and k
    noise : sigma, the standard deviation of the noise
    norm : ||eta_0|| in the kernel's space
    peak : omega^2 = sup k(x, x); 1 for kernels of a distance

    Examples
    --------
    >>> bound = risk_bound([0.5, 0.5], 0.5, node_size=1000, n_nodes=10, noise=1.0, norm=1.0)
    >>> bound.bias, round(bound.variance, 7)  # 8 * 0.5, and 4 * 1 / 10,000
    (4.0, 0.0004)
    """
    mu, lam, n, k, sigma2, norm2 = _checked(spectrum, penalty, node_size, n_nodes, noise, norm)
    omega2 = check_real("peak", peak, 0, open_low=True)
    d = effective_dimension(mu, lam)
    decay = float(np.exp(-3.0 * lam * n / (28.0 * omega2)))
    remainder = 4.0 * d * (float(mu.max()) ** 2 * norm2 + omega2 * sigma2 / (lam * n * k)) * decay
    return RiskBound(8.0 * lam * norm2, 4.0 * d * sigma2 / (n * k), remainder)


@dataclass(frozen=True)
class RiskOrder:
    """Corollary 4.2's two terms, of whose sum the risk is a bounded multiple.

    Attributes
    ----------
    bias : lambda ||eta_0||^2, the squared bias
    variance : sigma^2 d_lambda / N~
    """

    bias: float
    variance: float


def risk_order(spectrum: Any, penalty: float, *, n_distinct: float, noise: float, norm: float) -> RiskOrder:
    """Corollary 4.2: the risk is O(1) {lambda ||eta_0||^2 + sigma^2 d_lambda / N~}.

    Assumes what :func:`risk_bound` does, independent nodes among it, and that the remainder is negligible. For
    Algorithm 1, N~ = N. For Algorithm 2 the variance term is too small: N~ counts a row once for every node that
    holds it.

    Parameters
    ----------
    spectrum, penalty, noise, norm : as in :func:`risk_bound`
    n_distinct : N~ = n~ k, the sum of the node sizes

    Examples
    --------
    >>> risk_order([0.5, 0.5], 0.5, n_distinct=10_000, noise=1.0, norm=2.0)
    RiskOrder(bias=2.0, variance=0.0001)
    """
    mu, lam, n, _, sigma2, norm2 = _checked(spectrum, penalty, n_distinct, 1, noise, norm)
    return RiskOrder(lam * norm2, sigma2 * effective_dimension(mu, lam) / n)


def _checked(
    spectrum: Any, penalty: float, n_rows: float, n_nodes: int, noise: float, norm: float
) -> tuple[FloatArray, float, float, int, float, float]:
    """Return mu, lambda, rows, nodes, sigma^2 and ||eta_0||^2, or raise."""
    return (
        _check_spectrum(spectrum),
        check_real("penalty", penalty, 0, open_low=True),
        check_real("the number of rows", n_rows, 1),
        check_integer("n_nodes", n_nodes, 1),
        check_real("noise", noise, 0) ** 2,
        check_real("norm", norm, 0) ** 2,
    )


def _check_spectrum(spectrum: Any) -> FloatArray:
    mu = np.asarray(spectrum, dtype=np.float64)
    if mu.ndim != 1 or mu.size == 0 or not np.isfinite(mu).all() or (mu < 0).any():
        raise ValueError(
            f"spectrum must hold eigenvalues: a vector of finite numbers >= 0; got an array of shape {mu.shape}"
            f"{f' with values from {mu.min():g}' if mu.size else ''}. Use kernel_spectrum."
        )
    return mu
