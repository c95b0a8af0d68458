# SPDX-License-Identifier: MIT
"""The guest's kernel log, and the lines in it that are failures."""

import os
import re
import sys
import threading
import time

#: Lines that the kernel prints when something is wrong with it.  The capitals
#: matter: "kasan: KernelAddressSanitizer initialized" is not a report.
FAILURE = re.compile(
    r"BUG:|BUG at |kernel BUG|WARNING:|Oops|general protection"
    r"|Kernel panic|unable to handle|stack-protector:|double fault"
    r"|detected stalls|self-detected stall|rcu_.*kthread starved"
    r"|blocked for more than|soft lockup|hard LOCKUP"
    r"|KASAN:|KCSAN:|KFENCE:|UBSAN:|KMSAN:"
    r"|possible (circular|recursive|irq|deadlock|.* deadlock)"
    r"|inconsistent lock state|inconsistent .*-> .* usage"
    r"|suspicious RCU usage|lockdep is turned off|lock held when returning"
    r"|sleeping function called from invalid context"
    r"|scheduling while atomic|bad unlock balance|held lock freed"
    r"|list_(add|del) corruption|refcount_t: |ODEBUG:|DEBUG_LOCKS_WARN_ON"
    r"|Internal error|nobody cared")

#: The lines that are shown: around the first failure, or else the last ones.
LINES_BEFORE = 5
LINES = 100
ECHO_SECONDS = 0.1


def failures(text):
    """The lines of text that count as a failure of the kernel."""
    return [line for line in text.splitlines() if FAILURE.search(line)]


class KernelLog:
    """A file that QEMU appends to, which is in memory unless a path is given.

    Unlike a pipe, a file never fills up: so a guest does not wait for a
    reader, and after QEMU has died the whole log is there.
    """

    def __init__(self, path=None, echo=False):
        if path:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        else:
            self.fd = os.memfd_create("kernel-log")
        self._checked = 0
        self._echo = None
        if echo:
            self._closing = threading.Event()
            self._echo = threading.Thread(target=self._follow, daemon=True)
            self._echo.start()

    def close(self):
        if self._echo:
            self._closing.set()
            self._echo.join()
        os.close(self.fd)

    def _follow(self):
        """Copy the log to stderr while it grows."""
        done = 0
        last = False
        while not last:
            last = self._closing.wait(ECHO_SECONDS)
            fresh = self._read(done)
            done += len(fresh)
            sys.stderr.write(fresh.decode(errors="replace").replace("\r", ""))
            sys.stderr.flush()

    def _read(self, start=0):
        size = os.fstat(self.fd).st_size
        return os.pread(self.fd, max(size - start, 0), start)

    def text(self):
        return self._read().decode(errors="replace").replace("\r", "")

    def excerpt(self, failure=None):
        """The part of the log that a person should see first."""
        lines = self.text().splitlines()
        start = max(len(lines) - LINES, 0)
        if failure in lines:
            start = max(lines.index(failure) - LINES_BEFORE, 0)
        return "\n".join(lines[start:start + LINES])

    def new_failures(self):
        """The failures in the lines that no earlier call has read."""
        fresh = self._read(self._checked)
        fresh = fresh[:fresh.rfind(b"\n") + 1]
        self._checked += len(fresh)
        return failures(fresh.decode(errors="replace").replace("\r", ""))

    def wait_for(self, mark, seconds):
        """Wait until a line with mark is in the log. Return: false if not.

        printk prints before the writer of the marked line goes on, unless
        another CPU has the console: then the line comes after milliseconds.
        """
        mark = mark.encode()
        deadline = time.monotonic() + seconds
        start = max(self._checked - len(mark), 0)
        while mark not in self._read(start):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True
