# SPDX-License-Identifier: GPL-2.0-only
"""Runs the kernel's kselftest, with all our tests in it, in guests."""

import dataclasses
import os
import sys

import expected
import tap
from result import FAIL, PASS, SKIP, Result
from suites import HOST_ONLY, TOP, suites

sys.path.append(os.path.join(TOP, "tools", "vm"))

# pylint: disable=wrong-import-position
from guest import (Guest, GuestComplained, GuestError,  # noqa: E402
                   GuestTimeout)

KSELFTEST = "/drover/kselftest"

#: Mainline's own collection, of which a result is one program.
MAINLINE = "futex/functional"

#: Mainline's programs wait for a sleeper by usleep(), which an emulator on a
#: loaded machine can outlast: one that fails is run again, so many times. Those
#: that the series adds to the collection are not.
TRIES = 3
SERIES = frozenset(f"{MAINLINE}:futex_requeue_{name}"
                   for name in ("abi", "order", "race", "waiters"))

#: Seconds that one collection may take, emulated on a loaded machine.
LIMIT = 900

#: Where requeue is missing, two of mainline's programs wait for ever, as
#: expected-failures says: seconds that they get. Another that needs more gets
#: them when it is run again.
MAINLINE_LIMIT = {"none": 10}

#: The tests that are about the kernel.
KERNEL_TESTS = frozenset({MAINLINE, "futex", "stress"})
#: What asks for requeue, and does something else where there is none.
REQUEUERS = frozenset({"cond", "pthread"})


@dataclasses.dataclass(frozen=True)
class Machine:
    """A guest to be: what to boot, and how."""
    variant: str
    cpus: int
    mem: int
    accel: str
    build: str

    @property
    def label(self):
        """How it is called in results and file names."""
        return f"{self.variant}-{self.cpus}cpu"

    def boot(self, log, kselftest=True):
        """The running guest, with or without the kselftest folder in it."""
        folder = os.path.join(self.build, "kselftest")
        return Guest(variant=self.variant, cpus=self.cpus, mem=self.mem,
                     accel=self.accel, build=self.build, log=log,
                     additions=[(folder, KSELFTEST)] if kselftest else [])


@dataclasses.dataclass(frozen=True)
class Job:
    """One command for a guest, which prints what run_kselftest.sh does."""
    name: str
    command: str
    limit: int = LIMIT
    again: str = ""     # runs the one program whose name is put behind it


def collections(build):
    """What can be run in guests: mainline's own tests first, then ours."""
    return (MAINLINE, *(suite.label for suite in suites(build)
                        if suite.object not in HOST_ONLY))


def share(machine, variants, cpus):
    """Which collections `make check` runs in one of its guests: testing.rst.

    variants, cpus: those of all its guests.
    """
    last = machine.variant == variants[-1]
    many = machine.cpus > min(cpus)
    found = set(KERNEL_TESTS)
    if machine.variant == "none" and many:
        found.remove(MAINLINE)
    if last or (machine.variant == "none" and not many):
        found |= REQUEUERS
    if last and not many:
        found.update(collections(machine.build))
    return found


def jobs(build, variant, limit=None, arguments=None):
    """All collections, mainline's first.

    limit: seconds for one program, if not those that its settings say;
    arguments: {program: its arguments}.
    """
    quick = MAINLINE_LIMIT.get(variant, limit)
    extra = {f"KSELFTEST_{program.upper()}_ARGS": text
             for program, text in (arguments or {}).items()}
    yield Job(MAINLINE, _command(f"{_option(quick)}-c {MAINLINE}", variant, {}),
              again=_command(f"{_option(limit)}-t ", variant, {}))
    for suite in suites(build):
        if suite.object in HOST_ONLY:
            continue
        yield Job(suite.label,
                  _command(f"{_option(limit)}-c drover-{suite.object}",
                           variant, {**suite.environment(), **extra}))


def _option(limit):
    return f"-o {limit} " if limit else ""


def _command(selection, variant, environment):
    settings = dict(environment, DROVER_VARIANT=variant)
    words = " ".join(f"{key}='{value}'" for key, value in settings.items())
    return (f"ln -sfn /proc/self/fd/1 /dev/stdout;"
            f" {words} {KSELFTEST}/run_kselftest.sh {selection}")


