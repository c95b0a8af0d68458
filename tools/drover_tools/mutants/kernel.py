# SPDX-License-Identifier: MIT
"""Mutation tests of the kernel's requeue: break one thing at a time.

    tools/mutants-kernel            all mutants
    tools/mutants-kernel NAME...    these mutants
    tools/mutants-kernel --list     list them, with their tests
    tools/mutants-kernel --checker=rt ...
                    the mutants for a kernel that checks itself: debug, kcsan
                    or rt

The mutants are in kernel/mutants, or in selftests/mutants/rt. For each, the
folder kernel/futex of the variant drover (rt) is copied to
build/mutants-kernel/NAME/ (rt/NAME/), changed, and compiled; it is linked with
the rest of the built kernel, which then boots. A test is one of the series,
futex_requeue_..., or a program of selftests/, on two CPUs; or "differential",
which compares the kernel with mainline; or "agree", which compares with
mainline's mover in user space and needs no kernel. First the unchanged kernel
runs the same tests, and must pass. The output is TAP; the output of the tests
is in the file output of that folder.
"""

import os
import re
import shutil

from drover_tools.mutants.hunt import (TOO_LONG, Broken, command, hunt,
                                       parser, read_all)
from drover_tools.tree import BUILD, TOP
from drover_tools.vm import kernel_log

KERNEL = os.environ.get("K") or os.path.join(BUILD, "kernel")
#: The calls are made in several processes: in each of them other futexes share
#: a bucket.
CALLS = "20000"

#: Lines that name the fault, the most telling ones first: that the guest
#: hangs, as then the runner has caused its panic; reports of the kernel; the
#: death of the guest; and failures of a test.
WRONG = (re.compile(r"the guest hangs|took more than"),
         kernel_log.FAILURE,
         re.compile(r"the guest died"),
         re.compile(r"the (movers|worlds) differ|ERROR: AddressSanitizer"),
         re.compile(r"# in sequence|exit status|fails at line"),
         re.compile(r"not ok|Bail out!"))

#: Tests in user space, and the commands in kernel/scripts that run them.
IN_USER_SPACE = {"agree": "agree " + CALLS}

#: A guest that has not reached any test.
NOT_BOOTED = re.compile(r"the guest (died \(booting|hangs \(not ready)")


def run(arguments, folder):
    """Run a command, which has to end. Return: (exit status, output)."""
    status, text = command(arguments, folder, TOO_LONG,
                           env={"K": KERNEL, "O": BUILD,
                                "JOBS": str(os.cpu_count() or 1)})
    if status is None:
        raise Broken(f"{arguments[0]} does not end")
    return status, text


def link(variant, folder, tests, mutant=None):
    """Build a kernel in the folder, with a mutant or without."""
    source = os.path.join(folder, "kernel", "futex")
    # copyfile() makes files that are newer than any object.
    shutil.copytree(os.path.join(KERNEL, "src", "kernel", "futex"), source,
                    copy_function=shutil.copyfile)
    if mutant:
        mutant.apply(folder)
    if set(tests) <= set(IN_USER_SPACE):
        return
    status, text = run(["kernel/scripts/mutant", source,
                        os.path.join(folder, "bzImage"), variant], folder)
    if status:
        raise Broken("does not build:\n" + text)


def wrong_by(folder, test, _seconds):
    """The fault that a test finds, in a few words, or None if it passes."""
    image = os.path.join(folder, "bzImage")
    if test == "differential":
        status, text = run(
            ["tools/differential", "mainline", image,
             f"--calls={CALLS}"], folder)
    elif test in IN_USER_SPACE:
        status, text = run(
            ["env", f"FUTEX={os.path.join(folder, 'kernel', 'futex')}",
             *f"kernel/scripts/{IN_USER_SPACE[test]}".split()], folder)
    else:
        path = f"/drover/selftests/{test}"
        if "/" not in test:
            path = f"/kselftest/futex/functional/{test}"
        status, text = run(
            ["tools/vm", f"--kernel={image}", "--cpus=2",
             f"--build={BUILD}",
             f"--add={os.path.join(KERNEL, 'kselftest')}:/kselftest",
             "--", f"DROVER_VARIANT=drover timeout 300 {path}"], folder)
    if not status:
        return None
    if (test == "differential" and status == 2) or NOT_BOOTED.search(text):
        raise Broken(f"{test}: a guest does not boot, or mainline fails\n"
                     + text[-2000:])
    if test in IN_USER_SPACE and not 0 <= status < 128:
        return f"{test} ends by a signal"
    for pattern in WRONG:
        for line in filter(pattern.search, text.splitlines()):
            return line.lstrip("# ")
    raise Broken(f"{test}: exit status {status}, without a reason")


def main():
    """The exit status."""
    options = parser(__doc__)
    options.add_argument("--checker", choices=("debug", "kcsan", "rt"),
                         help="run the mutants for this kernel, which checks"
                         " itself")
    options = options.parse_args()
    variant = options.checker or "drover"

    def build(name, tests, mutant=None):
        folder = os.path.join(BUILD, "mutants-kernel", options.checker or "",
                              name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        if options.checker and not mutant:
            # Linking takes long, and make has built this kernel already.
            for image in ("bzImage", "config"):
                os.symlink(os.path.join(KERNEL, variant, image),
                           os.path.join(folder, image))
        else:
            link(variant, folder, tests, mutant)
        return folder

    lists = (os.path.join(TOP, "selftests", "mutants", options.checker)
             if options.checker else os.path.join(TOP, "kernel", "mutants"))
    return hunt(options, read_all(lists), build, wrong_by)
