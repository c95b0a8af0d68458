# SPDX-License-Identifier: MIT
"""Tests of `make bench` and `make report`: called by selftest."""

import importlib.util
import io
import json
import os
import signal
import subprocess
import tempfile

import bench_counts
import bench_measure
import bench_plan
import document
import plan
import places
import schema
import sections
import stats

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH, REPORT = (os.path.join(HERE, name) for name in ("bench", "report"))
LIMIT = 120
ROW = "turn-ring -n 8 -i 1250"


def run_of(number, ns, **more):
    """A run as the file has it."""
    return {"round": number, "seconds": ns / 1e6, "cpu_seconds": ns / 1e6,
            "voluntary_switches": 900, "involuntary_switches": 100,
            "operations": 1000, "ns_per_operation": ns, "spurious": 0,
            "futile": 0, **more}


def cell(contender, times, row=ROW, **more):
    """A cell as the file has it."""
    return {"place": "host", "cpus": 1, "row": row, "contender": contender,
            "variant": None, "command": f"run {contender}",
            "state": plan.COMPLETE, "reason": "",
            "runs": [run_of(number, ns) for number, ns in enumerate(times)],
            **more}


def mixed(contender, *times):
    """A cell of the load that changes, all rounds alike."""
    kinds = {name: {"operations": 10, "ns_per_operation": ns}
             for name, ns in zip(("free", "held", "each"), times)}
    made = cell(contender, [sum(times) / 3] * 9, row="mixed -n 32 -p 100 -c 1")
    for run in made["runs"]:
        run["kinds"] = kinds
    return made


def recorded():
    """A result with every kind of cell."""
    guest = {"place": "guest", "cpus": 4, "variant": "drover"}
    latency = {"nr": 3, "mean": 2000.0, "p50": 1023, "p90": 4095,
               "p99": 4095, "p999": 4095, "max": 4000,
               "buckets": [[1023, 2], [4095, 1]]}
    count = {"row": "pp -n 1 -i 1000 to 2000", "variant": "drover",
             "instructions": 4000, "switches": 1.0, "system_calls": 2.0,
             "commands": ["one", "two"]}
    nine = [100.0 + number for number in range(9)]
    return {
        "schema": 1, "licence": document.LICENCE, "state": "complete",
        "started": "2026-01-01 10:00:00+00:00",
        "finished": "2026-01-01 10:10:00+00:00",
        "settings": {"full": False, "minutes": 10, "rounds": 9, "limit": 120},
        "host": {"cpus": 2, "cpu_model": "A CPU", "memory_mb": 4096,
                 "system": "Debian", "kernel": "Linux 6.1", "load": 0.1,
                 "libc": "glibc 2.36"},
        "guest": {"cpus": [4], "mem_mb": 2048, "qemu": "7.2", "accel": "tcg"},
        "versions": {"kernels": {"host": "Linux 6.1", "drover": "Linux 6.12"},
                     "libraries": {"glibc": "glibc 2.36"}},
        "not_measured": [{"contender": "go", "reason": "not built: get it"}],
        "cells": [
            cell("glibc", nine), cell("nsync", [ns * 0.9 for ns in nine]),
            cell("drop-in", [ns * 0.5 for ns in nine]),
            cell("native", [ns * 2 for ns in nine]),
            cell("glibc", nine, **guest),
            cell("drop-in", [nine[8 - i] for i in range(9)], **guest),
            cell("native", nine[:2], **guest),
            cell("go", [], state=plan.FAILED, reason="exit status 1"),
            cell("glibc", nine, row="cond-perf -r 100 -n 200 -k"),
            mixed("native", 100, 300, 30),
            mixed("native-wake-all", 95, 400, 40),
            mixed("native-requeue", 200, 200, 20),
        ],
        "counts": [{**count, "contender": "glibc"},
                   {**count, "contender": "native", "instructions": 4100,
                    "system_calls": None}],
        "latencies": [{"place": "host", "cpus": 2, "row": "pp -n 1 -i 20000",
                       "contender": "glibc", "variant": None,
                       "command": "run it", "latency_ns": latency}],
    }


