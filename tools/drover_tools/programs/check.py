# SPDX-License-Identifier: MIT
"""Run real programs, unmodified, with glibc's condition variables and ours.

The programs are those of `make bench-programs`. Each does the same work twice,
without and with the drop-in library in LD_PRELOAD. Both runs must succeed and
write the same, and the dynamic linker must have bound the condition variables
to the drop-in. The output is TAP. A program that is not installed is skipped.
"""

import argparse
import dataclasses
import glob
import os
import re
import shutil
import signal

from drover_tools.programs import rows
from drover_tools.programs.runner import Runner
from drover_tools.runs import process
from drover_tools.signals import leave_on
from drover_tools.tap import Tap
from drover_tools.tree import BUILD

LIBRARY = "libdrover-pthread.so.1"
LIMIT = 300
#: Programs that take seconds, and are part of `make check`.
QUICK = ("zstd", "xz", "pigz", "x264", "python3 queues", "python3 ring")
#: Programs that print how fast they were, so that their output differs.
TELL_TIMES = ("rocksdb", "mariadb", "7z", "x264")
#: A line of LD_DEBUG=bindings: the object that needs a symbol, the object that
#: has it, and the symbol.
BINDING = re.compile(rb"binding file (\S+) \[\d+\] to (\S+) \[\d+\]:"
                     rb" normal symbol `((?:pthread_cond_|cnd_)\w+)'")


def chosen(options):
    """The programs to run, with standard output instead of /dev/null."""
    for program in rows.PROGRAMS:
        wanted = options.only or (None if options.all else QUICK)
        if not program.paced and (not wanted or program.name in wanted):
            yield dataclasses.replace(program, line=program.line.replace(
                "-o /dev/null", "-c"))


def run_in(runner, program, folder, library=None):
    """Run a program once. Return: {name: bytes} that have to be the same."""
    os.makedirs(folder)
    runner.run(program, os.sched_getaffinity(0), library, LIMIT, folder,
               LD_DEBUG="bindings",
               LD_DEBUG_OUTPUT=os.path.join(folder, "bindings"))
    paths = [os.path.join(runner.folder, name) for name in program.fresh]
    if program.name not in TELL_TIMES:
        paths += [os.path.join(folder, name) for name in ("output", "errors")]
    return {os.path.basename(path): read(path) for path in paths
            if os.path.isfile(path)}


def read(path):
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def differences(expected, found):
    """A line for each difference."""
    for name in sorted(expected.keys() | found.keys()):
        one, other = expected.get(name), found.get(name)
        if one != other:
            yield f"{name}: without: {_short(one)}; with: {_short(other)}"


def _short(value):
    text = str(value)
    return text if len(text) < 500 else f"{len(text)} bytes, {text[:200]}..."


def bindings(folder):
    """{(object that needs it, object that has it, condvar function)}."""
    found = {tuple(part.decode() for part in match)
             for path in glob.glob(os.path.join(folder, "bindings.*"))
             for match in BINDING.findall(read(path))}
    return {(os.path.basename(user), os.path.basename(to), symbol)
            for user, to, symbol in found if LIBRARY not in user}


def strays(bound):
    """A line for each function that was not bound to the drop-in."""
    yield from (f"{user}: {symbol} is {to}'s" for user, to, symbol in bound
                if to != LIBRARY)
    symbols = " ".join(symbol for _, _, symbol in bound)
    for wanted in ("wait", "signal|broadcast"):
        if not re.search(wanted, symbols):
            yield f"no call of {wanted} was bound"


def test(tap, runner, program, folder, library):
    """All results of one program."""
    names = (f"{program.name}: the same results as without the drop-in",
             f"{program.name}: its condition variables are the drop-in's")
    if program.missing():
        for name in names:
            tap.skip(name, program.missing())
        return
    try:
        expected = run_in(runner, program, os.path.join(folder, "without"))
        wrong = list(differences(expected, run_in(
            runner, program, os.path.join(folder, "with"), library)))
    except (process.TooSlow, process.Failed) as error:
        wrong = [f"{type(error).__name__}: {error}"]
    tap.ok(not wrong, names[0], "\n".join(wrong))
    wrong = list(strays(bindings(os.path.join(folder, "with"))))
    tap.ok(not wrong, names[1], "\n".join(wrong))


def main():
    """Run the chosen programs. Return: the exit status."""
    leave_on(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--all", action="store_true",
                        help="run all programs, not only those that take"
                        " seconds")
    parser.add_argument("--only", metavar="NAME", action="append",
                        choices=[row.name for row in rows.PROGRAMS],
                        help="run only this one; may be given several times")
    programs = list(chosen(parser.parse_args()))
    library = os.path.join(BUILD, "lib", LIBRARY)
    if not os.path.exists(library):
        print(f"Bail out! {library} is missing; build it with: make lib")
        return 1
    folder = os.path.join(BUILD, "results", "programs")
    shutil.rmtree(folder, ignore_errors=True)
    process.adopt_orphans()
    tap = Tap()
    # The folder has a socket, whose path must be short.
    runner = Runner(f"/tmp/drover-programs-{os.getpid()}")
    try:
        runner.prepare([row for row in programs if not row.missing()])
        for program in programs:
            test(tap, runner, program,
                 os.path.join(folder, program.name.replace(" ", "-")),
                 library)
    finally:
        process.end_children()
        runner.close()
    return tap.exit_status()
