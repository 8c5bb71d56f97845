"""Hard tables by name: ``TABLES[name](rng)`` gives X and y to fit, and X and y of new rows.

A law makes n rows at once, the rows to fit first; where new rows come of another law, a table makes both itself.
"""

import numpy as np

TABLES = {}


def law(n_train, n_test):
    """Enter a law ``make(n, rng) -> X, y`` as a table of so many rows to fit and so many new ones."""

    def enter(make):
        def table(rng):
            X, y = make(n_train + n_test, rng)
            return X[:n_train], y[:n_train], X[n_train:], y[n_train:]

        TABLES[make.__name__] = table
        return make

    return enter


def whole(make):
    """Enter a function that makes the rows to fit and the new ones itself."""
    TABLES[make.__name__] = make
    return make


def noisy(signal, rng, sd=0.1):
    return signal + sd * rng.normal(size=len(signal))


def smooth(X):
    return np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + X[:, 2]


def smooth_rows(n, rng):
    X = rng.normal(size=(n, 3))
    return X, noisy(smooth(X), rng)


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


# Lines: ridge regression is the method to be compared with


def line(n, d, rng, sd):
    X = rng.normal(size=(n, d))
    return X, noisy(X @ rng.normal(size=d) / np.sqrt(d), rng, sd)


@law(300, 1000)
def line_of_200_columns(n, rng):
    return line(n, 200, rng, 0.3)


@law(300, 1000)
def line_of_50_columns(n, rng):
    return line(n, 50, rng, 0.3)


@law(200, 1000)
def line_of_20_columns(n, rng):
    return line(n, 20, rng, 0.1)


@law(300, 1000)
def two_of_200_columns(n, rng):
    X = rng.normal(size=(n, 200))
    return X, noisy(X[:, :2] @ [3, 2], rng, 0.3)


@law(500, 1000)
def three_factors_in_30_columns(n, rng):
    factors = rng.normal(size=(n, 3))
    X = factors @ rng.normal(size=(3, 30)) + 0.05 * rng.normal(size=(n, 30))
    return X, noisy(factors[:, 0], rng)


@law(30, 1000)
def line_of_30_rows(n, rng):
    X = rng.normal(size=(n, 5))
    return X, noisy(X.sum(axis=1), rng)


@law(12, 1000)
def line_of_12_rows(n, rng):
    X = rng.normal(size=(n, 2))
    return X, noisy(X.sum(axis=1), rng)


@law(20, 1000)
def exact_line_of_20_rows(n, rng):
    X = rng.normal(size=(n, 1))
    return X, 2 * X[:, 0]


@law(1000, 1000)
def exact_line(n, rng):
    X = rng.normal(size=(n, 5))
    return X, X @ np.arange(1.0, 6.0)


@whole
def line_beyond_the_range(rng):
    X, beyond = rng.uniform(size=(1000, 2)), rng.uniform(0, 2, (1000, 2))
    return X, noisy(X @ [3, 1], rng), beyond, noisy(beyond @ [3, 1], rng)


# Far values: in y, in a cell, in a row, in the tails of columns or of the noise


@law(1000, 1000)
def response_of_a_million(n, rng):
    X, y = smooth_rows(n, rng)
    y[7] = 1e6
    return X, y


@law(1000, 1000)
def response_of_a_thousand(n, rng):
    X, y = smooth_rows(n, rng)
    y[7] = 1e3
    return X, y


@law(1000, 1000)
def five_responses_of_millions(n, rng):
    X, y = smooth_rows(n, rng)
    y[:5] = 1e6, -1e6, 1e5, 3e6, -2e5
    return X, y


@law(1000, 1000)
def absurd_row(n, rng):
    X, y = smooth_rows(n, rng)
    X[7] = 1e6
    return X, y


@law(1000, 1000)
def absurd_cell(n, rng):
    X, y = smooth_rows(n, rng)
    X[7, 0] = 1e6
    return X, y


@law(1000, 1000)
def far_cell(n, rng):
    X, y = smooth_rows(n, rng)
    X[7, 0] = 1e3
    return X, y


@law(1500, 1500)
def cauchy_columns(n, rng):
    X = rng.standard_cauchy((n, 3))
    return X, noisy(np.tanh(X[:, 0]) + np.arctan(X[:, 1]), rng)


@law(1500, 1500)
def lognormal_columns(n, rng):
    Z = 2 * rng.normal(size=(n, 3))
    return np.exp(Z), noisy(Z[:, 0] + np.sin(Z[:, 1]), rng)


@law(2000, 2000)
def pareto_response(n, rng):
    X = rng.normal(size=(n, 3))
    return X, np.exp(smooth(X)) * rng.pareto(1.5, n)


@whole
def cauchy_noise(rng):
    X, new = rng.normal(size=(1500, 3)), rng.normal(size=(1500, 3))
    return X, smooth(X) + 0.3 * rng.standard_cauchy(1500), new, smooth(new)


# Responses that are no continuous numbers


@law(1500, 1500)
def binary_response(n, rng):
    X = rng.normal(size=(n, 4))
    return X, (rng.random(n) < sigmoid(3 * smooth(X) - 3)).astype(float)


@law(3000, 3000)
def rare_binary_response(n, rng):
    X = rng.normal(size=(n, 4))
    return X, (rng.random(n) < sigmoid(3 * smooth(X) - 12)).astype(float)


@law(2000, 2000)
def counts(n, rng):
    X = rng.normal(size=(n, 4))
    return X, rng.poisson(np.exp(smooth(X) - 2)).astype(float)


