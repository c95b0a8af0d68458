#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The table as text, from the same data that the JSON file has."""

import figures
import plan

LABEL = 20
CELL = 24
GAP = 2


def limit_text(seconds):
    """120 as 2m, 90 as 90s."""
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"


def number(value, digits):
    """As many decimals as fit into so many digits, three at most."""
    whole = len(str(int(value)))
    return f"{value:.{max(0, min(3, digits - whole))}f}"


def cell_text(cell, cells, limit):
    """Seconds, spread, ratio with its mark, switches: or why not."""
    mark = "!" if figures.is_behind(cell, cells) else " "
    if cell["state"] == plan.INCOMPLETE:
        return f"{'incomplete ' + limit_text(limit) + '+':<19}{mark}"
    if cell["state"] == plan.FAILED:
        return "failed"
    if not cell["runs"]:
        return "not measured"
    own = figures.summary(cell)
    ratio = figures.ratio(cell, cells)
    spread = f"±{own['spread'] * 100:.0f}%"
    over = "-" if ratio is None else number(ratio, 3)
    return (f"{number(own['seconds'], 5):>7} {spread:>5} {over:>5}{mark}"
            f" {number(own['switches'], 3):>4}")


def _rows(place, cells):
    """(row, operation) in the order of the table, if the place has them."""
    present = {cell["row"] for cell in cells if cell["place"] == place}
    return [row for row in plan.ROWS if row.command in present]


def _line(label, texts):
    return (f"{label:<{LABEL}}" + (" " * GAP).join(
        f"{text:<{CELL}}" for text in texts)).rstrip()


def _heading(counts):
    names = [f"{n} CPU{'s' * (n > 1)}" for n in counts]
    titles = f"{'seconds':>7} {'±':>5} {'ratio':>5}  {'sw':>4}"
    return [_line("", names), _line("", [titles for _ in counts])]


def _contenders(place):
    """The peer last but one, in the order of the source document's table."""
    order = {"host": plan.HOST, "guest": plan.GUEST}[place]
    return [order[1].name, order[0].name, *(each.name for each in order[2:])]


def place_lines(place, cells, limit):
    """All rows measured in one place."""
    mine = {(cell["row"], cell["contender"], cell["cpus"]): cell
            for cell in cells if cell["place"] == place}
    counts = sorted({cpus for _, _, cpus in mine})
    lines = _heading(counts)
    for row in _rows(place, cells):
        lines += ["", f"{row.command}  (sw: for each {row.operation})"]
        for name in _contenders(place):
            found = [mine.get((row.command, name, n)) for n in counts]
            if any(found):
                lines.append(_line("  " + name, [
                    cell_text(cell, cells, limit) if cell else ""
                    for cell in found]))
    return lines


def machine_lines(result):
    """The host, the guests and the versions."""
    host, guest = result["host"], result["guest"]
    kernels = result["versions"]["kernels"]
    lines = [
        f"Date:     {result['started']}, {result['state']}",
        f"Host:     {host['cpus']} CPUs, {host['cpu_model']},"
        f" {host['memory_mb']} MB, {host['system']}, {host['kernel']},"
        f" load {host['load']} before",
        "Versions: " + ", ".join(
            sorted(result["versions"]["libraries"].values())),
    ]
    if guest:
        lines.append(
            f"Guests:   {' '.join(map(str, guest['cpus']))} CPUs,"
            f" {guest['mem_mb']} MB, QEMU {guest['qemu']},"
            f" accelerator {guest['accel'] or 'not chosen'}")
        lines += [f"          {name}: {release}"
                  for name, release in sorted(kernels.items())
                  if name != "host"]
    return lines


def legend_lines(result):
    """What the columns mean."""
    runs, limit = (result["settings"][key] for key in ("runs", "limit"))
    upto = "" if result["state"] == "complete" else "at most "
    return [
        f"seconds: median of {upto}{runs} interleaved runs; ±: half the span"
        " from the fastest to the",
        "slowest; ratio: to glibc in the same place, ! marks whoever is"
        " slower; sw: context switches;",
        f"incomplete {limit_text(limit)}+: a run was ended after {limit} s.",
    ]


def behind_lines(cells):
    """How many cells were lost, and every failure in full."""
    compared = [cell for cell in cells
                if cell["contender"] not in plan.PEERS.values()
                and cell["state"] in (plan.COMPLETE, plan.INCOMPLETE)]
    behind = [cell for cell in compared if figures.is_behind(cell, cells)]
    lines = [f"Slower than glibc in {len(behind)} of {len(compared)} cells."]
    for cell in cells:
        if cell["state"] == plan.FAILED:
            lines.append(f"FAILED: {cell['place']}, {cell['cpus']} CPUs,"
                         f" {cell['contender']}, {cell['row']}:"
                         f" {cell['reason']}")
    return lines


def text(result):
    """The whole table."""
    cells = result["cells"]
    limit = result["settings"]["limit"]
    lines = [*machine_lines(result), "", *legend_lines(result)]
    for place, title in (("host", "On the host's own kernel"),
                         ("guest", "In guests")):
        if any(cell["place"] == place for cell in cells):
            lines += ["", f"== {title} ==", "",
                      *place_lines(place, cells, limit)]
    lines += ["", *behind_lines(cells)]
    return "\n".join(lines) + "\n"


def commands(result):
    """A file of shell commands, one for each cell."""
    lines = ["# From the top folder; `make` and `make kernel` come first."]
    guest = result["guest"]
    for cell in result["cells"]:
        command = cell["command"]
        if cell["place"] == "guest":
            command = (f"tools/vm/vm --variant={cell['variant']}"
                       f" --cpus={cell['cpus']} --mem={guest['mem_mb']}"
                       f" --accel={guest['accel'] or 'auto'}"
                       f" -- '{command}'")
        lines.append(command)
    return "\n".join(lines) + "\n"
