# SPDX-License-Identifier: MIT
"""The ordered lists of stages of which the checks consist.

A stage has a name, an estimate of its seconds, and a function that returns
results.
"""

import dataclasses
import os
import shutil
import subprocess
import sys
from typing import Callable

from drover_tools import tests
from drover_tools.check import (guests, host, results as tap, shape, source,
                                static)
from drover_tools.check.results import FAIL, PASS, Result
from drover_tools.tree import TOP

#: Kernels that check themselves: about how many seconds their tests take, and
#: the mutants that are made for them.
CHECKERS = {"debug": (600, 200), "kcsan": (400, 100), "rt": (180, 100)}

#: The mixed stress of the library and of the drop-in; each makes half of the
#: pairs.
STRESS = ("stress/cond_mixed", "pthread/cond_mixed")
#: Pairs of a wait and a wakeup on this machine; each guest makes PAIRS divided
#: by GUEST_SHARE.
PAIRS = 10 ** 8
GUEST_SHARE = 100
#: The number of random programs of streams, and of calls to two kernels.
PROGRAMS = 10 ** 5
CALLS = 10 ** 6
#: Seconds for each million pairs, on a machine of two CPUs and in its guests.
SECONDS = {"host": 15, "guest": 500}
#: Seconds for which the explorer runs schedules.
EXPLORE = 3600
#: A guest without progress for so many seconds hangs. A busy host may let an
#: emulated CPU stand still for a minute.
GUEST_PATIENCE = 600

#: The targets that measure the kernel. Each has a name, an estimate of its
#: seconds, and the arguments of make.
KERNEL_BENCHES = (("cost", 30, ("-C", "kernel", "cost")),
                  ("bench", 600, ("kernel-bench",)),
                  ("bench-smp", 1200, ("-C", "kernel", "bench-smp")))

SANITIZERS = ("thread", "address", "undefined")
#: Seconds for a program that is a stage, and for one in `make check-long`.
LIMIT, LONG_LIMIT = 900, 24 * 3600


@dataclasses.dataclass(frozen=True)
class Stage:
    """One part of the check.

    one_cpu: the stage needs only one CPU, and may run beside others
    """
    name: str
    seconds: int
    run: Callable
    one_cpu: bool = False


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a run; see main.py.

    slow: the run takes hours: its length is printed, and limits are longer
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

    @property
    def logs(self):
        """The folder of the guests' logs."""
        return os.path.join(self.results, "guests")

    def machine(self, variant, cpus):
        """A guest with these settings."""
        return guests.Machine(variant, cpus, self.mem, self.accel, self.build)

    def machines(self):
        """Guests of every variant with every number of CPUs."""
        return [self.machine(variant, cpus)
                for cpus in self.cpus for variant in self.variants]

    def output(self, name):
        """The file for the output of a test of that name."""
        return os.path.join(self.results, name.replace("/", "-") + ".output")


def all_stages(settings):
    """The stages of `make check` in order; the short ones come first."""
    if not settings.sanitizer:
        yield Stage("static", 5, static.run_checks)
        yield Stage("shape", 10, lambda: listed(shape.measure(settings.build)))
        for name, seconds in tests.FAST.items():
            yield _test_stage(settings, name, seconds)
    for name in source.objects(settings.build):
        yield Stage(f"host/{name}", 60 if name == "explore" else 20,
                    lambda name=name:
                    run_object(settings, name))
    if not settings.fast and not settings.sanitizer:
        yield from _guest_stages(settings)


def _test_stage(settings, name, seconds, one_cpu=False):
    """The stage of a test of a tool."""
    return _tool_stage(settings, f"tools/{name}", seconds, "tools/selftest",
                       name, one_cpu=one_cpu)


def _guest_stages(settings):
    for name, seconds in tests.SLOW.items():
        yield _test_stage(settings, name, seconds, one_cpu=True)
    yield _tool_stage(settings, "programs", 10, "tools/check-programs",
                      one_cpu=True)
    yield _tool_stage(settings, "models", 30, "tools/models",
                      "--quick", "--jobs=1", one_cpu=True)
    yield Stage("broken", 10, lambda: guests.check_broken(
        settings.machine(settings.variants[-1], 1), settings.logs),
                one_cpu=True)
    build = f"--build={settings.build}"
    yield _tool_stage(settings, "counts", 50, shutil.which("make"), "-s",
                      "-C", TOP, "counts", f"O={settings.build}",
                      "COUNTS=--tap", one_cpu=True)
    if {"mainline", "drover"} <= set(settings.variants):
        yield _tool_stage(settings, "differential", 20,
                          "tools/differential", build, "--seed=7",
                          one_cpu=True)
    for machine in settings.machines():
        share = guests.share(machine, settings.variants, settings.cpus)
        yield Stage(f"guest/{machine.label}",
                    15 * len(share) * min(machine.cpus, 2),
                    lambda machine=machine, share=share:
                    guests.run_and_compare(machine, settings.logs, share),
                    one_cpu=machine.cpus == 1)


def listed(results):
    """Print the results, whose names have figures for the reader."""
    print("\r\033[K" * sys.stdout.isatty()
          + "\n".join(result.name for result in results), flush=True)
    return results


