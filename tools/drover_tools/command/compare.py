# SPDX-License-Identifier: MIT
"""drover compare: does Drover help this program?

The program runs without and with the drop-in by turns. A few times on the way
the difference is tested, each time with its share of the permitted error, and
the runs stop as soon as the answer is clear.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shlex
import shutil
import signal
import stat
import sys
import tempfile
import time

from drover_tools.command import checked, judge, outcome, preload
from drover_tools.command.commandline import (BESIDE, FAILED, INTERRUPTED,
                                              Parser, interruptible, say)
from drover_tools.runs import machine, plan, process
from drover_tools.runs.progress import Progress

STOCK, DROP_IN = "stock", "drop-in"
RUNS, MINUTES = 32, 5
#: The difference is not tested before so many pairs.
LEAST = 8
COUNTERS = {
    "perf": ["perf", "stat", "-x,", "-e", "syscalls:sys_enter_futex", "-o"],
    "strace": ["strace", "-qq", "-f", "-c", "-e", "trace=futex", "-o"]}


def parse(arguments):
    """The command line; the drover command adds --drop-in."""
    parser = Parser(prog="drover compare", allow_abbrev=False,
                    description="Run a program without and with Drover by"
                    " turns, and say how much faster or slower Drover makes"
                    " it.")
    parser.add_argument("--drop-in", help=argparse.SUPPRESS)
    parser.add_argument("-n", "--runs", type=int, default=RUNS, metavar="RUNS",
                        help=f"make at most so many pairs of runs ({RUNS});"
                        " fewer are made if the answer is clear before")
    parser.add_argument("-m", "--minutes", type=float, default=MINUTES,
                        metavar="MINUTES", help="begin no run after so long,"
                        f" and end a run that takes longer ({MINUTES})")
    parser.add_argument("--json", metavar="FILE", help="write all runs, their"
                        " ratios and the verdict to this file")
    parser.add_argument("program", nargs="...", metavar="PROGRAM [ARGUMENT]")
    options = parser.parse_program(arguments)
    if options.runs < 1 or not options.minutes > 0:
        parser.error("--runs and --minutes must be more than 0")
    return options


def looks(runs):
    """The numbers of pairs after which the difference is tested."""
    return [n for n in (runs // 4, runs // 2) if n >= LEAST] + [runs]


class Comparison:
    """The runs of one program; path: of its file, if checked.py knows it."""

    def __init__(self, options, folder, path):
        self.options, self._folder = options, folder
        self.words = options.program
        self.line, self._path = shlex.join(self.words), path
        self.cpus = os.sched_getaffinity(0)
        self.cells = {
            name: plan.Cell("host", len(self.cpus), plan.Row(self.line),
                            plan.Contender(name), self.line)
            for name in (STOCK, DROP_IN)}
        self.progress = Progress(options.minutes * 60)
        self.futex, self.counter, self.wake_up = {}, None, {}
        self.differs, self.host = False, machine.host()
        # Each run can read a file from its beginning, but not a pipe.
        self._given = os.devnull
        if stat.S_ISREG(os.fstat(0).st_mode):
            self._given = f"/proc/{os.getpid()}/fd/0"

    @property
    def runs(self):
        """The runs of stock, and those of the drop-in."""
        return self.cells[STOCK].runs, self.cells[DROP_IN].runs

    def once(self, name, output=os.devnull, before=(), limit=None):
        """Run the program once: (exit status, the time and so on it used)."""
        errors = os.path.join(self._folder, "errors")
        words, settings = [*before, *self.words], preload.environment(
            [self.options.drop_in] * (name == DROP_IN), self._path)
        if before:      # the tool that counts runs without the drop-in
            loaded = settings.pop("LD_PRELOAD", None)
            words = [*before, "env", *([f"LD_PRELOAD={loaded}"] if loaded
                                       else []), *self.words]
        start = time.monotonic()
        pid = process.spawn(words, settings, self.cpus, errors, output,
                            self._given)
        status, used = process.finish(pid,
                                      limit or self.options.minutes * 60)
        return status, {"seconds": time.monotonic() - start,
                        **process.used_by(used)}

    def _tried(self, name):
        """Run the program once, to know how it ends and what it prints."""
        output, errors = (os.path.join(self._folder, name)
                          for name in ("output", "errors"))
        status, used = None, {"seconds": 0.0}
        with self.progress.running(self.cells[name], 0):
            with contextlib.suppress(process.TooSlow):
                status, used = self.once(name, output)
        with open(output, "rb") as file:
            digest = hashlib.sha256()
            for part in iter(lambda: file.read(1 << 20), b""):
                digest.update(part)
        return outcome.Outcome(status, used["seconds"],
                               process.ends_of(errors), digest.hexdigest())

    def check(self):
        """Raise Unfit if a run fails, and note if the outputs differ.

        If the end or the output changes from run to run of the same kind, it
        does not count as a difference.
        """
        stock, ours = self._tried(STOCK), self._tried(DROP_IN)
        wrong = outcome.wrong(self.words[0], stock, ours, self.options.minutes)
        if not wrong:
            self.differs = (ours.digest != stock.digest
                            and self._tried(STOCK).digest == stock.digest
                            and self._tried(DROP_IN).digest == ours.digest)
            return
        if stock.fine != ours.fine and None not in (stock.status, ours.status):
            again = self._tried(STOCK), self._tried(DROP_IN)
            if not (outcome.same(stock, again[0])
                    and outcome.same(ours, again[1])):
                wrong = outcome.now_and_then(self.words[0], (stock, again[0]),
                                             (ours, again[1]))
        raise checked.Unfit(wrong, FAILED)

    def measure(self):
        """Make pairs of runs until the answer is clear or the time is over."""
        wanted = looks(self.options.runs)
        self.progress.plan(self.cells.values(), self.options.runs)
        for number in range(self.options.runs):
            order = list(self.cells.items())
            for name, cell in order if number % 2 else order[::-1]:
                if number and not self.progress.left():
                    return self._judged(len(wanted), over=True)
                with self.progress.running(cell, number):
                    used = self._timed(name)
                cell.runs.append({"round": number, **used})
            if number + 1 in wanted:
                found = self._judged(len(wanted))
                if found.settled:
                    return found
        return self._judged(len(wanted))

    def _timed(self, name):
        """The time and so on of one run; raise Unfit if it does not end well.

        The runs of check() ended well.
        """
        words = {STOCK: outcome.WITHOUT, DROP_IN: outcome.WITH}
        try:
            status, used = self.once(name)
            what = status and f"failed ({outcome.how(status)})"
        except process.TooSlow:
            what = "did not end in " + outcome.minutes(self.options.minutes)
        if not what:
            return used
        before = {words[key]: 1 + len(cell.runs)
                  for key, cell in self.cells.items()}
        raise checked.Unfit(
            f"{self.words[0]} {what} {words[name]} in one run, after "
            + " and ".join(f"{number} {key}" for key, number in before.items())
            + " that ended well", FAILED)

    def _judged(self, nr_looks, over=False):
        return judge.Judgement(*self.runs, 0.05 / nr_looks, over)

    def count(self):
        """Count futex calls in one more run of each, if a tool is there."""
        path = os.path.join(self._folder, "counted")
        limit = max(20 * max(run["seconds"] for runs in self.runs
                             for run in runs), 10)
        for tool, before in COUNTERS.items():
            if not shutil.which(before[0]):
                continue
            found = {}
            for name in (STOCK, DROP_IN):
                self.progress.note(f"counting futex calls: {tool}, {name}")
                try:
                    status, _ = self.once(name, before=[*before, path],
                                          limit=limit)
                    if status:
                        break
                    found[name] = read_count(path)
                except (process.TooSlow, OSError, ValueError):
                    break
            if len(found) == 2:
                self.futex, self.counter = found, tool
                return

    def measure_wake_up(self):
        """Measure what waking a thread costs on this machine."""
        first, *others = sorted(self.cpus)
        program = os.path.join(BESIDE, "wakeup")
        self.progress.note("measuring what a wake-up costs")
        self.wake_up = {
            "same": process.wake_up(program, first, first),
            "between": process.wake_up(program, first, others[-1])
            if others else None}


def read_count(path):
    """The number of futex calls that perf or strace has counted."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        if "sys_enter_futex" in line:
            return int(line.split(",")[0])
        words = line.split()
        if words[-1:] == ["futex"]:
            return int(words[3])
    # strace prints no line for a system call that was never made.
    if any("total" in line for line in lines) or not lines:
        return 0
    raise ValueError(path)


