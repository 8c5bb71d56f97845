"""Every study, one after the other: tables, pictures, and the page of verdicts.

    python experiments/reproduce.py [--scale reduced|full] [--jobs 2]

Stop it whenever you like: the same command goes on from there.
"""

import sys
import time

import bounds
import choices
import choices_melbourne
import earthquakes
import figure1
import figure2
import figure3
import figure4
import figure5
import figure6
import supplement_nodes
import supplement_splines
from pace import in_words
from study import draw, expected_seconds, options, run, stoppable
from verdicts import write_page

SCRIPTS = (
    figure1, figure2, figure3, bounds, figure4, figure5, supplement_nodes, choices, figure6, choices_melbourne,
    earthquakes, supplement_splines,
)  # fmt: skip


def main(argv=None):
    chosen, places = options(__doc__.splitlines()[0], argv)
    start = time.perf_counter()
    with stoppable(places):
        for place, script in enumerate(SCRIPTS):
            later = sum(expected_seconds(s.STUDY, chosen.scale, places, chosen.jobs) for s in SCRIPTS[place + 1 :])
            if not chosen.draw_only:
                run(script.STUDY, chosen.scale, places, chosen.jobs, later)
            draw(script.STUDY, places)
        judged = write_page(chosen.scale, places)
    for one in judged:
        print(f"{one.verdict:36} {one.claim.text}")
    print(f"All done in {in_words(time.perf_counter() - start)}.", file=sys.stderr)


if __name__ == "__main__":
    main()
