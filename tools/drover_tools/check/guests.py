# SPDX-License-Identifier: MIT
"""Runs the kernel's kselftest, which includes all tests of ours, in guests."""

import dataclasses
import os

from drover_tools.check import results as tap, source
from drover_tools.check.results import FAIL, PASS, SKIP, Result
from drover_tools.vm.guest import (Guest, GuestComplained, GuestError,
                                   GuestTimeout)

KSELFTEST = "/drover/kselftest"

#: These tests are of the library and not of the kernel, so a guest shows
#: nothing that the host does not.
HOST_ONLY = ("attack", "explore")

#: Mainline's own collection, in which each program is one result.
MAINLINE = "futex/functional"

#: Mainline's programs give a thread time to sleep by usleep(), which may be
#: too short for an emulator on a loaded machine. So a program that fails is
#: run again, up to so many times in all. The programs that the series adds to
#: the collection do not use usleep() so, and get no second run.
TRIES = 3
SERIES = frozenset(f"{MAINLINE}:futex_requeue_{name}"
                   for name in ("abi", "hash", "order", "pi_waiter", "race",
                                "waiters"))

#: Seconds that one collection may take, emulated on a loaded machine.
LIMIT = 900

#: Seconds for one program of a collection; the kernel's runner would give 45.
EMULATED_LIMIT = 300

#: Seconds for one program on a kernel without requeue: two of mainline's
#: programs wait there for ever, as expected-failures says. A program that
#: needs more time gets it when it is run again.
MAINLINE_LIMIT = {"none": 10}

#: The collections that test the kernel.
KERNEL_TESTS = frozenset({MAINLINE, "futex", "stress"})
#: The collections whose code behaves differently on a kernel without requeue.
REQUEUERS = frozenset({"cond", "pthread"})


@dataclasses.dataclass(frozen=True)
class Machine:
    """A guest that can be booted: its kernel, and its hardware."""
    variant: str
    cpus: int
    mem: int
    accel: str
    build: str

    @property
    def label(self):
        """The name of the guest in results and in file names."""
        return f"{self.variant}-{self.cpus}cpu"

    def boot(self, log):
        """Boot the guest, with the kselftest folder in it."""
        folder = os.path.join(self.build, "kselftest")
        return Guest(variant=self.variant, cpus=self.cpus, mem=self.mem,
                     accel=self.accel, build=self.build, log=log,
                     additions=[(folder, KSELFTEST)])


@dataclasses.dataclass(frozen=True)
class Job:
    """One command for a guest, with the output format of run_kselftest.sh."""
    name: str
    command: str
    limit: int = LIMIT
    again: str = ""     # with a program's name appended, runs that program


def collections(build):
    """The collections for guests: mainline's own first, then ours."""
    return (MAINLINE, *(name for name in source.objects(build)
                        if name not in HOST_ONLY))


def share(machine, variants, cpus):
    """The collections that `make check` runs in one guest: testing.rst.

    variants, cpus: of all guests
    """
    last = machine.variant == variants[-1]
    many = machine.cpus > min(cpus)
    found = set(KERNEL_TESTS)
    if last:
        found.update(("cond",) if many else collections(machine.build))
    elif machine.variant == "none":
        found = found - {MAINLINE} if many else found | REQUEUERS
    return found


def _command(variant, seconds, selection, arguments=None):
    """The command for a selection of tests.

    seconds: for each program, if not what the program's settings say
    """
    words = " ".join(f"KSELFTEST_{program.upper()}_ARGS='{text}'"
                     for program, text in (arguments or {}).items())
    option = f"-o {seconds} " if seconds else ""
    return (f"ln -sfn /proc/self/fd/1 /dev/stdout; {words}"
            f" DROVER_VARIANT={variant}"
            f" {KSELFTEST}/run_kselftest.sh -f {option}{selection}")


