# SPDX-License-Identifier: GPL-2.0-only
"""What all programs under test have in common."""

import system


class Program:
    """A program of Debian's, and the work it is given.

    name, packages and commands are what it is called, where it is found and
    what must be there; quick, whether it is part of `make check`.
    """
    name = ""
    packages = ()
    commands = ()
    quick = False

    def missing(self):
        """Why it cannot be run here, or None."""
        return system.missing(self.commands, self.files(), self.packages)

    def files(self):
        """Files that must be there, beside the commands."""
        return ()

    def prepare(self, folder):
        """Make the input, the same every time, in a folder."""

    def run(self, place):
        """Do the work in a place; the results by name."""
        raise NotImplementedError

    def failures(self, results):
        """What is wrong with the results even without the drop-in."""
        for name, value in results.items():
            if name.endswith("exit status") and value != 0:
                errors = results.get(name.replace("exit status", "errors"))
                yield f"without the drop-in: {name} {value}: {errors}"
            if name == "time limit":
                yield f"without the drop-in: {value}"
