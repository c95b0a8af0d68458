# SPDX-License-Identifier: MIT
"""drover why: who waits for whom in a program; drover_tools.why does it."""

from drover_tools.command.commandline import interruptible
from drover_tools.why import command


def main(arguments):
    """The exit status."""
    interruptible()
    return command.main(arguments)
