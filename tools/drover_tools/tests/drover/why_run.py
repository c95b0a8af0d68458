# SPDX-License-Identifier: MIT
"""Builds, runs and looks at programs for the tests of `drover why`."""

import json
import os
import subprocess
import sys

from drover_tools.tree import TOP

TOOLS = os.path.join(TOP, "tools")
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "why_cases")
WHY = (sys.executable, "-EsB", "-m", "drover_tools.why")
FLAGS = ("-O1", "-g", "-D_GNU_SOURCE", "-pthread")
#: Each program gets stuck, or ends, within so many seconds.
LIMIT = 180

# A program that looks at a process so often, by turns with libdw and by a
# search of the stacks, and prints the first report with an accusation.
LOOP = """
import sys
from drover_tools.why import render, verdict
from drover_tools.why.process import Process
source = Process(int(sys.argv[1]))
codes = [verdict.code_of(source, scan) for scan in (False, True)]
for number in range(int(sys.argv[2])):
    seen = verdict.Look(source, codes[number % 2])
    if seen.findings[0].severity in ("stuck", "likely"):
        sys.exit(render.report(seen))
"""


def why(*words, **options):
    """Run drover why. Return: its exit status, standard output and error."""
    done = subprocess.run([*WHY, *map(str, words)], cwd=TOOLS, check=False,
                          capture_output=True, text=True, timeout=LIMIT,
                          **options)
    return done.returncode, done.stdout, done.stderr


class Running:
    """A running program, which prints a line when it is stuck, or ends."""

    def __init__(self, *words, drop_in=None):
        settings = {key: value for key, value in os.environ.items()
                    if key not in ("LD_PRELOAD", "DROVER_POLICY")}
        if drop_in:
            settings["LD_PRELOAD"] = drop_in
        self._child = subprocess.Popen(words, stdout=subprocess.PIPE,
                                       env=settings, text=True)
        self.pid = self._child.pid

    def stuck(self):
        """Wait for it. Return: the stuck process, or None if it has ended."""
        line = self._child.stdout.readline()
        if line.startswith("stuck"):
            return int(line.split()[1])
        return None

    def wait(self):
        """The exit status, or None if the program does not end."""
        try:
            return self._child.wait(LIMIT)
        except subprocess.TimeoutExpired:
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._child.kill()
        self._child.stdout.close()
        self._child.wait()


def build(name, folder, *flags):
    """Compile a program of why_cases/."""
    path = os.path.join(folder, name)
    subprocess.run([os.environ.get("CC", "cc"), *FLAGS,
                    os.path.join(SOURCES, name + ".c"), "-o", path, *flags],
                   check=True)
    return path


def verdict_of(pid, *mode):
    """The name of the first finding, the exit status, and the sentence."""
    status, out, err = why("--json", *mode, pid)
    try:
        said = json.loads(out)
    except ValueError:
        return None, status, out + err
    return said["verdict"], status, said["findings"][0]["sentence"]


def accused(pid, looks):
    """The accusations of a process that runs well, of which there should be
    none."""
    done = subprocess.run([sys.executable, "-EsBc", LOOP, str(pid),
                           str(looks)], cwd=TOOLS, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout + f"status {done.returncode}" * (done.returncode != 0)
