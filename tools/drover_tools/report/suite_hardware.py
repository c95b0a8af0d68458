# SPDX-License-Identifier: MIT
"""Barriers, pools and condition variables at several counts of threads.

tools/hardware-day measures this on a machine that is lent for minutes.
"""

from drover_tools.report.cells import host_cells
from drover_tools.report.engine import Suite
from drover_tools.report.suite_waiting import (BARRIERS, PERIOD, POOLS, SHOWN,
                                               WORK, barrier, pool)
from drover_tools.runs import plan
from drover_tools.runs.plan import Contender, Row
from drover_tools.tables import sections
from drover_tools.tables.document import Heading
from drover_tools.tables.results import Cells

CONDVARS = ("drover", "pthread")


def condvars(threads):
    """Rows for so many threads: broadcasts, turns, and a queue."""
    half = max(threads // 2, 1)
    for command, title in (
            (f"broadcast -n {threads} -r {3000 // threads} -c 1000",
             f"{threads} threads, a section of 1 us"),
            (f"turn-ring -n {threads} -i {20000 // threads}",
             f"{threads} threads, a ring of turns"),
            (f"queue -p {half} -c {half} -i {20000 // half} -q 16",
             f"{half} producers and consumers")):
        yield Row(command, "condvar", title)


class Hardware(Suite):
    """`tools/measure hardware`."""

    name, title = "hardware", "Barriers, pools and condition variables"
    needs = ("bin/barrier-perf", "bin/pool-perf", "bin/drover-bench")
    rounds, minutes, limit = 5, 3, 10
    against = {"drover": "best"}
    own = ("drover",)
    kept = ("p50_us", "p99_us", "cpu_us_per_request", "idle_cpu")

    def arguments(self, parser):
        parser.add_argument("--ms", type=int, default=100)
        parser.add_argument("--threads", default="2 4 8 16")

    def cells(self, options, missing):
        cpus = options.host_cpus[-1]
        counts = [int(word) for word in options.threads.split()]
        found = []
        for rows, names in (
                ([barrier(cpus, threads, work, 0, options.ms)
                  for threads in counts for work in (0, WORK)], BARRIERS),
                ([pool(cpus, threads, period, options.ms)
                  for threads in counts for period in (0, PERIOD)], POOLS),
                ([row for threads in counts for row in condvars(threads)],
                 CONDVARS)):
            found += host_cells(rows, [Contender(name, name)
                                       for name in names], [cpus],
                                options.build)
        return found

    def well(self, session):
        """A peer that this machine lacks is no failure."""
        return not any(cell.state == plan.FAILED for cell in session.cells
                       if cell.contender.name in self.own)

    def blocks(self, result):
        cells = Cells(result)
        yield Heading(1, self.title)
        yield from sections.machine(result)
        yield sections.method()
        for row, about in result["rows"].items():
            yield Heading(3, f"{about['group']}: {about['title']}")
            yield sections.implementations(
                cells, row, "drover",
                *SHOWN.get(about["group"], ("ns per operation",)))
        yield from sections.not_measured(result)


SUITE = Hardware()
