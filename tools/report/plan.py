#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the table measures: rows, contenders, and a cell for each pair."""

import dataclasses
import os
import shlex

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.path.join(TOP, "build")

#: Where build/bin and build/lib are in a guest.
GUEST_ROOT = "/drover"
DROP_IN = "libdrover-pthread.so.1"


@dataclasses.dataclass(frozen=True)
class Row:
    """One command line of a benchmark, as the table's row is called."""

    command: str
    switches_key: str       # of the benchmark's JSON
    operation: str          # that the switches are counted for

    @property
    def words(self):
        return self.command.split()


ROWS = (
    Row("cond-perf -r 100 -n 200", "switches_per_waiter_round",
        "waiter and round"),
    Row("cond-perf -r 1000 -n 100", "switches_per_waiter_round",
        "waiter and round"),
    Row("pp -v -n 128 -i 1000 -S 32768", "switches_per_handoff", "hand-off"),
    Row("pp -v -n 1024 -i 10 -S 32768", "switches_per_handoff", "hand-off"),
)


@dataclasses.dataclass(frozen=True)
class Contender:
    """An implementation under one policy, on one kernel variant if any."""

    name: str
    impl: str
    policy: str = ""
    variant: str = ""       # of the guest kernel; empty on the host
    drop_in: bool = False

    def command(self, words, root):
        """The shell command that runs it; root holds bin/ and lib/."""
        settings = []
        if self.policy:
            settings.append(f"DROVER_POLICY={self.policy}")
        if self.drop_in:
            library = os.path.join(root, "lib", DROP_IN)
            settings.append(f"LD_PRELOAD={shlex.quote(library)}")
        program = shlex.quote(os.path.join(root, "bin", words[0]))
        return " ".join([*settings, program, *words[1:],
                         f"--impl={self.impl}", "--json"])


#: The first is the peer that ratios are taken to.
HOST = (
    Contender("glibc", "pthread"),
    Contender("wake-all", "drover", policy="wake-all"),
    Contender("auto", "drover", policy="auto"),
)
GUEST = (
    Contender("glibc on none", "pthread", variant="none"),
    Contender("wake-all on none", "drover", policy="wake-all",
              variant="none"),
    Contender("auto on mainline", "drover", policy="auto",
              variant="mainline"),
    Contender("auto on drover", "drover", policy="auto", variant="drover"),
)
PEERS = {"host": HOST[0].name, "guest": GUEST[0].name}



def cpus_text(number):
    """In words."""
    return f"{number} CPU{'s' * (number > 1)}"


PENDING = "pending"
COMPLETE = "complete"
INCOMPLETE = "incomplete"       # a run took longer than the limit
FAILED = "failed"


@dataclasses.dataclass
class Cell:
    """One row for one contender on a number of CPUs, and its runs."""

    place: str              # "host" or "guest"
    cpus: int
    row: Row
    contender: Contender
    command: str            # what is run, from a shell in the top folder
    state: str = PENDING
    reason: str = ""        # of a failure
    runs: list = dataclasses.field(default_factory=list)

    @property
    def open(self):
        """Whether it may be run again."""
        return self.state in (PENDING, COMPLETE)

    def as_json(self):
        return {"place": self.place, "cpus": self.cpus,
                "row": self.row.command, "contender": self.contender.name,
                "variant": self.contender.variant or None,
                "command": self.command, "state": self.state,
                "reason": self.reason, "runs": self.runs}


def host_cells(cpu_counts, build):
    """Cells for this machine's own kernel."""
    root = os.path.relpath(build, TOP)
    usable = sorted(os.sched_getaffinity(0))
    return [Cell("host", cpus, row, contender,
                 f"taskset -c {','.join(map(str, usable[:cpus]))} env "
                 + contender.command(row.words, root))
            for row in ROWS for cpus in cpu_counts for contender in HOST]


def guest_cells(cpus, variants):
    """Cells for guests with that many CPUs."""
    return [Cell("guest", cpus, row, contender,
                 contender.command(row.words, GUEST_ROOT))
            for row in ROWS for contender in GUEST
            if contender.variant in variants]


def host_cpu_counts():
    """One, and all."""
    return sorted({1, len(os.sched_getaffinity(0))})
