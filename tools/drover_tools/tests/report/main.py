# SPDX-License-Identifier: MIT
"""Test of measurements and reports, which needs no kernel; prints TAP."""

import contextlib
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from types import SimpleNamespace
from unittest import mock

from drover_tools.kernel import bench, bench_smp
from drover_tools.report import measure, places, store, suite_table
from drover_tools.runs import plan
from drover_tools.tables import document, stats
from drover_tools.tables.results import Cells
from drover_tools.tap import Tap
from drover_tools.tests.report import engine
from drover_tools.tests.report.samples import cell_of, result_of, run_of
from drover_tools.tree import BUILD, TOP

MEASURE = os.path.join(TOP, "tools", "measure")
REPORT = os.path.join(TOP, "tools", "report")
HARDWARE_DAY = os.path.join(TOP, "tools", "hardware-day")
LIMIT = 120


def run_tool(*words):
    done = subprocess.run(words, timeout=LIMIT, check=False, text=True,
                          capture_output=True)
    return done.returncode, done.stdout, done.stderr


def test_stats(tap):
    """Intervals, verdicts and goals are right."""
    for values, wanted in (
            (list(range(1, 10)), (2, 8)), (list(range(1, 28)), (8, 20)),
            ([3, 1, 2, 6, 5, 4], (1, 6))):
        tap.equal(stats.interval(values), wanted,
                  f"95 % interval of the median of {len(values)}")
    low, high = stats.interval([1.0, 1.1, 1.21])
    tap.ok(0.5 < low < 1.1 < high < 2, "interval of three values")
    tap.equal(stats.interval([1.0, 1.0]), None, "no interval of two")
    tap.equal([stats.verdict(bounds) for bounds in (
        (0.5, 0.9), (0.9, 1.1), (1.01, 1.2), (1.0, 1.2), None)],
              [stats.AHEAD, stats.TIE, stats.BEHIND, stats.TIE,
               stats.UNKNOWN], "who is ahead")
    tap.equal([stats.judge(*goal) for goal in (
        (1.0, None, 1), (1.1, (1.0, 1.2), 1), (1.1, (1.01, 1.2), 1))],
              [stats.MET, stats.TIE, stats.MISSED],
              "which goals are met")
    tap.equal(round(stats.spread([1.0, 1.1, 1.2]), 4), 0.0909,
              "spread is half the span over the median")
    tap.equal(stats.mean([0.5, 2.0]), 1.0, "the geometric mean")


def test_pairs(tap):
    """Ratios are of runs of the same round."""
    one, other = cell_of("a", [1.0, 4.0, 9.0]), cell_of("b", [1.0, 2.0, 3.0])
    key = "ns_per_operation"
    del other["runs"][1]
    tap.equal(stats.pair_ratios(one["runs"], other["runs"], key), [1.0, 3.0],
              "no ratio for a round that one of them missed")
    result = result_of(glibc=[2.0] * 9, nsync=[1.5] * 9, go=[1.0] * 9,
                       drop_in=[1.0] * 9, native=[1.8] * 9)
    cells = Cells(result)
    drop_in, native = cells.promised()
    tap.equal([(found["to"], found["verdict"]) for found in map(
        cells.to_opponent, (drop_in, native))],
              [("glibc", stats.AHEAD), ("nsync", stats.BEHIND)],
              "the best peer whose threads are the kernel's is compared with")


def test_store(tap):
    """A wrong file is found, and a right one is not."""
    good = result_of(glibc=[1.0])
    tap.equal(list(store.errors(good)), [], "a result is one")
    for name, change in (
            ("a member is missing", lambda r: r.pop("host")),
            ("a wrong type", lambda r: r.update(cells={})),
            ("a truth value for a number",
             lambda r: r["settings"].update(rounds=True)),
            ("a wrong word", lambda r: r.update(state="over")),
            ("deep inside", lambda r: r["cells"][0]["runs"][0].pop("round")),
            ("an optional member", lambda r: r.update(regime=[]))):
        result = json.loads(json.dumps(good))
        change(result)
        found = list(store.errors(result))
        tap.ok(len(found) == 1, f"not a result: {name}", found)


def test_host(tap):
    """A real process is ended at its limit, with all that it started."""
    cell = engine.cells(["glibc"])[0]
    cell.command = "sh -c 'sleep 987654 & wait'"
    try:
        places.Host().run(cell, 0.3)
        tap.ok(False, "a run is ended at its limit")
    except places.TooSlow:
        tap.ok(True, "a run is ended at its limit")
    left = subprocess.run("grep -ls 98765[4] /proc/[0-9]*/cmdline", shell=True,
                          check=False, capture_output=True, text=True).stdout
    tap.equal(left, "", "nothing is left of it")
    for cell.command, wanted in (("false", "exit status 1"),
                                 ("echo nonsense", "no result")):
        try:
            places.Host().run(cell, LIMIT)
        except places.Failed as error:
            tap.ok(wanted in str(error), f"{cell.command}: a failure", error)


