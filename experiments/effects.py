"""Differences between methods on the same data, with their standard errors, and the inequalities they are put to.

An effect is a mean and its standard error; an inequality holds where the mean is two standard errors inside its bounds.
Ratios are taken as logarithms, so 0 is no difference.
"""

from dataclasses import dataclass

import numpy as np

MARGIN = 2.0  # standard errors


@dataclass(frozen=True)
class Effect:
    """A mean and its standard error; infinite where it rests on a single replicate, 0 where nothing is random."""

    mean: float
    error: float


@dataclass(frozen=True)
class Inequality:
    """low <= mean - 2 error and mean + 2 error <= high, in one setting."""

    setting: str
    effect: Effect
    low: float = -np.inf
    high: float = 0.0

    @property
    def holds(self):
        """Whether the inequality holds; never where the effect is not a number."""
        reach = MARGIN * self.effect.error
        return bool(self.low <= self.effect.mean - reach and self.effect.mean + reach <= self.high)

    @property
    def contradicted(self):
        """Whether the effect is two standard errors outside the bounds; neither this nor that is undecided."""
        reach = MARGIN * self.effect.error
        return bool(self.effect.mean + reach < self.low or self.effect.mean - reach > self.high)


def select(table, **equal):
    """The rows whose columns equal these values."""
    keep = np.ones(len(table), dtype=bool)
    for name, value in equal.items():
        keep &= (table[name] == value).to_numpy()
    return table[keep]


def mean_effect(values):
    """The mean of replicates and its standard error.

    >>> mean_effect(np.array([1.0, 3.0]))
    Effect(mean=2.0, error=1.0)
    """
    n = len(values)
    return Effect(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else np.inf)


def over_seeds(values):
    """The mean over seeds of their means over the strata, from {(stratum, seed): value}.

    A seed's data at one N are part of its data at a larger N, so only seeds are independent. Seeds that lack a stratum
    that others have are left out, unless all do.
    """
    strata = {stratum for stratum, _ in values}
    seeds = {}
    for (_, seed), value in sorted(values.items()):
        seeds.setdefault(seed, []).append(value)
    whole = [found for found in seeds.values() if len(found) == len(strata)] or list(seeds.values())
    return mean_effect(np.array([np.mean(found) for found in whole])) if whole else Effect(np.nan, np.nan)


def log_ratio(table, first, second, column="mse", strata=()):
    """log(first / second) of the same seeds, averaged over the strata.

    ``first`` and ``second`` are dicts of columns' values; replicates are paired by seed within every stratum.
    """
    one, other = (replicates(table, which, column, strata) for which in (first, second))
    differences = {key: np.log(one[key]) - np.log(other[key]) for key in one.keys() & other.keys()}
    return over_seeds({key: value for key, value in differences.items() if np.isfinite(value)})


def replicates(table, which, column, strata):
    """The values of a column by stratum and seed."""
    part = select(table, **which)
    groups = zip(*(part[name].tolist() for name in strata), strict=True) if strata else [()] * len(part)
    keys = zip(groups, part["seed"].tolist(), strict=True)
    return dict(zip(keys, part[column].tolist(), strict=True))


def slope(table, x, column="mse"):
    """The slope of log(column) along log(x), one a seed, averaged over the seeds."""
    return mean_effect(slopes(table, x, column).to_numpy())


def slopes(table, x, column="mse"):
    """The least-squares slope of every seed, as a series."""
    import pandas

    found = {
        seed: np.polyfit(np.log(part[x].astype(float)), np.log(part[column]), 1)[0]
        for seed, part in table.groupby("seed")
    }
    return pandas.Series(found, dtype=float)


def summary(table, by, column="mse"):
    """Mean and standard error of a column in every group, as a data frame; of a single replicate the error is NaN."""
    grouped = table.groupby(by, sort=True)[column]
    error = grouped.std(ddof=1) / np.sqrt(grouped.count())
    return grouped.mean().to_frame("mean").assign(error=error).reset_index()
