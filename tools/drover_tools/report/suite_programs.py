# SPDX-License-Identifier: MIT
"""Real programs, unmodified, with glibc's condition variables and with ours.

Each runs on one CPU and on all, by turns without and with the drop-in. The
tables have time, CPU time and context switches.
"""

import contextlib
import os
import sys

from drover_tools.programs import rows as programs
from drover_tools.programs.runner import Runner
from drover_tools.report import places
from drover_tools.report.engine import Suite
from drover_tools.runs import plan, process
from drover_tools.tables import sections, stats
from drover_tools.tables.document import Heading, Table, Text
from drover_tools.tables.results import Cells

STOCK, DROP_IN = "stock", "drop-in"
#: The goals, as ratios to stock glibc: the geometric mean of time on one CPU
#: and on more, the CPU time of each program, and the CPU time of a program
#: whose own clock sets its time.
MEAN_TIME, MEAN_TIME_MORE = 0.90, 0.95
CPU_TIME, PACED_CPU_TIME = 1.02, 1.20
BY_NAME = {row.name: row for row in programs.PROGRAMS}
LOADS = {row.name for row in programs.PROGRAMS if row.ours}


class Place:
    """This machine, with the programs' input."""

    def __init__(self, suite, options):
        self._suite, self._options = suite, options
        self._library = os.path.join(options.build, "lib", plan.DROP_IN)
        self._told = {"kernel": os.uname().release, "library": self._library,
                      "version": os.confstr("CS_GNU_LIBC_VERSION"),
                      "operations": 1}

    def __enter__(self):
        self._suite.runner.prepare(self._suite.chosen)
        self._wake_ups("before")
        self._beside = [
            process.spawn(["sh", "-c", "while :; do :; done"], os.environ,
                          os.sched_getaffinity(0), os.devnull)
            for _ in range(self._options.beside)]
        return self

    def __exit__(self, kind, *_exception):
        with contextlib.ExitStack() as stack:
            stack.callback(self._suite.runner.close)
            for pid in self._beside:
                process.end(pid)
            if not kind:
                self._wake_ups("after")

    def _wake_ups(self, when):
        first, *others = plan.first_cpus(None)
        wake_up = self._suite.runner.wake_up
        self._suite.regime[when] = {
            "same": wake_up(first, first),
            "between": wake_up(first, others[-1]) if others else None}

    def run(self, cell, limit):
        """Run a cell once."""
        library = self._library if cell.contender.name == DROP_IN else None
        try:
            found = self._suite.runner.run(
                BY_NAME[cell.row.command], plan.first_cpus(cell.cpus),
                library, limit)
        except process.TooSlow:
            raise places.TooSlow from None
        except (process.Failed, OSError) as error:
            raise places.Failed(str(error)) from None
        return {**self._told, **found,
                "ns_per_operation": found["seconds"] * 1e9}


class Programs(Suite):
    """`make bench-programs`."""

    name, title = "programs", "Real programs"
    needs = (f"lib/{plan.DROP_IN}",)
    minutes, limit = 20, 60
    against = {DROP_IN: STOCK}
    own = (DROP_IN,)

    def __init__(self):
        self.chosen, self.runner, self.regime = [], None, {}

    def arguments(self, parser):
        parser.add_argument("--beside", type=int, default=0, metavar="N",
                            help="run beside N processes that compute"
                            " (%(default)s)")
        parser.add_argument("--only", action="append", metavar="NAME",
                            choices=sorted(BY_NAME),
                            help="run only this one; may be given several"
                            " times: " + ", ".join(BY_NAME))

    def cells(self, options, missing):
        for row in programs.PROGRAMS:
            if options.only and row.name not in options.only:
                continue
            reason = row.missing()
            if reason:
                missing.append({"contender": row.name, "reason": reason})
                print(f"{row.name} is left out: {reason}", file=sys.stderr)
            else:
                self.chosen.append(row)
        self.runner = Runner(
            os.path.join(options.build, "results", "programs-work"))
        library = os.path.join(options.build, "lib", plan.DROP_IN)
        return [plan.Cell("host", cpus, row,
                          plan.Contender(name, drop_in=name == DROP_IN),
                          f"LD_PRELOAD={library} " * (name == DROP_IN)
                          + self.runner.command(row))
                for row in self.chosen for cpus in options.host_cpus
                for name in (STOCK, DROP_IN)]

    def host(self, options):
        return Place(self, options)

    def more(self, session):
        session.extras["regime"] = self.regime

    def blocks(self, result):
        cells = Cells(result)
        yield Heading(1, self.title)
        yield from sections.machine(result)
        yield sections.regime(result)
        yield sections.method()
        yield Text("The marks of CPU time compare it with"
                   f" {CPU_TIME:.2f} of stock glibc's, or with"
                   f" {PACED_CPU_TIME:.2f} if the program's own clock sets its"
                   " time.")
        for cpus in cpu_counts(cells):
            yield Heading(3, f"Real programs: {plan.cpus_text(cpus)}")
            yield _table(cells, cpus)
        yield Table(["programs", "", "time, mean", "worst", "CPU time, mean",
                     "worst"], list(_groups(cells)))
        yield Table(["goal", "found", ""], list(_goals(cells)))
        yield from sections.not_measured(result)


