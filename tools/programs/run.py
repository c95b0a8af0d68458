# SPDX-License-Identifier: MIT
"""Running programs so that measuring them costs them nothing.

A program is started by posix_spawn() on the CPUs it is given, and the runner
sleeps in wait4() until it ends, which also tells what it and its children
used.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time

import inputs
import mariadb
import system
from rows import HERE

MEGABYTE = 1 << 20
TEXT, FILM = 12 * MEGABYTE, (320, 192, 150)

#: Our own sources: what they are compiled with. Without it, not at all.
COMPILERS = {
    "javac": ["-d", "{work}", "{here}/Handoffs.java"],
    "g++": ["-O2", "-pthread", "-o", "{work}/pool", "{here}/pool.cc"],
    "cc": ["-O2", "-pthread", "-o", "{work}/producer", "{here}/producer.c"],
    "gcc": ["-O2", "-pthread", "-o", "{work}/wakeup", "{here}/wakeup.c"],
}
PREPARING_LIMIT = 300


class TooSlow(Exception):
    """A program was ended at its time limit."""


class Failed(Exception):
    """A program failed; the text says how."""


def _ring(_number, _frame):
    raise TooSlow


def spawn(words, environment, cpus, errors):
    """Start a program in a session of its own; its process id."""
    signal.signal(signal.SIGALRM, _ring)
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        return os.posix_spawn(
            system.have(words[0]) or words[0], words, environment,
            setsid=True, setsigdef=[signal.SIGINT, signal.SIGPIPE],
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, errors, write, 0o644)])
    finally:
        os.sched_setaffinity(0, mine)


def finish(pid, limit):
    """Wait for its end: (exit status, resources)."""
    try:
        signal.setitimer(signal.ITIMER_REAL, limit)
        _, status, used = os.wait4(pid, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return os.waitstatus_to_exitcode(status), used
    except BaseException:
        end(pid)
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def end(pid):
    """End it with all that it started, unless it has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _check(status, words, errors):
    if status:
        with open(errors, encoding="utf-8", errors="replace") as file:
            last = file.read().strip().splitlines()[-1:] or ["no message"]
        raise Failed(f"{words[0]}: exit status {status}: {last[0][:200]}")


def used_by(used):
    """Resources, as a run has them."""
    return {"cpu_seconds": used.ru_utime + used.ru_stime,
            "voluntary_switches": used.ru_nvcsw,
            "involuntary_switches": used.ru_nivcsw}


class Runner:
    """Runs programs in a folder, which it makes and fills."""

    def __init__(self, folder):
        self.folder = folder
        self.work = os.path.join(folder, "work")
        self._errors = os.path.join(folder, "errors")

    def prepare(self, programs):
        """Compile, and make the input."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.work)
        for command, options in COMPILERS.items():
            if system.have(command):
                subprocess.run(
                    [command, *(word.format(work=self.work, here=HERE)
                                for word in options)],
                    check=True, timeout=PREPARING_LIMIT)
        lines = " ".join(program.line for program in programs)
        if "{folder}/text" in lines:
            inputs.text(os.path.join(self.folder, "text"), TEXT)
        if "{folder}/film" in lines:
            inputs.film(os.path.join(self.folder, "film.y4m"), *FILM)
        if any(program.server for program in programs):
            mariadb.prepare(os.path.join(self.folder, "mariadb"),
                            PREPARING_LIMIT)

    def command(self, program):
        """As it can be typed, while the input is there."""
        return shlex.join(program.words(self.folder, self.work))

    def run(self, program, cpus, library, limit):
        """One run; what it took."""
        for name in program.fresh:
            path = os.path.join(self.folder, name)
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                os.remove(path)
        environment = system.environment(library)
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(mariadb.Server(
                os.path.join(self.folder, "mariadb"), environment, cpus,
                limit)) if program.server else None
            before = server.used() if server else {}
            words = program.words(self.folder, self.work)
            start = time.monotonic()
            pid = spawn(words, environment, cpus, self._errors)
            status, used = finish(pid, limit)
            seconds = time.monotonic() - start
            after = server.used() if server else {}
        _check(status, words, self._errors)
        return {"seconds": seconds,
                **{key: value + after.get(key, 0) - before.get(key, 0)
                   for key, value in used_by(used).items()}}

    def wake_up(self, first, second, count=20000):
        """Nanoseconds of waking a thread on another CPU, or on the same."""
        program = os.path.join(self.work, "wakeup")
        if not os.path.exists(program):
            return None
        done = subprocess.run(
            [program, str(count), str(first), str(second)], check=True,
            capture_output=True, text=True, timeout=PREPARING_LIMIT)
        return int(done.stdout)

    def close(self):
        """Remove what was made."""
        shutil.rmtree(self.folder, ignore_errors=True)
