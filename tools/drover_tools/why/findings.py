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


def owner_name(number):
    """The name of an owner that is not among the threads."""
    return (f"thread {number}" if number >= 0 else
            f"a thread that is gone (number {-number} of those that used"
            " libdrover)")


class Case:
    """One snapshot, with what the patterns ask about it."""

    def __init__(self, graph, objects, stuck, likely, inside, foreign,
                 may_time_out, has):
        self.graph, self.objects = graph, objects
        self.stuck, self.likely = set(stuck), set(likely)
        self.nobody_inside = inside
        self.foreign = foreign
        self.may_time_out = may_time_out
        self.has = has              # is such a library loaded?
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
            text += f", which {self.holder(thread, owner)}"
        return text + " (a guess)" * wait.guess

    def holder(self, thread, owner):
        """The holder of an object, and that it holds it."""
        if owner is thread:
            return "it holds"
        if not isinstance(owner, int):
            return f"{label(owner)} holds"
        name = owner_name(owner)
        if owner < 0:
            return f"{name} left locked"
        if self.graph.is_gone(owner):
            return f"{name}, now ended, left locked"
        return f"{name} holds"

    def others_stuck(self, threads):
        """Why no thread ends the wait of these stuck threads.

        Every thread could end such a wait: as these threads are stuck, all
        others are stuck, too.
        """
        nr = sum(thread.state not in "ZX" for thread
                 in set(self.graph.threads).difference(threads))
        if not nr:
            return "there is no other thread"
        return ("the only other thread is stuck, too" if nr == 1 else
                f"the {nr} other threads are stuck, too")

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
