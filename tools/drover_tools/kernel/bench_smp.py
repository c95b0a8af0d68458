# SPDX-License-Identifier: MIT
"""How a requeue of many waiters delays other calls, with several CPUs.

Guests of 2 and of 4 CPUs run mainline and drover, or two other variants, by
turns on the same host: a guest stands still while the other one runs.

  requeue-tail    a call (requeue), the longest call of a bystander in the same
                  bucket during it (held_up), and those in between; and the
                  same for calls that move 64 waiters each, as the library
                  makes them (slices_)
  locks held      how long these calls hold both bucket locks (locked), from
                  the event futex:futex_requeue_locked
  perf bench      futex hash, wake, wake-parallel, requeue and lock-pi

Writes kernel-bench-smp.txt and kernel-bench-smp.json to BUILD/results. A
figure is the median of the rounds; a maximum is that of all rounds.

An emulated guest runs each CPU on a thread of the host, so the times are those
of the emulator. If the host has fewer CPUs than the guest, a CPU may stop
while it holds a lock. So only the ratios mean something, and not the times.
With --accel=icount the CPUs run in turns, by a clock that counts instructions:
then the host changes nothing, and a spinning CPU gives way at once.
"""

import argparse
import collections
import os
import re
import statistics
import sys

from drover_tools.kernel.bench import (EVENT, PERF, TRACING, VARIANTS,
                                       output)
from drover_tools.report import store
from drover_tools.runs.machine import host
from drover_tools.tree import BUILD
from drover_tools.vm.guest import Guest, GuestError

TAIL = "/root/requeue-tail"
SLICE = 64

#: The benchmarks of perf bench futex: name, options, and the figure in the
#: output. The figure is a time, of which less is better; only hash and lock-pi
#: count operations.
PERF_BENCH = (
    ("hash", "-s -t 4 -r 2", r"(\d+) operations/sec"),
    ("wake", "-s -t 64", r"in ([\d.]+) ms"),
    ("wake-parallel", "-s -t 64 -w 4", r"in ([\d.]+) ms"),
    ("requeue", "-s -t 64", r"in ([\d.]+) ms"),
    ("lock-pi", "-s -t 4 -r 2", r"(\d+) operations/sec"),
)


def tail(guest, waiters, rounds, most=""):
    """The rows of requeue-tail: figures, and histograms by powers of two."""
    rows = {}
    text = output(guest, f"[ ! -e {EVENT} ] || echo 1 >{EVENT};"
                         f" {TAIL} {waiters} {rounds} {most}")
    for line in text.splitlines():
        name, value = line.split("\t")
        rows[name] = int(value)
    return rows


def locks_held(guest, waiters):
    """Figures and histograms of the locks, if the kernel has the event."""
    text = output(guest, f"[ ! -e {EVENT} ] || {{ echo 0 >{EVENT};"
                         f" cat {TRACING}/trace; echo >{TRACING}/trace; }}")
    held = sorted(int(ns) for ns, moved in
                  re.findall(r"held=(\d+) ret=(\d+)", text)
                  if int(moved) == waiters)
    if not held:
        return {}
    rows = {"locked_p500": held[len(held) // 2],
            "locked_p990": held[len(held) * 99 // 100], "locked_max": held[-1]}
    bins = collections.Counter(ns.bit_length() for ns in held)
    rows.update({f"locked_below_2^{bin}": bins[bin] for bin in sorted(bins)})
    return rows


def perf_bench(guest):
    """One figure of each benchmark of perf."""
    rows = {}
    for name, options, pattern in PERF_BENCH:
        text = output(guest, f"perf bench futex {name} {options} 2>&1")
        found = re.search(pattern, text)
        if not found:
            raise GuestError(f"perf bench futex {name}: {text}")
        rows[f"perf_{name}"] = float(found[1])
    return rows


def one_round(guest, options):
    """All rows of one round."""
    rows = tail(guest, options.waiters, options.calls)
    rows.update(locks_held(guest, options.waiters))
    sliced = tail(guest, options.waiters, options.calls, SLICE)
    rows.update({f"slices_{name}": value for name, value in sliced.items()})
    rows.update({f"slices_{name}": value for name, value
                 in locks_held(guest, SLICE).items()})
    rows.update(perf_bench(guest))
    return rows


def combine(rounds):
    """The rows of all rounds: medians, maxima, and sums of counts."""
    result = {}
    for name in sorted({name for rows in rounds for name in rows}):
        values = [rows[name] for rows in rounds if name in rows]
        if name.endswith("_max"):
            result[name] = max(values)
        elif "_below_" in name or name.endswith("_calls"):
            result[name] = sum(values)
        else:
            result[name] = statistics.median(values)
    return result


def measure(cpus, options):
    """Measure both variants by turns."""
    additions = [(PERF, PERF), (os.path.join(options.build, "kernel",
                                             "requeue-tail"), TAIL)]
    rounds = {name: [] for name in options.variants}
    how = {"cpus": cpus, "build": options.build, "mem": options.mem,
           "accel": options.accel, "additions": additions}
    theirs, ours = options.variants
    with Guest(variant=theirs, **how) as mainline, \
            Guest(variant=ours, **how) as drover:
        for number in range(options.rounds):
            pair = [(theirs, mainline), (ours, drover)]
            for name, guest in pair[::-1 if number % 2 else 1]:
                rounds[name].append(one_round(guest, options))
            print(f"bench-smp: {cpus} CPUs: round {number + 1} of"
                  f" {options.rounds}", file=sys.stderr)
        accel = mainline.accel
    return accel, {name: combine(rows) for name, rows in rounds.items()}


def sort_key(name):
    """A key that sorts the rows of a histogram by their powers."""
    head, _, power = name.partition("_below_2^")
    return bool(power), head, int(power or 0), name


def table(cpus, accel, results):
    """The lines of a table with both variants side by side."""
    left, right = results
    yield f"{cpus} CPUs, {accel}{'':15} {left:>12} {right:>12}  ratio"
    names = {name for rows in results.values() for name in rows}
    for name in sorted(names, key=sort_key):
        theirs, ours = (rows.get(name, 0) for rows in results.values())
        ratio = f"{ours / theirs:6.2f}" if theirs else "     -"
        yield f"{name:26} {theirs:12g} {ours:12g} {ratio}"
    yield ""


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=BUILD,
                        type=os.path.abspath)
    parser.add_argument("--cpus", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--variants", nargs=2, default=VARIANTS)
    parser.add_argument("--waiters", type=int, default=10000)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mem", type=int, default=2560)
    parser.add_argument("--accel", default="auto",
                        choices=("auto", "kvm", "tcg", "icount"))
    return parser.parse_args()


def main():
    """Measure, print, and save."""
    options = parse()
    lines, saved = [], {}
    try:
        for cpus in options.cpus:
            accel, results = measure(cpus, options)
            lines += table(cpus, accel, results)
            saved[str(cpus)] = {"accel": accel, "results": results}
    except GuestError as error:
        print(f"bench-smp: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    path = os.path.join(options.build, "results", "kernel-bench-smp")
    store.write(f"{path}.txt", "\n".join(lines) + "\n")
    store.write_lines(f"{path}.json", {
        "machine": host(), "unit": "nanoseconds; perf: ms or operations/s",
        "waiters": options.waiters, "calls": options.calls,
        "rounds": options.rounds, "cpus": saved})
    return 0
