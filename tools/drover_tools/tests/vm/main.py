# SPDX-License-Identifier: MIT
"""Test of the runner itself; prints TAP.

    selftest [--variant=V | --kernel=BZIMAGE] [--accel=A]

Each promise in Documentation/vm.rst has a test here. The bad ends are the most
important ones: a runner that takes a panic for a pass is worse than none.
"""

import argparse
import contextlib
import functools
import os
import subprocess
import tempfile
import time
import traceback

from drover_tools.tests.vm import bad_ends, commands, host_side, machines
from drover_tools.tree import TOP
from drover_tools.vm.guest import Guest

HERE = os.path.dirname(os.path.abspath(__file__))


class Bench(contextlib.ExitStack):
    """The things that tests share: settings for a boot, programs, and a guest.
    None of them is left at the end of the context."""

    def __init__(self, options, scratch):
        super().__init__()
        self.boot = {"accel": options.accel}
        self.boot.update({"kernel": options.kernel} if options.kernel
                         else {"variant": options.variant})
        self.scratch = scratch
        self.program = self._build("guest_program", "-pthread")
        self.preload = self._build("preload.so", "-shared", "-fPIC")

    def _build(self, name, *flags):
        source = os.path.join(HERE, os.path.splitext(name)[0] + ".c")
        path = os.path.join(self.scratch, name)
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", *flags,
                        "-o", path, source], check=True)
        return path

    def additions(self):
        return [(path, "/root/" + os.path.basename(path))
                for path in (self.program, self.preload)]

    @functools.cached_property
    def guest(self):
        """One guest for several tests, none of which may disturb the next."""
        return self.enter_context(Guest(cpus=2, additions=self.additions(),
                                        **self.boot))

    def command(self, *words):
        """The command line of tools/vm with this test's kernel."""
        options = [f"--{name}={value}" for name, value in self.boot.items()]
        return [os.path.join(TOP, "tools", "vm"), *options, *words]

    def vm(self, *words, **how):
        """Run tools/vm to its end, and capture its output."""
        return subprocess.run(self.command(*words), capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=300,
                              check=False, **how)


def collect():
    """All functions test_* of the modules, in the order of the source."""
    for module in (host_side, commands, bad_ends, machines):
        for name, test in vars(module).items():
            if name.startswith("test_"):
                where = module.__name__.rsplit(".", 1)[-1]
                yield f"{where}: {name[5:].replace('_', ' ')}", test


def nothing_is_left(_bench):
    """Test, at the end, that no guest is left. A guest that dies only with
    this process could outlive it for a moment."""
    left = bad_ends.children(os.getpid())
    assert not left, left


def run_test(number, name, test, bench):
    start = time.monotonic()
    trouble = None
    try:
        test(bench)
    except Exception:       # pylint: disable=broad-except
        trouble = traceback.format_exc()
    print(f"{'not ok' if trouble else 'ok'} {number} {name}")
    for line in (trouble or "").splitlines():
        print(f"# {line}")
    print(f"# {time.monotonic() - start:.1f} s", flush=True)
    return not trouble


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variant", default="drover")
    parser.add_argument("--kernel")
    parser.add_argument("--accel", default="auto")
    parser.add_argument("only", nargs="*",
                        help="run only tests whose names have these words")
    options = parser.parse_args()
    tests = [(name, test) for name, test in collect()
             if all(word in name for word in options.only)]
    print("TAP version 13")
    print(f"1..{len(tests) + 1}")
    with tempfile.TemporaryDirectory() as scratch, \
            Bench(options, scratch) as bench:
        passed = [run_test(number, name, test, bench)
                  for number, (name, test) in enumerate(tests, 1)]
    passed.append(run_test(len(tests) + 1, "nothing of a guest is left",
                           nothing_is_left, bench))
    return 0 if tests and all(passed) else 1
