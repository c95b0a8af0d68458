# SPDX-License-Identifier: MIT
"""Runs the commands of the pages for users, unchanged."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import textwrap

PAGES = ("README.md", "Documentation/tutorial.rst",
         "Documentation/when-not-to-use-it.rst", "Documentation/man/drover.1")
#: A literal block in the pages that do not indent them.
BLOCK = re.compile(r"^(?:```|\.EX)\n(.*?)^(?:```|\.EE)", re.M | re.S)
#: A command in a literal block, without its comment.
COMMAND = re.compile(r"^ {4}((?:make|gcc|drover|build/bin/drover)\b.*?)"
                     r"(?: {2,}#.*)?$", re.M)
#: Commands that are not run: make has run before this, the others take hours.
LEFT_OUT = ("make", "make table", "make check")
#: On a busy machine a command may print something else once.
TRIES = 3
LIMIT = 300

#: In a thundering herd at least so many per cent of the waiters sleep again.
HERD = 25


def commands(path):
    """All commands of a page."""
    with open(path, encoding="utf-8") as file:
        text = BLOCK.sub(lambda block: textwrap.indent(block[1], "    "),
                         file.read()).replace("\\-", "-")
    return [line for line in COMMAND.findall(text) if line not in LEFT_OUT]


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


def run(command, top, build, folder):
    """Run a command of a page. Return: its exit status and all output.

    `make install` installs to a folder. A command that is called by its
    installed name runs in this folder, which has a file to compress.
    """
    command = command.replace("PROGRAM ARGUMENT...", "true").replace(
        "why PID", "why $PPID")
    installed = command.startswith("drover ")
    shutil.copy(os.path.join(top, "LICENSES", "GPL-2.0-only.txt"),
                os.path.join(folder, "big.tar"))
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(folder, "big.tar.xz"))
    clean = {key: value for key, value in os.environ.items()
             if key not in ("LD_PRELOAD", "DROVER_POLICY", "MAKEFLAGS",
                            "MAKELEVEL", "MFLAGS", "PREFIX", "LIBDIR")}
    done = subprocess.run(
        ["sh", "-c", re.sub(r"(?<!\S)build/", f"{build}/", command)],
        cwd=folder if installed else top, check=False, text=True,
        env=clean | {"O": build, "DESTDIR": folder,
                     "PATH": f"{build}/bin:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=LIMIT)
    return done.returncode, done.stdout


def test_all(tap, top, build):
    """Each command ends well, and prints what the page shows."""
    with tempfile.TemporaryDirectory() as folder:
        for page in PAGES:
            found = commands(os.path.join(top, page))
            tap.ok(found, f"{page}: has commands")
            for command in found:
                if " xz " in command and not shutil.which("xz"):
                    tap.skip(command, "there is no xz")
                    continue
                for _ in range(TRIES):
                    status, out = run(command, top, build, folder)
                    if status or right(command, out):
                        break
                # The program of the tutorial is stuck, which is status 1.
                well = status == ("drover why -t" in command)
                tap.ok(well and right(command, out),
                       f"{os.path.basename(page)}: {command}",
                       f"status {status}: {out[-3000:]}")
