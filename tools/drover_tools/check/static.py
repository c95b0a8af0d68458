# SPDX-License-Identifier: MIT
"""Checks of the files that run none of them: one result each.

Each function check_NAME yields a line for each fault.
"""

import concurrent.futures
import fnmatch
import glob
import itertools
import os
import re
import shutil
import sys
import tempfile

from drover_tools.check import commands, linters, source
from drover_tools.check.linters import Unable, run
from drover_tools.check.results import FAIL, PASS, SKIP, Result
from drover_tools.check.source import tests
from drover_tools.mutants import hunt
from drover_tools.tests import ALL
from drover_tools.tree import TOP

SPDX = re.compile(r"SPDX-License-Identifier: ([\w.-]+)")
GPL_FOLDERS = ("kernel/", "selftests/")

#: The modules outside the standard library that a script may import.
LIBRARIES = {"tools/drover_tools/report/plots.py": ("matplotlib",),
             "tools/drover/gdb/drover_gdb.py": ("gdb",),
             "tools/ggml/random_model.py": ("gguf", "numpy")}


def check_licence():
    """every file names the licence of its folder"""
    for path in source.own():
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
    for path in source.own():
        for number, line in source.lines(path):
            if re.search(pattern, line):
                yield f"{path}:{number}: {line!r}"


def check_whitespace():
    """no blanks at line ends, one newline at the end of each file"""
    yield from _lines_with(r"\s$")
    for path in source.own():
        if not re.search(r"[^\n]\n\Z", source.read(path)):
            yield f"{path}: should end with one newline"


def check_paths():
    """no path of one machine, no left-over mark"""
    # The words are in pieces, or this check would find itself.
    yield from _lines_with(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|/ho"
                           r"me/\w|" + re.escape(TOP))


#: The parts of the package that are installed with the drover command.
INSTALLED = ("command", "runs", "tables", "why")


def check_imports():
    """Python imports the standard library and our package only"""
    if sys.version_info < (3, 10):
        raise Unable("Python before 3.10 has no list of its own modules")
    folder = "tools/drover_tools/"
    for path in source.python():
        text = source.read(path)
        installed = path.startswith(tuple(folder + name + "/"
                                          for name in INSTALLED))
        for package, name in re.findall(
                r"^ *(?:import|from(?= [\w.]+ import )) (\w+)\.?(\w*)",
                text, re.M):
            if (package not in sys.stdlib_module_names
                    and package not in LIBRARIES.get(path, ())
                    and package != "drover_tools"):
                yield f"{path}: imports {package}"
            if (installed and package == "drover_tools"
                    and name not in INSTALLED):
                yield f"{path}: imports {name}, which is not installed"


#: Files of Linux whose names could be those of files here.
LINUX = ("Documentation/locking/", "kernel/futex", "kernel/locking",
         "kernel/sys_ni.c", "lib/plist.c", "tools/testing", "tools/perf")

#: How single files of lib/, also headers, are compiled; they include the other
#: files of lib/. A call of an undeclared function is an error here: it would
#: compile, and only fail to link.
COMPILE = (os.environ.get("CC", "gcc"), "-fsyntax-only", "-x", "c", "-std=c11",
           "-D_GNU_SOURCE", "-DDROVER_VERSION=\"\"", "-pthread",
           "-Werror=implicit-function-declaration",
           *(flag for folder in ("lib", "lib/pthread")
             for flag in ("-iquote", os.path.join(TOP, folder))),
           "-I", os.path.join(TOP, "lib", "include"))


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
    """Whether a pattern has a path; one with a slash at its end is a folder.
    """
    if pattern.endswith("/"):
        return path.startswith(pattern)
    return (fnmatch.fnmatch(path, pattern)
            and path.count("/") == pattern.count("/"))


def _documents():
    return [path for path in source.files() if "/man/" in path
            or path.endswith((".rst", ".md", "MAINTAINERS"))]


#: Make targets that are parts of other targets.
PARTS = {"lib", "tools", "selftests", "kselftest"}


