# SPDX-License-Identifier: MIT
"""What can go wrong with a guest, for those who use one."""


class GuestError(Exception):
    """Something went wrong with a guest.

    log: the part of its kernel log to look at; output: what the command
    that was running had printed until then.
    """

    def __init__(self, message, log="", output=b""):
        super().__init__(message)
        self.log = log
        self.output = output


class GuestMissing(GuestError):
    """What a guest is made of is not there; the text says how to get it."""


class GuestDied(GuestError):
    """The guest panicked, hung, ended or never came up."""


class GuestComplained(GuestDied):
    """The guest goes on, but its kernel log has a failure in it."""


class GuestTimeout(GuestError):
    """A command did not end in time.  It was killed; the guest goes on."""