def jobs(build, variant, limit=None, arguments=None):
    """The jobs of all collections, mainline's first.

    limit: seconds for each program, if not what its settings say; arguments:
    {program: its arguments}
    """
    for name in collections(build):
        if name == MAINLINE:
            quick = MAINLINE_LIMIT.get(variant, limit or EMULATED_LIMIT)
            yield Job(name, _command(variant, quick, f"-c {name}"),
                      again=_command(variant, limit, "-t "))
        else:
            yield Job(name, _command(variant, limit, f"-c drover-{name}",
                                     arguments))


def program_job(variant, program, arguments, limit):
    """The job of one program."""
    folder, name = program.split("/")
    return Job(folder, _command(variant, limit, f"-t drover-{folder}:{name}",
                                {name: arguments}), limit)


def run(machine, work, logs, known=()):
    """Boot a machine and run the jobs in it. Return: the results.

    A job that breaks the guest is a failure, and the jobs after it are not
    run. known: names of tests that are not run again when they fail.
    """
    os.makedirs(logs, exist_ok=True)
    path = os.path.join(logs, machine.label)
    found = []
    with open(path + ".output", "wb") as output:
        try:
            with machine.boot(path + ".kernel-log") as guest:
                for job in work:
                    found += [_again(guest, job, result, output, known)
                              for result in _run_job(guest, job, output)]
        except GuestError as error:
            found.append(broken(machine.label, error))
            output.write(error.output)
    return found


def run_and_compare(machine, logs, only=None):
    """Run collections, or all, in one guest; compare with known failures."""
    work = [job for job in jobs(machine.build, machine.variant)
            if not only or job.name in only]
    known = {}
    if MAINLINE in (job.name for job in work):
        known = tap.expected(machine.variant)
    return tap.compare(run(machine, work, logs, known), known)


def _run_job(guest, job, output):
    """The results of one job; raises GuestError if the guest has died."""
    trouble = []
    try:
        status, text = guest.run(job.command, timeout=job.limit)
        if status:
            trouble.append(Result(job.name, FAIL, f"exit status {status}",
                                  tap.tail(text.decode(errors="replace"))))
    except (GuestComplained, GuestTimeout) as error:
        text = error.output
        trouble.append(broken(job.name, error))
    output.write(text)
    output.flush()
    found = kselftest_results(text.decode(errors="replace"), job.name)
    if not found and not trouble:
        trouble.append(Result(job.name, FAIL, "no test was run"))
    return found + trouble


def once_more(job, name):
    """The job that runs one program of a job again."""
    return Job(job.name, job.again + name)


def may_have_been_hurried(result, job):
    """Whether a program may have failed because usleep() was too short: TRIES.
    """
    return (job.again and result.status == FAIL
            and result.name.startswith(f"{job.name}:")
            and result.name not in SERIES)


def _again(guest, job, result, output, known):
    """The result, or a pass if the same program passes when it runs again."""
    if not may_have_been_hurried(result, job) or result.name in known:
        return result
    for attempt in range(2, TRIES + 1):
        for repeated in _run_job(guest, once_more(job, result.name), output):
            if repeated.name == result.name and repeated.status == PASS:
                return Result(result.name, PASS, f"at attempt {attempt}")
    return result


def broken(name, error):
    """The result that stands for a guest's panic, hang or complaint."""
    return Result(name, FAIL, str(error), tap.tail(error.log))


def kselftest_results(text, job_name):
    """The results of all programs in the output of run_kselftest.sh."""
    found = []
    for collection, program, status, inner in tap.split_kselftest(text):
        name = f"{job_name}/{program}"
        if collection == MAINLINE:
            found.append(_mainline_result(f"{collection}:{program}",
                                          status, inner))
        elif status is None:
            found.append(Result(name, FAIL, "ran out of time",
                                tap.tail(inner)))
        else:
            found += tap.parse(name, inner, status)
    return found


