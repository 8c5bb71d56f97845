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


def pooled(effects):
    """The mean of independent effects."""
    error = np.sqrt(sum(effect.error**2 for effect in effects)) / len(effects)
    return Effect(float(np.mean([effect.mean for effect in effects])), float(error))


def log_ratio(table, first, second, column="mse", strata=()):
    """log(first / second) of the same seeds, averaged over the strata.

    ``first`` and ``second`` are dicts of columns' values; replicates are paired by seed within every stratum.
    """
    one, other = (replicates(table, which, column, strata) for which in (first, second))
    differences = {}
    for key in sorted(one.keys() & other.keys()):
        differences.setdefault(key[:-1], []).append(np.log(one[key]) - np.log(other[key]))
    defined = [np.array(values)[np.isfinite(values)] for values in differences.values()]
    effects = [mean_effect(values) for values in defined if len(values)]
    return pooled(effects) if effects else Effect(np.nan, np.nan)


def replicates(table, which, column, strata):
    """The values of a column by stratum and seed."""
    part = select(table, **which)
    keys = zip(*(part[name].tolist() for name in (*strata, "seed")), strict=True)
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
    """Mean and standard error of a column in every group, as a data frame with columns mean and error."""
    grouped = table.groupby(by, sort=True)[column]
    error = grouped.std(ddof=1) / np.sqrt(grouped.count())
    return grouped.mean().to_frame("mean").assign(error=error.fillna(0.0)).reset_index()
