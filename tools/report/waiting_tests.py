# SPDX-License-Identifier: MIT
"""Tests of `make waiting`, in a guest and not: called by selftest.

The programs are made up: what is tested is which of them run, in what order,
and what becomes of what they tell.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys

import places

HERE = os.path.dirname(os.path.abspath(__file__))

#: Nanoseconds for a node, by implementation.
BARRIER_NS = {"drover": 102.0, "spin": 100.0, "std": 300.0, "gomp": 500.0,
              "pthread": 900.0}
#: Microseconds for a request: P50, P99, CPU time.
POOL_US = {"drover": (55.0, 70.0, 100.0), "spin": (50.0, 90.0, 500.0),
           "sleep": (80.0, 99.0, 90.0), "gomp": (60.0, 80.0, 400.0),
           "tbb": (58.0, 75.0, 110.0)}


def load():
    """The script as a module of its own."""
    loader = importlib.machinery.SourceFileLoader(
        "waiting", os.path.join(HERE, "waiting"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("waiting", loader))
    loader.exec_module(module)
    return module


def answer(words):
    """What a program prints that was called by @words."""
    impl = next(word.split("=")[1] for word in words
                if word.startswith("--impl="))
    result = {"seconds": 1.0, "cpu_seconds": 1.5}
    if "barrier-perf" in words[0]:
        result["ns_per_node"] = BARRIER_NS[impl] * int(words[1])
    else:
        p50, p99, cpu = POOL_US[impl]
        result.update(p50_us=p50, p99_us=p99, cpu_us_per_request=cpu,
                      idle_cpu=0.0, work_ps=4711)
    return json.dumps(result)


class FakeGuest:
    """Stands in for places.Guest; one program may fail in it."""

    made = []
    fails = None

    def __init__(self, **settings):
        self.settings, self.accel, self.commands = settings, "none", []
        self.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        """Nothing was booted."""

    def run(self, command, timeout):
        """As the real one: status and bytes."""
        assert timeout
        self.commands.append(command.split())
        if self.fails and self.fails in command:
            return 3, b"it went wrong\n"
        return 0, answer(command.split()).encode()


def measured(*options, fails=None):
    """Call the script: its status, what it prints, and the guest it used."""
    script, out, args = load(), io.StringIO(), sys.argv
    real, places.Guest = places.Guest, FakeGuest
    FakeGuest.made, FakeGuest.fails = [], fails
    sys.argv = ["waiting", *options]
    try:
        with contextlib.redirect_stdout(out):
            status = script.main()
    finally:
        sys.argv, places.Guest = args, real
    guest, = FakeGuest.made
    return status, out.getvalue(), guest


def test_crowd(tap):
    """Document 000's case, in a guest of four CPUs."""
    status, out, guest = measured("--guest=4", "--crowd", "--runs=3",
                                  "--ms=10", "--variant=drover")
    tap.equal(status, 0, "waiting: in a guest")
    tap.equal((guest.settings["cpus"], guest.settings["variant"]),
              (4, "drover"), "waiting: of so many CPUs, that kernel")
    tap.equal({words[0] for words in guest.commands},
              {"/drover/bin/barrier-perf"}, "waiting: all runs are in it")
    tap.equal({(int(words[1]), int(words[4]), int(words[6]), words[8])
               for words in guest.commands},
              {(4, 0, 0, "10"), (5, 0, 0, "10"), (4, 128, 0, "10"),
               (5, 128, 0, "10")},
              "waiting: as many threads as CPUs, and one more")
    tap.equal([words[9] for words in guest.commands[:10:5]],
              ["--impl=drover", "--impl=spin"],
              "waiting: another one goes first in each round")
    tap.ok(out.startswith("a guest of 4 CPUs (none) on ")
           and "barrier: 5 threads, no work\n" in out
           and "  drover            408.0 ns per node ±   0%     1.02!  1.50"
           " CPUs\n" in out, "waiting: rows and ratios", out)
    tap.ok("  met    barrier, 4 threads, work 0: time of spin: 408.0 against"
           " 400.0, 1.02" in out
           and "  MISSED barrier, 5 threads, work 128: time of spin: 510.0"
           " against 500.0, 1.02" in out, "waiting: goals are judged", out)


def test_failure(tap):
    """A program that fails is told once, and is not in the rows."""
    _, out, guest = measured("--guest=4", "--crowd", "--runs=2", "--ms=10",
                             fails="--impl=spin")
    tap.equal(out.count("# barrier-perf --impl=spin: exit status 3:"
                        " it went wrong"), 1, "waiting: a failure is told")
    tap.ok("\n  spin " not in out and "\n  drover " in out
           and "time of spin" not in out,
           "waiting: it has no row and decides no goal", out)
    tap.equal(len(guest.commands), 4 * 5 * 2,
              "waiting: it is tried each time all the same")


def test_pools(tap):
    """Pools alone, all with the same work."""
    _, out, guest = measured("--guest=2", "--only=pool", "--runs=3",
                             "--ms=50")
    tap.equal({words[0] for words in guest.commands},
              {"/drover/bin/pool-perf"}, "waiting: pools alone")
    tap.equal({words[words.index("-C") + 1] for words in guest.commands[1:]},
              {"4711"}, "waiting: all do the work that was measured once")
    tap.ok("  MISSED pool, periodic: P50 of spin: 55.0 against 50.0, 1.10"
           in out and "  met    pool, idle: 0.00 per mille" in out
           and "  met    pool, periodic: CPU per request of sleep" in out
           and "barrier" not in out, "waiting: goals of pools", out)


def test_whole(tap):
    """All of it: foreign loops, and the best peer of them."""
    _, out, guest = measured("--guest=2", "--runs=1", "--ms=10")
    threads = {int(words[1]) for words in guest.commands
               if words[0].endswith("barrier-perf")}
    tap.equal(threads, {1, 2, 3, 4, 8}, "waiting: counts of threads")
    tap.ok("128 x 64 products a node, 2 foreign loops\n" in out
           and "barrier, foreign loops: time of spin: 204.0 against 200.0" in
           out, "waiting: foreign loops, against the best peer", out)


TESTS = test_crowd, test_failure, test_pools, test_whole
