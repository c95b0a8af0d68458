# SPDX-License-Identifier: GPL-2.0-only
"""Calls a function for several things at a time."""

import ctypes
import multiprocessing
import os
import signal
from multiprocessing import connection

PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None, use_errno=True).prctl
_fork = multiprocessing.get_context("fork")


def side_by_side(function, things):
    """Yield (thing, function(thing)) for each, in the order in which they end.

    As many at a time as there are CPUs, each in a process of its own, which
    ends with this one, however that ends. A single thing needs no process.
    """
    if len(things) == 1:
        yield things[0], function(things[0])
        return
    left, running = list(things), {}
    while left or running:
        while left and len(running) < (os.cpu_count() or 1):
            thing = left.pop(0)
            running[_start(function, thing)] = thing
        for pipe in connection.wait(running):
            thing = running.pop(pipe)
            try:
                result = pipe.recv()
            except EOFError:
                raise RuntimeError(f"{thing}: its process died") from None
            if isinstance(result, BaseException):
                raise result
            yield thing, result


def _start(function, thing):
    """Start a process; returns the pipe that brings its result."""
    ours, theirs = _fork.Pipe(duplex=False)
    _fork.Process(target=_call, args=(function, thing, theirs, os.getpid()),
                  daemon=True).start()
    theirs.close()
    return ours


def _call(function, thing, pipe, parent):
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:          # it ended before the prctl
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        pipe.send(function(thing))
    except BaseException as error:      # pylint: disable=broad-except
        pipe.send(error)