def write(comparison, found):
    """Write everything as JSON to the file of --json."""
    with open(comparison.options.json, "w", encoding="utf-8") as file:
        json.dump({"schema": 1, "command": comparison.words,
                   "host": comparison.host,
                   "runs": {name: cell.runs for name, cell
                            in comparison.cells.items()},
                   "compared": found.compared, "futex": comparison.futex,
                   "wake_up_ns": comparison.wake_up,
                   "output_differs": comparison.differs,
                   "verdict": found.verdict,
                   "sentence": found.sentence()}, file, indent=1)
        file.write("\n")


def compare(options, folder, path):
    """Run everything and print the report. Return: the exit status."""
    comparison = Comparison(options, folder, path)
    try:
        comparison.check()
        found = comparison.measure()
        comparison.count()
        comparison.measure_wake_up()
    finally:
        comparison.progress.close()
    if options.json:
        write(comparison, found)
    sys.stdout.write(judge.report(comparison, found))
    return FAILED if comparison.differs else 0


def _stop(number, _frame):
    raise KeyboardInterrupt(number)


def main(arguments):
    """The exit status."""
    options = parse(arguments)
    process.adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        interruptible()
        path = checked.check(options.program[0], options.drop_in)
        with tempfile.TemporaryDirectory(prefix="drover-") as folder:
            return compare(options, folder, path)
    except checked.Unfit as error:
        return say(str(error), error.status)
    except OSError as error:
        return say(str(error), checked.CANNOT_RUN)
    except KeyboardInterrupt:
        return say("compare: interrupted", INTERRUPTED)
    finally:
        process.end_children()
