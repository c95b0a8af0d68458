# SPDX-License-Identifier: MIT
"""Findings, and the case that patterns look at."""

import collections

STUCK, LIKELY, NOTE, WELL = "stuck", "likely", "note", "well"
ORDER = (STUCK, LIKELY, NOTE, WELL)


Finding = collections.namedtuple(
    "Finding", "name severity sentence lines help threads")


def label(thread):
    """The name of a thread in a sentence."""
    inner = (f" ({thread.inner} in its container)"
             if thread.inner != thread.tid else "")
    return f'{thread.tid} "{thread.name}"{inner}'


def count(number, what):
    return f"{number} {what}{'s' * (number != 1)}"


def verb(number, plural):
    """A verb for a number of subjects: waits for 1, or else wait."""
    return plural + "s" * (number == 1)


class Case:
    """One snapshot, with what the patterns ask about it."""

    def __init__(self, graph, objects, stuck, likely, inside, foreign,
                 may_time_out):
        self.graph, self.objects = graph, objects
        self.stuck, self.likely = set(stuck), set(likely)
        self.nobody_inside = inside
        self.foreign = foreign
        self.may_time_out = may_time_out
        self.claimed = set()        # threads that some finding is about

    def severity(self, threads):
        if all(thread in self.stuck for thread in threads):
            return STUCK
        return LIKELY

    def line(self, thread):
        """A line that says what a thread waits for, and which one holds it."""
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
        """All other stuck threads that wait, directly or not, for these."""
        found = set(threads)
        grew = True
        while grew:
            more = {thread for thread in self.likely - found
                    if self.graph.owner(thread) in found}
            grew = bool(more)
            found |= more
        return found - set(threads)

    def chain(self, thread):
        """A line for a thread, one for its holder, and so on to the last."""
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
