# SPDX-License-Identifier: GPL-2.0-only
"""Where a program runs: its folder, its environment, and its end.

Everything that is started here dies with the test, and has a time limit.
"""

import contextlib
import ctypes
import os
import re
import signal
import subprocess

import system

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_prctl = ctypes.CDLL(None, use_errno=True).prctl


class RanTooLong(Exception):
    """A program did not end in time; says what its threads were doing."""


def adopt_orphans():
    """Become the parent of whatever a program leaves behind."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _die_with_parent():
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Place:
    """One run's folder; with a library, that library is preloaded there."""

    def __init__(self, folder, library=None):
        self.folder = folder
        self.bindings = os.path.join(folder, "bindings")
        self.has_library = library is not None
        self._started = []
        os.makedirs(self.bindings)
        # In both runs, so that their times can be compared. A function is
        # bound when it is first called, if the program was not linked to
        # have all of them bound at its start.
        self._environment = system.environment(
            library, LD_DEBUG="bindings",
            LD_DEBUG_OUTPUT=os.path.join(self.bindings, "pid"))

    def path(self, name):
        """A file of this run."""
        return os.path.join(self.folder, name)

    def start(self, command, stdin=None, output="output", **variables):
        """Start a command; standard output and error go to files."""
        with contextlib.ExitStack() as files:
            process = subprocess.Popen(
                command, cwd=self.folder,
                stdin=files.enter_context(open(stdin or os.devnull, "rb")),
                stdout=files.enter_context(open(self.path(output), "wb")),
                stderr=files.enter_context(
                    open(self.path(output + ".errors"), "wb")),
                env=dict(self._environment, **variables),
                start_new_session=True, preexec_fn=_die_with_parent)
        self._started.append(process)
        return process

    def wait(self, process, limit):
        """The exit status of what was started."""
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            raise RanTooLong(f"{os.path.basename(process.args[0])} ran longer"
                             f" than {limit} s\n"
                             + _threads(process.pid)) from None

    def run(self, command, limit, stdin=None, output="output", **variables):
        """Run a command to its end; returns its results by name."""
        process = self.start(command, stdin, output, **variables)
        status = self.wait(process, limit)
        return {f"{output}: exit status": status,
                output: self.read(output),
                f"{output}: errors": self.read(output + ".errors")}

    def read(self, name):
        """What is in a file of this run."""
        with open(self.path(name), "rb") as file:
            return file.read()

    def close(self):
        """End what still runs."""
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def forget(self, *names):
        """Remove big files that have been compared."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path(name))


def _threads(pid):
    """A line for each thread: its name, state and system call."""
    lines = []
    for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        with contextlib.suppress(OSError):
            texts = []
            for name in ("comm", "stat", "syscall"):
                with open(f"/proc/{pid}/task/{tid}/{name}",
                          encoding="utf-8", errors="replace") as file:
                    texts.append(file.read().strip())
            state = texts[1].rsplit(") ", 1)[1][0]
            lines.append(f"{tid} {texts[0]} {state} syscall {texts[2]}")
    return "\n".join(lines)


# Which library a program's condition variables come from: the dynamic linker says
# so itself, with LD_DEBUG=bindings, for each symbol that it binds, which object
# needs it and which object it found it in.

LINE = re.compile(rb"binding file (\S+) \[\d+\] to (\S+) \[\d+\]:"
                  rb" normal symbol `((?:pthread_cond_|cnd_)\w+)'")
WAITS = re.compile(r"wait|clockwait|timedwait")
WAKES = re.compile(r"signal|broadcast")


def read_bindings(folder):
    """All bindings of condvar functions: {(from, to, symbol)}."""
    found = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            for line in file:
                match = LINE.search(line)
                if match:
                    found.add(tuple(part.decode()
                                    for part in match.groups()))
    return found


def verdict(bound, name, library):
    """(passed, name, lines): were all of them bound to the library?

    The attribute functions are not: glibc's attributes stay glibc's.
    """
    used = {b for b in bound if not b[2].startswith("pthread_condattr_")
            and os.path.basename(b[0]) != library}
    strays = sorted(b for b in used if os.path.basename(b[1]) != library)
    symbols = {symbol for _, to, symbol in used
               if os.path.basename(to) == library}
    users = {os.path.basename(user) for user, _, _ in used}
    wrong = [f"{user}: {symbol} is {to}'s" for user, to, symbol in strays]
    if not any(WAITS.search(symbol) for symbol in symbols):
        wrong.append("no wait was bound to the drop-in")
    if not any(WAKES.search(symbol) for symbol in symbols):
        wrong.append("neither signal nor broadcast was bound to the drop-in")
    lines = wrong or [f"{', '.join(sorted(symbols))}",
                      f"bound for {', '.join(sorted(users))}"]
    return not wrong, name, lines
