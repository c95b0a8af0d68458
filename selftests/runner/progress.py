# SPDX-License-Identifier: GPL-2.0-only
"""What a run shows while it goes on."""

import shutil
import sys
import time

from result import FAIL, KNOWN, count, summary


class Progress:
    """Progress, on one line that is overwritten where that is possible.

    Stages may run side by side, in processes of their own: then the line is
    that of the last to speak, and the time left is what all of them need one
    after the other. end() is called in the first process.
    """

    def __init__(self, seconds, interval=None):
        """interval: seconds between lines where none can be overwritten."""
        self._alive = sys.stdout.isatty()
        self._interval = interval
        self._said = time.monotonic()
        self._seconds = seconds
        self._left = sum(seconds.values())
        self._until = 0
        self._ended = 0

    def begin(self, stage):
        """A stage starts."""
        self._until = time.monotonic() + self._left
        self.note(stage, "")

    def note(self, stage, what):
        """Something in the stage starts."""
        now = time.monotonic()
        left = max(self._until - now, 0)
        text = f"{self._title(stage)}: {what} (about {minutes(left)} left)"
        if not self._alive:
            if self._interval and now > self._said + self._interval:
                self._said = now
                print(text, flush=True)
        else:
            print("\r\033[K" + text[:shutil.get_terminal_size().columns - 1],
                  end="", flush=True)

    def end(self, stage, results, took):
        """A stage has ended: what it came to, and each failure."""
        self._left -= self._seconds[stage.name]
        counts = count(results)
        known = f", {counts[KNOWN]} {KNOWN}" if counts[KNOWN] else ""
        print("\r\033[K" * self._alive + f"{self._title(stage)}:"
              f" {summary(counts)}{known}"
              f" ({took:.0f} s; about {minutes(self._left)} left)",
              flush=True)
        self._ended += 1
        for result in results:
            if result.status == FAIL:
                print(f"  FAILED {result.name}"
                      + (f": {result.why}" if result.why else ""))
                for line in result.details:
                    print(f"    {line}")
        sys.stdout.flush()

    def _title(self, stage):
        return f"[{self._ended + 1}/{len(self._seconds)}] {stage.name}"


def minutes(seconds):
    """A time for the reader."""
    return (f"{seconds / 60:.0f} min" if seconds >= 90
            else f"{max(seconds, 0):.0f} s")