def run(machine, work, logs, progress=lambda name: None, known=()):
    """Boot a machine and run the jobs in it; returns the results.

    What breaks the guest is a failure, and ends it with the jobs undone.
    known: names of tests that need not be tried again when they fail.
    """
    os.makedirs(logs, exist_ok=True)
    path = os.path.join(logs, machine.label)
    results = []
    with open(path + ".output", "wb") as output:
        try:
            with machine.boot(path + ".kernel-log") as guest:
                for job in work:
                    progress(job.name)
                    results += [_again(guest, job, result, output, known)
                                for result in _run_job(guest, job, output)]
        except GuestError as error:
            results.append(broken(machine.label, error))
            output.write(error.output)
    return results


def run_and_compare(machine, logs, progress, only=None):
    """Collections, or all, in one guest, held against the known failures."""
    work = [job for job in jobs(machine.build, machine.variant)
            if not only or job.name in only]
    known = {}
    if MAINLINE in (job.name for job in work):
        known = expected.read(machine.variant)
    results = run(machine, work, logs, progress, known)
    return expected.compare(results, known)


def _run_job(guest, job, output):
    """The results of one job; raises if the guest is no more."""
    trouble = []
    try:
        status, text = guest.run(job.command, timeout=job.limit)
        if status:
            trouble.append(Result(job.name, FAIL, f"exit status {status}",
                                  _tail(text)))
    except (GuestComplained, GuestTimeout) as error:
        text = error.output
        trouble.append(broken(job.name, error))
    output.write(text)
    output.flush()
    results = kselftest_results(text.decode(errors="replace"), job.name)
    if not results and not trouble:
        trouble.append(Result(job.name, FAIL, "no test was run"))
    return results + trouble


def once_more(job, name):
    """One program of a job, by itself."""
    return Job(job.name, job.again + name)


def may_have_been_hurried(result, job):
    """Whether it may have failed for want of time: see TRIES.

    To be run again in a machine with -icount, whose clock counts instructions
    and so waits for a kernel that is slow.
    """
    return (job.again and result.status == FAIL
            and result.name.startswith(f"{job.name}:")
            and result.name not in SERIES)


def _again(guest, job, result, output, known):
    """The result, or a pass where the same program passes when repeated."""
    if (not job.again or result.status != FAIL
            or result.name in SERIES.union(known)):
        return result
    for attempt in range(2, TRIES + 1):
        for repeated in _run_job(guest, once_more(job, result.name), output):
            if repeated.name == result.name and repeated.status == PASS:
                return Result(result.name, PASS, f"at attempt {attempt}")
    return result


def broken(name, error):
    """The result that stands for a guest's panic, hang or complaint."""
    return Result(name, FAIL, str(error), _tail(error.log.encode()))


def _tail(text):
    return tuple(text.decode(errors="replace").splitlines()[-tap.TAIL:])


def kselftest_results(text, job_name):
    """The results of all programs in the output of run_kselftest.sh."""
    results = []
    for collection, program, status, inner in tap.split_kselftest(text):
        if collection == MAINLINE:
            results.append(_mainline_result(f"{collection}:{program}",
                                            status, inner))
            continue
        name = f"{job_name}/{program}"
        if status is None:
            tail = tuple(inner.splitlines()[-tap.TAIL:])
            results.append(Result(name, FAIL, "ran out of time", tail))
        else:
            results += tap.parse(name, inner, status)
    return results


def _mainline_result(name, status, inner):
    """One program, which may report inside what its status does not say."""
    lines = inner.splitlines()
    if status == tap.EXIT_SKIP:
        return Result(name, SKIP, tap.last_comment(lines))
    failed = [line for line in lines if line.startswith("not ok")]
    if status == 0 and not failed:
        return Result(name, PASS)
    why = "ran out of time" if status is None else f"exit status {status}"
    return Result(name, FAIL, failed[0] if failed and status == 0 else why,
                  tuple(lines[-tap.TAIL:]))
