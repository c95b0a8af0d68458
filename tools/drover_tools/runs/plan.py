# SPDX-License-Identifier: MIT
"""The plan of a measurement: rows, contenders, and a cell for each pair."""

import dataclasses
import os
import shlex

#: The folder of a guest that has bin/ and lib/ of the build folder.
GUEST_ROOT = "/drover"
DROP_IN = "libdrover-pthread.so.1"
VARIANTS = ("none", "mainline", "drover")


@dataclasses.dataclass(frozen=True)
class Row:
    """One command line of a benchmark program, which is also the row's name.

    group: the table that the row belongs to; title: its title there; quick:
    the row is measured without --full, too; guest: it is measured in guests;
    promised: ours must not be behind in it; own_program: its first word is a
    program, not a suite of the contender's program; metric: the member of a
    run that is compared; goals: (metric, peer, the most that ours may have as
    a ratio to the peer's), or without a peer as a number
    """

    command: str
    group: str = ""
    title: str = ""
    quick: bool = True
    guest: bool = False
    promised: bool = False
    own_program: bool = False
    metric: str = "ns_per_operation"
    goals: tuple = ()

    @property
    def words(self):
        return self.command.split()

    @property
    def suite(self):
        return self.words[0]

    @property
    def works(self):
        """Whether threads work for a time whose cost is measured first."""
        return (self.suite in ("mixed", "pool-perf", "stream-perf", "items")
                or self.suite == "broadcast" and "-c 0" not in self.command)


@dataclasses.dataclass(frozen=True)
class Contender:
    """An implementation, in the program that runs it.

    variant: of a guest's kernel; needs: how to get what the program is built
    from; kernel_threads: hand-offs go through the kernel; requeue: it hangs on
    a kernel without requeue; own_work: the work of its threads is code of its
    own, with another cost; suites: those that it has, if not all; awaits: it
    has waits with a predicate
    """

    name: str
    impl: str = ""
    program: str = "drover-bench"
    policy: str = ""
    drop_in: bool = False
    variant: str = ""
    needs: str = ""
    kernel_threads: bool = True
    requeue: bool = False
    own_work: bool = False
    suites: tuple = ()
    awaits: bool = False

    def command(self, row, root, more=()):
        """The shell command that runs a row; root: the folder of bin/, lib/.
        """
        settings = []
        if self.policy:
            settings.append(f"DROVER_POLICY={self.policy}")
        if self.drop_in:
            library = os.path.join(root, "lib", DROP_IN)
            settings.append(f"LD_PRELOAD={shlex.quote(library)}")
        words = row.words if row.own_program else [self.program, *row.words]
        program = shlex.quote(os.path.join(root, "bin", words[0]))
        return " ".join([*settings, program, *words[1:], *more,
                         f"--impl={self.impl}", "--json"])

    def offers(self, row):
        """Whether the contender can run a row."""
        return ((not self.suites or row.suite in self.suites)
                and (self.kernel_threads or "--latency" not in row.words)
                and (self.awaits or "-a" not in row.words))


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
    command: str            # for a shell in the top folder
    state: str = PENDING
    reason: str = ""        # of a failure
    runs: list = dataclasses.field(default_factory=list)

    @property
    def open(self):
        """Whether the cell may be run again."""
        return self.state in (PENDING, COMPLETE)

    @property
    def where(self):
        """The row, place and CPUs that compared cells have in common."""
        return self.row.command, self.place, self.cpus

    @property
    def key(self):
        return (*self.where, self.contender.name)

    def as_json(self):
        return {"place": self.place, "cpus": self.cpus,
                "row": self.row.command, "contender": self.contender.name,
                "variant": self.contender.variant or None,
                "command": self.command, "state": self.state,
                "reason": self.reason, "runs": self.runs}


def cpus_text(number):
    """A number of CPUs in words."""
    return f"{number} CPU{'s' * (number > 1)}"


def host_cpu_counts():
    """The numbers of this machine's CPUs that are used: one, and all."""
    return sorted({1, len(os.sched_getaffinity(0))})


def first_cpus(number):
    """The first CPUs of those that may be used."""
    return sorted(os.sched_getaffinity(0))[:number]
