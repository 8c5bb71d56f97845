"""Verdicts on the paper's claims, from the tables alone; writes docs/reproduction.md.

    python experiments/verdicts.py [--scale reduced|full]

A claim is tested under every published way of setting the penalty ("rule", "node", "code") and with everything tuned.
It

- holds, if it is true when tuned and under at least one published way;
- holds only under the published rule, if it is true under at least one published way and not when tuned;
- does not hold otherwise; that is undecided where no setting contradicts it under one of the published ways.

Claims that do not depend on such settings hold if they are true. Claims about time are tested on the CPU seconds that
are kept beside the tables, and are not measured where there are none.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fits import PENALTIES, VERSIONS
from page import fill
from paper import CLAIMS
from study import options
from tables import load, with_seconds

HOLDS, PUBLISHED_ONLY, FAILS = "holds", "holds only under the published rule", "does not hold"
UNMEASURED = "not measured"
WAYS = {"rule": "1/N", "node": "n^(-2/3)", "code": "the authors' code"}
SPLINE_WAYS = {"rule": "N^(-4/5)", "node": "n^(-4/5)"}
PAGE = Path(__file__).parents[1] / "docs" / "reproduction.md"
MOST_NAMED = 3  # settings that fail are named up to so many


@dataclass(frozen=True)
class Judged:
    """A claim and its tests by version, on overall error and, where there is one, on that of the rare region.

    ``operations`` are the tests that are shown beside those of CPU seconds.
    """

    claim: object
    tests: dict
    rare: dict
    operations: list

    @property
    def verdict(self):
        """One of the three, or that it was not measured."""
        return UNMEASURED if self.operations and not any(self.tests.values()) else verdict(self.tests)

    @property
    def is_open(self):
        """Whether the claim does not hold, but some published way is nowhere contradicted."""
        return self.verdict == FAILS and bool(uncontradicted(self.tests))


def verdict(tests):
    """The verdict from {version: tests}."""
    true = {version for version, made in tests.items() if holds(made)}
    if "exact" in tests:
        return HOLDS if "exact" in true else FAILS
    published = bool(true & set(PENALTIES))
    if published:
        return HOLDS if "tuned" in true else PUBLISHED_ONLY
    return FAILS


def uncontradicted(tests):
    """The versions, tuned apart, under which no setting contradicts: more replicates might make the claim true."""
    published = {version: made for version, made in tests.items() if made and version != "tuned"}
    return [version for version, made in published.items() if not any(test.contradicted for test in made)]


def judge(claim, table):
    """Make a claim's tests on its table, which has the seconds as a column."""
    rare = by_version(claim, table, "rare_mse") if claim.errors else {}
    tests = by_version(claim, table, "mse")
    operations = claim.operations(table) if claim.operations else []
    return Judged(claim, defined(tests) if claim.operations else tests, defined(rare), operations)


def defined(tests):
    """The tests of something that was measured."""
    return {version: [test for test in made if np.isfinite(test.effect.mean)] for version, made in tests.items()}


def by_version(claim, table, column):
    if claim.exact:
        return {"exact": claim.tests(table, column)}
    versions = [version for version in VERSIONS if version in set(table["version"])]
    return {version: claim.tests(table[table["version"] == version], column) for version in versions}


def number(judged):
    """What was found, version by version: the mean over the settings, and in how many the inequality holds."""
    overall = told(judged.tests, judged.claim.shown) or UNMEASURED
    if judged.operations:
        return f"CPU: {overall}<br>operations: {one_number(judged.operations, judged.claim.shown)}"
    rare = told(judged.rare, judged.claim.shown)
    return f"{overall}<br>rare region: {rare}" if rare else overall


def told(tests, shown):
    return "; ".join(
        one_number(made, shown) if version == "exact" else f"{version} {one_number(made, shown)}"
        for version, made in tests.items()
        if made
    )


def one_number(tests, shown):
    mean = float(np.mean([test.effect.mean for test in tests]))
    value = f"{np.exp(mean):.3g}" if shown == "ratio" else f"{mean:+.2f}" if shown == "slope" else f"{mean:.2f}"
    return f"{value} ({sum(test.holds for test in tests)}/{len(tests)})"


