# SPDX-License-Identifier: MIT
"""Cells for this machine and for guests."""

import json
import os
import subprocess

from drover_tools.runs.plan import GUEST_ROOT, Cell, first_cpus
from drover_tools.tree import TOP


def work_cost(build):
    """The time of a round of work on this machine, in picoseconds."""
    program = os.path.join(build, "bin", "drover-bench")
    words = ["broadcast", "-n", "1", "-r", "1", "-c", "1000", "--json"]
    done = subprocess.run([program, *words], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)["work_ps"]


def host_cells(rows, contenders, cpu_counts, build):
    """Cells for this machine's own kernel; all threads do the same work."""
    root = os.path.relpath(build, TOP)
    cost = [f"--cost={work_cost(build)}"] if any(
        row.works for row in rows) else []

    def command(row, contender):
        same = cost if row.works and not contender.own_work else []
        return contender.command(row, root, same)

    return [Cell("host", cpus, row, contender, "taskset -c "
                 f"{','.join(map(str, first_cpus(cpus)))} env "
                 + command(row, contender))
            for row in rows for cpus in cpu_counts
            for contender in contenders if contender.offers(row)]


def guest_cells(rows, contenders, cpus):
    """Cells for guests with that many CPUs."""
    return [Cell("guest", cpus, row, contender,
                 contender.command(row, GUEST_ROOT))
            for row in rows if row.guest for contender in contenders
            if contender.offers(row)]


def wanted_cells(options, rows, here, there):
    """Cells for contenders on this machine and in guests, as options say."""
    found = [] if options.guests_only else host_cells(
        rows, here, options.host_cpus, options.build)
    for cpus in [] if options.host_only else options.cpus:
        found += guest_cells(rows, there, cpus)
    return found
