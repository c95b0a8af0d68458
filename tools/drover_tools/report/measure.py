# SPDX-License-Identifier: MIT
"""Measure one of the project's suites; `measure SUITE --help` says more.

Writes SUITE.json to build/results, from which tools/report makes tables and a
plot.  If it is interrupted, the file has all that was measured until then.
"""

import argparse
import contextlib
import fcntl
import importlib
import os
import signal
import sys

from drover_tools.report import engine, store
from drover_tools.runs import plan
from drover_tools.signals import leave_on
from drover_tools.tables import document
from drover_tools.tree import BUILD

NAMES = ("table", "bench", "programs", "waiting", "stream", "hardware",
         "ggml", "counts")


def at_least(least, kind=int):
    """A type for argparse: numbers that are not less than the least."""
    def read_number(text):
        value = kind(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return value
    return read_number


def counts(text):
    """"1 2 4" as [1, 2, 4]"""
    return sorted({at_least(1)(word) for word in text.split()})


def add_common(parser, suite):
    """Options that all suites have."""
    add = parser.add_argument
    add("--runs", "--rounds", type=at_least(1), default=suite.rounds,
        metavar="N", dest="rounds",
        help=f"run each cell at most N times (default {suite.rounds})")
    add("--minutes", "--limit", type=at_least(0.01, float), metavar="M",
        dest="minutes",
        help=f"begin no round after M minutes (default {suite.minutes})")
    add("--run-limit", type=at_least(0.01, float), default=suite.limit,
        metavar="S", dest="limit",
        help=f"end a run after S seconds (default {suite.limit})")
    add("--settle", type=at_least(3), nargs="?", metavar="N",
        const=engine.SETTLE_ROUNDS, help="then make N more rounds (default"
        f" {engine.SETTLE_ROUNDS}) of the promised comparisons on this machine"
        " that are open")
    add("--print", metavar="JSON", dest="source",
        help="measure nothing, print the results in this file")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--host-only", action="store_true",
                       help="boot no guests, and so need no kernels")
    where.add_argument("--guests-only", action="store_true",
                       help="measure only in guests")
    add("--host-cpus", type=counts, default=plan.host_cpu_counts(),
        help="numbers of this machine's CPUs to use (default: 1 and all)")
    add("--cpus", type=counts, default=[1, 2, 4],
        help='numbers of CPUs of guests (default "1 2 4")')
    add("--mem", type=at_least(1), default=2048, metavar="MB",
        help="memory of each guest (default 2048)")
    add("--accel", default=os.environ.get("ACCEL") or "auto",
        choices=("auto", "kvm", "tcg"))
    add("--build", default=BUILD, metavar="DIR", type=os.path.abspath)


def parser_of(name):
    """(suite, the parser of its options)"""
    suite = importlib.import_module(
        f"drover_tools.report.suite_{name}").SUITE
    parser = argparse.ArgumentParser(
        prog=f"measure {name}", description=sys.modules[
            type(suite).__module__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser, suite)
    suite.arguments(parser)
    return suite, parser


def parse(arguments):
    """(suite, options)"""
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__, *(parser_of(name)[1].format_help() for name in NAMES),
              sep="\n")
        sys.exit(0)
    if not arguments or arguments[0] not in NAMES:
        print(f"usage: measure {{{','.join(NAMES)}}} [OPTION...]",
              file=sys.stderr)
        sys.exit(2)
    suite, parser = parser_of(arguments[0])
    options = parser.parse_args(arguments[1:])
    full = getattr(options, "full", False)
    options.minutes = options.minutes or (
        24 * 60 if full else 2 * suite.minutes if options.settle
        else suite.minutes)
    if full:
        options.settle = options.settle or engine.SETTLE_ROUNDS
    return suite, options


def read(path):
    """Read a stored measurement, or exit with a message."""
    if not os.path.exists(path):
        sys.exit(f"measure: {path} is missing")
    result = store.read_json(path)
    wrong = list(store.errors(result))
    if wrong:
        sys.exit(f"measure: {path} is not a result: {wrong[0]}")
    return result


def show(suite, result):
    print(document.plain(suite.blocks(result)), end="", flush=True)


def save(suite, session, path):
    """Write the file and print the report."""
    result = session.result()
    for line in store.errors(result):
        session.progress.tell(f"{suite.name}: {line}")
    store.write_lines(path, result)
    if not getattr(session.options, "tap", False):
        show(suite, result)
        print(f"Saved: {path}")


@contextlib.contextmanager
def alone(folder):
    """Wait until no other measurement writes its results to the folder."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("measure: waits for another measurement, because each would"
                  " measure the other", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(suite, options):
    """Measure, and save in any case. Return: the exit status."""
    folder = os.path.join(options.build, "results")
    with alone(folder):
        return measure(suite, options,
                       os.path.join(folder, f"{suite.name}.json"))


def measure(suite, options, path):
    """Measure, and save to path. Return: the exit status."""
    session = engine.Session(suite, options)
    try:
        session.measure()
    finally:
        session.progress.close()
        if session.cells or session.extras:
            save(suite, session, path)
    return 0 if suite.well(session) and not session.failed else 1


def main():
    leave_on(signal.SIGTERM, signal.SIGHUP)
    suite, options = parse(sys.argv[1:])
    if options.source:
        show(suite, read(options.source))
        return 0
    try:
        return run(suite, options)
    except KeyboardInterrupt:
        return 130
