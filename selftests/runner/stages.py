# SPDX-License-Identifier: GPL-2.0-only
"""What the checks consist of: ordered lists of stages.

A stage has a name, a guess at how many seconds it takes, and a function that
is given a way to report progress and returns results.
"""

import dataclasses
import os
import subprocess
import sys
from typing import Callable

import guests
import host
import results as tap
import source
import static
from results import FAIL, PASS, Result
from source import TOP

#: Programs that test one folder: TAP on stdout, like any test.
FOLDER_TESTS = ("selftests/runner/selftest", "tools/bench/selftest",
                "tools/drover/selftest", "tools/examples/selftest",
                "tools/programs/selftest", "tools/report/selftest")
#: Those that boot guests or take minutes, and are not in check-fast, with
#: about how many seconds each takes.
SLOW_FOLDER_TESTS = {"tools/vm/selftest": 130, "selftests/programs/run": 10,
                     "kernel/selftest": 40, "tools/release/selftest": 60}
FOLDER_LIMIT = 900

#: Kernels that check themselves, and about how many seconds their tests and
#: the mutants made for them take.
CHECKERS = {"debug": (600, 200), "kcsan": (400, 100), "rt": (180, 100)}

#: The mixed stress of the library and of the drop-in, which share the pairs.
STRESS = ("stress/cond_mixed", "pthread/cond_mixed")
#: Pairs of a wait and a wakeup, and of these one in so many in each guest.
PAIRS = 10 ** 8
GUEST_SHARE = 100
#: Random programs of streams, and calls to two kernels.
PROGRAMS = 10 ** 5
CALLS = 10 ** 6
#: Seconds for each million pairs, on two CPUs and emulated on them.
SECONDS = {"host": 15, "guest": 500}
#: Seconds without progress that are a hang: a host with other things to do may
#: let an emulated CPU stand still for a minute.
GUEST_PATIENCE = 600

