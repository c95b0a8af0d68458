# SPDX-License-Identifier: MIT
"""The errors of guests."""


class GuestError(Exception):
    """An error of a guest.

    log: the part of its kernel log to look at; output: the output so far of
    the command that was running
    """

    def __init__(self, message, log="", output=b""):
        super().__init__(message)
        self.log = log
        self.output = output


class GuestMissing(GuestError):
    """A part of a guest is missing; the text says how to get it."""


class GuestDied(GuestError):
    """The guest panicked, hung, ended, or did not boot."""


class GuestComplained(GuestDied):
    """The guest goes on, but its kernel log has a failure in it."""


class GuestTimeout(GuestError):
    """A command did not end in time and was killed.  The guest goes on."""
