# SPDX-License-Identifier: MIT
"""Tests of the engine: the order of runs, and their results."""

import contextlib
import io
from types import SimpleNamespace

from drover_tools.report import (engine, places, suite_bench, suite_counts,
                                 suite_waiting)
from drover_tools.runs import plan, progress
from drover_tools.tables import stats
from drover_tools.tables.results import Cells
from drover_tools.tap import Tap
from drover_tools.tests.report.samples import ROW, run_of
from drover_tools.tree import BUILD

OURS = ("glibc", "drop-in", "native")


def cells(names=OURS, counts=(1,)):
    row = plan.Row(ROW, "turn-ring", promised=True)
    return [plan.Cell("host", cpus, row, contender, "true")
            for cpus in counts for contender in suite_bench.CONTENDERS
            if contender.name in names]


class Place(contextlib.AbstractContextManager):
    """A place where runs take a given time, and may fail or be interrupted."""

    def __init__(self, now, fails=(), stop=None, **times):
        self._now, self._times = now, times
        self._fails, self._stop = dict(fails), stop
        self.order = []

    def __exit__(self, *_exception):
        """Nothing is left to end."""

    def run(self, one, _limit):
        name = one.contender.name
        if len(self.order) == self._stop:
            raise KeyboardInterrupt
        self._now[0] += 1.0
        self.order.append(name)
        if name in self._fails:
            raise self._fails[name]
        ns = self._times.get(name.replace("-", "_"), 100.0)
        return {**run_of(0, ns(len(self.order)) if callable(ns) else ns),
                "kernel": "Linux", "version": "1", "library": "lib/some.so"}


def measured(rounds=3, seconds=1000, names=OURS, counts=(1,), settle=None,
             focus=False, **more):
    """A session after a measurement, in which only runs take time."""
    now, out = [0.0], io.StringIO()
    place = Place(now, **more)
    suite = suite_bench.Bench()
    suite.cells = lambda options, missing: cells(names, counts)
    suite.host, suite.more = lambda options: place, lambda session: None
    suite.focus, suite.needs = focus, ()
    options = SimpleNamespace(rounds=rounds, minutes=seconds / 60, limit=1,
                              settle=settle, mem=1, build=BUILD)
    session = engine.Session(suite, options, progress.Progress(
        seconds, out, lambda: now[0]))
    with contextlib.suppress(KeyboardInterrupt):
        session.measure()
    session.order, session.said = place.order, out.getvalue()
    return session


def nr_runs(session):
    return {cell.contender.name: len(cell.runs) for cell in session.cells}


def verdicts(session):
    compared = Cells(session.result())
    return [(found["verdict"], found["open"], found["pairs"]) for found
            in map(compared.to_opponent, compared.promised())]


def test_rounds(tap):
    """Runs are interleaved, and the time limit holds."""
    session = measured(counts=(1, 2))
    tap.equal([len(cell.runs) for cell in session.cells], [3] * 6,
              "all rounds")
    tap.equal(session.order[:3] + session.order[6:9],
              ["glibc", "drop-in", "native", "drop-in", "native", "glibc"],
              "another one goes first in the next round")
    tap.equal([run["round"] for run in session.cells[0].runs], [0, 1, 2],
              "runs know their round")
    tap.ok("0:18 left" not in session.said and "left" in session.said,
           "the remaining time is told", session.said)
    session = measured(rounds=100, seconds=10, counts=(1, 2))
    tap.equal([len(cell.runs) for cell in session.cells], [2] * 6,
              "no round of a block is begun when the time is over, and none"
              " is left half done")
    tap.equal(list(nr_runs(measured(seconds=1e-9)).values()), [1] * 3,
              "the first round is finished in any case")
    for error, state in ((places.Failed("broken"), plan.FAILED),
                         (places.TooSlow(), plan.INCOMPLETE)):
        session = measured(fails={"drop-in": error})
        tap.equal((nr_runs(session), session.order.count("drop-in"),
                   session.cells[1].state, session.suite.well(session)),
                  ({"glibc": 3, "drop-in": 0, "native": 3}, 1, state,
                   state != plan.FAILED),
                  f"a cell that is {state} is not run again")


