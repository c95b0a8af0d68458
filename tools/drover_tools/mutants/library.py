# SPDX-License-Identifier: MIT
"""Mutation tests: break the library in one way at a time; a test must see it.

    tools/mutants               all mutants
    tools/mutants NAME...       those; NAME may have wildcards
    tools/mutants --list        name them, with their tests

The mutants are in the files *.mutants in selftests/mutants. For each, the
library is copied to build/mutants/NAME/, changed, and built with the tests
that are said to catch it. First the library as it is goes through the same
tests, and must pass. Prints TAP; what a test said is left in
build/mutants/NAME/output.
"""

import os
import shutil

from drover_tools.mutants.hunt import (SOUND, TOO_LONG, Broken, command, hunt,
                                       parser)
from drover_tools.tree import BUILD, TOP

SELFTESTS = os.path.join(TOP, "selftests")
FOLDER = os.path.join(BUILD, "mutants")
#: Most of the time a test waits to be sure that nothing comes.
PARALLEL = 2 * (os.cpu_count() or 1)
#: A test need not go on behind a line that begins so.
NOT_OK = ("not ok", "Bail out!")
#: Lines that say what is wrong; the first one is the most telling.
WRONG = ("# wrong:", "# somebody", "# not those", "# killed", "# all other",
         *NOT_OK)


def build(name, tests, mutant=None):
    """Build a copy of the library and these tests with it; the folder."""
    folder, sound = os.path.join(FOLDER, name), os.path.join(FOLDER, SOUND)
    lib = os.path.join(folder, "src", "lib")
    shutil.rmtree(folder, ignore_errors=True)
    if not mutant:
        shutil.copytree(os.path.join(TOP, "lib"), lib)
    else:
        shutil.copytree(sound, folder, ignore=shutil.ignore_patterns("output"))
        if mutant.apply(os.path.join(folder, "src")):
            # A header was changed: nothing that was built is any good.
            for part in ("obj", "attack"):
                shutil.rmtree(os.path.join(folder, part), ignore_errors=True)
    programs = {test.split()[0] for test in tests}
    flags = [f"O={folder}", "CFLAGS=-O1", "SAN="]
    if any(not program.startswith("attack/") for program in programs):
        make(["-C", lib, *flags, "all"], folder)
    make(["-C", SELFTESTS, f"LIB={lib}", *flags,
          *(os.path.join(folder, "selftests", name) for name in programs)],
         folder)
    return folder


def make(arguments, folder):
    """Run make, which has to succeed."""
    status, text = command(["make", "--no-print-directory", *arguments],
                           folder, TOO_LONG)
    if status:
        raise Broken("does not build:\n" + text)


def wrong_by(folder, test, limit):
    """What is wrong by this test: a few words, or None if it passes."""
    program, *arguments = test.split()
    path = os.path.join(folder, "selftests", program)
    status, text = command([path, *arguments], folder, limit, NOT_OK)
    wrong = [line for line in text.splitlines() if line.startswith(WRONG)]
    if wrong:
        return wrong[0].lstrip("# ")
    if status is None:
        return "hangs"
    if status < 0:
        return f"signal {-status}"
    if status > 0:
        raise Broken(f"{test}: exit status {status}, and does not say why")
    return None


def main():
    """The exit status: 0 if every mutant was caught."""
    return hunt(parser(__doc__).parse_args(),
                os.path.join(SELFTESTS, "mutants"), build, wrong_by, PARALLEL)
