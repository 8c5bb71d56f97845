"""The paper's claims: its figures in their order, its supplement, its theory."""

import figure5
import numpy as np
from claims import (
    DOUBLE,
    FEW_TIMES,
    LEVEL,
    Claim,
    against_full,
    along_slices,
    at_every_k,
    equally_full,
    flat_at_the_peak,
    of_operations,
    robust_to_slices,
    scenario,
    several,
    skewed,
    tagged,
    tau_helps,
    tau_speeds,
    timed,
    versus,
)
from paper_appendix import SUPPLEMENT, THEORY
from reasons import (
    BIASED,
    DROPPED,
    ENDS,
    FIRST,
    LARGER,
    LITTLE,
    NARROW,
    PENALISED,
    SELECTION,
    SINES,
    SLICES,
    SMALL,
    SQUARED,
    WHERE_RARE,
)

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
        note=PENALISED,
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
        note=ENDS,
    ),
    Claim(
        "Slightly skewed response (scenario 2): the same risk as the classical method",
        "figure3",
        "figure3",
        "oversampled / classical within 10%",
        scenario("slight", -LEVEL, LEVEL),
        note=SQUARED,
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
        note=LITTLE,
    ),
    Claim(
        "A larger tau is better",
        "figure4",
        "figure4_tuned",
        "slope of log error along log tau < 0",
        tau_helps("function", "d"),
        shown="slope",
        note=FIRST,
    ),
    Claim(
        "A larger tau converges faster",
        "figure4",
        "figure4_tuned",
        "slope along log N at tau = 1, less that at the least tau, < 0",
        lambda table, column="mse": list(tau_speeds(table, column)),
        shown="slope",
        note=BIASED,
    ),
    Claim(
        "Sturges, Scott and Freedman-Diaconis are all better than a fixed number of slices",
        "figure5",
        "figure5_tuned",
        "rule / fixed l < 1, l = 5 and 10",
        several(RULES_AND_FIXED),
        note=SMALL,
    ),
    Claim(
        "Scott's rule is the best of all",
        "figure5",
        "figure5_tuned",
        "Scott / other < 1, for Sturges, Freedman-Diaconis, l = 5 and 10",
        several(SCOTT_AND_OTHERS),
        note=SMALL,
    ),
    Claim(
        "Without skewness it makes no difference how the slices are chosen",
        "figure5",
        "figure5_tuned",
        "other / Scott within 10%",
        several(UNSKEWED),
        note=SINES,
    ),
    Claim(
        "More slices take longer",
        "figure5",
        "figure5_slices",
        "slope of log operations along log l > 0",
        of_operations(along_slices(0.0, np.inf)),
        shown="slope",
        errors=False,
        exact=True,
    ),
    Claim(
        "More slices lower the risk",
        "figure5",
        "figure5_slices",
        "slope of log error along log l < 0",
        along_slices(-np.inf, 0.0),
        shown="slope",
        note=SMALL,
    ),
    Claim(
        "The error is robust to the number of slices",
        "figure5",
        "figure5_slices",
        "l / Scott within 25%, l = 10 to 80",
        robust_to_slices,
        note=SLICES,
    ),
    Claim(
        "Melbourne: oversampling is consistently better than the classical method",
        "figure6",
        "figure6",
        "oversampled / classical < 1 at every k",
        at_every_k(),
        note=SELECTION,
    ),
    Claim(
        "Melbourne: oversampling is comparable with full kernel ridge regression",
        "figure6",
        "figure6",
        "oversampled / full < 1.1 at every k",
        against_full(OVERSAMPLED, high=LEVEL),
        note=WHERE_RARE,
    ),
    Claim(
        "Melbourne: the classical error is almost twice that of the full fit for k > 100",
        "figure6",
        "figure6",
        "classical / full > 1.75 at every k > 100",
        against_full(CLASSICAL, low=DOUBLE, high=np.inf, beyond=100),
        note=NARROW,
    ),
    Claim(
        "Melbourne: oversampling costs about as much time as the classical method",
        "figure6",
        "figure6_costs",
        "CPU seconds of oversampled / classical < 2 at every k",
        **timed(at_every_k(high=FEW_TIMES)),
        note=LARGER,
    ),
    Claim(
        "Earthquakes, the authors' later breaks and downsampling: better than the classical method",
        "earthquakes",
        "earthquakes",
        "breaks / classical < 1",
        at_every_k("breaks", CLASSICAL),
        note=DROPPED,
    ),
    *SUPPLEMENT,
    *THEORY,
)
