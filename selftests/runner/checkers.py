# SPDX-License-Identifier: GPL-2.0-only
"""What `make check-kernel-debug` consists of: kernels that check themselves.

Each is the variant drover with a kind of checkers, see kernel/configs/. What
one reports is a line of the kernel log that fails the guest. That it would
report is seen by mutants made for it.
"""

import dataclasses
import os

import guests
import host
from stages import Stage
from suites import TOP

#: The kernels, and about how many seconds their tests and their mutants take.
KINDS = {"debug": (600, 200), "kcsan": (400, 100), "rt": (180, 100)}
CPUS = 4

#: Without ACPI it is not a matter of course that they are found.
ALL_CPUS = guests.Job("cpus", f"[ $(nproc) = {CPUS} ] && echo '# 1..1' &&"
                      f" echo '# ok 1 all {CPUS} CPUs run' &&"
                      " echo 'ok 1 selftests: checkers: cpus'")

#: How much of the stress.
ARGUMENTS = {"cond_mixed": "pairs=20000 patience=600"}

#: Seconds for a program and for a collection, emulated and checked.
TEST_LIMIT = 900
LIMIT = 2700

MUTANTS = os.path.join(TOP, "selftests", "mutants", "run-kernel")


def stages(settings, kinds):
    """A guest of each, and the mutants for it."""
    for kind in kinds:
        seconds, mutants = KINDS[kind]
        machine = guests.Machine(kind, CPUS, settings.mem, settings.accel,
                                 settings.build)
        yield Stage(f"checker/{kind}", seconds,
                    lambda progress, machine=machine:
                    _run(machine, settings, progress))
        yield Stage(f"mutants/{kind}", mutants,
                    lambda progress, kind=kind: host.run_test(
                        f"mutants/{kind}", [MUTANTS, f"--checker={kind}"],
                        LIMIT, note=progress)[0])


def _run(machine, settings, progress):
    tests = guests.jobs(settings.build, "drover", TEST_LIMIT, ARGUMENTS)
    work = [ALL_CPUS, *(dataclasses.replace(job, limit=LIMIT)
                        for job in tests if job.name in guests.KERNEL_TESTS)]
    logs = os.path.join(settings.results, "guests")
    results = guests.run(machine, work, logs, progress)
    again = [guests.once_more(job, result.name) for result in results
             for job in work if guests.may_have_been_hurried(result, job)]
    if not again:
        return results
    calm = dataclasses.replace(machine, cpus=1, accel="icount")
    return replaced(results, guests.run(calm, again, logs, progress))


def replaced(results, repeated):
    """The results, where repeated ones stand for those of the same name."""
    names = {result.name for result in repeated}
    return [result for result in results if result.name not in names] + [
        dataclasses.replace(result, why=result.why or "by a clock that waits")
        for result in repeated]