def test_focus(tap):
    """Later rounds have only contenders that are compared."""
    session = measured(rounds=5, focus=True, nsync=30.0, musl=40.0, go=10.0,
                       names=(*OURS, "nsync", "musl", "go"))
    tap.equal(nr_runs(session), {"glibc": 5, "drop-in": 5, "native": 5,
                                 "nsync": 5, "musl": 2, "go": 2},
              "ours, glibc and the best peer go on")


def test_settle(tap):
    """An open comparison is measured again, once, and these rounds decide."""
    session = measured(rounds=9, settle=27, drop_in=50.0, native=50.0)
    tap.equal((session.settled["comparisons"], len(session.order)), ([], 27),
              "settle: all are ahead: nothing is measured")

    def noisy(first, then, until=27):
        return lambda n: first + n % 5 if n <= until else then

    session = measured(rounds=9, settle=27, native=50.0,
                       drop_in=noisy(98.0, 200.0))
    tap.equal((nr_runs(session), verdicts(session)),
              ({"glibc": 36, "drop-in": 36, "native": 9},
               [(stats.BEHIND, False, 27), (stats.AHEAD, False, 9)]),
              "settle: a tie gets 27 rounds, and is judged by these")
    tap.ok("Settling 1 comparisons: 27 rounds of 2 cells" in session.said,
           "settle: that is said before", session.said)
    session = measured(rounds=9, settle=27, native=50.0,
                       drop_in=lambda n: 98.0 + n % 5)
    tap.equal(verdicts(session)[0], (stats.TIE, False, 27),
              "settle: then a tie is a tie")
    session = measured(rounds=9, settle=27, native=50.0, stop=30,
                       drop_in=lambda n: 98.0 + n % 5)
    tap.equal((nr_runs(session), session.settled["state"],
               verdicts(session)[0][1]),
              ({"glibc": 10, "drop-in": 10, "native": 9}, "interrupted",
               True), "settle, interrupted: whole rounds, none is judged")


def test_plan(tap):
    """Rows and commands are right."""
    commands = [row.command for row in suite_bench.ROWS]
    tap.equal(len(set(commands)), len(commands), "no row twice")
    by_name = {one.name: one for one in suite_bench.CONTENDERS}
    tap.equal(by_name["drop-in"].command(plan.Row("pp -n 1"), "build"),
              "LD_PRELOAD=build/lib/libdrover-pthread.so.1"
              " build/bin/drover-bench pp -n 1 --impl=pthread --json",
              "command of the drop-in")
    tap.equal([by_name["go"].offers(plan.Row(row)) for row
               in ("pp -n 1", "pp -n 1 --latency", "latch -n 1")],
              [True, False, False], "Go has some suites only")
    _, missing = suite_bench.built("/nonexistent")
    tap.ok("apt-get install libnsync-dev" in dict(missing)["nsync"],
           "a contender that is not built is listed, with its packages",
           missing)
    rows = suite_waiting.SUITE.barriers(2, SimpleNamespace(ms=9, crowd=False))
    tap.equal((len(rows), sum(bool(row.goals) for row in rows)), (11, 8),
              "barriers: rows, and goals")


def test_counts(tap):
    """Exact counts are judged rightly."""
    def count(contender, row, instructions, switches=1.0):
        return {"variant": "drover", "contender": contender, "row": row,
                "instructions": instructions, "switches": switches}

    row, steady = "pp -n 1 -i 2000", "cond-perf -n 200 -r 100 to 200 -k"
    for counts, well in (
            ([count("glibc", row, 100), count("drover", row, 100)], True),
            ([count("glibc", row, 100), count("drover", row, 101)], False),
            ([count("drover", steady, 1, 1.02)], True),
            ([count("drop-in", steady, 1, 1.03)], False)):
        with contextlib.redirect_stdout(io.StringIO()):
            found = suite_counts.report(Tap(), counts, [])
        tap.equal(found, well, f"counts: {counts[-1]['contender']}:"
                  f" {'met' if well else 'missed'}")


TESTS = (test_rounds, test_focus, test_settle, test_plan, test_counts)
