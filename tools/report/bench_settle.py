# SPDX-License-Identifier: MIT
"""Once more, and longer, what the first rounds of `make bench` left open.

Promised comparisons on this machine whose interval has both sides of 1, or
which have too few pairs.  The peer to compare with is the one that was best
in the first rounds: whoever is the fastest of several in the same rounds that
are judged owes some of that to luck.  Peers that were nearly as good take
part as well, so that a better one shows.
"""

import datetime
import os
import shlex
import sys

import bench_plan
import machine
import plan
import stats
from bench_measure import Versions, blocks, rotated, run_once
from progress import Progress, clock
from results import DROP_IN, NATIVE, ROWS, Cells, key_of

ROUNDS = 27
#: A peer with up to so many times the best one's median takes part.
NEAR = 1.15
#: Seconds that a run takes beside those that it measures.
START = 0.03
#: The file's version that may have "settled".
SCHEMA = 2
CONTENDERS = {each.name: each for each in bench_plan.CONTENDERS}


class Refused(Exception):
    """It cannot be done; the text says why."""


def now():
    return datetime.datetime.now().astimezone().isoformat(" ", "seconds")


def _near(cells, cell, best):
    """Peers but the best that may turn out to be better."""
    most = stats.figures(best)["ns"] * NEAR
    return [each["contender"] for each in stats.same_place(cell, cells.all)
            if stats.is_peer(each, bench_plan.OWN) and each is not best
            and each["state"] == plan.COMPLETE
            and stats.figures(each)["ns"] <= most]


def find_open(result, suites=(), cpu_counts=()):
    """The comparisons to be settled, as the file has them."""
    cells, found = Cells(result), []
    for cell in cells.all:
        row = ROWS.get(cell["row"])
        if (cell["contender"] not in (DROP_IN, NATIVE)
                or cell["place"] != "host" or key_of(cell) in cells.asked
                or not row or not row.promised
                or suites and row.suite not in suites
                or cpu_counts and cell["cpus"] not in cpu_counts):
            continue
        other = cells.opponent(cell)
        if not other or {cell["state"], other["state"]} != {plan.COMPLETE}:
            continue
        compared = cells.compare(cell, other)
        if not compared or compared["open"]:
            found.append({
                **{key: cell[key] for key in ("row", "place", "cpus",
                                              "variant", "contender")},
                "to": other["contender"],
                "near": _near(cells, cell, other)
                if cell["contender"] == NATIVE else []})
    return found


def _cell_of(data, before):
    """What can be run, of what the file has; before: from another session."""
    if data["row"] not in ROWS or data["contender"] not in CONTENDERS:
        raise Refused(f"{data['contender']} in {data['row']} is not measured"
                      " any more")
    cell = plan.Cell(data["place"], data["cpus"], ROWS[data["row"]],
                     CONTENDERS[data["contender"]], data["command"])
    if before:
        cell.state, cell.reason = before["state"], before["reason"]
        cell.runs = list(before["runs"])
    return cell


