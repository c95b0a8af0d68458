# SPDX-License-Identifier: MIT
"""Measures the cells of a suite in rounds, until the time is over.

The contenders of a row run one after the other, and another one begins each
round, so that other work of the machine disturbs all of them alike.  With
--settle, each promised comparison that is open then gets further rounds, once,
and only these give its verdict.  The opponent is chosen before them: a
contender that is the fastest of several in some rounds is so partly by luck,
and may not be judged by the same rounds.
"""

import datetime
import os
import sys

from drover_tools.report import store
from drover_tools.report.places import (Failed, GuestError, Guests, Host,
                                        TooSlow, describe)
from drover_tools.runs import machine, plan
from drover_tools.runs.progress import Progress, clock
from drover_tools.tables.document import LICENCE
from drover_tools.tables.results import Cells

#: The members of each run's result that are kept, besides those that a suite
#: names; and the digits of numbers.
KEPT = ("seconds", "cpu_seconds", "voluntary_switches",
        "involuntary_switches", "operations", "ns_per_operation", "spurious",
        "futile")
DIGITS = 9
#: All contenders take part in so many rounds, also if the suite has a focus.
ALL_ROUNDS = 2
SETTLE_ROUNDS = 27
#: The share of the time that is for guests.
GUEST_SHARE = 0.4


class Suite:
    """A set of rows, and how they are measured and shown.

    against: the opponent of each contender, where "best" is the fastest peer;
    own: contenders that are not peers; no_peers: others that are not; kept:
    further members of runs; focus: after some rounds only contenders that are
    compared go on
    """

    name = title = ""
    rounds, minutes, limit = 9, 20, 120
    against = {}
    own = ()
    no_peers = ()
    kept = ()
    focus = False
    needs = ()              # files of build/ without which nothing runs

    def arguments(self, parser):
        """Add the suite's own options."""

    def cells(self, options, missing):
        """The cells; contenders that cannot be measured go to missing."""
        raise NotImplementedError

    def host(self, _options):
        """The place for cells of this machine."""
        return Host()

    def more(self, session):
        """Measure anything that is not a cell."""

    def blocks(self, result):
        """The blocks of the report."""
        raise NotImplementedError

    def well(self, session):
        """Whether the exit status is 0, as no cell failed that must not."""
        return not any(cell.state == plan.FAILED for cell in session.cells)


def now():
    return datetime.datetime.now().astimezone().isoformat(" ", "seconds")


def blocks_of(cells):
    """Lists of cells that are compared, in the order of the rows."""
    found = {}
    for cell in cells:
        found.setdefault(cell.where, []).append(cell)
    return list(found.values())


def rotated(block, number):
    """A block in the order of a round: another cell begins each round."""
    shift = number % len(block)
    return block[shift:] + block[:shift]


