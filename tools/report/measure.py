#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run the cells, interleaved, and keep every single run."""

import plan
from places import Failed, TooSlow


def interleaved(cells, runs):
    """The order of measuring: (run number, cell).

    All contenders of a row run one after the other, and whoever goes first
    changes from run to run: what the machine does meanwhile (other load,
    its clock) meets all of them alike.
    """
    for number in range(runs):
        for row in plan.ROWS:
            same_row = [cell for cell in cells if cell.row is row]
            shift = number % len(same_row) if same_row else 0
            for cell in same_row[shift:] + same_row[:shift]:
                yield number, cell


def run_once(place, cell, runs, limit):
    """One more run of a cell; a cell that fails once is not run again."""
    try:
        cell.runs.append(place.run(cell, limit))
        if len(cell.runs) == runs:
            cell.state = plan.COMPLETE
    except TooSlow:
        cell.state = plan.INCOMPLETE
    except Failed as error:
        cell.state = plan.FAILED
        cell.reason = str(error)


def measure(place, cells, runs, limit, progress):
    """Measure all cells of a place that is ready to run."""
    for number, cell in interleaved(cells, runs):
        if not cell.open:
            continue
        with progress.running(cell, number):
            run_once(place, cell, runs, limit)
