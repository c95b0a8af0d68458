# SPDX-License-Identifier: MIT
"""What is measured: rows, contenders, and a cell for each pair in a place."""

import dataclasses
import json
import os
import shlex
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.path.join(TOP, "build")

#: Where build/bin and build/lib are in a guest.
GUEST_ROOT = "/drover"
DROP_IN = "libdrover-pthread.so.1"
VARIANTS = ("none", "mainline", "drover")


@dataclasses.dataclass(frozen=True)
class Row:
    """One command line of a benchmark program, as the row is called.

    group: the table it belongs to; title: what stands above it there; quick:
    not only with --full; guest: it is run in guests; promised: ours must not
    be behind in it; own_program: its first word is a program, not a suite of
    the contender's; metric: what is compared, of a run; goals: (metric, peer,
    how much of the peer's ours may have at most), without a peer in itself.
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
        """Whether its threads work for a while that is measured first."""
        return (self.suite in ("mixed", "pool-perf", "stream-perf")
                or self.suite == "broadcast" and "-c 0" not in self.command)


@dataclasses.dataclass(frozen=True)
class Contender:
    """An implementation, as one program runs it.

    variant: of a guest's kernel; needs: what the program is built from, and
    how to get it; kernel_threads: its hand-offs go through the kernel;
    requeue: it hangs without one; own_work: its threads work with code of
    their own, at its own cost; suites: those it has, if not all.
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

    def command(self, row, root, more=()):
        """The shell command that runs it; root holds bin/ and lib/."""
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
        """Whether it can run this row."""
        return ((not self.suites or row.suite in self.suites)
                and (self.kernel_threads or "--latency" not in row.words))


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

    @property
    def where(self):
        """Which cells it is compared with."""
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
    """In words."""
    return f"{number} CPU{'s' * (number > 1)}"


def host_cpu_counts():
    """One, and all."""
    return sorted({1, len(os.sched_getaffinity(0))})


def first_cpus(number):
    """So many of those that may be used."""
    return sorted(os.sched_getaffinity(0))[:number]


def work_cost(build):
    """What a round of work takes on this machine, in picoseconds."""
    program = os.path.join(build, "bin", "drover-bench")
    words = ["broadcast", "-n", "1", "-r", "1", "-c", "1000", "--json"]
    done = subprocess.run([program, *words], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)["work_ps"]


def host_cells(rows, contenders, cpu_counts, build):
    """Cells for this machine's own kernel, where all do the same work."""
    root = os.path.relpath(build, TOP)
    cost = [f"--cost={work_cost(build)}"] if any(
        row.works for row in rows) else []

    def command(row, contender):
        same = cost if row.works and not contender.own_work else []
        return contender.command(row, root, same)

    return [Cell("host", cpus, row, contender, "taskset -c "
                 f"{','.join(map(str, first_cpus(cpus)))} env "
                 + command(row, contender))
            for row in rows for cpus in cpu_counts
            for contender in contenders if contender.offers(row)]


def guest_cells(rows, contenders, cpus):
    """Cells for guests with that many CPUs."""
    return [Cell("guest", cpus, row, contender,
                 contender.command(row, GUEST_ROOT))
            for row in rows if row.guest for contender in contenders
            if contender.offers(row)]


def wanted_cells(options, rows, here, there):
    """Cells for contenders on this machine and in guests, as asked for."""
    found = [] if options.guests_only else host_cells(
        rows, here, options.host_cpus, options.build)
    for cpus in [] if options.host_only else options.cpus:
        found += guest_cells(rows, there, cpus)
    return found
