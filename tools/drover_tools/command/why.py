# SPDX-License-Identifier: MIT
"""drover why: which thread waits for which; drover_tools.why does the work."""

from drover_tools.command.commandline import interruptible
from drover_tools.why import command


def main(arguments):
    """The exit status."""
    interruptible()
    return command.main(arguments)