def reason(judged):
    """Under what it holds, the inequality, where it fails when tuned and as published at best, and why."""
    if judged.verdict == UNMEASURED:
        return f"{judged.claim.inequality}; {UNMEASURED}."
    told = [judged.claim.inequality]
    if "exact" in judged.tests:
        told.append(where(judged.tests["exact"]))
    else:
        told += [f"{version}: {where(judged.tests[version])}" for version in ("tuned", best_published(judged.tests))]
    note = "" if judged.verdict == HOLDS else judged.claim.note
    return f"{condition(judged)}{'; '.join(told)}. {note}".strip()


def condition(judged):
    """Under which published ways a claim that holds only there does; under which one that does not is undecided."""
    ways = SPLINE_WAYS if judged.claim.study == "supplement_splines" else WAYS
    if judged.verdict == PUBLISHED_ONLY:
        true = [ways[version] for version, made in judged.tests.items() if version in ways and holds(made)]
        return f"Under {', '.join(true)} only: "
    if judged.is_open:
        return f"Undecided under {', '.join(ways[version] for version in uncontradicted(judged.tests))}: "
    return ""


def holds(tests):
    """Whether there are tests, and all hold."""
    return bool(tests) and all(test.holds for test in tests)


def best_published(tests):
    """The published penalty under which most of the inequalities hold."""
    published = [version for version in PENALTIES if tests.get(version)]
    return max(published, key=lambda version: sum(test.holds for test in tests[version]))


def where(tests):
    """In which settings an inequality is contradicted, and in which undecided."""
    contradicted = [test.setting for test in tests if test.contradicted]
    undecided = [test.setting for test in tests if not test.holds and not test.contradicted]
    told = (in_short("contradicted", contradicted, len(tests)), in_short("undecided", undecided, len(tests)))
    return ", ".join(filter(None, told)) or "true in every setting"


def in_short(fate, settings, total):
    """Say in which of so many settings; nothing where in none."""
    if not settings:
        return ""
    if len(settings) == total:
        return f"{fate} in every setting"
    more = f" and {len(settings) - MOST_NAMED} more" if len(settings) > MOST_NAMED else ""
    return f"{fate} in {len(settings)} of {total} ({' + '.join(settings[:MOST_NAMED])}{more})"


def judged_claims(results):
    """Every claim whose table is there, and has what it takes to test it."""
    tables = {name: load(name, results) for name in {claim.study for claim in CLAIMS}}
    timed = {name: with_seconds(table, name, results) for name, table in tables.items() if table is not None}
    judged = (judge(claim, timed[claim.study]) for claim in CLAIMS if claim.study in timed)
    return [one for one in judged if any(one.tests.values()) or one.operations]


def claims_table(judged):
    """How many claims fared how, and every one of them."""
    lines = [f"Of {len(judged)} claims: {counts(judged)}.", ""]
    lines += ["| | claim | figure | number | verdict | reason |", "|---|---|---|---|---|---|"]
    for place, one in enumerate(judged, 1):
        picture = f"[{one.claim.picture}](#{one.claim.study})"
        cells = (str(place), one.claim.text, picture, number(one), f"**{one.verdict}**", reason(one))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def counts(judged):
    """How many claims fared how; those that do not hold as contradicted and undecided."""
    found = Counter(one.verdict for one in judged)
    n_open = sum(one.is_open for one in judged)
    told = [f"{verdict}: {found[verdict]}" for verdict in (HOLDS, PUBLISHED_ONLY, FAILS)]
    told[-1] += f" ({found[FAILS] - n_open} contradicted, {n_open} undecided)"
    return "; ".join(told + ([f"{UNMEASURED}: {found[UNMEASURED]}"] if found[UNMEASURED] else []))


def write_page(scale, places, path=PAGE):
    """Fill the page from the tables that there are; return what was judged."""
    judged = judged_claims(places.results)
    path.write_text(fill(scale, places, claims_table(judged) if judged else "", len(CLAIMS) - len(judged)))
    return judged


def main(argv=None):
    chosen, places = options(__doc__.splitlines()[0], argv)
    for one in write_page(chosen.scale, places):
        print(f"{one.verdict:36} {one.claim.text}")


if __name__ == "__main__":
    main()