def _mainline_result(name, status, inner):
    """The result of one program, whose output may say more than its status."""
    lines = inner.splitlines()
    if status == tap.EXIT_SKIP:
        return Result(name, SKIP, tap.last_comment(lines))
    failed = [number for number, line in enumerate(lines)
              if line.startswith("not ok")]
    if status == 0 and not failed:
        return Result(name, PASS)
    why = "ran out of time" if status is None else f"exit status {status}"
    if failed:
        why += ", " + lines[failed[0]]
        lines = lines[:failed[0] + 1]
    return Result(name, FAIL, why, tap.tail("\n".join(lines)))


# Guests that are broken on purpose: the check has to find that.

def _breaks(kind, action, limit=60):
    """A job that breaks something, and then reports success like a test."""
    return Job(f"broken {kind}",
               f"{action}; echo 'ok 1 selftests: broken: {kind}'", limit)


#: The jobs that break something, and a word that the failure's reason has to
#: have. The panic comes last, as nothing runs in the guest after it.
BROKEN = {
    "warning": (_breaks("warning", "echo 'WARNING: broken' >/dev/kmsg"),
                "WARNING"),
    "hang": (_breaks("hang", "sleep 9999", 5), "more than"),
    "failure": (Job("broken failure", "echo '# 1..1';"
                    " echo '# not ok 1 broken';"
                    " echo 'not ok 1 selftests: broken: failure # exit=1'"),
                ""),
    "silence": (Job("broken silence", "true"), "no test was run"),
    "panic": (_breaks("panic", "echo c >/proc/sysrq-trigger"), "panic"),
}


def check_broken(machine, logs):
    """One result for each kind: was it found, and for the right reason?"""
    found = run(machine, [job for job, _ in BROKEN.values()],
                os.path.join(logs, "broken"))
    checked = []
    for kind, (_, reason) in BROKEN.items():
        right = any(result.status == FAIL and kind in result.name + result.why
                    and reason in result.why for result in found)
        checked.append(Result(
            f"broken {kind} is found", PASS if right else FAIL, "",
            () if right else tuple(f"{result.name}: {result.status}:"
                                   f" {result.why}" for result in found)))
    return checked


# Kernels that check themselves; see kernel/configs/. If such a kernel reports
# a fault in its log, the guest has failed.

CHECKER_CPUS = 4

#: Tests that the kernel finds all CPUs, which without ACPI it may not.
ALL_CPUS = Job("cpus", f"[ $(nproc) = {CHECKER_CPUS} ] && echo '# 1..1' &&"
               f" echo '# ok 1 all {CHECKER_CPUS} CPUs run' &&"
               " echo 'ok 1 selftests: checkers: cpus'")

#: The size of the stress test; seconds for a program, in an emulated kernel
#: that checks itself; and seconds for a collection.
CHECKER_ARGUMENTS = {"cond_mixed": "pairs=20000 patience=600"}
CHECKER_TEST_LIMIT = 900
CHECKER_LIMIT = 2700


def run_checker(machine, logs):
    """Run the tests of the kernel in a guest whose kernel checks itself.

    A program that may have been hurried runs again in a guest with -icount,
    whose clock counts instructions and so waits for a slow kernel.
    """
    tests = jobs(machine.build, "drover", CHECKER_TEST_LIMIT,
                 CHECKER_ARGUMENTS)
    work = [ALL_CPUS, *(dataclasses.replace(job, limit=CHECKER_LIMIT)
                        for job in tests if job.name in KERNEL_TESTS)]
    known = tap.expected("drover")
    found = run(machine, work, logs, known)
    again = [once_more(job, result.name) for result in found
             for job in work if may_have_been_hurried(result, job)
             and result.name not in known]
    if again:
        calm = dataclasses.replace(machine, cpus=1, accel="icount")
        found = replaced(found, run(calm, again, logs))
    return tap.compare(found, known)


def replaced(found, repeated):
    """The results, each replaced by a repeated one of the same name."""
    names = {result.name for result in repeated}
    return [result for result in found if result.name not in names] + [
        dataclasses.replace(result, why=result.why or "with -icount")
        for result in repeated]
