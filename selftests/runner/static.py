# SPDX-License-Identifier: GPL-2.0-only
"""Checks that run nothing: one result each."""

import check_files
import check_project
from result import FAIL, PASS, Result

#: How many things that are wrong one check lists.
MOST = 40


def checks():
    """All checks by name, from the functions check_NAME."""
    return {name.removeprefix("check_"): function
            for module in (check_files, check_project)
            for name, function in vars(module).items()
            if name.startswith("check_")}


def run(only=None):
    """The results of all checks, or of the one named."""
    return [_run_one(name, function) for name, function in checks().items()
            if only in (None, name)]


def _run_one(name, function):
    try:
        wrong = list(function())
    except OSError as error:        # a tool or a file that is not there
        wrong = [str(error)]
    title = f"{name}: {function.__doc__}"
    if not wrong:
        return Result(title, PASS)
    more = len(wrong) - MOST
    if more > 0:
        wrong[MOST:] = [f"and {more} more"]
    return Result(title, FAIL, "", tuple(wrong))
