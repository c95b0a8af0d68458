# SPDX-License-Identifier: MIT
"""Tests of `make bench`: called by selftest."""

import io
import json
import os
import signal
import subprocess
import tempfile

import bench_counts
import bench_measure
import bench_plan
import plan
import places
import schema
from bench_samples import ROW, run_of

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "bench")
LIMIT = 120


def run_tool(*words):
    done = subprocess.run(words, timeout=LIMIT, check=False, text=True,
                          capture_output=True)
    return done.returncode, done.stdout, done.stderr


class FakePlace:
    """Takes as long as it is told, and fails on demand."""

    def __init__(self, clock, seconds, fails=()):
        self._clock, self._seconds, self._fails = clock, seconds, fails
        self.order = []

    def run(self, one, _limit):
        self._clock[0] += self._seconds
        self.order.append(one.contender.name)
        if one.contender.name in self._fails:
            raise self._fails[one.contender.name]
        return {**run_of(0, 5.0), "kernel": "Linux", "version": "1",
                "library": "lib/some.so"}


def some_cells(names=("glibc", "drop-in", "native")):
    row = bench_plan.Row(ROW, "turn-ring")
    return [plan.Cell("host", cpus, row, contender, "true")
            for cpus in (1, 2) for contender in bench_plan.CONTENDERS
            if contender.name in names]


def measured(seconds, rounds, budget, fails=(), names=(), **more):
    """Cells after a measurement in a time that only the place spends."""
    now = [0.0]
    place = FakePlace(now, seconds, dict(fails))
    clock = bench_measure.Clock(budget, io.StringIO(), lambda: now[0])
    cells = some_cells(names or ("glibc", "drop-in", "native"))
    bench_measure.measure(place, cells, rounds, 1, clock,
                          bench_measure.Versions(), **more)
    return cells, place.order


def test_rounds(tap):
    """Interleaved, and no longer than allowed."""
    cells, order = measured(1.0, 3, 1000)
    tap.equal([len(each.runs) for each in cells], [3] * 6, "all rounds")
    tap.equal(order[:3] + order[6:9], ["glibc", "drop-in", "native",
                                       "drop-in", "native", "glibc"],
              "another one goes first in the next round")
    tap.equal([run["round"] for run in cells[0].runs], [0, 1, 2],
              "runs know their round")
    cells, order = measured(1.0, 100, 10)
    tap.equal([len(each.runs) for each in cells], [2] * 6,
              "no round of a block is begun when the time is over, and none"
              " is left half done")
    cells, _ = measured(1.0, 3, 0)
    tap.equal([len(each.runs) for each in cells], [1] * 6,
              "the first round is finished in any case")
    cells, order = measured(1.0, 3, 1000, [("drop-in",
                                            places.Failed("broken"))])
    tap.equal(([len(each.runs) for each in cells], order.count("drop-in")),
              ([3, 0, 3] * 2, 2), "who fails is not run again")


def test_focus(tap):
    """Later rounds are of those that are compared."""
    speeds = {"nsync": 3.0, "musl": 4.0, "go": 1.0}

    def focus(number, block):
        for one in block:
            for run in one.runs:
                run["ns_per_operation"] = speeds.get(one.contender.name, 9.0)
        return block if number < 2 else bench_measure.in_focus(
            block, bench_plan.OWN, "glibc")

    cells, _ = measured(1.0, 5, 1000, focus=focus, names=(
        "glibc", "drop-in", "native", *speeds))
    rounds = {one.contender.name: len(one.runs) for one in cells}
    tap.equal(rounds, {"glibc": 5, "drop-in": 5, "native": 5, "nsync": 5,
                       "musl": 2, "go": 2},
              "ours, glibc and the best peer go on")


def test_plan(tap):
    """Rows and commands."""
    commands = [row.command for row in bench_plan.ROWS]
    tap.equal(len(set(commands)), len(commands), "no row twice")
    quick = bench_plan.chosen_rows(False)
    tap.ok(0 < len(quick) < len(bench_plan.ROWS)
           and {row.suite for row in quick} == {row.suite for row
                                                in bench_plan.ROWS},
           "the quick one has every suite")
    own = {each.name: each for each in bench_plan.CONTENDERS}
    command = own["drop-in"].command(["pp", "-n", "1"], "build")
    tap.equal(command, "LD_PRELOAD=build/lib/libdrover-pthread.so.1"
              " build/bin/drover-bench pp -n 1 --impl=pthread --json",
              "command of the drop-in")
    tap.equal([own["go"].offers(bench_plan.Row(row, "")) for row
               in ("pp -n 1", "latch -n 1")], [True, False],
              "Go has some suites only")
    with tempfile.TemporaryDirectory() as build:
        os.makedirs(os.path.join(build, "bin"))
        for name in ("drover-bench", "drover-bench-musl"):
            with open(os.path.join(build, "bin", name), "w",
                      encoding="utf-8"):
                pass
        here, missing = bench_plan.built(build, "none")
        tap.ok("musl" not in [each.name for each in here]
               and ("musl", "hangs on a kernel without requeue") in missing,
               "musl is not run on a kernel without requeue", missing)
        tap.ok("apt-get install libnsync-dev" in dict(missing)["nsync"],
               "who is not built is listed, and how to get it", missing)
        here, _ = bench_plan.built(build)
        tap.equal([each.name for each in here if each in bench_plan.PEERS],
                  ["musl"], "musl is run on the host")


