# SPDX-License-Identifier: MIT
"""What the scripts of the drover command say, and how they are called."""

import argparse
import os
import signal
import sys

FAILED, USAGE, INTERRUPTED = 1, 2, 130
#: The folder of the package, which has the command's other files, too.
BESIDE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def say(text, status):
    """A line on stderr; the exit status."""
    print(f"drover: {text}", file=sys.stderr)
    return status


def interruptible():
    """Let Ctrl-C through, which the drover command has held back."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message):
        raise SystemExit(say(f"{self.prog.split()[1]}: {message};"
                             f" see drover --help", USAGE))

    def parse_program(self, arguments):
        """Options, then a program; the file of --json has to be writable."""
        options = self.parse_args(arguments)
        if options.program[:1] == ["--"]:
            del options.program[0]
        if not options.program:
            self.error("which program?")
        if options.json:
            folder = os.path.dirname(os.path.abspath(options.json))
            if not os.access(folder, os.W_OK):
                self.error(f"{options.json} cannot be written")
        return options
