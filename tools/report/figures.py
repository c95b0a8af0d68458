#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""From single runs to the figures of a cell."""

import statistics

import plan

SWITCHES = {row.command: row.switches_key for row in plan.ROWS}


def spread(values):
    """Half the distance from the least to the greatest, over the median."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / 2 / middle if middle else 0.0


def summary(cell):
    """Median, extremes and switches of a cell that has runs."""
    seconds = [run["seconds"] for run in cell["runs"]]
    key = SWITCHES[cell["row"]]
    return {
        "seconds": statistics.median(seconds),
        "least": min(seconds),
        "greatest": max(seconds),
        "spread": spread(seconds),
        "cpu_seconds": statistics.median(run["cpu_seconds"]
                                         for run in cell["runs"]),
        "switches": statistics.median(run[key] for run in cell["runs"]),
    }


def peer_of(cell, cells):
    """The cell of the implementation that this one is compared with."""
    for other in cells:
        if (other["contender"] == plan.PEERS[cell["place"]]
                and all(other[key] == cell[key]
                        for key in ("place", "cpus", "row"))):
            return other
    return None


def _is_measured(cell):
    return bool(cell["runs"]) and cell["state"] in (plan.PENDING,
                                                    plan.COMPLETE)


def ratio(cell, cells):
    """Its time over the peer's; None if either was not measured."""
    peer = peer_of(cell, cells)
    if not peer or not _is_measured(cell) or not _is_measured(peer):
        return None
    return summary(cell)["seconds"] / summary(peer)["seconds"]


def is_behind(cell, cells):
    """Whether it is slower than the peer, to the two places printed."""
    peer = peer_of(cell, cells)
    if cell["state"] == plan.INCOMPLETE:
        return bool(peer) and _is_measured(peer)
    value = ratio(cell, cells)
    return value is not None and round(value, 2) > 1.00


def with_figures(cells):
    """The cells for the JSON file: single runs and what follows from them."""
    done = []
    for cell in cells:
        figures = summary(cell) if cell["runs"] else None
        done.append({**cell, "figures": figures,
                     "ratio": ratio(cell, cells),
                     "behind": is_behind(cell, cells)})
    return done
