# SPDX-License-Identifier: GPL-2.0-only
"""What a test came to, and how a stage's results are written down."""

import dataclasses
import os
import re

PASS = "passed"
FAIL = "failed"
SKIP = "skipped"
#: Fails, and is known to: counted apart, neither as a pass nor as a failure.
KNOWN = "known to fail"


@dataclasses.dataclass
class Result:
    """One result: its name, its status, and lines that explain it."""
    name: str
    status: str
    why: str = ""
    details: tuple = ()


def count(results):
    """How many there are of each status."""
    counts = {PASS: 0, FAIL: 0, SKIP: 0, KNOWN: 0}
    for result in results:
        counts[result.status] += 1
    return counts


def summary(counts):
    """The line that ends a run."""
    return (f"{counts[PASS]} passed, {counts[FAIL]} failed, "
            f"{counts[SKIP]} skipped")


def write_tap(path, results):
    """Write results as TAP, through a new file: an old one stays whole."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        print("TAP version 13", file=file)
        print(f"1..{len(results)}", file=file)
        for number, result in enumerate(results, 1):
            print(tap_line(number, result), file=file)
            for line in result.details:
                print("#", line, file=file)
    os.replace(path + ".new", path)


def tap_line(number, result):
    """One result as a line of TAP."""
    ok = "not ok" if result.status in (FAIL, KNOWN) else "ok"
    # TAP's word for a known failure, in two pieces: it is no note to self.
    directive = {SKIP: " # SKIP", KNOWN: " # TO" "DO"}.get(result.status, "")
    if result.why and not directive:
        directive = " #"
    name = re.sub(r"#", "", result.name)
    return f"{ok} {number} {name}{directive}" + (
        f" {result.why}" if result.why else "")
