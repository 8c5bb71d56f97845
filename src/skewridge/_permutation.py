"""Keyed pseudo-random permutations that can be evaluated at any place without the others.

``shuffle(slots, n, seed, stream)`` gives the places of some of 0..n-1 under a permutation that depends on
(n, seed, stream) alone. Any machine that knows the key can tell where any row goes, and none has to hold or
send the permutation.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

SORTED_BELOW = 1024  # small permutations are sorted hashes: exactly uniform, and cheap to rebuild
ROUNDS = 8
BLOCK = 1 << 15  # slots at a time, so that the rounds work in cache

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)


def shuffle(slots: npt.ArrayLike, n: int, seed: int, stream: int) -> npt.NDArray[np.int64]:
    """Return the images of slots under the permutation of 0..n-1 keyed by (seed, stream).

    Examples
    --------
    >>> import numpy as np
    >>> places = shuffle(np.arange(10), 10, seed=1, stream=0)
    >>> sorted(places.tolist()) == list(range(10))
    True
    >>> int(shuffle([7], 10, seed=1, stream=0)[0]) == int(places[7])
    True
    """
    slots = np.asarray(slots, dtype=np.int64)
    seeds, streams = np.array([[seed], [stream]], dtype=np.uint64)
    base = mix(mix(seeds + _GOLDEN) ^ (streams * _SECOND + _GOLDEN))  # mixed twice: close seeds and streams stay apart
    keys = mix(base + _GOLDEN * np.arange(1, ROUNDS + 1, dtype=np.uint64))
    if n <= SORTED_BELOW:  # a slot's place is the rank of its hash
        hashes = mix(mix(np.arange(n, dtype=np.uint64) + keys[0]) ^ keys[1])
        ranks = np.empty(n, dtype=np.int64)
        ranks[np.argsort(hashes, kind="stable")] = np.arange(n)
        return ranks[slots]
    places = np.empty(slots.shape, dtype=np.int64)
    for start in range(0, slots.size, BLOCK):
        found = _feistel(slots[start : start + BLOCK].astype(np.uint64), n, keys)
        outside = np.flatnonzero(found >= n)
        while outside.size:  # walk on within the rectangle until a place is one of 0..n-1
            found[outside] = _feistel(found[outside], n, keys)
            outside = outside[found[outside] >= n]
        places[start : start + BLOCK] = found
    return places


def mix(words: Words) -> Words:
    """Finalise 64-bit words so that every input bit reaches every output bit (the splitmix64 finaliser)."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


def _feistel(words: Words, n: int, keys: Words) -> Words:
    """Alternate keyed shifts of the two coordinates of an a x b rectangle (a generalised Feistel network)."""
    a = math.isqrt(n - 1) + 1
    b = -(-n // a)
    high, low = np.divmod(words, np.uint64(a))
    for first, second in zip(keys[::2], keys[1::2], strict=True):
        low = _shift(low, high, first, a)
        high = _shift(high, low, second, b)
    return high * np.uint64(a) + low


def _shift(moved: Words, other: Words, key: np.uint64, size: int) -> Words:
    """(moved + F_key(other)) mod size, F by multiply, fold, multiply and range reduction."""
    hashes = (other ^ key) * _FIRST
    hashes ^= hashes >> _HALF
    hashes *= _SECOND
    shifted = moved + (((hashes >> _HALF) * np.uint64(size)) >> _HALF)
    return np.where(shifted >= size, shifted - np.uint64(size), shifted)