@law(4000, 4000)
def zeros_but_beyond_an_edge(n, rng):
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] > 2.3, 5 + np.exp(X[:, 1]), 0.0)


@law(4000, 4000)
def zeros_but_at_random(n, rng):
    X = rng.normal(size=(n, 3))
    return X, np.where(rng.random(n) < 0.01, 5 + np.exp(X[:, 1]), 0.0)


@law(1500, 1500)
def clipped_response(n, rng):
    X = rng.normal(size=(n, 3))
    return X, np.clip(smooth(X), 0, 1)


@law(2000, 2000)
def noise_that_grows(n, rng):
    X = rng.normal(size=(n, 2))
    return X, X[:, 1] + np.exp(X[:, 0]) * rng.normal(size=n)


@law(1000, 1000)
def noise_alone(n, rng):
    return rng.normal(size=(n, 10)), rng.normal(size=n)


@law(40, 1000)
def noise_alone_of_40_rows(n, rng):
    return rng.normal(size=(n, 10)), rng.normal(size=n)


# Columns: copies, differences, codes, units


@law(1000, 1000)
def nearly_equal_columns(n, rng):
    X, y = smooth_rows(n, rng)
    return np.hstack([X, *(X + tiny * rng.normal(size=X.shape) for tiny in (1e-9, 1e-12))]), y


@law(1000, 1000)
def difference_of_nearly_equal_columns(n, rng):
    x, gap = rng.normal(size=n), rng.normal(size=n)
    return np.column_stack([x, x + 1e-3 * gap]), noisy(gap, rng, 0.05)


@law(1000, 1000)
def copied_and_constant_columns(n, rng):
    X, y = smooth_rows(n, rng)
    return np.hstack([X, X, np.ones((n, 1)), np.zeros((n, 1))]), y


@law(2000, 2000)
def hundred_levels(n, rng):
    level, effects = rng.integers(0, 100, n), rng.normal(size=100)
    return np.column_stack([np.eye(100)[level], rng.normal(size=n)]), noisy(effects[level], rng, 0.2)


@law(2000, 2000)
def slope_by_level(n, rng):
    level, slopes, x = rng.integers(0, 30, n), rng.normal(size=30), rng.normal(size=n)
    return np.column_stack([np.eye(30)[level], x]), noisy(slopes[level] * x, rng, 0.2)


@law(2000, 2000)
def mixed_types(n, rng):
    """Flags, counts, a log-normal column of sd 3, tiny and huge units, shares."""
    flag, size, share = rng.integers(0, 2, n), np.exp(3 * rng.normal(size=n)), rng.uniform(size=n)
    tiny, huge = 1e-8 * rng.normal(size=n), 1e6 * rng.integers(0, 5, n)
    X = np.column_stack([flag, rng.integers(0, 1000, n), size, tiny, huge, share])
    return X, noisy(2 * flag + np.log(size) + 1e8 * tiny + np.sin(6 * share), rng)


@law(1500, 1500)
def row_numbers(n, rng):
    """A column that counts the rows, which were shuffled afterwards."""
    X, y = smooth_rows(n, rng)
    return np.column_stack([rng.permutation(n), X]), y


@law(1500, 1500)
def nanoseconds(n, rng):
    since, X = rng.integers(0, 10**15, n).astype(float), rng.normal(size=(n, 2))
    return np.column_stack([1.7e18 + since, X]), noisy(np.sin(since / 1e14) + X[:, 0], rng)


@law(2000, 2000)
def whole_numbers(n, rng):
    X = np.round(rng.normal(size=(n, 2)))
    return X, noisy(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2, rng, 0.3)


@law(2000, 2000)
def columns_of_zeros(n, rng):
    X = rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.05)
    return X, noisy(3 * X[:, 0] + X[:, 1] ** 2, rng)


# Functions that are hard for a smooth kernel


@law(2000, 2000)
def steps(n, rng):
    X = rng.uniform(-1, 1, (n, 5))
    return X, noisy(3 * (X[:, 0] > 0) + 2 * ((X[:, 1] > 0.3) & (X[:, 2] < 0)), rng)


@law(1500, 1500)
def fast_waves(n, rng):
    X = rng.uniform(size=(n, 1))
    return X, noisy(np.sin(200 * X[:, 0]), rng)


@law(1500, 1500)
def product_of_ten(n, rng):
    X = rng.uniform(size=(n, 10))
    return X, np.prod(1 + X, axis=1)


@law(1500, 1500)
def friedman_in_50_columns(n, rng):
    X = rng.uniform(size=(n, 50))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + X[:, 3:5] @ [10, 5]
    return X, noisy(y, rng, 1.0)


@law(1500, 1500)
def exclusive_or(n, rng):
    X = rng.integers(0, 2, (n, 8)).astype(float)
    return X, noisy(X[:, 0] != X[:, 1], rng)


# Rows that are not independent


@whole
def ten_responses_a_row(rng):
    X, new = np.repeat(rng.normal(size=(200, 3)), 10, axis=0), rng.normal(size=(1000, 3))
    return X, noisy(smooth(X), rng, 0.5), new, noisy(smooth(new), rng, 0.5)


@whole
def groups(rng):
    """Forty groups of nearly equal rows with an effect each; new rows are new groups, which nothing tells of."""
    group, effects = np.repeat(np.arange(40), 50), rng.normal(size=40)
    X = rng.normal(size=(40, 3))[group] + 1e-3 * rng.normal(size=(2000, 3))
    return X, noisy(effects[group], rng), rng.normal(size=(1000, 3)), rng.normal(size=1000)
