# SPDX-License-Identifier: MIT
"""drover stat: what a program does with its condition variables."""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile

from drover_tools.command import checked, counted, counted_report
from drover_tools.command.commandline import (BESIDE, INTERRUPTED, Parser,
                                              interruptible, say)
from drover_tools.runs import plan

COUNTER = "libdrover-stat.so"
#: Processes of a program that are shown.
PROCESSES = 3
MEMORY = "/dev/shm"


def parse(arguments):
    """The command line; the drop-in is named by the drover command."""
    parser = Parser(prog="drover stat", allow_abbrev=False)
    parser.add_argument("--drop-in", help=argparse.SUPPRESS)
    parser.add_argument("-s", "--stock", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("program", nargs="...")
    return parser.parse_program(arguments)


def environment(options, folder):
    """The program's: what counts comes first, then the drop-in."""
    libraries = [os.path.join(BESIDE, COUNTER)]
    if not os.path.exists(libraries[0]):
        raise checked.Unfit(f"no {libraries[0]}: build or install it")
    if not options.stock:
        libraries.append(options.drop_in)
    libraries += [word for word in os.environ.get("LD_PRELOAD", "").replace(
        ":", " ").split() if os.path.basename(word) != plan.DROP_IN]
    return dict(os.environ, LD_PRELOAD=":".join(libraries),
                DROVER_STAT_DIR=folder)


def run(options, folder):
    """Run the program as if it had been started by itself; its status."""
    path = checked.find(options.program[0])
    # Ctrl-C is for the program, and for us what comes after it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pid = os.posix_spawn(path, options.program, environment(options, folder),
                         setsigdef=[signal.SIGINT, signal.SIGPIPE])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    return 128 - status if status < 0 else status


def tell(options, folder):
    """What was counted."""
    found = counted.read_all(folder)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"schema": 1, "command": options.program,
                       "processes": list(map(counted_report.as_json, found))},
                      file, indent=1)
            file.write("\n")
    if not found:
        say("stat: it uses no condition variables", 0)
    for process in found[:PROCESSES]:
        print("\n" + counted_report.report(process), end="", file=sys.stderr)
    if len(found) > PROCESSES:
        print(f"\n{len(found) - PROCESSES} more processes called less.",
              file=sys.stderr)


def main(arguments):
    """The program's exit status."""
    options = parse(arguments)
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    try:
        interruptible()
        checked.check(options.program[0], options.drop_in)
        with tempfile.TemporaryDirectory(prefix="drover-", dir=memory,
                                         ) as folder:
            status = run(options, folder)
            with contextlib.suppress(BrokenPipeError):
                tell(options, folder)
            return status
    except checked.Unfit as error:
        return say(str(error), error.status)
    except OSError as error:
        return say(str(error), checked.CANNOT_RUN)
    except KeyboardInterrupt:
        return say("stat: interrupted", INTERRUPTED)
