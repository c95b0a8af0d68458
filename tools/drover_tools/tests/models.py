# SPDX-License-Identifier: MIT
"""Tests that tools/models finds faults, and that all models are documented."""

import glob
import os
import re
import shutil
import subprocess
import tempfile

from drover_tools import models
from drover_tools.tap import Tap
from drover_tools.tree import TOP

DOCUMENT = os.path.join(TOP, "Documentation", "models.rst")
TOOL = os.path.join(TOP, "tools", "models")


#: A counter that stops at LAST.
MODEL = """/*
 * {declaration}
 */
hidden byte not_reached;
hidden byte is_small;
int count;

active proctype Counter()
{{
    do
    :: count < LAST -> count++
    :: count == LAST -> break
    od;
#ifdef BUSTED_GUARD
    count = 1000;
#endif
    is_small = (count < 100);
    assert(is_small);
    not_reached = (count != 10);
    assert(not_reached)
}}
"""

#: The declaration of a model, its limits, the title of the result, and a
#: pattern for the fault that is found.
CASES = (
    ("@run -DLAST=9", {}, "x LAST=9", "$"),
    ("@twin GUARD is_small -DLAST=9: too large", {},
     "x LAST=9 without GUARD fails by is_small", "$"),
    ("@model y -DLAST=10\n * @run", {}, "y", "not_reached is violated"),
    ("@twin OTHER is_small -DLAST=9: nothing", {},
     "x LAST=9 without OTHER fails by is_small", "the twin does not fail"),
    ("@twin GUARD not_reached -DLAST=9: so it says", {},
     "x LAST=9 without GUARD fails by not_reached",
     "fails by another property: is_small"),
    ("@run -DLAST=100000000", {"depth": 1000}, "x LAST=100000000",
     "the search was not complete"),
    ("@run -DLAST=100000000", {"megabytes": 2}, "x LAST=100000000", "."),
    ("@run -DLAST=100000000", {"seconds": 1}, "x LAST=100000000", "stopped"),
)


def test_verdicts(tap, scratch):
    """Each fault of a model is found."""
    path = os.path.join(scratch, "x.pml")
    for declaration, limits, title, wanted in CASES:
        with open(path, "w", encoding="utf-8") as file:
            file.write(MODEL.format(declaration=declaration))
        job, = models.jobs_of(path)
        _, wrong = models.run(job, limits={**models.LIMITS, **limits},
                              build=scratch)
        tap.ok(job.title == title and re.match(wanted, wrong),
               f"the verdict on {title} {limits or ''}",
               f"{job.title}: {wrong}")


def read(path):
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def undocumented():
    """The models that the table of models.rst does not have."""
    listed = subprocess.run([TOOL, "--long", "--list"],
                            capture_output=True, text=True,
                            check=True).stdout.splitlines()
    document = read(DOCUMENT)
    return [name for name in listed
            if " fails by " not in name and f"``{name}``" not in document]


def unpaired():
    """Guards that no twin leaves out, and twins whose guard does not exist."""
    text = "\n".join(map(read, glob.glob(os.path.join(models.MODELS, "*.pml"))
                         + glob.glob(os.path.join(models.MODELS, "*.inc"))))
    guards = set(re.findall(r"\bBUSTED_(\w+)", text))
    guards |= set(re.findall(
        r"\b(?:GUARD|BUSTED|BUSTED_OR)\(([A-Z]\w+),", text))
    guards -= {"NAME", "OR"}
    twins = set(re.findall(r"^ \* @twin (?:quick |long )?(\w+)", text, re.M))
    return [*(f"no twin is without {name}" for name in guards - twins),
            *(f"nothing is BUSTED_{name}" for name in twins - guards)]


def main():
    """Run all tests. Return: the exit status."""
    if not shutil.which("spin"):
        print("1..0 # SKIP spin is missing: run tools/deps models")
        return 4
    tap = Tap()
    with tempfile.TemporaryDirectory() as scratch:
        test_verdicts(tap, scratch)
    done = subprocess.run([TOOL, "--only=none"],
                          capture_output=True, check=False)
    tap.equal(done.returncode, 1, "no model at all")
    tap.equal(undocumented(), [], "models.rst has all models")
    tap.equal(unpaired(), [], "every guard has a twin")
    return tap.exit_status()
