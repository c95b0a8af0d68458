# SPDX-License-Identifier: MIT
"""Mutation tests of the kernel's requeue: break one thing at a time.

    tools/mutants-kernel            all mutants
    tools/mutants-kernel NAME...    those
    tools/mutants-kernel --list     name them, with their tests
    tools/mutants-kernel --checker=rt ...
                    those for a kernel that checks itself: debug, kcsan or rt

The mutants are in kernel/mutants, or in selftests/mutants/rt. For each,
kernel/futex of the variant drover (rt) is copied to build/mutants-kernel/NAME/
(rt/NAME/), changed, compiled and linked with what is built already, and
booted. A test is one of the series, futex_requeue_..., or a program of
selftests/, on two CPUs; "differential", which compares the kernel with
mainline; or in user space, and then no kernel is built, "agree", which
compares with mainline's mover. First the kernel as it is goes through the
same tests, and must pass. Prints TAP; what a test said is left in the file
output of that folder.
"""

import os
import re
import shutil

from drover_tools.mutants.hunt import (TOO_LONG, Broken, command, hunt,
                                       parser, read_all)
from drover_tools.tree import BUILD, TOP
from drover_tools.vm import kernel_log

KERNEL = os.environ.get("K") or os.path.join(BUILD, "kernel")
#: In several processes: which futexes share a bucket is drawn anew in each.
CALLS = "20000"

#: Lines that say what is wrong, the most telling ones first: that the guest
#: hangs, for the panic that ends it is the runner's; what the kernel says;
#: what became of the guest; and what a test says.
WRONG = (re.compile(r"the guest hangs|took more than"),
         kernel_log.FAILURE,
         re.compile(r"the guest died"),
         re.compile(r"the (movers|worlds) differ|ERROR: AddressSanitizer"),
         re.compile(r"# in sequence|exit status|fails at line"),
         re.compile(r"not ok|Bail out!"))

#: Tests in user space, and the files of the kernel that they are made of.
IN_USER_SPACE = {"agree": "agree " + CALLS}

#: A guest that has not come to any test.
NOT_BOOTED = re.compile(r"the guest (died \(booting|hangs \(not ready)")


def run(arguments, folder):
    """Run a command, which has to end; (exit status, output)."""
    status, text = command(arguments, folder, TOO_LONG,
                           env={"K": KERNEL, "O": BUILD,
                                "JOBS": str(os.cpu_count() or 1)})
    if status is None:
        raise Broken(f"{arguments[0]} does not end")
    return status, text


def link(variant, folder, tests, mutant=None):
    """The kernel with a mutation, or without, for the tests, in the folder."""
    source = os.path.join(folder, "kernel", "futex")
    # Newer than any object, whatever was built before.
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
    """What is wrong by this test: a few words, or None if it passes."""
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
    raise Broken(f"{test}: exit status {status}, and does not say why")


def main():
    """The exit status."""
    options = parser(__doc__)
    options.add_argument("--checker", choices=("debug", "kcsan", "rt"))
    options = options.parse_args()
    variant = options.checker or "drover"

    def build(name, tests, mutant=None):
        folder = os.path.join(BUILD, "mutants-kernel", options.checker or "",
                              name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        if options.checker and not mutant:
            # It takes long to link: what make has built.
            for image in ("bzImage", "config"):
                os.symlink(os.path.join(KERNEL, variant, image),
                           os.path.join(folder, image))
        else:
            link(variant, folder, tests, mutant)
        return folder

    lists = (os.path.join(TOP, "selftests", "mutants", options.checker)
             if options.checker else os.path.join(TOP, "kernel", "mutants"))
    return hunt(options, read_all(lists), build, wrong_by)
