"""Verdicts on the paper's claims, from the tables alone; writes docs/reproduction.md.

    python experiments/verdicts.py [--scale reduced|full]

A claim is tested under every published way of setting the penalty ("rule", "node", "code") and with everything tuned.
It

- holds, if it is true when tuned and under at least one published way;
- holds only under the published rule, if it is true under at least one published way and not when tuned;
- does not hold otherwise.

Claims that do not depend on such settings hold if they are true.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fits import PENALTIES, VERSIONS
from page import fill
from paper import CLAIMS
from study import options
from tables import load

HOLDS, PUBLISHED_ONLY, FAILS = "holds", "holds only under the published rule", "does not hold"
PAGE = Path(__file__).parents[1] / "docs" / "reproduction.md"
MOST_NAMED = 3  # settings that fail are named up to so many


@dataclass(frozen=True)
class Judged:
    """A claim and its tests by version, on overall error and, where there is one, on that of the rare region."""

    claim: object
    tests: dict
    rare: dict

    @property
    def verdict(self):
        """One of the three."""
        return verdict(self.tests)


def verdict(tests):
    """The verdict from {version: tests}."""
    true = {version for version, made in tests.items() if made and all(test.holds for test in made)}
    if "exact" in tests:
        return HOLDS if "exact" in true else FAILS
    published = bool(true & set(PENALTIES))
    if published:
        return HOLDS if "tuned" in true else PUBLISHED_ONLY
    return FAILS


def judge(claim, table):
    """Make a claim's tests on its table."""
    rare = by_version(claim, table, "rare_mse") if claim.errors else {}
    defined = {version: [t for t in made if np.isfinite(t.effect.mean)] for version, made in rare.items()}
    return Judged(claim, by_version(claim, table, "mse"), defined)


def by_version(claim, table, column):
    if claim.exact:
        return {"exact": claim.tests(table, column)}
    versions = [version for version in VERSIONS if version in set(table["version"])]
    return {version: claim.tests(table[table["version"] == version], column) for version in versions}


def number(judged):
    """What was found, version by version: the mean over the settings, and in how many the inequality holds."""
    overall = told(judged.tests, judged.claim.shown)
    return (
        f"{overall}<br>rare region: {told(judged.rare, judged.claim.shown)}" if any(judged.rare.values()) else overall
    )


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
    """The inequality, where it fails when tuned and under the best of the published penalties, and why."""
    told = [judged.claim.inequality]
    if "exact" in judged.tests:
        told.append(where(judged.tests["exact"]))
    else:
        told += [f"{version}: {where(judged.tests[version])}" for version in ("tuned", best_published(judged.tests))]
    note = "" if judged.verdict == HOLDS else judged.claim.note
    return f"{'; '.join(told)}. {note}".strip()


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
    tables = {claim.study: load(claim.study, results) for claim in CLAIMS}
    judged = (judge(claim, tables[claim.study]) for claim in CLAIMS if tables[claim.study] is not None)
    return [one for one in judged if any(one.tests.values())]


def claims_table(judged):
    """How many claims fared how, and every one of them."""
    found = Counter(one.verdict for one in judged)
    counts = "; ".join(f"{verdict}: {found[verdict]}" for verdict in (HOLDS, PUBLISHED_ONLY, FAILS))
    lines = [f"Of {len(judged)} claims: {counts}.", ""]
    lines += ["| | claim | figure | number | verdict | reason |", "|---|---|---|---|---|---|"]
    for place, one in enumerate(judged, 1):
        picture = f"[{one.claim.picture}](#{one.claim.study})"
        cells = (str(place), one.claim.text, picture, number(one), f"**{one.verdict}**", reason(one))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


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
