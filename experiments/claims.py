"""Every claim of the paper as inequalities between what was measured.

A claim's tests are made for every version of the settings; each test is one inequality in one setting, with a margin
of two standard errors (``effects.Inequality``). A claim is true in a version if all its tests hold there.
"""

from collections.abc import Callable
from dataclasses import dataclass

import figure5
import numpy as np
from effects import Effect, Inequality, log_ratio, mean_effect, over_seeds, select, slope, slopes
from fits import METHODS

LEVEL, NEAR, DOUBLE = np.log(1.1), np.log(1.25), np.log(1.75)  # "the same", "robust" and "almost doubles"
FEW_TIMES = np.log(2.0)  # "comparable" cost


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what would make it true.

    Attributes
    ----------
    text : the claim, in our words
    study : the table that it is tested on
    picture : where to look
    inequality : the tests, in words
    tests : (table of one version, column) -> tests
    shown : how the numbers are told: "ratio", "slope" or "value"
    errors : whether the tests compare errors, and so can be made in the rare region as well
    exact : whether nothing depends on how bandwidth and penalty are set
    operations : for claims about time, which are tested on CPU seconds: the same tests of operations, shown beside
    note : what a verdict other than "holds" is due to
    """

    text: str
    study: str
    picture: str
    inequality: str
    tests: Callable
    shown: str = "ratio"
    errors: bool = True
    exact: bool = False
    operations: Callable | None = None
    note: str = ""


def parts(table, *names):
    """Every combination of these columns' values, named, with its rows."""
    for values, part in table.groupby(list(names), sort=True):
        told = [
            value if isinstance(value, str) else f"{name} = {value:g}"
            for name, value in zip(names, values, strict=True)
        ]
        yield ", ".join(told), part


def versus(first, second, *names, strata=(), keep=None, low=-np.inf, high=0.0):
    """Tests of log(first / second) in every setting of these columns."""

    def tests(table, column="mse"):
        table = table if keep is None else table[keep(table)]
        return [
            Inequality(name, log_ratio(part, {"method": first}, {"method": second}, column, strata), low, high)
            for name, part in parts(table, *names)
        ]

    return tests


def several(makers):
    """The tests of some makers, one after the other."""
    return lambda table, column="mse": [test for make in makers for test in make(table, column)]


def tagged(tag, make):
    """The same tests, with what they compare in their names."""
    return lambda table, column="mse": [
        Inequality(f"{test.setting}, {tag}", test.effect, test.low, test.high) for test in make(table, column)
    ]


def on(part, make):
    """The same tests on a part of the table."""
    return lambda table, column="mse": make(part(table), column)


def of_seconds(make):
    """The same tests of CPU seconds."""
    return lambda table, column="mse": make(table, "seconds")


def of_operations(make):
    """The same tests of operations, which do not depend on the version."""
    return lambda table, column="mse": make(select(table, version="node"), "flops")


def timed(make):
    """What a claim about time needs: tests of CPU seconds, and of operations beside them."""
    return {"tests": of_seconds(make), "operations": of_operations(make), "errors": False}


def skewed(table):
    return table["function"] != "unskewed"


def with_tau(table):
    """Fits by Scott's rule with their tau."""
    tau = table["method"].map(lambda m: METHODS.get(m, {}).get("oversampling", 1.0 if m == "oversampled" else np.nan))
    return table.assign(tau=tau).dropna(subset="tau")


def tau_helps(*names):
    """Tests of the slope of log error along log tau, averaged over the other columns."""

    def tests(table, column="mse"):
        for name, part in parts(with_tau(table), *names):
            found = {
                (stratum, seed): value
                for stratum, group in part.groupby(["N", "k"])
                for seed, value in slopes(group, "tau", column).items()
            }
            yield Inequality(name, over_seeds(found))

    return lambda table, column="mse": list(tests(table, column))


def tau_speeds(table, column="mse"):
    """Tests that the slope of log error along log N is lower with tau = 1 than with the least tau."""
    table = with_tau(table)
    least = table.loc[table["tau"].idxmin(), "method"]
    for name, part in parts(table, "function", "d"):
        pair = [slopes(select(part, method=method), "N", column) for method in ("oversampled", least)]
        yield Inequality(name, mean_effect((pair[0] - pair[1]).to_numpy()))


def scenario(function, low=-np.inf, high=0.0):
    return versus("oversampled", "classical", "function", keep=lambda t: t["function"] == function, low=low, high=high)


