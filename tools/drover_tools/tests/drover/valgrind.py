# SPDX-License-Identifier: MIT
"""Tests of the drop-in under valgrind: helgrind and drd see its ordering."""

import os
import shutil
import subprocess
import tempfile

from drover_tools.tests.drover.sources import ORDERED

LIMIT = 120
FOUND = 9
TOOLS = ("helgrind", "drd")
HEADERS = "/usr/include/valgrind/helgrind.h"


def compile_ordered(folder):
    """Compile ordered.c with line numbers, which valgrind prints."""
    path = os.path.join(folder, "ordered")
    subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-g", "-pthread",
                    "-o", path, ORDERED], check=True)
    return path


def run(tool, drover, *words):
    """Run a tool. Return: its exit status and its report."""
    done = subprocess.run(
        [drover, "run", "valgrind", "-q", f"--tool={tool}",
         f"--error-exitcode={FOUND}", *words], check=False,
        capture_output=True, text=True, timeout=LIMIT)
    return done.returncode, done.stderr


def test_all(tap, drover):
    """Run all tests; drover: the command."""
    if not (shutil.which("valgrind") and os.path.exists(HEADERS)):
        tap.skip("the drop-in under valgrind", "there is no valgrind")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = compile_ordered(folder)
        for tool in TOOLS:
            tap.equal(run(tool, drover, "/bin/true"), (0, ""),
                      f"{tool}: nothing is wrong with /bin/true")
            tap.equal(run(tool, drover, program), (0, ""),
                      f"{tool}: the order that condvars give")
            status, said = run(tool, drover, program, "race")
            tap.ok(status == FOUND and "main (ordered.c" in said,
                   f"{tool}: a real race is reported",
                   f"status {status}: {said}")
