# SPDX-License-Identifier: MIT
"""The plots of a report.  The only file that needs matplotlib."""

import io
import os

import matplotlib

matplotlib.use("Agg")

# pylint: disable=wrong-import-position
from matplotlib import pyplot  # noqa: E402

import bench_plan  # noqa: E402
import program_sections  # noqa: E402
import plan  # noqa: E402
import results  # noqa: E402
import stats  # noqa: E402
import store  # noqa: E402

LICENCE = "SPDX-License-Identifier: MIT"

#: Ours stand out; colours that colour-blind people can tell apart.
STYLES = {
    "glibc": ("#000000", "o", 2.0), "drop-in": ("#d55e00", "s", 2.4),
    "native": ("#0072b2", "D", 2.4), "cxx": ("#777777", "v", 1.0),
    "musl": ("#009e73", "^", 1.0), "nsync": ("#cc79a7", "<", 1.0),
    "abseil": ("#e69f00", ">", 1.0), "rust-std": ("#8b5a2b", "P", 1.0),
    "parking_lot": ("#56b4e9", "X", 1.0), "go": ("#bbbbbb", "*", 1.0),
}
VERDICT_COLOURS = {stats.AHEAD: "#0a7d33", stats.TIE: "#b08900",
                   stats.BEHIND: "#c1121f", stats.UNKNOWN: "#777777"}

matplotlib.rcParams.update({
    "svg.hashsalt": "drover", "svg.fonttype": "path", "font.size": 9,
    "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
    "axes.spines.right": False, "figure.constrained_layout.use": True})


def _line(axis, name, points, **more):
    """One contender's line; points: (x, y)."""
    colour, marker, width = STYLES[name]
    if points:
        axis.plot(*zip(*sorted(points)), color=colour, marker=marker,
                  linewidth=width, markersize=4, label=name, **more)


def _legend(figure, axes):
    """One for all axes, below them."""
    found = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            found.setdefault(label, handle)
    if found:
        figure.legend(found.values(), found.keys(), loc="upper center",
                      bbox_to_anchor=(0.5, 0), ncol=5, frameon=False)


