# SPDX-License-Identifier: MIT
"""The cost of a requeue on the variants mainline and drover, side by side.

Both run in guests with one CPU whose clock counts instructions (QEMU's
-icount), so that two runs agree:

  requeue-cost    the cost of a waiter and of a bystander, as slopes, and of
                  whole calls
  perf bench      perf's own futex requeue and futex hash
  locks held      how long the broadcasts of cond-perf hold both bucket locks,
                  from the event futex:futex_requeue_locked

Writes kernel-bench.txt and kernel-bench.json to BUILD/results. The exit status
is 1 if one of the ratios is above the promised one.
"""

import argparse
import os
import re
import subprocess
import sys

from drover_tools.report import store
from drover_tools.runs.machine import host
from drover_tools.tree import BUILD
from drover_tools.vm.guest import Guest, GuestError

PERF = "/usr/bin/perf"
VARIANTS = ("mainline", "drover")
LIMIT = 1800

#: A slope is measured from so many waiters to twice as many.
WAITERS = 1000
MANY = 5000
ROUNDS = 50

TRACING = "/sys/kernel/tracing"
EVENT = f"{TRACING}/events/futex/futex_requeue_locked/enable"
COST = "/root/requeue-cost"
REQUEUE = f"perf bench -r 5 futex requeue -s -B -t {WAITERS}"
HASH = "perf bench futex hash -s -t 1 -f 64 -r 1"
BROADCASTS = (f"echo 1 >{EVENT}; cond-perf --impl=drover -k -n {WAITERS}"
              f" -r {ROUNDS} >/dev/null; echo 0 >{EVENT}; cat {TRACING}/trace")

#: The most instructions that drover may take, as a ratio to mainline's. Drover
#: takes more of them, to prefetch the data that is needed next;
#: kernel/scripts/caches measures the gain.
PROMISED = {
    "other_bucket": 1.15,
    "same_bucket": 1.35,
    "bystander": 1.6,
    "waiter_and_bystander": 1.25,
    "whole_call_10": 1.1,
    "whole_call_1": 1.05,
    "whole_call_0": 1.02,
    "90_priorities": 1.15,
}

#: The most ratio of the slope from MANY to 2 MANY waiters to the other slope.
GROWTH = 1.02


def cost(guest, waiters):
    """The rows of requeue-cost."""
    rows = {}
    for line in output(guest, f"{COST} {waiters}").splitlines():
        name, value = line.split("\t")
        rows[name] = float(value)
    return rows


def slopes_of_many(guest):
    """The rows of requeue-cost for more waiters, without the whole calls."""
    return {f"{name}, {MANY} to {2 * MANY} waiters": value
            for name, value in cost(guest, MANY).items()
            if not name.startswith("whole_call")}


def perf_bench(guest):
    """Both benchmarks of perf that the series could change."""
    text = output(guest, REQUEUE)
    found = re.search(r"Requeued (\d+) of (\d+) threads in ([\d.]+) ms", text)
    assert found and found[1] == found[2] == str(WAITERS), text
    rows = {"perf bench futex requeue, a waiter":
            float(found[3]) * 1e6 / WAITERS}
    text = output(guest, HASH)
    found = re.search(r"(\d+) operations/sec", text)
    assert found, text
    rows["perf bench futex hash, an operation"] = 1e9 / int(found[1])
    return rows


def locks_held(guest):
    """How long calls that moved most of the waiters held both locks."""
    text = output(guest, BROADCASTS)
    held = sorted(int(held) for held, moved in
                  re.findall(r"held=(\d+) ret=(\d+)", text)
                  if int(moved) >= WAITERS // 2)
    assert len(held) >= ROUNDS // 2, text
    title = "locks held, a broadcast to " + str(WAITERS)
    return {f"{title}, median": held[len(held) // 2],
            f"{title}, 9 of 10 below": held[len(held) * 9 // 10],
            f"{title}, largest": held[-1]}


def output(guest, command):
    """The output of a command, which has to succeed."""
    status, text = guest.run(command, timeout=LIMIT)
    text = text.decode(errors="replace")
    if status:
        raise GuestError(f"{command}: exit status {status}: {text}")
    return text


def measure(variant, build):
    """All rows of one variant."""
    additions = [(PERF, PERF),
                 (os.path.join(build, "kernel", "requeue-cost"), COST)]
    rows = {}
    with Guest(variant=variant, accel="icount", build=build, mem=3072,
               additions=additions) as guest:
        for part in (lambda guest: cost(guest, WAITERS), slopes_of_many,
                     perf_bench, locks_held):
            rows.update(part(guest))
            print(f"kernel-bench: {variant}: {len(rows)} rows",
                  file=sys.stderr)
    return rows


def table(results):
    """The lines of a table with both variants side by side."""
    width = max(map(len, results["mainline"]))
    yield f"{'':{width}} {'mainline':>10} {'drover':>10}  ratio  promised"
    for name, theirs in results["mainline"].items():
        ours = results["drover"][name]
        promised = PROMISED.get(name, "")
        yield (f"{name:{width}} {theirs:10.1f} {ours:10.1f} {ours/theirs:6.2f}"
               f"  {promised}").rstrip()


def broken(results):
    """A line for each promise that does not hold."""
    theirs, ours = (results[variant] for variant in VARIANTS)
    for name, most in PROMISED.items():
        if ours[name] > most * theirs[name]:
            yield f"{name}: more than {most} of mainline's"
    for name in ("other_bucket", "90_priorities"):
        many = ours[f"{name}, {MANY} to {2 * MANY} waiters"]
        if many > GROWTH * ours[name]:
            yield f"{name}: grows with the number of waiters"


def main():
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=BUILD,
                        type=os.path.abspath)
    build = parser.parse_args().build
    try:
        results = {name: measure(name, build) for name in VARIANTS}
    except (AssertionError, GuestError, subprocess.SubprocessError) as error:
        print(f"kernel-bench: {error}", file=sys.stderr)
        return 1
    lines = list(table(results)) + [f"! {line}" for line in broken(results)]
    print("\n".join(lines))
    path = os.path.join(build, "results", "kernel-bench")
    store.write(f"{path}.txt", "\n".join(lines) + "\n")
    store.write_lines(f"{path}.json", {
        "machine": host(),
        "unit": "instructions",
        "commands": [f"{COST} {WAITERS}", f"{COST} {MANY}", REQUEUE, HASH,
                     BROADCASTS],
        "promised": PROMISED, "results": results})
    return 1 if list(broken(results)) else 0