SANITIZERS = ("thread", "address", "undefined")
LIMIT = 24 * 3600


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

    @property
    def logs(self):
        """Where guests leave their logs."""
        return os.path.join(self.results, "guests")

    def machine(self, variant, cpus):
        """A guest."""
        return guests.Machine(variant, cpus, self.mem, self.accel, self.build)

    def machines(self):
        """Guests of every variant with every number of CPUs."""
        return [self.machine(variant, cpus)
                for cpus in self.cpus for variant in self.variants]

    def keep(self, name, output):
        """All that something has printed, for who wants to see it."""
        path = os.path.join(self.results, name.replace("/", "-") + ".output")
        os.makedirs(self.results, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(output)


def all_stages(settings):
    """The stages of `make check`, in order; the cheap ones come first."""
    if not settings.sanitizer:
        yield Stage("static", 5, lambda progress: static.run())
        yield Stage("budgets", 1, lambda progress: listed(run_tool(
            "selftests/budgets/run", f"--build={settings.build}")))
    for path in FOLDER_TESTS:
        yield from _folder_stages(settings, path, 5)
    for name in source.objects(settings.build):
        yield Stage(f"host/{name}", 20, lambda progress, name=name:
                    run_object(settings, name, progress))
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
    yield Stage("broken", 10, lambda progress: guests.check_broken(
        settings.machine(settings.variants[-1], 1), settings.logs, progress),
                one_cpu=True)
    build = f"--build={settings.build}"
    yield Stage("counts", 50, lambda progress: run_tool(
        "tools/report/measure", "counts", "--tap", build), one_cpu=True)
    if {"mainline", "drover"} <= set(settings.variants):
        yield Stage("differential", 20, lambda progress: run_tool(
            "selftests/differential/run", build), one_cpu=True)
    for machine in settings.machines():
        share = guests.share(machine, settings.variants, settings.cpus)
        yield Stage(f"guest/{machine.label}",
                    15 * len(share) * min(machine.cpus, 2),
                    lambda progress, machine=machine, share=share:
                    guests.run_and_compare(machine, settings.logs, progress,
                                           share),
                    one_cpu=machine.cpus == 1)


def listed(results):
    """Results that are for the reader, too."""
    print("\r\033[K" * sys.stdout.isatty()
          + "\n".join(result.name for result in results), flush=True)
    return results


def run_tool(path, *options):
    """The results of the test that a folder brings itself."""
    return host.run_test(os.path.dirname(path),
                         [os.path.join(TOP, path), *options],
                         FOLDER_LIMIT)[0]


def run_object(settings, name, progress):
    """The results of all programs of one object, on this machine."""
    environment = {"DROVER_VARIANT": "host",
                   "UBSAN_OPTIONS": "halt_on_error=1"}
    if name == "pthread" and settings.sanitizer == "address":
        # They load the drop-in, and this library insists on being first.
        found = subprocess.run([os.environ.get("CC", "gcc"),
                                "-print-file-name=libasan.so"], check=True,
                               capture_output=True, text=True)
        environment["LD_PRELOAD"] = found.stdout.strip()
    results = []
    for path in source.programs(settings.build, name):
        test = f"{name}/{os.path.basename(path)}"
        progress(test)
        found, output = host.run_test(test, [path], settings.limit,
                                      environment)
        results += found
        settings.keep("host/" + test, output)
    return results or [Result(name, FAIL, "no test was run")]


def checker_stages(settings, kinds):
    """A guest of each kernel that checks itself, and the mutants for it."""
    for kind in kinds:
        seconds, mutants = CHECKERS[kind]
        machine = settings.machine(kind, guests.CHECKER_CPUS)
        yield Stage(f"checker/{kind}", seconds,
                    lambda progress, machine=machine: guests.run_checker(
                        machine, settings.logs, progress))
        yield _tool_stage(settings, f"mutants/{kind}", mutants,
                          "mutants/run-kernel", f"--checker={kind}")


def long_stages(settings, pairs):
    """All stages of `make check-long`, the short ones first."""
    yield _tool_stage(settings, "programs", 300, "programs/run", "--all")
    for sanitizer in SANITIZERS:
        yield Stage(f"sanitizer/{sanitizer}", 420,
                    lambda progress, sanitizer=sanitizer:
                    _check_with(settings, sanitizer, progress))
    yield _tool_stage(settings, "mutants/library", 900, "mutants/run")
    for program, seconds, option in (
            ("stream/debug_random_programs", 60, f"programs={PROGRAMS}"),
            ("pool/tasks_once", 180 * pairs // PAIRS, f"tasks={pairs}")):
        # An optional part of the library may not be there.
        if os.path.exists(_program(settings, program)):
            yield _host_stage(settings, program, seconds, option)
    if {"mainline", "drover"} <= set(settings.variants):
        yield _tool_stage(settings, "differential", 600, "differential/run",
                          f"--build={settings.build}", f"--calls={CALLS}")
        yield _tool_stage(settings, "mutants/kernel", 1200,
                          "mutants/run-kernel")
    yield _tool_stage(settings, "differential/6.12", 600, "differential/run",
                      "mainline-6.12", "drover-6.12",
                      f"--build={settings.build}", f"--calls={CALLS // 10}")
    for machine in settings.machines():
        yield Stage(f"kselftest/{machine.label}", 150 * min(machine.cpus, 2),
                    lambda progress, machine=machine:
                    guests.run_and_compare(machine, settings.logs, progress))
    for variant in settings.variants:
        machine = settings.machine(variant, guests.CHECKER_CPUS)
        yield Stage(f"guest/{machine.label}",
                    SECONDS["guest"] * pairs // GUEST_SHARE // 10 ** 6,
                    lambda progress, machine=machine: guests.run(
                        machine, [guests.program_job(
                            machine.variant, program,
                            _stress_options(pairs // GUEST_SHARE)
                            + f" patience={GUEST_PATIENCE}", LIMIT)
                                  for program in STRESS],
                        settings.logs, progress))
    for program in STRESS:
        yield _host_stage(settings, program,
                          SECONDS["host"] * pairs // len(STRESS) // 10 ** 6,
                          *_stress_options(pairs).split())
    yield _tool_stage(settings, "models", 900, "models/run", "--long")


def _tool_stage(settings, name, seconds, program, *options):
    """A program under selftests/ that prints TAP."""
    return _program_stage(settings, name, seconds,
                          os.path.join(TOP, "selftests", program), *options)


def _host_stage(settings, program, seconds, *options):
    """A test program."""
    return _program_stage(settings, f"host/{program}", seconds,
                          _program(settings, program), *options)


def _program_stage(settings, name, seconds, *command):
    def run(progress):
        results, output = host.run_test(name, command, LIMIT,
                                        {"DROVER_VARIANT": "host"}, progress)
        settings.keep(name, output)
        return results
    return Stage(name, seconds, run)


def _program(settings, program):
    return os.path.join(settings.build, "selftests", program)


def _stress_options(pairs):
    return f"pairs={pairs // len(STRESS)} progress=10"


def _check_with(settings, sanitizer, progress):
    """All tests in a build of their own: one result."""
    title = f"make check SAN={sanitizer}"
    command = ["make", "-C", TOP, "-s", "--no-print-directory", "check",
               f"SAN={sanitizer}"]
    status, output, _ = host.run(command, LIMIT, {"MAKEFLAGS": ""},
                                 note=progress)
    settings.keep("sanitizer/" + sanitizer, output)
    lines = output.splitlines()
    if status:
        failed = [line for line in lines if line.startswith("  FAILED")]
        return [Result(title, FAIL, f"exit status {status}",
                       tuple(failed) or tap.tail(output))]
    return [Result(title, PASS, lines[-1])]