def check_targets():
    """documents name only make targets that exist, help has them all"""
    makefile = source.read("Makefile")
    targets = set(re.findall(r"^([a-z_.-]+):", makefile, re.M))
    helped = set(re.findall(r"^([a-z_.-]+):.*## ", makefile, re.M))
    for name in sorted(targets - helped - PARTS):
        yield f"Makefile: {name}: not in `make help`"
    for path in _documents():
        for name in re.findall(
                r"(?:`| {3,}|\t)make ([a-z][a-z_-]+)(?![a-z_/-])",
                source.read(path)):
            if name not in targets:
                yield f"{path}: `make {name}`: no such target"


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
                continue        # a file of Linux, or not the name of a file
            if not os.path.exists(os.path.join(TOP, name)):
                yield f"{path}: {name}: no such file"


#: A whole C file in a document; it begins with its licence.
SHOWN = re.compile(r"^```c\n(// SPDX.*?)^```$", re.M | re.S)


def check_shown():
    """whole files that documents show are those of the tree"""
    texts = {source.read(path) for path in source.files()
             if path.endswith(".c")}
    for path in _documents():
        for shown in SHOWN.findall(source.read(path)):
            if shown not in texts:
                title = shown.splitlines()[2].strip(" *")
                yield f"{path}: no file of the tree is: {title}"


#: The headers that have manual pages of their own.
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
    for command in (("groff", "-man", "-ww", "-z"), ("mandoc", "-Tlint")):
        if shutil.which(command[0]):
            for path in glob.glob(os.path.join(TOP, "Documentation/man/*")):
                done = run(*command, path)
                yield from (done.stdout + done.stderr).splitlines()


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


#: Headers whose comments name their tests.
PROMISING = ("cond", "mutex")
#: The names of stages that test tools.
TOOLS = {"programs", *(f"tools/{name}" for name in ALL)}
#: Sections of manual pages that promise nothing, and so name no tests.
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
    """The faults of the line "Tests:" of one promise."""
    named = re.findall(r"Tests: (.*)$", text, re.M)
    if not named:
        yield f"{path}: {title}: names no tests"
    for test in " ".join(named).replace("*/", "").split():
        if test not in tests() | TOOLS:
            yield f"{path}: {title}: no test {test}"


def check_mutants():
    """each mutant of lib/ finds its lines, compiles, and has a test"""
    known = hunt.read_all(os.path.join(TOP, "selftests", "mutants"))
    there = tests()
    yield from (f"{mutant.name}: no such test: {test}" for mutant in known
                for test in mutant.tests if test.split()[0] not in there)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, wrong in zip(known, pool.map(_try, known)):
            if wrong:
                yield f"{mutant.name}: {wrong}"


def _try(mutant):
    """The fault of one mutant, or None."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = {path for path, _ in mutant.changes}
        for path in paths:
            copy = os.path.join(scratch, path)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(os.path.join(TOP, path), copy)
        try:
            mutant.apply(scratch)
        except hunt.Unfit as error:
            return str(error)
        done = run(*COMPILE, *sorted(paths), cwd=scratch)
        return done.stderr if done.returncode else None


#: A check lists at most so many faults.
MOST = 40


def checks():
    """{NAME: function} of all functions check_NAME."""
    return {name.removeprefix("check_"): function
            for name, function in (*vars(linters).items(),
                                   *vars(commands).items(),
                                   *globals().items())
            if name.startswith("check_")}


def run_checks(only=None):
    """The results of all checks, or of the one of that name."""
    return [_run_one(name, function) for name, function in checks().items()
            if only in (None, name)]


def _run_one(name, function):
    title = f"{name}: {function.__doc__}"
    try:
        wrong = tuple(itertools.islice(function(), MOST))
    except Unable as error:
        return Result(title, SKIP, str(error))
    except OSError as error:        # a tool or a file is missing
        wrong = (str(error),)
    return Result(title, FAIL if wrong else PASS, "", wrong)