def test_command_line(tap):
    """Wrong usage is refused, and missing programs are named."""
    for words in ((), ("quux",), ("table", "--runs=0"), ("table", "--cpus=x"),
                  ("bench", "--settle=2"), ("waiting", "--quux"),
                  ("table", "--host-only", "--guests-only")):
        status, out, err = run_tool(MEASURE, *words)
        tap.ok((status, out) == (2, "") and "usage: measure" in err,
               f"usage: measure {' '.join(words)}", f"{status} {out}{err}")
    with tempfile.TemporaryDirectory() as folder:
        for suite in ("table", "bench", "waiting", "stream", "hardware",
                      "programs", "counts"):
            status, _, err = run_tool(MEASURE, suite, "--host-only",
                                      "--build", folder)
            tap.ok(status == 1 and "is missing; run: make" in err,
                   f"{suite}: nothing is built: says what to do", err)


def test_hardware_day(tap):
    """Its tests run on a driver, or are skipped with a reason."""
    library = os.path.join(BUILD, "lib", "libcuda-mock.so")
    if os.environ.get("SAN") or not os.path.exists(library):
        tap.skip("hardware-day", "not in a sanitizer's build, or no mock")
        return
    for driver, state, said in (
            (library, "passed", "# Totals: pass:18 fail:0"),
            ("/nowhere/libcuda.so", "skipped", "no CUDA driver: OSError")):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [HARDWARE_DAY, "--short", "--out", folder], timeout=LIMIT,
                env={**os.environ, "DROVER_CUDA_LIBRARY": driver},
                check=False, capture_output=True, text=True)
            with open(os.path.join(folder, "hardware-day.md"),
                      encoding="utf-8") as file:
                text = file.read()
        tap.ok(done.returncode == 0 and said in text
               and all(f"| {step} | {state} |" in text for step in
                       ("on_device", "random_programs", "ggml_sched.c")),
               f"hardware-day on {os.path.basename(driver)}: {state}",
               done.stdout + done.stderr + text)


#: A benchmark that answers at once; only queue never ends.
FAKE = """#!/bin/sh
case $1 in queue) echo $$ >>"$0.pids"; exec sleep 98765 ;; esac
echo '%s'
"""


def fake_build(folder):
    result = json.dumps({**run_of(0, 5.0), "kernel": "Linux 0", "impl": "x",
                         "version": "fake 1", "library": "none",
                         "work_ps": 900})
    for name, text in (("bin/drover-bench", FAKE % result),
                       (os.path.join("lib", plan.DROP_IN), ""),
                       ("lib/libdrover.so.1", "")):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)


def test_commands(tap):
    """Whole measurements work, with programs that answer at once."""
    with tempfile.TemporaryDirectory() as folder:
        fake_build(folder)
        words = ("--build", folder, "--host-only", "--host-cpus=1")
        status, out, err = run_tool(MEASURE, "bench", *words, "--rounds=3",
                                    "--suite=turn-ring", "--settle=3")
        path = os.path.join(folder, "results", "bench.json")
        result = store.read_json(path)
        tap.ok(status == 0 and "tie (3 pairs) =" in out
               and "Settling 8 comparisons: 3 rounds of 12 cells" in err,
               "bench: settled in one go, verdicts printed", out + err)
        tap.equal((result["state"], list(store.errors(result))),
                  ("complete", []), "bench: the file is a result")
        status, out, err = run_tool(MEASURE, "table", *words, "--runs=2")
        tap.ok(status == 0 and "glibc" in out
               and "Slower than glibc in 0 of 12 cells." in out,
               "table: printed", out + err)
        printed = run_tool(MEASURE, "table", "--print", os.path.join(
            folder, "results", "table.json"))[1]
        tap.equal(printed, out[:len(printed)], "table --print")


def test_kernel_benches(tap):
    """The benchmarks of the kernel print and save their results."""
    rows = {name: 10.0 for name in (
        *bench.PROMISED, *(f"{row}, {bench.MANY} to {2 * bench.MANY} waiters"
                           for row in ("other_bucket", "90_priorities")))}
    both = dict.fromkeys(bench.VARIANTS, rows)
    for module, name, found in (
            (bench, "kernel-bench", rows),
            (bench_smp, "kernel-bench-smp", ("tcg", both))):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(module, "measure", return_value=found), \
                mock.patch("sys.argv", [name, "--build", folder]), \
                contextlib.redirect_stdout(io.StringIO()) as printed:
            status = module.main()
            saved = store.read_json(os.path.join(folder, "results",
                                                 f"{name}.json"))
        results = saved.get("results") or saved["cpus"]["2"]["results"]
        tap.equal((status, results), (0, both), f"{name}: saved")
        tap.ok("1.00" in printed.getvalue(), f"{name}: printed",
               printed.getvalue())


