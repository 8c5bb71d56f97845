"""Fits that are worse than no fit: squared errors above the variance of what is predicted."""

from functools import cache

import numpy as np
from comparisons import TITLES, markdown
from effects import MARGIN, mean_effect
from fits import VERSIONS, cell_of, make_data

STUDIES = ("figure1", "figure2", "figure3", "figure4", "figure5", "figure6", "earthquakes", "supplement_nodes",
           "supplement_splines")  # fmt: skip
SETTING = ("function", "d", "k", "N")


@cache
def truth_variance(function, d):
    """The variance of the truth at the test points: the squared error of its mean."""
    return float(np.var(make_data(cell_of(function, 2, d, 1, "classical", "rule", 0))[3]))


def with_variance(table):
    """Fits with the variance of what they predict: on real data that of the test rows."""
    table = table[table["mse"].notna()]
    if "test_variance" in table:
        return table.assign(variance=table["test_variance"])
    pairs = zip(table["function"], table["d"], strict=True)
    return table.assign(variance=[truth_variance(function, int(d)) for function, d in pairs])


def worse_than_the_mean(tables):
    """By study and version: methods whose error is above the variance by two standard errors, and by how much."""
    rows = [
        [study, *(worse_of(table[table["version"] == version]) for version in VERSIONS)]
        for study in STUDIES
        if tables[study] is not None
        for table in [with_variance(tables[study])]
    ]
    shown = [row for row in rows if any(row[1:])]
    return markdown(["study", *VERSIONS], shown) if shown else "No fit is."


def worse_of(table):
    """Every method that is worse somewhere: in how many of its settings, and how many times the variance at most."""
    told = []
    for method in dict.fromkeys(table["method"]):
        part = table[table["method"] == method]
        times = [worse(rows) for _, rows in part.groupby([name for name in SETTING if name in part])]
        most = max(times)
        if most:
            told.append(f"{TITLES.get(method, method)}: {sum(map(bool, times))} of {len(times)} (x {most:.2g})")
    return "; ".join(told)


def worse(rows):
    """How many times the variance the error is; 0 where it is not above it by two standard errors."""
    effect = mean_effect(np.log(rows["mse"] / rows["variance"]).to_numpy())
    return float(np.exp(effect.mean)) if effect.mean - MARGIN * effect.error > 0 else 0.0
