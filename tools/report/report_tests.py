# SPDX-License-Identifier: MIT
"""Tests of `make report`, and of the figures in it: called by selftest."""

import importlib.util
import json
import os
import tempfile

import document
import results
import schema
import sections
import stats
from bench_samples import cell, recorded
from bench_tests import BENCH, HERE, run_tool

REPORT = os.path.join(HERE, "report")


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
    tap.equal([stats.judge(*goal) for goal in (
        (1.0, None, 1), (1.1, (1.0, 1.2), 1), (1.1, (1.01, 1.2), 1),
        (1.1, None, 1), (1.1, (1.05, 1.2), 1.1))],
              [stats.MET, stats.TIE, stats.MISSED, stats.MISSED, stats.MET],
              "which goals are met")


def test_pairs(tap):
    """Ratios are of runs of the same round."""
    one, other = cell("a", [1.0, 4.0, 9.0]), cell("b", [1.0, 2.0, 3.0])
    tap.equal(stats.pair_ratios(one, other), [1.0, 2.0, 3.0],
              "a ratio for each round")
    del other["runs"][1]
    tap.equal(stats.pair_ratios(one, other), [1.0, 3.0],
              "no ratio for a round that one of them missed")
    tap.equal(stats.compare(one, cell("b", [])), None, "nothing in common")
    cells = results.Cells(recorded())
    drop_in, native = (next(each for each in cells.all if each["contender"]
                            == name) for name in ("drop-in", "native"))
    tap.equal((cells.to_glibc(drop_in)["verdict"],
               cells.to_opponent(native)["verdict"],
               cells.to_opponent(native)["to"]),
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


WANTED = (
    "| turn-ring -n 8 -i 1250 | host, 1 CPU | 0.50 (0.50 to 0.50) | ahead |"
    " 2.22 (2.22 to 2.22) nsync | **behind !** |",
    "| turn-ring -n 8 -i 1250 | drover, 4 CPUs | 1.00 (0.94 to 1.06) |"
    " open (9 pairs) = | 1.00 glibc | open (2 pairs) ? |",
    "| cells | ahead | tie | behind | open |",
    "| drop-in / glibc, host | 1 | 0 | 0 | 0 |",
    "| native / best peer, host | 0 | 0 | 1 | 0 |",
    "| native / 1.10 of the better fixed policy, host | 1 | 0 | 2 | 0 |",
    "| drop-in / glibc, guest | 0 | 0 | 0 | 1 |",
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
           and '<td class="behind">behind !</td>' in page,
           "report: the page marks a lost cell", page)
    tap.equal([page.count(f"<{tag}") - page.count(f"</{tag}>")
               for tag in ("table", "tr", "td", "pre", "figure")], [0] * 5,
              "report: what is opened is closed")
    tap.equal([sections.duration(ns) for ns in (4.03, 999, 1234, 5e6, 2e9)],
              ["4.03 ns", "999 ns", "1.23 us", "5.00 ms", "2.00 s"],
              "durations")


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
        with open(source, "w", encoding="utf-8") as file:
            json.dump({**recorded(), "cells": [], "counts": [],
                       "latencies": []}, file)
        status, _, err = run_tool(REPORT, source, "--out", out + "2",
                                  *([] if plots else ["--no-plots"]))
        tap.equal((status, err, sorted(os.listdir(out + "2"))),
                  (0, "", ["index.html", "report.md"]),
                  "report: of nothing, without plots")


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


TESTS = (test_stats, test_pairs, test_schema, test_text, test_report)