def cpu_counts(cells):
    return sorted({cell["cpus"] for cell in cells.all})


def pairs(cells, cpus):
    """(program, stock's cell, drop-in's cell, ratio of time, of CPU time)"""
    for cell in cells.all:
        stock = cells.find(cell, STOCK)
        if cell["cpus"] != cpus or cell["contender"] != DROP_IN or not stock:
            continue
        time = cells.compare(cell, stock)
        if time:
            yield (cell["row"], stock, cell, time, stats.compare(
                cell["runs"], stock["runs"], "cpu_seconds"))


def most_cpu_time(cells, name):
    """The goal for a program's CPU time, as a ratio to stock glibc's."""
    return PACED_CPU_TIME if cells.rows[name]["paced"] else CPU_TIME


def unpaced(cells, cpus):
    """(program, ratio of time, of CPU time) unless a clock sets the time."""
    return [(name, time["ratio"], cpu["ratio"]) for name, _, _, time, cpu
            in pairs(cells, cpus) if not cells.rows[name]["paced"]]


def means(cells, cpus):
    """The means of unpaced(): (time, CPU time)."""
    return [stats.mean(column)
            for column in list(zip(*unpaced(cells, cpus)))[1:]]


def _groups(cells):
    """Means and worst ratios of loads that only wait, and of the others."""
    for ours, text in ((True, "loads of ours, which wait all the time"),
                       (False, "other programs")):
        for cpus in cpu_counts(cells):
            found = [row for row in unpaced(cells, cpus)
                     if (row[0] in LOADS) == ours]
            if found:
                slowest = max(found, key=lambda row: row[1])
                dearest = max(found, key=lambda row: row[2])
                yield [f"{len(found)} {text}", plan.cpus_text(cpus),
                       f"{stats.mean([row[1] for row in found]):.2f}",
                       f"{slowest[1]:.2f} ({slowest[0]})",
                       f"{stats.mean([row[2] for row in found]):.2f}",
                       f"{dearest[2]:.2f} ({dearest[0]})"]


def _table(cells, cpus):
    """The table of all programs on so many CPUs."""
    lines = [[name, f"{stats.median(stock, 'seconds'):.2f}",
              f"{stats.median(cell, 'seconds'):.2f}",
              sections.ratio_value(time),
              sections.ratio_value(cpu, most_cpu_time(cells, name)),
              f"{stats.median(stock, stats.switches):.0f}",
              f"{stats.median(cell, stats.switches):.0f}"]
             for name, stock, cell, time, cpu in pairs(cells, cpus)]
    found = means(cells, cpus)
    if found:
        lines.append(["geometric mean", "", "",
                      *(f"{value:.3f}" for value in found), "", ""])
    return Table(["program", "stock, s", "drop-in, s", "time", "CPU time",
                  "switches", "drop-in"], lines)


def _goals(cells):
    """The goals, and whether they are met."""
    slower, dearer = [], []
    for cpus in cpu_counts(cells):
        found = means(cells, cpus)
        most = MEAN_TIME if cpus == 1 else MEAN_TIME_MORE
        if found:
            yield [f"geometric mean of time, {plan.cpus_text(cpus)}",
                   f"{found[0]:.3f} of at most {most:.2f}",
                   sections.goal_value(found[0], None, most)]
        for name, _, _, time, cpu in pairs(cells, cpus):
            where = f"{name} ({plan.cpus_text(cpus)})"
            if time["verdict"] == stats.BEHIND:
                slower.append(where)
            if sections.ratio_value(
                    cpu, most_cpu_time(cells, name)).mark == stats.BEHIND:
                dearer.append(where)
    for text, names in (("no program is slower", slower),
                        (f"no program's CPU time is above {CPU_TIME:.2f}",
                         dearer)):
        yield [text, ", ".join(names) or "none is",
               sections.goal_value(len(names), None, 0)]


SUITE = Programs()
