# SPDX-License-Identifier: MIT
"""Runs programs so that the measurement costs them nothing.

posix_spawn() starts a program on its CPUs, and the runner sleeps in wait4()
until the program ends. wait4() also returns the resources that the program and
its children used.
"""

import contextlib
import ctypes
import os
import signal
import subprocess

from drover_tools.runs import system

PR_SET_CHILD_SUBREAPER = 36
#: A wake-up on another CPU is dear from so many nanoseconds on. Within this
#: factor of the limit it is called neither dear nor cheap.
DEAR, CLOSE = 10000, 2
#: So many bytes of a program's output are read at its beginning and its end.
MOST_SAID = 1 << 16
WAKE_UPS, WAKE_UP_LIMIT = 20000, 60


class TooSlow(Exception):
    """A program was ended at its time limit."""


class Failed(Exception):
    """A program failed; the text says how."""


def _ring(_number, _frame):
    raise TooSlow


def spawn(words, environment, cpus, errors, output=os.devnull,
          given=os.devnull):
    """Start a program in a session of its own. Return: its process id.

    errors, output, given: the files of its standard error, output and input
    """
    signal.signal(signal.SIGALRM, _ring)
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        return os.posix_spawn(
            system.have(words[0]) or words[0], words, environment,
            setsid=True, setsigdef=[signal.SIGINT, signal.SIGPIPE],
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, output, write, 0o644),
                (os.POSIX_SPAWN_OPEN, 2, errors, write, 0o644)])
    finally:
        os.sched_setaffinity(0, mine)


def finish(pid, limit):
    """Wait for the end of a program. Return: (exit status, resources)."""
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
    """End a program, and all of its session, unless it has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def last_line(text):
    """The last line of a program's output."""
    return (text.strip().splitlines()[-1:] or ["no message"])[0][:200]


def ends_of(path):
    """The beginning and the end of a file, or all of a short one."""
    with open(path, "rb") as file:
        found = file.read(MOST_SAID)
        start = max(os.fstat(file.fileno()).st_size - MOST_SAID, len(found))
        file.seek(start)
        return (found + file.read(MOST_SAID)).decode(errors="replace")


def last_words(errors):
    """The last line of a file."""
    return last_line(ends_of(errors))


def check(status, words, errors):
    """Raise Failed unless the exit status is 0."""
    if status:
        raise Failed(f"{words[0]}: exit status {status}:"
                     f" {last_words(errors)}")


def used_by(used):
    """Resources as members of a run."""
    return {"cpu_seconds": used.ru_utime + used.ru_stime,
            "voluntary_switches": used.ru_nvcsw,
            "involuntary_switches": used.ru_nivcsw}


def adopt_orphans():
    """Become the parent of the processes that a program leaves behind."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def children():
    """{process id: name} of this process's children; "" if one has ended."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(
                f"/proc/{entry}/stat", encoding="utf-8",
                errors="replace") as file:
            name, rest = file.read().rsplit(") ", 1)
            state, parent = rest.split()[:2]
            if int(parent) == os.getpid():
                found[int(entry)] = name.split("(", 1)[1] * (state != "Z")
    return found


def end_children(spared=()):
    """End all children that are left, and their children. Return: names."""
    names = []
    while left := {pid: name for pid, name in children().items()
                   if pid not in spared}:
        names += filter(None, left.values())
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
    return names


def wake_up(program, first, second):
    """Nanoseconds of waking a thread on another CPU, or on the same.

    program: the built loads/wakeup.c. Return: None if it is missing.
    """
    if not os.path.exists(program):
        return None
    done = subprocess.run(
        [program, str(WAKE_UPS), str(first), str(second)], check=True,
        capture_output=True, text=True, timeout=WAKE_UP_LIMIT)
    return int(done.stdout)


def dear_or_cheap(nanoseconds):
    """The word for the cost of a wake-up, or None close to the limit."""
    if DEAR / CLOSE < nanoseconds < DEAR * CLOSE:
        return None
    return "dear" if nanoseconds >= DEAR else "cheap"
