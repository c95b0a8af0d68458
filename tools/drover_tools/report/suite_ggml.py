# SPDX-License-Identifier: MIT
"""ggml with Drover's barrier, with OpenMP, and with its own spinning barrier.

The programs are ggml's test-barrier, and llama-bench with two models of random
weights. They run with the numbers of threads in --threads: alone, beside
processes that compute, and as SCHED_FIFO. The first run fetches and builds
ggml, which takes ten minutes on two CPUs.
"""

import os
import shlex
import subprocess
import sys

from drover_tools.ggml import loads
from drover_tools.ggml.build import MODELS, Failed, Ggml
from drover_tools.report import places
from drover_tools.report.engine import Suite
from drover_tools.runs import plan, process
from drover_tools.runs.plan import Contender, Row
from drover_tools.tables import sections, stats
from drover_tools.tables.document import Heading, Table, Text, Value
from drover_tools.tables.results import Cells
from drover_tools.tree import TOP

OURS, OPENMP, SPIN = "drover", "openmp", "spin"
THREADS = (1, 2, 3, 4, 8, 33)
BESIDE = (0, 1, 2)
BARRIER = "test-barrier"
#: The goals: the least ratio to OpenMP's rate, with up to FEW threads and with
#: more; to the ideal rate, with few, with many, and beside processes that
#: compute; and of SCHED_FIFO threads to the rate of ggml's own barrier.
MORE, MANY_MORE = 1.15, 2.5
IDEAL, MANY_IDEAL, LEFT_IDEAL, FIFO_SPIN = 0.95, 0.7, 0.9, 0.97
FEW = 8


def counts(text):
    """"0 1 2" as [0, 1, 2]"""
    return [int(word) for word in text.split()]


class Place:
    """This machine, on which ggml runs."""

    def __init__(self, suite, options):
        self._suite = suite
        self._wakeup = os.path.join(options.build, "lib", "drover", "wakeup")
        self._told = {"kernel": os.uname().release,
                      "library": "libdrover.so.1", "version": ""}

    def __enter__(self):
        self._wake_ups("before")
        return self

    def __exit__(self, kind, *_exception):
        if not kind:
            self._wake_ups("after")

    def _wake_ups(self, when):
        first, *others = plan.first_cpus(None)
        between = (process.wake_up(self._wakeup, first, others[-1])
                   if others else None)
        self._suite.regime[when] = {
            "same": process.wake_up(self._wakeup, first, first),
            "between": between}

    def run(self, cell, limit):
        """Run a cell once."""
        try:
            found = loads.run(self._suite.ggml,
                              self._suite.loads[cell.row.command],
                              cell.contender.name, limit)
        except process.TooSlow:
            raise places.TooSlow from None
        except (process.Failed, OSError, ValueError, TypeError) as error:
            raise places.Failed(str(error)) from None
        return {**self._told, **found}


class GgmlSuite(Suite):
    """`make bench-ggml`."""

    name, title = "ggml", "ggml"
    needs = ("lib/libdrover.so.1", "lib/drover/wakeup")
    rounds, minutes, limit = 5, 120, 12
    against = {OURS: "best"}
    own = (OURS,)
    kept = ("rate", "cpu_us")

    def __init__(self):
        self.ggml, self.loads, self.regime = None, {}, {}

    def arguments(self, parser):
        add = parser.add_argument
        add("--threads", type=counts, default=THREADS,
            help='numbers of threads (default "1 2 3 4 8 33")')
        add("--beside", type=counts, default=BESIDE,
            help='numbers of processes that compute (default "0 1 2")')
        add("--no-fifo", action="store_true",
            help="leave out the runs as SCHED_FIFO")
        add("--test", action="append", dest="tests",
            choices=(BARRIER, *loads.TESTS),
            help="run only this one; may be given several times")
        add("--model", action="append", dest="models", choices=MODELS,
            help="run only this one; may be given several times")

    @staticmethod
    def chosen(options):
        """The rows that the options choose."""
        tests = options.tests or (BARRIER, *loads.TESTS)
        for test in tests:
            for model in ([""] if test == BARRIER
                          else options.models or MODELS):
                for beside in options.beside:
                    for threads in options.threads:
                        yield loads.Load(test, model, threads, beside)
                for threads in () if options.no_fifo else options.threads:
                    yield loads.Load(test, model, threads, fifo=True)

    def cells(self, options, missing):
        cpus, found = len(os.sched_getaffinity(0)), []
        self.ggml = Ggml(options.build)
        try:
            self.ggml.make()
        except Failed as error:
            sys.exit(f"ggml: {error}")
        fifo = subprocess.run([*loads.PRIORITY, "true"], check=False,
                              capture_output=True).returncode == 0
        if not fifo:
            missing.append({"contender": "SCHED_FIFO",
                            "reason": "chrt is not allowed to set it here"})
        for load in self.chosen(options):
            if load.fifo and not fifo:
                continue
            row = Row(load.name, load.model or BARRIER, promised=True)
            self.loads[load.name] = load
            for name in (OURS, OPENMP, SPIN):
                if name == SPIN and load.fifo and load.threads > cpus:
                    # No other program would get a CPU.
                    continue
                found.append(plan.Cell(
                    "host", cpus, row, Contender(name),
                    f"LD_LIBRARY_PATH={self.ggml.libraries(name)} ".replace(
                        TOP + "/", "") + shlex.join(load.words(self.ggml))))
        return found

    def host(self, options):
        return Place(self, options)

    def more(self, session):
        session.extras["regime"] = self.regime
        for load in self.loads.values():
            if load.fifo and load.threads > len(os.sched_getaffinity(0)):
                session.miss(SPIN, f"{load.name}: no other program would get"
                             " a CPU")

    def well(self, session):
        return not any(cell.state == plan.FAILED for cell in session.cells)

    def blocks(self, result):
        cells = Cells(result)
        yield Heading(1, self.title)
        yield from sections.machine(result)
        yield sections.regime(result)
        yield sections.method()
        yield Text("A rate is the number of nodes or tokens a second. CPU is"
                   " the CPU time of the whole program for each node or token,"
                   " in us. \"over\" is a ratio of rates, of which more than 1"
                   " is ahead. The ideal is the best rate with as many threads"
                   " as CPUs; beside other processes, with as many threads as"
                   " these leave CPUs, but at least one.")
        for group in dict.fromkeys(about["group"] for about
                                   in result["rows"].values()):
            yield Heading(2, group)
            yield _table(cells, group)
        yield Heading(2, "Goals")
        yield Table(["goal", "found", ""], list(_goals(cells)))
        yield from sections.not_measured(result)


