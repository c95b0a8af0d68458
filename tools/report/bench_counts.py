# SPDX-License-Identifier: MIT
"""Exact counts of `make bench`, in a guest whose clock counts instructions.

The difference between a run and one of twice the length leaves out how threads
begin and end.  See counts, which holds the library to its promise.
"""

import plan
from places import Failed, Guest, read_result

LIMIT = 600
SYSTEM_CALLS = "raw_syscalls:sys_enter"


class Counter:
    """Counts in one guest."""

    def __init__(self, guest, variant):
        self._guest = guest
        self._variant = variant
        self._traced = True     # until the kernel says that it is not

    def _run(self, contender, command, more=""):
        words = command.split()
        text = contender.command(words, plan.GUEST_ROOT) + more
        status, output = self._guest.run(text, timeout=LIMIT)
        return text, read_result(output.decode(errors="replace"), status)

    def count(self, contender, row, step):
        """One row of one contender."""
        pair = [self._run(contender, row.format(times * step))
                for times in (1, 2)]
        less, more = [result for _, result in pair]
        operations = more["operations"] - less["operations"]

        def each(value):
            return round((value(more) - value(less)) / operations, 4)

        return {
            "row": row.format(f"{step} to {2 * step}"),
            "contender": contender.name,
            "variant": self._variant,
            # Guest time is instructions: 1 ns each (shift=0).
            "instructions": each(lambda one: one["seconds"] * 1e9),
            "switches": each(lambda one: one["voluntary_switches"]
                             + one["involuntary_switches"]),
            "system_calls": self._system_calls(contender, row, step,
                                               operations),
            "commands": [text for text, _ in pair],
        }

    def _system_calls(self, contender, row, step, operations):
        """Of runs of their own: counting them costs instructions."""
        counts = []
        for times in (1, 2):
            if not self._traced:
                return None
            _, result = self._run(contender, row.format(times * step),
                                  " --perf")
            counts.append(result["perf"].get(SYSTEM_CALLS))
            self._traced = counts[-1] is not None
        if None in counts:
            return None
        return round((counts[1] - counts[0]) / operations, 4)


def count_all(contenders, rows, variant, clock, build, mem):
    """(counts, what could not be counted and why)."""
    found, missing = [], []
    clock.note(f"counts: booting {variant} (-icount)", always=True)
    with Guest(variant=variant, cpus=1, mem=mem, accel="icount",
               build=build) as guest:
        counter = Counter(guest, variant)
        for row, step in rows:
            for contender in contenders:
                name = row.format(f"{step} to {2 * step}")
                if clock.is_over():
                    missing.append({"contender": contender.name, "reason":
                                    f"counts of {name}: no time left"})
                    continue
                clock.note(f"counts: {contender.name}: {name}")
                try:
                    found.append(counter.count(contender, row, step))
                except Failed as error:
                    missing.append({"contender": contender.name,
                                    "reason": f"{name}: {error}"})
    return found, missing
