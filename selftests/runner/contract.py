# SPDX-License-Identifier: GPL-2.0-only
"""Holds selftests/contract.txt, the rows of the contract, against the tests."""

import os

from result import FAIL, PASS, Result
from suites import TOP, tests

CONTRACT = "selftests/contract.txt"


def read(text):
    """Pairs of a row's name and the names of its tests."""
    rows = []
    for line in text.splitlines():
        if line.startswith("\t") and rows:
            rows[-1][1].extend(line.split())
        elif line and not line.startswith("#"):
            rows.append((line.partition(":")[0], []))
    return rows


def check(rows, there):
    """One result for each row; @there are the tests that can be built."""
    return [_check_row(name, named, there) for name, named in rows]


def _check_row(name, named, there):
    missing = tuple(test for test in named if test not in there)
    title = f"contract: {name}: {' '.join(named)}"
    if missing or not named:
        return Result(title, FAIL, "no such test" if missing else "no test",
                      missing)
    return Result(title, PASS)


def run():
    """The results for the contract as it is."""
    with open(os.path.join(TOP, CONTRACT), encoding="utf-8") as file:
        results = check(read(file.read()), tests())
    return results or [Result(CONTRACT, FAIL, "has no rows")]
