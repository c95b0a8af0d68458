# SPDX-License-Identifier: MIT
"""The tools' own tests, each a module with a function main()."""

import importlib
import sys

#: By name, with about how many seconds they take.
FAST = {"check": 5, "bench": 5, "drover": 5, "examples": 5, "programs": 5,
        "report": 5}
#: Those that boot guests or take long, and are not in check-fast.
SLOW = {"vm": 130, "kernel": 40, "release": 60, "models": 20}

#: Those that are a sub-package.
FOLDERS = ("bench", "drover", "release", "report", "vm")


def main():
    """Run the test that the command line names; the exit status."""
    names = [*FAST, *SLOW]
    if sys.argv[1:2] == ["--list"]:
        print(*names, sep="\n")
        return 0
    if sys.argv[1:2] == ["--help"]:
        print("usage: tools/selftest NAME [WORD...]; --list: the names;"
              " release --update: write the file of the layouts")
        return 0
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        print(f"usage: tools/selftest {{{','.join(names)}}} [OPTION...]",
              file=sys.stderr)
        return 2
    name = sys.argv.pop(1)
    module = f"{name}.main" if name in FOLDERS else name
    return importlib.import_module(f"drover_tools.tests.{module}").main()
