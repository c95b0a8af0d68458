# SPDX-License-Identifier: MIT
"""The shape of lib/: figures that may not grow, each with its limit.

Documentation/testing.rst describes the figures. The functions on the way to a
system call are those that selftests/shape/path.c records while it runs, so
small functions, and those of headers, count, too. A file depends on another
one if it includes a header of that name or uses a symbol that the other file
defines.
"""

import collections
import concurrent.futures
import os
import re
import subprocess
import tempfile

from drover_tools.check import source
from drover_tools.check.results import FAIL, PASS, SKIP, Result
from drover_tools.tree import TOP

SECONDS = 20
CODE = (".c", ".h", ".hpp", ".S")
PATH_DOCUMENT = "Documentation/broadcast-path.rst"

#: The folders that each folder of lib/ may use, besides itself and the public
#: headers.
USES = {
    "base": (),
    "mutex": ("base",),
    "cond": ("base", "mutex"),
    "pthread": ("base", "mutex", "cond"),
    "barrier": ("base",),
    "pool": ("base",),
    "stream": ("base", "mutex", "pool"),
}
#: In these folders files may not depend on each other in a circle.
LAYERED = ("cond", "stream")

#: The most lines of a function, from its head to its last brace.
MOST_IN_FUNCTION = 47
#: Lines of code in lib/: 7,508 on 2026-11-27. Since then base has grown by 139
#: (polls beside processes that compute, a kernel that marks the target of a
#: requeue, a page of items put into an arena at once), cond by 268 (waits with
#: a predicate), mutex by 12, pthread by 59 (what valgrind is told), barrier by
#: 43, pool by 222 (gangs, deep waits, the tree of wake-ups) and the headers by
#: 131; stream is 37 smaller. A new mechanism raises the limit in the commit
#: that brings it, which says what it is worth.
MOST_CODE = 7508 + 139 + 268 + 12 + 59 + 43 + 222 + 131 - 37
#: Lines that every file has, and that so do not count as code.
NO_CODE = re.compile(r"\s*#\s*include\b|\s*#\s*endif\b|\s*$"
                     r"|\s*#\s*(ifndef|define) DROVER_\w+_H\b")


def sources(folder, ends=CODE):
    """The files of lib/ or of one folder of it."""
    return [path for path in source.files()
            if path.startswith(f"lib/{folder}") and path.endswith(ends)]


def without_comments(path):
    """The code of a file, in which lines keep their numbers."""
    return re.sub(r"/\*.*?\*/|//[^\n]*",
                  lambda comment: "\n" * comment.group().count("\n"),
                  source.read(path), flags=re.S)


def nr_code():
    """The number of lines of lib/ that are neither comments nor NO_CODE."""
    return sum(1 for path in sources("")
               for line in without_comments(path).splitlines()
               if not NO_CODE.match(line))


def functions(path):
    """(name, lines) of each function of a file in kernel style.

    There, the head of a function starts in column 0, and each of its braces
    stands alone in column 0.
    """
    head, begin, inside = "", None, False
    for number, line in enumerate(without_comments(path).splitlines()):
        if inside and line == "}":
            name = re.search(r"(\w+)\(", head)
            yield name.group(1) if name else head, number - begin + 1
            head, begin, inside = "", None, False
        elif inside:
            continue
        elif line == "{":
            inside = True
        elif not line.strip() or re.match(r"#|.*[;}]$", line):
            head, begin = "", None
        else:
            head += " " + line
            begin = number if begin is None else begin


def long_functions():
    """The functions of lib/ with too many lines."""
    return [f"{path}:{name}:{lines}" for path in sources("", (".c", ".h"))
            for name, lines in functions(path) if lines > MOST_IN_FUNCTION]


def included(path):
    """The files of lib/ that a file includes."""
    return {f"lib/{name}" for name in
            re.findall(r'^#\s*include "([\w/.-]+)"', source.read(path), re.M)}


def symbols(path, scratch):
    """(symbols that a file defines, symbols that it uses from others)."""
    built = os.path.join(scratch, path.replace("/", "-") + ".o")
    subprocess.run(
        [os.environ.get("CC", "gcc"), "-O0", "-w", "-std=c11", "-D_GNU_SOURCE",
         '-DDROVER_VERSION=""', "-pthread", "-iquote",
         os.path.join(TOP, "lib"), "-I", os.path.join(TOP, "lib", "include"),
         "-c", os.path.join(TOP, path), "-o", built], check=True)
    named = subprocess.run(["nm", built], check=True, capture_output=True,
                           text=True).stdout
    return (set(re.findall(r" [TDBRCVW] (\w+)$", named, re.M)),
            set(re.findall(r" U (\w+)$", named, re.M)))


