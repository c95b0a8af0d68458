# SPDX-License-Identifier: MIT
"""Make a report of what was measured: tables and a plot.

Reads what tools/measure has left in build/results, and leaves
report.md and the plot in build/report.  --keep leaves the plot and one JSON
file, with all results, in Documentation/results, and nothing else.
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
                        help="default: all in build/results; also one that"
                        " --keep has left")
    parser.add_argument("--out", metavar="DIR", type=os.path.abspath,
                        help="default: build/report")
    parser.add_argument("--keep", metavar="DIR", nargs="?", const=KEPT,
                        type=os.path.abspath,
                        help="leave the two files there instead")
    parser.add_argument("--no-plots", action="store_true",
                        help="tables only, without matplotlib")
    parser.add_argument("--build", default=BUILD, metavar="DIR",
                        type=os.path.abspath)
    return parser.parse_args(arguments)


def read(paths):
    """{suite: result}, or an end with a message."""
    found = {}
    for path in paths:
        data = store.read_json(path)
        for result in [data] if "suite" in data else data.values():
            wrong = list(store.errors(result))
            if wrong:
                sys.exit(f"report: {path} is no result: {wrong[0]}")
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
    """All suites, one after the other."""
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
