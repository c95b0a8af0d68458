# SPDX-License-Identifier: MIT
"""The progress of a measurement and the time that is left, on stderr."""

import contextlib
import sys
import time

#: The expected seconds of a run, before one of its kind has run.
FIRST_GUESS = {"host": 0.4, "guest": 4.0}

#: Without a terminal, a line is printed every so many seconds.
LINE_SECONDS = 15


def clock(seconds):
    """Seconds as minutes and seconds: 4:07"""
    seconds = int(seconds + 0.5)
    return f"{seconds // 60}:{seconds % 60:02}"


class Progress:
    """Estimates from each run how long the rest takes; has the time limit."""

    def __init__(self, seconds, out=sys.stderr, now=time.monotonic):
        self._now, self._out = now, out
        self.end = now() + seconds
        self._tty = out.isatty()
        self._last = float("-inf")
        self._planned = {}              # id of cell: (cell, runs to come)
        self._seconds = {}              # row, CPUs, place: (runs, seconds)

    def left(self):
        """The seconds in which rounds may still begin."""
        return max(0.0, self.end - self._now())

    def extend(self, seconds):
        """Set the time that is left."""
        self.end = self._now() + seconds

    def plan(self, cells, runs):
        """Expect so many runs of each cell."""
        self._planned.update({id(cell): (cell, runs) for cell in cells})

    def drop(self, cells):
        """Expect no more runs of these cells."""
        for cell in cells:
            self._planned.pop(id(cell), None)

    def _expected(self, cell):
        """The mean seconds of runs of this row, or of all in such a place."""
        alike = [one for key, one in self._seconds.items()
                 if key[1] == cell.place]
        if not alike:
            return FIRST_GUESS[cell.place]
        runs, seconds = self._seconds.get(
            cell.where, [sum(column) for column in zip(*alike)])
        return seconds / runs

    def remaining(self):
        """The expected seconds until all is measured."""
        return sum(runs * self._expected(cell) for cell, runs
                   in self._planned.values() if cell.open)

    def note(self, text, always=False):
        """Print what is done now."""
        left = clock(min(self.remaining(), self.left())
                     if self._planned else self.left())
        if self._tty:
            self._out.write(f"\r\033[K{left:>6} left  {text}"[:100])
        elif always or self._now() - self._last >= LINE_SECONDS:
            self._last = self._now()
            self._out.write(f"{left:>6} left  {text}\n")
        self._out.flush()

    def tell(self, text):
        """Print a line that is not overwritten."""
        self._out.write("\r\033[K" * self._tty + text + "\n")
        self._out.flush()

    @contextlib.contextmanager
    def running(self, cell, number):
        """A context for one run of a cell."""
        where = cell.contender.variant or cell.place
        self.note(f"{where}, {cell.cpus} CPU{'s' * (cell.cpus > 1)}, round"
                  f" {number + 1}: {cell.row.command}, {cell.contender.name}")
        start = self._now()
        yield
        runs, seconds = self._seconds.get(cell.where, (0, 0.0))
        self._seconds[cell.where] = (runs + 1, seconds + self._now() - start)
        if id(cell) in self._planned:
            _, left = self._planned[id(cell)]
            self._planned[id(cell)] = (cell, max(0, left - 1))

    def close(self):
        """Erase the line on a terminal."""
        if self._tty:
            self._out.write("\r\033[K")
            self._out.flush()
