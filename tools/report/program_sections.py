# SPDX-License-Identifier: MIT
"""What `make bench-programs` has found: a table, its means, and goals."""

import math
import statistics

import plan
import stats
from document import Figure, Heading, Table, Text, Value

STOCK, DROP_IN = "stock", "drop-in"
#: Of stock glibc's, at most: the geometric mean of time by number of CPUs, the
#: CPU time of each program, and that of one whose time is given.
MEAN_TIME = {1: 0.90}
MEAN_TIME_MORE = 0.95
CPU_TIME, PACED_CPU_TIME = 1.02, 1.20
#: Nanoseconds of a wake-up on another CPU from which it is dear.
DEAR = 10000


def compare(stock, drop_in):
    """{time, CPU time: as stats.compare() has it}, or None."""
    found = {key: stats.compare(drop_in, stock, key)
             for key in ("seconds", "cpu_seconds")}
    return found if all(found.values()) else None


def pairs(result):
    """(cpus, program, stock's cell, drop-in's, comparison) of what was run."""
    cells = {(cell["cpus"], cell["row"], cell["contender"]): cell
             for cell in result["cells"] if cell["runs"]}
    for (cpus, name, contender), cell in cells.items():
        other = cells.get((cpus, name, DROP_IN))
        if contender == STOCK and other:
            found = compare(cell, other)
            if found:
                yield cpus, name, cell, other, found


def _counted(result, cpus):
    """Those whose time is not given by something else."""
    return [found for each, name, _, _, found in pairs(result)
            if each == cpus and name not in result["settings"]["paced"]]


def mean(values):
    """Geometric."""
    return math.exp(statistics.fmean(map(math.log, values)))


def means(result, cpus):
    """(time, CPU time, programs): of all programs' ratios, or None."""
    found = _counted(result, cpus)
    if not found:
        return None
    return (*(mean([one[key]["ratio"] for one in found])
              for key in ("seconds", "cpu_seconds")), len(found))


def cpu_counts(result):
    return sorted({cell["cpus"] for cell in result["cells"]})


def _ratio(found, most=1.0):
    text = f"{found['ratio']:.2f}"
    bounds = found["interval"]
    if bounds:
        text += " ({:.2f} to {:.2f})".format(*bounds)
        bounds = [bound / most for bound in bounds]
    return Value(text, stats.verdict(bounds))


def _median(cell, *keys):
    return statistics.median(sum(run[key] for key in keys)
                             for run in cell["runs"])


def _switches(cell):
    return f"{_median(cell, 'voluntary_switches', 'involuntary_switches'):.0f}"


def table(result, cpus):
    """All programs on so many CPUs."""
    rows = []
    for each, name, stock, drop_in, found in pairs(result):
        if each != cpus:
            continue
        paced = name in result["settings"]["paced"]
        rows.append([
            name, f"{_median(stock, 'seconds'):.2f}",
            f"{_median(drop_in, 'seconds'):.2f}", _ratio(found["seconds"]),
            _ratio(found["cpu_seconds"],
                   PACED_CPU_TIME if paced else CPU_TIME),
            _switches(stock), _switches(drop_in)])
    found = means(result, cpus)
    if found:
        rows.append(["geometric mean", "", "", f"{found[0]:.3f}",
                     f"{found[1]:.3f}", "", ""])
    return Table(["program", "stock, s", "drop-in, s", "time", "CPU time",
                  "switches", "drop-in"], rows)


def regime(result):
    """What waking a thread cost on this machine, and what that makes it."""
    lines = []
    for when, found in result["regime"].items():
        if found["between"] is None:
            continue
        word = "dear" if found["between"] >= DEAR else "cheap"
        lines.append(f"{when}, {found['same'] / 1e3:.1f} us on the same CPU"
                     f" and {found['between'] / 1e3:.1f} us on another, which"
                     f" is {word}")
    return Text("Waking a thread took " + "; ".join(lines) + "."
                if lines else "What waking a thread takes was not measured.")


def goals(result):
    """What the project wants, and whether it is so."""
    lines = []
    for cpus in cpu_counts(result):
        found = means(result, cpus)
        if not found:
            continue
        most = MEAN_TIME.get(cpus, MEAN_TIME_MORE)
        lines.append([f"geometric mean of time, {plan.cpus_text(cpus)}",
                      f"{found[0]:.3f} of at most {most:.2f}",
                      stats.judge(found[0], None, most)])
    slower, dearer = [], []
    for cpus, name, _, _, found in pairs(result):
        paced = name in result["settings"]["paced"]
        where = f"{name} ({plan.cpus_text(cpus)})"
        if stats.verdict(found["seconds"]["interval"]) == stats.BEHIND:
            slower.append(where)
        if _ratio(found["cpu_seconds"], PACED_CPU_TIME if paced
                  else CPU_TIME).mark == stats.BEHIND:
            dearer.append(where)
    for text, names in (("no program slower", slower),
                        ("no program's CPU time above"
                         f" {CPU_TIME:.2f}", dearer)):
        lines.append([text, ", ".join(names) or "none is",
                      stats.MISSED if names else stats.MET])
    return Table(["goal", "found", ""], lines)


def blocks(result):
    """The section of a report."""
    yield Heading(2, "Real programs")
    yield Text("Unmodified programs with glibc's condition variables and with"
               " the drop-in, interleaved. A ratio is the median over the"
               " rounds of the drop-in's run over stock glibc's of the same"
               " round; in brackets its 95 % interval. \"!\": slower beyond"
               f" it, or more than {CPU_TIME:.2f} of the CPU time"
               f" ({PACED_CPU_TIME:.2f} where the time is given)."
               " \"=\": not beyond it. \"?\": too few rounds to say.")
    yield Text(f"{result['started']} to {result['finished']},"
               f" {result['state']}, load {result['host']['load']} before.")
    yield regime(result)
    yield Figure("programs", "Time and CPU time over stock glibc's: left of 1"
                 " is ahead")
    for cpus in cpu_counts(result):
        yield Heading(3, f"Real programs: {plan.cpus_text(cpus)}")
        yield table(result, cpus)
    yield goals(result)
    left = [[one["contender"], one["reason"]]
            for one in result["not_measured"]]
    left += [[f"{cell['row']}, {cell['contender']},"
              f" {plan.cpus_text(cell['cpus'])}", cell["reason"]]
             for cell in result["cells"]
             if cell["state"] not in (plan.COMPLETE, plan.PENDING)]
    if left:
        yield Table(["not measured", "why"], left)
