# SPDX-License-Identifier: MIT
"""Tests of `drover why`: its refusals, and how --exact stops threads."""

import os
import shutil
import signal
import subprocess
import sys
import time
from unittest import mock

from drover_tools.tests.drover.why_run import TOOLS, WHY, why
from drover_tools.why import exact, process, verdict

NOBODY = 65534
# A program that asks not to be looked at, as those with secrets do, and waits.
SECRET = """
import ctypes, os, sys
os.setuid(65534)
ctypes.CDLL(None).prctl(4, 0)
print(flush=True)
sys.stdin.read()
"""
# A program that counts a signal, and prints the count for each line it reads.
COUNTS = """
import signal, sys
came = []
signal.signal(signal.SIGUSR1, lambda *_: came.append(1))
print(flush=True)
for line in sys.stdin:
    print(len(came), flush=True)
"""
# A program that waits at a semaphore of its own, for a limited time.
WAITS = """
import threading
lock = threading.Lock()
lock.acquire()
print(flush=True)
lock.acquire(timeout=1000)
"""
#: A script that runs a command which sees another value of this setting.
YAMA = ("mount -t tmpfs tmpfs /proc/sys/kernel && mkdir /proc/sys/kernel/yama"
        " && echo $0 >/proc/sys/kernel/yama/ptrace_scope && exec \"$@\"")
SAID_OF_YAMA = {"0": "has asked not to be looked at: run sudo drover why",
                "1": "only its parent look at process",
                "3": "before the next boot"}


def started(program):
    """A child that runs a Python program, and has begun to wait."""
    child = subprocess.Popen([sys.executable, "-c", program], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    while state_of(child.pid) != "S":
        time.sleep(0.001)
    return child


def state_of(pid):
    """The state of a process: R, S, t, ..."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_refused(tap):
    """A refusal says what is not allowed, and what would allow it."""
    status, _, err = why(2 ** 22 + 1)
    tap.ok(status == 3 and "there is no process" in err, "no process", err)
    if os.geteuid():
        tap.skip("another user's process", "only root can try")
        return
    status, _, err = why(os.getpid(), preexec_fn=lambda: os.setuid(NOBODY))
    tap.ok(status == 3
           and f"to the user root: run sudo drover why {os.getpid()}" in err,
           "another user's process", err)
    with started(SECRET) as child:
        for scope, said in SAID_OF_YAMA.items():
            test_yama(tap, child.pid, scope, said)
        test_capability(tap, child.pid)
        child.stdin.close()


def run(*words):
    """The exit status of a command, and all its output."""
    done = subprocess.run(words, cwd=TOOLS, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def test_yama(tap, pid, scope, said):
    """The same user may not look if the setting of yama forbids it."""
    name = f"kernel.yama.ptrace_scope is {scope}"
    inside = ["unshare", "--mount", "sh", "-c", YAMA, scope]
    if not shutil.which("setpriv") or run(*inside, "true")[0]:
        tap.skip(name, "there is no setpriv, or no right to mount")
        return
    status, out = run(*inside, "setpriv", f"--reuid={NOBODY}",
                      f"--regid={NOBODY}", "--clear-groups", *WHY, str(pid))
    tap.ok(status == 3 and said in out and out.count("\n") == 1, name, out)


def test_capability(tap, pid):
    """Root of a container without the right to trace may not look."""
    name = "a container without CAP_SYS_PTRACE"
    if not shutil.which("setpriv"):
        tap.skip(name, "there is no setpriv")
        return
    status, out = run("setpriv", "--bounding-set=-sys_ptrace",
                      "--inh-caps=-sys_ptrace", *WHY, str(pid))
    tap.ok(status == 3 and "docker run --cap-add SYS_PTRACE" in out, name, out)


def seen_stopped(pid):
    """The look of --exact at a process."""
    source = exact.Stopped(pid)
    try:
        source.prepared = True
        return verdict.look(source)
    finally:
        source.close()


def test_signals(tap):
    """A signal that comes while a thread is being stopped is not lost."""
    original = exact.Stopped._ptrace

    def ptrace(self, request, tid, *arguments, **more):
        original(self, request, tid, *arguments, **more)
        if request == exact.PTRACE_SEIZE:
            os.kill(tid, signal.SIGUSR1)
            while state_of(tid) != "t":
                time.sleep(0.001)

    with started(COUNTS) as child:
        with mock.patch.object(exact.Stopped, "_ptrace", ptrace):
            look = seen_stopped(child.pid)
        child.stdin.write("\n")
        child.stdin.flush()
        tap.equal((child.stdout.readline(), look.threads[0].wait.role),
                  ("1\n", "read"), "--exact: a signal is not lost")
        child.stdin.close()


def test_patience(tap):
    """A thread that gets no CPU for a while still stops."""
    stops_at = time.monotonic() + 2 * exact.PATIENCE

    def waitpid(tid, flags):
        if time.monotonic() < stops_at:
            return 0, 0
        return waited(tid, flags)

    waited = os.waitpid
    with started(COUNTS) as child:
        try:
            with mock.patch.object(exact.os, "waitpid", waitpid):
                said = seen_stopped(child.pid).threads[0].wait.role
        except exact.Refused as error:
            said = str(error)
        tap.equal(said, "read", "--exact: a thread may stop late")
        child.stdin.close()


def test_restart(tap):
    """A limited wait that was interrupted is still recognised."""
    with started(WAITS) as child:
        said = [verdict.look(process.Process(child.pid)).threads[0].wait.role]
        said.append(seen_stopped(child.pid).threads[0].wait.role)
        while state_of(child.pid) != "S":
            time.sleep(0.001)
        said.append(verdict.look(process.Process(child.pid)).threads[0]
                    .wait.role)
        tap.equal(said, ["semaphore"] * 3, "--exact: the waits are as before")
        child.kill()


def test_all(tap):
    """Run all tests."""
    for test in (test_refused, test_signals, test_patience, test_restart):
        test(tap)
