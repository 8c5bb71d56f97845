"""The claims of the paper's supplement, and of its theory."""

import figure5
from claims import (
    FEW_TIMES,
    Claim,
    at_most_l_times,
    below_the_bound,
    fourth_order,
    on,
    robust_to_nodes,
    same_order,
    several,
    tagged,
    tau_helps,
    timed,
    two_terms_dominate,
    variance_falls,
    versus,
)
from reasons import COPIES, LARGE_NODES, LARGER, NODES, RARE_FIRST, REMAINDER, SHARED, SMALL
from supplement_splines import at_usual_nodes

PAIR = ("oversampled", "classical")
RULES_AND_FIXED = [tagged(f"{rule} to l=10", versus(rule, "l=10", "function", "d")) for rule in figure5.RULES]


def in_pair(table):
    return table["method"].isin(PAIR)


SUPPLEMENT = (
    Claim(
        "Whatever the number of nodes, oversampling is better than the classical method",
        "supplement_nodes",
        "supplement_nodes_mse",
        "oversampled / classical < 1 at every k",
        versus(*PAIR, "function", "d", "k", keep=in_pair),
        note=LARGE_NODES,
    ),
    Claim(
        "The error is robust to the number of nodes",
        "supplement_nodes",
        "supplement_nodes_mse",
        "k / middle k within 25%",
        robust_to_nodes,
        note=NODES,
    ),
    Claim(
        "Smoothing splines: oversampling is better than the classical method at every k",
        "supplement_splines",
        "supplement_splines_tuned",
        "oversampled / classical < 1",
        versus(*PAIR, "function", "k", keep=in_pair),
        note=RARE_FIRST,
    ),
    Claim(
        "Smoothing splines: a larger tau is better",
        "supplement_splines",
        "supplement_splines_tuned",
        "slope of log error along log tau < 0",
        on(at_usual_nodes, tau_helps("function", "d")),
        shown="slope",
        note=RARE_FIRST,
    ),
    Claim(
        "Smoothing splines: Sturges, Scott and Freedman-Diaconis are all better than a fixed number of slices",
        "supplement_splines",
        "supplement_splines_tuned",
        "rule / fixed l < 1, l = 10",
        on(at_usual_nodes, several(RULES_AND_FIXED)),
        note=SMALL,
    ),
    Claim(
        "Smoothing splines: the error is robust to the number of nodes",
        "supplement_splines",
        "supplement_splines_tuned",
        "k / middle k within 25%",
        robust_to_nodes,
        note=SHARED,
    ),
    Claim(
        "Smoothing splines: oversampling costs about as much time as the classical method",
        "supplement_splines",
        "supplement_splines_tuned",
        "CPU seconds of oversampled / classical < 2 at every k",
        **timed(versus(*PAIR, "function", "k", keep=in_pair, high=FEW_TIMES)),
        note=LARGER,
    ),
)

THEORY = (
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
        note=REMAINDER,
    ),
    Claim(
        "The variance falls with N~",
        "bounds",
        "bounds",
        "variance at tau = 1 / classical, and / tau = 1/5, < 1",
        variance_falls,
        errors=False,
        note=COPIES,
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
