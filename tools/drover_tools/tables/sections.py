# SPDX-License-Identifier: MIT
"""Blocks that the reports of several suites have."""

from drover_tools.runs import plan, process
from drover_tools.tables import stats
from drover_tools.tables.document import Heading, Table, Text, Value
from drover_tools.tables.results import where

OPEN = "open"
WORDS = (stats.AHEAD, stats.TIE, stats.BEHIND, OPEN)


def digits(value):
    """A number with three significant digits."""
    if value >= 100 or value == 0:
        return f"{value:.0f}"
    return f"{value:.{2 if value < 10 else 1}f}"


def duration(ns):
    """Nanoseconds in a suitable unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{digits(ns / size)} {unit}"
    return f"{digits(ns)} ns"


def percent(spread):
    return f"±{spread * 100:.0f}%"


def machine(result):
    """Texts about the host, the guests and the versions."""
    host, guest = result["host"], result["guest"]
    kernels = result["versions"]["kernels"]
    libraries = dict.fromkeys(result["versions"]["libraries"].values())
    yield Text(f"Date: {result['started']} to {result['finished']},"
               f" {result['state']}.")
    yield Text(f"Host: {host['cpus']} CPUs, {host['cpu_model']},"
               f" {host['memory_mb']} MB, {host['system']},"
               f" {host['kernel']}, {host['libc']}, load {host['load']}"
               " before.")
    if libraries:
        yield Text("Versions: " + ", ".join(sorted(libraries)) + ".")
    if guest:
        yield Text(f"Guests: {guest['mem_mb']} MB, QEMU {guest['qemu']},"
                   f" accelerator {guest['accel']}; " + ", ".join(
                       f"{name}: {kernel}" for name, kernel
                       in sorted(kernels.items()) if name != "host") + ".")


def regime(result):
    """A text about the cost of waking a thread on this machine."""
    lines = []
    for when, found in result.get("regime", {}).items():
        if found["between"] is not None:
            word = process.dear_or_cheap(found["between"])
            lines.append(f"{when}, {found['same'] / 1e3:.1f} us on the same"
                         f" CPU and {found['between'] / 1e3:.1f} us on"
                         " another" + (f", which is {word}" if word else ""))
    return Text("Waking a thread took " + "; ".join(lines) + "." if lines
                else "The time that waking a thread takes was not measured.")


def method():
    """A text about ratios and marks."""
    return Text("The contenders of a row run one after the other, in rounds."
                " In each round one contender's run is divided by the other's;"
                " a ratio is the median of all rounds, with its 95 % interval"
                " in brackets. \"!\": the whole interval is above 1. \"=\": 1"
                " lies in the interval. \"?\": there are too few rounds for an"
                " interval. ±: half the span from the fastest run to the"
                " slowest.")


def ratio_text(found, name=False):
    """A ratio with its interval; name: and the other contender's name."""
    if not found:
        return "-"
    text = f"{found['ratio']:.2f}"
    if found["interval"]:
        text += " ({:.2f} to {:.2f})".format(*found["interval"])
    return text + (f" {found['to']}" if name else "")


def ratio_value(found, most=1.0):
    """A ratio with its interval, and a mark that compares it with a limit."""
    bounds = found and found["interval"]
    return Value(ratio_text(found), "" if not found else stats.verdict(
        bounds and [bound / most for bound in bounds]))


def word_of(found):
    """One of WORDS for a promised comparison."""
    return OPEN if not found or found["open"] else found["verdict"]


def verdict_value(found):
    """The word, and the number of pairs if that is not the usual one."""
    word, mark = word_of(found), found["verdict"] if found else ""
    if word == OPEN and mark != stats.TIE:
        mark = stats.UNKNOWN
    if found and (found["open"] or found["settled"]):
        word += f" ({found['pairs']} pair{'s' * (found['pairs'] > 1)})"
    return Value(word, mark)


def _promised_rows(cells, names):
    """(a cell, comparisons in the order of names) of each promised one."""
    found = {}
    for cell in cells.promised():
        key = cell["row"], cell["place"], cell["cpus"]
        found.setdefault(key, (cell, {}))
        found[key][1][cell["contender"]] = cells.to_opponent(cell)
    return [(cell, [each.get(name) for name in names])
            for cell, each in found.values()]


