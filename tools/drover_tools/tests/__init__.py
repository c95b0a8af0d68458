# SPDX-License-Identifier: MIT
"""The tests of the tools, each a module with a function main()."""

import importlib
import signal
import sys

#: Tests by name, each with an estimate of its seconds.
FAST = {"check": 5, "bench": 5, "drover": 5, "examples": 5, "programs": 5,
        "report": 5}
#: Tests that boot guests or take long, and are not in check-fast.
SLOW = {"vm": 130, "kernel": 90, "release": 60, "models": 20}
#: Tests only of check-long; ggml needs the network.
LONG = {"ggml": 1200, "wheel": 120, "why": 60}

ALL = (*FAST, *SLOW, *LONG)

#: Tests that are sub-packages.
FOLDERS = ("bench", "drover", "release", "report", "vm")


USAGE = f"""usage: tools/selftest {{{','.join(ALL)}}} [OPTION...]

release --update [FILE] rewrites the file of the layouts, or writes FILE;
vm --help says more."""


def main():
    """Run the test that the command line names. Return: the exit status."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in ("-h", "--help"):
        print(USAGE)
        return 0
    if name not in ALL:
        print(USAGE, file=sys.stderr)
        return 2
    del sys.argv[1]
    # A script's shell ignores SIGINT for what it starts in the background, and
    # the programs that the tests interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    module = f"{name}.main" if name in FOLDERS else name
    return importlib.import_module(f"drover_tools.tests.{module}").main()
