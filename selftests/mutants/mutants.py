# SPDX-License-Identifier: GPL-2.0-only
"""Mutants: changes that break a rule, for a test to catch; and their hunt.

    lib/cond/wake.c

    [signal-forgets-the-closed] attack/storm seconds=5 | cond/wakeup_rounds
    what goes wrong, in a few words
    -	a line to be taken out
    +	a line to be put there

Behind the name, the tests that catch it, tried one after the other. A file
stays the one that is changed until another is named, and "@@" begins a further
change of it. Lines with a blank in front stay as they are. The lines that were
there must be found exactly once.
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

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
FILE = re.compile(r"(lib|kernel/futex)/[\w/]+\.[ch]$")
HEAD = re.compile(r"\[([\w-]+)\] (.*)$")


class Unfit(Exception):
    """A mutant whose lines are no longer in the source."""


class Broken(Exception):
    """Something that says nothing about the tests: it has to be mended."""


@dataclasses.dataclass
class Mutant:
    """One mutant: what it breaks, who should catch it, [path, lines]."""
    name: str
    tests: list
    breaks: str = ""
    changes: list = dataclasses.field(default_factory=list)

    def apply(self, top):
        """Change the copy of the source; whether a header is among it."""
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
                    raise ValueError(f"{path}: {mutant.name} is there twice,"
                                     " or changes nothing")
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
    """Run in a process group of its own; (exit status or None, output).

    It is ended after limit seconds, at a line that begins with last, and when
    this program ends. What it prints is added to folder/output.
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


def _result(ok, number, name, comment=""):
    print(f"{'ok' if ok else 'not ok'} {number} {name}",
          *str(comment).splitlines(), sep="\n# ", flush=True)
    return ok


def _report(number, mutant, future):
    """Print one result; whether the mutant was caught."""
    try:
        how = future.result()
    except (Broken, Unfit, OSError) as error:
        return _result(False, number, mutant.name, error)
    return _result(bool(how), number, mutant.name, how or
                   f"{mutant.breaks}\nnot caught by {mutant.tests}")


def _run(chosen, what, prepare, hunt, parallel):
    """Hunt these mutants, in their order; whether all is as it should be."""
    print(f"TAP version 13\n1..{len(chosen) + 1}", flush=True)
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    try:
        prepared = prepare(tests)
    except (Broken, OSError) as error:
        return _result(False, 1, f"{what} as it is passes all tests", error)
    _result(True, 1, f"{what} as it is passes {len(tests)} tests")
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        futures = [pool.submit(hunt, each, prepared) for each in chosen]
        return all([_report(number, *pair) for number, pair
                    in enumerate(zip(chosen, futures), 2)])


def main(options, folder, what, prepare, hunt, parallel=1):
    """The exit status: 0 if every mutant that was asked for was caught.

    options: those of parser(); what: such as "the library"; prepare(tests) sees
    that it passes them as it is; hunt(mutant, what that returned) says what
    caught a mutant, or None.
    """
    chosen = [mutant for mutant in read_all(folder)
              for name in options.names or "*"
              if fnmatch.fnmatch(mutant.name, name)]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.breaks}; {', '.join(mutant.tests)}")
        return 0
    if not chosen:
        sys.exit("no mutant is called so; see --list")
    # All that runs ends with this program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return 0 if _run(chosen, what, prepare, hunt, parallel) else 1


def parser(doc):
    """Of the command line; doc: what --help says."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--list", action="store_true")
    made.add_argument("names", metavar="NAME", nargs="*")
    return made
