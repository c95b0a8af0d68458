# SPDX-License-Identifier: MIT
"""What `make bench` measures: rows, contenders and peers, and their cells."""

import dataclasses
import json
import os
import shlex
import subprocess

import plan


@dataclasses.dataclass(frozen=True)
class Row:
    """One command line of drover-bench.

    group: the table and the figures it belongs to; x: its place on their
    axis; quick: `make bench` has it, not only `make bench-full`; guest: it is
    run in guests; promised: ours must not be behind in it.
    """

    command: str
    group: str
    x: int = 0
    quick: bool = True
    guest: bool = False
    promised: bool = True

    @property
    def words(self):
        return self.command.split()

    @property
    def suite(self):
        return self.words[0]

    @property
    def works(self):
        """Whether its threads work for a while that is measured first."""
        return (self.suite == "mixed"
                or self.suite == "broadcast" and "-c 0" not in self.command)


def _cond_perf():
    for rounds, threads in ((100, 200), (1000, 100)):
        for keep in ("", " -k"):
            yield Row(f"cond-perf -r {rounds} -n {threads}{keep}",
                      "cond-perf", threads, guest=rounds == 100)


def _pp():
    yield Row("pp -n 1 -i 100000", "pp", 1)
    yield Row("pp -n 128 -i 1000 -S 32768", "pp", 128)
    yield Row("pp -n 1024 -i 10 -S 32768", "pp", 1024, guest=True)


def _broadcast():
    """Some ten thousand returns each."""
    rounds = {1: 3000, 3: 1000, 10: 300, 30: 150, 100: 50, 300: 15, 1000: 6}
    for threads in (10, 100, 1000):
        for section in (0, 1000, 10000):
            for keep in ("", " -k"):
                yield Row(f"broadcast -n {threads} -r {rounds[threads]}"
                          f" -c {section}{keep}", "broadcast", threads,
                          guest=threads == 100 and section == 1000)
    for threads in (1, 3, 30, 300):
        yield Row(f"broadcast -n {threads} -r {rounds[threads]} -c 0 -k",
                  "broadcast", threads, quick=False, promised=False)
    for section in (100, 100000):
        yield Row(f"broadcast -n 100 -r {50 if section < 1000 else 5}"
                  f" -c {section} -k", "broadcast", 100, quick=False,
                  promised=False)


def _turns():
    for threads, turns in ((2, 5000), (8, 1250), (32, 300), (128, 80)):
        yield Row(f"turn-ring -n {threads} -i {turns}", "turn-ring", threads,
                  guest=threads == 32)
    yield Row("turn-ring -n 32 -i 30 -b", "turn-ring", 32, quick=False,
              promised=False)


def _queues():
    for side, items in ((1, 20000), (2, 10000), (8, 2500), (64, 300)):
        yield Row(f"queue -p {side} -c {side} -i {items} -q 16", "queue",
                  2 * side, guest=side == 8)


def _others():
    for threads, rounds in ((10, 300), (100, 50), (1000, 6)):
        yield Row(f"latch -n {threads} -r {rounds} -k", "latch", threads,
                  quick=threads == 100, promised=False)
    for others in ("", " -t 1"):
        for call in ("", " -b", " -l"):
            yield Row(f"signal-nobody -i 2000000{call}{others}", "nobody",
                      quick=others != "")
    yield Row("timedwait -n 2 -i 5000", "timedwait", 2, promised=False)
    yield Row("timedwait -n 8 -i 200 -e", "timedwait", 8, quick=False,
              promised=False)
    yield Row("mixed -n 32 -p 100 -c 1", "mixed", 32, promised=False)


ROWS = (*_cond_perf(), *_pp(), *_broadcast(), *_turns(), *_queues(),
        *_others())

#: Rows whose single operations are measured, once for each contender.
LATENCY_ROWS = ("cond-perf -r 100 -n 200 -k", "pp -n 1 -i 20000",
                "broadcast -n 100 -r 50 -c 1000 -k",
                "queue -p 8 -c 8 -i 2500 -q 16")

#: Rows of the exact counts: the difference between two runs leaves out how
#: threads begin and end. {} is 1 and 2 times the second member; the third: in
#: `make bench` as well.
COUNT_ROWS = (("cond-perf -n 200 -r {}", 100, True),
              ("cond-perf -n 200 -r {} -k", 100, True),
              ("pp -n 1 -i {}", 1000, True),
              ("cond-perf -n 100 -r {}", 100, False),
              ("cond-perf -n 100 -r {} -k", 100, False),
              ("pp -n 128 -i {}", 100, True),
              ("pp -n 1024 -i {}", 5, False))

