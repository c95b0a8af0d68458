# SPDX-License-Identifier: MIT
"""Test of the kernel series; prints TAP.

In user space, both movers do the same with random calls. The selftests of the
series pass when they are compiled for 32 bits. The mutants of the kernel fit
its source. The examples of Documentation/tracing.rst run in guests: the test
looks at the events that came, and at their numbers, which have to agree with
each other. Other commands of the documents that need a kernel are run with
small values.
"""

import os
import re
import shutil
import subprocess
import tempfile
import traceback

from drover_tools.mutants.hunt import Unfit, read_all
from drover_tools.mutants.kernel import KERNEL
from drover_tools.tap import Tap
from drover_tools.tests.release import commands as documented
from drover_tools.tests.release import documents, pages
from drover_tools.tree import BUILD, TOP

DOCUMENT = "Documentation/tracing.rst"

#: An example that needs a kernel which make check does not build.
LEFT_OUT = "--variant=trace"

#: Events of calls that did something; the library also makes a call to find
#: out what the kernel can do.
REQUEUE = re.compile(r"uaddr1=0x.* woken=(\d+) requeued=(\d+) ret=(\d+)")
WAKE = re.compile(r"uaddr=0x.* nr_wake=\d+ .*ret=(-?\d+)")

AGREE = "make -s -C kernel agree"
SELFTESTS_32 = "make -s -C kernel kselftest-32"
MUTANTS = "the kernel's mutants fit its source"
MUTANTS_IN = ("kernel/mutants", "selftests/mutants/debug",
              "selftests/mutants/kcsan", "selftests/mutants/rt")

#: make's output if no compiler for 32 bits is installed.
SKIPPED = "Error 4"

#: cond-perf -n 20 -r 5
THREADS = 20
ROUNDS = 5


def examples():
    """The commands of the document that boot a guest."""
    return [command for _, command in documents.commands(TOP, DOCUMENT)
            if command.startswith("tools/vm ") and LEFT_OUT not in command]


class Skipped(Exception):
    """A command cannot be run here; the text says why."""


def run(command):
    """The output of a command, which has to succeed."""
    done = subprocess.run(["sh", "-c", command], cwd=TOP, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600)
    text = done.stdout.decode(errors="replace")
    if command == SELFTESTS_32 and done.returncode and SKIPPED in text:
        raise Skipped(text.splitlines()[0])
    assert done.returncode == 0, text
    return text


def check_moves(text):
    """The numbers of each broadcast agree, and are at most THREADS."""
    moves = [tuple(map(int, found)) for found in REQUEUE.findall(text)]
    assert 1 <= len(moves) <= 4 * ROUNDS, text
    for woken, requeued, ret in moves:
        assert woken + requeued == ret <= THREADS, text
    assert any(requeued > 1 for _, requeued, _ in moves), text


def check_wakes(text):
    """The C library's condition variable wakes threads, and moves none."""
    assert any(int(ret) > 0 for ret in WAKE.findall(text)), text
    assert not REQUEUE.search(text), text


def check_mutants():
    """The lines that a mutant changes are in the source, once."""
    source = os.path.join(KERNEL, "src", "kernel", "futex")
    for folder in MUTANTS_IN:
        for mutant in read_all(os.path.join(TOP, folder)):
            with tempfile.TemporaryDirectory() as copy:
                shutil.copytree(source, os.path.join(copy, "kernel", "futex"))
                mutant.apply(copy)


def check(command):
    """Run one command, and test its output."""
    if command == MUTANTS:
        check_mutants()
        return
    text = run(command)
    if command == AGREE:
        assert "no difference" in text, text
    elif command == SELFTESTS_32:
        assert text.count(": ok\n") > 1, text
    elif "--impl=drover" in command:
        check_moves(text)
    else:
        check_wakes(text)


def main():
    """Print one result for each command. Return: the exit status."""
    tap = Tap()
    commands = [AGREE, SELFTESTS_32, MUTANTS] + examples()
    tap.ok(len(commands) > 3, "the document has examples")
    for command in commands:
        name = command.split(" -- ")[-1][:60]
        try:
            check(command)
        except Skipped as reason:
            tap.skip(name, reason)
        except (AssertionError, subprocess.SubprocessError, Unfit,
                ValueError):
            tap.ok(False, name, traceback.format_exc())
        else:
            tap.ok(True, name)
    pages.test_all(tap, TOP, BUILD, documented.KERNELS)
    return tap.exit_status()
