# SPDX-License-Identifier: MIT
"""Barriers and thread pools against their peers.

Each run lasts --ms milliseconds, however slow it is.  --guest=CPUS measures in
a guest.
"""

from drover_tools.report.cells import guest_cells, host_cells
from drover_tools.report.engine import Suite
from drover_tools.runs import plan
from drover_tools.runs.plan import Contender, Row
from drover_tools.tables import sections
from drover_tools.tables.document import Heading, Table
from drover_tools.tables.results import Cells

BARRIERS = ("drover", "spin", "std", "gomp", "pthread")
POOLS = ("drover", "spin", "sleep", "gomp", "tbb", "eigen", "eigen_sleep",
         "ort", "ort_sleep")
WORK, PERIOD = 128, 5000
#: The unit of each, and the columns after it.
SHOWN = {"barrier": ("ns per node",),
         "pool": ("us (P50)", (("P99", "p99_us"),
                               ("CPU us", "cpu_us_per_request"),
                               ("idle CPU", "idle_cpu")))}


def barrier_goal(cpus, threads, work, hogs):
    """A goal: (peer, the most ratio to its time), or None."""
    if hogs:
        return "best", 1 / 0.6
    return {(cpus, 0): ("spin", 1.03), (cpus, WORK): ("spin", 1.03),
            (2 * cpus, 0): ("std", 1), (4 * cpus, 0): ("std", 1),
            (2 * cpus, WORK): ("gomp", 1 / 4),
            (4 * cpus, WORK): ("gomp", 1 / 3),
            (cpus + 1, WORK): ("spin", 1)}.get((threads, work))


def barrier(cpus, threads, work, hogs, milliseconds):
    """A row of so many threads; hogs: processes that compute beside them."""
    goal = barrier_goal(cpus, threads, work, hogs)
    return Row(f"barrier-perf {threads} 500000 -w {work} -H {hogs}"
               f" -t {milliseconds}", "barrier",
               f"{threads} threads, "
               + (f"{work} x 64 products a node" if work else "no work")
               + (f", {hogs} foreign loops" if hogs else ""),
               own_program=True, guest=True, promised=True,
               goals=(("ns_per_operation", *goal),) if goal else ())


def pool(cpus, threads, period, milliseconds):
    """A row of so many threads, with a request every period microseconds."""
    count = max(milliseconds * 1000 // (period or 1000), 20)
    if threads > cpus:
        goals = (("p99_us", "sleep", 1),) if period else ()
    elif not period:
        goals = (("p50_us", "ort", 1),)
    else:
        goals = (("p50_us", "spin", 1), ("p50_us", "ort", 1),
                 ("p99_us", "ort", 1), ("cpu_us_per_request", "sleep", 1.2),
                 ("cpu_us_per_request", "ort_sleep", 1),
                 # Reading two clocks takes a microsecond of 50 ms.
                 ("idle_cpu", None, 1e-4))
    return Row(f"pool-perf {threads} {count} -p {period}", "pool",
               f"{threads} threads, " + (f"a request every {period} us"
                                         if period else
                                         "requests back to back"),
               own_program=True, guest=True, promised=True,
               metric="p50_us", goals=goals)


class Waiting(Suite):
    """`make waiting`."""

    name, title = "waiting", "Barriers and pools"
    needs = ("bin/barrier-perf", "bin/pool-perf", "bin/drover-bench")
    rounds, minutes, limit = 5, 30, 60
    against = {"drover": "best"}
    own = ("drover",)
    kept = ("p50_us", "p99_us", "cpu_us_per_request", "idle_cpu")

    def arguments(self, parser):
        parser.add_argument("--ms", type=int, default=200)
        parser.add_argument("--crowd", action="store_true",
                            help="measure only barriers of as many threads as"
                            " CPUs, and of one more")
        parser.add_argument("--guest", type=int, metavar="CPUS",
                            help="measure in a guest with so many CPUs")
        parser.add_argument("--variant", default="mainline",
                            choices=plan.VARIANTS)

    @staticmethod
    def barriers(cpus, options):
        """Rows of barriers; for 2 CPUs, of 1, 2, 3, 4 and 8 threads."""
        counts = {cpus, cpus + 1}
        if not options.crowd:
            counts |= {1, 2 * cpus, 4 * cpus}
        rows = [barrier(cpus, threads, work, 0, options.ms)
                for work in (0, WORK) for threads in sorted(counts)]
        if not options.crowd:
            rows.append(barrier(cpus, cpus, WORK, cpus, options.ms))
        return rows

    def cells(self, options, missing):
        cpus = options.guest or options.host_cpus[-1]
        found = []
        # The last row has only contenders whose tasks may wait for tasks.
        for rows, names in (
                (self.barriers(cpus, options), BARRIERS),
                ([pool(cpus, threads, period, options.ms)
                  for threads in (cpus, 2 * cpus)
                  for period in (0, PERIOD)], POOLS),
                ([Row(f"pool-perf {cpus} 100 -f 8", "pool",
                      f"{cpus} threads, fork and join of 256 parts",
                      own_program=True, guest=True, metric="p50_us")],
                 ("drover", "gomp", "tbb")))[:1 if options.crowd else 3]:
            contenders = [Contender(name, name, variant=options.variant
                                    if options.guest else "")
                          for name in names]
            found += (guest_cells(rows, contenders, cpus) if options.guest
                      else host_cells(rows, contenders, [cpus],
                                      options.build))
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
            yield sections.implementations(cells, row, "drover",
                                           *SHOWN[about["group"]])
        yield Heading(2, "Goals")
        yield Table(["goal", "found", ""], list(sections.goals(cells,
                                                               "drover")))
        yield from sections.not_measured(result)


SUITE = Waiting()
