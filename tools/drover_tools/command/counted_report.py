# SPDX-License-Identifier: MIT
"""The report of drover stat: the counts in a table and in words."""

import dataclasses
import functools
import os

from drover_tools.command import counted, symbols
from drover_tools.tables import sections
from drover_tools.tables.document import Table, Text, plain

#: So many condition variables are shown in detail, and in the table.
DETAILED, LISTED = 3, 20
#: Fewer returns, or fewer broadcasts, than this are too few to judge.
SAMPLED = 16
#: A signal would do if at least this share of the threads that a broadcast
#: wakes waits again, and on average fewer than this number do not. Not exactly
#: 1: the last broadcast of a program releases all threads.
VAIN, ONE = 0.5, 1.5
#: Width of the longest bar, and of a name.
BAR, NAME = 40, 36


def _known(process, address):
    """A variable's name, or None."""
    if address == counted.OTHERS:
        return "all others"
    where = process.module_of(address)
    return where and symbols.name(*where)


def name_of(process, address):
    """A variable's name, or else its address."""
    return _known(process, address) or f"{address:#x}"


@functools.lru_cache(maxsize=1024)
def _place(path, address):
    """The functions and lines of a return address, the innermost first."""
    found = symbols.lines(path, address - 1)
    if found:
        return found
    text = symbols.name(path, address - 1) or f"{address - 1:#x}"
    return [(symbols.short(text.rsplit("+0x", 1)[0]), None)]


def _frame(process, address):
    """(name of the file, its _place()) of the program's own call.

    Functions of the C++ library are skipped if their caller is known.
    """
    first = None
    for frame in process.stacks.get(address, [address]):
        where = process.module_of(frame)
        found = ((os.path.basename(where[0]), _place(*where)) if where
                 else (None, [(f"{frame:#x}", None)]))
        if not symbols.is_library(found[1][0][0]):
            return found
        first = first or found
    return first


def site_of(process, address):
    """The place that a call came from; address: the return address."""
    name, ((function, line), *outer) = _frame(process, address)
    text = function + (f" ({', '.join(filter(None, (name, line)))})" if name
                       else "")
    return text + (f", in {outer[-1][0]}" if outer else "")


def _title(process, address):
    """The place for a table: the outermost function of the line."""
    name, found = _frame(process, address)
    function, line = found[-1]
    return f"{function} {line or name or ''}".strip()


@dataclasses.dataclass
class Group:
    """Condition variables that share a name, or a place where threads wait."""

    name: str
    number: int
    condvar: counted.Condvar

    @property
    def title(self):
        """The name, and the number of condition variables that share it."""
        name = self.name
        if len(name) > NAME:
            name = name[:NAME - 3] + "..."
        return name + (f", {self.number} of them" if self.number > 1 else "")


def groups(process):
    """Groups of condition variables with waits, the most waits first."""
    found = {}
    for one in process.condvars:
        if one.counts["waits"]:
            site = one.waiting_site
            name = (_known(process, one.address)
                    or (_title(process, site) if site
                        else name_of(process, one.address)))
            found.setdefault(name, []).append(one)
    result = [Group(name, len(members), counted.together(members))
              for name, members in found.items()]
    return sorted(result, key=lambda group: group.condvar.order(),
                  reverse=True)


def _percent(share):
    return "-" if share is None else f"{share * 100:.0f} %"


COLUMNS = ("condvar", "waits", "signals", "broadcasts", "woken",
           "again at once", "timed out", "slept again", "never slept",
           "moved", "polls paid", "polls lost")


def line_of(group):
    """The cells of a group in the table."""
    one, counts = group.condvar, group.condvar.counts
    return [group.title,
            *(str(counts[key]) for key in ("waits", "signals", "broadcasts")),
            str(one.woken), str(counts["vain"]), str(counts["over"]),
            _percent(one.share("again")), _percent(one.share("awake")),
            str(counts["moved"]), str(counts["paid"]), str(counts["in_vain"])]


def table(process, found, most=LISTED):
    """The table of the first groups."""
    columns = len(COLUMNS) if process.drop_in else COLUMNS.index("moved")
    return Table(list(COLUMNS[:columns]),
                 [line_of(group)[:columns] for group in found[:most]])


def _latency(one):
    """The histogram of the time from release to return."""
    timed = sum(one.latency)
    if timed < SAMPLED:
        return
    yield ("  From release to return: " + ", ".join(
        f"{share * 100:.0f} % below {sections.duration(one.within(share))}"
        for share in (0.5, 0.9, 0.99)) + f"; {timed} were timed")
    most = max(one.latency)
    shown = [power for power, number in enumerate(one.latency) if number]
    for power in range(shown[0], shown[-1] + 1):
        number = one.latency[power]
        yield (f"  {'from ' + sections.duration(1 << power):>14} {number:>8} "
               + "#" * round(BAR * number / most)).rstrip()


def _sites(process, one):
    """The places that call a condition variable's functions, by frequency."""
    for kind in counted.SITE_KINDS:
        found = {}
        for (what, address), calls in one.sites.items():
            if what == kind:
                place = site_of(process, address)
                found[place] = found.get(place, 0) + calls
        for place, calls in sorted(found.items(), key=lambda each: -each[1]):
            share = _percent(calls / sum(found.values()))
            yield f"  {kind:<9} {share:>8}  {place}"


def _broadcasts(one):
    """How many threads a broadcast wakes, and whether a signal would do."""
    counts = one.counts
    if counts["seen"] < SAMPLED:
        return
    woken, vain = (counts[key] / counts["seen"]
                   for key in ("seen_woken", "seen_vain"))
    yield (f"  Of {woken:.1f} threads that a broadcast woke, {vain:.1f} waited"
           " again at once.")
    if vain >= VAIN * woken and woken - vain < ONE:
        yield ("  If they found nothing to do, they were woken in vain, and a"
               " signal would do.")


def details(process, group):
    """The lines about one group."""
    yield f"{group.title}:"
    yield from _latency(group.condvar)
    yield from _broadcasts(group.condvar)
    yield from _sites(process, group.condvar)


def report(process, detailed=DETAILED):
    """The report about one process."""
    found, number = groups(process), len(process.condvars)
    text = (f"{process.name} ({process.pid}),"
            f" {'Drover' if process.drop_in else 'the C library'}:"
            f" {number} condition variable{'s' * (number != 1)}")
    idle = number - sum(group.number for group in found)
    if idle:
        text += f", of which {idle} had no waiters"
    if len(found) > LISTED:
        text += f"; of {len(found)} kinds {LISTED} are shown"
    text = plain([Text(text)] + [table(process, found)] * bool(found))
    for group in found[:detailed]:
        text += "\n" + "\n".join(details(process, group)) + "\n"
    return text


def as_json(process):
    """The counts of one process as data."""
    return {"pid": process.pid, "name": process.name,
            "drop_in": process.drop_in,
            "condvars": [
                {"name": name_of(process, one.address),
                 "address": one.address, **one.counts, "woken": one.woken,
                 "latency_log2_ns": one.latency,
                 "sites": [{"kind": kind, "sampled": calls,
                            "at": site_of(process, address)}
                           for (kind, address), calls in one.sites.items()]}
                for one in process.condvars]}