class Session:
    """A measurement, and its results so far."""

    def __init__(self, suite, options, progress=None):
        self.suite, self.options = suite, options
        self.progress = progress or Progress(options.minutes * 60)
        self.missing, self.extras, self.cells = [], {}, []
        self.kernels, self.libraries, self.accel = {}, {}, None
        self.state, self.settled = "interrupted", None
        self._host, self._started = machine.host(), now()
        self.failed = False     # whether a guest failed

    def miss(self, who, reason):
        """Note that a contender is not measured, and the reason."""
        self.missing.append({"contender": who, "reason": reason})

    # Running

    def _keep(self, cell, result, number):
        run = {"round": number}
        for key in (*KEPT, *self.suite.kept):
            value = result.get(key)
            if value is not None:
                run[key] = (float(f"{value:.{DIGITS}g}")
                            if isinstance(value, float) else value)
        cell.runs.append(run)
        cell.state = plan.COMPLETE
        self.kernels[cell.contender.variant or "host"] = result["kernel"]
        library = os.path.basename(result["library"])
        self.libraries[cell.contender.name] = result["version"] + (
            f" under {library}" if cell.contender.drop_in else "")

    def run_once(self, place, cell, number):
        """Run a cell once; a cell that fails is not run again."""
        limit = self.options.limit
        try:
            with self.progress.running(cell, number):
                result = place.run(cell, limit)
            self._keep(cell, result, number)
        except TooSlow:
            cell.state = plan.INCOMPLETE
            cell.reason = f"ended after {limit:g} s"
        except Failed as error:
            cell.state, cell.reason = plan.FAILED, str(error)
        except KeyError as error:
            cell.state = plan.FAILED
            cell.reason = f"{error} is not in the result"

    def _in_focus(self, block):
        """The cells of a block that are ours, or that ours compare with."""
        cells = Cells({**self.result(), "settled": None})
        wanted = {cell.key for cell in block
                  if cell.contender.name in self.suite.own}
        for cell in block:
            other = cells.opponent(cell.as_json())
            if other:
                wanted.add((*cell.where, other["contender"]))
        wanted.add((*block[0].where, self.suite.against.get("drop-in")))
        return [cell for cell in block if cell.key in wanted]

    def rounds(self, place, cells, end):
        """Make rounds over all blocks; the first round is always finished."""
        self.progress.plan(cells, self.options.rounds)
        for number in range(self.options.rounds):
            for block in blocks_of(cells):
                if self.suite.focus and number >= ALL_ROUNDS:
                    focus = self._in_focus(block)
                    self.progress.drop([cell for cell in block
                                        if cell not in focus])
                    block = focus
                if number and self.progress.left() <= end:
                    self.progress.drop(cells)
                    return
                for cell in rotated(block, number) if block else ():
                    if cell.open:
                        self.run_once(place, cell, number)

    def _check(self, paths, command):
        """Exit now, rather than in the middle, if a file is missing."""
        for path in (os.path.join(self.options.build, one) for one in paths):
            if not os.path.exists(path):
                sys.exit(f"{self.suite.name}: {path} is missing; run:"
                         f" {command}")

    def measure(self):
        """Measure everything; any exception may interrupt this."""
        options = self.options
        self._check(self.suite.needs, "make")
        self.cells = self.suite.cells(options, self.missing)
        self._check(dict.fromkeys(
            f"kernel/{cell.contender.variant}/bzImage" for cell in self.cells
            if cell.place == "guest"), "make kernel")
        here = [cell for cell in self.cells if cell.place == "host"]
        guests = {}
        for cell in self.cells:
            if cell.place == "guest":
                guests.setdefault(cell.cpus, []).append(cell)
        whole = options.minutes * 60
        if here:
            with self.suite.host(options) as place:
                self.rounds(place, here,
                            whole * GUEST_SHARE if guests else 0)
        for nr, (cpus, cells) in enumerate(guests.items()):
            left = self.progress.left()
            self._guest(cpus, cells, left - left / (len(guests) - nr))
        self.suite.more(self)
        self.state = "complete"
        if options.settle:
            self.settle()

    def _guest(self, cpus, cells, end):
        options = self.options
        variants = dict.fromkeys(cell.contender.variant for cell in cells)
        try:
            with Guests(variants, cpus,
                        lambda text: self.progress.note(text, always=True),
                        mem=options.mem, accel=options.accel,
                        build=options.build) as place:
                self.accel = place.accel
                self.rounds(place, cells, end)
        except GuestError as error:
            self.lose(f"guests with {cpus} CPUs", error)

    def lose(self, what, error):
        """Note that a guest failed; all other cells are still measured."""
        self.progress.drop(self.cells)
        self.progress.tell(f"{what}: {describe(error)}")
        self.failed = True
        self.miss(what, str(error))

    # Settling

    def find_open(self):
        """The promised comparisons on this machine that are not decided."""
        cells, found = Cells(self.result()), []
        for cell in cells.promised():
            other = cells.opponent(cell)
            if (cell["place"] != "host" or not other
                    or {cell["state"], other["state"]} != {plan.COMPLETE}):
                continue
            compared = cells.compare(cell, other)
            if not compared or compared["open"]:
                found.append({
                    **{key: cell[key] for key in ("row", "place", "cpus",
                                                  "contender")},
                    "to": other["contender"]})
        return found

    def _pairs(self):
        """The two cells of each comparison that can still be completed."""
        by_key = {cell.key: cell for cell in self.cells}
        pairs = [[by_key[one["row"], one["place"], one["cpus"], name]
                  for name in (one["contender"], one["to"])]
                 for one in self.settled["comparisons"]]
        return [pair for pair in pairs if pair[0].open and pair[1].open]

    def settle(self):
        """Make further rounds for the comparisons that are open."""
        first, rounds = self.options.rounds, self.options.settle
        self.settled = {"rounds": rounds, "from": first,
                        "state": "interrupted",
                        "comparisons": self.find_open()}
        wanted = [cell for cell in self.cells
                  if any(cell in pair for pair in self._pairs())]
        self.progress.extend(float("inf"))
        self.progress.plan(wanted, rounds)
        self.progress.tell(
            f"Settling {len(self.settled['comparisons'])} comparisons:"
            f" {rounds} rounds of {len(wanted)} cells, about"
            f" {clock(self.progress.remaining())} minutes.")
        if wanted:
            with self.suite.host(self.options) as place:
                for number in range(first, first + rounds):
                    for block in blocks_of(wanted):
                        self._settle_round(place, block, number)
        self.settled["state"] = "complete"

    def _settle_round(self, place, block, number):
        """Make one round of one block; an incomplete round is dropped."""
        try:
            for cell in rotated(block, number):
                if any(cell in pair for pair in self._pairs()):
                    self.run_once(place, cell, number)
                else:
                    self.progress.drop([cell])
        except BaseException:
            for cell in block:
                cell.runs = [run for run in cell.runs
                             if run["round"] != number]
            raise

    # The result

    def result(self):
        """Everything, as the JSON file has it."""
        options, suite = self.options, self.suite
        guest = {"mem_mb": options.mem, "accel": self.accel,
                 "qemu": machine.qemu_version()} if self.accel else None
        rows = {cell.row.command: cell.row for cell in self.cells}
        return {
            "schema": store.SCHEMA, "licence": LICENCE,
            "suite": suite.name, "state": self.state,
            "started": self._started, "finished": now(),
            "settings": {
                "rounds": options.rounds, "minutes": options.minutes,
                "limit": options.limit,
                "policy": os.environ.get("DROVER_POLICY", ""),
                "against": suite.against, "own": list(suite.own),
                "no_peers": list(suite.no_peers)},
            "host": self._host, "guest": guest,
            "versions": {"kernels": self.kernels,
                         "libraries": self.libraries},
            "rows": {name: {key: getattr(row, key, None) or default
                            for key, default in store.ROW.items()}
                     for name, row in rows.items()},
            "not_measured": self.missing,
            "cells": [cell.as_json() for cell in self.cells],
            "settled": self.settled, **self.extras,
        }
