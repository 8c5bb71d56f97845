"""The search for centres, bandwidth and penalty of the low-rank model.

Centres are doubled while that lowers the cross-validated risk, with shares and bandwidths searched while they are few
and cheap. Adaptive centres must beat as many random ones by a margin; where that is not clear the whole search is done
with random centres too, and what a user of random centres would have had is taken unless adaptive ones are better.

The mean squared error sees little of rows that are few: where adaptive centres are clearly better the rare region has
structure, and of penalties that the folds cannot tell apart the smaller one is taken, which smooths that region less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from skewridge.centers.judging import Candidate, Judge, Verdict, judging_work

SHARES = (0.5, 0.8)  # adaptive shares tried by "auto", besides 0
FEWEST_CENTERS = 50
MOST_WORK = 2e11  # operations of one judgement of "auto"
MOST_GIVEN_WORK = 4e11  # of centres that were given; more are chosen for by fewer
FEWEST_SPOKEN_FOR = 400  # centres by which the choices for more are made at least
SMALL = 100  # up to so many centres everything is searched, and one level without improvement does not end the growth
GROWING_MARGIN = 0.0  # standard errors by which twice the centres must beat as many as before
MARGIN = 0.5  # standard errors by which adaptive centres must beat random ones
CLEAR_MARGIN = 3.0  # standard errors that no other bandwidth of the random centres would make up for
EASING_MARGIN = 1.0  # standard errors of risk that a smaller penalty may cost where adaptive centres are clearly better
EASING_SHARE = 0.01  # of the risk that it may cost at most
EASED_STEPS = 2  # of the path of penalties, at most
MOST_OCTAVES = 12  # below the first bandwidth
WIDEST_OCTAVES = 4  # above it: wider kernels are polynomials over all rows, and go anywhere where there are none
CLIMBING_MARGIN = 0.5  # standard errors by which a bandwidth must beat the one before


@dataclass(frozen=True)
class Space:
    """What may be chosen: centres, shares, kernels, whether the bandwidth is searched, whether penalties are eased."""

    levels: tuple[int, ...]
    adapt: float | None
    kernels: tuple[str, ...]
    bandwidths: dict[str, float | None]
    search_bandwidth: bool
    slice_on: tuple[str, ...]
    eases: bool = True


def search(space: Space, judge: Judge) -> Verdict:
    """Return the best candidate's verdict; adaptive centres have to earn their place.

    They must beat as many random ones, clearly; or by a margin, and then any number of random ones as well.
    """
    shares = (space.adapt,) if space.adapt is not None else SHARES
    best = _least(_grow(space, judge, name, on, shares) for name in space.kernels for on in space.slice_on)
    if space.adapt is not None:
        return best
    equal = judge(replace(best.candidate, adapt=0.0))
    if best.beats(equal, CLEAR_MARGIN):
        return best.ease(EASING_MARGIN, EASING_SHARE, EASED_STEPS) if space.eases else best
    equal = climb(space, judge, equal)
    random = _least(_grow(space, judge, name, space.slice_on[0], (0.0,)) for name in space.kernels)
    return best if best.beats(equal, MARGIN) and best.risk < random.risk else random


def _grow(space: Space, judge: Judge, kernel: str, slice_on: str, shares: tuple[float, ...]) -> Verdict:
    """Double the centres while that lowers the risk.

    Few centres are cheap, so shares and bandwidths are searched there; with more the choice so far is kept, and both
    are searched once more at the end.
    """
    best, failures = None, 0
    for m in space.levels:
        if best is None or m <= SMALL:
            bandwidth = space.bandwidths[kernel] if best is None else best.candidate.bandwidth
            here = _least(judge(Candidate(kernel, m, a, bandwidth, slice_on)) for a in shares)
            here = climb(space, judge, here)
        else:
            here = judge(replace(best.candidate, n_centers=m))
        if best is None or here.beats(best, GROWING_MARGIN):
            best, failures = here, 0
        elif m > SMALL or failures:
            break
        else:
            failures = 1
    assert best is not None, "there is at least one level"
    best = _least(judge(replace(best.candidate, adapt=a)) for a in shares)
    return climb(space, judge, best)


def climb(space: Space, judge: Judge, best: Verdict) -> Verdict:
    """Halve the bandwidth while that lowers the risk for certain, else double it while that does."""
    first = space.bandwidths[best.candidate.kernel]
    if first is None or not space.search_bandwidth:
        return best
    narrowest, widest = first * 0.5**MOST_OCTAVES, first * 2.0**WIDEST_OCTAVES
    for factor in (0.5, 2.0):
        start = best
        while narrowest <= (width := factor * float(best.candidate.bandwidth or first)) <= widest:
            there = judge(replace(best.candidate, bandwidth=width))
            if not there.beats(best, CLIMBING_MARGIN):
                break
            best = there
        if best is not start:
            break
    return best


def _least(verdicts: Iterable[Verdict]) -> Verdict:
    return min(verdicts, key=lambda verdict: verdict.risk)


def given_levels(n_rows: int, given: int) -> tuple[int, ...]:
    """The number of centres that was given, or fewer that can be judged instead of it."""
    if judging_work(n_rows, 1.25 * given) <= MOST_GIVEN_WORK:
        return (given,)
    doubled = [FEWEST_SPOKEN_FOR * 2**i for i in range(20) if FEWEST_SPOKEN_FOR * 2**i < given]
    return tuple(m for m in doubled if m == FEWEST_SPOKEN_FOR or judging_work(n_rows, 1.25 * m) <= MOST_GIVEN_WORK)


def center_levels(n_rows: int, most: int) -> tuple[int, ...]:
    """Numbers of centres to try: 50, 100, 200, ... up to ``most``, the number of rows, and the work to judge them."""
    top = max(1, min(n_rows, most, max(400, n_rows // 4)))
    doubled = [FEWEST_CENTERS * 2**i for i in range(20) if FEWEST_CENTERS * 2**i <= top]
    doubled = [m for m in doubled if m == FEWEST_CENTERS or judging_work(n_rows, 1.25 * m) <= MOST_WORK]
    return tuple(doubled) if doubled and top < n_rows else tuple(sorted({*doubled, top}))
