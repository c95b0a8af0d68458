# SPDX-License-Identifier: GPL-2.0-only
"""Checks of single files. Each yields a line for each thing that is wrong."""

import ast
import os
import re
import subprocess
import sys

import source
from suites import TOP

#: Kept as others wrote them or as a tool writes them.
VERBATIM = re.compile(r"LICENSES/|kernel/patches/|.*\.png$")

SPDX = re.compile(r"SPDX-License-Identifier: ([\w.-]+)")
GPL_FOLDERS = ("kernel/", "selftests/")

#: What else than the standard library a Python script may import.
LIBRARIES = {"tools/report/plots.py": ("matplotlib",),
             "tools/drover/gdb/drover_gdb.py": ("gdb",)}


def check_format():
    """C is formatted as .clang-format says"""
    paths = [path for path in source.files()
             if path.endswith((".c", ".h")) and not VERBATIM.match(path)]
    done = subprocess.run(
        ["clang-format", "--dry-run", "-Werror", *paths], cwd=TOP,
        capture_output=True, text=True, check=False)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines()
                    if "clang-format-violations" in line})
    yield from (f"{path}: run: clang-format -i {path}" for path in wrong)
    if done.returncode and not wrong:
        yield done.stderr.strip()


def check_licence():
    """every file names its licence, the right one for its folder"""
    for path in source.files():
        if VERBATIM.match(path):
            continue
        head = source.read(path)[:1000].splitlines()[:5]
        found = SPDX.search("\n".join(head))
        wanted = ("GPL-2.0-only" if path.startswith(GPL_FOLDERS) else "MIT")
        if not found:
            yield f"{path}: no SPDX-License-Identifier in its first lines"
        elif found.group(1) != wanted:
            yield f"{path}: {found.group(1)}, should be {wanted}"
        elif not os.path.exists(os.path.join(TOP, "LICENSES",
                                             wanted + ".txt")):
            yield f"LICENSES/{wanted}.txt is missing"


def check_whitespace():
    """no blanks at line ends, one newline at the end of each file"""
    for path in source.files():
        if VERBATIM.match(path):
            continue
        text = source.read(path)
        for number, line in source.lines(path):
            if line != line.rstrip():
                yield f"{path}:{number}: blanks at the end of the line"
        if not text.endswith("\n") or text.endswith("\n\n"):
            yield f"{path}: should end with one newline"


def check_paths():
    """no path of one machine, no left-over mark"""
    # In pieces, or this file would find itself.
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    for path in source.files():
        if VERBATIM.match(path):
            continue
        for number, line in source.lines(path):
            if TOP in line or re.search(r"/ho" r"me/\w", line):
                yield f"{path}:{number}: {line.strip()}"
            elif marks.search(line):
                yield f"{path}:{number}: {line.strip()}"


def check_shell():
    """shell scripts parse"""
    for path in source.files():
        for shell in ("sh", "bash"):
            if source.is_script(path, f"/{shell}", f"busybox {shell}"):
                done = subprocess.run([shell, "-n", path], cwd=TOP,
                                      capture_output=True, text=True,
                                      check=False)
                yield from done.stderr.splitlines()
                break


def check_python():
    """Python scripts parse and import the standard library only"""
    paths = [path for path in source.files()
             if path.endswith(".py") or source.is_script(path, "python3")]
    own = {os.path.basename(path).removesuffix(".py") for path in paths}
    for path in paths:
        try:
            tree = ast.parse(source.read(path), path)
        except SyntaxError as error:
            yield f"{path}:{error.lineno}: {error.msg}"
            continue
        for name in _imports(tree):
            if (name not in sys.stdlib_module_names and name not in own
                    and name not in LIBRARIES.get(path, ())):
                yield f"{path}: imports {name}"


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
