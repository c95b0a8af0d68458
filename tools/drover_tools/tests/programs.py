# SPDX-License-Identifier: MIT
"""Test of how real programs are run and reported; prints TAP."""

import contextlib
import io
import os
import tempfile
from types import SimpleNamespace
from unittest import mock

from drover_tools.programs import rows
from drover_tools.programs.runner import Runner
from drover_tools.report import suite_programs
from drover_tools.runs import process
from drover_tools.tables import document
from drover_tools.tap import Tap
from drover_tools.tests.report.samples import result_of

LIMIT = 120


def test_run(tap):
    """The resources that a program used are counted, and failures are seen."""
    before = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(folder)
        cpu = {min(os.sched_getaffinity(0))}

        def took(line, limit=LIMIT):
            return runner.run(rows.Program("some", line, ""), cpu, None,
                              limit)

        def failure(*call):
            with contextlib.suppress(process.Failed, process.TooSlow):
                took(*call)
                return None
            return True

        script = os.path.join(folder, "busy")
        with open(script, "w", encoding="utf-8") as file:
            file.write("taskset -p $$ >{0}.cpus\nawk 'BEGIN {{ for (i = 0;"
                       " i < 1e6; i++) ; }}'\n".format(script))
        found = took(f"sh {script}")
        with open(f"{script}.cpus", encoding="utf-8") as file:
            mask = int(file.read().split()[-1], 16)
        tap.ok(0.005 < found["cpu_seconds"] <= found["seconds"] * 1.5,
               "the CPU time of children is counted", found)
        tap.equal(mask, 1 << min(cpu), "on the CPU that was given")
        tap.ok(len(os.sched_getaffinity(0)) == before,
               "the runner stays where it was")
        tap.ok(failure("false"), "an exit status is a failure")
        tap.ok(failure("sleep 98765", 0.2), "the limit ends one")
    missing = rows.Program("some", "no-such-command -x", "no-package")
    tap.ok("no-package" in missing.missing(),
           "a missing program is reported with its package")


def test_missing(tap):
    """A program that is not installed is left out and reported."""
    suite, missing = suite_programs.Programs(), []
    options = SimpleNamespace(only=None, build="/none", host_cpus=[1])
    lacking = rows.Program("some", "no-such-command -x", "no-package")
    with mock.patch.object(rows, "PROGRAMS", (lacking,)), \
            contextlib.redirect_stderr(io.StringIO()) as said:
        cells = suite.cells(options, missing)
    tap.equal((cells, [one["contender"] for one in missing]), ([], ["some"]),
              "a program that is missing has no cells")
    tap.ok("some is left out: no-such-command" in said.getvalue(),
           "a program that is missing is reported", said.getvalue())


def test_report(tap):
    """The report has means, goals and the cost of a wake-up."""
    result = result_of(stock=[2.0] * 9, drop_in=[1.0] * 9)
    result["settings"].update(against={"drop-in": "stock"})
    result["regime"] = {"before": {"same": 1000, "between": 30000}}
    text = document.plain(suite_programs.SUITE.blocks(result))
    for wanted in ("0.50 (0.50 to 0.50)", "0.500 of at most 0.90  met",
                   "before, 1.0 us on the same CPU and 30.0 us on another,",
                   "no program is slower                 none is",
                   "1 other programs"):
        tap.ok(wanted in text, f"told: {wanted}", text)
    with mock.patch.object(suite_programs, "LOADS",
                           ("turn-ring -n 8 -i 1250",)):
        text = document.plain(suite_programs.SUITE.blocks(result))
    tap.ok("1 loads of ours" in text and "other programs" not in text,
           "loads of ours have a mean of their own", text)
    result = result_of(stock=[1.0] * 9, drop_in=[1.1] * 9)
    text = document.plain(suite_programs.SUITE.blocks(result))
    tap.ok("1.100 of at most 0.90" in text and text.count("MISSED !") == 3
           and "turn-ring -n 8 -i 1250 (1 CPU)" in text,
           "a program that is slower is reported", text)


def main():
    tap = Tap()
    test_run(tap)
    test_missing(tap)
    test_report(tap)
    return tap.exit_status()
