# SPDX-License-Identifier: GPL-2.0-only
"""Checks that run nothing: one result each.

Each function check_NAME yields a line for each thing that is wrong.
"""

import ast
import concurrent.futures
import fnmatch
import functools
import glob
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

import source
from results import FAIL, PASS, SKIP, Result
from source import TOP, tests

sys.path.append(os.path.join(TOP, "selftests", "mutants"))

# pylint: disable=wrong-import-position
import mutants  # noqa: E402

#: Kept as others wrote them or as a tool writes them.
VERBATIM = re.compile(r"LICENSES/|kernel/patches|.*\.png$"
                      r"|debian/(changelog|source/format)$")

SPDX = re.compile(r"SPDX-License-Identifier: ([\w.-]+)")
GPL_FOLDERS = ("kernel/", "selftests/")

#: What else than the standard library a Python script may import.
LIBRARIES = {"tools/report/plots.py": ("matplotlib",),
             "tools/drover/gdb/drover_gdb.py": ("gdb",)}


def _run(*command, cwd=TOP, env=None):
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True,
                          text=True, check=False)


def _sources():
    return [path for path in source.files() if not VERBATIM.match(path)]


class Unable(Exception):
    """Why a check cannot be done on this system."""


#: Others format macros in other ways.
CLANG_FORMAT = "14"


def check_format():
    """C is formatted as .clang-format says"""
    if not shutil.which("clang-format") or not re.search(
            rf"version {CLANG_FORMAT}\b",
            _run("clang-format", "--version").stdout):
        raise Unable(f"clang-format is not version {CLANG_FORMAT}")
    paths = [path for path in _sources() if path.endswith((".c", ".h"))]
    done = _run("clang-format", "--dry-run", "-Werror", *paths)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines()
                    if "clang-format-violations" in line})
    yield from (f"{path}: run: clang-format -i {path}" for path in wrong)
    if done.returncode and not wrong:
        yield done.stderr.strip()


def check_licence():
    """every file names its licence, the right one for its folder"""
    for path in _sources():
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


def _lines_with(pattern):
    for path in _sources():
        for number, line in source.lines(path):
            if re.search(pattern, line):
                yield f"{path}:{number}: {line!r}"


def check_whitespace():
    """no blanks at line ends, one newline at the end of each file"""
    yield from _lines_with(r"\s$")
    for path in _sources():
        if not re.search(r"[^\n]\n\Z", source.read(path)):
            yield f"{path}: should end with one newline"


def check_paths():
    """no path of one machine, no left-over mark"""
    # In pieces, or this file would find itself.
    yield from _lines_with(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|/ho"
                           r"me/\w|" + re.escape(TOP))


def check_shell():
    """shell scripts parse"""
    for path in source.files():
        for shell in ("sh", "bash"):
            if source.is_script(path, f"/{shell}", f"busybox {shell}"):
                yield from _run(shell, "-n", path).stderr.splitlines()
                break


def check_python():
    """Python scripts parse and import the standard library only"""
    paths = [path for path in source.files()
             if path.endswith(".py") or source.is_script(path, "python3")]
    if sys.version_info < (3, 10):
        raise Unable("Python before 3.10 does not know its own modules")
    own = {os.path.basename(path).removesuffix(".py") for path in paths}
    for path in paths:
        text = source.read(path)
        try:
            ast.parse(text, path)
        except SyntaxError as error:
            yield f"{path}:{error.lineno}: {error.msg}"
        for name in re.findall(r"^ *(?:import (\w+)|from (\w+)[\w.]* import )",
                               text, re.M):
            name = "".join(name)
            if (name not in sys.stdlib_module_names and name not in own
                    and name not in LIBRARIES.get(path, ())):
                yield f"{path}: imports {name}"


#: Files of Linux that are called as if they were ours.
LINUX = ("Documentation/locking/", "kernel/futex", "kernel/locking",
         "kernel/sys_ni.c", "lib/plist.c", "tools/testing", "tools/perf")

#: Single files of lib/, headers too; what they include comes from there. Code
#: that calls what is not declared compiles, and links with nothing.
COMPILE = (os.environ.get("CC", "gcc"), "-fsyntax-only", "-x", "c", "-std=c11",
           "-D_GNU_SOURCE", "-DDROVER_VERSION=\"\"", "-pthread",
           "-Werror=implicit-function-declaration",
           *(flag for folder in ("lib", "lib/pthread")
             for flag in ("-iquote", os.path.join(TOP, folder))),
           "-I", os.path.join(TOP, "lib", "include"))

