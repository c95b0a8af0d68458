# SPDX-License-Identifier: GPL-2.0-only
"""Builds kernels with a mutant of the mover, and runs tests in them.

What a test is: "differential", which compares the kernel with mainline, or a
program of selftests/, which runs on two CPUs.
"""

import os
import re
import shutil
import sys

from mutants import TOP
from hunt import Broken, command

sys.path.append(os.path.join(TOP, "tools", "vm"))

# pylint: disable=wrong-import-position
import kernel_log  # noqa: E402

BUILD = os.path.abspath(os.environ.get("O") or os.path.join(TOP, "build"))
KERNEL = os.environ.get("K") or os.path.join(BUILD, "kernel")
MUTANTS = os.path.join(BUILD, "mutants-kernel")
SOUND = "sound"     # the kernel as it is
DEFAULT = "drover"
TOO_LONG = 1800
#: In several processes: which futexes share a bucket is drawn anew in each.
CALLS = "20000"

#: Lines that say what is wrong, the most telling ones first: that the guest
#: hangs, for the panic that ends it is the runner's; what the kernel says; what
#: became of the guest; and what a test says.
WRONG = (re.compile(r"the guest hangs|took more than"),
         kernel_log.FAILURE,
         re.compile(r"the guest died"),
         re.compile(r"# in sequence|exit status"),
         re.compile(r"not ok|Bail out!"))

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


def make_folder(*name):
    """An empty folder of build/mutants-kernel."""
    folder = os.path.join(MUTANTS, *name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def build(variant, folder, mutant=None):
    """The kernel with a mutation, or without, in that folder."""
    # Newer than any object, whatever was built before.
    shutil.copytree(os.path.join(KERNEL, "src", "kernel", "futex"),
                    os.path.join(folder, "kernel", "futex"),
                    copy_function=shutil.copyfile)
    if mutant:
        mutant.apply(folder)
    status, text = run(
        ["kernel/scripts/mutant", os.path.join(folder, "kernel", "futex"),
         os.path.join(folder, "bzImage"), variant], folder)
    if status:
        raise Broken("does not build:\n" + text)


def run_test(folder, test):
    """What is wrong by this test: a few words, or None if it passes."""
    image = os.path.join(folder, "bzImage")
    if test == "differential":
        status, text = run(
            ["selftests/differential/run", "mainline", image,
             f"--calls={CALLS}"], folder)
    else:
        status, text = run(
            ["tools/vm/vm", f"--kernel={image}", "--cpus=2",
             f"--build={BUILD}", "--", "DROVER_VARIANT=drover"
             f" timeout 300 /drover/selftests/{test}"], folder)
    if not status:
        return None
    if (test == "differential" and status == 2) or NOT_BOOTED.search(text):
        raise Broken(f"{test}: a guest does not boot, or mainline fails\n"
                     + text[-2000:])
    lines = text.splitlines()
    for pattern in WRONG:
        for line in lines:
            if pattern.search(line):
                return line.lstrip("# ")
    raise Broken(f"{test}: exit status {status}, and does not say why")


class Hunter:
    """Makes mutants of one variant."""

    def __init__(self, variant):
        self.variant = variant

    def _folder(self, name):
        return make_folder(*([] if self.variant == DEFAULT
                             else [self.variant]), name)

    def _sound(self):
        """A folder with the kernel as it is, built the same way.

        That of a checker takes long to link, so it is what make built.
        """
        folder = self._folder(SOUND)
        if self.variant == DEFAULT:
            build(self.variant, folder)
            return folder
        for name in ("bzImage", "config"):
            os.symlink(os.path.join(KERNEL, self.variant, name),
                       os.path.join(folder, name))
        return folder

    def prepare(self, tests):
        """See that the kernel as it is passes all tests."""
        folder = self._sound()
        for test in tests:
            wrong = run_test(folder, test)
            if wrong:
                raise Broken(f"the kernel as it is fails {test}: {wrong}\n"
                             f"see {folder}/output")

    def hunt(self, mutant, _):
        """The test that caught a mutant, and how; or None."""
        folder = self._folder(mutant.name)
        build(self.variant, folder, mutant)
        for test in mutant.tests:
            wrong = run_test(folder, test)
            if wrong:
                return f"caught by {test}: {wrong}"
        return None