class Settling:
    """The comparisons that were open in a result, and their rounds.

    Changes the result's "settled"; what an interrupted one has left there is
    completed.
    """

    def __init__(self, result, rounds=ROUNDS, suites=(), cpu_counts=()):
        self.settled = result.get("settled") or {
            "rounds": rounds, "state": "complete", "sessions": [],
            "comparisons": [], "cells": []}
        if self.settled["rounds"] != rounds:
            raise Refused(f"begun with {self.settled['rounds']} rounds")
        self._comparisons = self.settled["comparisons"] + find_open(
            result, suites, cpu_counts)
        self._first = {key_of(cell): cell for cell in result["cells"]}
        self.cells = self._make_cells()
        self._result = result

    def _keys(self, comparison):
        """Of the cells that take part: the two that matter come first."""
        place = key_of(comparison)[:4]
        return [(*place, name) for name in (
            comparison["contender"], comparison["to"], *comparison["near"])]

    def _make_cells(self):
        """In the order of the first rounds."""
        before = {key_of(cell): cell for cell in self.settled["cells"]}
        wanted = {key for one in self._comparisons for key in self._keys(one)}
        return {key: _cell_of(cell, before.get(key))
                for key, cell in self._first.items() if key in wanted}

    def is_wanted(self, cell):
        """Whether a comparison that can still be completed needs it."""
        return cell.open and any(
            cell in members and members[0].open and members[1].open
            for members in ([self.cells[key] for key in self._keys(one)]
                            for one in self._comparisons
                            if one["row"] == cell.row.command
                            and one["cpus"] == cell.cpus))

    def _left(self, cell):
        if not self.is_wanted(cell):
            return 0
        return self.settled["rounds"] - len(cell.runs)

    def left(self):
        """(comparisons, cells) that are not complete."""
        todo = [key for key, cell in self.cells.items() if self._left(cell)]
        nr = sum(any(key in todo for key in self._keys(one)[:2])
                 for one in self._comparisons)
        return nr, len(todo)

    def missing(self):
        """Programs and libraries that the commands name and nobody built."""
        words = {word.removeprefix("LD_PRELOAD=")
                 for cell in self.cells.values() if self._left(cell)
                 for word in shlex.split(cell.command)}
        return sorted(word for word in words if "/bin/drover-bench" in word
                      or word.endswith(plan.DROP_IN)
                      if not os.path.exists(os.path.join(plan.TOP, word)))

    def progress(self, out=sys.stderr):
        """How long it will take, by what the first rounds took."""
        found = Progress(list(self.cells.values()), self.settled["rounds"], 0,
                         out)
        for key, cell in self.cells.items():
            found.expect(cell, self._left(cell), START
                         + stats.figures(self._first[key])["seconds"])
        return found

    def measure(self, place, limit, progress):
        """All rounds; what was measured is in the result in any case."""
        versions = Versions()
        session = {"started": now(), "load": machine.host()["load"]}
        self.settled["state"] = "interrupted"
        try:
            for number in range(self.settled["rounds"]):
                for block in blocks(self.cells.values()):
                    self._round(place, block, number, limit, progress,
                                versions)
            self.settled["state"] = "complete"
        finally:
            progress.close()
            session |= {"finished": now(), "libraries": versions.libraries}
            self.settled["sessions"].append(session)
            self.settled["comparisons"] = self._comparisons
            self.settled["cells"] = [cell.as_json() for cell
                                     in self.cells.values()]
            self._result |= {"schema": SCHEMA, "settled": self.settled}

    def _round(self, place, block, number, limit, progress, versions):
        """One round of one block: all of it, or nothing."""
        begun = [cell for cell in block
                 if number not in [run["round"] for run in cell.runs]]
        try:
            for cell in rotated(block, number):
                if not self.is_wanted(cell):
                    progress.drop(cell)
                elif cell in begun:
                    with progress.running(cell, number):
                        run_once(place, cell, number, limit, versions)
        except BaseException:
            for cell in begun:
                cell.runs = [run for run in cell.runs
                             if run["round"] != number]
            raise


def refuse_other_machine(result):
    """Only what was measured here can be measured on."""
    here = machine.host()
    for key in ("cpu_model", "cpus", "kernel", "libc"):
        if result["host"][key] != here[key]:
            raise Refused(f"measured on another machine: {key}"
                          f" {result['host'][key]}, here {here[key]}")


def was_rebuilt(result):
    """Whether our programs are newer than the first rounds."""
    finished = datetime.datetime.fromisoformat(result["finished"]).timestamp()
    words = {word for cell in result["cells"] if cell["place"] == "host"
             for word in shlex.split(cell["command"])
             if word.endswith("/bin/drover-bench")}
    return any(os.path.getmtime(path) > finished for path in (
        os.path.join(plan.TOP, word) for word in words)
               if os.path.exists(path))


def settle(result, options, place, out=sys.stderr):
    """Measure what is open in a result; whether all went well."""
    refuse_other_machine(result)
    settling = Settling(result, options.settle, options.suite,
                        options.settle_cpus)
    missing = settling.missing()
    if missing:
        raise Refused(f"{missing[0]} is missing; run: make peers")
    nr, nr_cells = settling.left()
    if not nr:
        out.write("Nothing is open, or all of it has been settled.\n")
        return True
    if was_rebuilt(result):
        out.write("Note: the programs are newer than the first rounds.\n")
    progress = settling.progress(out)
    out.write(f"Settling {nr} comparisons: {options.settle} rounds of"
              f" {nr_cells} cells, about {clock(progress.remaining())}"
              " minutes.\n")
    with place:
        settling.measure(place, options.limit, progress)
    failed = [cell for cell in settling.cells.values() if not cell.open]
    for cell in failed:
        out.write(f"bench: {cell.state.upper()}: {cell.command}:"
                  f" {cell.reason}\n")
    return not failed
