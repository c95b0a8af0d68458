# SPDX-License-Identifier: MIT
"""Messages and options that the sub-commands in Python share."""

import argparse
import os
import signal
import sys

FAILED, USAGE, INTERRUPTED = 1, 2, 130
#: The folder that has the package, and the other files of the command.
BESIDE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def say(text, status):
    """Print a line on stderr. Return: the exit status."""
    print(f"drover: {text}", file=sys.stderr)
    return status


def interruptible():
    """Unblock SIGINT, which the drover command has blocked for the start."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message):
        raise SystemExit(say(f"{self.prog.split()[1]}: {message};"
                             f" see drover --help", USAGE))

    def parse_program(self, arguments):
        """Parse options, then a program; --json needs a writable folder."""
        options = self.parse_args(arguments)
        if options.program[:1] == ["--"]:
            del options.program[0]
        if not options.program:
            self.error("name a program")
        if options.json:
            folder = os.path.dirname(os.path.abspath(options.json))
            if not os.access(folder, os.W_OK):
                self.error(f"{options.json} cannot be written")
        return options
