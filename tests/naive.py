"""Algorithms 1 and 2 of the paper, literally, in plain loops: the oracle. Never optimise this file."""

import math
from fractions import Fraction

import numpy as np


def kernel(name, x, z, bandwidth=1.0, degree=3, low=None, high=None):
    """k(x, z) from its formula."""
    if name == "polynomial":
        return (1 + sum(a * b for a, b in zip(x, z, strict=True))) ** degree
    if name == "sobolev":
        product = 1.0
        for a, b, lo, hi in zip(x, z, low, high, strict=True):
            scaled = [min(max((v - lo) / (hi - lo), 0), 1) if hi > lo else 0.0 for v in (a, b)]
            product *= 1 + min(scaled)
        return product
    if name == "laplacian":
        return math.exp(-sum(abs(a - b) for a, b in zip(x, z, strict=True)) / bandwidth)
    r = math.sqrt(sum((a - b) ** 2 for a, b in zip(x, z, strict=True))) / bandwidth
    if name == "gaussian":
        return math.exp(-(r**2))
    if name == "matern12":
        return math.exp(-r)
    if name == "matern32":
        return (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r)
    return (1 + math.sqrt(5) * r + 5 * r**2 / 3) * math.exp(-math.sqrt(5) * r)


def gram(name, X, Z, **parameters):
    return np.array([[kernel(name, x, z, **parameters) for z in Z] for x in X])


def slice_of(value, edges):
    """The slice [e_j, e_j+1) of a value; the last one is closed."""
    for j in range(len(edges) - 1):
        if edges[j] <= value < edges[j + 1]:
            return j
    return len(edges) - 2


def copies(counts, tau):
    """max(1, floor(tau |Y_1| / |Y_j|)), tau a Fraction."""
    return [max(1, math.floor(Fraction(tau) * max(counts) / n)) if n else 0 for n in counts]


def deal(y, edges, tau, k, order, seats):
    """Step 2 and 3: copy, put in random order, deal round the table, de-duplicate.

    order(j, M) is the random order of slice j's M copies (a list of slots), seats the order of the nodes.
    """
    slices = [[] for _ in range(len(edges) - 1)]
    for i, value in enumerate(y):
        slices[slice_of(value, edges)].append(i)
    how_many = copies([len(s) for s in slices], tau)
    nodes, seat = [[] for _ in range(k)], 0
    for j, rows in enumerate(slices):
        pile = [i for i in rows for _ in range(how_many[j])]
        for slot in order(j, len(pile)) if pile else []:
            nodes[seats[seat % k]].append(pile[slot])
            seat += 1
    return [sorted(set(node)) for node in nodes]


def inclusion(n, c, k):
    """The exact probability that a row of a slice of n rows with c copies is in a given node, as a Fraction."""
    M = n * c
    q, r = divmod(M, k)
    absent = (k - r) * Fraction(math.comb(M - c, q), math.comb(M, q))
    absent += r * Fraction(math.comb(M - c, q + 1), math.comb(M, q + 1)) if r else 0
    return 1 - absent / k


def solve(K, y, penalty, weights=None):
    """(K + n penalty I) beta = y, or (K + penalty (sum w) W^-1) beta = y."""
    w = np.ones(len(y)) if weights is None else np.asarray(weights)
    return np.linalg.solve(K + penalty * w.sum() * np.diag(1 / w), y)


def average(X, y, X_new, nodes, penalty, name, weights=None, intercept=True, **parameters):
    """The mean of the nodes' estimates at X_new."""
    center = sum(y) / len(y) if intercept else 0.0
    total = np.zeros(len(X_new))
    for rows in nodes:
        local = None if weights is None else weights[rows]
        beta = solve(gram(name, X[rows], X[rows], **parameters), y[rows] - center, penalty, local)
        total += gram(name, X_new, X[rows], **parameters) @ beta
    return center + total / len(nodes)
