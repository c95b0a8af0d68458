# SPDX-License-Identifier: GPL-2.0-only
"""What `make check-long` consists of: what `make check` has no time for."""

import os
import sys

import guests
import host
import tap
from result import FAIL, PASS, Result
from stages import Stage, machines
from suites import TOP

sys.path.append(os.path.join(TOP, "tools", "vm"))

# pylint: disable=wrong-import-position
from guest import GuestError, GuestTimeout  # noqa: E402

#: The mixed stress of the library and of the drop-in, which share the pairs.
STRESS = ("stress/cond_mixed", "pthread/cond_mixed")
#: Pairs of a wait and a wakeup, and of these one in so many in each guest.
PAIRS = 10 ** 8
GUEST_SHARE = 100
GUEST_CPUS = 4
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


def long_stages(settings, pairs):
    """All stages, the short ones first."""
    yield _tool_stage(settings, "programs", 300, "programs/run", "--all")
    for sanitizer in SANITIZERS:
        yield Stage(f"sanitizer/{sanitizer}", 420,
                    lambda progress, sanitizer=sanitizer:
                    _check_with(settings, sanitizer, progress))
    yield _tool_stage(settings, "mutants/library", 900,
                      "mutants/run")
    for program, seconds, option in (
            ("stream/debug_random_programs", 60, f"programs={PROGRAMS}"),
            ("pool/tasks_once", 180 * pairs // PAIRS, f"tasks={pairs}")):
        # An optional part of the library may not be there.
        if os.path.exists(_program(settings, program)):
            yield Stage(f"host/{program}", seconds,
                        lambda progress, program=program, option=option:
                        _run_host(settings, program, [option], progress))
    if {"mainline", "drover"} <= set(settings.variants):
        yield _tool_stage(settings, "differential", 600, "differential/run",
                          f"--build={settings.build}", f"--calls={CALLS}")
        yield _tool_stage(settings, "mutants/kernel", 1200,
                          "mutants/run-kernel")
    for machine in machines(settings):
        yield Stage(f"kselftest/{machine.label}", 150 * min(machine.cpus, 2),
                    lambda progress, machine=machine:
                    guests.run_and_compare(
                        machine, os.path.join(settings.results, "guests"),
                        progress))
    for variant in settings.variants:
        machine = guests.Machine(variant, GUEST_CPUS, settings.mem,
                                 settings.accel, settings.build)
        seconds = SECONDS["guest"] * pairs // GUEST_SHARE // 10 ** 6
        yield Stage(f"guest/{machine.label}", seconds,
                    lambda progress, machine=machine:
                    _stress_guest(settings, machine, pairs // GUEST_SHARE,
                                  progress))
    for program in STRESS:
        yield Stage(f"host/{program}",
                    SECONDS["host"] * pairs // len(STRESS) // 10 ** 6,
                    lambda progress, program=program:
                    _run_host(settings, program, _stress_options(pairs),
                              progress))
    yield _tool_stage(settings, "models", 900, "models/run", "--long")


def _keep(settings, name, output):
    """All that something has printed, for who wants to see it."""
    path = os.path.join(settings.results, name.replace("/", "-") + ".output")
    os.makedirs(settings.results, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(output)


def _tool_stage(settings, name, seconds, program, *options):
    """A program under selftests/ that prints TAP."""
    def run(progress):
        path = os.path.join(TOP, "selftests", program)
        results, output = host.run_test(name, [path, *options], LIMIT,
                                        note=progress)
        _keep(settings, name, output)
        return results
    return Stage(name, seconds, run)


def _stress_options(pairs):
    return [f"pairs={pairs // len(STRESS)}", "progress=10"]


def _program(settings, program):
    return os.path.join(settings.build, "selftests", program)


def _run_host(settings, program, options, progress):
    command = [_program(settings, program), *options]
    results, output = host.run_test(program, command, LIMIT,
                                    {"DROVER_VARIANT": "host"}, progress)
    _keep(settings, "host/" + program, output)
    return results


def _stress_guest(settings, machine, pairs, progress):
    """One guest for both programs; what breaks it ends it."""
    results = []
    log = os.path.join(settings.results, f"guest-{machine.label}.kernel-log")
    os.makedirs(settings.results, exist_ok=True)
    try:
        with machine.boot(log, kselftest=False) as guest:
            for program in STRESS:
                options = [*_stress_options(pairs),
                           f"patience={GUEST_PATIENCE}"]
                results += _stress_in(guest, settings, machine, program,
                                      options, progress)
    except GuestError as error:
        results.append(guests.broken(machine.label, error))
    return results


def _stress_in(guest, settings, machine, program, options, progress):
    name = f"{machine.label}/{program}"
    command = " ".join([f"DROVER_VARIANT={machine.variant}",
                        f"/drover/selftests/{program}", *options])
    pieces = []

    def show(data):
        pieces.append(data)
        lines = b"".join(pieces[-2:]).decode(errors="replace").split("\n")
        if len(lines) > 1:
            progress(lines[-2].lstrip("# "))

    try:
        status, _ = guest.run(command, timeout=LIMIT, sink=show)
    except GuestTimeout:
        return [Result(name, FAIL, f"ran longer than {LIMIT} s")]
    finally:
        output = b"".join(pieces).decode(errors="replace")
        _keep(settings, "guest/" + name, output)
    return tap.parse(name, output, status)


def _check_with(settings, sanitizer, progress):
    """All tests in a build of their own: one result."""
    title = f"make check SAN={sanitizer}"
    command = ["make", "-C", TOP, "-s", "--no-print-directory", "check",
               f"SAN={sanitizer}"]
    status, output, _ = host.run(command, LIMIT, {"MAKEFLAGS": ""},
                                 note=progress)
    _keep(settings, "sanitizer/" + sanitizer, output)
    lines = output.splitlines()
    if status:
        failed = [line for line in lines if line.startswith("  FAILED")]
        return [Result(title, FAIL, f"exit status {status}",
                       tuple(failed or lines[-tap.TAIL:]))]
    return [Result(title, PASS, lines[-1])]