def dependencies():
    """{file: the files it depends on} for C files and headers of lib/."""
    compiled = [path for folder in USES for path in sources(folder + "/", ".c")
                if not path.endswith("/whole.c")]
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(compiled, pool.map(
            lambda path: symbols(path, scratch), compiled)))
    # Some names are defined in both libraries: the own folder comes first.
    home = collections.defaultdict(list)
    for path, (defined, _) in found.items():
        for symbol in defined:
            home[symbol].append(path)
    arrows = {}
    for path, (_, used) in found.items():
        arrows[path] = included(path)
        for symbol in used:
            paths = home[symbol]
            own = [other for other in paths
                   if os.path.dirname(other) == os.path.dirname(path)]
            arrows[path].update(own or paths[:1])
    for folder in USES:
        for path in sources(folder + "/", ".h"):
            arrows[path] = included(path)
    return {path: others - {path} for path, others in arrows.items()}


def folder_of(path):
    """The folder of lib/ that a file is in."""
    return path.split("/")[1]


def upward(arrows):
    """Arrows from a folder to one that it may not use."""
    return sorted(f"{path} -> {other}" for path, others in arrows.items()
                  for other in others if other in arrows
                  and folder_of(other) != folder_of(path)
                  and folder_of(other) not in USES[folder_of(path)])


def unit(path):
    """The unit of a file: a C file and the header of its name are one."""
    return os.path.splitext(path)[0]


def circles(arrows, folder):
    """Groups of files of one folder that all reach each other."""
    units = collections.defaultdict(set)
    for path, others in arrows.items():
        if folder_of(path) == folder:
            units[unit(path)].update(
                unit(other) for other in others if other in arrows
                and folder_of(other) == folder and unit(other) != unit(path))
    reached = {start: reach(units, start) for start in units}
    whole = {frozenset(other for other in reached[start]
                       if start in reached[other])
             for start in units if start in reached[start]}
    return sorted(" <-> ".join(map(os.path.basename, sorted(circle)))
                  for circle in whole)


def reach(units, start):
    """All units that a unit reaches; it reaches itself only by a circle."""
    found, left = set(), [start]
    while left:
        for other in units[left.pop()] - found:
            found.add(other)
            left.append(other)
    return found


def recorded(program):
    """The functions on each path: {"broadcast" or "wait": {function: file}}.
    """
    done = subprocess.run([program], check=True, capture_output=True,
                          text=True, timeout=SECONDS)
    calls = [line.split() for line in done.stdout.splitlines()]
    found = subprocess.run(
        ["addr2line", "-f", "-e", program, *(call[1] for call in calls)],
        check=True, capture_output=True, text=True).stdout.splitlines()
    steps = {"broadcast": {}, "wait": {}}
    for call, name, place in zip(calls, found[::2], found[1::2]):
        steps[call[0]][name] = os.path.relpath(place.rsplit(":", 1)[0], TOP)
    return steps


def path_rows(steps):
    """The rows of the two paths."""
    for name, most_functions, files in (("broadcast", 15, 6), ("wait", 22, 8)):
        yield (f"functions from pthread_cond_{name}() to its system call",
               list(steps[name]), most_functions)
        yield (f"files from pthread_cond_{name}() to its system call",
               sorted(set(steps[name].values())), files)
    document = source.read(PATH_DOCUMENT)
    yield (f"functions on the two paths that {PATH_DOCUMENT} does not name",
           sorted({name for step in steps.values() for name in step
                   if not re.search(rf"\b{name}\b", document)}), 0)


def rows():
    """(name, number or list of things, limit) of each figure."""
    yield (f"functions of lib/ of more than {MOST_IN_FUNCTION} lines",
           long_functions(), 0)
    arrows = dependencies()
    yield ("arrows from a folder of lib/ to one that it may not use",
           upward(arrows), 0)
    for folder in LAYERED:
        yield (f"circles of files in lib/{folder}", circles(arrows, folder), 0)
    yield "lines of code in lib/, without comments", nr_code(), MOST_CODE


def judge(name, found, limit):
    """A figure as a result; found: a number, or the list of things."""
    count = found if isinstance(found, int) else len(found)
    return Result(f"shape: {name}: {count} of {limit}",
                  PASS if count <= limit else FAIL, "",
                  () if count is found else tuple(found))


def measure(build):
    """The results of all figures; build: the folder that has shape/path."""
    program = os.path.join(build, "shape", "path")
    results = [judge(*row) for row in rows()]
    if not os.path.exists(program):
        return [Result("shape: the two paths to a system call", SKIP,
                       "selftests/shape/path was not built, which needs gcc"),
                *results]
    return [*(judge(*row) for row in path_rows(recorded(program))), *results]
