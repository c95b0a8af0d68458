# SPDX-License-Identifier: MIT
"""Runs the programs of the rows in a folder with their input."""

import contextlib
import os
import shlex
import shutil
import subprocess
import time

from drover_tools.programs import inputs, mariadb
from drover_tools.programs.rows import LOADS
from drover_tools.runs import system
from drover_tools.runs.process import check, finish, spawn, used_by, wake_up

MEGABYTE = 1 << 20
TEXT, FILM = 12 * MEGABYTE, (320, 192, 150)

#: The commands that compile our own sources, of which some may be missing.
COMPILERS = (
    ("javac", "-d {work} {here}/Handoffs.java"),
    ("g++", "-O2 -pthread -o {work}/pool {here}/pool.cc"),
    *(("cc", f"-O2 -pthread -o {{work}}/{name} {{here}}/{name}.c")
      for name in ("producer", "reader", "submitter", "wakeup")))
PREPARING_LIMIT = 300


class Runner:
    """Runs programs in a folder, which the runner makes and fills."""

    def __init__(self, folder):
        self.folder = folder
        self.work = os.path.join(folder, "loads")
        self._errors = os.path.join(folder, "errors")

    def prepare(self, programs):
        """Compile, and make the input."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.work)
        for command, options in COMPILERS:
            if system.have(command):
                subprocess.run(
                    [command, *(word.format(work=self.work, here=LOADS)
                                for word in options.split())],
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
        """The command of a program, which works while the input exists."""
        return shlex.join(program.words(self.folder, self.work))

    def run(self, program, cpus, library, limit, kept=None, **more):
        """Run a program once. Return: its time and the resources it used.

        kept: a folder for its output; more: variables of its environment
        """
        output, errors = (os.path.join(kept, "output"),
                          os.path.join(kept, "errors")) if kept else (
                              os.devnull, self._errors)
        for name in program.fresh:
            path = os.path.join(self.folder, name)
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                os.remove(path)
        environment = system.environment(library, **more)
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(mariadb.Server(
                os.path.join(self.folder, "mariadb"), environment, cpus,
                limit)) if program.server else None
            before = server.used() if server else {}
            words = program.words(self.folder, self.work)
            start = time.monotonic()
            pid = spawn(words, environment, cpus, errors, output)
            status, used = finish(pid, limit)
            seconds = time.monotonic() - start
            after = server.used() if server else {}
        check(status, words, errors)
        return {"seconds": seconds,
                **{key: value + after.get(key, 0) - before.get(key, 0)
                   for key, value in used_by(used).items()}}

    def wake_up(self, first, second):
        """Nanoseconds of waking a thread on another CPU, or on the same."""
        return wake_up(os.path.join(self.work, "wakeup"), first, second)

    def close(self):
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
