# SPDX-License-Identifier: MIT
"""Run the project's tests, on this machine and in guests.

`make check`, `make check-fast` and `make check-long` build everything and then
run this. The last line is "N passed, N failed, N skipped"; exit status 1 if
any failed. Results are left as TAP, with all output, in build/results/check,
or check-long, or, with --checkers, check-kernel-debug.
"""

import argparse
import collections
import itertools
import os
import signal
import sys
import time

from drover_tools.check import host, stages as lists, static
from drover_tools.check.results import FAIL, KNOWN, summary, write_tap
from drover_tools.runs.process import adopt_orphans
from drover_tools.signals import leave_on
from drover_tools.tree import TOP

#: How many times longer a test may take in a build with a sanitizer.
SLOWNESS = 4
DEFAULT_BUILD = os.path.join(TOP, "build")


def cpu_counts(text):
    """"1 4" as (1, 4)"""
    return tuple(map(int, text.split()))


def parse():
    """The command line; the Makefile passes its settings by environment."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true",
                        help="only what needs no guest")
    parser.add_argument("--long", action="store_true",
                        help="what takes hours, instead of the rest")
    parser.add_argument("--pairs", type=int, default=lists.PAIRS, metavar="N",
                        help="with --long: of wait and wakeup on the host,"
                        f" 1/{lists.GUEST_SHARE} of them in each guest, and"
                        " tasks of a pool (%(default)s)")
    parser.add_argument("--only", metavar="NAME",
                        help="one static check (format, flake8, ...), or"
                        " the stages whose names begin so (host/futex)")
    parser.add_argument("--list", action="store_true",
                        help="name the stages and the static checks")
    parser.add_argument("--checkers", metavar="KIND", nargs="+",
                        choices=sorted(lists.CHECKERS), default=[],
                        help="guests whose kernels check themselves, instead")
    parser.add_argument("--cpus", type=cpu_counts, default="1 4",
                        help="of guests: each variant is booted with each"
                        ' number ("%(default)s")')
    parser.add_argument("--mem", type=int, default=2048, metavar="MB",
                        help="of each guest (%(default)s)")
    parser.add_argument("--accel", default=os.environ.get("ACCEL") or "auto",
                        choices=("auto", "kvm", "tcg"))
    parser.add_argument("--limit", type=int, default=120, metavar="S",
                        help="seconds that one test program may run on this"
                        " machine (%(default)s)")
    return parser.parse_args()


def folder_of(options):
    """Where results are left; a shorter stress says nothing of the time."""
    if options.checkers:
        return "check-kernel-debug"
    if not options.long:
        return "check"
    return "check-long" + (f"-{options.pairs}" if options.pairs != lists.PAIRS
                           else "")


def settings_of(options):
    """Where and what to test."""
    build = os.path.abspath(os.environ.get("O") or DEFAULT_BUILD)
    san = os.environ.get("SAN")
    variants = os.environ.get("KERNEL_VARIANTS") or "none mainline drover"
    return lists.Settings(
        build=build,
        results=os.path.join(build, "results", folder_of(options)),
        variants=tuple(variants.split()),
        cpus=options.cpus,
        mem=options.mem,
        accel=options.accel,
        limit=options.limit * (SLOWNESS if san else 1),
        sanitizer=san,
        fast=options.fast,
        slow=bool(options.long or options.checkers))


def choose(options, settings):
    """The stages to run."""
    if options.only in static.checks():
        return [lists.Stage(f"static/{options.only}", 2,
                            lambda: static.run_checks(options.only))]
    if options.long:
        stages = lists.long_stages(settings, options.pairs)
    elif options.checkers:
        stages = lists.checker_stages(settings, options.checkers)
    else:
        stages = lists.all_stages(settings)
    return [stage for stage in stages
            if stage.name.startswith(options.only or "")]


class Progress:
    """What a run shows: on a terminal, one line that is overwritten.

    Stages may run side by side, in processes of their own: then the line is
    that of the last to start. end() is called in the first process.
    """

    def __init__(self, stages):
        self._nr_stages = len(stages)
        self._nr_ended = 0

    def begin(self, stage):
        """A stage starts."""
        if sys.stdout.isatty():
            print("\r\033[K" + self._title(stage), end="", flush=True)

    def end(self, stage, results, took):
        """A stage has ended: what it came to, and each failure."""
        counts = collections.Counter(result.status for result in results)
        known = f", {counts[KNOWN]} {KNOWN}" if counts[KNOWN] else ""
        print("\r\033[K" * sys.stdout.isatty() + f"{self._title(stage)}:"
              f" {summary(counts)}{known} ({took:.0f} s)")
        self._nr_ended += 1
        for result in results:
            if result.status == FAIL:
                why = f": {result.why}" if result.why else ""
                print(f"  FAILED {result.name}{why}",
                      *(f"    {line}" for line in result.details), sep="\n")
        sys.stdout.flush()

    def _title(self, stage):
        return f"[{self._nr_ended + 1}/{self._nr_stages}] {stage.name}"


def batches(stages):
    """Stages that may run side by side, with others of their kind.

    The longest ones begin: at the end no CPU waits long for the other.
    """
    for one_cpu, group in itertools.groupby(stages, lambda stage:
                                            stage.one_cpu):
        if one_cpu:
            yield sorted(group, key=lambda stage: -stage.seconds)
        else:
            yield from ([stage] for stage in group)


def run(stages, settings):
    """Run the stages in order; returns all results."""
    progress = Progress(stages)
    if settings.slow:
        whole = sum(stage.seconds for stage in stages)
        print(f"It will take about {whole // 60} min:",
              *(f"{stage.name}: {stage.seconds} s" for stage in stages),
              sep="\n  ", flush=True)
    everything = []

    def run_one(stage):
        adopt_orphans()
        progress.begin(stage)
        start = time.monotonic()
        return stage.run(), time.monotonic() - start

    for batch in batches(stages):
        for stage, (results, took) in host.side_by_side(run_one, batch):
            progress.end(stage, results, took)
            write_tap(os.path.join(settings.results,
                                   stage.name.replace("/", "-") + ".tap"),
                      results)
            everything += results
    return everything


def main():
    """Run what was asked for; the exit status."""
    leave_on(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    options = parse()
    settings = settings_of(options)
    stages = choose(options, settings)
    if options.list:
        print("stages:", *(stage.name for stage in stages), sep="\n  ")
        print("static checks:", *static.checks(), sep="\n  ")
        return 0
    if not stages:
        print(f"check: nothing is called {options.only!r}; see --list",
              file=sys.stderr)
        return 2
    results = run(stages, settings)
    counts = collections.Counter(result.status for result in results)
    if counts[KNOWN]:
        print(f"{counts[KNOWN]} {KNOWN}: above a budget, or listed in"
              " selftests/expected-failures")
    print(f"Results: {settings.results}")
    print(summary(counts))
    return 1 if counts[FAIL] or not results else 0
