# SPDX-License-Identifier: MIT
"""Checks by linters of other projects: one result each.

Each function check_NAME yields a line for each fault. The settings of the
linters are in .clang-format, .flake8 and REUSE.toml.
"""

import re
import shutil
import subprocess

from drover_tools.check import source
from drover_tools.tree import TOP


class Unable(Exception):
    """A check cannot be done on this system; the text says why."""


def run(*command, **more):
    """Run a command. Return: its exit status and output."""
    return subprocess.run(command, **{"cwd": TOP, **more}, text=True,
                          capture_output=True, check=False)


def _complaints(program, *words):
    """The lines that a linter prints if it finds something."""
    if not shutil.which(program):
        raise Unable(f"{program} is missing: run tools/deps check")
    done = run(program, *words)
    if done.returncode:
        yield from (done.stdout + done.stderr).splitlines()


#: The version of clang-format; others format macros differently.
CLANG_FORMAT = "14"


def check_format():
    """C is formatted as .clang-format says"""
    if not shutil.which("clang-format") or not re.search(
            rf"version {CLANG_FORMAT}\b",
            run("clang-format", "--version").stdout):
        raise Unable(f"clang-format is not version {CLANG_FORMAT}")
    paths = [path for path in source.own() if path.endswith((".c", ".h"))]
    done = run("clang-format", "--dry-run", "-Werror", *paths)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines()
                    if "clang-format-violations" in line})
    yield from (f"{path}: run: clang-format -i {path}" for path in wrong)
    if done.returncode and not wrong:
        yield done.stderr.strip()


def check_flake8():
    """flake8 finds nothing in Python"""
    yield from _complaints("flake8", *source.python())


#: In the first lines of a file that other scripts source.
SOURCED = "# shellcheck shell="


def check_shellcheck():
    """shellcheck finds nothing in shell scripts"""
    paths = [path for path in source.files()
             if source.is_script(path, "/sh", "/bash", "busybox sh")
             or SOURCED in source.read(path)[:200]]
    yield from _complaints("shellcheck", "--external-sources",
                           "--source-path=SCRIPTDIR", "--format=gcc", *paths)


def check_codespell():
    """codespell finds no misspelling"""
    yield from _complaints("codespell", *(
        path for path in source.own() if not path.endswith(".json")))


#: The first version of reuse that reads REUSE.toml.
REUSE = 4


def check_reuse():
    """every file has a licence and a copyright, says reuse"""
    found = shutil.which("reuse") and re.search(
        r"\d+", run("reuse", "--version").stdout)
    if not found or int(found.group()) < REUSE:
        raise Unable(f"reuse is not version {REUSE} or later")
    yield from _complaints("reuse", "lint", "--lines")