def test_stats(tap):
    """Intervals and verdicts."""
    for values, wanted in (
            (list(range(1, 10)), (2, 8)), (list(range(1, 28)), (8, 20)),
            ([3, 1, 2, 6, 5, 4], (1, 6))):
        tap.equal(stats.interval(values), wanted,
                  f"95 % interval of the median of {len(values)}")
    low, high = stats.interval([1.0, 1.1, 1.21])
    tap.ok(abs(low * high - 1.21) < 1e-9 and 0.5 < low < 1,
           "interval of three values, around their mean", (low, high))
    tap.equal(stats.interval([1.0, 1.0]), None, "no interval of two")
    tap.equal([stats.verdict(bounds) for bounds in (
        (0.5, 0.9), (0.9, 1.1), (1.01, 1.2), (1.0, 1.2), None)],
              [stats.AHEAD, stats.TIE, stats.BEHIND, stats.TIE,
               stats.UNKNOWN], "who is ahead")


def test_pairs(tap):
    """Ratios are of runs of the same round."""
    one, other = cell("a", [1.0, 4.0, 9.0]), cell("b", [1.0, 2.0, 3.0])
    tap.equal(stats.pair_ratios(one, other), [1.0, 2.0, 3.0],
              "a ratio for each round")
    del other["runs"][1]
    tap.equal(stats.pair_ratios(one, other), [1.0, 3.0],
              "no ratio for a round that one of them missed")
    tap.equal(stats.compare(one, cell("b", [])), None, "nothing in common")
    cells = sections.Cells(recorded())
    drop_in, native = (next(each for each in cells.all if each["contender"]
                            == name) for name in ("drop-in", "native"))
    tap.equal((cells.to_glibc(drop_in)["verdict"],
               cells.to_best(native)["verdict"],
               cells.to_best(native)["to"]),
              (stats.AHEAD, stats.BEHIND, "nsync"),
              "the best peer is the one to compare with")


def test_schema(tap):
    """What the file may and may not be."""
    good = recorded()
    tap.equal(list(schema.errors(good, schema.load())), [],
              "a recorded result fits the schema")

    def broken(change):
        result = json.loads(json.dumps(good))
        change(result)
        return list(schema.errors(result, schema.load()))

    for name, change in (
            ("a member is missing", lambda r: r.pop("host")),
            ("a member is unknown", lambda r: r.update(extra=1)),
            ("a wrong type", lambda r: r.update(cells={})),
            ("a truth value for a number",
             lambda r: r["settings"].update(rounds=True)),
            ("a wrong word", lambda r: r.update(state="over")),
            ("too small", lambda r: r["cells"][0].update(cpus=0)),
            ("deep inside", lambda r: r["cells"][0]["runs"][0].pop("round")),
            ("a pair of three", lambda r: r["latencies"][0]["latency_ns"]
             ["buckets"].append([1, 2, 3]))):
        found = broken(change)
        tap.ok(len(found) == 1, f"schema: {name}", found)


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


def test_undecided(tap):
    """Only ties are measured on, with those they are compared with."""
    def of(times):
        cells = some_cells()[:3]
        for one, each in zip(cells, times):
            one.runs = [run_of(number, ns) for number, ns in enumerate(each)]
            one.state = plan.COMPLETE
        return [one.contender.name for one in bench_measure.undecided(
            cells, bench_plan.OWN, "glibc")]

    up = [1.0 + number / 10 for number in range(9)]
    tap.equal(of([up, [ns / 2 for ns in up], [ns / 3 for ns in up]]), [],
              "nothing is undecided where all are ahead")
    tap.equal(sorted(of([up, up[::-1], [ns / 3 for ns in up]])),
              ["drop-in", "glibc", "native"], "a tie is measured on")


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


