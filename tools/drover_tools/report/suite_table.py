# SPDX-License-Identifier: MIT
"""The main table: six commands, on the host's own kernel and in guests of the
three kernel variants with several numbers of CPUs.  A guest of more than four
CPUs may have more than the host: there only one command runs, and the table
has only its switches.
"""

from drover_tools.report.cells import guest_cells, host_cells
from drover_tools.report.engine import Suite
from drover_tools.runs import plan
from drover_tools.runs.plan import Contender, Row
from drover_tools.tables import sections, stats
from drover_tools.tables.document import Heading, Table, Text, Value
from drover_tools.tables.results import Cells

ROWS = tuple(Row(command, operation, guest=True, promised=True)
             for command, operation in (
                 ("cond-perf -r 100 -n 200", "waiter and round"),
                 ("cond-perf -r 1000 -n 100", "waiter and round"),
                 ("cond-perf -r 100 -n 200 -k", "waiter and round"),
                 ("cond-perf -r 1000 -n 100 -k", "waiter and round"),
                 ("pp -n 128 -i 1000 -S 32768", "hand-off"),
                 ("pp -n 1024 -i 10 -S 32768", "hand-off")))
HOST = (Contender("wake-all", "drover", policy="wake-all"),
        Contender("glibc", "pthread"),
        Contender("auto", "drover", policy="auto"))
GUEST = (Contender("wake-all on none", "drover", policy="wake-all",
                   variant="none"),
         Contender("glibc on none", "pthread", variant="none"),
         *(Contender(f"{policy} on {variant}", "drover", policy=policy,
                     variant=variant)
           for policy in ("requeue", "auto")
           for variant in ("mainline", "drover")))
CPUS = (1, 2, 4, 8, 16)
#: In guests of more CPUs switches are counted, in one row, on one kernel.
MOST_TIMED = 4
COUNTED = ROWS[:1]
COUNTED_GUEST = tuple(Contender(f"{one.name} on mainline", one.impl,
                                policy=one.policy, variant="mainline")
                      for one in HOST)


class TableSuite(Suite):
    """`make table`."""

    name, title = "table", "The table"
    needs = ("bin/drover-bench", "lib/libdrover.so.1")
    rounds, minutes = 5, 75
    against = {one.name: group[1].name for group in (HOST, GUEST)
               for one in group if one is not group[1]}
    own = tuple(against)

    def arguments(self, parser):
        parser.set_defaults(cpus=list(CPUS))

    def cells(self, options, missing):
        found = [] if options.guests_only else host_cells(
            ROWS, HOST, options.host_cpus, options.build)
        for cpus in [] if options.host_only else options.cpus:
            found += (guest_cells(ROWS, GUEST, cpus) if cpus <= MOST_TIMED
                      else guest_cells(COUNTED, COUNTED_GUEST, cpus))
        return found

    def blocks(self, result):
        cells = Cells(result)
        settings = result["settings"]
        limit = settings["limit"]
        yield from sections.machine(result)
        yield Text(f"seconds: the median of {settings['rounds']} interleaved"
                   " runs. ±: half the span from the fastest run to the"
                   " slowest. ratio: to glibc in the same place; \"!\": the"
                   " whole interval is slower; \"=\": 1 lies in the interval."
                   f" sw: context switches. incomplete {limit:g}s+: a run was"
                   f" ended after {limit:g} s.")
        for place, title in (("host", "On the host's own kernel"),
                             ("guest", "In guests")):
            mine = [one for one in result["cells"] if one["place"] == place
                    and one["cpus"] <= MOST_TIMED]
            if mine:
                yield Heading(2, title)
                yield _table(cells, result, mine)
        counted = [one for one in result["cells"] if one["place"] == "guest"
                   and one["cpus"] > MOST_TIMED]
        if counted:
            yield Heading(2, "In guests of more CPUs, by counts")
            yield Text("Context switches of all threads, for each waiter and"
                       " round: voluntary, involuntary, and the sum.")
            yield from _counted(counted)
        compared = [found for cell in cells.promised()
                    if (found := cells.to_opponent(cell))]
        behind = [one for one in compared if one["verdict"] == stats.BEHIND]
        yield Text(f"Slower than glibc in {len(behind)} of {len(compared)}"
                   " cells.")
        yield from sections.not_measured(result)


def _table(cells, result, mine):
    """The table of all rows in one place."""
    counts = sorted({cell["cpus"] for cell in mine})
    header = [""]
    for cpus in counts:
        header += [f"{plan.cpus_text(cpus)}: seconds", "±", "ratio", "sw"]
    by_key = {(cell["row"], cell["contender"], cell["cpus"]): cell
              for cell in mine}
    rows = []
    for row in dict.fromkeys(cell["row"] for cell in mine):
        operation = result["rows"][row]["group"]
        rows.append([f"{row}  (sw: for each {operation})"]
                    + [""] * (len(header) - 1))
        for name in cells.contenders(mine):
            line = ["  " + name]
            for cpus in counts:
                line += _cell(cells, by_key[row, name, cpus], result)
            rows.append(line)
    return Table(header, rows)


def _cell(cells, cell, result):
    """The seconds, spread, ratio and switches of a cell, or a reason."""
    if not cell["runs"] or cell["state"] == plan.INCOMPLETE:
        limit = f"incomplete {result['settings']['limit']:g}s+"
        return [{plan.INCOMPLETE: limit, plan.FAILED: "failed"}.get(
            cell["state"], "not measured"), "", "", ""]
    own = stats.figures(cell, "seconds")
    found = cells.to_opponent(cell) if cell["contender"] in cells.against \
        else None
    ratio = Value(f"{found['ratio']:.2f}", found["verdict"]) if found else (
        "-" if cell["contender"] in cells.against else "1.00")
    return [f"{own['seconds']:.3f}", sections.percent(own["spread"]), ratio,
            f"{own['switches']:.2f}"]


def _counted(mine):
    """A table for each row."""
    counts = sorted({cell["cpus"] for cell in mine})
    header = [f"{plan.cpus_text(cpus)}: {what}" if what == "voluntary"
              else what for cpus in counts
              for what in ("voluntary", "involuntary", "sw")]
    by_key = {(cell["row"], cell["contender"], cell["cpus"]): cell
              for cell in mine}
    for row in dict.fromkeys(cell["row"] for cell in mine):
        yield Table([row, *header], [
            [name, *(text for cpus in counts
                     for text in _switches(by_key[row, name, cpus]))]
            for name in dict.fromkeys(cell["contender"] for cell in mine)])


def _switches(cell):
    """The median switches of a cell for each operation, or its state."""
    if not cell["runs"]:
        return cell["state"], "", ""

    def each(take):
        return stats.median(cell, lambda run: take(run) / run["operations"])

    return (f"{each(take):.2f}" for take in (
        lambda run: run["voluntary_switches"],
        lambda run: run["involuntary_switches"], stats.switches))


SUITE = TableSuite()
