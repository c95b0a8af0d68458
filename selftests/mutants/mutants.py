# SPDX-License-Identifier: GPL-2.0-only
"""Reads lists of mutants: changes that break a rule, for a test to catch.

    mutant: signal-forgets-the-closed
    breaks: what goes wrong, in a few words
    test: attack/storm seconds=5

    lib/cond/wake.c
    -	a line to be taken out
    +	a line to be put there

The test that catches it; more lines "test:" are tried one after the other. Then
changes, each the name of a file and lines as in a patch: lines with a blank in
front stay as they are. The lines that were there must be found exactly once.
"""

import dataclasses
import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
FILE = re.compile(r"(lib|kernel/futex)/[\w/]+\.[ch]$")


class Unfit(Exception):
    """A mutant whose lines are no longer in the source."""


@dataclasses.dataclass
class Change:
    """Lines of one file to be replaced."""
    path: str
    lines: list

    def text(self, *marks):
        """The lines that have one of these marks, as one piece of text."""
        return "".join(line[1:] + "\n" for line in self.lines
                       if line[0] in marks)

    def make(self, top):
        """Change the copy of the source in the folder top."""
        path = os.path.join(top, self.path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        before = self.text("-", " ")
        if text.count(before) != 1:
            raise Unfit(f"{self.path}: {text.count(before)} times:\n{before}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(before, self.text("+", " ")))


@dataclasses.dataclass
class Mutant:
    """One mutant, and who should catch it."""
    name: str
    breaks: str = ""
    tests: list = dataclasses.field(default_factory=list)
    changes: list = dataclasses.field(default_factory=list)

    def apply(self, top):
        """Make all changes; returns whether a header is among them."""
        for change in self.changes:
            change.make(top)
        return any(change.path.endswith(".h") for change in self.changes)


def read_all(folder):
    """All mutants of the lists in a folder."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.mutants"))):
        with open(path, encoding="utf-8") as file:
            found += parse(file.read().splitlines(), os.path.basename(path))
    names = [mutant.name for mutant in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two mutants are called {name}")
    return found


def parse(lines, where):
    """The mutants of one list."""
    found = []
    for number, line in enumerate(lines, 1):
        key, _, value = line.partition(": ")
        if not line or line.startswith("#"):
            continue
        if key == "mutant":
            found.append(Mutant(value))
        elif key == "breaks":
            found[-1].breaks = value
        elif key == "test":
            found[-1].tests.append(value)
        elif FILE.match(line):
            found[-1].changes.append(Change(line, []))
        elif line[0] in "-+ ":
            found[-1].changes[-1].lines.append(line)
        else:
            raise ValueError(f"{where}:{number}: {line}")
    for mutant in found:
        if not (mutant.breaks and mutant.tests and mutant.changes):
            raise ValueError(f"{where}: {mutant.name} is not complete")
    return found
