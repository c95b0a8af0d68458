# SPDX-License-Identifier: MIT
"""The plots of a report.  The only file that needs matplotlib."""

import os

import matplotlib

from matplotlib import pyplot

from drover_tools.report import suite_programs
from drover_tools.runs import plan
from drover_tools.tables import stats
from drover_tools.tables.document import LICENCE
from drover_tools.tables.results import Cells, where

VERDICT_COLOURS = {stats.AHEAD: "#0a7d33", stats.TIE: "#b08900",
                   stats.BEHIND: "#c1121f", stats.UNKNOWN: "#777777"}

# This backend draws into files and needs no display.
pyplot.switch_backend("Agg")
matplotlib.rcParams.update({
    "font.size": 9, "axes.grid": True, "grid.alpha": 0.3,
    "axes.spines.top": False, "axes.spines.right": False,
    "figure.constrained_layout.use": True})


def _ratios(axis, title, lines):
    """Draw ratios with their intervals, (name, comparison) from the top."""
    axis.set_title(title, fontsize=10)
    axis.axvline(1, color="#000000", linewidth=0.8)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter("{x:g}")
    axis.tick_params(axis="x", which="both", labelsize=6)
    for y, (_, found) in enumerate(lines):
        if not found:
            continue
        colour = VERDICT_COLOURS[found["verdict"]]
        if found["interval"]:
            axis.plot(found["interval"], (y, y), color=colour, linewidth=1.2)
        axis.plot(found["ratio"], y, color=colour, marker="o", markersize=4)
    ratios = [found["ratio"] for _, found in lines if found]
    axis.set_xlim(min([0.5, *ratios]) / 1.1, max([1.5, *ratios]) * 1.1)
    axis.set_ylim(len(lines) - 0.5, -0.5)
    axis.set_yticks(range(len(lines)), [name for name, _ in lines],
                    fontsize=6)


def _cell_columns(cells):
    """(title, lines) of promised cells: of the drop-in, and of native."""
    for name, title in (("drop-in", "drop-in / glibc"),
                        ("native", "native / best peer")):
        lines = [(f"{cell['row']}  ({where(cell)})", cells.to_opponent(cell))
                 for cell in cells.promised() if cell["contender"] == name]
        if any(found for _, found in lines):
            yield title, lines


def _program_columns(cells):
    """(title, lines) of the real programs: time, and CPU time."""
    counts = suite_programs.cpu_counts(cells)
    for number, title in ((3, "programs: time"), (4, "programs: CPU time")):
        lines = [(f"{pair[0]}  ({plan.cpus_text(cpus)})", pair[number])
                 for cpus in counts
                 for pair in suite_programs.pairs(cells, cpus)]
        if lines:
            yield title, lines


def overview(results):
    """A figure of all promised comparisons, of cells and of programs."""
    columns = []
    for name, of in (("bench", _cell_columns), ("programs",
                                                _program_columns)):
        if name in results:
            columns += of(Cells(results[name]))
    if not columns:
        return pyplot.figure()
    rows = max(len(lines) for _, lines in columns)
    figure, axes = pyplot.subplots(1, len(columns), squeeze=False, figsize=(
        4.6 * len(columns), 1.5 + 0.14 * rows))
    for axis, (title, lines) in zip(axes.flat, columns):
        _ratios(axis, title, lines)
    return figure


def draw(results, folder):
    """Write folder/overview.png. Return: false if there is nothing to show."""
    figure = overview(results)
    shown = any(axis.has_data() for axis in figure.axes)
    if shown:
        figure.savefig(os.path.join(folder, "overview.png"), dpi=110,
                       bbox_inches="tight",
                       metadata={"Software": None, "Copyright": LICENCE})
    pyplot.close(figure)
    return shown
