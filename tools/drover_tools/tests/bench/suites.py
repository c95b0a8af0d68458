# SPDX-License-Identifier: MIT
"""Tests of drover-bench, its suites and its peers."""

import json
import os
from concurrent import futures

from drover_tools.tests.bench.running import (BENCH, COMMON_FIELDS, FAULTY,
                                              FIELDS, run, test_json)
from drover_tools.tree import BUILD

SUITES = {
    "cond-perf": ["-n", "3", "-r", "5"],
    "pp": ["-n", "3", "-i", "5"],
    "broadcast": ["-n", "3", "-r", "5", "-c", "100"],
    "queue": ["-p", "2", "-c", "3", "-i", "5", "-q", "2"],
    "turn-ring": ["-n", "3", "-i", "5"],
    "turn-random": ["-n", "3", "-i", "15"],
    "items": ["-n", "3", "-i", "15", "-c", "100"],
    "latch": ["-n", "3", "-r", "5"],
    "signal-nobody": ["-i", "5"],
    "timedwait": ["-n", "3", "-i", "5"],
    "mixed": ["-n", "3", "-p", "1", "-c", "2"],
}
#: The number of operations of each; that of mixed is not known beforehand.
OPERATIONS = {"cond-perf": 15, "pp": 30, "broadcast": 15, "queue": 10,
              "turn-ring": 15, "turn-random": 15, "items": 15, "latch": 15,
              "signal-nobody": 5, "timedwait": 15}
#: The programs with condition variables of other projects, and their --impl=.
PEERS = {"cxx": "cxx", "nsync": "nsync", "abseil": "abseil",
         "musl": "pthread", "rust-std": "rust-std",
         "parking_lot": "parking_lot", "go": "go"}
GO_SUITES = ("cond-perf", "pp", "broadcast", "queue", "turn-ring")
#: Other options of the suites, for both implementations.
VARIATIONS = ("cond-perf -n 3 -r 5 -o", "broadcast -n 3 -r 5 -k",
              "turn-ring -n 3 -i 5 -b",
              "latch -n 3 -r 5 -k", "signal-nobody -i 5 -b",
              "signal-nobody -i 5 -l -t 2", "timedwait -n 3 -i 5 -e",
              "turn-random -n 3 -i 5 -s")
#: Commands for an implementation that has waits with a predicate.
AWAITS = ("turn-random -n 3 -i 5 -a", "items -n 3 -i 5 -a",
          "queue -p 2 -c 3 -i 5 -q 2 -a", "queue -p 2 -c 3 -i 5 -q 2 -a -u")
#: The smallest runs, in which no item, turn or round may be missing.
SMALLEST = ("queue -p 1 -c 1 -i 1 -q 1", "turn-ring -n 2 -i 1",
            "latch -n 1 -r 1", "broadcast -n 1 -r 1", "timedwait -n 1 -i 1")
MORE_USAGE_ERRORS = (
    "", "quux", "cond-perf -n 3", "broadcast -n 3 -r 5 -c x",
    "queue -p 1 -c 1 -i 1 -q 0", "turn-ring -n 1 -i 1", "latch -n 3",
    "signal-nobody -i 0", "mixed -n 3 -p 0 -c 1", "timedwait -n 3 -i 5 -L",
    "pp -n 1 -i 1 --impl=none")


def test_suites(tap):
    """Every suite works for both implementations."""
    status, out, err = run(BENCH, ["--help"])
    tap.ok((status, err) == (0, "") and all(
        f"\n  {suite} " in out for suite in SUITES), f"{BENCH} --help", out)
    for line in MORE_USAGE_ERRORS:
        status, out, err = run(BENCH, line.split())
        tap.ok((status, out) == (2, "") and f"usage: {BENCH}" in err,
               f"usage: {BENCH} {line}", f"status {status}: {out}{err}")
    for impl in ("pthread", "drover"):
        for suite, words in SUITES.items():
            check_run(tap, suite, impl, words)
        for line in VARIATIONS + SMALLEST + AWAITS * (impl == "drover"):
            suite, *words = line.split()
            check_run(tap, suite, impl, words)
    status, out, err = run(BENCH, AWAITS[0].split())
    tap.ok((status, out) == (1, "") and "no wait with a predicate" in err,
           "-a: not with pthread", out + err)


