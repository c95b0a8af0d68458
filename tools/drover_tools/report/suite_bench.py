# SPDX-License-Identifier: MIT
"""All suites of drover-bench against all peers, in interleaved pairs.

They run on this machine with one CPU and with all, and in guests.
"""

import dataclasses
import os

from drover_tools.report.cells import wanted_cells
from drover_tools.report.engine import Suite
from drover_tools.runs import plan
from drover_tools.runs.plan import Contender, Row
from drover_tools.tables import sections
from drover_tools.tables.document import Heading, Table, Text
from drover_tools.tables.results import Cells, where


def _cond_perf():
    for rounds, threads in ((100, 200), (1000, 100)):
        for keep in ("", " -k"):
            yield Row(f"cond-perf -r {rounds} -n {threads}{keep}",
                      "cond-perf", guest=rounds == 100, promised=True)


def _pp():
    for threads, turns, more in ((1, 100000, ""), (128, 1000, " -S 32768"),
                                 (1024, 10, " -S 32768")):
        yield Row(f"pp -n {threads} -i {turns}{more}", "pp",
                  guest=threads == 1024, promised=True)


def _broadcast():
    """Rows of some ten thousand returns each."""
    rounds = {1: 3000, 3: 1000, 10: 300, 30: 150, 100: 50, 300: 15, 1000: 6}
    for threads in (10, 100, 1000):
        for section in (0, 1000, 10000):
            for keep in ("", " -k"):
                yield Row(f"broadcast -n {threads} -r {rounds[threads]}"
                          f" -c {section}{keep}", "broadcast",
                          guest=threads == 100 and section == 1000,
                          promised=True)
    for threads in (1, 3, 30, 300):
        yield Row(f"broadcast -n {threads} -r {rounds[threads]} -c 0 -k",
                  "broadcast", quick=False)
    for section in (100, 100000):
        yield Row(f"broadcast -n 100 -r {50 if section < 1000 else 5}"
                  f" -c {section} -k", "broadcast", quick=False)


def _turns():
    for threads, turns in ((2, 5000), (8, 1250), (32, 300), (128, 80)):
        yield Row(f"turn-ring -n {threads} -i {turns}", "turn-ring",
                  guest=threads == 32, promised=True)
    yield Row("turn-ring -n 32 -i 30 -b", "turn-ring", quick=False)
    for threads in (4, 64):
        for how in ("", " -s", " -a"):
            turns = 400 * (1 if how == "" else 20)
            yield Row(f"turn-random -n {threads} -i {turns}{how}",
                      "turn-random", quick=threads == 64)
    for threads in (4, 16):
        for section in (5000, 20000, 100000):
            for how in ("", " -a"):
                yield Row(f"items -n {threads} -i 2000 -c {section}{how}",
                          "items", quick=False)


def _queues():
    for side, items in ((1, 20000), (2, 10000), (8, 2500), (64, 300)):
        yield Row(f"queue -p {side} -c {side} -i {items} -q 16", "queue",
                  guest=side == 8, promised=True)
        yield Row(f"queue -p {side} -c {side} -i {items} -q 16 -a", "queue",
                  quick=False)


def _others():
    for threads, rounds in ((10, 300), (100, 50), (1000, 6)):
        yield Row(f"latch -n {threads} -r {rounds} -k", "latch",
                  quick=threads == 100)
    for others in ("", " -t 1"):
        for call in ("", " -b", " -l"):
            yield Row(f"signal-nobody -i 2000000{call}{others}", "nobody",
                      quick=others != "", promised=True)
    yield Row("timedwait -n 2 -i 5000", "timedwait")
    yield Row("timedwait -n 8 -i 200 -e", "timedwait", quick=False)
    yield Row("mixed -n 32 -p 100 -c 1", "mixed")


#: Rows in which each single operation is timed.
LATENCY_ROWS = tuple(Row(f"{command} --latency", "latency") for command in (
    "cond-perf -r 100 -n 200 -k", "pp -n 1 -i 20000",
    "broadcast -n 100 -r 50 -c 1000 -k", "queue -p 8 -c 8 -i 2500 -q 16"))

ROWS = (*_cond_perf(), *_pp(), *_broadcast(), *_turns(), *_queues(),
        *_others(), *LATENCY_ROWS)
GROUPS = ("cond-perf", "pp", "broadcast", "turn-ring", "turn-random", "items",
          "queue", "latch", "nobody", "timedwait", "mixed")

