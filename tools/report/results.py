# SPDX-License-Identifier: MIT
"""The cells of a result of `make bench`, and how they compare."""

import bench_plan
import stats
from document import Commands

GLIBC = bench_plan.GLIBC.name
DROP_IN, NATIVE = bench_plan.DROP_IN.name, bench_plan.NATIVE.name
ROWS = {row.command: row for row in bench_plan.ROWS}


def where(cell):
    """A place in words: "host, 2 CPUs" """
    cpus = f"{cell['cpus']} CPU{'s' * (cell['cpus'] > 1)}"
    return f"{cell['variant'] or 'host'}, {cpus}"


def shell_command(cell, guest):
    """As it can be repeated from the top folder."""
    if cell["place"] == "host":
        return cell["command"]
    return (f"tools/vm/vm --variant={cell['variant']} --cpus={cell['cpus']}"
            f" --mem={guest['mem_mb']} --accel={guest['accel']}"
            f" -- '{cell['command']}'")


def key_of(cell):
    """Which cell, or which cell's comparison, this is."""
    return (cell["row"], cell["place"], cell["cpus"], cell["variant"],
            cell["contender"])


class Cells:
    """The measured cells of a result, and how they compare.

    A comparison is stats.compare()'s with two more members.  settled: of the
    rounds made for it alone, of which all are there.  open: of the first
    rounds, and either there are too few pairs or 1 lies in the interval.
    """

    def __init__(self, result):
        self.all = [cell for cell in result["cells"] if cell["runs"]]
        self.guest = result["guest"]
        self._by_key = {key_of(cell): cell for cell in self.all}
        self._rounds = result["settings"]["rounds"]
        settled = result.get("settled") or {"rounds": 0, "comparisons": [],
                                            "cells": []}
        self._settle_rounds = settled["rounds"]
        self.asked = {key_of(one): one for one in settled["comparisons"]}
        self._again = {key_of(cell): cell for cell in settled["cells"]}

    def find(self, like, contender):
        """The cell of another contender in the same place."""
        return self._by_key.get((*key_of(like)[:4], contender))

    def places(self):
        """One cell of each place, host first, fewer CPUs first."""
        seen = {}
        for cell in self.all:
            seen.setdefault((cell["place"] != "host", cell["cpus"],
                             cell["variant"]), cell)
        return [seen[key] for key in sorted(seen, key=str)]

    def in_place(self, like):
        return [cell for cell in self.all if where(cell) == where(like)]

    def _settled(self, cell, other):
        """By the rounds made for this comparison, if they were completed."""
        one, two = (self._again.get(key_of(each)) for each in (cell, other))
        found = stats.compare(one, two) if one and two else None
        if not found or found["pairs"] < self._settle_rounds:
            return None
        return {**found, "settled": True, "open": False}

    def compare(self, cell, other):
        """How a cell compares, or None without a common round."""
        asked = self.asked.get(key_of(cell))
        if asked and other["contender"] == asked["to"]:
            found = self._settled(cell, other)
            if found:
                return found
        found = stats.compare(cell, other)
        return found and {
            **found, "settled": False,
            "open": (found["verdict"] in (stats.TIE, stats.UNKNOWN)
                     or found["pairs"] < self._rounds)}

    def opponent(self, cell):
        """Whom a cell of ours must not be behind.

        The drop-in: glibc.  Others: the kernel-thread peer that was the best
        in the first rounds.
        """
        asked = self.asked.get(key_of(cell))
        if asked:
            return self.find(cell, asked["to"])
        if cell["contender"] == DROP_IN:
            return self.find(cell, GLIBC)
        return stats.best_peer(stats.same_place(cell, self.all),
                               bench_plan.OWN)

    def to_opponent(self, cell):
        other = self.opponent(cell)
        return self.compare(cell, other) if other else None

    def to_glibc(self, cell):
        glibc = self.find(cell, GLIBC)
        return self.compare(cell, glibc) if glibc else None

    def to_near(self, cell):
        """To the peers nearly as good as the best, if that was settled."""
        asked = self.asked.get(key_of(cell))
        others = [self.find(cell, name) for name in asked["near"]] \
            if asked else []
        found = [self._settled(cell, other) for other in others if other]
        return [one for one in found if one]

    def contenders(self, cells):
        names = {cell["contender"] for cell in cells}
        return [each.name for each in bench_plan.CONTENDERS
                if each.name in names]

    def commands(self, cells, contenders=(GLIBC, DROP_IN, NATIVE)):
        """A block of the commands of some cells."""
        return Commands([shell_command(cell, self.guest) for cell in cells
                         if cell["contender"] in contenders])
