# SPDX-License-Identifier: MIT
"""Running the cells of `make bench`: in rounds, until the time is over."""

import functools
import os
import sys
import time

import plan
import stats
from places import Failed, TooSlow

#: What is kept of a run's result, and to how many digits.
KEPT = ("seconds", "cpu_seconds", "voluntary_switches",
        "involuntary_switches", "operations", "ns_per_operation", "spurious",
        "futile")
DIGITS = 9

#: Without a terminal, a line that often.
NOTE_SECONDS = 15


class Clock:
    """A deadline, and lines on stderr that say where things stand."""

    def __init__(self, seconds, out=sys.stderr, now=time.monotonic):
        self._now = now
        self.end = now() + seconds
        self._out = out
        self._last = 0.0

    def left(self):
        return max(0.0, self.end - self._now())

    def is_over(self):
        return self._now() >= self.end

    def part(self, share):
        """A clock of its own for a share of what is left."""
        return Clock(self.left() * share, self._out, self._now)

    def note(self, text, always=False):
        now = self._now()
        if always or now - self._last >= NOTE_SECONDS:
            self._last = now
            seconds = int(self.left() + 0.5)
            self._out.write(f"{seconds // 60:>3}:{seconds % 60:02} left "
                            f" {text}\n")
            self._out.flush()


def blocks(cells):
    """Cells that are compared with each other, in the order of the rows."""
    found = {}
    for cell in cells:
        found.setdefault((cell.row.command, cell.cpus,
                          cell.contender.variant), []).append(cell)
    return list(found.values())


def rotated(block, number):
    """Another one goes first in each round."""
    shift = number % len(block)
    return block[shift:] + block[:shift]


def kept(result, number):
    """A run as the file has it."""
    run = {"round": number}
    for key in KEPT:
        value = result[key]
        run[key] = (float(f"{value:.{DIGITS}g}")
                    if isinstance(value, float) else value)
    if "kinds" in result:
        run["kinds"] = result["kinds"]
    return run


class Versions:
    """What was really run, as the results say."""

    def __init__(self):
        self.kernels, self.libraries = {}, {}

    def see(self, cell, result):
        self.kernels[cell.contender.variant or "host"] = result["kernel"]
        library = os.path.basename(result["library"])
        self.libraries[cell.contender.name] = result["version"] + (
            f" under {library}" if cell.contender.drop_in else "")


def run_once(place, cell, number, limit, versions):
    """One run of one cell; one that fails is not run again."""
    try:
        result = place.run(cell, limit)
        cell.runs.append(kept(result, number))
        cell.state = plan.COMPLETE
        versions.see(cell, result)
    except TooSlow:
        cell.state = plan.INCOMPLETE
        cell.reason = f"ended after {limit} s"
    except Failed as error:
        cell.state = plan.FAILED
        cell.reason = str(error)
    except KeyError as error:
        cell.state = plan.FAILED
        cell.reason = f"{error} is not in the result"


def in_focus(block, own, reference):
    """Of a block: ours, glibc, and the peer that is the fastest so far."""
    data = [{**cell.as_json(), "cell": cell} for cell in block
            if cell.runs and cell.open]
    best = stats.best_peer(data, own)
    return [one["cell"] for one in data if one["contender"] in own
            or one["contender"] == reference or one is best]


def measure(place, cells, rounds, limit, clock, versions, first=0,
            focus=lambda number, block: block):
    """Rounds over all blocks; the first one is finished in any case.

    Who goes first in a block changes from round to round.  focus chooses who
    of a block takes part in a round.
    """
    for number in range(first, first + rounds):
        for block in map(functools.partial(focus, number), blocks(cells)):
            if not block:
                continue
            if number > first and clock.is_over():
                return
            for cell in rotated(block, number):
                if not cell.open:
                    continue
                clock.note(f"{cell.place} with {cell.cpus}, round"
                           f" {number + 1}: {cell.row.command}")
                run_once(place, cell, number, limit, versions)
