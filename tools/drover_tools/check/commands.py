# SPDX-License-Identifier: MIT
"""Checks of the commands in documents: one result each.

Each function check_NAME yields a line for each fault.
"""

import functools
import os
import re

from drover_tools.check import source
from drover_tools.check.linters import run
from drover_tools.check.source import tests
from drover_tools.tests.release import commands as table, documents
from drover_tools.tree import TOP

#: A program of ours in a literal block, and its arguments.
COMMAND = re.compile(
    r"(?:   +|T:\t)((?:build/)?(?:selftests|tools)/\S*\w)(.*)")


def check_commands():
    """programs that documents call exist and have the options"""
    for path in (*documents.paths(TOP), "MAINTAINERS", "kernel/README"):
        for number, line in source.lines(path):
            command = COMMAND.fullmatch(line)
            if command:
                yield from (f"{path}:{number}: {wrong}"
                            for wrong in wrong_command(*command.groups()))


def wrong_command(program, arguments):
    """The faults of a command; arguments after -- are not checked."""
    if program.startswith("build/selftests/"):
        if program.removeprefix("build/selftests/") not in tests():
            yield f"{program}: no such test"
    elif not program.startswith("build/"):
        if not os.access(os.path.join(TOP, program), os.X_OK):
            yield f"{program}: no such program"
            return
        arguments = arguments.split(" -- ")[0].split(" #")[0]
        for option in re.findall(r" (--[a-z-]+)", arguments):
            if option not in _help(program):
                yield f"{program}: has no option {option}"


@functools.lru_cache(maxsize=None)
def _help(program):
    """The options that a program's --help names."""
    return re.findall(r"--[a-z-]+",
                      run(os.path.join(TOP, program), "--help").stdout)


#: The folder of the tests of tools.
TESTS = os.path.join("tools", "drover_tools")


@functools.lru_cache(maxsize=1)
def _stages():
    """The names of all stages, of a build that has all kernels."""
    everything = {**os.environ, "KERNEL_VARIANTS": "none mainline drover"}
    listed = "".join(run(os.path.join(TOP, "tools", "check"), *more, "--list",
                         env=everything).stdout
                     for more in ((), ("--long",)))
    return set(re.findall(r"^  (\S+)$", listed, re.M)) | {"static"}


def is_there(place):
    """Whether a place of commands.py exists."""
    target = place.removeprefix("make ")
    if target != place:
        return re.search(rf"^{target}:", source.read("Makefile"), re.M)
    return (place in tests() | _stages()
            or place.removeprefix("host/") in tests()
            or any(os.path.isfile(os.path.join(TOP, folder, place))
                   for folder in ("", TESTS)))


def check_tested():
    """commands of documents are run by a test, or a table says why not"""
    rows = table.RUN + table.KERNELS + table.ELSEWHERE + table.NOT_RUN
    unused = set(rows)
    for path in documents.paths(TOP):
        for number, command in documents.commands(TOP, path):
            row, found = table.find(rows, command)
            unused.discard(row)
            if not row:
                yield (f"{path}:{number}: {command}: no test runs it; see"
                       " tools/drover_tools/tests/release/commands.py")
            elif row in table.ELSEWHERE and not is_there(
                    found.expand(row[1])):
                yield f"commands.py: {found.expand(row[1])}: no such test"
    yield from (f"commands.py: {row[0]}: no document has such a command"
                for row in sorted(unused))