def _small_multiples(titles, height=3.2):
    """A figure with one axis for each title, three in a row."""
    columns = min(3, max(1, len(titles)))
    rows = max(1, -(-len(titles) // columns))
    figure, axes = pyplot.subplots(rows, columns, squeeze=False,
                                   figsize=(3.6 * columns + 0.4,
                                            height * rows + 0.6))
    flat = list(axes.flat)
    for axis, title in zip(flat, titles):
        axis.set_title(title, fontsize=9)
    for axis in flat[len(titles):]:
        axis.set_visible(False)
    return figure, flat[:len(titles)]


def _limits(ratios):
    """Around all ratios; an interval may reach beyond."""
    return (min([0.5, *ratios]) / 1.2, max([2, *ratios]) * 1.2)


def _ratio(axis, y, found):
    """A ratio and its interval, in the colour of its verdict."""
    colour = VERDICT_COLOURS[found["verdict"]]
    if found["interval"]:
        axis.plot(found["interval"], (y, y), color=colour, linewidth=1.2)
    axis.plot(found["ratio"], y, color=colour, marker="o", markersize=4)


def overview(_result, cells):
    """Every promised cell: the ratio and its interval."""
    lines = []
    for cell in cells.all:
        row = results.ROWS.get(cell["row"])
        if not row or not row.promised:
            continue
        if cell["contender"] in (results.DROP_IN, results.NATIVE):
            lines.append((int(cell["contender"] == results.NATIVE), cell,
                          cells.to_opponent(cell)))
    lines = [line for line in lines if line[2]]
    if not lines:
        return pyplot.figure()
    names = list(dict.fromkeys(
        f"{cell['row']}  ({results.where(cell)})" for _, cell, _ in lines))
    figure, axes = pyplot.subplots(1, 2, sharey=True,
                                   figsize=(11, 1.5 + 0.17 * len(names)))
    for axis, title in zip(axes, ("drop-in / glibc", "native / best peer")):
        axis.set_title(title, fontsize=10)
        axis.axvline(1, color="#000000", linewidth=0.8)
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlim(*_limits([found["ratio"] for where, _, found in lines
                                if axes[where] is axis]))
    for side, cell, found in lines:
        _ratio(axes[side],
               names.index(f"{cell['row']}  ({results.where(cell)})"), found)
    axes[0].set_yticks(range(len(names)), names, fontsize=6)
    return figure


def _against(cells, rows, x_of, label, scale="log"):
    """Time of an operation against something, one axis for each host place."""
    chosen = [cell for cell in cells.all if cell["row"] in rows
              and cell["place"] == "host"]
    places = [place for place in cells.places()
              if any(results.where(cell) == results.where(place)
                     for cell in chosen)]
    figure, axes = _small_multiples([results.where(one) for one in places],
                                    3.8)
    for axis, place in zip(axes, places):
        here = [cell for cell in chosen
                if results.where(cell) == results.where(place)]
        for name in cells.contenders(here):
            if name in STYLES:
                _line(axis, name, [(x_of(cell["row"]),
                                    stats.figures(cell)["ns"] / 1e3)
                                   for cell in here
                                   if cell["contender"] == name])
        axis.set_xscale(scale, **({"linthresh": 100} if scale == "symlog"
                                  else {}))
        axis.set_yscale("log")
        axis.set_xlabel(label)
        axis.set_ylabel("us for each")
    _legend(figure, axes)
    return figure


def _option(command, letter):
    words = command.split()
    return int(words[words.index(letter) + 1])


def _rows(group, test=lambda command: True):
    return {row.command for row in bench_plan.ROWS
            if row.group == group and test(row.command)}


def waiters(_result, cells):
    rows = _rows("broadcast", lambda one: " -c 0 -k" in one)
    return _against(cells, rows, lambda one: _option(one, "-n"), "waiters")


def section(_result, cells):
    rows = _rows("broadcast", lambda one: " -n 100 " in one
                 and one.endswith(" -k"))
    return _against(cells, rows, lambda one: _option(one, "-c"),
                    "critical section, ns", "symlog")


def turns(_result, cells):
    rows = _rows("turn-ring", lambda one: not one.endswith("-b"))
    return _against(cells, rows, lambda one: _option(one, "-n"), "threads")


def queue(_result, cells):
    return _against(cells, _rows("queue"),
                    lambda one: 2 * _option(one, "-p"), "threads")


def cpus(_result, cells):
    """Rows that guests run, against CPUs, on host and guests."""
    rows = [row.command for row in bench_plan.ROWS if row.guest and any(
        cell["row"] == row.command for cell in cells.all)]
    kinds = list(dict.fromkeys(cell["variant"] for cell in cells.all))
    pairs = [(row, kind) for kind in kinds for row in rows]
    figure, axes = _small_multiples(
        [f"{row}\n{kind or 'host'}" for row, kind in pairs], 2.4)
    for axis, (row, kind) in zip(axes, pairs):
        here = [cell for cell in cells.all
                if (cell["row"], cell["variant"]) == (row, kind)]
        for name in cells.contenders(here):
            if name in STYLES:
                _line(axis, name, [(cell["cpus"],
                                    stats.figures(cell)["ns"] / 1e3)
                                   for cell in here
                                   if cell["contender"] == name])
        axis.set_xticks(sorted({cell["cpus"] for cell in here}))
        axis.set_yscale("log")
        axis.set_ylabel("us for each")
    _legend(figure, axes)
    return figure


def switches(_result, cells):
    """Bars: context switches for each waiter and round, in cond-perf."""
    chosen = [cell for cell in cells.all if cell["row"] in _rows("cond-perf")
              and cell["place"] == "host" and cell["contender"] in STYLES]
    names = cells.contenders(chosen)
    blocks = list(dict.fromkeys((cell["row"], results.where(cell))
                                for cell in chosen))
    figure, axes = _small_multiples([f"{row}\n{place}" for row, place
                                     in blocks], 2.6)
    for axis, block in zip(axes, blocks):
        for cell in chosen:
            if (cell["row"], results.where(cell)) == block:
                name = cell["contender"]
                axis.barh(names.index(name),
                          stats.figures(cell)["switches"],
                          color=STYLES[name][0])
        axis.axvline(1, color="#000000", linewidth=0.8)
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
    return figure


def latency(result, _cells):
    """The share of operations that take longer, against the time."""
    rows = list(dict.fromkeys(one["row"] for one in result["latencies"]))
    figure, axes = _small_multiples(rows, 3.4)
    for axis, row in zip(axes, rows):
        for one in result["latencies"]:
            if one["row"] != row or one["contender"] not in STYLES:
                continue
            colour, _, width = STYLES[one["contender"]]
            found, above = one["latency_ns"], one["latency_ns"]["nr"]
            x, y = [], []
            for top, count in found["buckets"]:
                x.append(max(top, 1) / 1e3)
                y.append(above / found["nr"])
                above -= count
            axis.step(x, y, where="post", color=colour, linewidth=width,
                      label=one["contender"])
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("us")
        axis.set_ylabel("share that takes longer")
    _legend(figure, axes)
    return figure


def programs(result, _cells):
    """Real programs: time and CPU time, one axis for each and CPUs."""
    found = result["programs"]
    lines = list(program_sections.pairs(found))
    names = list(dict.fromkeys(name for _, name, *_ in lines))
    counts = program_sections.cpu_counts(found)
    figure, axes = pyplot.subplots(1, 2 * len(counts), sharey=True,
                                   squeeze=False,
                                   figsize=(11, 1.5 + 0.2 * len(names)))
    for number, axis in enumerate(axes.flat):
        cpus, key = counts[number // 2], ("seconds", "cpu_seconds")[number % 2]
        axis.set_title(("time", "CPU time")[number % 2]
                       + f", {plan.cpus_text(cpus)}", fontsize=10)
        axis.axvline(1, color="#000000", linewidth=0.8)
        axis.set_ylim(len(names) - 0.5, -0.5)
        for each, name, _, _, one in lines:
            if each == cpus:
                _ratio(axis, names.index(name), one[key])
    axes[0][0].set_yticks(range(len(names)), names, fontsize=8)
    return figure


PLOTS = {"overview": overview, "programs": programs, "waiters": waiters, "section": section,
         "turns": turns, "queue": queue, "cpus": cpus, "switches": switches,
         "latency": latency}


def _svg(figure):
    """As text with a licence, without blanks at the ends of lines."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight",
                   metadata={"Date": None})
    first, *rest = out.getvalue().splitlines()
    lines = [first, f"<!-- {LICENCE} -->", *rest]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def draw(name, result, cells, folder):
    """Leave folder/name.svg and folder/name.png; False: nothing to show."""
    figure = PLOTS[name](result, cells)
    if not any(axis.has_data() for axis in figure.axes):
        pyplot.close(figure)
        return False
    store.write(os.path.join(folder, f"{name}.svg"), _svg(figure))
    figure.savefig(os.path.join(folder, f"{name}.png"), dpi=110,
                   bbox_inches="tight",
                   metadata={"Software": None, "Copyright": LICENCE})
    pyplot.close(figure)
    return True
