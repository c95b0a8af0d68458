# SPDX-License-Identifier: GPL-2.0-only
"""What `make check` consists of: an ordered list of stages.

A stage has a name, a guess at how many seconds it takes, and a function that
is given a way to report progress and returns results.
"""

import dataclasses
import os
import subprocess
import sys
from typing import Callable

import broken
import contract
import guests
import host
import static
from result import FAIL, Result
from suites import TOP, programs, suites

#: Programs that test one folder: TAP on stdout, like any test.
FOLDER_TESTS = ("selftests/runner/selftest", "tools/bench/selftest",
                "tools/drover/selftest", "tools/examples/selftest",
                "tools/programs/selftest", "tools/report/selftest")
#: Those that boot guests or take minutes, and are not in check-fast, with
#: about how many seconds each takes.
SLOW_FOLDER_TESTS = {"tools/vm/selftest": 130, "selftests/programs/run": 10,
                     "kernel/selftest": 40}
FOLDER_LIMIT = 900


@dataclasses.dataclass(frozen=True)
class Stage:
    """One part of the check.

    one_cpu: it needs no more than one CPU, and may run beside others.
    """
    name: str
    seconds: int
    run: Callable
    one_cpu: bool = False


@dataclasses.dataclass(frozen=True)
class Settings:
    """Where and what to test; see run-check.

    slow: it takes long enough to say how long, and what goes on.
    """
    build: str
    results: str
    variants: tuple
    cpus: tuple
    mem: int
    accel: str
    limit: int
    sanitizer: str
    fast: bool
    slow: bool


def all_stages(settings):
    """The stages of one run, in order; the cheap ones come first."""
    if not settings.sanitizer:
        yield Stage("static", 5, lambda progress: static.run())
        yield Stage("contract", 1, lambda progress: listed(contract.run()))
        yield Stage("budgets", 1, lambda progress: listed(run_tool(
            "selftests/budgets/run", f"--build={settings.build}")))
    for path in FOLDER_TESTS:
        yield from _folder_stages(settings, path, 5)
    for suite in suites(settings.build):
        yield Stage(f"host/{suite.label}", 20,
                    lambda progress, suite=suite:
                    run_suite(settings, suite, progress))
    if not settings.fast and not settings.sanitizer:
        yield from _guest_stages(settings)


def _folder_stages(settings, path, seconds, one_cpu=False):
    if not settings.sanitizer and os.path.exists(os.path.join(TOP, path)):
        yield Stage(os.path.dirname(path), seconds,
                    lambda progress: run_tool(path), one_cpu=one_cpu)


def _guest_stages(settings):
    for path, seconds in SLOW_FOLDER_TESTS.items():
        yield from _folder_stages(settings, path, seconds, one_cpu=True)
    yield Stage("models", 30, lambda progress: [
        *run_tool("selftests/models/selftest"),
        *run_tool("selftests/models/run", "--quick", "--jobs=1")],
                one_cpu=True)
    machine = guests.Machine(settings.variants[-1], 1, settings.mem,
                             settings.accel, settings.build)
    yield Stage("broken", 10, lambda progress:
                broken.check(machine, _logs(settings), progress),
                one_cpu=True)
    yield Stage("counts", 50, lambda progress: run_tool(
        "tools/report/measure", "counts", "--tap",
        f"--build={settings.build}"),
                one_cpu=True)
    if {"mainline", "drover"} <= set(settings.variants):
        yield Stage("differential", 20, lambda progress: run_tool(
            "selftests/differential/run", f"--build={settings.build}"),
                    one_cpu=True)
    for machine in machines(settings):
        share = guests.share(machine, settings.variants, settings.cpus)
        yield Stage(f"guest/{machine.label}",
                    15 * len(share) * min(machine.cpus, 2),
                    lambda progress, machine=machine, share=share:
                    guests.run_and_compare(machine, _logs(settings),
                                           progress, share),
                    one_cpu=machine.cpus == 1)


def machines(settings):
    """Guests of every variant with every number of CPUs."""
    return [guests.Machine(variant, cpus, settings.mem, settings.accel,
                           settings.build)
            for cpus in settings.cpus for variant in settings.variants]


def _logs(settings):
    return os.path.join(settings.results, "guests")


def listed(results):
    """Results that are for the reader, too."""
    print("\r\033[K" * sys.stdout.isatty()
          + "\n".join(result.name for result in results), flush=True)
    return results


def run_tool(path, *options):
    """The results of the test that a folder brings itself."""
    results, _ = host.run_test(os.path.dirname(path),
                               [os.path.join(TOP, path), *options],
                               FOLDER_LIMIT)
    return results


def run_suite(settings, suite, progress):
    """The results of all programs of one suite, on this machine."""
    logs = os.path.join(settings.results, "host", suite.label)
    os.makedirs(logs, exist_ok=True)
    environment = dict(
        suite.environment(_first_library(settings.sanitizer)),
        DROVER_VARIANT="host", UBSAN_OPTIONS="halt_on_error=1")
    results = []
    for path in programs(settings.build, suite.object):
        name = f"{suite.label}/{os.path.basename(path)}"
        progress(name)
        found, output = host.run_test(name, [path], settings.limit,
                                      environment)
        results += found
        with open(os.path.join(logs, os.path.basename(path) + ".output"),
                  "w", encoding="utf-8") as file:
            file.write(output)
    if not results:
        results = [Result(suite.label, FAIL, "no test was run")]
    return results


def _first_library(sanitizer):
    """AddressSanitizer's library, which must be loaded before all others."""
    if sanitizer != "address":
        return None
    found = subprocess.run([os.environ.get("CC", "gcc"),
                            "-print-file-name=libasan.so"], check=True,
                           capture_output=True, text=True)
    return found.stdout.strip()