GO_SUITES = ("cond-perf", "pp", "broadcast", "queue", "turn-ring")


@dataclasses.dataclass(frozen=True)
class Contender:
    """An implementation, as one program runs it.

    needs: what the program is built from, and how to get it; kernel_threads:
    its hand-offs go through the kernel; requeue: it hangs without one;
    own_work: its threads work with code of their own, at its own cost.
    """

    name: str
    impl: str
    program: str = "drover-bench"
    policy: str = ""
    drop_in: bool = False
    needs: str = ""
    kernel_threads: bool = True
    requeue: bool = False
    own_work: bool = False
    suites: tuple = ()      # none: all
    variant: str = ""

    def command(self, words, root):
        """The shell command that runs it; root holds bin/ and lib/."""
        settings = []
        if self.policy:
            settings.append(f"DROVER_POLICY={self.policy}")
        if self.drop_in:
            library = os.path.join(root, "lib", plan.DROP_IN)
            settings.append(f"LD_PRELOAD={shlex.quote(library)}")
        program = shlex.quote(os.path.join(root, "bin", self.program))
        return " ".join([*settings, program, *words, f"--impl={self.impl}",
                         "--json"])

    def offers(self, row):
        """Whether it can run this row."""
        return not self.suites or row.words[0] in self.suites

    def is_built(self, build):
        return os.path.exists(os.path.join(build, "bin", self.program))


GLIBC = Contender("glibc", "pthread")
DROP_IN = Contender("drop-in", "pthread", drop_in=True)
NATIVE = Contender("native", "drover")


def _peer(name, impl, needs, **more):
    return Contender(name, impl, program=f"drover-bench-{name}", needs=needs,
                     **more)


PEERS = (
    _peer("cxx", "cxx", "apt-get install g++"),
    _peer("musl", "pthread", "apt-get install musl-tools", requeue=True),
    _peer("nsync", "nsync", "apt-get install libnsync-dev"),
    _peer("abseil", "abseil", "apt-get install g++ libabsl-dev"),
    _peer("rust-std", "rust-std", "apt-get install cargo"),
    _peer("parking_lot", "parking_lot",
          "apt-get install cargo, and a way to crates.io"),
    _peer("go", "go", "apt-get install golang-go", kernel_threads=False,
          own_work=True, suites=GO_SUITES),
)
#: Forced policies, against which a load that changes is measured.
FIXED = (Contender("native-wake-all", "drover", policy="wake-all",
                   suites=("mixed",)),
         Contender("native-requeue", "drover", policy="requeue",
                   suites=("mixed",)))
CONTENDERS = (GLIBC, DROP_IN, NATIVE, *PEERS, *FIXED)
OWN = (DROP_IN.name, NATIVE.name, *(each.name for each in FIXED))


def built(build, variant=""):
    """Contenders that can run here, and (contender, why) for the others."""
    here, missing = [], []
    for each in CONTENDERS:
        if not each.is_built(build):
            missing.append((each.name, f"not built: {each.needs};"
                            " then: make peers"))
        elif each.requeue and variant == "none":
            missing.append((each.name, "hangs on a kernel without requeue"))
        else:
            here.append(dataclasses.replace(each, variant=variant))
    return here, missing


def chosen_rows(full, suites=()):
    """The rows of one measurement."""
    return [row for row in ROWS if (full or row.quick)
            and (not suites or row.suite in suites)]


def work_cost(build):
    """What a round of work takes on this machine, in picoseconds."""
    program = os.path.join(build, "bin", "drover-bench")
    words = ["broadcast", "-n", "1", "-r", "1", "-c", "1000", "--json"]
    done = subprocess.run([program, *words], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)["work_ps"]


def host_cells(rows, cpu_counts, build):
    """Cells for this machine's own kernel, where all do the same work."""
    root = os.path.relpath(build, plan.TOP)
    usable = sorted(os.sched_getaffinity(0))
    here, _ = built(build)
    cost = [f"--cost={work_cost(build)}"] if any(
        row.works for row in rows) else []

    def command(row, contender):
        same = cost if row.works and not contender.own_work else []
        return contender.command(row.words + same, root)

    return [plan.Cell("host", cpus, row, contender,
                      "taskset -c "
                      f"{','.join(map(str, usable[:cpus]))} env "
                      + command(row, contender))
            for row in rows for cpus in cpu_counts for contender in here
            if contender.offers(row)]


def guest_cells(rows, cpus, variant, build):
    """Cells for one guest."""
    here, _ = built(build, variant)
    return [plan.Cell("guest", cpus, row, contender,
                      contender.command(row.words, plan.GUEST_ROOT))
            for row in rows if row.guest for contender in here
            if contender.offers(row)]
