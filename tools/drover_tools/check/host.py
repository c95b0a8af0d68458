# SPDX-License-Identifier: MIT
"""Runs test programs on this machine, each alone and with a time limit, and
calls a function for several arguments at a time."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import subprocess
from multiprocessing import connection

from drover_tools.check.results import FAIL, Result, parse, tail
from drover_tools.runs.process import children, end_children

PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None, use_errno=True).prctl
_fork = multiprocessing.get_context("fork")


def _die_with_parent():
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run(command, limit, path, env=None):
    """Run a command. Return: (exit status, output, names of processes left).

    The exit status is None if the time limit ended the command. While it runs,
    its output can be read in path. All processes that it started are ended
    when this returns, also if it ends by an exception such as Ctrl-C.
    """
    before = children()
    status = None
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w+b") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, env=dict(os.environ, **(env or {})),
            start_new_session=True, preexec_fn=_die_with_parent)
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(limit)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            left = end_children(spared=before)
        output.seek(0)
        return status, output.read().decode(errors="replace"), left


def run_test(name, command, limit, path, env=None):
    """Run one test program, as run() does. Return: its results."""
    status, output, left = run(command, limit, path, env)
    if status is None:
        return [Result(name, FAIL, f"ran longer than {limit} s",
                       tail(output))]
    results = parse(name, output, status)
    if left:
        results.append(Result(name, FAIL,
                              f"left processes behind: {', '.join(left)}"))
    return results


def side_by_side(function, things):
    """Yield (thing, function(thing)) for each, in the order in which they end.

    As many calls run at a time as there are CPUs, each in a process of its
    own, which ends when this process ends in any way. For a single thing no
    process is made.
    """
    if len(things) == 1:
        yield things[0], function(things[0])
        return
    left, running = list(things), {}
    while left or running:
        while left and len(running) < (os.cpu_count() or 1):
            ours, theirs = _fork.Pipe(duplex=False)
            running[ours] = left.pop(0)
            _fork.Process(target=_call, args=(function, running[ours], theirs,
                                              os.getpid()),
                          daemon=True).start()
            theirs.close()
        for pipe in connection.wait(running):
            thing = running.pop(pipe)
            try:
                result = pipe.recv()
            except EOFError:
                raise RuntimeError(f"{thing}: its process died") from None
            if isinstance(result, BaseException):
                raise result
            yield thing, result


def _call(function, thing, pipe, parent):
    _die_with_parent()
    if os.getppid() != parent:          # the parent ended before the call
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        pipe.send(function(thing))
    except BaseException as error:      # pylint: disable=broad-except
        pipe.send(error)
