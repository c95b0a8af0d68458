# SPDX-License-Identifier: MIT
"""What was counted, in words."""

import os

from drover_tools.command import counted, symbols
from drover_tools.tables import sections
from drover_tools.tables.document import Table, Text, plain

#: Condition variables that are shown in detail, and in the table.
DETAILED, LISTED = 3, 20
#: Sampled waits below which no share of them is told in words.
SAMPLED = 4
#: Of the threads that are released, so many sleep again where there is a herd.
HERD = 0.25
#: Width of the longest bar.
BAR = 40


def name_of(process, address):
    """A variable's name, or its address."""
    if address == counted.OTHERS:
        return "all others"
    where = process.module_of(address)
    found = where and symbols.name(*where)
    return found or f"{address:#x}"


def site_of(process, address):
    """Where a call came from; the address is that after the call."""
    where = process.module_of(address)
    if not where:
        return f"{address:#x}"
    path, address = where[0], where[1] - 1
    text = symbols.name(path, address) or f"{address:#x}"
    text = text.rsplit("+0x", 1)[0]
    return (f"{text} ({os.path.basename(path)}"
            f"{', ' + found if (found := symbols.line(path, address)) else ''}"
            ")")


def _percent(share):
    return "-" if share is None else f"{share * 100:.0f} %"


COLUMNS = ("condvar", "waits", "signals", "broadcasts", "woken", "moved",
           "timed out", "slept again", "never slept", "spins paid",
           "in vain")


def line_of(process, one):
    """Of the table."""
    counts = one.counts
    return [name_of(process, one.address),
            *(str(counts[key]) for key in ("waits", "signals", "broadcasts")),
            str(one.woken), str(counts["moved"]), str(counts["over"]),
            _percent(one.share("again")), _percent(one.share("awake")),
            str(counts["paid"]), str(counts["in_vain"])]


def table(process, most=LISTED):
    """Its condition variables, those that are used most first."""
    lines = [line_of(process, one) for one in process.condvars[:most]]
    columns = COLUMNS if process.drop_in else COLUMNS[:5] + COLUMNS[6:9]
    if not process.drop_in:
        lines = [line[:5] + line[6:9] for line in lines]
    return Table(list(columns), lines)


def _latency(one):
    """The histogram of the time from release to return."""
    timed = sum(one.latency)
    if not timed:
        return
    yield ("  From release to return: " + ", ".join(
        f"{share * 100:.0f} % below {sections.duration(one.within(share))}"
        for share in (0.5, 0.9, 0.99)) + f"; of {timed} that were timed")
    most = max(one.latency)
    shown = [power for power, number in enumerate(one.latency) if number]
    for power in range(shown[0], shown[-1] + 1):
        number = one.latency[power]
        yield (f"  {'from ' + sections.duration(1 << power):>14} {number:>8} "
               + "#" * round(BAR * number / most)).rstrip()


def _sites(process, one):
    """Who calls it, most often first."""
    for kind in counted.SITE_KINDS:
        found = {}
        for (what, address), calls in one.sites.items():
            if what == kind:
                place = site_of(process, address)
                found[place] = found.get(place, 0) + calls
        for place, calls in sorted(found.items(), key=lambda each: -each[1]):
            share = _percent(calls / sum(found.values()))
            yield f"  {kind:<9} {share:>8}  {place}"


def details(process, one):
    """Lines about one."""
    yield f"{name_of(process, one.address)}:"
    yield from _latency(one)
    yield from _sites(process, one)
    again = one.share("again")
    if one.counts["sampled"] >= SAMPLED and again >= HERD:
        yield (f"  {_percent(again)} of the threads sleep again once they are"
               " released: they find the mutex held.")


def report(process, detailed=DETAILED):
    """Of one process."""
    number = len(process.condvars)
    title = (f"{process.name} ({process.pid}),"
             f" {'Drover' if process.drop_in else 'the C library'}:"
             f" {number} condition variable{'s' * (number != 1)}")
    if number > LISTED:
        title += f", of which {LISTED} are shown"
    text = plain([Text(title), table(process)])
    for one in process.condvars[:detailed]:
        text += "\n" + "\n".join(details(process, one)) + "\n"
    return text


def as_json(process):
    """The same as data."""
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