def check_run(tap, suite, impl, words):
    """The operations, and the time of each, of one run are right."""
    result = test_json(tap, suite, impl, words, prefix=[suite])
    if not result:
        return
    name = f"{suite} {' '.join(words)} --impl={impl}"
    wanted = (OPERATIONS.get(suite) if words == SUITES[suite]
              else result["operations"])
    tap.ok(result["operations"] == (wanted or result["operations"]) > 0
           and result["spurious"] == 0, f"{name}: operations", result)
    if "kinds" in result:
        kinds = result["kinds"].values()
        tap.equal((sum(kind["operations"] for kind in kinds), len(kinds)),
                  (result["operations"], 3), f"{name}: of each kind")
        time = sum(kind["ns_per_operation"] for kind in kinds) / 3
    else:
        time = result["seconds"] * 1e9 / result["operations"]
    tap.ok(abs(result["ns_per_operation"] - time) < 1e-6 * time,
           f"{name}: time of each", result)


def test_latency(tap):
    """Every operation is once in the distribution."""
    kind = {"latency_ns": dict}
    for line, nr in (("cond-perf -n 3 -r 5", 15), ("pp -n 3 -i 5", 27),
                     ("broadcast -n 3 -r 5 -k", 15),
                     ("queue -p 2 -c 3 -i 5 -q 2", 10),
                     ("turn-ring -n 3 -i 5", 14)):
        suite, *words = line.split()
        result = test_json(tap, suite, "pthread", [*words, "-L"], kind,
                           prefix=[suite])
        if not result:
            continue
        found = result["latency_ns"]
        tops = [top for top, _ in found["buckets"]]
        shares = [found[key] for key in ("p50", "p90", "p99", "p999", "max")]
        tap.equal((found["nr"], sum(count for _, count in found["buckets"])),
                  (nr, nr), f"{line} -L: {nr} latencies")
        tap.ok(shares == sorted(shares) and tops == sorted(set(tops))
               and shares[-1] <= tops[-1] and found["mean"] <= shares[-1],
               f"{line} -L: in order", found)


def test_peers(tap):
    """The suites work with other projects' condition variables."""
    for peer, impl in PEERS.items():
        program = f"{BENCH}-{peer}"
        if not os.path.exists(os.path.join(BUILD, "bin", program)):
            tap.skip(f"{program}: all suites", "not built: make -C tools"
                     " peers")
            continue
        for suite, words in SUITES.items():
            if peer == "go" and suite not in GO_SUITES:
                continue
            check_peer(tap, program, impl, suite, words)


def check_peer(tap, program, impl, suite, words):
    """The members and the operations of one run are right."""
    name = f"{program} {suite} {' '.join(words)}"
    status, out, err = run(program, [suite, *words, f"--impl={impl}",
                                     "--json"])
    try:
        result = json.loads(out)
    except ValueError:
        tap.ok(False, name, f"status {status}: {out!r} {err!r}")
        return
    wanted = {**COMMON_FIELDS, **FIELDS[suite]}
    if impl == "go":        # its threads work with code of their own
        wanted.pop("work_ps", None)
    wrong = [key for key, kind in wanted.items()
             if not isinstance(result.get(key), kind)]
    operations = OPERATIONS.get(suite, result.get("operations"))
    tap.ok(status == 0 and not wrong and set(result) == set(wanted)
           and (result["bench"], result["impl"], result["operations"])
           == (suite, impl, operations), name, f"wrong {wrong}: {out}")


