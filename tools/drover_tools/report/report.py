# SPDX-License-Identifier: MIT
"""Make a report of measurements: tables and a plot.

Reads the results of tools/measure in build/results, and writes report.md and
the plot to build/report.  With --keep, it writes only the plot, and one JSON
file with all results, to Documentation/results.
"""

import argparse
import importlib
import os
import sys

from drover_tools.report import store
from drover_tools.tables import document
from drover_tools.tree import BUILD, TOP

KEPT = os.path.join(TOP, "Documentation", "results")
NAMES = ("bench", "programs", "table", "waiting", "stream", "hardware",
         "ggml", "counts")
PLOT = document.Text("![Time over the other's: left of 1 is ahead]"
                     "(overview.png)")


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="report", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", metavar="JSON",
                        help="files to read, also one that --keep has written"
                        " (default: all in build/results)")
    parser.add_argument("--out", metavar="DIR", type=os.path.abspath,
                        help="write to this folder (default: build/report)")
    parser.add_argument("--keep", metavar="DIR", nargs="?", const=KEPT,
                        type=os.path.abspath,
                        help="write the two files to this folder instead")
    parser.add_argument("--no-plots", action="store_true",
                        help="make only tables, without matplotlib")
    parser.add_argument("--build", default=BUILD, metavar="DIR",
                        type=os.path.abspath)
    return parser.parse_args(arguments)


def read(paths):
    """Read {suite: result}, or exit with a message."""
    found = {}
    for path in paths:
        data = store.read_json(path)
        for result in [data] if "suite" in data else data.values():
            wrong = list(store.errors(result))
            if wrong:
                sys.exit(f"report: {path} is not a result: {wrong[0]}")
            found[result["suite"]] = result
    return {name: found[name] for name in NAMES if name in found}


def sources(options):
    """The files to read."""
    if options.sources:
        return options.sources
    folder = os.path.join(options.build, "results")
    return [path for path in (os.path.join(folder, f"{name}.json")
                              for name in NAMES) if os.path.exists(path)]


def blocks_of(results):
    """The blocks of all suites, one after the other."""
    for name, result in results.items():
        suite = importlib.import_module(
            f"drover_tools.report.suite_{name}").SUITE
        yield from suite.blocks(result)


def main():
    options = parse(sys.argv[1:])
    results = read(sources(options))
    if not results:
        sys.exit("report: there are no results; run: make bench")
    folder = options.keep or options.out or os.path.join(options.build,
                                                         "report")
    os.makedirs(folder, exist_ok=True)
    drawn = (not options.no_plots
             and importlib.import_module("drover_tools.report.plots").draw(
                 results, folder))
    if options.keep:
        name = "results.json"
        store.write_lines(os.path.join(folder, name), results)
    else:
        name = "report.md"
        blocks = [PLOT] * drawn + list(blocks_of(results))
        store.write(os.path.join(folder, name), document.markdown(blocks))
    print(f"Saved: {folder}/{name}" + ", overview.png" * drawn)
    return 0
