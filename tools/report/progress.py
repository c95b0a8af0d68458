#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Where a measurement stands and how long it will take, on stderr."""

import contextlib
import sys
import time

#: Seconds that a run is expected to take before one of its kind has run, and
#: that booting one guest takes.
FIRST_GUESS = {"host": 0.4, "guest": 4.0}
BOOT_GUESS = 7.0

#: Without a terminal, a line that often.
LINE_SECONDS = 15


def clock(seconds):
    """4:07"""
    seconds = int(seconds + 0.5)
    return f"{seconds // 60}:{seconds % 60:02}"


class Progress:
    """Knows all cells, and learns from each run how long the rest takes."""

    def __init__(self, cells, runs, boots, out=sys.stderr):
        self._cells = cells
        self._left = {id(cell): runs for cell in cells}
        self._seconds = {}              # id of cell: wall seconds of its runs
        self._guesses = {}              # id of cell: wall seconds of one run
        self._runs = runs
        self._boots = boots
        self._out = out
        self._tty = out.isatty()
        self._last = 0.0

    def expect(self, cell, runs, seconds):
        """What is known of a cell before its first run here."""
        self._left[id(cell)] = runs
        self._guesses[id(cell)] = seconds

    def drop(self, cell):
        """It is not run any more."""
        self._left[id(cell)] = 0

    def _mean(self, cells):
        known = [seconds for cell in cells
                 for seconds in self._seconds.get(id(cell), ())]
        return sum(known) / len(known) if known else None

    def expected(self, cell):
        """Wall seconds of one run: of its own, or of those most like it."""
        if id(cell) in self._guesses and id(cell) not in self._seconds:
            return self._guesses[id(cell)]
        alike = [other for other in self._cells if other.place == cell.place]
        for cells in ([cell],
                      [other for other in alike if other.row is cell.row],
                      alike):
            mean = self._mean(cells)
            if mean is not None:
                return mean
        return FIRST_GUESS[cell.place]

    def remaining(self):
        """Seconds until everything is measured."""
        return self._boots * BOOT_GUESS + sum(
            self._left[id(cell)] * self.expected(cell)
            for cell in self._cells if cell.open)

    def note(self, text):
        """Say what is done now."""
        now = time.monotonic()
        line = f"{clock(self.remaining()):>6} left  {text}"
        if self._tty:
            self._out.write(f"\r\033[K{line[:100]}")
        elif now - self._last >= LINE_SECONDS:
            self._last = now
            self._out.write(line + "\n")
        self._out.flush()

    def boot(self, text):
        """Say that a guest boots."""
        self.note(text)
        self._boots = max(0, self._boots - 1)

    @contextlib.contextmanager
    def running(self, cell, number):
        """Around one run of a cell."""
        cpus = f"{cell.cpus} CPU{'s' * (cell.cpus > 1)}"
        self.note(f"{cell.place}, {cpus}, run {number + 1} of {self._runs}: "
                  f"{cell.row.command}, {cell.contender.name}")
        start = time.monotonic()
        yield
        self._left[id(cell)] -= 1
        self._seconds.setdefault(id(cell), []).append(
            time.monotonic() - start)

    def close(self):
        """Leave no half line on a terminal."""
        if self._tty:
            self._out.write("\r\033[K")
            self._out.flush()
