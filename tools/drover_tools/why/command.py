# SPDX-License-Identifier: MIT
"""drover why: the command line."""

import argparse
import json
import signal
import subprocess
import sys
import time

from drover_tools.why import render, verdict
from drover_tools.why.core import Core
from drover_tools.why.exact import Stopped
from drover_tools.why.findings import STUCK
from drover_tools.why.process import Process, Refused

FINE, STUCK_FOR_SURE, USAGE = 0, 1, 2
CANNOT_RUN, NOT_FOUND, REFUSED = 126, 127, 3


def say(text, status):
    print(f"drover: why: {text}", file=sys.stderr)
    return status


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message):
        raise SystemExit(say(f"{message}; see drover --help", USAGE))


def parse(arguments):
    """Parse options, and a process, a program or a core file."""
    parser = Parser(prog="drover why", allow_abbrev=False, usage=(
        "drover why [OPTION]... PID | -- PROGRAM [ARGUMENT]... | --core FILE"))
    parser.add_argument("--drop-in", help=argparse.SUPPRESS)
    parser.add_argument("--scan", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--core", metavar="FILE", help="look at a core file")
    parser.add_argument("-x", "--exact", action="store_true",
                        help="stop the threads for the time of the look")
    parser.add_argument("-d", "--delay", type=float, metavar="SECONDS",
                        help="look twice, so far apart, and show which threads"
                        " moved")
    parser.add_argument("-t", "--time", type=float, metavar="SECONDS",
                        help="look at PROGRAM after this time, or at Ctrl-C")
    parser.add_argument("--json", action="store_true",
                        help="print JSON, for programs")
    parser.add_argument("--dot", action="store_true",
                        help="print the graph for Graphviz")
    parser.add_argument("what", nargs="...", metavar="PID | PROGRAM")
    options = parser.parse_args(arguments)
    options.is_program = options.what[:1] == ["--"]
    if options.is_program:
        del options.what[0]
    if bool(options.what) == bool(options.core):
        parser.error("name a process, a program or a core file")
    if options.what and not options.is_program and (
            len(options.what) > 1 or not options.what[0].isdigit()):
        parser.error(f"{options.what[0]} is not a process id; write -- before"
                     " a program")
    if options.exact and options.delay:
        parser.error("--exact and --delay cannot be used together")
    if options.delay is not None and not options.delay > 0 or (
            options.time is not None and not options.time > 0):
        parser.error("--delay and --time must be more than 0")
    return options


def show(options, found, moved=None):
    """Print what was found. Return: the exit status."""
    if options.json:
        json.dump(render.as_json(found, moved), sys.stdout, indent=1)
        print()
    elif options.dot:
        print(render.dot(found), end="")
    else:
        print(render.report(found, moved, options.delay or 0), end="")
    return STUCK_FOR_SURE if any(finding.severity == STUCK for finding
                                 in found.findings) else FINE


def look_exactly(options, pid):
    """Look at a process while its threads are stopped."""
    source = Stopped(pid)
    try:
        code = verdict.code_of(source, options.scan)
        verdict.Look(source, code)
        source.prepared = True
        return verdict.Look(source, code)
    finally:
        source.close()


def look_at(options, pid):
    """Look at a running process once, or twice with --delay."""
    if options.exact:
        return show(options, look_exactly(options, pid))
    source, moved = Process(pid), None
    code = verdict.code_of(source, options.scan)
    found = verdict.Look(source, code)
    if options.delay:
        before = {thread.tid: thread for thread in found.threads}
        time.sleep(options.delay)
        found = verdict.Look(source, code)
        moved = {thread.tid for thread in found.threads
                 if thread.tid not in before
                 or not source.asleep_since(before[thread.tid])}
    return show(options, found, moved)


def run(options):
    """Start a program, and look at it at Ctrl-C or when the time is over.

    The program begins with SIGINT ignored, as Ctrl-C is meant for this one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(options.what)
    except FileNotFoundError:
        return say(f"{options.what[0]}: not found", NOT_FOUND)
    except OSError as error:
        return say(f"{options.what[0]}: {error.strerror}", CANNOT_RUN)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        status = child.wait(options.time)
        return say(f"the program has ended by itself, with status {status}",
                   FINE)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        return look_at(options, child.pid)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def main(arguments=None):
    """The exit status."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    try:
        if options.core:
            return show(options, verdict.look(Core(options.core),
                                              options.scan))
        if options.is_program:
            return run(options)
        return look_at(options, int(options.what[0]))
    except Refused as error:
        return say(str(error), REFUSED)
    except BrokenPipeError:
        return FINE
    except KeyboardInterrupt:
        return 130