GLIBC = Contender("glibc", "pthread")
DROP_IN = Contender("drop-in", "pthread", drop_in=True)
NATIVE = Contender("native", "drover", awaits=True)


def _peer(name, impl, needs, **more):
    return Contender(name, impl, program=f"drover-bench-{name}", needs=needs,
                     **more)


CONTENDERS = (
    GLIBC, DROP_IN, NATIVE,
    _peer("cxx", "cxx", "apt-get install g++"),
    _peer("musl", "pthread", "apt-get install musl-tools", requeue=True),
    _peer("nsync", "nsync", "apt-get install libnsync-dev", awaits=True),
    _peer("abseil", "abseil", "apt-get install g++ libabsl-dev",
          awaits=True),
    _peer("rust-std", "rust-std", "apt-get install cargo"),
    _peer("parking_lot", "parking_lot",
          "apt-get install cargo, and a way to crates.io"),
    _peer("go", "go", "apt-get install golang-go", kernel_threads=False,
          own_work=True, suites=("cond-perf", "pp", "broadcast", "queue",
                                 "turn-ring")))


def built(build, variant=""):
    """Contenders that can run, and (contender, reason) for the others."""
    here, missing = [], []
    for each in CONTENDERS:
        if not os.path.exists(os.path.join(build, "bin", each.program)):
            missing.append((each.name, f"not built: {each.needs};"
                            " then: make -C tools peers"))
        elif each.requeue and variant == "none":
            missing.append((each.name, "hangs on a kernel without requeue"))
        else:
            here.append(dataclasses.replace(each, variant=variant))
    return here, missing


class Bench(Suite):
    """`make bench`."""

    name, title = "bench", "Condition variables against their peers"
    needs = ("bin/drover-bench", f"lib/{plan.DROP_IN}")
    minutes = 10
    against = {"drop-in": GLIBC.name, "native": "best"}
    own = ("drop-in", "native")
    no_peers = ("go",)
    focus = True
    kept = ("latency_ns",)

    def arguments(self, parser):
        parser.add_argument("--full", action="store_true",
                            help="measure all rows, with all contenders in all"
                            " rounds, and --settle; takes hours")
        parser.add_argument("--suite", action="append", default=[],
                            choices=sorted({row.suite for row in ROWS}),
                            help="measure only this one; may be given several"
                            " times")
        parser.add_argument("--variant", default="drover",
                            choices=plan.VARIANTS,
                            help="the kernel of guests (default drover)")

    def _chosen(self, options, rows=ROWS):
        return [row for row in rows if (options.full or row.quick) and (
            not options.suite or row.suite in options.suite)]

    def cells(self, options, missing):
        self.focus = not options.full
        here, lacking = built(options.build)
        there = []
        if not options.host_only:
            there, lacking = built(options.build, options.variant)
        missing += [{"contender": name, "reason": reason}
                    for name, reason in lacking]
        return wanted_cells(options, self._chosen(options), here, there)

    def blocks(self, result):
        cells = Cells(result)
        yield Heading(1, self.title)
        yield from sections.machine(result)
        yield sections.method()
        yield Heading(2, "Never behind")
        yield Text("The drop-in is compared with glibc, and native with the"
                   " best peer whose threads are the kernel's. \"open\": 1"
                   " lies in the interval, or there are too few pairs. Another"
                   " verdict with a number of pairs belongs to a cell that was"
                   " open and has been measured again, once; such a cell may"
                   " be a tie.")
        yield from sections.verdicts(cells)
        for key in GROUPS:
            yield from sections.group(cells, key, GLIBC.name)
        yield from _latencies(cells)
        yield from sections.not_measured(result)


def _latencies(cells):
    """Distributions of single operations, from the first run of each cell."""
    found = [cell for cell in cells.all if "latency_ns" in cell["runs"][0]]
    if not found:
        return
    yield Heading(2, "Latencies")
    yield Text("A latency lasts from a signal or broadcast until the released"
               " thread holds the mutex; in a queue, from the moment at which"
               " an item is put in until it is taken out. There is one run of"
               " each.")
    yield Table(
        ["", "50 %", "90 %", "99 %", "99.9 %", "all"],
        [[f"{cell['row']}: {cell['contender']} ({where(cell)})"]
         + [sections.duration(cell["runs"][0]["latency_ns"][key])
            for key in ("p50", "p90", "p99", "p999", "max")]
         for cell in found])


SUITE = Bench()