PYTHON = "/usr/bin/python3"      # the one that Debian's kconfiglib is for


def check_maintainers():
    """MAINTAINERS: every pattern matches, every file belongs to a part"""
    patterns = [line.split(None, 1)[1].strip()
                for line in source.read("MAINTAINERS").splitlines()
                if re.match(r"F:\s", line)]
    paths = source.files()
    for pattern in patterns:
        if not any(_belongs(path, pattern) for path in paths):
            yield f"MAINTAINERS: nothing matches {pattern}"
    for path in paths:
        if not any(_belongs(path, pattern) for pattern in patterns):
            yield f"{path}: in no part of MAINTAINERS"


def _belongs(path, pattern):
    """As in the kernel: a folder, with all below it, ends in a slash."""
    if pattern.endswith("/"):
        return path.startswith(pattern)
    return (fnmatch.fnmatch(path, pattern)
            and path.count("/") == pattern.count("/"))


def check_defconfig():
    """defconfig holds the defaults of Kconfig"""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "config")
        done = _run(PYTHON, "-m", "alldefconfig", "Kconfig",
                    env=dict(os.environ, KCONFIG_CONFIG=path))
        if "No module named" in done.stderr:
            raise Unable("no python3-kconfiglib")
        if done.returncode or done.stderr:
            yield f"Kconfig: {done.stderr.strip()}"
            return
        with open(path, encoding="utf-8") as file:
            wanted = _settings(file.read())
    if _settings(source.read("defconfig")) != wanted:
        yield "run: make defconfig-update"


def _settings(text):
    return [line for line in text.splitlines()
            if line and not re.match(r"#(?! CONFIG_\w+ is not set)", line)]


def _documents():
    return [path for path in source.files()
            if path.endswith((".rst", ".md", "MAINTAINERS")) or "/man/" in path]


def check_targets():
    """documents name only make targets that exist, help has them all"""
    makefile = source.read("Makefile")
    targets = set(re.findall(r"^([a-z_.-]+):", makefile, re.M))
    helped = set(re.findall(r"^([a-z_.-]+):.*## ", makefile, re.M))
    for name in sorted(targets - helped):
        yield f"Makefile: {name}: not in `make help`"
    for path in _documents():
        for name in re.findall(r"(?:`| {3,}|\t)make ([a-z][a-z_-]+)(?![a-z_/-])",
                               source.read(path)):
            if name not in targets:
                yield f"{path}: `make {name}`: no such target"


#: A program of ours in a literal block, and what it is given.
COMMAND = re.compile(r"(?:   +|T:\t)((?:build/)?(?:selftests|tools)/\S*\w)(.*)")


def check_commands():
    """programs that documents call exist and know the options"""
    for path in _documents():
        for number, line in source.lines(path):
            command = COMMAND.fullmatch(line)
            if command:
                yield from (f"{path}:{number}: {wrong}"
                            for wrong in wrong_command(*command.groups()))


def wrong_command(program, arguments):
    """What is wrong with a command; what comes behind -- is not looked at."""
    if program.startswith("build/selftests/"):
        if program.removeprefix("build/selftests/") not in tests():
            yield f"{program}: no such test"
    elif not program.startswith("build/"):
        if not os.access(os.path.join(TOP, program), os.X_OK):
            yield f"{program}: no such program"
            return
        arguments = arguments.split(" -- ")[0].split(" #")[0]
        for option in re.findall(r" (--[a-z-]+)", arguments):
            if option not in _help(program):
                yield f"{program}: knows no {option}"


@functools.lru_cache(maxsize=None)
def _help(program):
    """The options that a program says it has."""
    return re.findall(r"--[a-z-]+",
                      _run(os.path.join(TOP, program), "--help").stdout)


def check_references():
    """files that documents name exist"""
    folders = "|".join(sorted({path.split("/")[0] for path in source.files()
                               if "/" in path}))
    named = re.compile(rf"(?<![\w/.-])((?:{folders})/[\w/.+-]*[\w/])"
                       r"(?![\w*{<])")
    for path in _documents():
        for name in sorted(set(named.findall(source.read(path)))):
            if name.startswith(LINUX) or "." not in name.split("/")[-1] \
                    and not name.endswith("/"):
                continue        # Linux's, or no name of a file at all
            if not os.path.exists(os.path.join(TOP, name)):
                yield f"{path}: {name}: no such file"