def run_tool(settings, name, program, *options):
    """The results of a program that prints TAP."""
    return host.run_test(name, [os.path.join(TOP, program), *options],
                         LONG_LIMIT if settings.slow else LIMIT,
                         settings.output(name),
                         {"DROVER_VARIANT": "host"})


def _tool_stage(settings, name, seconds, program, *options, one_cpu=False):
    return Stage(name, seconds, lambda: run_tool(
        settings, name, program, *options), one_cpu)


def run_object(settings, name):
    """The results of all programs of one object, on this machine."""
    environment = {"DROVER_VARIANT": "host",
                   "UBSAN_OPTIONS": "halt_on_error=1"}
    if name == "pthread" and settings.sanitizer == "address":
        # The tests load the drop-in, but ASan's library has to come first.
        found = subprocess.run([os.environ.get("CC", "gcc"),
                                "-print-file-name=libasan.so"], check=True,
                               capture_output=True, text=True)
        environment["LD_PRELOAD"] = found.stdout.strip()
    results = []
    for path in source.programs(settings.build, name):
        test = f"{name}/{os.path.basename(path)}"
        results += host.run_test(test, [path], settings.limit,
                                 settings.output("host/" + test), environment)
    return results or [Result(name, FAIL, "no test was run")]


def checker_stages(settings, kinds):
    """The stages of each kernel that checks itself, and of its mutants."""
    for kind in kinds:
        seconds, mutants = CHECKERS[kind]
        machine = settings.machine(kind, guests.CHECKER_CPUS)
        yield Stage(f"checker/{kind}", seconds,
                    lambda machine=machine: guests.run_checker(
                        machine, settings.logs))
        yield _tool_stage(settings, f"mutants/{kind}", mutants,
                          "tools/mutants-kernel", f"--checker={kind}")


def long_stages(settings, pairs):
    """The stages of `make check-long`; the short ones come first."""
    programs = os.path.join(settings.build, "selftests")
    yield _tool_stage(settings, "programs", 300, "tools/check-programs",
                      "--all")
    for sanitizer in SANITIZERS:
        yield Stage(f"sanitizer/{sanitizer}", 420,
                    lambda sanitizer=sanitizer:
                    _make(settings, "check", f"SAN={sanitizer}"))
    for name, seconds in tests.LONG.items():
        yield _test_stage(settings, name, seconds)
    yield _tool_stage(settings, "mutants/library", 900, "tools/mutants")
    yield _tool_stage(settings, "mutants/explore", 2400, "tools/mutants",
                      "--explore")
    yield _tool_stage(settings, "explore", EXPLORE,
                      os.path.join(programs, "explore", "schedules"),
                      f"seconds={EXPLORE}", "bound=3")
    for program, seconds, option in (
            ("stream/debug_random_programs", 60, f"programs={PROGRAMS}"),
            ("pool/tasks_once", 180 * pairs // PAIRS, f"tasks={pairs}")):
        yield _tool_stage(settings, f"host/{program}", seconds,
                          os.path.join(programs, program), option)
    if {"mainline", "drover"} <= set(settings.variants):
        yield _tool_stage(settings, "differential", 600,
                          "tools/differential",
                          f"--build={settings.build}", f"--calls={CALLS}")
        yield _tool_stage(settings, "mutants/kernel", 1200,
                          "tools/mutants-kernel")
        for name, seconds, words in KERNEL_BENCHES:
            yield Stage(f"kernel/{name}", seconds,
                        lambda words=words: _make(settings, *words))
    yield _tool_stage(settings, "differential/6.12", 600,
                      "tools/differential", f"--build={settings.build}",
                      f"--calls={CALLS // 10}", "mainline-6.12", "drover-6.12")
    for machine in settings.machines():
        yield Stage(f"kselftest/{machine.label}", 150 * min(machine.cpus, 2),
                    lambda machine=machine:
                    guests.run_and_compare(machine, settings.logs))
    for variant in settings.variants:
        machine = settings.machine(variant, guests.CHECKER_CPUS)
        yield Stage(f"guest/{machine.label}",
                    SECONDS["guest"] * pairs // GUEST_SHARE // 10 ** 6,
                    lambda machine=machine: guests.run(
                        machine, [guests.program_job(
                            machine.variant, program,
                            _stress_options(pairs // GUEST_SHARE)
                            + f" patience={GUEST_PATIENCE}", LONG_LIMIT)
                                  for program in STRESS],
                        settings.logs))
    for program in STRESS:
        yield _tool_stage(settings, f"host/{program}",
                          SECONDS["host"] * pairs // len(STRESS) // 10 ** 6,
                          os.path.join(programs, program),
                          *_stress_options(pairs).split())
    yield _tool_stage(settings, "models", 900, "tools/models",
                      "--long")


def _stress_options(pairs):
    return f"pairs={pairs // len(STRESS)} progress=10"


def _make(settings, *words):
    """One result for all that a command of make does."""
    title = " ".join(["make", *words])
    command = ["make", "-C", TOP, "-s", "--no-print-directory", *words]
    status, output, _ = host.run(command, LONG_LIMIT,
                                 settings.output("-".join(words)),
                                 {"MAKEFLAGS": ""})
    lines = output.splitlines()
    if status:
        failed = [line for line in lines if line.startswith("  FAILED")]
        return [Result(title, FAIL, f"exit status {status}",
                       tuple(failed) or tap.tail(output))]
    return [Result(title, PASS, lines[-1])]
