# SPDX-License-Identifier: MIT
"""Mutants, which are changes that break a rule, and the tests that catch them.

    lib/cond/wake.c

    [signal-forgets-the-closed] attack/storm seconds=5 | cond/wakeup_rounds
    what goes wrong, in a few words, if the name does not say it
    -	a line that is removed
    +	a line that is added

The name of a mutant is followed by the tests that catch it, which run one
after the other until one does. A line with a path names the file that the
mutants after it change; "@@" begins another change of that file. A line that
begins with a blank stays as it is. The old lines must be in the file exactly
once.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import glob
import os
import re
import signal
import subprocess
import sys
import time

from drover_tools.tap import Tap
from drover_tools.tree import TOP

SOUND = "sound"     # the name of the build without a mutant
TOO_LONG = 1800
FILE = re.compile(r"(lib|kernel/futex)/[\w/]+\.[ch]$")
HEAD = re.compile(r"\[([\w-]+)\] (.*)$")


class Unfit(Exception):
    """A mutant whose lines are no longer in the source."""


class Broken(Exception):
    """A fault that is not the tests': it has to be mended first."""


@dataclasses.dataclass
class Mutant:
    """One mutant: its name, tests, what it breaks, and [path, lines]."""
    name: str
    tests: list
    breaks: str = ""
    changes: list = dataclasses.field(default_factory=list)

    def apply(self, top):
        """Change a copy of the source. Return: whether a header changed."""
        for name, lines in self.changes:
            path = os.path.join(top, name)
            with open(path, encoding="utf-8") as file:
                text = "\n" + file.read()
            before, after = ("\n" + "".join(line[1:] + "\n" for line in lines
                                            if line[0] in marks)
                             for marks in ("- ", "+ "))
            if text.count(before) != 1:
                raise Unfit(f"{name}: {text.count(before)} times:{before}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(before, after)[1:])
        return any(name.endswith(".h") for name, _ in self.changes)


def read_all(folder):
    """All mutants of the lists in a folder."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.mutants"))):
        with open(path, encoding="utf-8") as file:
            for mutant in _parse(file.read().splitlines()):
                if mutant.name in found or not mutant.changes:
                    raise ValueError(f"{path}: {mutant.name} exists twice, or"
                                     " changes nothing")
                if not all(name for name, _ in mutant.changes):
                    raise ValueError(f"{path}: no file before {mutant.name}")
                found[mutant.name] = mutant
    return list(found.values())


def _parse(lines):
    found, path, begins = [], None, True
    for line in lines:
        head = HEAD.match(line)
        if head:
            found.append(Mutant(head.group(1), head.group(2).split(" | ")))
            begins = True
        elif FILE.match(line):
            path, begins = line, True
        elif line == "@@":
            begins = True
        elif line[:1] in ("-", "+", " "):
            if begins:
                found[-1].changes.append([path, []])
            begins = False
            found[-1].changes[-1][1].append(line)
        elif line and not line.startswith("#"):
            found[-1].breaks = line
    return found


def command(arguments, folder, limit, last=None, env=None):
    """Run a command. Return: (exit status or None, output).

    The command is ended after limit seconds, at a line that begins with last,
    and when this program ends. Its output is also added to folder/output.
    """
    lines = []
    end = time.monotonic() + limit
    with subprocess.Popen(
            ["setpriv", "--pdeathsig=TERM", "timeout", "-s", "KILL",
             str(limit), *arguments], cwd=TOP, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, **(env or {}))) as process:
        for line in process.stdout:
            lines.append(line)
            if last and line.startswith(last):
                process.terminate()
                break
    status = None if time.monotonic() >= end else process.returncode
    with open(os.path.join(folder, "output"), "a", encoding="utf-8") as file:
        print("$", *arguments, f"\n{''.join(lines)}[status {status}]\n",
              file=file)
    return status, "".join(lines)


def _hunt(mutant, build, wrong_by, limits):
    """A sentence with the test that caught a mutant, or None."""
    folder = build(mutant.name, mutant.tests, mutant)
    for test in mutant.tests:
        wrong = wrong_by(folder, test, limits[test])
        if wrong:
            return f"caught by {test.split()[0]}: {wrong}"
    return None


def _limit(folder, test, wrong_by):
    """The seconds that a test may take; it must pass without a mutant."""
    start = time.monotonic()
    wrong = wrong_by(folder, test, TOO_LONG)
    if wrong:
        raise Broken(f"{test}: {wrong}\nsee {folder}/output")
    return 10 + 5 * (time.monotonic() - start)


def _run(chosen, pool, build, wrong_by):
    """Try these mutants in their order. Return: the exit status."""
    tap = Tap()
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    sound = f"{len(tests)} tests pass without a mutant"
    try:
        folder = build(SOUND, tests)
        limits = dict(zip(tests, pool.map(
            lambda test: _limit(folder, test, wrong_by), tests)))
    except (Broken, OSError) as error:
        tap.ok(False, sound, error)
        return tap.exit_status()
    tap.ok(True, sound)
    for mutant, future in [(mutant, pool.submit(_hunt, mutant, build, wrong_by,
                                                limits)) for mutant in chosen]:
        try:
            how = future.result()
        except (Broken, Unfit, OSError) as error:
            tap.ok(False, mutant.name, error)
        else:
            tap.ok(how, f"{mutant.name}: {how or 'not caught'}", mutant.breaks)
    return tap.exit_status()


def hunt(options, mutants, build, wrong_by, parallel=1):
    """Try the chosen mutants. Return: the exit status, 0 if all were caught.

    options: those of parser(), which choose among the mutants; build(name,
    tests, mutant or None): makes a folder of that name, with everything that
    the tests need; wrong_by(folder, test, seconds): the fault that a test
    finds, or None
    """
    chosen = [mutant for mutant in mutants
              for name in options.names or "*"
              if fnmatch.fnmatch(mutant.name, name)]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name}: {' | '.join(mutant.tests)}")
        return 0
    if not chosen:
        sys.exit("no mutant has such a name; see --list")
    # SIGINT ends this program, and so all that it has started.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        return _run(chosen, pool, build, wrong_by)


def parser(doc):
    """The parser of the command line; doc: the description for --help."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--list", action="store_true",
                      help="list the mutants with their tests, and run none")
    made.add_argument("names", metavar="NAME", nargs="*",
                      help="a mutant; may have wildcards (default: all)")
    return made
