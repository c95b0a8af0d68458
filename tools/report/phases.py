# SPDX-License-Identifier: MIT
"""The phases of the load that changes: native Drover against fixed policies."""

import statistics

import bench_plan
import stats
from results import NATIVE

#: How much slower than the better fixed policy a phase may be.
ADAPTED = 1.10
FIXED = tuple(each.name for each in bench_plan.FIXED)


def in_place(cells, place):
    """{contender: its cell}; empty if native or a fixed policy is missing."""
    mine = {cell["contender"]: cell for cell in cells.in_place(place)
            if cell["runs"][0].get("kinds")}
    return mine if {NATIVE, *FIXED} <= set(mine) else {}


def names(mine):
    """The kinds of phases."""
    return list(mine[NATIVE]["runs"][0]["kinds"]) if mine else []


def times(cell, kind):
    """Nanoseconds of one operation, of each run."""
    return [run["kinds"][kind]["ns_per_operation"] for run in cell["runs"]]


def adapted(mine, kind):
    """Against the better fixed policy of this phase: the verdict is whether
    native takes less than ADAPTED of its time."""
    best = min(FIXED, key=lambda name: statistics.median(
        times(mine[name], kind)))
    values = [own / fixed for own, fixed in zip(times(mine[NATIVE], kind),
                                                times(mine[best], kind))]
    bounds = stats.interval(values)
    return {"ratio": statistics.median(values), "interval": bounds,
            "verdict": stats.verdict(bounds and (bounds[0] / ADAPTED,
                                                 bounds[1] / ADAPTED))}
