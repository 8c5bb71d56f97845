"""The paper's claims, in its order."""

import figure5
import numpy as np
from claims import (
    DOUBLE,
    LEVEL,
    Claim,
    against_full,
    along_slices,
    at_every_k,
    at_most_l_times,
    below_the_bound,
    costs_at_every_k,
    equally_full,
    flat_at_the_peak,
    fourth_order,
    robust_to_nodes,
    robust_to_slices,
    same_order,
    scenario,
    several,
    skewed,
    tagged,
    tau_helps,
    tau_speeds,
    two_terms_dominate,
    variance_falls,
    versus,
)

SELECTION = (
    "Rows are selected on a noisy response: the copies' noise is biased, and a smaller penalty does not hide it."
)
COPIES = "Copies are no new observations: rows that nodes share bring the same noise into each of them."

OVERSAMPLED, CLASSICAL = "oversampled", "classical"
RULES_AND_FIXED = [
    tagged(f"{rule} to {fixed}", versus(rule, fixed, "function", "d", strata=("N",), keep=skewed))
    for rule in figure5.RULES
    for fixed in figure5.FIXED
]
SCOTT_AND_OTHERS = [
    tagged(f"to {other}", versus(OVERSAMPLED, other, "function", "d", strata=("N",), keep=skewed))
    for other in ("sturges", "fd", *figure5.FIXED)
]
UNSKEWED = [
    tagged(f"{other} to scott", versus(
        other, OVERSAMPLED, "function", "d", strata=("N",), keep=lambda t: ~skewed(t), low=-LEVEL, high=LEVEL
    ))
    for other in ("sturges", "fd", *figure5.FIXED)
]  # fmt: skip