WANTED = (
    "| turn-ring -n 8 -i 1250 | host, 1 CPU | 0.50 (0.50 to 0.50) |"
    " **2.22 (2.22 to 2.22) nsync !** |",
    "| turn-ring -n 8 -i 1250 | drover, 4 CPUs |",
    "The drop-in against glibc: 1 ahead, 1 tie. Native against the best peer"
    " whose threads are the kernel's: 1 behind, 1 unknown.",
    "| pp -n 1 -i 1000 to 2000: native | drover | **4100 !** | 1.000 |"
    " not counted |",
    "| go | host, 1 CPU, turn-ring -n 8 -i 1250: exit status 1 |",
    "| go | not built: get it |", "    run native",
    "    tools/vm/vm --variant=drover --cpus=4 --mem=2048 --accel=tcg"
    " -- 'run native'",
    "| native / the better fixed policy of each | 1.05 (1.05 to 1.05) |"
    " **1.50 (1.50 to 1.50) !** | **1.50 (1.50 to 1.50) !** |",
    "A CPU, 4096 MB", "QEMU 7.2, accelerator tcg",
)


def test_text(tap):
    """Tables, marks and commands, in both forms."""
    blocks = list(sections.report(recorded()))
    text = document.markdown(blocks)
    for wanted in WANTED:
        tap.ok(wanted in text, f"report: {wanted[:60]}", text)
    page = document.page(blocks, "A <title>")
    tap.ok("<title>A &lt;title&gt;</title>" in page
           and '<td class="behind">2.22 (2.22 to 2.22) nsync !</td>' in page,
           "report: the page marks a lost cell", page)
    tap.equal([page.count(f"<{tag}") - page.count(f"</{tag}>")
               for tag in ("table", "tr", "td", "pre", "figure")], [0] * 5,
              "report: what is opened is closed")
    tap.equal([sections.duration(ns) for ns in (4.03, 999, 1234, 5e6, 2e9)],
              ["4.03 ns", "999 ns", "1.23 us", "5.00 ms", "2.00 s"],
              "durations")


def run_tool(*words):
    done = subprocess.run(words, timeout=LIMIT, check=False, text=True,
                          capture_output=True)
    return done.returncode, done.stdout, done.stderr


def test_report(tap):
    """From a file to a folder."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "bench.json")
        out = os.path.join(folder, "out")
        status, _, err = run_tool(REPORT, source)
        tap.ok(status == 1 and "run: make bench" in err,
               "report: nothing to report on: says what to do", err)
        with open(source, "w", encoding="utf-8") as file:
            json.dump({**recorded(), "state": "over"}, file)
        status, _, err = run_tool(REPORT, source)
        tap.ok(status == 1 and "$.state" in err,
               "report: refuses what the schema does not allow", err)
        tap.equal(run_tool(BENCH, "--check", source)[0], 1,
                  "bench --check: not as the schema says")
        with open(source, "w", encoding="utf-8") as file:
            json.dump(recorded(), file)
        tap.equal(run_tool(BENCH, "--check", source)[0], 0,
                  "bench --check: as the schema says")
        plots = importlib.util.find_spec("matplotlib") is not None
        status, _, err = run_tool(REPORT, source, "--out", out,
                                  *([] if plots else ["--no-plots"]))
        tap.equal((status, err), (0, ""), "report: written")
        check_files(tap, out, plots)


def check_files(tap, folder, plots):
    """The page and every plot that it shows."""
    if not plots:
        tap.equal(sorted(os.listdir(folder)), ["index.html", "report.md"],
                  "report: the files")
        tap.skip("report: plots", "needs python3-matplotlib")
        return
    with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
        page = file.read()
    names = sorted(name for name in os.listdir(folder) if "." in name)
    shown = [name for name in names if name.endswith(".svg")]
    tap.ok("overview.svg" in shown and "latency.svg" in shown
           and all(f'src="{name}"' in page for name in shown)
           and page.count("<img") == len(shown)
           and all(name[:-3] + "png" in names for name in shown),
           "report: each plot is shown, as SVG and as PNG", names)
    for name in shown:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            lines = file.read().splitlines()
        tap.ok(document.LICENCE in "".join(lines[:3])
               and all(line == line.rstrip() for line in lines),
               f"report: {name} can be checked in")


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


TESTS = (test_stats, test_pairs, test_schema, test_rounds, test_focus,
         test_undecided, test_plan, test_counts, test_text, test_report,
         test_bench)
