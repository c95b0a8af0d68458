# SPDX-License-Identifier: GPL-2.0-only
"""The project's own files, and what they hold."""

import functools
import os
import subprocess

from suites import TOP

#: Not the project's: an unpacked archive has no git to say so.
NOT_SOURCE = (".git", "build", "__pycache__", ".config", ".config.old",
              "compile_commands.json")


@functools.lru_cache(maxsize=1)
def files():
    """Paths, relative to the top, of all files that are or will be kept."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"], cwd=TOP, capture_output=True, check=False)
    if listed.returncode:
        return _walk()
    paths = listed.stdout.decode().split("\0")
    return sorted(path for path in set(paths) if path and
                  os.path.isfile(os.path.join(TOP, path)))


def _walk():
    found = []
    for folder, folders, names in os.walk(TOP):
        folders[:] = [name for name in folders if name not in NOT_SOURCE]
        found += [os.path.relpath(os.path.join(folder, name), TOP)
                  for name in names if name not in NOT_SOURCE]
    return sorted(found)


def read(path):
    """The text of one file."""
    with open(os.path.join(TOP, path), encoding="utf-8",
              errors="replace") as file:
        return file.read()


def lines(path):
    """Pairs of line number and line."""
    return list(enumerate(read(path).splitlines(), 1))


def is_script(path, *interpreters):
    """Whether a file's first line names one of the interpreters."""
    first = read(path).split("\n", 1)[0]
    return first.startswith("#!") and first.endswith(interpreters)
