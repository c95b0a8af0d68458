# SPDX-License-Identifier: MIT
"""The places in which commands run: this machine, and several guests."""

import contextlib
import json
import os
import signal
import subprocess

from drover_tools.tree import TOP
from drover_tools.vm.guest import Guest, GuestDied, GuestError, GuestTimeout

#: A guest runs this once before anything is measured, as an emulated CPU
#: translates code when it first executes it.
WARM_UP = ("for impl in pthread drover; do"
           " /drover/bin/cond-perf -n 50 -r 50 --impl=$impl &&"
           " /drover/bin/pp -n 50 -i 50 --impl=$impl || exit; done")
WARM_UP_LIMIT = 120


class TooSlow(Exception):
    """The command was ended at its time limit."""


class Failed(Exception):
    """The command gave no result; the text says why."""


def describe(error):
    """A GuestError with the guest's last words, if it had any."""
    log = getattr(error, "log", "")
    return f"{error}\n{log}" if log else str(error)


def read_result(text, status):
    """The JSON object that a benchmark printed."""
    if status:
        last = text.strip().splitlines()[-1:] or ["no output"]
        raise Failed(f"exit status {status}: {last[0]}")
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError as error:
                raise Failed(f"not JSON: {error}: {line[:80]}") from error
    raise Failed(f"no result in {text[:80]!r}")


class Host:
    """This machine's own kernel."""

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        """Nothing is left to end: no program runs between two commands."""

    def run(self, cell, limit):
        """Run a cell's command once. Return: its result."""
        with subprocess.Popen(["/bin/sh", "-c", "exec " + cell.command],
                              cwd=TOP, text=True, start_new_session=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            try:
                text, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                raise TooSlow() from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        return read_result(text, process.returncode)


class Guests:
    """One guest for each variant, all booted, all with the same CPUs.

    A guest stands still while none of its own commands runs, so runs in
    different guests can be interleaved.
    """

    def __init__(self, variants, cpus, note, **settings):
        self._variants = variants
        self._settings = {"cpus": cpus, **settings}
        self._note = note
        self._guests = {}
        self._stack = contextlib.ExitStack()
        self.accel = None

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self._stack.close)
            for variant in self._variants:
                self._boot(variant)
            undo.pop_all()
        return self

    def __exit__(self, *_exception):
        self._stack.close()

    def _boot(self, variant):
        cpus = self._settings["cpus"]
        self._note(f"booting {variant}, {cpus} CPU{'s' * (cpus > 1)}")
        guest = self._stack.enter_context(
            Guest(variant=variant, **self._settings))
        self.accel = guest.accel
        status, output = guest.run(WARM_UP, timeout=WARM_UP_LIMIT)
        if status:
            raise GuestError(f"warming up {variant}: exit status {status}",
                             output=output)
        self._guests[variant] = guest

    def run(self, cell, limit):
        """Run a cell's command once in its guest. Return: its result.

        A guest that dies is booted again for the next command.
        """
        variant = cell.contender.variant
        if variant not in self._guests:
            self._boot(variant)
        try:
            status, output = self._guests[variant].run(cell.command,
                                                       timeout=limit)
        except GuestTimeout:
            raise TooSlow() from None
        except GuestDied as error:
            self._guests.pop(variant).close()
            raise Failed(describe(error)) from error
        return read_result(output.decode(errors="replace"), status)
