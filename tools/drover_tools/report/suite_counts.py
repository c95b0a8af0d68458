# SPDX-License-Identifier: MIT
"""The exact cost of operations, in a guest with one CPU whose clock counts
instructions, so that other work of the machine changes nothing: cond-perf in
its steady state, and whole runs of other suites.  The steady state is the
difference between a run and one of twice the length, in which the beginning
and the end of threads cancel out.
"""

import statistics

from drover_tools.report.engine import Suite
from drover_tools.report.places import Failed, Guest, GuestError, read_result
from drover_tools.runs import plan
from drover_tools.runs.plan import Contender, Row
from drover_tools.tables import sections, stats
from drover_tools.tables.document import Heading, Table, Text
from drover_tools.tap import Tap

STEP, PAIRS = 100, 3
SEVERAL = {"cond-perf -r 100 -n 200": 6}
STEADY_STATE = f"{STEP} to {2 * STEP}"
LIMIT = 600
#: The most switches for each waiter.  With a requeue a thread runs only when
#: it can go on, so one switch is the floor.  If the mutex is free, no thread
#: is moved, and each yields before it sleeps, sometimes in vain: the limit is
#: in the middle between the floor and a thundering herd, which has 2.
STEADY = {"cond-perf -n 200 -r {}": 1.5, "cond-perf -n 200 -r {} -k": 1.02}
#: Whole runs, and how many of glibc's instructions Drover may take.  The first
#: row is the mean of SEVERAL runs: a run whose first yields are in vain sleeps
#: from then on.
RUNS = {"cond-perf -r 100 -n 200": 1.0,
        "cond-perf -r 100 -n 200 -k": 1.0,
        "cond-perf -r 200 -n 100": 1.0,
        "cond-perf -r 200 -n 100 -k": 1.0,
        "pp -n 1 -i 2000": 1.0,
        "pp -n 128 -i 100 -S 32768": 1.0,
        "pp -n 1024 -i 10 -S 32768": 1.0,
        "signal-nobody -i 300000": 1.0,
        "signal-nobody -i 300000 -b": 1.0,
        "signal-nobody -i 300000 -l": 1.03,
        "signal-nobody -i 300000 -l -t 1": 1.03}
GLIBC = "glibc"
CONTENDERS = (Contender("drover", "drover"),
              Contender("drop-in", "pthread", drop_in=True),
              Contender(GLIBC, "pthread"))


def count(guest, variant, contender, row):
    """The cost of an operation.

    It is the mean of whole runs; in the steady state it is the median of pairs
    of runs, as the guest's kernel has other work now and then.
    """
    def run(command):
        commands.append(contender.command(Row(command), plan.GUEST_ROOT))
        status, output = guest.run(commands[-1], timeout=LIMIT)
        return read_result(output.decode(errors="replace"), status)

    commands = []
    if row in RUNS:
        nothing = {"seconds": 0, "operations": 0, "voluntary_switches": 0,
                   "involuntary_switches": 0}
        pairs = [(nothing, run(row)) for _ in range(SEVERAL.get(row, 1))]
    else:
        pairs = [(run(row.format(STEP)), run(row.format(2 * STEP)))
                 for _ in range(PAIRS)]

    def each(value):
        middle = statistics.mean if row in RUNS else statistics.median
        return round(middle(
            (value(more) - value(less))
            / (more["operations"] - less["operations"])
            for less, more in pairs), 4)

    # Guest time is instructions: 1 ns each (shift=0).
    return {"row": row.format(STEADY_STATE), "variant": variant,
            "contender": contender.name, "commands": commands[:2],
            "instructions": each(lambda one: one["seconds"] * 1e9),
            "switches": each(stats.switches)}


class Counts(Suite):
    """`make counts`."""

    name, title = "counts", "Exact counts"
    minutes = 120
    own = ("drover", "drop-in")
    needs = ("bin/drover-bench",)

    def arguments(self, parser):
        parser.add_argument("--variant", action="append", dest="variants",
                            choices=plan.VARIANTS,
                            help="may be given several times (default:"
                            " mainline and drover)")
        parser.add_argument("--tap", action="store_true",
                            help="print TAP: each waiter has about one switch,"
                            " and Drover takes at most glibc's instructions")

    def cells(self, options, missing):
        return []

    def more(self, session):
        session.extras["counts"] = []
        for variant in session.options.variants or ("mainline", "drover"):
            try:
                self._count(session, variant)
            except (GuestError, Failed) as error:
                session.lose(variant, error)

    def _count(self, session, variant):
        found, note = session.extras["counts"], session.progress.note
        note(f"booting {variant} (-icount)", always=True)
        with Guest(variant=variant, cpus=1, mem=session.options.mem,
                   accel="icount", build=session.options.build) as guest:
            for row in (*STEADY, *RUNS):
                for contender in CONTENDERS:
                    note(f"{variant}, {contender.name}: {row}")
                    found.append(count(guest, variant, contender, row))

    def blocks(self, result):
        counts = result.get("counts", [])
        yield Heading(1, self.title)
        yield from sections.machine(result)
        yield Text("Instructions and switches for each operation, of program"
                   " and kernel together. \"100 to 200\" rounds are the steady"
                   " state.")
        names = [each.name for each in CONTENDERS]
        rows = []
        for variant, row in dict.fromkeys(
                (one["variant"], one["row"]) for one in counts):
            each = of_each(counts, variant, row)
            rows.append([f"{variant}: {row}", *(
                f"{each[name][key]:.{nr}f}" if name in each else ""
                for name in names for key, nr in (("instructions", 0),
                                                  ("switches", 4)))])
        yield Table(["", *(title for name in names
                           for title in (name, "switches"))], rows)
        yield from sections.not_measured(result)

    def well(self, session):
        return not session.options.tap or report(
            Tap(), session.extras["counts"], session.missing)


def of_each(counts, variant, row):
    """{contender's name: its count}."""
    return {one["contender"]: one for one in counts
            if (one["variant"], one["row"]) == (variant, row)}


def report(tap, counts, missing):
    """Print the promises as test results. Return: whether they hold."""
    for one in counts:
        name = f"{one['variant']}: {one['contender']}: {one['row']}: "
        if one["row"] not in RUNS:
            name += f"{one['switches']:.4f} switches"
            row = one["row"].replace(STEADY_STATE, "{}")
            value = one["switches"]
            limit = None if one["variant"] == "none" else STEADY[row]
        else:
            glibc = of_each(counts, one["variant"], one["row"])[GLIBC]
            limit = RUNS[one["row"]]
            value = one["instructions"] / glibc["instructions"]
            name += f"{value:.3f} of glibc's instructions"
        if limit is None or one["contender"] == GLIBC:
            tap.skip(name, "measured for comparison")
        else:
            tap.ok(value <= limit, name, f"more than {limit}")
    for one in missing:
        tap.ok(False, f"{one['contender']}: counted", one["reason"])
    return tap.exit_status() == 0


SUITE = Counts()
