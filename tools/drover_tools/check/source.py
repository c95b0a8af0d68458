# SPDX-License-Identifier: MIT
"""The project's own files, their texts, and its test programs."""

import functools
import glob
import os
import re
import shutil
import subprocess

from drover_tools.tree import TOP

#: Files that are not the project's; an unpacked archive has no git to ask.
NOT_SOURCE = (".git", "build", "__pycache__", ".config", ".config.old")

#: In a test's source: the further APIs that the test is built for.
APIS = re.compile(r"^ \* APIs: drover (.*)$", re.MULTILINE)


@functools.lru_cache(maxsize=1)
def files():
    """The paths, relative to the top, of all files that git has or would add.
    """
    listed = shutil.which("git") and subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"], cwd=TOP, capture_output=True, check=False)
    if listed and not listed.returncode:
        paths = listed.stdout.decode().split("\0")
        return sorted(path for path in set(paths) if path and
                      os.path.isfile(os.path.join(TOP, path)))
    found = []
    for folder, folders, names in os.walk(TOP):
        folders[:] = [name for name in folders if name not in NOT_SOURCE]
        found += [os.path.relpath(os.path.join(folder, name), TOP)
                  for name in names if name not in NOT_SOURCE]
    return sorted(found)


#: Files that others wrote or that a tool writes.
VERBATIM = re.compile(r"LICENSES/|kernel/patches|.*\.png$"
                      r"|debian/(changelog|source/format)$")


def own():
    """The files that are written here."""
    return [path for path in files() if not VERBATIM.match(path)]


def python():
    """The files in Python."""
    return [path for path in own()
            if path.endswith(".py") or is_script(path, "python3")]


def read(path):
    """The text of one file."""
    with open(os.path.join(TOP, path), encoding="utf-8",
              errors="replace") as file:
        return file.read()


def lines(path):
    """(number, line) of each line of a file."""
    return list(enumerate(read(path).splitlines(), 1))


def is_script(path, *interpreters):
    """Whether a file's first line names one of the interpreters."""
    first = read(path).split("\n", 1)[0]
    return first.startswith("#!") and first.endswith(interpreters)


def tests():
    """The names of all test programs, <object>/<program>, built or not."""
    names = set()
    for path in glob.glob(os.path.join(TOP, "selftests", "*", "*.c*")):
        folder, test = os.path.splitext(path)[0].split(os.sep)[-2:]
        names.add(f"{folder}/{test}")
        for api in " ".join(APIS.findall(read(path))).split():
            names.add(api if "/" in api else
                      f"attack/{api}_{test}" if folder == "attack" else
                      f"{api}/{test}")
    return names


def programs(build, name):
    """The built test programs of one object that still have a source."""
    there = tests()
    return sorted(path for path in
                  glob.glob(os.path.join(build, "selftests", name, "*"))
                  if f"{name}/{os.path.basename(path)}" in there)


def objects(build):
    """The names of all objects that have programs."""
    folder = os.path.join(build, "selftests")
    return [name for name in sorted(os.listdir(folder))
            if programs(build, name)] if os.path.isdir(folder) else []
