# SPDX-License-Identifier: MIT
"""What the runs of a comparison mean, in a table and sentences."""

import statistics

from drover_tools.command import reasons
from drover_tools.runs import process
from drover_tools.tables import sections, stats
from drover_tools.tables.document import Table, Text, plain

#: A time within so much of the other is none that anybody notices.
ALIKE = 0.02
#: Seconds below which a run is mostly the start of a program.
SHORT = 0.05
#: Futex calls that a program without waiting threads makes, too.
FEW = 10
KEYS = {"seconds": "time", "cpu_seconds": "CPU time",
        "switches": "context switches"}
FASTER, SLOWER, SAME, OPEN = "faster", "slower", "no difference", "undecided"
WORDS = {stats.AHEAD: FASTER, stats.BEHIND: SLOWER}


def _with_switches(runs):
    return [{**run, "switches": stats.switches(run)} for run in runs]


class Judgement:
    """Ratios of the pairs, and what they say.

    doubt: how often an interval may be wrong; over: the time was.
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
        """Whether more runs would say nothing else."""
        return self.verdict != OPEN

    def sentence(self):
        """Does it help, and is that real?"""
        more = (" More time (-m) would narrow that." if self.over else
                " More runs (-n), longer ones or a quieter machine would"
                " narrow that.")
        if not self.time["interval"]:
            return f"Nothing can be said of so few pairs of runs.{more}"
        said = {FASTER: "Drover makes it faster: it takes between"
                        f" {_change(self.time)} time.",
                SLOWER: "Drover makes it slower: it takes between"
                        f" {_change(self.time)} time.",
                SAME: "Drover makes no difference to its time.",
                OPEN: "No difference was found: with Drover it takes between"
                      f" {_change(self.time)} time.{more}"
                }[self.verdict]
        word = _word(self.cpu)
        if word in (FASTER, SLOWER) and not _is_alike(self.cpu):
            said += f" It uses between {_change(self.cpu)} CPU time."
        return said


def _is_alike(found):
    """Both ends of the interval within what nobody notices."""
    return bool(found and found["interval"] and all(
        abs(bound - 1) <= ALIKE for bound in found["interval"]))


def _word(found):
    if _is_alike(found):
        return SAME
    return WORDS.get(found["verdict"], OPEN) if found else OPEN


def _change(found):
    """10 and 12 % less"""
    low, high = ((bound - 1) * 100 for bound in found["interval"])
    if high <= 0:
        return f"{-high:.0f} and {-low:.0f} % less"
    if low >= 0:
        return f"{low:.0f} and {high:.0f} % more"
    return f"{-low:.0f} % less and {high:.0f} % more"


def _amount(runs, key):
    """The median, and between which the middle half of the runs are."""
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
    """How dear a wake-up is, and what follows from it."""
    if not found.get("same"):
        return "What a wake-up costs here is not known."
    text = ("A wake-up takes"
            f" {sections.duration(found['same'])} on the same CPU here")
    if found["between"] is None:
        return text + "."
    text += f" and {sections.duration(found['between'])} on another"
    word = process.dear_or_cheap(found["between"])
    if not word:
        return text + "."
    return text + (f", which is {word}: where it is "
                   + ("cheap, Drover gains less." if word == "dear"
                      else "dear, Drover gains more."))


def _table(comparison, found):
    """The ratios, and what they are ratios of."""
    lines = [[name, sections.ratio_text(found.compared[key])
              if found.compared[key] else "-", _amount(found.stock, key),
              _amount(found.ours, key)] for key, name in KEYS.items()]
    if comparison.futex:
        stock, ours = comparison.futex.values()
        lines.append(["futex calls", f"{ours / stock:.2f}" if stock else "-",
                      str(stock), str(ours)])
    return Table(["", "Drover / stock", "stock", "Drover"], lines)


def report(comparison, found):
    """What is printed."""
    pairs, cpus = len(found.stock), len(comparison.cpus)
    blocks = [
        Text(f"{comparison.line}: {pairs} pair{'s' * (pairs > 1)} of runs on"
             f" {cpus} CPU{'s' * (cpus > 1)}. The median ratio of the pairs,"
             " in brackets its 95 % interval; and the median run, in brackets"
             " the middle half of the runs."
             + (f" Futex calls: of one more run of each, by"
                f" {comparison.counter}." if comparison.futex else "")),
        _table(comparison, found),
        Text(found.sentence()),
        *map(Text, reasons.reasons(found.stock, found.ours, found.compared,
                                   comparison.futex, comparison.counter))]
    if comparison.differs:
        blocks.append(Text("It prints something else with Drover than"
                           " without: report that, if it should not."))
    if stats.median({"runs": found.stock}, "seconds") < SHORT:
        blocks.append(Text("Such short runs are mostly the start of the"
                           " program: give it more to do."))
    load = comparison.host["load"]
    if load > cpus:
        blocks.append(Text(f"This machine was busy before (load {load:.0f} on"
                           f" {cpus} CPUs): a quiet one tells more."))
    if comparison.futex and max(comparison.futex.values()) < FEW:
        blocks.append(Text("It makes hardly a futex call: there is nothing in"
                           " it for Drover to change."))
    blocks.append(Text(_wake_up(comparison.wake_up)))
    return plain(blocks)
