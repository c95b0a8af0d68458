# SPDX-License-Identifier: MIT
"""The sections of a report, from what `make bench` has left."""

import statistics

import bench_plan
import phases
import plan
import stats
from document import Commands, Figure, Heading, Table, Text, Value
from promises import mark_of, ratio_value, verdicts
from results import GLIBC, ROWS, Cells, where

#: Those of the source document's table.
SOURCE_ROWS = ("cond-perf -r 100 -n 200", "cond-perf -r 1000 -n 100",
               "pp -n 128 -i 1000 -S 32768", "pp -n 1024 -i 10 -S 32768")


def digits(value):
    """Three digits that say something."""
    if value >= 100 or value == 0:
        return f"{value:.0f}"
    return f"{value:.{2 if value < 10 else 1}f}"


def duration(ns):
    """Nanoseconds in the unit that fits."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{digits(ns / size)} {unit}"
    return f"{digits(ns)} ns"


def machine(result):
    """Host, guests and versions."""
    host, guest = result["host"], result["guest"]
    yield Text(f"{result['started']} to {result['finished']},"
               f" {result['state']}. Host: {host['cpus']} CPUs,"
               f" {host['cpu_model']}, {host['memory_mb']} MB,"
               f" {host['system']}, {host['kernel']}, load"
               f" {host['load']} before.")
    for each in result.get("settled", {}).get("sessions", ()):
        yield Text(f"{result['settled']['rounds']} rounds of what was open:"
                   f" {each['started']} to {each['finished']}, load"
                   f" {each['load']} before.")
    kernels = result["versions"]["kernels"]
    if guest:
        yield Text("Guests: " + ", ".join(map(str, guest["cpus"]))
                   + f" CPUs, {guest['mem_mb']} MB, QEMU {guest['qemu']},"
                   f" accelerator {guest['accel']}; " + ", ".join(
                       f"{name}: {kernel}" for name, kernel
                       in sorted(kernels.items()) if name != "host") + ".")
    yield Text("Versions: " + ", ".join(
        f"{name} {version}" for name, version
        in result["versions"]["libraries"].items()) + ".")
    yield Text("Contenders of a row are run one after the other, in rounds."
               " A ratio is the median over the rounds of one run over the"
               " other of the same round; in brackets its 95 % interval. \"!\":"
               " the whole interval is above 1, the cell is lost. \"=\": 1 lies"
               " in the interval. \"?\": too few rounds to say. ±:"
               " half the span from the fastest to the slowest run. Where a"
               " comparison was measured again, ratio and mark are of those"
               " rounds; times are of the first ones.")


def source_table(cells):
    """The rows of the commit that brought FUTEX_REQUEUE."""
    chosen = [cell for cell in cells.all if cell["row"] in SOURCE_ROWS]
    if not chosen:
        return
    yield Heading(2, "The source document's table")
    yield Text("Seconds, ± and the ratio to glibc in the same place.")
    places = [place for place in cells.places()
              if any(where(cell) == where(place) for cell in chosen)]
    rows = []
    for command in SOURCE_ROWS:
        mine = [cell for cell in chosen if cell["row"] == command]
        for name in cells.contenders(mine):
            line = [f"{command}: {name}"]
            for place in places:
                found = [cell for cell in mine if cell["contender"] == name
                         and where(cell) == where(place)]
                line.append(_seconds(cells, found[0]) if found else "")
            rows.append(line)
    yield Table(["", *map(where, places)], rows)
    yield cells.commands(chosen)


def _seconds(cells, cell):
    own, found = stats.figures(cell), cells.to_glibc(cell)
    return Value(f"{own['seconds']:.3f} ±{own['spread'] * 100:.0f}%"
                 + (f" {found['ratio']:.2f}" if found else ""),
                 mark_of(found) if cell["contender"] != GLIBC else "")


#: Groups of rows, their titles, and the figures that show them.
GROUPS = (
    ("cond-perf", "cond-perf", ("switches",)),
    ("pp", "pp", ()),
    ("broadcast", "broadcast", ("waiters", "section")),
    ("turn-ring", "turn-ring", ("turns",)),
    ("queue", "queue", ("queue",)),
    ("latch", "latch", ()),
    ("nobody", "Nobody waits", ()),
    ("timedwait", "timedwait", ()),
    ("mixed", "A load that changes", ()),
)
TITLES = {
    "switches": "Context switches for each waiter and round",
    "waiters": "Time for each waiter, against waiters: broadcast -c 0 -k",
    "section": "Time for each waiter, against the critical section:"
               " broadcast -n 100 -k",
    "turns": "Time for each turn, against threads: turn-ring",
    "queue": "Time for each item, against threads: queue",
    "cpus": "Time of an operation, against CPUs",
    "latency": "How long single operations take",
}


def group(cells, key, title, figures):
    """All contenders in all rows of one group: times, then what they used."""
    mine = [cell for cell in cells.all
            if ROWS.get(cell["row"]) and ROWS[cell["row"]].group == key]
    if not mine:
        return
    yield Heading(2, title)
    yield from (Figure(name, TITLES[name]) for name in figures)
    for place in cells.places():
        here = [cell for cell in mine if where(cell) == where(place)]
        if not here:
            continue
        names = cells.contenders(here)
        yield Heading(3, f"{title}: {where(place)}")
        yield Text("Time of one operation and ±; below, CPU time of one,"
                   " context switches for each, CPU time over wall time.")
        rows, used = [], []
        for command in dict.fromkeys(cell["row"] for cell in here):
            line, more = [command], [command]
            for name in names:
                found = [cell for cell in here if cell["row"] == command
                         and cell["contender"] == name]
                line.append(_time(cells, found[0]) if found else "")
                more.append(_used(found[0]) if found else "")
            rows.append(line)
            used.append(more)
        yield Table(["", *names], rows)
        yield Table(["", *names], used)
        yield cells.commands(here)


def _time(cells, cell):
    own, found = stats.figures(cell), cells.to_glibc(cell)
    mine = cell["contender"] in bench_plan.OWN
    return Value(f"{duration(own['ns'])} ±{own['spread'] * 100:.0f}%",
                 mark_of(found) if mine else "")


def _used(cell):
    own = stats.figures(cell)
    return (f"{duration(own['cpu_ns'])}, {own['switches']:.2f},"
            f" {own['cpu_over_wall']:.2f}")


def kinds(cells):
    """The phases of the load that changes, against fixed policies."""
    for place in cells.places():
        mine = phases.in_place(cells, place)
        if not mine:
            continue
        names = phases.names(mine)
        yield Heading(3, f"Its phases: {where(place)}")
        yield Text(f"Time of one operation. Up to {phases.ADAPTED:.2f} of the"
                   " better fixed policy in each phase is promised; \"!\":"
                   " more.")
        rows = [[name] + [duration(statistics.median(times))
                          for times in (phases.times(cell, kind)
                                        for kind in names)]
                for name, cell in mine.items()]
        rows.append(["native / the better fixed policy of each"]
                    + [ratio_value(phases.adapted(mine, kind))
                       for kind in names])
        yield Table(["", *names], rows)


def exact_counts(result):
    """Instructions, switches and system calls of one operation."""
    if not result["counts"]:
        return
    yield Heading(2, "Counted exactly")
    yield Text("For each operation in the steady state, in a guest with one"
               " CPU whose clock counts instructions, of program and kernel"
               " together. \"!\": more than glibc's, by half a percent or"
               " more.")
    glibc = {(one["variant"], one["row"]): one for one in result["counts"]
             if one["contender"] == GLIBC}
    rows = []
    for one in result["counts"]:
        other = glibc.get((one["variant"], one["row"]), one)

        def value(key, form, one=one, other=other):
            mine, theirs = one[key], other[key]
            if mine is None:
                return Value("not counted")
            more = theirs is not None and mine > theirs * 1.005
            return Value(form.format(mine), "behind" if more else "")
        rows.append([f"{one['row']}: {one['contender']}", one["variant"],
                     value("instructions", "{:.0f}"),
                     value("switches", "{:.3f}"),
                     value("system_calls", "{:.3f}")])
    yield Table(["", "kernel", "instructions", "switches", "system calls"],
                rows)
    yield Commands([f"tools/vm/vm --variant={one['variant']} --cpus=1"
                    f" --accel=icount -- '{command}'"
                    for one in result["counts"] for command
                    in one["commands"]])


def latencies(result):
    """Distributions of single operations."""
    if not result["latencies"]:
        return
    yield Heading(2, "Latencies")
    yield Text("From the signal or broadcast until the thread that it is for"
               " holds the mutex; in a queue, from putting an item in to"
               " taking it out. One run each.")
    yield Figure("latency", TITLES["latency"])
    yield Table(
        ["", "50 %", "90 %", "99 %", "99.9 %", "all"],
        [[f"{one['row']}: {one['contender']}"]
         + [duration(one["latency_ns"][key])
            for key in ("p50", "p90", "p99", "p999", "max")]
         for one in result["latencies"]])
    yield Commands([one["command"] for one in result["latencies"]])


def not_measured(result):
    """What is missing, and why."""
    lines = [[one["contender"], one["reason"]]
             for one in result["not_measured"]]
    for cell in result["cells"]:
        if cell["state"] != plan.COMPLETE:
            reason = cell["reason"] or "no time left"
            lines.append([cell["contender"],
                          f"{where(cell)}, {cell['row']}: {reason}"])
    for cell in result.get("settled", {}).get("cells", ()):
        if cell["state"] not in (plan.COMPLETE, plan.PENDING):
            lines.append([cell["contender"], f"{where(cell)}, {cell['row']},"
                          f" after {len(cell['runs'])} rounds of what was"
                          f" open: {cell['reason']}"])
    yield Heading(2, "Not measured")
    if lines:
        yield Table(["contender", "why"], lines)
    else:
        yield Text("Nothing was left out.")


def report(result):
    """All blocks of a report."""
    cells = Cells(result)
    yield Heading(1, "Drover against its peers")
    yield from machine(result)
    yield from verdicts(cells)
    yield from source_table(cells)
    yield Heading(2, "Against CPUs")
    yield Figure("cpus", TITLES["cpus"])
    for each in GROUPS:
        yield from group(cells, *each)
    yield from kinds(cells)
    yield from exact_counts(result)
    yield from latencies(result)
    yield from not_measured(result)