def test_counted(tap):
    """For guests of many CPUs the table has one row, and only its switches."""
    options = SimpleNamespace(guests_only=True, host_only=False, cpus=[4, 16])
    cells = suite_table.SUITE.cells(options, [])
    tap.equal({(cell.row, cell.contender.variant) for cell in cells
               if cell.cpus == 16}, {(suite_table.ROWS[0], "mainline")},
              "table: with 16 CPUs one row on one kernel")
    result = result_of(glibc_on_mainline=[1.0] * 5, auto_on_mainline=[9.0] * 5)
    result["settings"].update(against=suite_table.SUITE.against)
    for cell in result["cells"]:
        cell.update(place="guest", cpus=16, contender=cell[
            "contender"].replace("-", " "))
    result["cells"].append({**result["cells"][0], "cpus": 8, "runs": [],
                            "state": plan.PENDING})
    result["cells"].append({**result["cells"][1], "cpus": 8, "runs": [],
                            "state": plan.FAILED})
    text = document.plain(suite_table.SUITE.blocks(result))
    tap.ok(re.search(r"auto on mainline +failed +0\.90 +0\.10 +1\.00\n", text)
           and re.search(r"glibc on mainline +pending +0\.90", text)
           and "Slower than glibc in 0 of 0" in text,
           "table: of many CPUs only switches are told", text)


def wait_for(path):
    deadline = time.monotonic() + LIMIT
    while not os.path.exists(path) or not os.path.getsize(path):
        if time.monotonic() > deadline:
            raise TimeoutError(path)
        time.sleep(0.02)


def test_interrupt(tap):
    """After Ctrl-C no process is left, and the runs so far are saved."""
    for sign, wanted in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with tempfile.TemporaryDirectory() as folder:
            fake_build(folder)
            with subprocess.Popen(
                    [MEASURE, "bench", "--host-only", "--build", folder,
                     "--suite=turn-ring", "--suite=queue"],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL) as bench:
                pids = os.path.join(folder, "bin", "drover-bench.pids")
                wait_for(pids)
                bench.send_signal(sign)
                bench.communicate(timeout=LIMIT)
            name = f"{signal.Signals(sign).name}:"
            tap.equal(bench.returncode, wanted, f"{name} exit status")
            with open(pids, encoding="utf-8") as file:
                tap.equal([pid for pid in file if os.path.exists(
                    f"/proc/{pid.strip()}")], [],
                          f"{name} no process stays behind")
            result = store.read_json(os.path.join(folder, "results",
                                                  "bench.json"))
            tap.ok(result["state"] == "interrupted"
                   and any(each["runs"] for each in result["cells"])
                   and not list(store.errors(result)),
                   f"{name} what was measured is saved", result["state"])


def test_alone(tap):
    """A measurement waits until another one in its folder has ended."""
    with tempfile.TemporaryDirectory() as build:
        with measure.alone(os.path.join(build, "results")):
            with subprocess.Popen([MEASURE, "waiting", f"--build={build}"],
                                  stderr=subprocess.PIPE, text=True,
                                  stdout=subprocess.DEVNULL) as process:
                said = process.stderr.readline()
                process.terminate()
        tap.ok("waits for another measurement" in said,
               "a second measurement waits", said)
        with measure.alone(os.path.join(build, "results")):
            tap.ok(True, "a third one does not")


def test_report(tap):
    """Results become a page, and files for keeping."""
    plots = importlib.util.find_spec("matplotlib") is not None
    more = [] if plots else ["--no-plots"]
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results")
        status, _, err = run_tool(REPORT, "--build", folder, *more)
        tap.ok(status == 1 and "run: make bench" in err,
               "report: nothing to report on: says what to do", err)
        table = result_of(glibc=[2.0] * 9, drop_in=[1.0] * 9,
                          native=[2.5] * 9)
        programs = result_of(stock=[2.0] * 9, drop_in=[1.0] * 9)
        programs.update(suite="programs")
        programs["settings"].update(against={"drop-in": "stock"})
        for result in (table, programs):
            store.write_lines(os.path.join(
                results, f"{result['suite']}.json"), result)
        status, _, err = run_tool(REPORT, "--build", folder, *more)
        tap.equal((status, err), (0, ""), "report: written")
        with open(os.path.join(folder, "report", "report.md"),
                  encoding="utf-8") as file:
            page = file.read()
        tap.ok("**behind !**" in page
               and "1.25 (1.25 to 1.25) glibc" in page
               and "0.500" in page, "report: a lost cell is marked", page)
        kept = os.path.join(folder, "kept")
        status, _, err = run_tool(REPORT, "--build", folder, "--keep", kept,
                                  *more)
        tap.equal((status, sorted(os.listdir(kept))),
                  (0, ["overview.png"] * plots + ["results.json"]),
                  "report --keep: one plot, one JSON file")
        tap.equal(run_tool(REPORT, os.path.join(kept, "results.json"),
                           "--out", folder, *more)[0], 0,
                  "report: of what was kept")
        if not plots:
            tap.skip("report: plots", "needs python3-matplotlib")
        else:
            tap.ok(os.path.exists(os.path.join(folder, "overview.png"))
                   and "overview.png" in page, "report: the plot is shown")


def main():
    tap = Tap()
    for test in (test_stats, test_pairs, test_store, *engine.TESTS,
                 test_host, test_command_line, test_hardware_day,
                 test_commands, test_kernel_benches, test_counted,
                 test_interrupt, test_alone, test_report):
        try:
            test(tap)
        except Exception as error:      # pylint: disable=broad-except
            tap.ok(False, test.__name__, repr(error))
    return tap.exit_status()
