"""How far a study is, and how long the rest will take."""

import json
import sys
import time
from collections import Counter

REPORT_EVERY = 5.0  # seconds


def in_words(seconds):
    """Say a time in its two largest units.

    >>> in_words(3725), in_words(64), in_words(7.4)
    ('1 h 02 min', '1 min 04 s', '7 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def group_of(cell):
    """Cells that differ by their seed alone take about as long."""
    return json.dumps({name: value for name, value in cell.items() if name != "seed"}, sort_keys=True)


class Pace:
    """What cells take, learned from those that are done."""

    def __init__(self):
        self.sums = {}

    def learn(self, cell, took):
        """Take note of a cell."""
        total, count = self.sums.get(group_of(cell), (0.0, 0))
        self.sums[group_of(cell)] = (total + took, count + 1)

    def seconds(self, groups):
        """How long so many cells of each group should take; a group not seen yet as the others do, None without any."""
        if not self.sums:
            return None if groups else 0.0
        means = {group: total / count for group, (total, count) in self.sums.items()}
        usual = sum(means.values()) / len(means)
        return sum(number * means.get(group, usual) for group, number in groups.items())


class Progress:
    """Tell stderr how many cells of a study are done and how long the others will take.

    ``later`` is how many seconds the studies after this one should take.
    """

    def __init__(self, name, n_done, pending, pace, jobs, later=0.0):
        self.name, self.done, self.pace, self.jobs, self.later = name, n_done, pace, jobs, later
        self.left = Counter(map(group_of, pending))
        self.start = time.monotonic()
        self.shown = float("-inf")
        self.tell()

    def finished(self, cell, took):
        """Take note of a cell, and tell if it is time."""
        self.pace.learn(cell, took)
        self.left[group_of(cell)] -= 1
        self.done += 1
        self.tell()

    def tell(self):
        """Say how far the study is, unless that was said a moment ago."""
        now, n_left = time.monotonic(), self.left.total()
        if n_left and now - self.shown < REPORT_EVERY:
            return
        self.shown = now
        passed = in_words(now - self.start)
        line = f"[{self.name}] {self.done}/{self.done + n_left} cells, {passed} passed, {self._rest()}"
        print(line, file=sys.stderr, flush=True)

    def _rest(self):
        left = self.pace.seconds(+self.left)
        if left is None:
            return "time left not known yet"
        here = left / self.jobs
        return f"about {in_words(here)} left" + (f", {in_words(here + self.later)} in all" if self.later else "")
