# SPDX-License-Identifier: MIT
"""Run the project's tests, on this machine and in guests.

`make check`, `make check-fast` and `make check-long` build everything and then
run this. The last line is "N passed, N failed, N skipped"; the exit status is
1 if any test failed. The results, as TAP, and all output are written to
build/results/check, or to check-long, or with --checkers to
check-kernel-debug.
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

#: A test may take so many times longer in a build with a sanitizer.
SLOWNESS = 4
DEFAULT_BUILD = os.path.join(TOP, "build")


def cpu_counts(text):
    """"1 4" as (1, 4)"""
    return tuple(map(int, text.split()))


def parse():
    """The command line; the Makefile's settings come in the environment."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true",
                        help="run only the stages that need no guest")
    parser.add_argument("--long", action="store_true",
                        help="run the stages that take hours, and no others")
    parser.add_argument("--pairs", type=int, default=lists.PAIRS, metavar="N",
                        help="with --long: make N pairs of a wait and a wakeup"
                        f" on this machine, N/{lists.GUEST_SHARE} in each"
                        " guest, and N tasks of a pool (%(default)s)")
    parser.add_argument("--only", metavar="NAME",
                        help="run one static check (format, flake8, ...), or"
                        " the stages whose names begin with NAME (host/futex)")
    parser.add_argument("--list", action="store_true",
                        help="list the stages and the static checks")
    parser.add_argument("--checkers", metavar="KIND", nargs="+",
                        choices=sorted(lists.CHECKERS), default=[],
                        help="run only guests whose kernels check themselves")
    parser.add_argument("--cpus", type=cpu_counts, default="1 4",
                        help="boot each variant with each of these numbers of"
                        ' CPUs ("%(default)s")')
    parser.add_argument("--mem", type=int, default=2048, metavar="MB",
                        help="memory of each guest (%(default)s)")
    parser.add_argument("--accel", default=os.environ.get("ACCEL") or "auto",
                        choices=("auto", "kvm", "tcg"))
    parser.add_argument("--limit", type=int, default=600, metavar="S",
                        help="seconds that one test program may run on this"
                        " machine (%(default)s)")
    return parser.parse_args()


def folder_of(options):
    """The folder of results; another number of pairs has another folder."""
    if options.checkers:
        return "check-kernel-debug"
    if not options.long:
        return "check"
    return "check-long" + (f"-{options.pairs}" if options.pairs != lists.PAIRS
                           else "")


def settings_of(options):
    """The settings of a run, from options and environment."""
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
    """Choose the stages to run."""
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
    """The progress of a run; on a terminal, in one line that is overwritten.

    Stages may run at the same time, in processes of their own: then the line
    names the stage that started last. end() is called in the first process.
    """

    def __init__(self, stages):
        self._nr_stages = len(stages)
        self._nr_ended = 0

    def begin(self, stage):
        """A stage starts."""
        if sys.stdout.isatty():
            print("\r\033[K" + self._title(stage), end="", flush=True)

    def end(self, stage, results, took):
        """A stage has ended: print its results, and each failure."""
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
    """Groups of stages; those of one group may run at the same time.

    The longest stages of a group begin: so the CPUs end nearly together.
    """
    for one_cpu, group in itertools.groupby(stages, lambda stage:
                                            stage.one_cpu):
        if one_cpu:
            yield sorted(group, key=lambda stage: -stage.seconds)
        else:
            yield from ([stage] for stage in group)


def run(stages, settings):
    """Run the stages in order. Return: all results."""
    progress = Progress(stages)
    if settings.slow:
        whole = sum(stage.seconds for stage in stages)
        print(f"These stages take about {whole // 60} min:",
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
    """Run the chosen stages. Return: the exit status."""
    leave_on(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    options = parse()
    settings = settings_of(options)
    stages = choose(options, settings)
    if options.list:
        print("stages:", *(stage.name for stage in stages), sep="\n  ")
        print("static checks:", *static.checks(), sep="\n  ")
        return 0
    if not stages:
        print(f"check: no stage or check has the name {options.only!r}; see"
              " --list", file=sys.stderr)
        return 2
    results = run(stages, settings)
    counts = collections.Counter(result.status for result in results)
    if counts[KNOWN]:
        print(f"{counts[KNOWN]} {KNOWN}: above a budget, or listed in"
              " selftests/expected-failures")
    print(f"Results: {settings.results}")
    print(summary(counts))
    return 1 if counts[FAIL] or not results else 0
