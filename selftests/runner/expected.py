# SPDX-License-Identifier: GPL-2.0-only
"""Failures that are known, by name: selftests/expected-failures/VARIANT.txt.

A line is COLLECTION:PROGRAM, then optionally "#" and why. A listed test that
passes, or that was not run, is a failure: the list never says too much.
"""

import dataclasses
import os

from result import FAIL, KNOWN, PASS, Result

FOLDER = os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "expected-failures")


def read(variant, folder=FOLDER):
    """The list of one variant: name and reason."""
    path = os.path.join(folder, f"{variant}.txt")
    known = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, why = line.partition("#")
                if name.strip():
                    known[name.strip()] = why.strip()
    return known


def compare(results, known):
    """Hold results against the list; returns them as they now count."""
    compared = [_compare_one(result, known) for result in results]
    seen = {result.name for result in results}
    for name in known:
        if name not in seen:
            compared.append(Result(name, FAIL, "listed as an expected"
                                   " failure, but was not run"))
    return compared


def _compare_one(result, known):
    if result.name not in known:
        return result
    if result.status == FAIL:
        return dataclasses.replace(result, status=KNOWN,
                                   why=known[result.name])
    if result.status == PASS:
        return Result(result.name, FAIL, "passes, though it is listed as an"
                      " expected failure: take it off the list")
    return result
