# SPDX-License-Identifier: MIT
"""Never behind: what was promised of each cell, and whether it holds."""

from document import Figure, Heading, Table, Text, Value
import phases
from results import DROP_IN, NATIVE, ROWS, where
import stats

OPEN = "open"
WORDS = (stats.AHEAD, stats.TIE, stats.BEHIND, OPEN)
PROMISES = ("drop-in / glibc", "native / best peer")


def mark_of(found):
    """For a table: the mark of a comparison."""
    return found["verdict"] if found else ""


def ratio_text(found, name=False):
    """A ratio with its interval, and to whom."""
    if not found:
        return "-"
    text = f"{found['ratio']:.2f}"
    if found["interval"]:
        text += " ({:.2f} to {:.2f})".format(*found["interval"])
    return text + (f" {found['to']}" if name else "")


def ratio_value(found):
    """The same with its mark."""
    return Value(ratio_text(found), mark_of(found))


def word_of(found):
    """Of a promised comparison: one of WORDS."""
    return OPEN if not found or found["open"] else found["verdict"]


def verdict_value(found):
    """The word, and of how many pairs where that is not the usual number."""
    word, mark = word_of(found), mark_of(found)
    if word == OPEN and mark != stats.TIE:
        mark = stats.UNKNOWN
    if found and (found["open"] or found["settled"]):
        word += f" ({found['pairs']} pair{'s' * (found['pairs'] > 1)})"
    return Value(word, mark)


def near_text(found):
    """Other peers than the best; "!" where native is behind of them."""
    return ", ".join(ratio_text(one, name=True)
                     + " !" * (one["verdict"] == stats.BEHIND)
                     for one in found)


def promised(cells):
    """(cell, drop-in over glibc, native over the best, over others)"""
    for native in cells.all:
        row = ROWS.get(native["row"])
        if native["contender"] == NATIVE and row and row.promised:
            drop_in = cells.find(native, DROP_IN)
            yield (native, drop_in and cells.to_opponent(drop_in),
                   cells.to_opponent(native), cells.to_near(native))


def _counted_phases(cells, place):
    """How many phases of the load that changes, of each word."""
    mine = [phases.in_place(cells, each) for each in cells.places()
            if each["place"] == place]
    words = [phases.adapted(one, kind)["verdict"] for one in mine
             for kind in phases.names(one)]
    if words:
        yield [f"native / {phases.ADAPTED:.2f} of the better fixed policy,"
               f" {place}", *(str(words.count(word)) for word in
                              (*WORDS[:-1], stats.UNKNOWN))]


def _counted(lines, cells):
    """How many cells of each word; guests and host by themselves."""
    rows = []
    for place in dict.fromkeys(line[0]["place"] for line in lines):
        mine = [line for line in lines if line[0]["place"] == place]
        for number, what in enumerate(PROMISES):
            words = [word_of(line[1 + number]) for line in mine]
            rows.append([f"{what}, {place}",
                         *(str(words.count(word)) for word in WORDS)])
        rows += _counted_phases(cells, place)
    return Table(["cells", *WORDS], rows)


def _behind_near(lines):
    """Where another peer turned out to be better than the one chosen."""
    lost = [line for line in lines if word_of(line[2]) != stats.BEHIND
            and any(one["verdict"] == stats.BEHIND for one in line[3])]
    if lost:
        yield Text(f"In {len(lost)} more native is behind another peer that"
                   " was nearly as good as the best: \"!\" in the last"
                   " column.")


def verdicts(cells):
    """A line for each promised cell, and how many of each."""
    lines = list(promised(cells))
    yield Heading(2, "Never behind")
    yield Text("The drop-in against glibc, and native against the best peer"
               " whose threads are the kernel's. \"open\": 1 lies in the"
               " interval, or there are too few pairs. Another verdict with"
               " a number of pairs is of a cell that was open and has been"
               " measured again, once; then a tie is a tie. The last column"
               " has other peers that took part in that.")
    yield Figure("overview", "Time over the other's: left of 1 is ahead")
    near = any(line[3] for line in lines)
    yield Table(
        ["row", "where", PROMISES[0], "", PROMISES[1], "",
         *(["native / others"] if near else [])],
        [[cell["row"], where(cell), ratio_text(first), verdict_value(first),
          ratio_text(second, name=True), verdict_value(second),
          *([near_text(others)] if near else [])]
         for cell, first, second, others in lines])
    yield _counted(lines, cells)
    yield from _behind_near(lines)