class FakeGuest:
    """Answers with so many instructions for each operation."""

    def __init__(self, traced):
        self._traced = traced

    def run(self, command, timeout):
        assert timeout
        n = int(command.split("-i ")[1].split()[0])
        perf = {"raw_syscalls:sys_enter": 40 + 2 * n} if self._traced else {}
        return 0, json.dumps(
            {**run_of(0, 1.0), "seconds": (1e6 + 4000 * n) / 1e9,
             "voluntary_switches": 77 + n, "involuntary_switches": 0,
             "operations": n, "perf": perf}).encode()


def test_counts(tap):
    """The steady state, without beginning and end."""
    for traced, calls in ((True, 2), (False, None)):
        counter = bench_counts.Counter(FakeGuest(traced), "drover")
        found = counter.count(bench_plan.NATIVE, "pp -n 1 -i {}", 100)
        tap.equal((found["instructions"], found["switches"],
                   found["system_calls"], found["row"]),
                  (4000, 1, calls, "pp -n 1 -i 100 to 200"),
                  f"counts, tracepoints: {traced}")


def test_bench(tap):
    """The real thing: one suite, one round, on this machine."""
    build = os.path.abspath(os.environ.get("O") or plan.BUILD)
    if not os.path.exists(os.path.join(build, "bin", "drover-bench")):
        tap.skip("bench: one suite", "drover-bench is not built")
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in ("bin", "lib"):
            os.symlink(os.path.join(build, name),
                       os.path.join(folder, name))
        status, _, err = run_tool(
            BENCH, "--host-only", "--suite=timedwait", "--rounds=2",
            "--minutes=0.2", "--host-cpus=1", "--build", folder)
        with open(os.path.join(folder, "results", "bench.json"),
                  encoding="utf-8") as file:
            result = json.load(file)
        with open(os.path.join(folder, "results", "bench.commands"),
                  encoding="utf-8") as file:
            commands = file.read().splitlines()
        tap.equal(commands[1:], [each["command"] for each
                                 in result["cells"]],
                  "bench: a command for each cell")
        tap.equal((status, result["state"],
                   list(schema.errors(result, schema.load()))),
                  (0, "complete", []), "bench: one suite")
        names = {each["contender"] for each in result["cells"]
                 if each["runs"]}
        tap.ok({"glibc", "drop-in", "native"} <= names and all(
            one["spurious"] == 0 for each in result["cells"]
            for one in each["runs"]), "bench: the three that are always"
               " there", err)


FAKE = """#!/bin/sh
case $1 in queue) echo $$ >>"$0.pids"; exec sleep 98765 ;; esac
echo '%s'
"""


def fake_build(folder):
    """Programs that answer at once, but for a queue, which never ends."""
    result = json.dumps({**run_of(0, 5.0), "kernel": "Linux 0",
                         "version": "fake 1", "library": "none"})
    for name, text in (("bin/drover-bench", FAKE % result),
                       (os.path.join("lib", plan.DROP_IN), "")):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)


def test_interrupt(tap, wait_for, alive):
    """Ctrl-C: no process stays, what was measured is saved."""
    with tempfile.TemporaryDirectory() as folder:
        fake_build(folder)
        with subprocess.Popen([BENCH, "--host-only", "--build", folder,
                               "--suite=turn-ring", "--suite=queue"],
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as bench:
            pids = os.path.join(folder, "bin", "drover-bench.pids")
            wait_for(pids)
            bench.send_signal(signal.SIGINT)
            bench.communicate(timeout=LIMIT)
        tap.equal(bench.returncode, 130, "bench, SIGINT: exit status")
        with open(pids, encoding="utf-8") as file:
            tap.equal([pid for pid in map(int, file) if alive(pid)], [],
                      "bench, SIGINT: no process stays behind")
        with open(os.path.join(folder, "results", "bench.json"),
                  encoding="utf-8") as file:
            result = json.load(file)
        tap.ok(result["state"] == "interrupted"
               and sum(len(each["runs"]) for each in result["cells"]) > 2
               and not list(schema.errors(result, schema.load())),
               "bench, SIGINT: what was measured is saved", result["state"])


TESTS = (test_rounds, test_focus, test_plan, test_counts, test_bench)
