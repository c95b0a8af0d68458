# SPDX-License-Identifier: MIT
"""drover top: how a running program uses its condition variables."""

import argparse
import os
import sys
import time

from drover_tools.command import counted, counted_report
from drover_tools.command.commandline import FAILED, Parser, interruptible, say
from drover_tools.tables.document import plain
from drover_tools.why.process import why_refused

CLEAR = "\033[H\033[J"


def parse(arguments):
    """The command line."""
    parser = Parser(prog="drover top", allow_abbrev=False, description="Show"
                    " each second how a program that runs under `drover stat`"
                    " uses its condition variables.")
    parser.add_argument("--drop-in", help=argparse.SUPPRESS)
    parser.add_argument("-d", "--delay", type=float, default=1,
                        metavar="SECONDS", help="print so often (1)")
    parser.add_argument("-n", "--times", type=int, default=0, metavar="TIMES",
                        help="print so many times (until the program ends)")
    parser.add_argument("pid", type=int, metavar="PID",
                        help="a process that runs under `drover stat`")
    options = parser.parse_args(arguments)
    if not options.delay > 0 or options.times < 0:
        parser.error("--delay and --times must be more than 0")
    return options


def file_of(pid):
    """The file of a process's counts; LookupError says why there is none."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8",
                  errors="replace") as file:
            for line in file:
                path = line.rstrip("\n").split(" ", 5)[-1].strip()
                if counted.is_file(os.path.basename(path)):
                    return path
    except (FileNotFoundError, ProcessLookupError):
        raise LookupError(f"there is no process {pid}") from None
    except PermissionError as error:
        user = os.stat(f"/proc/{pid}").st_uid
        raise LookupError(why_refused(pid, user, error, "top")) from None
    raise LookupError(f"process {pid} is not counted: start it by"
                      " `drover stat -- PROGRAM`")


def show(found, seconds):
    """Print one screen with the counts of so many seconds."""
    text = (f"{found.name} ({found.pid}), in {seconds:.1f} s\n\n")
    groups = counted_report.groups(found)
    text += (plain([counted_report.table(found, groups)]) if groups
             else "No thread waited for a condition variable.\n")
    sys.stdout.write(CLEAR * sys.stdout.isatty() + text
                     + "\n" * (not sys.stdout.isatty()))
    sys.stdout.flush()


def watch(options):
    """Print again and again, until the process ends or --times is reached."""
    path = file_of(options.pid)
    before, then, shown = counted.Counted(path), time.monotonic(), 0
    while not options.times or shown < options.times:
        time.sleep(options.delay)
        now, moment = counted.Counted(path), time.monotonic()
        show(counted.since(before, now), moment - then)
        before, then, shown = now, moment, shown + 1
        if not os.path.exists(f"/proc/{options.pid}"):
            return


def main(arguments):
    """The exit status."""
    options = parse(arguments)
    try:
        interruptible()
        watch(options)
    except LookupError as error:
        return say(f"top: {error}", FAILED)
    except (OSError, ValueError):
        return 0                # the process has ended
    except KeyboardInterrupt:
        return 0
    return 0