def test_work(tap):
    """A critical section takes the time that was asked for."""
    # 2 x 3 x 5 ms of CPU time, which no other program can make less.
    status, out, err = run(BENCH, "broadcast -n 2 -r 3 -c 5000000"
                           " --json".split())
    tap.ok(status == 0 and json.loads(out)["cpu_seconds"] > 0.010,
           "broadcast -c: threads work", out + err)
    # If a round is said to take less time, more rounds are made.
    cpu = [cpu_seconds(ps) for ps in (1000000, 100)]
    tap.ok(cpu[0] < cpu[1], "--cost: the cost of a round sets how many there"
           " are", cpu)


def cpu_seconds(cost):
    """CPU time of a critical section of 5 ms, if a round takes @cost ps."""
    status, out, _ = run(BENCH, ["broadcast", "-n", "1", "-r", "3", "-c",
                                 "5000000", "--json", f"--cost={cost}"])
    return json.loads(out)["cpu_seconds"] if status == 0 else 0


def test_perf(tap):
    """Each counter has a value or a reason."""
    kind = {"perf": dict, "perf_missing": dict}
    result = test_json(tap, "pp", "pthread", ["-n", "2", "-i", "50", "-P"],
                       kind, prefix=["pp"])
    if not result:
        return
    found, missing = result["perf"], result["perf_missing"]
    names = ["task-clock", "context-switches", "instructions", "cycles",
             "raw_syscalls:sys_enter", "sched:sched_waking"]
    tap.ok(all((name in found) != bool(missing.get(name)) for name in names),
           "--perf: each counter has a value or a reason", result)
    switches = result["voluntary_switches"] + result["involuntary_switches"]
    if "context-switches" in found:
        tap.ok(0 <= found["context-switches"] - switches < 50,
               "--perf: as many context switches as getrusage counts",
               f"{found['context-switches']} and {switches}")
    else:
        tap.skip("--perf: context switches", missing["context-switches"])
    status, out, err = run(BENCH, "pp -n 2 -i 50 --perf".split())
    tap.ok(status == 0 and "task-clock" in out and all(
        f"not counted: {why}" in out for why in missing.values()),
           "--perf: as text", out + err)


FAULTS = (
    ("lost", "cond-perf -n 5 -r 9", "round 3 of 9: 1 of 5 threads"),
    ("lost", "broadcast -n 5 -r 9", "round 3: 1 of 5 threads"),
    ("lost", "latch -n 5 -r 9", "3 of 9 latches fired, 1 of 5"),
    ("lost", "mixed -n 5 -p 1 -c 9", "threads came back"),
    ("dropped", "turn-ring -n 3 -i 9", "of 27 turns taken"),
    ("dropped", "timedwait -n 3 -i 9", "of 27 turns taken"),
    ("dropped", "turn-random -n 3 -i 27 -s", "of 27 turns taken"),
    ("early", "timedwait -n 3 -i 9", "before its time"),
)


def test_more_faults(tap):
    """Faults are noticed in every suite.  The watchdogs wait at one time."""
    def run_one(fault, line, _wanted):
        return run(BENCH, [*line.split(), "--watchdog=2"], preload=FAULTY,
                   FAULT=fault)

    with futures.ThreadPoolExecutor(len(FAULTS)) as pool:
        answers = list(pool.map(run_one, *zip(*FAULTS)))
    for (fault, line, wanted), (status, out, err) in zip(FAULTS, answers):
        tap.ok((status, out) == (3, "") and wanted in err,
               f"{line.split()[0]} notices FAULT={fault}",
               f"status {status}: {out}{err}")
    # With five threads a round would have seven waits, and the seventh, which
    # is spurious, could always be the main thread's, whose returns do not
    # count.
    for line in ("broadcast -n 4 -r 9", "latch -n 4 -r 9",
                 "turn-ring -n 3 -i 9"):
        status, out, err = run(BENCH, [*line.split(), "--json"],
                               preload=FAULTY, FAULT="spurious")
        tap.ok(status == 0 and json.loads(out)["spurious"] > 0,
               f"{line.split()[0]} counts spurious wakeups", out + err)


TESTS = (test_suites, test_latency, test_peers, test_work, test_perf,
         test_more_faults)
