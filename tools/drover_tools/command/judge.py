# SPDX-License-Identifier: MIT
"""The result of a comparison, as a table and as sentences."""

import statistics

from drover_tools.command import reasons
from drover_tools.runs import process
from drover_tools.tables import sections, stats
from drover_tools.tables.document import Table, Text, plain

#: A smaller relative difference of times is called no difference.
ALIKE = 0.02
#: A run of fewer seconds is mostly the start of the program.
SHORT = 0.05
#: A program without waiting threads makes fewer futex calls.
FEW = 10
KEYS = {"seconds": "time", "cpu_seconds": "CPU time",
        "switches": "context switches"}
FASTER, SLOWER, SAME, OPEN = "faster", "slower", "no difference", "undecided"
WORDS = {stats.AHEAD: FASTER, stats.BEHIND: SLOWER}


def _with_switches(runs):
    return [{**run, "switches": stats.switches(run)} for run in runs]


class Judgement:
    """The ratios of the pairs, and the verdict.

    doubt: how often an interval may be wrong; over: the time limit ended the
    runs
    """

    def __init__(self, stock, ours, doubt, over=False):
        self.stock, self.ours = _with_switches(stock), _with_switches(ours)
        self.over = over
        self.compared = {key: stats.compare(self.ours, self.stock, key, doubt)
                         for key in KEYS}
        self.time, self.cpu = (self.compared["seconds"],
                               self.compared["cpu_seconds"])
        self.verdict = _word(self.time)

    @property
    def settled(self):
        """Whether the verdict is clear, so that no more runs are needed."""
        return self.verdict != OPEN

    def sentence(self):
        """The verdict: whether Drover helps, and how sure that is."""
        more = (" More time (-m) would narrow this range." if self.over else
                " More runs (-n), longer runs or a quieter machine would"
                " narrow this range.")
        if not self.time["interval"]:
            return f"There are too few pairs of runs for a verdict.{more}"
        said = {FASTER: "Drover makes the program faster: it takes between"
                        f" {_change(self.time)} time.",
                SLOWER: "Drover makes the program slower: it takes between"
                        f" {_change(self.time)} time.",
                SAME: "Drover makes no difference to the program's time.",
                OPEN: "No difference was found: with Drover the program takes"
                      f" between {_change(self.time)} time.{more}"
                }[self.verdict]
        word = _word(self.cpu)
        if word in (FASTER, SLOWER) and not _is_alike(self.cpu):
            said += f" It uses between {_change(self.cpu)} CPU time."
        return said


def _is_alike(found):
    """Whether both ends of the interval are within ALIKE of 1."""
    return bool(found and found["interval"] and all(
        abs(bound - 1) <= ALIKE for bound in found["interval"]))


def _word(found):
    if _is_alike(found):
        return SAME
    return WORDS.get(found["verdict"], OPEN) if found else OPEN


def _change(found):
    """An interval in words: 10 and 12 % less"""
    low, high = ((bound - 1) * 100 for bound in found["interval"])
    if high <= 0:
        return f"{-high:.0f} and {-low:.0f} % less"
    if low >= 0:
        return f"{low:.0f} and {high:.0f} % more"
    return f"{-low:.0f} % less and {high:.0f} % more"


def _amount(runs, key):
    """The median, and in brackets the quartiles."""
    values = [run[key] for run in runs]
    texts = [f"{value:.0f}" if key == "switches"
             else sections.duration(value * 1e9) for value in
             (statistics.quantiles(values, n=4, method="inclusive")
              if len(values) > 1 else values * 3)]
    low, middle, high = texts
    if len(values) < 2:
        return middle
    unit = " " + middle.split(" ")[-1]
    if all(text.endswith(unit) for text in texts):
        low, high = low.removesuffix(unit), high.removesuffix(unit)
    return f"{middle} ({low}-{high})"


def _wake_up(found):
    """What a wake-up costs, and what follows from that for Drover's gain."""
    if not found.get("same"):
        return "The cost of a wake-up on this machine could not be measured."
    text = ("On this machine a wake-up takes"
            f" {sections.duration(found['same'])} on the same CPU")
    if found["between"] is None:
        return text + "."
    text += f" and {sections.duration(found['between'])} on another CPU"
    word = process.dear_or_cheap(found["between"])
    if not word:
        return text + "."
    return text + (f", which is {word}: Drover gains "
                   + ("less on a machine where it is cheap."
                      if word == "dear"
                      else "more on a machine where it is dear."))


def _table(comparison, found):
    """The table of ratios and amounts."""
    lines = [[name, sections.ratio_text(found.compared[key])
              if found.compared[key] else "-", _amount(found.stock, key),
              _amount(found.ours, key)] for key, name in KEYS.items()]
    if comparison.futex:
        stock, ours = comparison.futex.values()
        lines.append(["futex calls", f"{ours / stock:.2f}" if stock else "-",
                      str(stock), str(ours)])
    return Table(["", "Drover / stock", "stock", "Drover"], lines)


def report(comparison, found):
    """The text that is printed."""
    pairs, cpus = len(found.stock), len(comparison.cpus)
    blocks = [
        Text(f"{comparison.line}: {pairs} pair{'s' * (pairs > 1)} of runs on"
             f" {cpus} CPU{'s' * (cpus > 1)}. The first column has the median"
             " ratio of the pairs, and in brackets its 95 % interval; the"
             " others have the median run, and in brackets the middle half of"
             " the runs."
             + (f" {comparison.counter} counted the futex calls in one more"
                " run of each." if comparison.futex else "")),
        _table(comparison, found),
        Text(found.sentence()),
        *map(Text, reasons.reasons(found.stock, found.ours, found.compared,
                                   comparison.futex, comparison.counter))]
    if comparison.differs:
        blocks.append(Text("The program prints something else with Drover than"
                           " without. Please report this if its output should"
                           " be the same."))
    if stats.median({"runs": found.stock}, "seconds") < SHORT:
        blocks.append(Text("Such short runs are mostly the start of the"
                           " program: give the program more to do."))
    load = comparison.host["load"]
    if load > cpus:
        blocks.append(Text("This machine was busy before the runs (load"
                           f" {load:.0f} on {cpus} CPUs): measure again when"
                           " it is quiet."))
    if comparison.futex and max(comparison.futex.values()) < FEW:
        blocks.append(Text("The program makes hardly a futex call, so there is"
                           " nothing that Drover could change."))
    blocks.append(Text(_wake_up(comparison.wake_up)))
    return plain(blocks)
