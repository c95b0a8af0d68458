# SPDX-License-Identifier: MIT
"""What is found, and what the patterns look at."""

import collections

STUCK, LIKELY, NOTE, WELL = "stuck", "likely", "note", "well"
ORDER = (STUCK, LIKELY, NOTE, WELL)


Finding = collections.namedtuple(
    "Finding", "name severity sentence lines help threads")


def label(thread):
    """A thread in a sentence."""
    inner = (f" ({thread.inner} in its container)"
             if thread.inner != thread.tid else "")
    return f'{thread.tid} "{thread.name}"{inner}'


def count(number, what):
    return f"{number} {what}{'s' * (number != 1)}"


def verb(number, plural):
    """waits, wait"""
    return plural + "s" * (number == 1)


class Case:
    """One snapshot as the patterns look at it."""

    def __init__(self, graph, objects, stuck, likely, inside, foreign,
                 may_time_out):
        self.graph, self.objects = graph, objects
        self.stuck, self.likely = set(stuck), set(likely)
        self.nobody_inside = inside
        self.foreign = foreign
        self.may_time_out = may_time_out
        self.claimed = set()        # threads that a finding speaks of

    def severity(self, threads):
        if all(thread in self.stuck for thread in threads):
            return STUCK
        return LIKELY

    def line(self, thread):
        """Whom a thread waits for."""
        wait, owner = thread.wait, self.graph.owner(thread)
        text = f"{label(thread)} {wait.text}"
        if wait.object and wait.object.kind != "thread" and owner is not None:
            text += f", which {self.owner_name(thread, owner)} holds"
        return text + " (a guess)" * wait.guess

    def owner_name(self, thread, owner):
        if owner is thread:
            return "it"
        if isinstance(owner, int):
            return (f"thread {-owner} (by libdrover's own count)" if owner < 0
                    else f"thread {owner}")
        return label(owner)

    def behind(self, threads):
        """All others that wait for one of these in the end, and are stuck."""
        found = set(threads)
        grew = True
        while grew:
            more = {thread for thread in self.likely - found
                    if self.graph.owner(thread) in found}
            grew = bool(more)
            found |= more
        return found - set(threads)

    def chain(self, thread):
        """The lines from a thread to the end of what it waits for."""
        lines, seen = [], set()
        while not isinstance(thread, (int, type(None))) and (
                thread not in seen):
            seen.add(thread)
            lines.append(self.line(thread))
            thread = self.graph.owner(thread)
        return lines


def start(severity):
    return ("Stuck" if severity == STUCK else
            "Stuck unless a signal handler ends the wait")