CLAIMS = (
    Claim(
        "With a skewed response the classical average is flat where the peaks are",
        "figure1",
        "figure1",
        "height at the first peak / truth <= 1/2",
        flat_at_the_peak,
        shown="value",
        errors=False,
    ),
    Claim(
        "Oversampling makes all slices about equally full",
        "figure2",
        "figure2",
        "least / fullest slice >= 1/2",
        equally_full,
        errors=False,
        exact=True,
    ),
    Claim(
        "Evenly spread response (scenario 1): the same risk as the classical method",
        "figure3",
        "figure3",
        "oversampled / classical within 10%",
        scenario("even", -LEVEL, LEVEL),
    ),
    Claim(
        "Slightly skewed response (scenario 2): the same risk as the classical method",
        "figure3",
        "figure3",
        "oversampled / classical within 10%",
        scenario("slight", -LEVEL, LEVEL),
    ),
    Claim(
        "Highly skewed response (scenario 3): a smaller risk than the classical method",
        "figure3",
        "figure3",
        "oversampled / classical < 1",
        scenario("two peaks"),
    ),
    Claim(
        "Oversampling is consistently better than the classical method on as many nodes",
        "figure4",
        "figure4_tuned",
        "oversampled / classical < 1",
        versus(OVERSAMPLED, CLASSICAL, "function", "d", strata=("N",)),
        notes={"does not hold": SELECTION, "holds only under the published rule": SELECTION},
    ),
    Claim(
        "A larger tau is better",
        "figure4",
        "figure4_tuned",
        "slope of log error along log tau < 0",
        tau_helps("function", "d"),
        shown="slope",
    ),
    Claim(
        "A larger tau converges faster",
        "figure4",
        "figure4_tuned",
        "slope along log N at tau = 1, less that at the least tau, < 0",
        lambda table, column="mse": list(tau_speeds(table, column)),
        shown="slope",
    ),
    Claim(
        "Sturges, Scott and Freedman-Diaconis are all better than a fixed number of slices",
        "figure5",
        "figure5_tuned",
        "rule / fixed l < 1, l = 5 and 10",
        several(RULES_AND_FIXED),
    ),
    Claim(
        "Scott's rule is the best of all",
        "figure5",
        "figure5_tuned",
        "Scott / other < 1, for Sturges, Freedman-Diaconis, l = 5 and 10",
        several(SCOTT_AND_OTHERS),
    ),
    Claim(
        "Without skewness it makes no difference how the slices are chosen",
        "figure5",
        "figure5_tuned",
        "other / Scott within 10%",
        several(UNSKEWED),
    ),
    Claim(
        "More slices take longer",
        "figure5",
        "figure5_slices",
        "slope of log operations along log l > 0",
        lambda table, column="mse": along_slices("flops", 0.0, np.inf)(table[table["version"] == "node"]),
        shown="slope",
        errors=False,
        exact=True,
    ),
    Claim(
        "More slices lower the risk",
        "figure5",
        "figure5_slices",
        "slope of log error along log l < 0",
        along_slices(None, -np.inf, 0.0),
        shown="slope",
    ),
    Claim(
        "The error is robust to the number of slices",
        "figure5",
        "figure5_slices",
        "l / Scott within 25%, l = 10 to 80",
        robust_to_slices,
    ),
    Claim(
        "Melbourne: oversampling is consistently better than the classical method",
        "figure6",
        "figure6",
        "oversampled / classical < 1 at every k",
        at_every_k(OVERSAMPLED, CLASSICAL),
        notes={"does not hold": SELECTION, "holds only under the published rule": SELECTION},
    ),
    Claim(
        "Melbourne: oversampling is comparable with full kernel ridge regression",
        "figure6",
        "figure6",
        "oversampled / full < 1.1 at every k",
        against_full(OVERSAMPLED, high=LEVEL),
    ),
    Claim(
        "Melbourne: the classical error is almost twice that of the full fit for k > 100",
        "figure6",
        "figure6",
        "classical / full > 1.75 at every k > 100",
        against_full(CLASSICAL, low=DOUBLE, high=np.inf, beyond=100),
    ),
    Claim(
        "Melbourne: oversampling costs about as much time as the classical method",
        "figure6",
        "figure6_costs",
        "operations of oversampled / classical < 2 at every k",
        costs_at_every_k,
        errors=False,
        exact=True,
        notes={"does not hold": "Nodes are larger by the rare rows they share, and cost grows as their cube."},
    ),
    Claim(
        "Earthquakes, the authors' later breaks and downsampling: better than the classical method",
        "earthquakes",
        "earthquakes",
        "breaks / classical < 1",
        at_every_k("breaks", CLASSICAL),
    ),
    Claim(
        "Whatever the number of nodes, oversampling is better than the classical method",
        "supplement_nodes",
        "supplement_nodes_mse",
        "oversampled / classical < 1 at every k",
        versus(OVERSAMPLED, CLASSICAL, "function", "d", "k"),
        notes={"does not hold": SELECTION, "holds only under the published rule": SELECTION},
    ),
    Claim(
        "The error is robust to the number of nodes",
        "supplement_nodes",
        "supplement_nodes_mse",
        "k / middle k within 25%",
        robust_to_nodes,
    ),
    Claim(
        "Smoothing splines: oversampling is better than the classical method at every k",
        "supplement_splines",
        "supplement_splines_tuned",
        "oversampled / classical < 1",
        versus(OVERSAMPLED, CLASSICAL, "function", "k", keep=lambda t: t["method"].isin((OVERSAMPLED, CLASSICAL))),
    ),
    Claim(
        "Smoothing splines: a larger tau is better",
        "supplement_splines",
        "supplement_splines_tuned",
        "slope of log error along log tau < 0",
        lambda table, column="mse": tau_helps("function", "d")(usual_nodes(table), column),
        shown="slope",
    ),
    Claim(
        "The risk is below the bound of Theorem 4.1",
        "bounds",
        "bounds_risk",
        "risk / bound < 1",
        below_the_bound,
        errors=False,
    ),
    Claim(
        "The first two terms of the bound are dominant (assumed in Corollary 4.2)",
        "bounds",
        "bounds_risk",
        "remainder / (squared bias + variance) < 1",
        two_terms_dominate,
        errors=False,
    ),
    Claim(
        "The variance falls with N~",
        "bounds",
        "bounds",
        "variance of oversampled / classical < 1",
        variance_falls,
        errors=False,
        notes={"does not hold": COPIES},
    ),
    Claim(
        "N~ is at most l N",
        "bounds",
        "bounds",
        "N~ / (l N) <= 1",
        at_most_l_times,
        errors=False,
        exact=True,
    ),
    Claim(
        "With a constant number of slices the cost is of the classical method's order",
        "bounds",
        "bounds",
        "slope of log(operations / classical) along log N within 0.1 of 0, N = 10^4 to 10^6",
        same_order,
        shown="slope",
        errors=False,
        exact=True,
    ),
    Claim(
        "With Scott's rule and k of the order of l the cost is O(N^4 / k^2)",
        "bounds",
        "bounds",
        "slope of log(k^2 operations) along log N <= 4",
        fourth_order,
        shown="slope",
        errors=False,
        exact=True,
    ),
)


def usual_nodes(table):
    """The number of nodes at which tau was varied."""
    varied = table["method"].str.startswith("tau=")
    return table[table["k"].isin(table.loc[varied, "k"])]
