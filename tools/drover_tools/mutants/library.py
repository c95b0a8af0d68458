# SPDX-License-Identifier: MIT
"""Mutation tests: break one thing in the library; a test must notice.

    tools/mutants               all mutants
    tools/mutants NAME...       these mutants; NAME may have wildcards
    tools/mutants --list        list them, with their tests
    tools/mutants --explore     run only the explorer of schedules, on all
                                mutants of the code that it compiles, except
                                those that selftests/explore/misses lists with
                                reasons

The mutants are in the files *.mutants in selftests/mutants. For each, the
library is copied to build/mutants/NAME/, changed, and built with the tests
that should catch the mutant. First the unchanged library runs the same tests,
and must pass. The output is TAP; the output of the tests is in
build/mutants/NAME/output.
"""

import dataclasses
import os
import re
import shutil

from drover_tools.mutants.hunt import (SOUND, TOO_LONG, Broken, command, hunt,
                                       parser, read_all)
from drover_tools.tree import BUILD, TOP

SELFTESTS = os.path.join(TOP, "selftests")
FOLDER = os.path.join(BUILD, "mutants")
#: More builds and tests than CPUs run at a time, as tests mostly wait to be
#: sure that nothing happens.
PARALLEL = 2 * (os.cpu_count() or 1)
#: The test of schedules, which needs all CPUs, and the code that it compiles.
EXPLORER = "explore/schedules seconds=30"
EXPLORED = re.compile(r"lib/(base/(?!cpus)|mutex/|cond/|barrier/|pool/)")
#: A test is ended at a line that begins so.
NOT_OK = ("not ok", "Bail out!")
#: The beginnings of lines that name the fault; the first such line tells most.
WRONG = ("# wrong:", "# somebody", "# not those", "# killed", "# all other",
         *NOT_OK)


def build(name, tests, mutant=None):
    """Build a copy of the library, and these tests. Return: the folder."""
    folder, sound = os.path.join(FOLDER, name), os.path.join(FOLDER, SOUND)
    lib = os.path.join(folder, "src", "lib")
    shutil.rmtree(folder, ignore_errors=True)
    if not mutant:
        shutil.copytree(os.path.join(TOP, "lib"), lib)
    else:
        shutil.copytree(sound, folder, ignore=shutil.ignore_patterns("output"))
        if mutant.apply(os.path.join(folder, "src")):
            # A header has changed, so all has to be built again.
            for part in ("obj", "attack", "selftests"):
                shutil.rmtree(os.path.join(folder, part), ignore_errors=True)
    programs = {test.split()[0] for test in tests}
    flags = [f"O={folder}", "CFLAGS=-O1", "SAN="]
    if any(not program.startswith(("attack/", "explore/"))
           for program in programs):
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
    """The fault that a test finds, in a few words, or None if it passes."""
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
        raise Broken(f"{test}: exit status {status}, without a reason")
    return None


def explored():
    """The mutants that the explorer has to catch, with it as their test."""
    with open(os.path.join(SELFTESTS, "explore", "misses"),
              encoding="utf-8") as file:
        misses = re.findall(r"^\[([\w-]+)\]", file.read(), re.MULTILINE)
    for mutant in read_all(os.path.join(SELFTESTS, "mutants")):
        if mutant.name not in misses and all(
                EXPLORED.match(path) for path, _ in mutant.changes):
            yield dataclasses.replace(mutant, tests=[EXPLORER])


def main():
    """The exit status: 0 if every mutant was caught."""
    options = parser(__doc__)
    options.add_argument("--explore", action="store_true",
                         help="run only the explorer of schedules")
    options = options.parse_args()
    if options.explore:
        return hunt(options, list(explored()), build, wrong_by)
    return hunt(options, read_all(os.path.join(SELFTESTS, "mutants")), build,
                wrong_by, PARALLEL)