#: Headers that have a manual page of their own.
MANUALS = ("barrier", "cond", "mutex", "pool", "stream")


def check_manual():
    """manual pages have the functions of their headers, as declared there"""
    for name in MANUALS:
        header = source.read(f"lib/include/drover/{name}.h")
        path = f"Documentation/man/drover_{name}.3"
        page = re.sub(r'[."]|\\f[BPI]|^BI?\b', "", source.read(path),
                      flags=re.M)
        yield from (f"{path}: {wrong}"
                    for wrong in _missing_in_manual(header, page))
    if shutil.which("groff"):
        for path in glob.glob(os.path.join(TOP, "Documentation/man/*")):
            yield from _run("groff", "-man", "-ww", "-z",
                            path).stderr.splitlines()


def _missing_in_manual(header, page):
    for found in re.finditer(
            r"^(?:int|void|const char \*) ?(drover_\w+)\((.*?)\);",
            header.split("#if defined")[0], re.M | re.S):
        name = found.group(1)
        declared = re.search(rf"\b{name}\((.*?)\);", page, re.S)
        if not declared:
            yield f"no {name}()"
        elif found.group(2) != "void" and (
                declared.group(1).count(",") < found.group(2).count(",")):
            yield f"{name}(): arguments are missing"


#: Headers whose comments, and sections of manual pages that promise nothing.
PROMISING = ("cond", "mutex")
EMPTY_SECTIONS = ("NAME", "SYNOPSIS", "EXAMPLES", "SEE ALSO")


def check_promises():
    """public headers and manual pages name the tests of what they promise"""
    for name in PROMISING:
        path = f"lib/include/drover/{name}.h"
        for text in re.findall(r"^/\*\*?\n.*?\*/", source.read(path),
                               re.M | re.S):
            title = text.split("\n")[1].strip(" *")
            if re.match(r"drover_\w+(\(\)|:)", title):
                yield from untested(path, title, text)
    for path in source.files():
        if path.startswith("Documentation/man/"):
            for text in re.split(r"^\.S[HS] ", source.read(path),
                                 flags=re.M)[1:]:
                title = text.split("\n")[0]
                if title not in EMPTY_SECTIONS:
                    yield from untested(path, title, text)


def untested(path, title, text):
    """What is wrong with the line "Tests:" of one promise."""
    named = re.findall(r"Tests: (.*)$", text, re.M)
    if not named:
        yield f"{path}: {title}: names no tests"
    for test in " ".join(named).replace("*/", "").split():
        if test not in tests() and not os.access(os.path.join(TOP, test),
                                                 os.X_OK):
            yield f"{path}: {title}: no test {test}"


def check_mutants():
    """each mutant of lib/ finds its lines, compiles, and has a test"""
    known = mutants.read_all(os.path.join(TOP, "selftests", "mutants"))
    there = tests()
    yield from (f"{mutant.name}: no such test: {test}" for mutant in known
                for test in mutant.tests if test.split()[0] not in there)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, wrong in zip(known, pool.map(_try, known)):
            if wrong:
                yield f"{mutant.name}: {wrong}"


def _try(mutant):
    """What is wrong with one mutant, if anything."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = {path for path, _ in mutant.changes}
        for path in paths:
            copy = os.path.join(scratch, path)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(os.path.join(TOP, path), copy)
        try:
            mutant.apply(scratch)
        except mutants.Unfit as error:
            return str(error)
        done = _run(*COMPILE, *sorted(paths), cwd=scratch)
        return done.stderr if done.returncode else None


#: How many things that are wrong one check lists, at most.
MOST = 40


def checks():
    """All checks by name, from the functions check_NAME."""
    return {name.removeprefix("check_"): function
            for name, function in globals().items()
            if name.startswith("check_")}


def run(only=None):
    """The results of all checks, or of the one named."""
    return [_run_one(name, function) for name, function in checks().items()
            if only in (None, name)]


def _run_one(name, function):
    title = f"{name}: {function.__doc__}"
    try:
        wrong = tuple(itertools.islice(function(), MOST))
    except Unable as error:
        return Result(title, SKIP, str(error))
    except OSError as error:        # a tool or a file that is not there
        wrong = (str(error),)
    return Result(title, FAIL if wrong else PASS, "", wrong)
