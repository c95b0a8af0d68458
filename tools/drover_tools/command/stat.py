# SPDX-License-Identifier: MIT
"""drover stat: how a program uses its condition variables."""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile

from drover_tools.command import checked, counted, counted_report, preload
from drover_tools.command.commandline import (BESIDE, INTERRUPTED, Parser,
                                              interruptible, say)

COUNTER = "libdrover-stat.so"
#: So many processes of a program are shown.
PROCESSES = 3
MEMORY = "/dev/shm"


def parse(arguments):
    """The command line; the drover command adds --drop-in."""
    parser = Parser(prog="drover stat", allow_abbrev=False, description="Run"
                    " a program, and show how it used its condition"
                    " variables.")
    parser.add_argument("--drop-in", help=argparse.SUPPRESS)
    parser.add_argument("-s", "--stock", action="store_true",
                        help="run it with the C library's condition variables"
                        " instead of Drover's")
    parser.add_argument("--json", metavar="FILE",
                        help="write the counts to this file")
    parser.add_argument("program", nargs="...", metavar="PROGRAM [ARGUMENT]")
    return parser.parse_program(arguments)


def libraries(options):
    """The library that counts, and after it the drop-in."""
    counter = os.path.join(BESIDE, COUNTER)
    if not os.path.exists(counter):
        raise checked.Unfit(f"{counter} is missing: build or install it")
    return [counter] + [options.drop_in] * (not options.stock)


def run(options, folder, program):
    """Run the program as a shell would. Return: its exit status.

    program: the path of the program, or of a script's interpreter, or None
    """
    path = checked.find(options.program[0])
    # Ctrl-C ends only the program: its counts are printed after that.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = preload.environment(libraries(options), program)
    pid = os.posix_spawn(path, options.program,
                         dict(settings, DROVER_STAT_DIR=folder),
                         setsigdef=[signal.SIGINT, signal.SIGPIPE])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    return 128 - status if status < 0 else status


def nothing(folder, status):
    """The message if no condition variable was counted."""
    if not any(map(counted.is_file, os.listdir(folder))):
        return ("nothing could be counted: the program ended (status"
                f" {status}) before the library that counts was loaded")
    if status:
        return ("the program used no condition variables until it failed"
                f" ({status})")
    return "the program uses no condition variables"


def tell(options, folder, status):
    """Print the counts, and write them for --json."""
    found = counted.read_all(folder)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"schema": 1, "command": options.program,
                       "processes": list(map(counted_report.as_json, found))},
                      file, indent=1)
            file.write("\n")
    if not found:
        say(f"stat: {nothing(folder, status)}", 0)
    for process in found[:PROCESSES]:
        print("\n" + counted_report.report(process), end="", file=sys.stderr)
    if len(found) > PROCESSES:
        print(f"\n{len(found) - PROCESSES} more processes made fewer calls.",
              file=sys.stderr)


def main(arguments):
    """The program's exit status."""
    options = parse(arguments)
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    try:
        interruptible()
        program = checked.check(options.program[0], options.drop_in)
        with tempfile.TemporaryDirectory(prefix="drover-", dir=memory,
                                         ) as folder:
            status = run(options, folder, program)
            with contextlib.suppress(BrokenPipeError):
                tell(options, folder, status)
            return status
    except checked.Unfit as error:
        return say(str(error), error.status)
    except OSError as error:
        return say(str(error), checked.CANNOT_RUN)
    except KeyboardInterrupt:
        return say("stat: interrupted", INTERRUPTED)
