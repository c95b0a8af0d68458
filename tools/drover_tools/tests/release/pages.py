# SPDX-License-Identifier: MIT
"""Runs commands of the documents; commands.py says which, and how."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile

from drover_tools.report import store
from drover_tools.tests.release import commands, documents
from drover_tools.tests.report.samples import ROW, result_of

#: On a busy machine a command may print something else once.
TRIES = 3
LIMIT = 300

#: The row of results that are printed; ggml's have such names.
GGML = "tg128 small, 2 threads, alone"

#: In a thundering herd at least so many per cent of the waiters sleep again.
HERD = 25


def row(out, name):
    """The ratio, and the interval if there is one, in a line of compare."""
    found = re.search(rf"^{name} +(\d+\.\d+)(?: \((\S+) to (\S+)\))?", out,
                      re.M)
    return [float(each) for each in found.groups() if each] if found else []


def is_herd(out):
    """Whether the threads that wait for a batch sleep again."""
    again = re.search(r"^batch_is_there(?: +\d+){6} +(\d+) %", out, re.M)
    return bool(again) and int(again.group(1)) >= HERD


def is_less(out):
    """Whether Drover makes fewer context switches."""
    switches = row(out, "context switches")
    return bool(switches) and switches[0] < 0.8


def tells_cost(out):
    """Whether the CPU time is printed, and in words if the ratio is clear."""
    cost = row(out, "CPU time")
    clear = len(cost) == 3 and not cost[1] - 0.03 < 1 < cost[2] + 0.03
    return bool(cost) and (not clear or "CPU time." in " ".join(out.split()))


def tells_nothing_to_gain(out):
    """Whether the output is that for a program of one thread."""
    counted = shutil.which("perf") or shutil.which("strace")
    return "o difference" in out and (not counted
                                      or "hardly a futex call" in out)


#: The beginning of a command, and a test of its output.
SAID = {
    "build/bin/drover why -t 2": lambda out: out.startswith("Deadlock: 2"),
    "build/bin/drover stat --stock -- build/thun": is_herd,
    "build/bin/drover stat -- build/thun": lambda out: not is_herd(out),
    "build/bin/drover compare -- build/thun": is_less,
    "build/bin/drover compare -n 8 -- awk": tells_nothing_to_gain,
    "build/bin/drover compare -n 8 -- build/prod": tells_cost}


def right(command, out):
    """Whether a command printed what it should. One CPU has no herd."""
    return all(is_right(out) for begin, is_right in SAID.items()
               if command.startswith(begin)
               and ("thun" not in begin or len(os.sched_getaffinity(0)) > 1))


def prepare(build, folder):
    """Make what commands need: results to print, and a build without any."""
    for name in ("bench", "ggml", "programs", "table"):
        result = result_of(glibc=[2.0] * 9, drop_in=[1.0] * 9)
        store.write_lines(os.path.join(folder, f"{name}.json"), json.loads(
            json.dumps({**result, "suite": name}).replace(ROW, GGML)))
    os.mkdir(os.path.join(folder, "build"))
    for name in ("bin", "kernel", "lib", "selftests", "vm"):
        if os.path.isdir(os.path.join(build, name)):
            os.symlink(os.path.join(build, name),
                       os.path.join(folder, "build", name))


def run(command, top, build, folder):
    """Run a command of a page. Return: its exit status and all output.

    `make install` installs to a folder. A command that is called by its
    installed name runs in this folder, which has a file to compress. make
    installs no packages.
    """
    installed = command.startswith("drover ")
    shutil.copy(os.path.join(top, "LICENSES", "GPL-2.0-only.txt"),
                os.path.join(folder, "big.tar"))
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(folder, "big.tar.xz"))
    clean = {key: value for key, value in os.environ.items()
             if key not in ("LD_PRELOAD", "DROVER_POLICY", "MAKEFLAGS",
                            "MAKELEVEL", "MFLAGS", "PREFIX", "LIBDIR")}
    if build != os.path.join(top, "build"):
        command = re.sub(r"(?<!\S)build/", f"{build}/", command)
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder if installed else top, check=False,
        env=clean | {"O": build, "DESTDIR": folder, "DEPS": "none",
                     "PATH": f"{build}/bin:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.STDOUT, timeout=LIMIT)
    return done.returncode, done.stdout


def missing(needs):
    """The first thing that a command needs and that is not here."""
    return next((name for name in needs if not (
        os.getuid() == 0 if name == "root" else shutil.which(name))), None)


def of_documents(top, table):
    """{command: (document, pattern of the output, needs)} of a table."""
    found = {}
    for path in documents.paths(top):
        for _, command in documents.commands(top, path):
            to_run = commands.to_run(command, table)
            if to_run:
                found.setdefault(to_run[0], (path, *to_run[1:]))
    return found


def test_all(tap, top, build, table=commands.RUN):
    """Each command of a table ends well, and prints what the page shows."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(build, folder)
        found = of_documents(top, table)
        for command, (page, said, needs) in found.items():
            title = f"{os.path.basename(page)}: {command}"
            if missing(needs):
                tap.skip(title, f"there is no {missing(needs)}")
                continue
            for _ in range(TRIES):
                status, out = run(command, top, build, folder)
                if status or right(command, out):
                    break
            # The program of the tutorial is stuck, which is status 1.
            well = status == ("drover why -t" in command)
            tap.ok(well and right(command, out) and re.search(said, out),
                   title, f"status {status}: {out[-3000:]}")