def _load(cell):
    """The load of a stored cell."""
    begin, threads, company = cell["row"].split(", ")
    test, _, model = begin.partition(" ")
    return loads.Load(test, model, int(threads.split()[0]),
                      int(company.partition("beside ")[2] or 0),
                      company == "SCHED_FIFO")


def _left(load, cpus):
    """The CPUs that the processes beside a load leave, at equal shares."""
    if load.beside < cpus:
        return cpus - load.beside
    return max(1, round(cpus / (1 + load.beside / cpus)))


def _ideal(cells, cell):
    """The best rate that the CPUs can give, or None if not measured."""
    load = _load(cell)
    threads = min(load.threads, _left(load, cell["cpus"]))
    wanted = loads.Load(load.test, load.model, threads).name
    return max((stats.median(one, "rate") for one in cells.all
                if one["row"] == wanted), default=None)


def _over(cells, cell, name):
    """The ratios to another contender, of times and of rates."""
    found = cells.to(cell, name)
    if not found:
        return None, None
    bounds = found["interval"]
    return found, {**found, "ratio": 1 / found["ratio"],
                   "interval": bounds and (1 / bounds[1], 1 / bounds[0])}


def _table(cells, group):
    """One row for each load."""
    lines = []
    for cell in cells.all:
        if cells.rows[cell["row"]]["group"] != group \
                or cell["contender"] != OURS:
            continue
        each = {name: cells.find(cell, name) for name in (OURS, OPENMP, SPIN)}
        ideal = _ideal(cells, cell)
        line = [cell["row"]]
        for one in each.values():
            line.append(one and "{} {}".format(
                sections.digits(stats.median(one, "rate")),
                sections.percent(stats.spread(
                    [run["rate"] for run in one["runs"]]))) or "-")
        for name in (OPENMP, SPIN):
            times, rates = _over(cells, cell, name)
            line.append(Value(sections.ratio_text(rates),
                              times["verdict"]) if times else "-")
        line.append(f"{stats.median(cell, 'rate') / ideal:.2f}" if ideal
                    else "-")
        line += [one and sections.digits(stats.median(one, "cpu_us")) or "-"
                 for one in each.values()]
        lines.append(line)
    return Table(["", OURS, OPENMP, SPIN, "over openmp", "over spin",
                  "of ideal", "CPU", OPENMP, SPIN], lines)


def _goals(cells):
    """The goals for tokens a second, and whether they are met."""
    for cell in cells.all:
        load = _load(cell)
        if cell["contender"] != OURS or not load.model:
            continue
        few = load.threads <= cell["cpus"]
        wanted = []             # whose, at least
        if load.fifo:
            wanted += [(SPIN, FIFO_SPIN)] * (load.threads == cell["cpus"])
        elif load.beside:
            wanted.append((None, LEFT_IDEAL))
        elif few:
            wanted.append((cells.opponent(cell)["contender"], 1)
                          if cells.opponent(cell) else (None, 1))
        else:
            many = load.threads > FEW
            wanted += [(OPENMP, MANY_MORE if many else MORE),
                       (None, MANY_IDEAL if many else IDEAL)]
        for peer, least in wanted:
            yield from _goal(cells, cell, peer, least)


def _goal(cells, cell, peer, least):
    """A line for one goal, if the comparison was measured."""
    if peer:
        times, rates = _over(cells, cell, peer)
        if times:
            yield [f"{cell['row']}: of {peer}",
                   f"{sections.ratio_text(rates)} of at least {least:.2f}",
                   sections.goal_value(times["ratio"], times["interval"],
                                       1 / least)]
    else:
        ideal = _ideal(cells, cell)
        if ideal:
            found = stats.median(cell, "rate") / ideal
            yield [f"{cell['row']}: of the ideal",
                   f"{found:.2f} of at least {least:.2f}",
                   sections.goal_value(1 / found, None, 1 / least)]


SUITE = GgmlSuite()
