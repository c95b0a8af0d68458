# SPDX-License-Identifier: MIT
"""Calls the sub-command whose name tools/drover/main.c has checked."""

import importlib
import sys

SUBCOMMANDS = ("compare", "stat", "top", "why")


def main():
    """The sub-command's exit status."""
    name, *arguments = sys.argv[1:]
    assert name in SUBCOMMANDS, name
    return importlib.import_module(
        f"drover_tools.command.{name}").main(arguments)