def along_slices(low, high):
    """Tests of the slope along the number of slices."""

    def tests(table, column="mse"):
        table = figure5.numbered(table[skewed(table)])
        return [Inequality(name, slope(part, "l", column), low, high) for name, part in parts(table, "function", "d")]

    return tests


def robust_to_slices(table, column="mse"):
    """Tests that every number of slices from 10 on is near Scott's rule."""
    table = table[(table["N"] == table["N"].max()) & skewed(table)]
    makers = [
        tagged(method, versus(method, "oversampled", "function", "d", low=-NEAR, high=NEAR))
        for method in figure5.NUMBERS[1:]
    ]
    return several(makers)(table, column)


def robust_to_nodes(table, column="mse"):
    """Tests that every number of nodes is near the middle one."""
    table = select(table, method="oversampled")
    ks = sorted(table["k"].unique())
    middle = ks[len(ks) // 2]
    return [
        Inequality(f"{name}, k = {k}", log_ratio(part, {"k": k}, {"k": middle}, column), -NEAR, NEAR)
        for name, part in parts(table, "function", "d")
        for k in ks
        if k != middle
    ]


def against_full(method, low=-np.inf, high=0.0, beyond=0):
    """Tests of a method on k nodes, k > beyond, against the full fit."""

    def tests(table, column="mse"):
        ks = sorted(k for k in select(table, method=method)["k"].unique() if k > beyond)
        full = {"method": "full"}
        return [
            Inequality(f"k = {k}", log_ratio(table, {"method": method, "k": k}, full, column), low, high) for k in ks
        ]

    return tests


def at_every_k(first="oversampled", second="classical", **bounds):
    """Tests of one method against another on as many nodes."""

    def tests(table, column="mse"):
        for k in sorted(select(table, method=first)["k"].unique()):
            part = select(table, k=k)
            yield Inequality(f"k = {k}", log_ratio(part, {"method": first}, {"method": second}, column), **bounds)

    return lambda table, column="mse": list(tests(table, column))


def flat_at_the_peak(table, column="mse"):
    """Tests that the classical average has less than half of the first peak's height."""
    heights = select(table, kind="number", method="classical")["height"]
    return [Inequality("first peak", mean_effect(heights.to_numpy()), high=0.5)]


def equally_full(table, column="mse"):
    """Tests that the least slice of the toy has over half of the fullest one's rows after oversampling."""
    sizes = select(table, kind="copy").groupby("slice").size()
    return [Inequality("toy", exactly(np.log(sizes.min() / sizes.max())), low=np.log(0.5))]


def exactly(value):
    """An effect without error."""
    return Effect(float(value), 0.0)


def below_the_bound(table, column="mse"):
    table = select(table, part="risk")
    return [
        Inequality(name, mean_effect(np.log(part["value"] / part["bound"]).to_numpy()))
        for name, part in parts(table, "method", "N")
    ]


def two_terms_dominate(table, column="mse"):
    table = select(table, part="risk", method="oversampled")
    return [
        Inequality(name, mean_effect(np.log(part["remainder"] / (part["bias"] + part["variance"])).to_numpy()))
        for name, part in parts(table, "N", "k")
    ]


def variance_falls(table, column="mse"):
    """Tests that the variance with the most copies is below that with none, and with few."""
    table = select(table, part="variance")
    return [
        Inequality(f"tau = 1 to {other}", log_ratio(table, {"method": "oversampled"}, {"method": other}, "value"))
        for other in ("classical", "tau=1/5")
    ]


def sizes(table):
    return select(table, part="size")


def at_most_l_times(table, column="mse"):
    table = sizes(table)
    return [
        Inequality(name, exactly(np.log(part["value"] / (part["n_slices"] * part["N"])).max()))
        for name, part in parts(table[table["method"] != "classical"], "method", "N")
    ]


def same_order(table, column="mse"):
    """The slope of Algorithm 2's operations over the classical method's along N, with five slices."""
    table = select(sizes(table), k=100)
    flops = {m: select(table, method=m).sort_values("N") for m in ("l=5", "classical")}
    ratio = flops["l=5"].assign(ratio=flops["l=5"]["flops"].to_numpy() / flops["classical"]["flops"].to_numpy())
    return [Inequality("l = 5, k = 100", exactly(slope(ratio, "N", "ratio").mean), low=-0.1, high=0.1)]


def fourth_order(table, column="mse"):
    """The slope of k^2 times the operations along N, with Scott's rule and as many nodes as slices."""
    table = select(sizes(table), k=0, method="oversampled")
    work = table.assign(work=table["flops"] * table["n_nodes"].astype(float) ** 2)
    return [Inequality("k = l", exactly(slope(work, "N", "work").mean), high=4.0)]