def verdicts(cells):
    """A table of all promised cells, and a table that counts the words."""
    names = [name for name in cells.against
             if any(cell["contender"] == name for cell in cells.promised())]
    titles = [f"{name} / " + ("best peer" if cells.against[name] == "best"
                              else cells.against[name]) for name in names]
    lines = _promised_rows(cells, names)
    if not lines:
        return
    yield Table(
        ["row", "where", *(part for title in titles for part in (title, ""))],
        [[cell["row"], where(cell),
          *(value for one in found for value in (
              ratio_text(one, name=True), verdict_value(one)))]
         for cell, found in lines])
    counted = []
    for place in dict.fromkeys(cell["place"] for cell, _ in lines):
        for number, title in enumerate(titles):
            mine = [found[number] for cell, found in lines
                    if cell["place"] == place]
            words = [word_of(one) for one in mine]
            ratios = [one["ratio"] for one in mine if one]
            counted.append([f"{title}, {place}",
                            *(str(words.count(word)) for word in WORDS),
                            f"{stats.mean(ratios):.3f}" if ratios else "-"])
    yield Table(["cells", *WORDS, "geometric mean"], counted)


def group(cells, key, reference):
    """Tables of all contenders in the rows of a group: times, and resources.
    """
    mine = [cell for cell in cells.all
            if cells.rows[cell["row"]]["group"] == key]
    if not mine:
        return
    yield Heading(2, key)
    for place in cells.places(mine):
        here = [cell for cell in mine if where(cell) == where(place)]
        names = cells.contenders(here)
        rows, used = [], []
        for command in dict.fromkeys(cell["row"] for cell in here):
            each = {cell["contender"]: cell for cell in here
                    if cell["row"] == command}
            rows.append([command, *(_time(cells, each.get(name), reference)
                                    for name in names)])
            used.append([command, *(_used(each.get(name))
                                    for name in names)])
        yield Heading(3, f"{key}: {where(place)}")
        yield Text("The first table has the time of one operation, and ±. The"
                   " second has its CPU time, its context switches, and CPU"
                   " time divided by wall time.")
        yield Table(["", *names], rows)
        yield Table(["", *names], used)


def _time(cells, cell, reference):
    if not cell:
        return ""
    own = stats.figures(cell)
    found = (cells.to(cell, reference) if cell["contender"] in cells.against
             else None)
    return Value(f"{duration(own['value'])} {percent(own['spread'])}",
                 found["verdict"] if found else "")


def _used(cell):
    if not cell:
        return ""
    own = stats.figures(cell)
    return (f"{duration(own['cpu_ns'])}, {own['switches']:.2f},"
            f" {own['cpu_over_wall']:.2f}")


def implementations(cells, row, own, unit, columns=()):
    """A table of one row: each implementation, and the ratio of ours to it.

    columns: (title, member of a run, or a function of it)
    """
    mine = [cell for cell in cells.all if cell["row"] == row]
    ours = next((cell for cell in mine if cell["contender"] == own), None)
    lines = []
    for cell in mine:
        found = stats.figures(cell, cells.metric(cell))
        over = cells.compare(ours, cell) if ours not in (None, cell) else None
        lines.append([
            cell["contender"], f"{found['value']:,.1f}",
            percent(found["spread"]), ratio_value(over),
            f"{found['cpu_over_wall']:.2f}",
            *(f"{stats.median(cell, key):,.2f}" for _, key in columns)])
    return Table(["", unit, "±", f"{own}'s to it", "CPUs",
                  *(title for title, _ in columns)], lines)


def goal_value(ratio, bounds, most):
    """The word for a goal, with a mark if the goal is missed."""
    word = stats.judge(ratio, bounds, most)
    return Value(word, "behind" if word == stats.MISSED else "")


def goals(cells, own):
    """The goals of the rows for a contender of ours, and whether it met them.
    """
    for row, about in cells.rows.items():
        mine = {cell["contender"]: cell for cell in cells.all
                if cell["row"] == row}
        ours = mine.pop(own, None)
        for metric, peer, most in about["goals"] if ours else ():
            title = f"{about['group']}, {about['title']}: {metric}"
            if peer is None:
                value = stats.median(ours, metric)
                yield [title, f"{value:.2g} of at most {most:.2g}",
                       goal_value(value, None, most)]
                continue
            if peer == "best":
                peer = cells.opponent(ours)["contender"]
            found = peer in mine and stats.compare(
                ours["runs"], mine[peer]["runs"], metric)
            if found:
                yield [f"{title} of {peer}", ratio_text(found)
                       + f" of at most {most:.2f}",
                       goal_value(found["ratio"], found["interval"], most)]


def not_measured(result):
    """A table of what was not measured, with reasons."""
    lines = [[one["contender"], one["reason"]]
             for one in result["not_measured"]]
    lines += [[cell["contender"], f"{where(cell)}, {cell['row']}:"
               f" {cell['reason'] or 'no time left'}"]
              for cell in result["cells"] if cell["state"] != plan.COMPLETE]
    if lines:
        yield Heading(2, "Not measured")
        yield Table(["contender", "reason"], lines)
